"""Two real processes, which train one network together."""

from dataclasses import replace

import pytest
import torch
import torch.distributed
import torch.multiprocessing

from catspace.model import optimizer
from catspace.model.network import Architecture
from catspace.model.rows import Rows
from catspace.model.team import Alone, Processes
from catspace.model.training import Recipe, Training

SHAPE = Architecture((40, 7), (3, 2), 1, 4, 1, (8,))
# One batch for all rows, so that an epoch is a step and the order of rows does not matter.
RECIPE = Recipe("squared_error", epochs=6, batch_size=1000, learning_rate=0.01, weight_decay=0.1)


def make_rows(n=101):
    generator = torch.Generator().manual_seed(0)
    codes = torch.stack([torch.randint(size, (n,), generator=generator) for size in SHAPE.n_rows])
    numbers = torch.randn(n, 1, generator=generator)
    target = codes[0][:, None] / 40 + numbers
    return Rows(codes.int(), numbers, target)


class SameBins(Rows):
    """Some of the rows, with the quantiles of all."""

    def sample_numbers(self):
        return make_rows().sample_numbers()


def part(rows, which):
    taken = rows.take(which)
    return SameBins(taken.codes, taken.numbers, taken.target)


def train(team, rows, validation=None):
    training = Training(
        0, SHAPE, rows, RECIPE, 3, validation=validation, device=torch.device("cpu"), team=team
    )
    while not training.is_finished:
        training.run_epoch()
    return training


def run_member(rank, folder, sparse_from):
    optimizer.SPARSE_FROM = sparse_from
    torch.set_num_threads(1)
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2
    )
    rows = make_rows()
    own = part(rows, slice(rank, None, 2))
    training = train(Processes(), own, validation=own)
    torch.save(training.state(), f"{folder}/{rank}.pt")
    torch.distributed.destroy_process_group()


@pytest.mark.parametrize("sparse_from", [1, 10**9], ids=["sparse", "dense"])
def test_two_processes_with_half_of_the_rows_each_learn_what_one_learns_from_all(
    tmp_path, monkeypatch, sparse_from
):
    torch.multiprocessing.spawn(run_member, (str(tmp_path), sparse_from), nprocs=2)
    first, second = (torch.load(tmp_path / f"{rank}.pt") for rank in (0, 1))
    monkeypatch.setattr(optimizer, "SPARSE_FROM", sparse_from)
    # Halves of 51 and 50 rows: their means weigh the same, so do theirs here.
    rows = make_rows()
    even = torch.arange(101) % 2 == 0
    weight = torch.where(even, 101 / (2 * 51), 101 / (2 * 50))
    expected = train(Alone(), replace(rows, weight=weight), validation=rows)
    assert len(first["history"]) == 6
    for name, weight in expected.network.state_dict().items():
        assert torch.equal(first["network"][name], second["network"][name]), name
        torch.testing.assert_close(first["network"][name], weight, rtol=1e-3, atol=1e-5)
    for ours, alone in zip(first["history"], expected.history, strict=True):
        assert ours["validation_loss"] == pytest.approx(alone.validation_loss, rel=1e-4)


def test_members_of_a_team_drop_other_units():
    class Second(Alone):
        rank = 1

    shape = replace(SHAPE, dropout=0.5)
    rows, device = make_rows(), torch.device("cpu")
    losses = [
        Training(0, shape, rows, RECIPE, 3, validation=None, device=device, team=team).run_epoch()
        for team in (Alone(), Second())
    ]
    assert losses[0].loss != losses[1].loss
