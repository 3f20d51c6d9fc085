"""What the defaults were chosen against, judged on parts of the Rossmann training rows only.

Seven validation parts: a shuffled tenth of the training rows, and six forecasts, each of three
months after training on all that lies before: from March, May, July, September and December 2014
and from February 2015. None of them holds a row that either split of benchmarks/rossmann.py tests
on.
"""

import argparse

import numpy as np
from common import DATA, PAPER_DIMS, mape, print_table, timed, training_rows

from catspace import EmbeddingRegressor, load_rossmann

VARIANTS = {
    "defaults": {},
    'loss="squared_error"': {"loss": "squared_error"},
    'loss="absolute_error"': {"loss": "absolute_error"},
    "max_epochs=16": {"max_epochs": 16},
    "the paper's dimensions": {"embedding_dim": PAPER_DIMS},
    'embedding_dim="sqrt"': {"embedding_dim": "sqrt"},
    'embedding_dim="fastai"': {"embedding_dim": "fastai"},
    "dropout=0.1": {"dropout": 0.1},
}
ORIGINS = (14, 16, 18, 20, 23, 25)  # the last month of training; January 2013 is 1
HORIZON = 3
PARTS = ["shuffled", "Mar 14", "May 14", "Jul 14", "Sep 14", "Dec 14", "Feb 15"]


def parts(data, rows=200_000):
    """Yield the rows to train on and the rows to judge by, for each part."""
    by_time, shuffled = training_rows(len(data.y))
    usable = np.intersect1d(by_time, shuffled)  # in order of time
    random = np.random.default_rng(1)
    mixed, n_judge = random.permutation(usable), len(usable) // 10
    month = (data.X["year"].astype(int) - 2013) * 12 + data.X["month"].astype(int)
    month = month.to_numpy()[usable]
    candidates = [(mixed[n_judge:], mixed[:n_judge])]
    candidates += [
        (usable[month <= last], usable[(month > last) & (month <= last + HORIZON)])
        for last in ORIGINS
    ]
    for train, judge in candidates:
        yield random.choice(train, size=rows, replace=False), judge


def main(n_networks, n_variants):
    data = load_rossmann(DATA, backend="pandas")
    variants = dict(list(VARIANTS.items())[:n_variants])
    scores, seconds = {name: [] for name in variants}, {name: [] for name in variants}
    for train, judge in parts(data):
        X, y = data.X.iloc[train], data.y[train]
        for name, changes in variants.items():
            model = EmbeddingRegressor(
                n_networks=n_networks, target_transform="log", random_state=0, **changes
            )
            _, took = timed(lambda model=model, X=X, y=y: model.fit(X, y))
            seconds[name].append(took)
            scores[name].append(mape(data.y[judge], model.predict(data.X.iloc[judge])))
            print(f"  {name}: {scores[name][-1]:.4f}, {took:.0f} s", flush=True)
    print(f"\nValidation MAPE, {n_networks} networks averaged\n")
    rows = [
        [
            name,
            *(f"{s:.4f}" for s in row),
            f"{np.mean(row[1:]):.4f}",
            f"{np.mean(seconds[name]):.0f}",
        ]
        for name, row in scores.items()
    ]
    print_table(["variant", *PARTS, "mean forecast", "fit seconds"], rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--networks", type=int, default=2)
    parser.add_argument("--variants", type=int, help="only the first so many")
    arguments = parser.parse_args()
    main(arguments.networks, arguments.variants)
