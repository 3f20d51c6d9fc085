"""Real processes, which train one network together."""

from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.distributed
import torch.multiprocessing

from catspace.model import optimizer
from catspace.model.architecture import Architecture
from catspace.model.recipe import Recipe
from catspace.model.team import Alone, Processes
from catspace.model.training import Training
from catspace.preparation.rows import Rows

SHAPE = Architecture((40, 7), (3, 2), (4,), 1, (8,))
EDGES = [np.linspace(-2, 2, 5)]
# One batch for all rows, so that an epoch is a step and the order of rows does not matter.
RECIPE = Recipe("squared_error", epochs=6, batch_size=1000, learning_rate=0.01, weight_decay=0.1)


def make_rows(n=101):
    generator = torch.Generator().manual_seed(0)
    codes = torch.stack([torch.randint(size, (n,), generator=generator) for size in SHAPE.n_codes])
    numbers = torch.randn(n, 1, generator=generator)
    target = codes[0][:, None] / 40 + numbers
    return Rows(codes.int(), numbers, target)


def train(team, rows, validation=None):
    training = Training(
        0,
        SHAPE,
        rows,
        RECIPE,
        3,
        edges=EDGES,
        validation=validation,
        device=torch.device("cpu"),
        team=team,
    )
    while not training.is_finished:
        training.run_epoch()
    return training


def meet(rank, n_members, folder):
    """Join a team, and return a part of the rows."""
    torch.set_num_threads(1)
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=n_members
    )
    return make_rows().take(slice(rank, None, n_members))


def run_member(rank, n_members, folder, sparse_from):
    optimizer.SPARSE_FROM = sparse_from
    own = meet(rank, n_members, folder)
    training = train(Processes(), own, validation=own)
    torch.save(training.state(), f"{folder}/{rank}.pt")
    torch.distributed.destroy_process_group()


def run_member_and_go_on(rank, n_members, folder):
    own = meet(rank, n_members, folder)
    options = {"edges": EDGES, "validation": None, "device": torch.device("cpu")}
    for kept in (None, 1, 3):
        training = Training(0, SHAPE, own, RECIPE, 3, team=Processes(), **options)
        if kept is not None:
            training.restore(torch.load(f"{folder}/{kept} {rank}.pt"))
        while not training.is_finished:
            epoch = training.run_epoch().epoch
            if kept is None or epoch == RECIPE.epochs:
                name = epoch if kept is None else f"from {kept}"
                torch.save(training.state(), f"{folder}/{name} {rank}.pt")
    torch.distributed.destroy_process_group()


@pytest.mark.parametrize("n_members", [2, 3, 4])
def test_a_team_that_goes_on_learns_what_it_would_have_learned_to_the_last_bit(tmp_path, n_members):
    torch.multiprocessing.spawn(run_member_and_go_on, (n_members, str(tmp_path)), nprocs=n_members)
    expected = torch.load(tmp_path / f"{RECIPE.epochs} 0.pt")
    for kept in (1, 3):
        found = torch.load(tmp_path / f"from {kept} 0.pt")
        for name, weight in expected["network"].items():
            assert torch.equal(found["network"][name], weight), f"{name} after epoch {kept}"


@pytest.mark.parametrize(
    ("n_members", "sparse_from"),
    [(2, 1), (2, 10**9), (3, 10**9), (4, 10**9)],
    ids=["two, sparse", "two, dense", "three, dense", "four, dense"],
)
def test_processes_with_a_part_of_the_rows_each_learn_what_one_learns_from_all(
    tmp_path, monkeypatch, n_members, sparse_from
):
    arguments = (n_members, str(tmp_path), sparse_from)
    torch.multiprocessing.spawn(run_member, arguments, nprocs=n_members)
    first, *others = (torch.load(tmp_path / f"{rank}.pt") for rank in range(n_members))
    monkeypatch.setattr(optimizer, "SPARSE_FROM", sparse_from)
    # Parts differ by a row in length: their means weigh the same, so do theirs here.
    rows = make_rows()
    members = torch.arange(len(rows)) % n_members
    weight = len(rows) / (n_members * torch.bincount(members)[members])
    expected = train(Alone(), replace(rows, weight=weight), validation=rows)
    assert len(first["history"]) == 6
    for name, weight in expected.network.state_dict().items():
        for other in others:
            assert torch.equal(first["network"][name], other["network"][name]), name
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
