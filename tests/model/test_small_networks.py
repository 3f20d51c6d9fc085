import gc
import threading
import weakref
from dataclasses import replace

import numpy as np
import pytest
import torch

from catspace.model import optimizer, small_networks, stacking, trials
from catspace.model.architecture import Architecture
from catspace.model.losses import sum_losses
from catspace.model.pairs import goals_of, learn_pairs
from catspace.model.pieces import cut_numbers
from catspace.model.recipe import Recipe
from catspace.model.small_networks import SmallNetworks
from catspace.model.training import Training
from catspace.model.turns import run_side_by_side
from catspace.preparation.rows import Rows

CPU = torch.device("cpu")
SHAPE = Architecture((9, 14, 40), (2, 4, 7), (4, 4), 1, (12, 8), dropout=0.1)
RECIPE = Recipe("squared_error", 2, 32, 0.02, 0.1)
SMOOTHS = [(1.0, 1.0, 1.0), (8.0, 8.0, 8.0), (50.0, 50.0, 50.0)]


def make_rows(n=301, *, seed=0, **changes):
    random = np.random.default_rng(seed)
    codes = np.stack([random.integers(3, size, size=n) for size in SHAPE.n_codes])
    numbers = random.normal(size=(n, 2)).astype("f4")
    y = np.sin(codes).sum(0) + numbers[:, 0] + random.normal(size=n)
    rows = Rows(
        torch.from_numpy(codes.astype("i4")),
        torch.from_numpy(numbers),
        torch.from_numpy((y / y.std()).astype("f4")[:, None]),
    )
    return replace(rows, **changes)


def losses_apart(shape, rows, judges, recipe, smooths, pairs=None):
    """Train one network after the other, and return what the judges lose with each."""
    losses = []
    for smooth in smooths:
        training = Training(
            0,
            shape,
            rows,
            replace(recipe, smooth=smooth),
            3,
            edges=EDGES
            if pairs is None
            else [*EDGES, *cut_numbers(rows.numbers[:, 2:].numpy(), 4)],
            pairs=pairs,
            validation=None,
            device=CPU,
        )
        while not training.is_finished:
            training.run_epoch()
        network = training.finish().network
        network.fill_untrained_rows(training.counts, training.is_smooth)
        total, weight = sum_losses(network, judges, recipe)
        losses.append(total / weight)
    return losses


def losses_together(shape, rows, judges, recipe, smooths, pairs=None):
    stop = threading.Event()
    edges = EDGES if pairs is None else [*EDGES, *cut_numbers(rows.numbers[:, 2:].numpy(), 4)]
    together = SmallNetworks(
        0, shape, rows, judges, recipe, smooths, 3, edges=edges, pairs=pairs, device=CPU, stop=stop
    )
    (found,) = run_side_by_side([together], stop)
    assert len(found.history) == recipe.epochs
    return found.losses


EDGES = cut_numbers(make_rows().numbers.numpy(), 4)
THREE_CLASSES = replace(SHAPE, n_outputs=3)


@pytest.mark.parametrize(
    ("shape", "recipe"),
    [
        (SHAPE, RECIPE),
        (replace(SHAPE, dropout=0.0), replace(RECIPE, schedule="constant")),
        (replace(SHAPE, input_encoding="onehot"), RECIPE),
        (replace(SHAPE, embedding_activation="logistic", activation="gelu"), RECIPE),
        (replace(SHAPE, output_activation="logistic"), replace(RECIPE, loss="huber")),
        (SHAPE, replace(RECIPE, loss="quantile", quantile=0.8, initialization="uniform")),
        (SHAPE, replace(RECIPE, optimizer="adam", weight_decay=0.01)),
        (THREE_CLASSES, replace(RECIPE, loss="log_loss")),
        (replace(SHAPE, output_activation="exp"), replace(RECIPE, loss="poisson")),
        (
            replace(SHAPE, n_outputs=3, output_activation="rising"),
            replace(RECIPE, loss="quantile", quantile=(0.1, 0.5, 0.9)),
        ),
        (SHAPE, replace(RECIPE, loss=lambda output, target: (output - target).abs().mean(dim=1))),
    ],
    ids=[
        *("default", "no dropout", "one-hot", "activations", "huber", "uniform", "adam"),
        *("classes", "counts", "quantiles", "function"),
    ],
)
def test_networks_that_are_trained_as_one_learn_what_each_learns_alone(shape, recipe):
    rows, judges = make_rows(), make_rows(90, seed=1)
    if recipe.loss == "log_loss":
        rows, judges = (
            replace(one, target=(one.target[:, 0] * 2).long().clamp(0, 2)) for one in (rows, judges)
        )
    if recipe.loss == "poisson":
        rows, judges = (replace(one, target=one.target.abs()) for one in (rows, judges))
    expected = losses_apart(shape, rows, judges, recipe, SMOOTHS)
    assert losses_together(shape, rows, judges, recipe, SMOOTHS) == pytest.approx(
        expected, rel=1e-4
    )
    assert len({round(loss, 6) for loss in expected}) == 3  # smoothing makes a difference


def test_weights_of_rows_count_for_each_of_them():
    weight = torch.from_numpy(np.random.default_rng(2).exponential(size=301).astype("f4"))
    rows, judges = make_rows(weight=weight), make_rows(90, seed=1)
    expected = losses_apart(SHAPE, rows, judges, RECIPE, SMOOTHS)
    assert losses_together(SHAPE, rows, judges, RECIPE, SMOOTHS) == pytest.approx(expected, 1e-4)
    without = losses_together(SHAPE, replace(rows, weight=None), judges, RECIPE, SMOOTHS)
    assert without != pytest.approx(expected, rel=1e-3)


def test_columns_whose_smoothing_is_known_keep_it():
    rows, judges = make_rows(), make_rows(90, seed=1)
    smooths = [(0.0, 3.0, value) for value in (1.0, 40.0)]
    expected = losses_apart(SHAPE, rows, judges, RECIPE, smooths)
    assert losses_together(SHAPE, rows, judges, RECIPE, smooths) == pytest.approx(expected, 1e-4)


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_some_of_them_may_be_smoothed_and_others_not(activation):
    rows, judges = make_rows(), make_rows(90, seed=1)
    # What is never smoothed draws no rows that forget, and then other units for dropout.
    shape = replace(SHAPE, activation=activation, dropout=0.0)
    smooths = [(0.0, 0.0, 0.0), (2.0, 2.0, 2.0), (0.0, 3.0, 0.0)]
    expected = losses_apart(shape, rows, judges, RECIPE, smooths)
    assert losses_together(shape, rows, judges, RECIPE, smooths) == pytest.approx(expected, 1e-4)
    assert len({round(loss, 6) for loss in expected}) == 3


def test_each_of_them_is_told_of_pairs():
    rows, judges = make_rows(), make_rows(90, seed=1)
    means, told = learn_pairs(rows, [(0, 1)], SHAPE.n_codes, goals_of(rows, 1), 0)
    rows = replace(rows, numbers=torch.cat([rows.numbers, told], dim=1))
    shape = replace(SHAPE, n_bins=(*SHAPE.n_bins, 4))
    expected = losses_apart(shape, rows, judges, RECIPE, SMOOTHS, means)
    found = losses_together(shape, rows, judges, RECIPE, SMOOTHS, means)
    assert found == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("smooth", [1.0, 0.0], ids=["smoothed", "some of them not"])
def test_large_tables_of_theirs_are_updated_row_by_row(smooth, monkeypatch):
    # One column: that of several columns is one table, which is large or not as a whole.
    rows, judges = (
        replace(one, codes=one.codes[2:]) for one in (make_rows(), make_rows(90, seed=1))
    )
    shape = replace(SHAPE, n_codes=SHAPE.n_codes[2:], dims=SHAPE.dims[2:], dropout=0.0)
    smooths = [(smooth,), (8.0,), (50.0,)]
    dense = losses_together(shape, rows, judges, RECIPE, smooths)
    monkeypatch.setattr(optimizer, "SPARSE_FROM", 40 * 7)
    expected = losses_apart(shape, rows, judges, RECIPE, smooths)
    found = losses_together(shape, rows, judges, RECIPE, smooths)
    assert found == pytest.approx(expected, rel=1e-4)
    assert found != pytest.approx(dense, rel=1e-4)
    alone = [losses_together(shape, rows, judges, RECIPE, [one])[0] for one in smooths]
    assert alone == pytest.approx(expected, rel=1e-4)


def test_a_network_alone_is_updated_as_it_is_among_others(monkeypatch):
    assert len(trials._SMOOTHS) == small_networks._MOST_TOGETHER
    rows, judges = make_rows(), make_rows(90, seed=1)
    in_tables = sum(SHAPE.n_codes) * max(SHAPE.dims)
    monkeypatch.setattr(optimizer, "SPARSE_FROM", 6 * in_tables)
    shape = replace(SHAPE, dropout=0.0)
    among = losses_together(shape, rows, judges, RECIPE, [*SMOOTHS, *SMOOTHS])
    alone = [losses_together(shape, rows, judges, RECIPE, [one])[0] for one in SMOOTHS]
    assert alone == pytest.approx(among[:3], rel=1e-5)
    monkeypatch.setattr(optimizer, "SPARSE_FROM", 6 * in_tables + 1)
    assert losses_together(shape, rows, judges, RECIPE, SMOOTHS) != pytest.approx(alone, rel=1e-4)


def test_a_rate_that_makes_the_loss_infinite_is_named():
    rows, stop = make_rows(), threading.Event()
    recipe = replace(RECIPE, learning_rate=1e30, epochs=5)
    together = SmallNetworks(
        0, SHAPE, rows, rows, recipe, SMOOTHS, 3, edges=EDGES, device=CPU, stop=stop
    )
    with pytest.raises(Exception, match=r"Training diverged: .*\nHint: lower learning_rate"):
        run_side_by_side([together], stop)


def test_it_ends_after_the_batch_in_which_it_is_stopped():
    rows, stop = make_rows(), threading.Event()
    together = SmallNetworks(
        0, SHAPE, rows, rows, RECIPE, SMOOTHS, 3, edges=EDGES, device=CPU, stop=stop
    )
    stop.set()
    assert together.run_epoch() is None
    assert together.is_finished
    assert together.history == []


def test_a_step_leaves_nothing_behind(monkeypatch):
    looked_up = []

    def remember(*arguments, **options):
        vectors = embedding(*arguments, **options)
        looked_up.append(weakref.ref(vectors))
        return vectors

    embedding = stacking.functional.embedding
    monkeypatch.setattr(stacking.functional, "embedding", remember)
    rows = make_rows()
    losses_together(SHAPE, rows, rows, RECIPE, SMOOTHS)
    gc.collect()
    assert len(looked_up) > 1
    assert [one() for one in looked_up] == [None] * len(looked_up)
