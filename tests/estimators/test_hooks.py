"""What deep-learning users take over: when to stop, networks and vectors as torch's modules."""

import numpy as np
import pandas as pd
import pytest

import catspace
from catspace import EmbeddingRegressor
from catspace.exceptions import NothingLearnedWarning

SMALL = {"hidden_layer_sizes": (32, 16), "smooth": 4.0, "random_state": 0}


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "town": random.choice(["Aachen", "Bonn", None], size=640),
            "shop": random.choice([f"S{i}" for i in range(9)], size=640),
            "size": random.normal(size=640),
        }
    )
    y = np.where(X["town"] == "Bonn", 2.0, 0.0) + X["size"] + random.normal(size=640)
    return X, y.to_numpy()


def test_a_callback_that_returns_true_ends_its_network_and_keeps_what_it_learned(rows, tmp_path):
    X, y = rows
    model = EmbeddingRegressor(max_epochs=6, schedule="constant", **SMALL)
    model.fit(X, y, on_epoch=lambda epoch: epoch["epoch"] == 3)
    assert [epoch["stopped"] for epoch in model.history_] == [False, False, True]
    assert (model.n_iter_, model.best_epoch_) == (3, [3])
    # With a constant rate, and decay stated as such, it is the network of three epochs.
    shorter = EmbeddingRegressor(
        max_epochs=3, schedule="constant", weight_decay=model.fitted_.recipe.weight_decay, **SMALL
    ).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), shorter.predict(X))
    model.save(tmp_path / "stopped.catspace")
    assert catspace.load(tmp_path / "stopped.catspace").history_ == model.history_


def test_after_a_stop_the_best_judged_epoch_is_kept_as_after_early_stopping(rows):
    X, y = rows
    settings = {"max_epochs": 12, "learning_rate": 0.05, **SMALL}
    model = EmbeddingRegressor(**settings)
    judges = {"X_val": X[:100], "y_val": -y[:100]}
    with pytest.warns(NothingLearnedWarning):  # about the opposite of what judges it
        model.fit(X, y, **judges, on_epoch=lambda epoch: epoch["epoch"] == 5)
    losses = [epoch["validation_loss"] for epoch in model.history_]
    assert len(losses) == 5
    assert model.best_epoch_ == [1 + int(np.argmin(losses))]
    assert model.best_epoch_[0] < 5


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_each_network_stops_by_itself_whatever_the_number_of_threads(rows, n_jobs):
    X, y = rows
    model = EmbeddingRegressor(n_networks=3, max_epochs=5, n_jobs=n_jobs, **SMALL)
    model.fit(X, y, on_epoch=lambda epoch: np.bool_(epoch["epoch"] == 2 + epoch["network"]))
    last = {epoch["network"]: epoch["epoch"] for epoch in model.history_ if epoch["stopped"]}
    assert last == {0: 2, 1: 3, 2: 4}
    assert len(model.history_) == 2 + 3 + 4
    alone = EmbeddingRegressor(n_networks=3, max_epochs=5, n_jobs=1, **SMALL)
    alone.fit(X, y, on_epoch=lambda epoch: epoch["epoch"] == 2 + epoch["network"])
    np.testing.assert_array_equal(model.predict(X), alone.predict(X))


@pytest.mark.parametrize("answer", [None, 1, "stop", [True], False])
def test_only_true_ends_a_training(rows, answer):
    X, y = rows
    model = EmbeddingRegressor(max_epochs=2, **SMALL).fit(X, y, on_epoch=lambda epoch: answer)
    assert [epoch["stopped"] for epoch in model.history_] == [False, False]
