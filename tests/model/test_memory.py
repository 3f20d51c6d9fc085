import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

from catspace import EmbeddingRegressor
from catspace.exceptions import CatspaceError, NotEnoughMemoryError
from catspace.model import memory
from catspace.model.architecture import Architecture
from catspace.model.memory import available_memory, estimate_memory
from catspace.model.network import EntityNetwork

SHAPE = Architecture(
    n_codes=(1_000_003, 10),
    dims=(16, 4),
    n_bins=(3, 3),
    n_outputs=1,
    hidden_layer_sizes=(8, 6),
)
CPU = torch.device("cpu")
SETTINGS = {
    "sparse": [0],
    "n_networks": 1,
    "has_validation": False,
    "row_bytes": 1000,
    "device": CPU,
}


@pytest.mark.parametrize("encoding", ["embedding", "onehot"])
def test_all_weights_of_the_network_are_counted(encoding):
    shape = replace(SHAPE, n_codes=(50, 10), input_encoding=encoding)
    n_weights = sum(weight.numel() for weight in EntityNetwork(shape).parameters())
    need = estimate_memory(shape, **{**SETTINGS, "sparse": []})
    # The weights, their gradients and two moments, of four bytes each.
    assert sum(need.tables) + need.layers == 4 * 4 * n_weights
    assert need.rows == 2 * 1000
    assert need.total == 4 * 4 * n_weights + 2 * 1000


def test_a_sparse_table_has_no_gradient_of_its_size_and_validation_keeps_the_best_weights():
    def table(**changes):
        return estimate_memory(SHAPE, **{**SETTINGS, **changes}).tables[0]

    size = 4 * 16 * 1_000_003
    assert table() == 3 * size
    assert table(sparse=[]) == 4 * size
    assert 4 * size < table(has_validation=True) < 4.5 * size
    assert table(n_networks=5) == 5 * 3 * size


MEASURE = r"""
import re, sys, torch
from pathlib import Path
from catspace.model import optimizer
from catspace.model.memory import estimate_memory
from catspace.model.architecture import Architecture
from catspace.preparation.rows import Rows
from catspace.model.recipe import Recipe
from catspace.model.training import train_networks

def peak():  # getrusage would count the process that started this one
    return 1024 * int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1])

def train(n, is_sparse, has_validation):
    optimizer.SPARSE_FROM = 1 if is_sparse else 10**15
    architecture = Architecture((n,), (16,), (0,), 1, (8,))
    codes = torch.randint(n, (1, 1000), generator=torch.Generator().manual_seed(0))
    rows = Rows(codes.int(), torch.zeros(1000, 1), torch.zeros(1000, 1))
    recipe = Recipe("squared_error", 2, 256, 0.01, 0.0)
    validation = rows if has_validation else None
    train_networks(architecture, rows, recipe, [0], validation=validation)
    return estimate_memory(
        architecture, sparse=[0] if is_sparse else [], n_networks=1, has_validation=has_validation,
        row_bytes=rows.n_bytes, device=torch.device("cpu"),
    ).total

flags = [word == "True" for word in sys.argv[1:]]
train(1000, *flags)
before = peak()
print(train(1_000_000, *flags), peak() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(("is_sparse", "has_validation"), [(True, True), (False, False)])
def test_the_estimate_is_what_training_takes(is_sparse, has_validation):
    flags = [str(is_sparse), str(has_validation)]
    run = subprocess.run(
        [sys.executable, "-c", MEASURE, *flags], capture_output=True, text=True, check=True
    )
    estimated, measured = map(int, run.stdout.split())
    assert estimated == pytest.approx(measured, rel=0.2)


@pytest.mark.parametrize(
    ("shape", "changes", "message"),
    [
        (
            SHAPE,
            {},
            "Training needs about 192 MB of memory and 100 MB are available; 192 MB of it are for "
            "the embedding of 'user' (1,000,003 x 16).\nHint: lower embedding_dim for 'user', or "
            "keep fewer of its vectors with max_categories or hash_buckets.",
        ),
        (
            replace(SHAPE, input_encoding="onehot"),
            {"n_networks": 20, "sparse": []},
            "Training needs about 2.6 GB of memory and 100 MB are available; 2.6 GB of it are for "
            "the embedding of 'user' (1,000,003 x 8) in 20 networks.\nHint: "
            'input_encoding="embedding" needs less, or keep fewer of its vectors with '
            "max_categories or hash_buckets; or lower n_networks=20.",
        ),
        (
            replace(SHAPE, n_codes=(9, 9), hidden_layer_sizes=(10_000, 1_000)),
            {},
            "Training needs about 165 MB of memory and 100 MB are available; 165 MB of it are for "
            "the hidden layers.\nHint: lower hidden_layer_sizes.",
        ),
        (
            replace(SHAPE, n_codes=(9, 9)),
            {"row_bytes": 10**9},
            "Training needs about 2.0 GB of memory and 100 MB are available; 2.0 GB of it are for "
            "the rows.\nHint: fit fewer of them.",
        ),
    ],
)
def test_what_does_not_fit_says_what_is_needed_what_there_is_and_what_to_change(
    shape, changes, message
):
    need = estimate_memory(shape, **{**SETTINGS, **changes})
    with pytest.raises(NotEnoughMemoryError) as caught:
        need.check(100_000_000, ["user", "town"])
    assert str(caught.value) == message


def test_what_fits_or_cannot_be_known_passes():
    need = estimate_memory(SHAPE, **SETTINGS)
    need.check(need.total, ["user", "town"])
    need.check(None, ["user", "town"])


def test_fit_ends_before_it_trains_when_memory_is_too_small(monkeypatch):
    monkeypatch.setattr("catspace.estimators.fitting.available_memory", lambda device: 8_000_000)
    X = pd.DataFrame({"user": np.arange(20_000).astype(str), "town": ["a", "b"] * 10_000})
    y = np.zeros(20_000)
    model = EmbeddingRegressor(embedding_dim=50)
    with pytest.raises(
        MemoryError, match=r"for the embedding of 'user' \(20,003 x 50\)\."
    ) as error:
        model.fit(X, y)
    assert isinstance(error.value, CatspaceError)
    smaller = EmbeddingRegressor(embedding_dim=50, max_categories=1000, max_epochs=1)
    assert len(smaller.fit(X, y).embeddings_["user"]) == 999


# --- what is available


def write(folder, **files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)


def test_the_machine_has_what_is_available_and_what_it_can_swap_out(tmp_path):
    text = "MemTotal:  9000 kB\nMemFree:  10 kB\nMemAvailable:  5000 kB\nSwapFree:  100 kB\n"
    write(tmp_path, meminfo=text)
    assert memory._machine_room(tmp_path) == 5100 * 1024


def test_a_machine_that_does_not_say_is_as_large_as_it_is(tmp_path, monkeypatch):
    pages = {"SC_PHYS_PAGES": 1000, "SC_PAGE_SIZE": 4096}
    monkeypatch.setattr("os.sysconf", pages.__getitem__)
    assert memory._machine_room(tmp_path) == 4_096_000
    monkeypatch.delattr("os.sysconf")
    assert memory._machine_room(tmp_path) is None


def test_limits_of_a_control_group_and_of_those_above_it_hold(tmp_path):
    write(tmp_path / "self", cgroup="0::/user/app\n")
    groups = tmp_path / "groups"
    write(groups, memory__stat="inactive_file 5\n")  # the root has no limit
    stat = "anon 600\ninactive_file 50\n"
    write(groups / "user", memory__max="1000", memory__current="700", memory__stat=stat)
    write(groups / "user" / "app", memory__max="max", memory__current="600", memory__stat=stat)
    assert list(memory._cgroup_rooms(tmp_path, groups)) == [1000 - 700 + 50]


def test_control_groups_of_the_first_version_hold_too(tmp_path):
    write(tmp_path / "self", cgroup="3:cpu:/\n4:memory:/docker/1\n0::/\n")
    write(
        tmp_path / "groups" / "memory",  # in a container its own group is the root
        memory__limit_in_bytes="1000",
        memory__usage_in_bytes="1200",
        memory__stat="total_inactive_file 50\n",
    )
    assert list(memory._cgroup_rooms(tmp_path, tmp_path / "groups")) == [0]


def test_without_control_groups_there_are_no_further_limits(tmp_path):
    assert list(memory._cgroup_rooms(tmp_path, tmp_path)) == []


def test_the_smallest_room_counts(monkeypatch):
    monkeypatch.setattr(memory, "_machine_room", lambda: 100)
    monkeypatch.setattr(memory, "_cgroup_rooms", lambda: iter([70, 2**63]))
    assert available_memory(CPU) == 70
    monkeypatch.setattr(memory, "_machine_room", lambda: None)
    monkeypatch.setattr(memory, "_cgroup_rooms", lambda: iter([]))
    assert available_memory(CPU) is None
