"""How long `transform` takes beside what pandas itself needs to factorise the same columns."""

import numpy as np
import pandas as pd
from common import print_table, timed

from catspace import EmbeddingEncoder, make_sales

N_ROWS, REPEATS = 1_000_000, 7

if __name__ == "__main__":
    sales = make_sales(N_ROWS, n_stores=1500, backend="pandas")
    integers = [name for name in sales.X if name != "state"]
    X = sales.X.astype(dict.fromkeys(integers, "int64"))
    encoder = EmbeddingEncoder(categorical_features=list(X.columns), max_epochs=1, random_state=0)
    encoder.fit(X[:20_000], np.log(sales.y[:20_000]))
    rows = []
    for _ in range(REPEATS):  # in turns, so that a busy machine is busy for both
        _, by_pandas = timed(lambda: [pd.factorize(X[name]) for name in X])
        features, by_us = timed(lambda: encoder.transform(X))
        rows.append((by_pandas, by_us, by_us - by_pandas))
    low, middle, high = np.percentile(rows, [0, 50, 100], axis=0)
    print(f"{N_ROWS:,} rows of 7 columns into {features.shape[1]} features, {REPEATS} times\n")
    print_table(
        ["", "median s", "fastest s", "slowest s"],
        [
            [name, *(f"{column[i]:.2f}" for column in (middle, low, high))]
            for i, name in enumerate(["pandas.factorize", "transform", "transform less factorize"])
        ],
    )
