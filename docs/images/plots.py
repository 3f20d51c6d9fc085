"""Draw every picture of docs/analysis.md: python docs/images/plots.py FOLDER_OF_ROSSMANN.

The paper's 1,115 stores, and its twelve states where few categories say more. A minute or two.
"""

import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd

mpl.use("Agg")
from matplotlib import pyplot as plt

from catspace import EmbeddingRegressor, analysis, load_rossmann, plots
from catspace.datasets import STATE_CENTRES

HERE = Path(__file__).parent
ROWS, DIMS = 40_000, (2, 4, 8, 16)
SETTINGS = {"target_transform": "log", "max_epochs": 6, "smooth": 3, "random_state": 0}


def main(data: str, out: Path = HERE) -> None:
    """Fit a few networks on some of the rows, and draw all pictures."""
    sales = load_rossmann(data, backend="pandas")
    rows = np.sort(np.random.default_rng(0).choice(len(sales.X), ROWS, replace=False))
    X, y = sales.X.iloc[rows].reset_index(drop=True), sales.y[rows]
    model = EmbeddingRegressor(n_networks=3, **SETTINGS).fit(X, y)
    for name, draw in pictures(model, X, y).items():
        draw().figure.savefig(out / f"{name}.png", dpi=80)
        plt.close("all")


def pictures(model, X, y):
    """Return what draws each picture, by the name of its file."""
    stores = analysis.project(model, "store", method="tsne")
    means = pd.Series(y).groupby(X["store"].to_numpy()).mean()
    asked = analysis.model_distance(model, X, "store", n_contexts=30, transform=np.log)
    states = analysis.model_distance(model, X, "state", n_contexts=100, transform=np.log)
    along = analysis.target_along(model, "store", X, y)
    return {
        "plot_nearest": lambda: plots.plot_nearest(
            analysis.nearest(model, "store", 262, k=8, with_agreement=True)
        ),
        "plot_clusters": lambda: plots.plot_clusters(
            analysis.cluster(model, "store", n_clusters=5), stores
        ),
        "plot_direction": lambda: plots.plot_direction(
            analysis.direction(model, "store", 543, 817)
        ),
        "plot_stability": lambda: plots.plot_stability(analysis.stability(model, "store")),
        "plot_projection": lambda: plots.plot_projection(
            stores, color=means[stores["category"]].to_numpy(), color_label="mean sales"
        ),
        "plot_map": lambda: plots.plot_map(
            analysis.compare_with_map(model, "state", STATE_CENTRES)
        ),
        "plot_target_along": lambda: plots.plot_target_along(along, target_label="mean sales"),
        "plot_density": lambda: plots.plot_density(
            analysis.components(model, "store"), normality=analysis.normality(model, "store")
        ),
        "plot_subspace_correlation": lambda: plots.plot_subspace_correlation(
            analysis.subspace_correlation(model, X)
        ),
        "plot_distances": lambda: plots.plot_distances(asked),
        "plot_compare_distances": lambda: plots.plot_compare_distances(
            analysis.compare_distances(model, "store", asked)
        ),
        "plot_schoenberg": lambda: plots.plot_schoenberg(analysis.schoenberg(asked)),
        "plot_mds": lambda: plots.plot_mds(analysis.mds(states)),
        "plot_distortion": lambda: plots.plot_distortion(distortions(X, y, asked)),
    }


def distortions(X, y, distances):
    """Return how far networks of several dimensions keep the distances of the stores."""
    found = []
    for dim in DIMS:
        model = EmbeddingRegressor(embedding_dim={"store": dim}, **SETTINGS).fit(X, y)
        found.append(analysis.distortion(model, "store", distances))
    return pd.concat(found)


if __name__ == "__main__":
    main(*(sys.argv[1:] or ["../shared/data"]))
