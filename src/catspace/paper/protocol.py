"""The paper's protocol: its features, its two splits, its scores and its published numbers."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import mean_absolute_percentage_error
from sklearn.preprocessing import OrdinalEncoder

from catspace.datasets import SalesData
from catspace.exceptions import InputError, shorten

SPLITS = ("shuffled", "time")
ENCODINGS = ("raw", "ee")
TEST_SHARE = 0.1
ROWS = 200_000

# Table 1 of the paper: the type of each feature and the dimension of its embedding.
_TABLE_1 = {
    "store": ("nominal", 10),
    "day_of_week": ("ordinal", 6),
    "day": ("ordinal", 10),
    "month": ("ordinal", 6),
    "year": ("ordinal", 2),
    "promo": ("binary", 1),
    "state": ("nominal", 6),
}
FEATURE_TYPES = {name: kind for name, (kind, _) in _TABLE_1.items()}
PAPER_DIMS = {name: dim for name, (_, dim) in _TABLE_1.items()}

# Tables 3 and 4 of the paper: MAPE by split, method and encoding.
PUBLISHED = {
    ("shuffled", "knn", "raw"): 0.315,
    ("shuffled", "knn", "ee"): 0.099,
    ("shuffled", "random_forest", "raw"): 0.167,
    ("shuffled", "random_forest", "ee"): 0.089,
    ("shuffled", "xgboost", "raw"): 0.122,
    ("shuffled", "xgboost", "ee"): 0.071,
    ("shuffled", "network", "raw"): 0.070,
    ("shuffled", "network", "ee"): 0.070,
    ("time", "knn", "raw"): 0.290,
    ("time", "knn", "ee"): 0.116,
    ("time", "random_forest", "raw"): 0.158,
    ("time", "random_forest", "ee"): 0.108,
    ("time", "xgboost", "raw"): 0.152,
    ("time", "xgboost", "ee"): 0.115,
    ("time", "network", "raw"): 0.101,
    ("time", "network", "ee"): 0.093,
}


@dataclass(frozen=True)
class Features:
    """What a method sees of the training rows and of the test rows."""

    train: Any
    test: Any


@dataclass(frozen=True)
class Problem:
    """One split of the data: rows to learn from and rows to be judged by."""

    data: SalesData = field(repr=False)  # all rows, oldest first, in a pandas frame
    name: str  # of the data
    split: str  # {"shuffled", "time"}
    train: np.ndarray = field(repr=False)  # positions of the rows, in random order for training
    test: np.ndarray = field(repr=False)  # positions of the rows, in random order for training
    seed: int

    @property
    def y_train(self) -> np.ndarray:
        """The sales of the training rows."""
        return np.asarray(self.data.y[self.train])

    @property
    def y_test(self) -> np.ndarray:
        """The sales of the test rows."""
        return np.asarray(self.data.y[self.test])

    @cached_property
    def frames(self) -> Features:
        """The categories as they are, in frames of dtype category."""
        X: pd.DataFrame = self.data.X.astype("category")
        return Features(X.iloc[self.train], X.iloc[self.test])

    @cached_property
    def codes(self) -> Features:
        """The categories as integers: each one's place among the sorted training values."""
        encoder = OrdinalEncoder(
            dtype=np.int32, handle_unknown="use_encoded_value", unknown_value=-1
        )
        train = encoder.fit_transform(self.frames.train.astype(object))
        return Features(train, encoder.transform(self.frames.test.astype(object)))

    @cached_property
    def validation(self) -> np.ndarray:
        """Which training rows a choice may be judged by: a mask of shape (n_train,).

        A tenth of them, like the test rows: the latest where the test lies in the future, and
        random ones where it does not.
        """
        n = max(1, round(TEST_SHARE * len(self.train)))
        chosen = np.zeros(len(self.train), dtype=bool)
        # Rows are in order of time, and the training rows in random order.
        chosen[np.argsort(self.train)[-n:] if self.split == "time" else slice(n)] = True
        return chosen


def make_problem(data: SalesData, name: str, split: str, *, rows: int, seed: int) -> Problem:
    """Split the data as the paper does: 90/10, then a sample of the 90."""
    train, test = split_rows(len(data.y), split, rows=rows, seed=seed)
    return Problem(data, name, split, train, test, seed)


def split_rows(n: int, split: str, *, rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions of training rows and test rows among rows in order of time.

    Parameters
    ----------
    n : int
        How many rows there are.
    split : {"shuffled", "time"}
        Test on a random tenth, or on the last tenth.
    rows : int
        How many of the other nine tenths to sample.
    seed : int

    Examples
    --------
    >>> train, test = split_rows(20, "time", rows=5, seed=0)
    >>> test
    array([18, 19])
    """
    if split not in SPLITS:
        raise InputError(f"split must be one of {shorten(SPLITS)}; got {split!r}.")
    random = np.random.default_rng(seed)
    order = np.arange(n) if split == "time" else random.permutation(n)
    cut = int((1 - TEST_SHARE) * n)
    if not 1 <= rows <= cut:
        raise InputError(
            f"{rows:,} training rows were asked for, and the training part of the data has {cut:,}."
        )
    # Paper: its code draws rows with replacement; here without.
    return random.choice(order[:cut], size=rows, replace=False), order[cut:]


def scores(y: np.ndarray, predicted: np.ndarray) -> dict[str, float]:
    """Return the paper's score, MAPE, and the competition's, RMSPE, as records have them."""
    return {"mape": mean_absolute_percentage_error(y, predicted), "rmspe": rmspe(y, predicted)}


def rmspe(y: np.ndarray, predicted: np.ndarray) -> float:
    """Return the competition's score, the root of the mean squared percentage error.

    Examples
    --------
    >>> rmspe(np.array([100.0, 200.0]), np.array([110.0, 180.0]))
    0.1
    """
    return float(np.sqrt(np.mean(np.square((y - predicted) / y))))


def describe_features(data: SalesData) -> Iterator[tuple[str, str, int, int]]:
    """Yield name, type, number of values in the data and EE dimension of each feature."""
    for name, kind in FEATURE_TYPES.items():
        yield name, kind, int(data.X[name].nunique()), PAPER_DIMS[name]
