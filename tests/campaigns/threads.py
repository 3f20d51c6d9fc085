"""Fits and predictions in many threads at once: the same bits as one after the other."""

import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import torch

import catspace
from tests.campaigns.outcome import Outcome
from tests.storage.small_models import SETTINGS, X, save_classifier, save_regressor, y

_THREADS, _SEEDS = 8, 4


def use_threads(n_cases: int, *, seed: int, folder: Path) -> Outcome:
    """Fit, predict, transform and save in threads, with models that they share."""
    outcome = Outcome()
    shared = [catspace.load(save(folder)) for save in (save_regressor, save_classifier)]
    works: dict[str, Callable[[], Any]] = {
        f"fit with seed {seed + i}": lambda i=i: _fit(seed + i) for i in range(_SEEDS)
    }
    for model in shared:
        works[f"predict, {type(model).__name__}"] = lambda m=model: m.predict(X)
        works[f"transform, {type(model).__name__}"] = lambda m=model: m.transform(X)
    works["load and predict"] = lambda: (
        catspace.load(folder / "regressor.catspace").predict(X)
    )  # fmt: skip
    expected = {name: work() for name, work in works.items()}
    names = [list(works)[case % len(works)] for case in range(n_cases)]
    before = _settings()
    with ThreadPoolExecutor(_THREADS) as pool:
        answers = [(name, pool.submit(works[name])) for name in names]
    for case, (name, answer) in enumerate(answers):
        with outcome.case(f"{case}, {name}"):
            assert np.array_equal(answer.result(), expected[name]), "other bits"
            outcome.counts[name.split(",")[0].split(" with")[0]] += 1
    with outcome.case("what the threads leave behind"):
        outcome.n_cases -= 1
        assert _settings() == before, "settings of the process have changed"
    return outcome


def _fit(seed: int) -> np.ndarray:
    settings = {**SETTINGS, "random_state": seed, "n_jobs": 2}
    return catspace.EmbeddingRegressor(n_networks=2, **settings).fit(X, y).predict(X)


def _settings() -> list[Any]:
    """Return what belongs to the whole process, and to its user."""
    return [torch.get_num_threads(), torch.get_default_dtype(), np.geterr(), warnings.filters[:]]
