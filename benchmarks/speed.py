"""How long fits and predictions take, beside another commit and beside LightGBM.

``python benchmarks/speed.py BASE`` times fits with the defaults by the sources of the commit BASE
and by those of this checkout, each in a process of its own, in turns, so that a busy machine is
busy for both: ratios of one round, their median and their spread; and the seconds that all cores
together computed, which a busy machine lengthens less. A third fit, by this checkout, has no trials
(`smooth=0, pairs=None`): where BASE had none either, it does the same work. Without BASE only
predictions are timed: of a single row, and of a million, beside LightGBM on the same table.
"""

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from common import DATA, print_table, rossmann_split, sources_of, timed

HERE = Path(__file__).resolve().parents[1]
TABLES = ["bikeshare", "salaries", "wages", "imdb", "rossmann"]
N_ROWS, N_SINGLE = 1_000_000, 200
WITHOUT_TRIALS = {"smooth": 0.0, "pairs": None}


def load(name: str) -> tuple[pd.DataFrame, np.ndarray, dict[str, object]]:
    """Return a table, its target, and what else an estimator is told."""
    if name == "rossmann":
        X, _, y, _ = rossmann_split("shuffled")
        return X, y, {"target_transform": "log"}
    if name in ("wages", "imdb"):
        import highcard

        X, y, _, _ = next(getattr(highcard, name)())
        return X, y, {}
    import travel

    frame, target = getattr(travel, name)()
    return frame.drop(columns=target), frame[target].to_numpy(), {}


def fit_once(name: str, *, has_trials: bool) -> None:
    """Print the seconds of the first fit of a process, of 500 rows, and of a fit of the table."""
    X, y, options = load(name)
    options |= {} if has_trials else WITHOUT_TRIALS

    def fit(n_rows: int, **more: object) -> float:
        from catspace import EmbeddingRegressor

        model = EmbeddingRegressor(random_state=0, **options, **more)
        return timed(lambda: model.fit(X[:n_rows], y[:n_rows]))[1]

    first = timed(lambda: fit(500, max_epochs=1))[1]
    begin = time.process_time()
    whole = fit(len(y))
    print(json.dumps({"first": first, "whole": whole, "cores": time.process_time() - begin}))


def fit_by(source: Path, name: str, *, has_trials: bool = True) -> dict[str, float]:
    path = os.pathsep.join([str(source), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, __file__, "--fit-once", name]
    command += [] if has_trials else ["--without-trials"]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def compare_fits(base: str, names: list[str], rounds: int) -> None:
    rows, first = [], []
    with sources_of(base) as before:
        for name in names:
            both, same_work = [], []
            for _ in range(rounds):
                then, now = fit_by(before, name), fit_by(HERE / "src", name)
                both.append((then, now))
                same_work.append((then, fit_by(HERE / "src", name, has_trials=False)))
            first += both
            rows.append([f"fit of {name}", *_ratio([(a["whole"], b["whole"]) for a, b in both])])
            rows.append(["all cores", *_ratio([(a["cores"], b["cores"]) for a, b in both])])
            plain = [(a["whole"], b["whole"]) for a, b in same_work]
            rows.append(["without trials", *_ratio(plain)])
    rows.append(["first fit of a process", *_ratio([(a["first"], b["first"]) for a, b in first])])
    print_table(["", f"{base}, s", "now, s", "ratio", "spread"], rows)


def compare_predictions(rounds: int) -> None:
    from lightgbm import LGBMRegressor

    from catspace import EmbeddingRegressor, load_rossmann

    data = load_rossmann(DATA, backend="pandas")
    order = np.random.default_rng(0).integers(0, len(data.y), N_ROWS)
    X, categories = data.X.iloc[order], data.X.astype("category").iloc[order]
    model = EmbeddingRegressor(target_transform="log", smooth=4, max_epochs=1, random_state=0)
    model.set_params(n_jobs=-1).fit(X[:50_000], data.y[order[:50_000]])
    other = LGBMRegressor(verbose=-1).fit(categories[:200_000], data.y[order[:200_000]])
    one, one_of_categories = X[:1], categories[:1]

    def single(predict: Callable[[], object]) -> float:
        return float(np.median([timed(predict)[1] for _ in range(N_SINGLE)]))

    rows, singles, millions = [], [], []
    for _ in range(rounds):
        singles.append(
            (
                single(lambda: other.predict(one_of_categories)),
                single(lambda: model.predict(one)),
            )
        )
        millions.append(
            (timed(lambda: other.predict(categories))[1], timed(lambda: model.predict(X))[1])
        )
    rows.append(["one row", *_ratio(singles)])
    rows.append([f"{N_ROWS:,} rows of {X.shape[1]} columns", *_ratio(millions)])
    print_table(["", "LightGBM, s", "catspace, s", "ratio", "spread"], rows)


def _ratio(pairs: list[tuple[float, float]]) -> list[str]:
    """Return the medians of both, and the median and the range of their ratios."""
    ratios = [theirs / ours for theirs, ours in pairs]
    middle = [f"{np.median(side):.3g}" for side in zip(*pairs, strict=True)]
    return [*middle, f"{np.median(ratios):.2f}", f"{min(ratios):.2f} to {max(ratios):.2f}"]


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("base", nargs="?", help="a commit to compare fits with")
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=TABLES)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--fits", action="store_true", help="time fits only, not predictions")
    parser.add_argument("--fit-once", help=argparse.SUPPRESS)
    parser.add_argument("--without-trials", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.fit_once:
        fit_once(arguments.fit_once, has_trials=not arguments.without_trials)
    else:
        if arguments.base:
            compare_fits(arguments.base, arguments.tables, arguments.rounds)
            print()
        if not arguments.fits:
            compare_predictions(arguments.rounds)
