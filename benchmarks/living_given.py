"""Vectors of stores that a large table taught, on a small one: Rossmann's second year.

The stores are learned on all rows of 2013. A model then sees 2,000 rows of 2014, some two for each
store, and is judged by all other rows of 2014. Beside it the model of the first year as it is. One
network each, with default parameters: nothing was chosen by the rows that judge.

With ``--year 2013`` the small table is of the year that taught the stores: 40,000 rows are kept
from the large one, to draw the 2,000 from and to judge by.
"""

import argparse
import warnings

import numpy as np
from common import DATA, mape, print_table

from catspace import EmbeddingRegressor, load_rossmann

ROWS, KEPT_APART = 2_000, 40_000
ASKED = 0.9  # of the error without given vectors, at most
SETTINGS = {"target_transform": "log", "random_state": 0}


def main(n_draws: int = 3, second_year: int = 2014) -> None:
    data = load_rossmann(DATA, backend="pandas")
    year = data.X["year"].astype(int).to_numpy()
    X = data.X.drop(columns="year")  # the rows to judge by would all have a new one
    first, second = np.flatnonzero(year == 2013), np.flatnonzero(year == second_year)
    if second_year == 2013:
        second = np.sort(np.random.default_rng(0).choice(first, KEPT_APART, replace=False))
        first = np.setdiff1d(first, second)
    large = EmbeddingRegressor(**SETTINGS).fit(X.iloc[first], data.y[first])
    variants = {
        "without": {},
        "given": {"initial_vectors": {"store": large}},
        "given and frozen": {"initial_vectors": {"store": large}, "frozen_columns": ["store"]},
    }
    errors: dict[str, list[float]] = {name: [] for name in variants}
    as_it_is = []
    for draw in range(n_draws):
        order = np.random.default_rng(draw).permutation(second)
        learn, judge = order[:ROWS], order[ROWS:]
        for name, changes in variants.items():
            model = EmbeddingRegressor(**SETTINGS, **changes).fit(X.iloc[learn], data.y[learn])
            errors[name].append(mape(data.y[judge], model.predict(X.iloc[judge])))
            found = f"smooth {model.smooth_['store']:g}, {model.n_iter_} epochs"
            print(f"draw {draw}, {name}: {found}, pairs {model.pairs_}", flush=True)
        as_it_is.append(mape(data.y[judge], large.predict(X.iloc[judge])))
    base = float(np.mean(errors["without"]))
    print(f"\n{len(first):,} rows of 2013 teach the stores, {ROWS:,} of {second_year} the rest.\n")
    print_table(
        ["initial_vectors", *(f"draw {draw}" for draw in range(n_draws)), "MAPE", "of without"],
        [
            [
                name,
                *(f"{error:.4f}" for error in [*scores, np.mean(scores)]),
                f"{np.mean(scores) / base:.2f}",
            ]
            for name, scores in {**errors, "the model of 2013 as it is": as_it_is}.items()
        ],
    )
    reached = float(np.mean(errors["given"])) <= ASKED * base
    print(f"\nAt least a tenth less error with given vectors: {'yes' if reached else 'no'}.")


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--year", type=int, default=2014, choices=(2013, 2014))
    given = parser.parse_args()
    main(given.draws, given.year)
