import math
import threading
from dataclasses import replace

import numpy as np
import pytest
import torch

from catspace.model.architecture import Architecture
from catspace.model.losses import LOSSES, sum_losses
from catspace.model.prediction import predict
from catspace.model.recipe import Recipe
from catspace.model.training import Training, train_networks
from catspace.preparation.rows import Rows

RECIPE = Recipe(
    loss="squared_error", epochs=4, batch_size=32, learning_rate=0.01, weight_decay=0.01
)


def make_rows(n=200, n_outputs=1, weight=None):
    random = np.random.default_rng(0)
    codes = random.integers(3, 8, size=(1, n))
    numbers = random.normal(size=(n, 1)).astype("f4")
    y = (codes[0] + numbers[:, 0])[:, None].repeat(n_outputs, axis=1).astype("f4")
    return Rows(torch.from_numpy(codes), torch.from_numpy(numbers), torch.from_numpy(y), weight)


SHAPE = Architecture(n_codes=(8,), dims=(3,), n_bins=(0,), n_outputs=1, hidden_layer_sizes=(16,))


def weights(trained):
    return [
        [weight.detach().numpy() for weight in result.network.parameters()] for result in trained
    ]


def assert_same_bits(first, second):
    for a, b in zip(weights(first), weights(second), strict=True):
        for x, y in zip(a, b, strict=True):
            np.testing.assert_array_equal(x, y)


def test_the_same_seed_gives_the_same_bits_whatever_the_number_of_jobs():
    rows, shape = make_rows(), replace(SHAPE, dropout=0.2)
    seeds = [1, 2, 3]
    one = train_networks(shape, rows, RECIPE, seeds, n_jobs=1)
    assert_same_bits(one, train_networks(shape, rows, RECIPE, seeds, n_jobs=3))
    assert_same_bits(one[1:2], train_networks(shape, rows, RECIPE, seeds[1:2], n_jobs=1))
    assert (weights(one)[0][0] != weights(one)[1][0]).any()


def test_training_leaves_torchs_threads_as_they_were():
    before = torch.get_num_threads()
    train_networks(SHAPE, make_rows(), RECIPE, [0])
    assert torch.get_num_threads() == before


def test_training_does_not_touch_the_global_generator():
    torch.manual_seed(0)
    before = torch.random.get_rng_state()
    train_networks(replace(SHAPE, dropout=0.5), make_rows(), RECIPE, [0])
    assert torch.equal(torch.random.get_rng_state(), before)


def test_the_loss_falls_and_history_tells_of_each_epoch():
    (result,) = train_networks(SHAPE, make_rows(), replace(RECIPE, epochs=20), [0])
    losses = [epoch.loss for epoch in result.history]
    assert losses[-1] < 0.1 * losses[0]
    assert [epoch.epoch for epoch in result.history] == list(range(1, 21))
    assert result.best_epoch == 20


def test_the_best_weights_on_validation_rows_are_restored():
    rows = make_rows()
    noise = replace(rows, target=torch.randn(200, 1, generator=torch.Generator().manual_seed(0)))
    recipe = replace(RECIPE, epochs=30, schedule="constant")
    (result,) = train_networks(SHAPE, rows, recipe, [0], validation=noise)
    best = min(result.history, key=lambda epoch: epoch.validation_loss)
    assert result.best_epoch == best.epoch < 30
    total, n_rows = sum_losses(result.network, noise, recipe)
    assert total / n_rows == pytest.approx(best.validation_loss)


def test_early_stopping_ends_after_epochs_without_improvement():
    rows = make_rows()
    noise = replace(rows, target=torch.randn(200, 1, generator=torch.Generator().manual_seed(0)))
    recipe = replace(RECIPE, epochs=200, schedule="constant", patience=3)
    (result,) = train_networks(SHAPE, rows, recipe, [0], validation=noise)
    assert len(result.history) == result.best_epoch + 3 < 200


def test_an_interruption_keeps_the_best_so_far(monkeypatch):
    def interrupted_wait(futures):
        third_epoch.wait()
        raise KeyboardInterrupt

    third_epoch = threading.Event()
    monkeypatch.setattr("catspace.model.turns.wait", interrupted_wait)

    def listener(epoch):
        if epoch.epoch == 3:
            third_epoch.set()

    recipe = replace(RECIPE, epochs=1_000_000, schedule="constant")
    (result,) = train_networks(SHAPE, make_rows(), recipe, [0], listener=listener)
    assert result.interrupted
    assert 3 <= len(result.history) < 1_000_000
    assert result.best_epoch == len(result.history)


def test_doubling_a_weight_is_repeating_the_row_in_a_full_batch():
    rows = make_rows(n=50)
    weight = torch.ones(50)
    weight[:10] = 2
    repeated = rows.take(torch.cat([torch.arange(50), torch.arange(10)]))
    recipe = replace(RECIPE, batch_size=100, epochs=5, schedule="constant", weight_decay=0.0)
    normal = replace(rows, weight=weight / weight.mean())
    (first,) = train_networks(SHAPE, normal, recipe, [0])
    (second,) = train_networks(SHAPE, repeated, recipe, [0])
    for a, b in zip(weights([first])[0], weights([second])[0], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)


def test_predictions_are_the_same_bits_on_any_number_of_jobs(monkeypatch):
    monkeypatch.setattr("catspace.model.prediction._BLOCK_ROWS", 64)
    rows = make_rows(n=300)
    (result,) = train_networks(SHAPE, rows, RECIPE, [0])
    cpu = torch.device("cpu")
    one, three = (
        predict(result.network, rows.codes, rows.numbers, cpu, n_jobs=n_jobs) for n_jobs in (1, 3)
    )
    np.testing.assert_array_equal(one, three)
    whole = result.network(rows.codes, rows.numbers).detach().numpy()
    np.testing.assert_allclose(three, whole, rtol=1e-5, atol=1e-6)


def test_a_prediction_does_not_depend_on_the_rows_beside_it():
    rows = make_rows(n=300)
    (result,) = train_networks(SHAPE, rows, RECIPE, [0])
    cpu = torch.device("cpu")
    together = predict(result.network, rows.codes, rows.numbers, cpu)
    for row in (0, 7, 299):
        alone = predict(
            result.network, rows.codes[:, row : row + 1], rows.numbers[row : row + 1], cpu
        )
        np.testing.assert_array_equal(alone[0], together[row])


def naive_loss(name, output, target, quantile):
    error = target - output
    if name == "squared_error":
        return error**2
    if name == "absolute_error":
        return abs(error)
    if name == "huber":
        delta = 0.25
        return error**2 / 2 if abs(error) <= delta else delta * (abs(error) - delta / 2)
    return quantile * error if error >= 0 else (quantile - 1) * error


@pytest.mark.parametrize("name", ["squared_error", "absolute_error", "huber", "quantile"])
def test_regression_losses_are_the_textbooks(name):
    output, target = [[0.0], [3.0], [-1.0], [0.1]], [[0.5], [0.0], [-1.0], [0.0]]
    got = LOSSES[name](torch.tensor(output), torch.tensor(target), 0.9)
    expected = [naive_loss(name, o[0], t[0], 0.9) for o, t in zip(output, target, strict=True)]
    np.testing.assert_allclose(got, expected, rtol=1e-6)


def test_log_loss_is_minus_the_log_of_the_softmax():
    logits = torch.tensor([[1.0, 2.0, 0.5]])
    expected = -math.log(math.exp(2.0) / sum(math.exp(x) for x in (1.0, 2.0, 0.5)))
    assert LOSSES["log_loss"](logits, torch.tensor([1]), 0.5).item() == pytest.approx(expected)


@pytest.mark.parametrize("sparse_from", [1, 10**9], ids=["sparse", "dense"])
def test_a_training_that_goes_on_from_its_state_ends_with_the_same_bits(
    tmp_path, monkeypatch, sparse_from
):
    monkeypatch.setattr("catspace.model.optimizer.SPARSE_FROM", sparse_from)
    shape, rows = replace(SHAPE, dropout=0.3), make_rows()
    options = {"validation": rows, "device": torch.device("cpu")}

    def start():
        return Training(0, shape, rows, RECIPE, 5, **options)

    whole, first, second = start(), start(), start()
    while not whole.is_finished:
        whole.run_epoch()
    first.run_epoch()
    torch.save(first.state(), tmp_path / "state.pt")
    second.restore(torch.load(tmp_path / "state.pt", weights_only=True))
    while not second.is_finished:
        second.run_epoch()
    assert_same_bits([whole.finish()], [second.finish()])
    assert [epoch.loss for epoch in second.history] == [epoch.loss for epoch in whole.history]
