"""Errors and warnings: what they say, and where they point."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

from catspace import EmbeddingEncoder, EmbeddingRegressor
from catspace.exceptions import (
    CatspaceError,
    CatspaceWarning,
    InputError,
    did_you_mean,
    shorten,
    warn,
)

FAST = {"max_epochs": 1, "hidden_layer_sizes": (4,), "random_state": 0}
X = pd.DataFrame({"shop_id": np.arange(40) % 7, "town": ["a", "b"] * 20})
Y = np.arange(40.0)


def line_of_warning(action, category):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        action()
    (found,) = [one for one in caught if issubclass(one.category, category)]
    return found.filename


def fit():
    return EmbeddingRegressor(**FAST).fit(X, Y)


def fit_in_a_pipeline():
    make_pipeline(EmbeddingEncoder(**FAST), LinearRegression()).fit(X, Y)


def predict_an_array():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CatspaceWarning)
        model = fit()
    model.predict(X.to_numpy(dtype=object))


def transform_other_kinds():
    model = EmbeddingRegressor(categorical_features=["shop_id"], **FAST).fit(X, Y)
    model.transform(X.astype({"shop_id": str}))


@pytest.mark.parametrize(
    ("action", "category"),
    [
        (fit, CatspaceWarning),
        (fit_in_a_pipeline, CatspaceWarning),
        (predict_an_array, UserWarning),
        (transform_other_kinds, CatspaceWarning),
    ],
)
def test_a_warning_points_at_the_line_of_the_user(action, category):
    assert line_of_warning(action, category) == __file__


def test_an_error_ends_with_its_hint():
    assert str(CatspaceError("Wrong.", hint="do right.")) == "Wrong.\nHint: do right."


def test_a_guess_ignores_case_and_is_silent_without_one():
    assert did_you_mean("STATE", ["Store", "State"]) == " Did you mean 'State'?"
    assert did_you_mean("weather", ["Store", "State"]) == ""


def test_a_long_list_is_cut():
    assert shorten(range(9)) == "[0, 1, 2, 3, 4, …]"


def test_no_error_and_no_warning_carries_an_escape_sequence():
    message, hint = "There is no column '\x1b[2J'.", "the columns are: a\x07, b."
    assert str(InputError(message, hint=hint)) == (
        "There is no column '\\x1b[2J'.\nHint: the columns are: a\\x07, b."
    )
    with pytest.warns(CatspaceWarning, match=r"^There is no column '\\x1b\[2J'\.\nHint: the"):
        warn(message, hint=hint)
