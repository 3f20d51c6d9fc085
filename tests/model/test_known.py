"""Going on from a network that has learned: what moves, how far, and what stays."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from catspace.data.vocabulary import UNSEEN
from catspace.model.architecture import Architecture
from catspace.model.known import Known, choose_shares
from catspace.model.network import EntityNetwork
from catspace.model.optimizer import DenseAdam, RowAdam, Shares, make_optimizers
from catspace.model.recipe import Recipe
from catspace.model.training import train_networks
from catspace.model.updating import grow_network, update_recipe
from catspace.preparation.rows import Rows

SHAPE = Architecture(n_codes=(6, 5), dims=(3, 2), n_bins=(0,), n_outputs=1, hidden_layer_sizes=(8,))
RECIPE = Recipe(loss="squared_error", epochs=4, batch_size=8, learning_rate=0.01, weight_decay=0.0)
CPU = torch.device("cpu")


def build(shape=SHAPE):
    network = EntityNetwork(shape)
    network.initialize("normal", torch.Generator().manual_seed(0))
    network.numbers.set_edges([np.empty(0)] * len(shape.n_bins))
    return network


def make_rows(first, second):
    n = len(first)
    codes = torch.tensor([first, second], dtype=torch.int32)
    target = torch.linspace(-1, 1, n)[:, None]
    return Rows(codes, torch.zeros(n, 1), target)


@pytest.mark.parametrize("encoding", ["embedding", "onehot"])
def test_a_network_that_has_grown_gives_the_same_and_starts_new_rows_at_unseen(encoding):
    network = build(replace(SHAPE, input_encoding=encoding))
    before = {name: weight.clone() for name, weight in network.state_dict().items()}
    origins = [np.array([0, 1, 2, 3, UNSEEN, 4, 5, UNSEEN]), np.arange(5)]
    grown = grown_network = grow_network(network, origins)
    assert grown.architecture.n_codes == (8, 5)
    numbers = torch.zeros(2, 1)
    old = network(torch.tensor([[4, UNSEEN], [3, 4]]), numbers)
    new = grown(torch.tensor([[5, 7], [3, 4]]), numbers)
    torch.testing.assert_close(new, old, rtol=0, atol=0)
    with torch.no_grad():
        for weight in grown_network.parameters():
            weight.fill_(9.0)
    for name, weight in network.state_dict().items():
        torch.testing.assert_close(weight, before[name], rtol=0, atol=0)


def test_a_weight_moves_by_the_share_of_its_rows_that_are_new():
    known = Known(build(), [torch.tensor([0, 0, 0, 30, 0, 7]), torch.tensor([0, 0, 0, 1, 36])], 37)
    new = [torch.tensor([2, 0, 0, 10, 5, 0]), torch.tensor([0, 0, 0, 3, 14])]
    shares = known.shares(new, 17, CPU)
    of_all = 17 / 54
    np.testing.assert_allclose(shares.tables[0], [1, 0, of_all, 0.25, 1, 0], rtol=1e-6)
    np.testing.assert_allclose(shares.tables[1], [0, 0, of_all, 0.75, 14 / 50], rtol=1e-6)
    assert shares.layers == pytest.approx(of_all**3)
    early, late = choose_shares(shares, 0.49), choose_shares(shares, 0.5)
    assert early.tables[0].tolist() == [1, 0, 0, 0, 1, 0]
    assert early.layers == 0
    assert late is shares
    known = Shares([table.clamp(max=0.9) for table in shares.tables], 0.1)
    assert choose_shares(known, 0.0) is known  # nothing is new, so that nothing has to wait


def test_shares_are_factors_of_what_adam_does():
    whole, part = build(), build()
    shares = Shares([torch.full((6,), 0.25), torch.tensor([1.0, 1, 1, 0, 1])], 0.5)
    rows = make_rows([3, 4, 5, 3], [3, 4, 3, 4])
    moved = []
    for network, shared in ((whole, None), (part, shares)):
        optimizers = make_optimizers(network, optimizer="adamw", weight_decay=0.0, by_row=True)
        assert [type(one) for one in optimizers] == [DenseAdam, RowAdam]
        if shared is not None:
            shared.apply(optimizers, network.input.sparse)
        before = [weight.detach().clone() for weight in network.parameters()]
        network(rows.codes, rows.numbers).sum().backward()
        for optimizer in optimizers:
            optimizer.step(0.01)
        after = network.parameters()
        moved.append([(b.detach() - a) for a, b in zip(before, after, strict=True)])
    first, second, *layers = zip(*moved, strict=True)
    torch.testing.assert_close(first[1], 0.25 * first[0])
    torch.testing.assert_close(second[1], shares.tables[1][:, None] * second[0])
    for one, half in layers:
        torch.testing.assert_close(half, 0.5 * one, rtol=1e-4, atol=1e-8)


def test_training_goes_on_from_the_start_and_leaves_rows_alone_that_it_does_not_meet():
    network = build()
    before = [table.detach().clone() for table in network.input.tables]
    known = [torch.tensor([0, 0, 0, 40, 0, 40]), torch.tensor([0, 0, 0, 40, 40])]
    rows = make_rows([3, 4] * 20, [3, 3] * 20)
    (trained,) = train_networks(
        SHAPE, rows, replace(RECIPE, smooth=(4.0, 0.0)), [0], known=[Known(network, known, 80)]
    )
    assert trained.network is network
    first, second = (table.detach() for table in network.input.tables)
    for row in (0, 1, 5):
        assert torch.equal(first[row], before[0][row])
    assert torch.equal(second[4], before[1][4])
    step = [(first[row] - before[0][row]).norm() for row in (3, 4)]
    assert 0 < step[0] < step[1]  # a third of its rows are new, and all of them


def test_few_rows_take_some_two_hundred_steps_and_many_the_batches_of_a_fit():
    parameters = {
        "max_epochs": "auto", "batch_size": "auto", "learning_rate": "auto", "loss": "auto",
        "target_transform": None, "n_iter_no_change": 10, "schedule": "cosine",
        "optimizer": "adamw", "weight_decay": "auto", "initialization": "normal",
        "quantile": 0.5, "early_stopping": True,
    }  # fmt: skip
    known = replace(RECIPE, loss="huber", smooth=(3.0,), batch_size=7)
    for n_samples in (1, 30, 1_000, 10_000):
        recipe = update_recipe(
            parameters, known, n_samples=n_samples, n_all=10**6, is_classification=False
        )
        n_steps = recipe.epochs * -(-n_samples // recipe.batch_size)
        assert n_steps < 330
        assert n_steps > (130 if n_samples > 7 else 20)
        assert (recipe.loss, recipe.smooth, recipe.weight_decay) == ("huber", (3.0,), 0.0)
        assert recipe.patience is None
    many = update_recipe(
        parameters, None, n_samples=10**6, n_all=2 * 10**6, is_classification=False
    )
    assert many.batch_size == 1024
    given = update_recipe(
        {**parameters, "batch_size": 33}, known, n_samples=99, n_all=999, is_classification=False
    )
    assert given.batch_size == 33
