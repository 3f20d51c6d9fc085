"""What smooth="auto" finds, beside fixed smoothings, judged on parts of the training rows only.

For each table of benchmarks/highcard.py and benchmarks/travel.py with 2,000 rows or more, and for
Rossmann's shuffled split: one split's training rows, of which a fifth is held back to judge by
(large tables are cut to 40,000 rows). No row is judged by that the split of the same number is
tested on there. One network each; less is better.
"""

import argparse
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import highcard
import numpy as np
import pandas as pd
import travel
from choices import parts
from common import DATA, mape, print_table, timed
from sklearn.metrics import log_loss, mean_squared_error

from catspace import EmbeddingClassifier, EmbeddingRegressor, load_rossmann

STRENGTHS: list[float | str] = [0.0, 1.0, 4.0, 16.0, 64.0, "auto"]
MOST_ROWS = 40_000
FEWEST_ROWS = 2_000
# X, y, X_judge, y_judge, whether y are classes, parameters
Part = tuple[pd.DataFrame, np.ndarray, pd.DataFrame, np.ndarray, bool, dict[str, Any]]


def judged_apart(X: pd.DataFrame, y: np.ndarray, *, is_class: bool) -> Part:
    """Hold a fifth of the rows back."""
    order = np.random.default_rng(1).permutation(len(y))[:MOST_ROWS]
    judge, learn = order[: len(order) // 5], order[len(order) // 5 :]
    return X.iloc[learn], y[learn], X.iloc[judge], y[judge], is_class, {}


def from_highcard(load: Callable[[], Iterator[highcard.Split]]) -> Part:
    X, y, _, _ = next(load())
    return judged_apart(X, y, is_class=y.dtype.kind in "iu")


def from_travel(load: Callable[[], tuple[pd.DataFrame, str]]) -> Part:
    frame, target = load()
    X, y = frame.drop(columns=target).reset_index(drop=True), frame[target]
    is_class = isinstance(y.dtype, pd.CategoricalDtype)
    train, _ = next(travel.splits(len(y), 1))
    labels = (y.cat.codes if is_class else y).to_numpy()
    return judged_apart(X.iloc[train], labels[train], is_class=is_class)


def rossmann() -> Part:
    data = load_rossmann(DATA, backend="pandas")
    learn, judge = next(iter(parts(data)))
    options = {"target_transform": "log"}
    return data.X.iloc[learn], data.y[learn], data.X.iloc[judge], data.y[judge], False, options


def load_parts() -> dict[str, Callable[[], Part]]:
    found: dict[str, Callable[[], Part]] = {"rossmann": rossmann}
    for load in highcard.TABLES:
        found[load.__name__] = lambda load=load: from_highcard(load)
    for load in travel.TABLES:
        found[load.__name__] = lambda load=load: from_travel(load)
    return found


def judge(part: Part, smooth: float | str) -> tuple[float, float, str]:
    """Return the score, the seconds of the fit, and what was found."""
    X, y, X_judge, y_judge, is_class, options = part
    kind = EmbeddingClassifier if is_class else EmbeddingRegressor
    model = kind(smooth=smooth, random_state=0, **options)
    _, seconds = timed(lambda: model.fit(X, y))
    found = f"{max(model.smooth_.values(), default=0):g}, {model.n_iter_} epochs"
    if is_class:
        return log_loss(y_judge, model.predict_proba(X_judge)), seconds, found
    predicted = model.predict(X_judge)
    if options:
        return mape(y_judge, predicted), seconds, found
    return mean_squared_error(y_judge, predicted) / np.var(y_judge), seconds, found


def main(names: list[str]) -> None:
    rows = []
    for name, load in load_parts().items():
        if names and name not in names:
            continue
        part = load()
        if len(part[1]) < FEWEST_ROWS:
            continue
        scores, seconds, found = zip(*(judge(part, smooth) for smooth in STRENGTHS), strict=True)
        worse = scores[-1] / min(scores[:-1]) - 1
        against = [f"{100 * worse:+.1f} %", f"{seconds[-1] / np.median(seconds[:-1]):.2f}"]
        shown = [f"{score:.4f}" for score in scores]
        rows.append([name, f"{len(part[1]):,}", *shown, found[-1], *against])
        print(*rows[-1], flush=True)
    header = ["table", "rows", *(f"{smooth:g}" for smooth in STRENGTHS[:-1]), "auto", "found"]
    print()
    print_table([*header, "auto against the best", "time against a number"], rows)


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", help="all by default")
    main(parser.parse_args().tables)
