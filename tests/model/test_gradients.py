"""Gradients that are written out, beside those of torch's graph."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import torch

from catspace.model import gradients
from catspace.model.architecture import Architecture
from catspace.model.evidence import Evidence
from catspace.model.gradients import ByGraph, WrittenOut, gradients_of
from catspace.model.losses import find_loss, loss_and_gradient
from catspace.model.network import EntityNetwork
from catspace.model.outputs import OUTPUTS
from catspace.model.pieces import cut_numbers
from catspace.model.recipe import Recipe
from catspace.model.training import train_networks
from catspace.preparation.rows import Rows

CPU = torch.device("cpu")
SHAPE = Architecture((9, 14, 40), (2, 4, 7), (4, 4), 1, (12, 8), dropout=0.3)
RECIPE = Recipe("squared_error", 2, 32, 0.02, 0.1)


def make_rows(n=61, *, n_outputs=1):
    random = np.random.default_rng(0)
    codes = np.stack([random.integers(2, size, size=n) for size in SHAPE.n_codes])
    return Rows(
        torch.from_numpy(codes.astype("i4")),
        torch.from_numpy(random.normal(size=(n, 2)).astype("f4")),
        torch.from_numpy(random.normal(size=(n, n_outputs)).astype("f4")),
    )


def make_network(shape, rows):
    network = EntityNetwork(shape)
    network.numbers.set_edges(cut_numbers(rows.numbers.numpy(), 4))
    network.initialize("normal", torch.Generator().manual_seed(0))
    with torch.no_grad():  # far enough apart that a pull is felt
        for table in network.input.tables:
            table.mul_(20)
    return network


def weigh(shape, rows):
    n_rows = rows.count_codes(shape.n_codes)
    return Evidence(n_rows, shape.dims, [6.0] * len(shape.dims), CPU)


def found_by(kind, network, recipe, rows, evidence, **options):
    for weight in network.parameters():
        weight.grad = None
    loss = kind(network, recipe, evidence)(rows, torch.Generator().manual_seed(5), **options)
    return [loss, *(weight.grad for weight in network.parameters())]


def assert_close(found, expected, **tolerance):
    for one, other in zip(found, expected, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            assert one.is_sparse == other.is_sparse
            torch.testing.assert_close(one.to_dense(), other.to_dense(), **tolerance)


def nothing(rows, network):
    return rows


def with_weights(rows, network):
    return replace(rows, weight=torch.linspace(0, 2, len(rows)))


def with_sparse_tables(rows, network):
    network.input.sparse = [0, 2]
    return rows


def with_a_frozen_table(rows, network):
    network.input.tables[1].requires_grad_(False)
    return rows


def with_frozen_layers(rows, network):
    for layer in network.dense_layers:
        layer.requires_grad_(False)
    return rows


CHANGES = [nothing, with_weights, with_sparse_tables, with_a_frozen_table, with_frozen_layers]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
@pytest.mark.parametrize("is_smooth", [True, False], ids=["smoothed", "not smoothed"])
def test_gradients_that_are_written_out_are_those_of_the_graph(change, is_smooth):
    rows = make_rows()
    network = make_network(SHAPE, rows)
    rows = change(rows, network)
    evidence = weigh(SHAPE, rows) if is_smooth else None
    if evidence is not None:
        rows = evidence.apply(rows, torch.Generator().manual_seed(1))
    assert isinstance(gradients_of(network, RECIPE, evidence), WrittenOut)
    both = [found_by(kind, network, RECIPE, rows, evidence) for kind in (WrittenOut, ByGraph)]
    assert_close(*both)


def test_columns_that_share_a_table_add_up_in_its_gradient():
    rows = make_rows()
    shape = replace(SHAPE, n_codes=(40, 14, 40), dims=(7, 4, 7), table_of=(0, 1, 0))
    network = make_network(shape, rows)
    assert_close(*(found_by(kind, network, RECIPE, rows, None) for kind in (WrittenOut, ByGraph)))


@pytest.mark.parametrize(
    "change",
    [
        {"input_encoding": "onehot"},
        {"activation": "tanh"},
        {"embedding_activation": "relu"},
        {"n_codes": (), "dims": ()},
    ],
    ids=str,
)
def test_other_networks_are_left_to_the_graph(change):
    network = EntityNetwork(replace(SHAPE, **change))
    assert isinstance(gradients_of(network, RECIPE, None), ByGraph)


def test_a_forward_pass_that_somebody_listens_to_is_left_to_the_graph():
    network = EntityNetwork(SHAPE)
    assert isinstance(gradients_of(network, RECIPE, None, network.forward), ByGraph)


@pytest.mark.parametrize("activation", ["identity", "logistic"])
@pytest.mark.parametrize("is_weighted", [True, False], ids=["weighted", "equal"])
@pytest.mark.parametrize(
    "loss", ["squared_error", "absolute_error", "huber", "quantile", "log_loss", "function"]
)
def test_the_gradient_of_each_loss_is_what_torch_finds(loss, is_weighted, activation):
    rows = make_rows(n_outputs=3)
    target = rows.target.argmax(1) if loss == "log_loss" else rows.target
    recipe = replace(
        RECIPE, loss=(lambda a, b: (a - b).abs().sum(1)) if loss == "function" else loss
    )
    weight = torch.linspace(0, 2, len(rows)) if is_weighted else None
    output = torch.randn(len(rows), 3, generator=torch.Generator().manual_seed(0))
    found = loss_and_gradient(output, target, weight, 100, recipe, activation)
    output.requires_grad_()
    losses = find_loss(recipe)(OUTPUTS[activation](output), target)
    expected = (losses * (1 if weight is None else weight)).sum() / 100
    expected.backward()
    assert_close(found, [expected.detach(), output.grad])


@pytest.fixture
def few_rows_are_many(monkeypatch):
    monkeypatch.setattr(gradients, "_ROWS_TO_SPLIT", 16)


@pytest.fixture(params=["_ROWS_TO_SHARE", "_ROWS_TO_SPLIT"])
def few_rows_are_enough_for_two(request, monkeypatch):
    monkeypatch.setattr(gradients, request.param, 16)


@pytest.mark.parametrize("change", [nothing, with_weights, with_sparse_tables])
@pytest.mark.parametrize("n", [60, 61])
def test_two_halves_of_a_batch_teach_what_the_whole_does(change, n, few_rows_are_many):
    shape, rows = replace(SHAPE, dropout=0.0), make_rows(n)
    network = make_network(shape, rows)
    rows = change(rows, network)
    evidence = weigh(shape, rows)
    rows = evidence.apply(rows, torch.Generator().manual_seed(1))
    halves, whole = (
        found_by(kind, network, RECIPE, rows, evidence) for kind in (WrittenOut, ByGraph)
    )
    assert_close(halves, whole)


@pytest.mark.parametrize("dropout", [0.0, 0.3])
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_thread_that_helps_changes_no_bit(change, dropout, few_rows_are_enough_for_two):
    shape, rows = replace(SHAPE, dropout=dropout), make_rows(61)
    network = make_network(shape, rows)
    rows, asked = change(rows, network), []

    class Helper(ThreadPoolExecutor):
        def submit(self, function, *arguments):
            asked.append(function)
            return super().submit(function, *arguments)

    with Helper(1) as helper:
        alone, helped = (
            found_by(WrittenOut, network, RECIPE, rows, None, helper=one) for one in (None, helper)
        )
    assert_close(alone, helped, rtol=0, atol=0)
    is_layer_learned = network.dense_layers[0].weight.requires_grad
    assert bool(asked) == (is_layer_learned or gradients._ROWS_TO_SPLIT == 16)


def test_halves_of_a_batch_drop_units_of_their_own(few_rows_are_many):
    shape, rows = replace(SHAPE, dropout=0.5), make_rows(61)
    rows = rows.take(torch.zeros(60, dtype=torch.int64))  # the same row again and again
    network = make_network(shape, rows)
    ask = WrittenOut(network, RECIPE, None)
    first, second = (
        ask._of_rows(rows.take(slice(30)), 60, generator)[0]
        for generator in (torch.Generator().manual_seed(5), torch.Generator().manual_seed(5))
    )
    assert first == second
    assert ask(rows, torch.Generator().manual_seed(5)) != first + second


def test_one_network_is_the_same_with_one_thread_and_with_two(few_rows_are_enough_for_two):
    recipe, rows = replace(RECIPE, smooth=(4.0, 4.0, 4.0)), make_rows(300)
    found = [train_networks(SHAPE, rows, recipe, [3], n_jobs=n_jobs) for n_jobs in (1, 2)]
    one, two = ([*trained.network.parameters()] for (trained,) in found)
    assert_close(one, two, rtol=0, atol=0)


def test_what_goes_wrong_on_the_thread_that_helps_is_raised(few_rows_are_many):
    shape, rows = replace(SHAPE, dropout=0.0), make_rows(61)
    network = make_network(shape, rows)
    codes = rows.codes.clone()
    codes[0, -1] = 1_000  # which no table has, in the second half
    with ThreadPoolExecutor(1) as helper, pytest.raises(IndexError, match="out of range"):
        found_by(WrittenOut, network, RECIPE, replace(rows, codes=codes), None, helper=helper)
