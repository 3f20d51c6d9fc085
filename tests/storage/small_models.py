"""A small table with every kind of column, and models of it that are fitted in a moment."""

from pathlib import Path

import numpy as np
import pandas as pd

from catspace import EmbeddingClassifier, EmbeddingRegressor

N = 60
_random = np.random.default_rng(0)
X = pd.DataFrame(
    {
        "town": _random.choice(["Aachen", "Bonn", "Celle"], N),
        "size": np.where(_random.random(N) < 0.1, np.nan, _random.normal(size=N)),
        "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(_random.integers(0, 99, N), unit="D"),
        "width": _random.normal(size=N),
        "user": _random.integers(0, 1000, N).astype(str),
    }
)
y = _random.normal(size=N)
SETTINGS = {
    "max_epochs": 2,
    "random_state": 0,
    "smooth": 4.0,
    "hidden_layer_sizes": (8, 4),
    "date_parts": ["month", "day_of_week"],
    "discretize": {"width": 3},
    "hash_buckets": {"user": 16},
    "n_jobs": 1,
}


def save_regressor(folder: Path) -> Path:
    """Fit two networks to numbers; return where the model is."""
    path = folder / "regressor.catspace"
    EmbeddingRegressor(n_networks=2, **SETTINGS).fit(X, y).save(path)
    return path


def save_classifier(folder: Path) -> Path:
    """Fit a one-hot network to classes; return where the model is."""
    path = folder / "classifier.catspace"
    labels = np.where(y > 0, "yes", "no")
    EmbeddingClassifier(input_encoding="onehot", **SETTINGS).fit(X, labels).save(path)
    return path
