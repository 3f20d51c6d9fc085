"""How a model does on rows that it has not seen, beside plain baselines."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from rich.table import Table as Grid
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import mean_absolute_error, mean_absolute_percentage_error, r2_score

from catspace.data.table import Table
from catspace.estimators import EmbeddingClassifier
from catspace.exceptions import shorten

_MOST_HGB_CATEGORIES = 255

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


def score_grid(scores: Scores, n_rows: int) -> Grid:
    """Return the scores on so many rows for the terminal."""
    names = list(next(iter(scores.values())))
    grid = Grid("method", *names, title=f"On {n_rows:,} rows that were held back")
    for method, found in scores.items():
        style = "bold" if method == "catspace" else ""
        grid.add_row(method, *(f"{found[name]:.4f}" for name in names), style=style)
    return grid


def compare(
    model: Any,
    table: Table,
    y: np.ndarray,
    used: np.ndarray,
    held_back: np.ndarray,
    *,
    seed: int,
) -> Comparison:
    """Score the model, a constant, and scikit-learn's gradient boosting on the same rows."""
    comparison, new, true = Comparison(), table.take(held_back), y[held_back]
    try:
        features, native = _features(model, table)
    except Exception as error:  # rows that were held back may hold what fit would have refused
        return Comparison(notes=[f"There are no scores: {_reason(error)}"])
    X, X_new = features[used], features[held_back]
    options = {"categorical_features": native, "random_state": seed}
    if isinstance(model, EmbeddingClassifier):
        unknown = np.unique(true[~np.isin(true, model.classes_)])
        if len(unknown):
            comparison.notes.append(
                f"Only rows that were held back have the target {shorten(unknown.tolist())}: no "
                "method can predict that."
            )

        def judge(classifier: Any, X: Any) -> dict[str, float]:
            return _score_classes(true, classifier.predict_proba(X), classifier.classes_)

        boosting = HistGradientBoostingClassifier(**options)
        constant = DummyClassifier(strategy="prior")
        comparison.add("catspace", lambda: judge(model, new))
        comparison.add("gradient boosting", lambda: judge(boosting.fit(X, y[used]), X_new))
        comparison.add("majority", lambda: judge(constant.fit(X, y[used]), X_new))
        return comparison
    y, true = y.astype(float), true.astype(float)
    is_log = model.target_transform == "log"
    forward, back = (np.log, np.exp) if is_log else (np.asarray, np.asarray)

    def judge_baseline(regressor: Any) -> dict[str, float]:
        predicted = regressor.fit(X, forward(y[used])).predict(X_new)
        return _score_numbers(true, back(predicted))

    comparison.add("catspace", lambda: _score_numbers(true, model.predict(new)))
    boosting = HistGradientBoostingRegressor(**options)
    comparison.add("gradient boosting", lambda: judge_baseline(boosting))
    comparison.add("mean", lambda: judge_baseline(DummyRegressor()))
    return comparison


def _reason(error: Exception) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__


def _features(model: Any, table: Table) -> tuple[np.ndarray, list[int]]:
    """Return what the model makes of a table, for gradient boosting, and which are categories."""
    encoded = model.encode(table)
    features = np.column_stack([*encoded.codes, encoded.numbers]).astype(np.float64)
    n_codes = model.fitted_.learned.encoder.n_codes
    # It takes at most 255 categories; columns with more go in as integers.
    return features, [i for i, n in enumerate(n_codes) if n <= _MOST_HGB_CATEGORIES]


def _score_classes(true: np.ndarray, shares: np.ndarray, classes: np.ndarray) -> dict[str, float]:
    """Return the scores of probabilities; shares of shape (n_samples, n_classes)."""
    position = np.minimum(np.searchsorted(classes, true), len(classes) - 1)
    is_known = classes[position] == true
    share = np.where(is_known, shares[np.arange(len(true)), position], 0.0)
    # As scikit-learn's log_loss, which refuses a single class and classes that fit has not met.
    smallest = np.finfo(shares.dtype).eps
    return {
        "accuracy": float(((shares.argmax(axis=1) == position) & is_known).mean()),
        "log loss": float(-np.log(np.clip(share, smallest, 1.0)).mean()),
    }


def _score_numbers(true: np.ndarray, predicted: np.ndarray) -> dict[str, float]:
    scores = {"mean absolute error": float(mean_absolute_error(true, predicted))}
    if len(true) > 1:  # of one row there is no variance to explain
        scores = {"R²": float(r2_score(true, predicted)), **scores}
    if (true != 0).all():
        scores["MAPE"] = float(mean_absolute_percentage_error(true, predicted))
    return scores
