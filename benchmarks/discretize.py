"""Where cutting a number into bins helps, and where it does not: three columns of the real data.

Along the day of the year sales go up and down and jump at Christmas and Easter; with the
temperature they change little and smoothly; the distance to the next competitor says nothing that
the store does not. Judged by training rows of the shuffled split that are not among its 200,000;
its test rows are not touched.
"""

import numpy as np
from common import DATA, mape, print_table, timed

from catspace import EmbeddingRegressor
from catspace.paper.competition import load_competition
from catspace.paper.protocol import ROWS, split_rows

JUDGED_BY = 20_000
WAYS = {
    "left out": None,
    "as a number": None,
    "20 bins": 20,
    "52 bins": 52,
    '"quantile"': "quantile",
    '"tree"': "tree",
}


def main():
    data = load_competition(DATA)
    train, test = split_rows(len(data.y), "shuffled", rows=ROWS, seed=0)
    unused = np.setdiff1d(np.arange(len(data.y)), np.concatenate([train, test]))
    judged = np.random.default_rng(1).choice(unused, size=JUDGED_BY, replace=False)
    days = data.date.astype("datetime64[D]")
    X = data.X.assign(day_of_year=(days - days.astype("datetime64[Y]")).astype(float))
    cases = {
        "day_of_year": ["store", "day_of_week", "promo", "year"],
        "temperature": ["store", "day_of_week", "promo", "year", "month", "day"],
        "competition_distance": ["store", "day_of_week", "promo", "year", "month", "day"],
    }
    rows = []
    for column, others in cases.items():
        for name, way in WAYS.items():
            table = X[others if name == "left out" else [*others, column]]
            model = EmbeddingRegressor(
                target_transform="log",
                discretize=None if way is None else {column: way},
                random_state=0,
            )
            _, seconds = timed(lambda: model.fit(table.iloc[train], data.y[train]))  # noqa: B023
            error = mape(data.y[judged], model.predict(table.iloc[judged]))
            rows.append([column, name, f"{error:.4f}", f"{seconds:.0f}"])
    print_table(["column", "cut", "validation MAPE", "fit s"], rows)


if __name__ == "__main__":
    main()
