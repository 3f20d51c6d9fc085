"""How many of Rossmann's shuffled test rows lie between the quantiles 0.1 and 0.9 of one model.

The paper's seven columns. Networks that learned from all rows, beside networks that held back a
tenth of them (`early_stopping=True`) and so know where their quantiles are on new rows. Which of
the two, and all settings, were chosen before the test rows were looked at.
"""

import argparse

import numpy as np
from common import print_table, rossmann_split, timed
from sklearn.metrics import mean_pinball_loss

from catspace import EmbeddingRegressor

QUANTILES = [0.1, 0.5, 0.9]


def main(n_rows: int = 100_000, n_networks: int = 1) -> None:
    """Print coverage, pinball loss and seconds of both."""
    X, X_test, y, y_test = rossmann_split("shuffled", rows=n_rows)
    print(f"{len(y):,} training rows, {len(y_test):,} test rows, {n_networks} network(s)\n")
    rows = []
    for name, early_stopping in [("all rows", False), ("early_stopping=True", True)]:
        model = EmbeddingRegressor(
            loss="quantile",
            quantile=QUANTILES,
            target_transform="log",
            early_stopping=early_stopping,
            n_networks=n_networks,
            random_state=0,
        )
        _, seconds = timed(lambda model=model: model.fit(X, y))
        predicted = model.predict(X_test)
        crossing = int((np.diff(predicted, axis=1) < 0).sum())
        low, _, high = predicted.T
        losses = [
            mean_pinball_loss(y_test, column, alpha=quantile)
            for quantile, column in zip(QUANTILES, predicted.T, strict=True)
        ]
        rows.append(
            [
                name,
                f"{np.mean((low <= y_test) & (y_test <= high)):.3f}",
                ", ".join(f"{np.mean(y_test <= column):.3f}" for column in predicted.T),
                crossing,
                f"{np.mean(losses):.1f}",
                f"{np.mean(high - low):.0f}",
                f"{seconds:.0f}",
            ]
        )
    header = ["fitted on", "in the band of 0.8", "below 0.1, 0.5, 0.9", "crossings"]
    print_table([*header, "pinball loss", "mean width", "fit seconds"], rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000, help="training rows")
    parser.add_argument("--networks", type=int, default=1)
    arguments = parser.parse_args()
    main(arguments.rows, arguments.networks)
