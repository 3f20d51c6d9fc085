"""How a model does on rows that it has not seen, beside plain baselines."""

from typing import Any

import numpy as np
from rich.table import Table as Grid
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import (
    accuracy_score,
    log_loss,
    mean_absolute_error,
    mean_absolute_percentage_error,
    r2_score,
)

from catspace.data.table import Table
from catspace.estimators import EmbeddingClassifier

_MOST_HGB_CATEGORIES = 255

# By method, then by score.
Scores = dict[str, dict[str, float]]


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
) -> Scores:
    """Score the model, a constant, and scikit-learn's gradient boosting on the same rows."""
    encoded = model.encode(table)
    features = np.column_stack([*encoded.codes, encoded.numbers]).astype(np.float64)
    n_codes = model.fitted_.learned.encoder.n_codes
    # It takes at most 255 categories; columns with more go in as integers.
    native = [i for i, n in enumerate(n_codes) if n <= _MOST_HGB_CATEGORIES]
    X, X_new = features[used], features[held_back]
    if isinstance(model, EmbeddingClassifier):
        boosting = HistGradientBoostingClassifier(categorical_features=native, random_state=seed)
        constant = DummyClassifier(strategy="prior")
        found = {"catspace": model.predict_proba(table.take(held_back))}
        for name, other in (("gradient boosting", boosting), ("majority", constant)):
            found[name] = other.fit(X, y[used]).predict_proba(X_new)
        labels = model.classes_
        return {
            name: {
                "accuracy": float(accuracy_score(y[held_back], labels[p.argmax(axis=1)])),
                "log loss": float(log_loss(y[held_back], p, labels=labels)),
            }
            for name, p in found.items()
        }
    y = y.astype(float)
    is_log = model.target_transform == "log"
    forward, back = (np.log, np.exp) if is_log else (np.asarray, np.asarray)
    boosting = HistGradientBoostingRegressor(categorical_features=native, random_state=seed)
    found = {"catspace": model.predict(table.take(held_back))}
    for name, other in (("gradient boosting", boosting), ("mean", DummyRegressor())):
        found[name] = back(other.fit(X, forward(y[used])).predict(X_new))
    true = y[held_back]
    scores = {
        name: {
            "R²": float(r2_score(true, predicted)),
            "mean absolute error": float(mean_absolute_error(true, predicted)),
        }
        for name, predicted in found.items()
    }
    if (true != 0).all():
        for name, predicted in found.items():
            scores[name]["MAPE"] = float(mean_absolute_percentage_error(true, predicted))
    return scores
