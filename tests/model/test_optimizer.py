import math
import subprocess
import sys
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn import functional

from catspace import EmbeddingRegressor, make_sales
from catspace.model import optimizer as module
from catspace.model.architecture import Architecture
from catspace.model.network import EntityNetwork
from catspace.model.optimizer import DenseAdam, RowAdam, make_optimizers, sparse_tables
from catspace.model.recipe import Recipe
from catspace.model.training import train_networks
from catspace.preparation.rows import Rows

SHAPE = Architecture(
    n_codes=(40, 5), dims=(3, 2), n_bins=(0,), n_outputs=1, hidden_layer_sizes=(8,)
)
SETTINGS = {"optimizer": "adamw", "weight_decay": 0.1}
RECIPE = Recipe(
    loss="squared_error", epochs=3, batch_size=16, learning_rate=0.01, weight_decay=0.01
)
CPU = torch.device("cpu")


@pytest.fixture
def all_sparse(monkeypatch):
    monkeypatch.setattr(module, "SPARSE_FROM", 1)


def build(shape=SHAPE):
    network = EntityNetwork(shape)
    network.initialize("normal", torch.Generator().manual_seed(0))
    return network


def naive_adam(vectors, batches, rates, betas):
    """Move one row at a time; a batch is a list of (row, gradient)."""
    vectors = [list(vector) for vector in vectors]
    means = [[0.0] * len(vector) for vector in vectors]
    squares = [[0.0] * len(vector) for vector in vectors]
    for t, (batch, rate) in enumerate(zip(batches, rates, strict=True), start=1):
        totals = {}
        for row, gradient in batch:
            before = totals.get(row, [0.0] * len(gradient))
            totals[row] = [a + b for a, b in zip(before, gradient, strict=True)]
        for row, total in totals.items():
            for i, g in enumerate(total):
                means[row][i] = betas[0] * means[row][i] + (1 - betas[0]) * g
                squares[row][i] = betas[1] * squares[row][i] + (1 - betas[1]) * g * g
                mean = means[row][i] / (1 - betas[0] ** t)
                square = squares[row][i] / (1 - betas[1] ** t)
                vectors[row][i] -= rate * mean / (math.sqrt(square) + 1e-8)
    return vectors


@pytest.mark.parametrize("codes_type", [torch.int32, torch.int64])
def test_rows_move_as_in_a_loop_over_single_numbers(codes_type):
    random = np.random.default_rng(0)
    start = random.normal(size=(6, 3))
    table = torch.nn.Parameter(torch.tensor(start, dtype=torch.float64))
    optimizer = RowAdam([table], betas=(0.9, 0.99))
    batches, rates = [], [0.1, 0.05, 0.2, 0.01]
    for rate in rates:
        codes, slopes = random.integers(0, 5, size=7), random.normal(size=(7, 3))
        batches.append(list(zip(codes.tolist(), slopes.tolist(), strict=True)))
        table.grad = None
        found = functional.embedding(torch.tensor(codes, dtype=codes_type), table, sparse=True)
        (found * torch.tensor(slopes)).sum().backward()
        optimizer.step(rate)
    expected = naive_adam(start.tolist(), batches, rates, (0.9, 0.99))
    np.testing.assert_allclose(table.detach(), expected, rtol=1e-12)


def test_rows_move_as_with_torchs_own_sparse_adam():
    mine, theirs = (torch.nn.Parameter(torch.ones(50, 4)) for _ in range(2))
    ours = RowAdam([mine], betas=(0.9, 0.99))
    torchs = torch.optim.SparseAdam([theirs], lr=0.01, betas=(0.9, 0.99))
    generator = torch.Generator().manual_seed(0)
    for _ in range(20):
        codes = torch.randint(50, (8,), generator=generator)
        for table, step in ((mine, lambda: ours.step(0.01)), (theirs, torchs.step)):
            table.grad = None
            functional.embedding(codes, table, sparse=True).square().sum().backward()
            step()
    torch.testing.assert_close(mine, theirs)


def test_a_batch_that_meets_every_row_moves_them_as_dense_adam_does():
    dense, sparse = (torch.nn.Parameter(torch.linspace(-1, 1, 12).reshape(4, 3)) for _ in range(2))
    codes = torch.tensor([0, 1, 2, 3, 3])
    for table, optimizer in (
        (dense, DenseAdam([([dense], 0.0)], betas=(0.9, 0.99), is_decoupled=True)),
        (sparse, RowAdam([sparse], betas=(0.9, 0.99))),
    ):
        for _ in range(10):
            table.grad = None
            functional.embedding(codes, table, sparse=table is sparse).square().sum().backward()
            optimizer.step(0.1)
    torch.testing.assert_close(dense, sparse)


def test_rows_outside_the_batch_and_their_moments_are_untouched():
    table = torch.nn.Parameter(torch.ones(5, 2))
    optimizer = RowAdam([table], betas=(0.9, 0.99))
    for codes in ([0, 1], [1, 2]):
        before = table.detach().clone()
        moments = [moment.clone() for moment in (*optimizer.means, *optimizer.squares)]
        table.grad = None
        functional.embedding(torch.tensor(codes), table, sparse=True).sum().backward()
        optimizer.step(0.1)
        outside = [row for row in range(5) if row not in codes]
        assert torch.equal(table[outside], before[outside])
        assert (table[codes] < before[codes]).all()
        for now, moment in zip((*optimizer.means, *optimizer.squares), moments, strict=True):
            assert torch.equal(now[outside], moment[outside])
    assert (optimizer.squares[0][3:] == 0).all()


def test_an_optimizer_that_is_saved_goes_on_where_it_was():
    def step(table, optimizer, codes):
        table.grad = None
        functional.embedding(torch.tensor(codes), table, sparse=True).square().sum().backward()
        optimizer.step(0.1)

    table = torch.nn.Parameter(torch.ones(5, 2))
    optimizer = RowAdam([table], betas=(0.9, 0.99))
    step(table, optimizer, [0, 1])
    again = torch.nn.Parameter(table.detach().clone())
    restored = RowAdam([again], betas=(0.9, 0.99))
    restored.restore(deepcopy(optimizer.state()))
    step(table, optimizer, [1, 2])
    step(again, restored, [1, 2])
    assert torch.equal(table, again)


def test_small_tables_are_moved_by_one_dense_optimizer():
    network = build()
    (dense,) = make_optimizers(network, **SETTINGS)
    assert isinstance(dense, DenseAdam)
    moved = {id(weight) for group in dense.groups for weight in group.weights}
    assert moved == {id(weight) for weight in network.parameters()}
    network(torch.zeros(2, 4, dtype=torch.int32), torch.zeros(4, 1)).sum().backward()
    assert not any(weight.grad.is_sparse for weight in network.parameters())


def test_only_tables_from_a_size_on_are_moved_row_by_row(monkeypatch):
    monkeypatch.setattr(module, "SPARSE_FROM", 40 * 3)
    network = build()
    dense, by_row = make_optimizers(network, **SETTINGS)
    assert by_row.tables == [network.input.tables[0]]
    assert by_row.betas == dense.betas
    moved = [*by_row.tables, *(weight for group in dense.groups for weight in group.weights)]
    assert len(moved) == len(list(network.parameters())) == len({id(weight) for weight in moved})
    network(torch.zeros(2, 4, dtype=torch.int32), torch.zeros(4, 1)).sum().backward()
    assert [table.grad.is_sparse for table in network.input.tables] == [True, False]


def test_the_tables_of_a_one_hot_network_count_as_wide_as_its_first_layer(monkeypatch):
    monkeypatch.setattr(module, "SPARSE_FROM", 40 * 8)
    network = build(replace(SHAPE, input_encoding="onehot"))
    _, by_row = make_optimizers(network, **SETTINGS)
    assert by_row.tables == [network.input.tables[0]]
    network(torch.zeros(2, 4, dtype=torch.int32), torch.zeros(4, 1)).sum().backward()
    assert [table.grad.is_sparse for table in network.input.tables] == [True, False]


@pytest.mark.usefixtures("all_sparse")
def test_tables_stay_dense_where_all_weights_decay_or_a_device_knows_no_sparse_gradients():
    settings = {"optimizer": "adam", "weight_decay": 0.0, "device": CPU}
    assert sparse_tables(SHAPE, **settings) == [0, 1]
    assert sparse_tables(SHAPE, **{**settings, "weight_decay": 0.1}) == []
    assert sparse_tables(SHAPE, **{**settings, "device": torch.device("mps")}) == []
    decoupled = {**settings, "optimizer": "adamw", "weight_decay": 0.1}
    assert sparse_tables(SHAPE, **decoupled) == [0, 1]


@pytest.mark.usefixtures("all_sparse")
@pytest.mark.parametrize("encoding", ["embedding", "onehot"])
@pytest.mark.parametrize("optimizer", ["adamw", "adam"])
def test_training_moves_only_rows_that_occur(encoding, optimizer):
    random = np.random.default_rng(0)
    codes = random.integers(10, 20, size=(2, 100))
    codes[1] %= 5
    rows = Rows(
        torch.from_numpy(codes.astype(np.int32)),
        torch.zeros(100, 1),
        torch.from_numpy(codes[0] - 15.0).float()[:, None],
    )
    recipe = replace(RECIPE, optimizer=optimizer, weight_decay=0.0)
    shape = replace(SHAPE, input_encoding=encoding)
    (result,) = train_networks(shape, rows, recipe, [7])
    start = EntityNetwork(shape)
    start.initialize("normal", torch.Generator().manual_seed(7))
    table, before = result.network.input.tables[0], start.input.tables[0]
    assert torch.equal(table[:10], before[:10])
    assert torch.equal(table[20:], before[20:])
    assert (table[10:20] != before[10:20]).any(dim=1).all()


@pytest.mark.usefixtures("all_sparse")
def test_the_schedule_reaches_the_rows_too(monkeypatch):
    rates = []
    step = RowAdam.step
    monkeypatch.setattr(RowAdam, "step", lambda self, rate: (rates.append(rate), step(self, rate)))
    rows = Rows(torch.zeros(2, 64, dtype=torch.int32), torch.zeros(64, 1), torch.zeros(64, 1))
    train_networks(SHAPE, rows, RECIPE, [0])
    assert len(rates) == 12
    assert max(rates) == pytest.approx(0.01, rel=0.1)
    assert rates[-1] < 0.001


def test_predictions_have_the_same_bits_as_long_as_tables_are_small(shops, monkeypatch):
    X, y = shops
    model = EmbeddingRegressor(max_epochs=2, random_state=0)
    expected = model.fit(X, y).predict(X)
    monkeypatch.setattr(module, "SPARSE_FROM", math.inf)
    np.testing.assert_array_equal(model.fit(X, y).predict(X), expected)


@pytest.mark.usefixtures("all_sparse")
def test_the_same_seed_gives_the_same_bits_whatever_the_number_of_jobs(shops):
    X, y = shops
    model = EmbeddingRegressor(max_epochs=2, n_networks=3, random_state=0, n_jobs=1)
    expected = model.fit(X, y).predict(X)
    np.testing.assert_array_equal(model.set_params(n_jobs=3).fit(X, y).predict(X), expected)


def test_sparse_updates_are_as_accurate_as_dense_ones(monkeypatch):
    sales = make_sales(8_000, n_stores=100, random_state=0)
    model = EmbeddingRegressor(target_transform="log", max_epochs=8, random_state=0)

    def error():
        model.fit(sales.X[:7_000], sales.y[:7_000])
        relative = model.predict(sales.X[7_000:]) / sales.y[7_000:] - 1
        return np.abs(relative).mean()

    dense = error()
    monkeypatch.setattr(module, "SPARSE_FROM", 1)
    assert error() == pytest.approx(dense, rel=0.05)


@pytest.mark.parametrize(
    ("verbose", "limit", "lines"),
    [
        (1, 1, []),
        (2, math.inf, ["Every step updates all weights."]),
        (2, 15, ["A step updates only the rows of its batch in: weekday (10 x 4)."]),
    ],
)
def test_what_is_updated_row_by_row_is_told_at_verbose_two(
    shops, monkeypatch, capsys, verbose, limit, lines
):
    X, y = shops
    monkeypatch.setattr(module, "SPARSE_FROM", limit)
    EmbeddingRegressor(smooth=8, max_epochs=1, random_state=0, verbose=verbose).fit(X, y)
    told = [line for line in capsys.readouterr().err.splitlines() if "epoch" not in line]
    first, last = "Training needs about 1 MB of memory.", "Vectors are smoothed by 8 rows."
    assert told == ([first, *lines, last] if lines else [])


@pytest.mark.parametrize("optimizer", ["adamw", "adam"])
def test_weights_move_as_with_torchs_own_adam_to_the_last_bit(optimizer):
    mine, theirs = (build() for _ in range(2))
    (ours,) = make_optimizers(mine, optimizer=optimizer, weight_decay=0.1)
    if optimizer == "adam":
        plain = torch.optim.Adam(theirs.parameters(), weight_decay=0.1, fused=True)
    else:
        layers = [layer.weight for layer in theirs.dense_layers]
        held = {id(weight) for weight in layers}
        free = [weight for weight in theirs.parameters() if id(weight) not in held]
        groups = [{"params": layers, "weight_decay": 0.1}, {"params": free, "weight_decay": 0.0}]
        plain = torch.optim.AdamW(groups, betas=(0.9, 0.99), fused=True)
    generator = torch.Generator().manual_seed(0)
    for step in range(12):
        codes = torch.stack([torch.randint(n, (9,), generator=generator) for n in SHAPE.n_codes])
        numbers = torch.randn(9, 1, generator=generator)
        if step == 6:  # what was kept goes on like what was not
            kept = deepcopy(ours.state())
            (ours,) = make_optimizers(mine, optimizer=optimizer, weight_decay=0.1)
            ours.restore(kept)
        for group in plain.param_groups:
            group["lr"] = 0.01 / (1 + step)
        for network, move in ((mine, lambda: ours.step(0.01 / (1 + step))), (theirs, plain.step)):  # noqa: B023
            network.zero_grad()
            network(codes, numbers).square().sum().backward()
            move()
    for one, other in zip(mine.parameters(), theirs.parameters(), strict=True):
        assert torch.equal(one, other)


def test_a_fit_does_not_import_what_torch_compiles_with():
    code = """
import sys
import numpy as np
import pandas as pd
from catspace import EmbeddingRegressor
X = pd.DataFrame({"shop": ["a", "b"] * 20, "size": np.arange(40.0)})
EmbeddingRegressor(max_epochs=1).fit(X, np.arange(40.0)).predict(X)
print("torch._dynamo" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
