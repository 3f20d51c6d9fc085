"""Models do not depend on what the user's program has told torch to do by default."""

from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest
import torch

import catspace
from catspace import EmbeddingRegressor

random = np.random.default_rng(0)
X = pd.DataFrame({"town": random.choice(list("abcd"), 200), "size": random.normal(size=200)})
y = random.normal(size=200) + (X["town"] == "a")
SETTINGS = {"max_epochs": 2, "random_state": 0, "early_stopping": True}


@contextmanager
def default_dtype(dtype):
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.fixture(scope="module")
def model():
    return EmbeddingRegressor(**SETTINGS).fit(X, y)


@pytest.mark.parametrize(
    "setting",
    [
        lambda: default_dtype(torch.float64),
        lambda: default_dtype(torch.bfloat16),
        torch.inference_mode,
        torch.no_grad,
        lambda: torch.device("meta"),
        lambda: torch.autocast("cpu"),
    ],
    ids=["float64", "bfloat16", "inference", "no gradients", "meta", "autocast"],
)
def test_fit_predict_and_load_do_the_same_whatever_torch_is_told(model, setting, tmp_path):
    expected = model.predict(X)
    model.save(tmp_path / "m.catspace")
    with setting():
        again = EmbeddingRegressor(**SETTINGS).fit(X, y)
        loaded = catspace.load(tmp_path / "m.catspace")
        np.testing.assert_array_equal(model.predict(X), expected)
        np.testing.assert_array_equal(again.predict(X), expected)
    np.testing.assert_array_equal(loaded.predict(X), expected)
    losses = [epoch["validation_loss"] for epoch in model.history_]
    assert [epoch["validation_loss"] for epoch in again.history_] == losses
