"""Vectors in front of boosting: plain, cross-fitted, and of all networks, beside target encoding.

imdb and wages on published folds (F. Sigrist, arXiv 2307.02071; mean squared error), access rights
at Amazon on random splits 80/20 (log loss). `HistGradientBoosting` with its defaults is behind
everything; less is better. How vectors of folds are learned was chosen on validation parts of
training rows: ``--validate`` splits the training rows of fold 0 once more, and tests on these.
"""

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from itertools import islice

import numpy as np
import pandas as pd
from common import DATA, print_table
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import log_loss, mean_squared_error
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import TargetEncoder

from catspace import EmbeddingEncoder

# X, y, X_test, y_test
Split = tuple[pd.DataFrame, np.ndarray, pd.DataFrame, np.ndarray]

TABLES = {
    "imdb": ("score", ["director_id", "type_id"]),
    "wages": ("ln_wage", ["idcode"]),
    "amazon": ("ACTION", []),
}


def target_encoding(seed: int, names: list[str]):
    return make_column_transformer((TargetEncoder(), names), remainder="passthrough")


def vectors(**options: object) -> Callable[[int, list[str]], EmbeddingEncoder]:
    return lambda seed, names: EmbeddingEncoder(random_state=seed, **options)


METHODS = {
    "target encoding": target_encoding,
    "plain": vectors(),
    "cv=5": vectors(cv=5),
    "plain, all of 3 networks": vectors(n_networks=3, networks="all"),
    "cv=5, all of 3 networks": vectors(cv=5, n_networks=3, networks="all"),
}


def splits(name: str, share: float) -> Iterator[Split]:
    """Yield the splits of a table: the published ones, or five random ones.

    Of the first column of ids a share is kept, with all of their rows.
    """
    target, ids = TABLES[name]
    frame = pd.read_parquet(DATA / "highcard" / f"{name}.parquet")
    ids = ids or list(frame.columns.drop(target))
    if share < 1:
        known = np.random.default_rng(0).permutation(frame[ids[0]].unique())
        frame = frame[frame[ids[0]].isin(known[: round(share * len(known))])]
    frame = frame.astype(dict.fromkeys(ids, "category"))
    for split in range(5):
        if "fold" in frame:
            is_test = (frame["fold"] == split).to_numpy()
        else:
            order = np.random.default_rng(split).permutation(len(frame))
            is_test = np.isin(np.arange(len(frame)), order[: len(frame) // 5])
        X, y = frame.drop(columns=[target, "fold"], errors="ignore"), frame[target].to_numpy()
        yield X[~is_test], y[~is_test], X[is_test], y[is_test]


def validation(split: Split, seed: int) -> Split:
    """Return a split of the training rows alone."""
    X, y, _, _ = split
    order = np.random.default_rng(seed).permutation(len(y))
    test, train = order[: len(y) // 5], order[len(y) // 5 :]
    return X.iloc[train], y[train], X.iloc[test], y[test]


def run(method: str, split: Split, seed: int) -> float:
    """Return the error of boosting behind a method on the test rows."""
    X, y, X_test, y_test = split
    is_class = y.dtype.kind in "iu"
    encoder = METHODS[method](seed, list(X.select_dtypes("category")))
    boosting = HistGradientBoostingClassifier if is_class else HistGradientBoostingRegressor
    model = make_pipeline(encoder, boosting(random_state=seed)).fit(X, y)
    if is_class:
        return log_loss(y_test, model.predict_proba(X_test)[:, 1])
    return mean_squared_error(y_test, model.predict(X_test))


def main(given: argparse.Namespace) -> None:
    rows, methods, last = [], given.methods, given.first + given.splits
    for name in given.tables:
        errors: dict[str, list[float]] = {method: [] for method in methods}
        for seed, split in islice(enumerate(splits(name, given.share)), given.first, last):
            chosen = validation(split, seed) if given.validate else split
            for method in methods:
                start = time.perf_counter()
                errors[method].append(run(method, chosen, seed))
                seconds = time.perf_counter() - start
                print(
                    f"  {name} {seed} {method}: {errors[method][-1]:.4f}, {seconds:.0f} s",
                    flush=True,
                )
        for method in methods:
            by_split = ", ".join(f"{one:.4f}" for one in errors[method])
            rows.append([name, method, f"{np.mean(errors[method]):.4f}", by_split])
    print()
    print_table(["table", "before boosting", "mean", "by split"], rows)


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", default=list(TABLES), help="all by default")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--first", type=int, default=0, help="the first split")
    parser.add_argument("--splits", type=int, default=2, help="how many")
    parser.add_argument("--validate", action="store_true", help="on training rows alone")
    parser.add_argument("--share", type=float, default=1.0, help="of the ids, with their rows")
    main(parser.parse_args())
