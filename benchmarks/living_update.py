"""A model that goes on learning: new stores on Rossmann, by partial_fit and by a fit on everything.

A model is fitted without a fifth of the stores, on 200,000 rows of the others of before a day. Then
it goes on with 30 days of the stores that it lacks, the last ones before that day. Compared on the
rows from that day on: the model before, the model after, and a fit on all the same rows. Mean
absolute percentage errors of the new stores and of the old ones; and the CPU time of the update as
a share of that of the fit on everything, on one thread, measured in one run.

How fast an update learns was chosen with other stores and earlier days (``--choose``), of which no
row is tested on: there the day is 90 or 150 days earlier, and rows of at most 90 days are judged.
"""

import argparse
import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from common import DATA, mape, print_table

from catspace import EmbeddingRegressor, load_rossmann

ROWS = 200_000
DAYS_OF_NEW = 30
TEST_SHARE = 0.1  # the latest rows, as in the paper
SETTINGS: dict[str, Any] = {"target_transform": "log", "smooth": 4, "random_state": 0, "n_jobs": 1}
# What is asked: errors against those of a fit on everything, and of the model before; its time.
MOST_ERROR_OF_NEW, MOST_ERROR_OF_OLD, MOST_TIME = 1.1, 1.02, 0.1


@dataclass(frozen=True)
class Case:
    """Rows to fit on, rows to go on with, and rows of new and of old stores to judge by."""

    old: np.ndarray
    more: np.ndarray
    later_of_new: np.ndarray
    later_of_old: np.ndarray


def make_case(X: pd.DataFrame, *, seed: int, days_earlier: int) -> Case:
    """Leave a fifth of the stores out, and cut at a day: the test's, or some days before it."""
    random = np.random.default_rng(seed)
    parts = {name: X[name].astype(int) for name in ("year", "month", "day")}
    day = pd.to_datetime(parts).to_numpy()
    test = day[int((1 - TEST_SHARE) * len(X))]
    cut = test - np.timedelta64(days_earlier, "D")
    until = min(test, cut + np.timedelta64(90, "D")) if days_earlier else day.max()
    store = X["store"].astype(int).to_numpy()
    stores = np.unique(store)
    is_new = np.isin(store, random.choice(stores, len(stores) // 5, replace=False))
    old = np.flatnonzero((day < cut) & ~is_new)
    old = np.sort(random.choice(old, min(ROWS, len(old)), replace=False))
    since = cut - np.timedelta64(DAYS_OF_NEW, "D")
    more = np.flatnonzero((day < cut) & (day >= since) & is_new)
    is_later = (day >= cut) & (day <= until if not days_earlier else day < until)
    return Case(old, more, np.flatnonzero(is_later & is_new), np.flatnonzero(is_later & ~is_new))


def cpu_seconds(action: Any) -> float:
    """Return the CPU time that an action takes, which a busy machine does not change much."""
    start = time.process_time()
    action()
    return time.process_time() - start


def measure(X: pd.DataFrame, y: np.ndarray, case: Case) -> dict[str, Any]:
    """Return errors of new and of old stores by model, and the times of update and fit."""
    model, whole = EmbeddingRegressor(**SETTINGS), EmbeddingRegressor(**SETTINGS)
    everything = np.concatenate([case.old, case.more])

    def errors(of: EmbeddingRegressor) -> tuple[float, float]:
        judged = (case.later_of_new, case.later_of_old)
        new, old = (float(mape(y[rows], of.predict(X.iloc[rows]))) for rows in judged)
        return new, old

    model.fit(X.iloc[case.old], y[case.old])
    found: dict[str, Any] = {"the model before": errors(model)}
    update_time = cpu_seconds(lambda: model.partial_fit(X.iloc[case.more], y[case.more]))
    found["after partial_fit"] = errors(model)
    whole_time = cpu_seconds(lambda: whole.fit(X.iloc[everything], y[everything]))
    found["a fit on everything"] = errors(whole)
    return {"errors": found, "seconds": (update_time, whole_time)}


def show(case: Case, found: dict[str, Any]) -> None:
    """Print what was measured, beside what is asked."""
    errors, (update_time, whole_time) = found["errors"], found["seconds"]
    print(
        f"{len(case.old):,} rows of old stores, {len(case.more):,} of new ones; judged on "
        f"{len(case.later_of_new):,} and {len(case.later_of_old):,} later rows"
    )
    rows = [(name, f"{new:.4f}", f"{old:.4f}") for name, (new, old) in errors.items()]
    print_table(["model", "MAPE, new stores", "MAPE, old stores"], rows)
    after, whole, before = (
        errors[name] for name in ("after partial_fit", "a fit on everything", "the model before")
    )
    asked = [
        ("new stores, against a fit on everything", after[0] / whole[0], MOST_ERROR_OF_NEW),
        ("old stores, against the model before", after[1] / before[1], MOST_ERROR_OF_OLD),
        ("time, against a fit on everything", update_time / whole_time, MOST_TIME),
    ]
    print_table(
        ["ratio", "is", "asked, at most", ""],
        [
            (name, f"{ratio:.3f}", bound, "kept" if ratio <= bound else "missed")
            for name, ratio, bound in asked
        ],
    )
    print(f"{update_time:.1f} s of CPU time for the update, {whole_time:.1f} s for the fit\n")


def main(*, choose: bool = False, seeds: int = 1) -> None:
    """Print the figures of the test rows, or those that a choice may be made by."""
    data = load_rossmann(DATA, backend="pandas")
    cases = [(seed, 0) for seed in range(seeds)]
    if choose:
        cases = [(seed, days) for seed in (101, 102) for days in (90, 150)]
    for seed, days_earlier in cases:
        case = make_case(data.X, seed=seed, days_earlier=days_earlier)
        when = (
            f"the day is {days_earlier} days earlier" if days_earlier else "the paper's test rows"
        )
        print(f"stores drawn with seed {seed}, {when}:", flush=True)
        show(case, measure(data.X, data.y, case))


if __name__ == "__main__":
    warnings.filterwarnings("ignore", message="None of the values of column")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--choose", action="store_true", help="rows of before the test instead")
    parser.add_argument("--seeds", type=int, default=1, help="how often stores are drawn")
    asked = parser.parse_args()
    main(choose=asked.choose, seeds=asked.seeds)
