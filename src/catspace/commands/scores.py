"""How a model does on rows that it has not seen, beside plain baselines."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from rich.table import Table as Grid
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from catspace.analysis.scoring import score_classes, score_numbers
from catspace.data.encoding import Encoded
from catspace.data.target import COUNT, to_numbers
from catspace.exceptions import shorten

_MOST_HGB_CATEGORIES = 255
_MOST_HGB_CLASSES = 50  # it grows a tree for each of them, a hundred times

# By method, then by score.
Scores = dict[str, dict[str, float]]


@dataclass(frozen=True)
class Comparison:
    """The scores of each method that has some, and sentences about what has none."""

    scores: Scores = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def add(self, method: str, score: Callable[[], dict[str, float]]) -> None:
        """Score a method; whatever goes wrong is a sentence, since the model is there all the same.

        Baselines have demands of their own, such as two rows of each class.
        """
        try:
            self.scores[method] = score()
        except Exception as error:
            self.notes.append(f"There is no score of {method}: {_reason(error)}")


@dataclass(frozen=True)
class Examples:
    """Rows as a model reads them, with their targets."""

    encoded: Encoded
    y: np.ndarray  # of shape (n_samples,), on the user's own scale


def score_grid(scores: Scores, title: str) -> Grid:
    """Return the scores for the terminal."""
    names = list(next(iter(scores.values())))
    grid = Grid("method", title=title)
    shown = []
    for name in names:
        grid.add_column(name, justify="right")
        shown.append(show_numbers([found.get(name) for found in scores.values()]))
    for method, *cells in zip(scores, *shown, strict=True):
        grid.add_row(method, *cells, style="bold" if method == "catspace" else "")
    return grid


def compare(
    model: Any, training: Examples | None, new: Examples, *, boosting: bool = True, seed: int = 0
) -> Comparison:
    """Score the model on new rows, beside a constant and scikit-learn's gradient boosting.

    Parameters
    ----------
    model : fitted EmbeddingRegressor or EmbeddingClassifier
    training : Examples, optional
        What the baselines learn from. Without it the constant is that of the new rows themselves,
        and there is no boosting.
    new : Examples
    boosting : bool
    seed : int
    """
    comparison = Comparison()
    methods = _classifiers if hasattr(model, "classes_") else _regressors
    judge, constant, booster, name = methods(model, new.y, comparison)
    comparison.add(
        "catspace", lambda: judge(model.fitted_.points(model.predict_encoded(new.encoded)), None)
    )
    known = new if training is None else training
    X, X_new = _features(known.encoded), _features(new.encoded)
    n_classes = len(getattr(model, "classes_", ()))
    if boosting and training is not None and n_classes > _MOST_HGB_CLASSES:
        comparison.notes.append(
            f"There is no score of gradient boosting: with {n_classes} classes it takes very long."
        )
    elif boosting and training is not None:
        native = [i for i, n in enumerate(_n_codes(model)) if n <= _MOST_HGB_CATEGORIES]
        booster.set_params(categorical_features=native, random_state=seed)
        comparison.add("gradient boosting", lambda: _learn(booster, X, known.y, X_new, judge))
    comparison.add(name, lambda: _learn(constant, X, known.y, X_new, judge))
    return comparison


def _learn(method: Any, X: np.ndarray, y: np.ndarray, X_new: np.ndarray, judge: Any) -> Any:
    method.fit(X, y)
    if hasattr(method, "classes_"):
        return judge(method.predict_proba(X_new), method.classes_)
    return judge(method.predict(X_new), None)


def _classifiers(model: Any, true: np.ndarray, comparison: Comparison) -> tuple[Any, ...]:
    unknown = np.unique(true[~np.isin(true, model.classes_)])
    if len(unknown):
        comparison.notes.append(
            f"Only rows that were held back have the target {shorten(unknown.tolist())}: no "
            "method can predict that."
        )

    def judge(shares: np.ndarray, classes: np.ndarray | None) -> dict[str, float]:
        return score_classes(true, shares, model.classes_ if classes is None else classes)

    constant = DummyClassifier(strategy="prior")
    return judge, constant, HistGradientBoostingClassifier(), "majority"


def _regressors(model: Any, true: np.ndarray, comparison: Comparison) -> tuple[Any, ...]:
    true = to_numbers(true)
    is_count = model.fitted_.learned.target.transform == COUNT

    def judge(predicted: np.ndarray, _: Any) -> dict[str, float]:
        return score_numbers(true, predicted, is_count=is_count)

    booster = HistGradientBoostingRegressor(loss="poisson" if is_count else "squared_error")
    if model.target_transform == "log":
        booster = _OfLogarithm(booster)
    return judge, DummyRegressor(), booster, "mean"


class _OfLogarithm:
    """A regressor that learns the logarithm of the target, as the model does."""

    def __init__(self, regressor: Any) -> None:
        self._regressor = regressor

    def set_params(self, **parameters: Any) -> None:
        self._regressor.set_params(**parameters)

    def fit(self, X: np.ndarray, y: np.ndarray) -> None:
        self._regressor.fit(X, np.log(y))

    def predict(self, X: np.ndarray) -> np.ndarray:
        return np.asarray(np.exp(self._regressor.predict(X)))


def _reason(error: Exception) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__


def _features(encoded: Encoded) -> np.ndarray:
    """Return what a model reads, for methods that take one array."""
    return np.column_stack([*encoded.codes, encoded.numbers]).astype(np.float64)


def _n_codes(model: Any) -> tuple[int, ...]:
    # Boosting takes at most 255 categories; columns with more go in as integers.
    codes: tuple[int, ...] = model.fitted_.learned.encoder.n_codes
    return codes


def show_numbers(values: Sequence[float | None]) -> list[str]:
    """Return numbers with as many digits as the largest of them needs, the same for all.

    Examples
    --------
    >>> show_numbers([834.5609, 1241.52, None]), show_numbers([0.1311, 0.2052])
    (['834.6', '1,241.5', ''], ['0.1311', '0.2052'])
    """
    largest = max((abs(value) for value in values if value is not None), default=0.0)
    digits = 1 if largest >= 100 else 4 if largest < 10 else 2
    return ["" if value is None else f"{value:,.{digits}f}" for value in values]
