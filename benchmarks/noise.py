"""How the defaults do on tables that are mostly noise, beside a constant.

Generated tables with four columns of categories, each of which adds a little to the target, and
much noise. Mean squared error on 20,000 further rows over that of the mean of the training rows, so
that 1 is a constant; "best possible" knows what each category adds, and "random effects" how much
categories and noise add as a rule, which is the most that rows can say. Means of several tables.
"""

import argparse
import warnings

import numpy as np
import pandas as pd
from common import print_table, timed
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, TargetEncoder

from catspace import EmbeddingRegressor

COLUMNS, TEST_ROWS = 4, 20_000
EFFECT, NOISE = 0.3, 1.5  # standard deviations: of what each category adds, and of the rest
SIZES = [(500, 5), (500, 30), (500, 150), (1_500, 5), (1_500, 30), (1_500, 150), (5_000, 100)]
SIZES += [(20_000, 1_000), (20_000, 4_000)]


def make(n_rows: int, n_categories: int, seed: int) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Return a table, what its categories say of the target, and the target."""
    random = np.random.default_rng(seed)
    codes = random.integers(0, n_categories, (n_rows, COLUMNS))
    effects = random.normal(0, EFFECT, (COLUMNS, n_categories))
    signal = sum(effect[codes[:, i]] for i, effect in enumerate(effects))
    table = pd.DataFrame(codes, columns=list("abcd")).astype(str)
    return table, signal, signal + random.normal(0, NOISE, n_rows)


METHODS = {
    "random effects": lambda: make_pipeline(
        OneHotEncoder(handle_unknown="ignore"),
        Ridge(alpha=(NOISE / EFFECT) ** 2, solver="sparse_cg", random_state=0),
    ),
    "catspace": lambda: EmbeddingRegressor(random_state=0),
    "catspace, pairs=None": lambda: EmbeddingRegressor(pairs=None, random_state=0),
    "catspace, smooth=8": lambda: EmbeddingRegressor(smooth=8, pairs=None, random_state=0),
    "target encoding, boosting": lambda: make_pipeline(
        TargetEncoder(random_state=0), HistGradientBoostingRegressor(random_state=0)
    ),
}


def main(n_tables: int) -> None:
    rows = []
    for n_rows, n_categories in SIZES:
        errors = {name: list[float]() for name in ("best possible", *METHODS)}
        seconds = list[float]()
        for seed in range(n_tables):
            X, signal, y = make(n_rows + TEST_ROWS, n_categories, seed)
            constant = np.square(y[n_rows:] - y[:n_rows].mean()).mean()
            answers = {"best possible": signal[n_rows:]}
            for name, method in METHODS.items():
                model, took = timed(lambda method=method: method().fit(X[:n_rows], y[:n_rows]))  # noqa: B023
                seconds += [took] if name == "catspace" else []
                answers[name] = model.predict(X[n_rows:])
            for name, answer in answers.items():
                errors[name].append(np.square(y[n_rows:] - answer).mean() / constant)
        found = [f"{np.mean(errors[name]):.3f}" for name in errors]
        rows.append([f"{n_rows:,}", n_categories, *found, f"{np.mean(seconds):.1f}"])
        print(*rows[-1], {name: np.round(one, 3).tolist() for name, one in errors.items()})
    print()
    print_table(["rows", "categories", "best possible", *METHODS, "seconds of catspace"], rows)


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=5, help="of each size")
    main(parser.parse_args().tables)
