"""Losses beside the squared error: counts, and losses that users bring along."""

import math
import pickle

import numpy as np
import onnxruntime
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.linear_model import PoissonRegressor
from sklearn.metrics import d2_tweedie_score, mean_poisson_deviance
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import catspace
from catspace import EmbeddingRegressor, to_onnx
from catspace.exceptions import InputError, ParameterError
from catspace.export.report.summary import summarise
from catspace.model.losses import LOSSES

SMALL = {"hidden_layer_sizes": (32, 16), "random_state": 0, "n_jobs": 1}
COUNTS = {"loss": "poisson", **SMALL}


def draw_counts(n, seed):
    """Return towns and days with a rate each, the exposure of each row, and its count."""
    random = np.random.default_rng(seed)
    town, day = random.integers(12, size=n), random.integers(5, size=n)
    rate = 0.2 * np.exp(0.25 * town) * np.array([1.0, 1.5, 0.5, 1.0, 2.0])[day]
    exposure = random.uniform(0.2, 3, size=n)
    X = pd.DataFrame({"town": [f"T{t}" for t in town], "day": [f"D{d}" for d in day]})
    return X, rate, exposure, random.poisson(rate * exposure).astype(float)


def test_counts_are_predicted_as_well_as_by_rates_of_categories_and_by_a_linear_model():
    X, _, _, _ = draw_counts(6_000, 0)
    random = np.random.default_rng(0)
    rate = draw_counts(6_000, 0)[1]
    y, y_new = random.poisson(rate).astype(float), random.poisson(rate).astype(float)
    model = EmbeddingRegressor(**COUNTS).fit(X, y)
    linear = make_pipeline(OneHotEncoder(), PoissonRegressor(alpha=1e-3)).fit(X, y)
    # Naively: the mean count of each pair of categories.
    by_cell = X.assign(y=y).groupby(["town", "day"])["y"].transform("mean").to_numpy()
    best = mean_poisson_deviance(y_new, rate)
    assert mean_poisson_deviance(y_new, model.predict(X)) < 1.02 * best
    for other in (linear.predict(X), np.maximum(by_cell, 1e-3)):
        assert mean_poisson_deviance(y_new, model.predict(X)) < 1.02 * mean_poisson_deviance(
            y_new, other
        )
    # The mean on the scale of counts, not the exponential of a mean of logarithms
    assert model.predict(X).mean() == pytest.approx(y.mean(), rel=0.03)


def test_a_rate_is_learned_from_counts_by_exposure():
    X, rate, exposure, count = draw_counts(8_000, 1)
    model = EmbeddingRegressor(smooth=0, **COUNTS)
    model.fit(X, count / exposure, sample_weight=exposure)
    by_town = pd.DataFrame({"town": X["town"], "rate": rate, "found": model.predict(X)})
    means = by_town.groupby("town")[["rate", "found"]].mean()
    np.testing.assert_allclose(means["found"], means["rate"], rtol=0.15)
    assert (model.predict(X) * exposure).sum() == pytest.approx(count.sum(), rel=0.03)


def test_counts_of_any_size_train_without_diverging():
    random = np.random.default_rng(0)
    X = pd.DataFrame({"g": random.choice(["a", "b"], size=600)})
    for size in (1e-6, 1.0, 1e9):
        y = size * np.where(X["g"] == "a", 1.0, 20.0)
        model = EmbeddingRegressor(**COUNTS).fit(X, y)
        np.testing.assert_allclose(model.predict(X), y, rtol=0.1)


def test_a_category_without_any_count_is_predicted_above_zero_and_all_zeros_as_zero():
    X = pd.DataFrame({"g": ["a", "b"] * 300})
    y = np.where(X["g"] == "a", 0.0, 4.0)
    predicted = EmbeddingRegressor(**COUNTS).fit(X, y).predict(X)
    assert (predicted > 0).all()
    assert predicted[0] < 0.5
    assert (EmbeddingRegressor(**COUNTS).fit(X, 0 * y).predict(X) == 0).all()


def test_networks_of_counts_are_averaged_on_the_scale_of_counts(tmp_path):
    X, _, _, y = draw_counts(1_000, 2)
    model = EmbeddingRegressor(n_networks=3, max_epochs=2, **COUNTS).fit(X, y)
    mean, each = model.predict_networks(model.encode(X))
    np.testing.assert_allclose(mean, np.mean(each, axis=0), rtol=1e-12)
    model.save(tmp_path / "counts.catspace")
    again = catspace.load(tmp_path / "counts.catspace")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.loss == "poisson"


def test_a_graph_of_counts_predicts_the_same():
    X, _, _, y = draw_counts(1_000, 2)
    model = EmbeddingRegressor(n_networks=2, max_epochs=2, **COUNTS).fit(X, y)
    session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
    feeds = {name: X[[name]].to_numpy(dtype=object) for name in X}
    (found,) = session.run(["prediction"], feeds)
    np.testing.assert_allclose(found[:, 0], model.predict(X), rtol=1e-5)


def test_the_page_of_counts_has_the_share_of_the_deviance_that_is_explained():
    X, _, _, y = draw_counts(1_000, 2)
    model = EmbeddingRegressor(max_epochs=4, **COUNTS).fit(X, y)
    expected = d2_tweedie_score(y, model.predict(X), power=1)
    assert summarise(model, X, y)["quality"]["own"]["D²"] == pytest.approx(expected, rel=1e-3)


def test_targets_below_zero_are_no_counts():
    X = pd.DataFrame({"g": ["a", "b"] * 5})
    sentence = r'loss="poisson" needs a target of at least 0; got -2 in row 3 \(1 such rows\)'
    with pytest.raises(InputError, match=sentence):
        EmbeddingRegressor(loss="poisson").fit(X, [0, 1, 2, -2, 4, 5, 6, 7, 8, 9])


def test_counts_take_no_transform():
    with pytest.raises(ParameterError, match=r'loss="poisson" learns the logarithm of the mean'):
        EmbeddingRegressor(loss="poisson", target_transform="log1p").fit([["a"], ["b"]], [1, 2])
    with pytest.raises(ParameterError, match='target_transform must be None, "log", "log1p"'):
        EmbeddingRegressor(target_transform="count").fit([["a"], ["b"]], [1, 2])


def test_the_loss_of_counts_is_half_the_deviance():
    mean, count = [[0.5], [3.0], [2.0]], [[0.0], [1.0], [2.0]]
    expected = [0.5, 1 * math.log(1 / 3) - (1 - 3), 0.0]
    got = LOSSES["poisson"](torch.tensor(mean), torch.tensor(count), 0.5)
    np.testing.assert_allclose(got, expected, atol=1e-6)


def squared(outputs, target):
    """Return the squared error of each row, as a user would write it."""
    return (outputs - target).square().mean(dim=1)


def asymmetric(outputs, target):
    """Return a loss that minds too little three times as much as too much."""
    error = target - outputs
    return torch.where(error > 0, 3 * error, -error).mean(dim=1)


@pytest.fixture(scope="module")
def shops_of_two():
    random = np.random.default_rng(0)
    X = pd.DataFrame({"g": random.choice(["a", "b"], size=800), "x": random.normal(size=800)})
    return X, np.where(X["g"] == "a", 10.0, 20.0) + random.normal(size=800)


@pytest.mark.parametrize("early_stopping", [False, True])
def test_a_function_gives_the_network_that_the_same_loss_by_name_gives(
    shops_of_two, early_stopping
):
    X, y = shops_of_two
    settings = {"early_stopping": early_stopping, "n_networks": 2, "max_epochs": 4, **SMALL}
    mine, named = (
        EmbeddingRegressor(loss=loss, **settings).fit(X, y) for loss in (squared, "squared_error")
    )
    np.testing.assert_array_equal(mine.predict(X), named.predict(X))
    losses = [[epoch["validation_loss"] for epoch in model.history_] for model in (mine, named)]
    assert losses[0] == losses[1]


def test_trials_are_judged_by_the_function():
    X, _, _, y = draw_counts(2_500, 0)
    mine, named = (
        EmbeddingRegressor(loss=loss, max_epochs=2, **SMALL).fit(X, y)
        for loss in (squared, "squared_error")
    )
    assert mine.smooth_ == named.smooth_
    np.testing.assert_array_equal(mine.predict(X), named.predict(X))


def test_a_function_may_ask_for_what_no_name_does():
    random = np.random.default_rng(0)
    X = pd.DataFrame({"g": random.choice(["a", "b"], size=2_000)})
    y = (X["g"] == "a") + random.normal(size=2_000)
    model = EmbeddingRegressor(loss=asymmetric, **SMALL).fit(X, y)
    # Three times as much for too little is the quantile 3 / (3 + 1).
    assert np.mean(y <= model.predict(X)) == pytest.approx(0.75, abs=0.04)


def test_a_loss_below_zero_trains_as_well():
    X, _, _, y = draw_counts(2_500, 0)
    model = EmbeddingRegressor(
        loss=lambda outputs, target: squared(outputs, target) - 10, max_epochs=4, **SMALL
    ).fit(X, y)
    assert model.score(X, y) > 0.3


def test_a_model_file_keeps_what_was_learned_and_not_the_function(shops_of_two, tmp_path):
    X, y = shops_of_two
    model = EmbeddingRegressor(loss=squared, max_epochs=2, **SMALL).fit(X, y)
    model.save(tmp_path / "model.catspace")
    again = catspace.load(tmp_path / "model.catspace")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.loss == again.fitted_.recipe.loss == "custom"
    with pytest.raises(ParameterError, match=r'loss="custom" stands for a function that the mode'):
        again.fit(X, y)
    refitted = again.set_params(loss=squared).fit(X, y)
    np.testing.assert_array_equal(refitted.predict(X), model.predict(X))


def test_a_model_with_a_function_is_cloned_and_pickled(shops_of_two):
    X, y = shops_of_two
    model = EmbeddingRegressor(loss=squared, max_epochs=2, **SMALL).fit(X, y)
    assert clone(model).loss is squared
    again = pickle.loads(pickle.dumps(model))
    assert again.loss is squared
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("loss", "sentence"),
    [
        (lambda o, t: (o - t).square().mean(), r"for 32 rows it returned a tensor of shape \(\)"),
        (lambda o, t: (o - t).square(), r"for 32 rows it returned a tensor of shape \(32, 1\)"),
        (lambda o, t: (o[:, 0] - 2).log(), "it returned NaN or infinity for outputs between"),
        (lambda o, t: 3.0, "it returned float, which is no tensor"),
        (lambda o, t: (o - t)[:, 0].detach().numpy(), "it returned ndarray, which is no tensor"),
        (lambda o, t: t[:, 0] ** 2, "what it returned has no gradient"),
        (torch.nn.MSELoss, 'loss must be one of "auto", "squared_error"'),
        (3, 'loss must be one of "auto", "squared_error"'),
    ],
)
def test_what_gives_no_loss_for_each_row_is_refused_before_training(shops_of_two, loss, sentence):
    epochs = []
    with pytest.raises(ParameterError, match=sentence):
        EmbeddingRegressor(loss=loss).fit(*shops_of_two, on_epoch=epochs.append)
    assert epochs == []
