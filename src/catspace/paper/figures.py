"""The figures of the paper, from a network trained as the paper says."""

import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

from catspace import analysis, plots
from catspace.datasets import STATE_CENTRES, SalesData
from catspace.estimators import EmbeddingRegressor, load
from catspace.paper.fitting import Progress, fit_network
from catspace.paper.methods import PAPER_NETWORK
from catspace.paper.protocol import PAPER_DIMS, TEST_SHARE
from catspace.storage.writing import explaining, replacing, write_text

mpl.use("Agg")  # figures go to files
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# Paper: store vectors of dimension 50, trained on all of the first 90 % of the rows.
STORE_DIM = 50
_CONTEXTS = 300
_BLUE, _RED = "#3b6ea8", "#c8553d"


@dataclass(frozen=True)
class Subject:
    """What the figures are about: a trained network and the rows that it learned from."""

    model: EmbeddingRegressor
    X: Any
    y: np.ndarray
    origin: str


def train_for_figures(
    data: SalesData, name: str, out: Path, *, seed: int, progress: Progress
) -> Subject:
    """Train the paper's network on the first 90 % of the rows, or take the one that is there."""
    n_train = int((1 - TEST_SHARE) * len(data.y))
    X, y = data.X.astype("category").iloc[:n_train], data.y[:n_train]
    path = out / "models" / f"{name}-figures-{n_train}-{seed}.catspace"
    if path.exists():
        model = load(path)
    else:
        store_dim = min(STORE_DIM, X["store"].nunique() - 1)
        dims = {**PAPER_DIMS, "store": store_dim}
        parameters = {**PAPER_NETWORK, "embedding_dim": dims, "n_networks": 1}
        model = fit_network(X, y, parameters, seed=seed, progress=progress)
        path.parent.mkdir(parents=True, exist_ok=True)
        model.save(path)
    kind = "the real Rossmann data" if name == "rossmann" else "GENERATED data (make_sales)"
    store_dim = model.embeddings_["store"].dim
    origin = (
        f"Data: {kind}, the first 90 % of the rows ({n_train:,}). The paper's network, store "
        f"dimension {store_dim}, seed {seed}."
    )
    return Subject(model, X, y, origin)


def draw_figures(subject: Subject, out: Path, *, progress: Progress) -> list[Path]:
    """Draw every figure, as PNG and SVG, and write ``figures.md`` with the captions.

    Returns
    -------
    list of Path
        The PNG files.
    """
    folder = out / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    paths, page = [], ["# Figures\n", subject.origin + "\n"]
    for i, (name, draw) in enumerate(FIGURES.items()):
        figure, caption = draw(subject)
        caption = f"{caption} {subject.origin}"
        figure.supxlabel(
            textwrap.fill(caption, width=int(13 * figure.get_figwidth())),
            fontsize=8,
            color="0.35",
            x=0.01,
            ha="left",
        )
        for ending in ("png", "svg"):
            path = folder / f"{name}.{ending}"
            with explaining(path), replacing(path) as temporary:
                figure.savefig(temporary, format=ending, dpi=150)
        plt.close(figure)
        paths.append(folder / f"{name}.png")
        page.append(f"![{name}]({name}.png)\n\n{caption}\n")
        progress((i + 1) / len(FIGURES))
    write_text(folder / "figures.md", "\n".join(page))
    return paths


def _network(subject: Subject) -> tuple[Figure, str]:
    """Draw that an embedding is a layer on top of one-hot input."""
    figure, ax = plt.subplots(figsize=(7, 4.6), layout="constrained")
    layers = [
        ("one-hot input", 0.0, [(-2.4, 4), (0.0, 3), (2.4, 4)]),
        ("entity embedding layers", 1.2, [(-2.4, 2), (0.0, 2), (2.4, 2)]),
        ("dense layers", 2.4, [(0.0, 7)]),
        ("output", 3.4, [(0.0, 1)]),
    ]
    spots: list[list[np.ndarray]] = []
    for name, height, groups in layers:
        ax.text(-6.2, height, name, va="center", fontsize=9)
        spots.append(
            [
                np.column_stack([middle + 0.45 * (np.arange(n) - (n - 1) / 2), np.full(n, height)])
                for middle, n in groups
            ]
        )
    for group, above in zip(spots[0], spots[1], strict=True):
        _connect(ax, group, above)  # each column has a layer of its own
    for below in spots[1]:
        _connect(ax, below, spots[2][0])
    _connect(ax, spots[2][0], spots[3][0])
    for level, spots_of_level in enumerate(spots):
        x, y = np.concatenate(spots_of_level).T
        ax.scatter(x, y, s=90, color=_RED if level == 1 else _BLUE, zorder=3)
    for middle, name in zip((-2.4, 0.0, 2.4), ("store", "day of week", "state"), strict=True):
        ax.text(middle, -0.4, name, ha="center", fontsize=9)
    ax.set_xlim(-6.3, 4.0)
    ax.axis("off")
    return figure, (
        "Figure 1. An entity embedding layer is an extra layer on top of the one-hot input of "
        "each column: one-hot(x) times a matrix is the matrix's row x."
    )


def _connect(ax: Axes, below: np.ndarray, above: np.ndarray) -> None:
    for start in below:
        for end in above:
            ax.plot(*zip(start, end, strict=True), color="0.8", linewidth=0.6, zorder=1)


def _distances(subject: Subject) -> tuple[Figure, str]:
    metric = analysis.model_distance(
        subject.model, subject.X, "store", n_contexts=_CONTEXTS, transform=np.log
    )
    frame = analysis.compare_distances(subject.model, "store", metric)
    figure, ax = plt.subplots(figsize=(7, 5.2), layout="constrained")
    plots.plot_compare_distances(frame, ax=ax)
    first = frame.iloc[0]
    return figure, (
        f"Figure 2. Distance of {len(frame):,} random pairs of stores in the learned space and in "
        f"the metric space (mean absolute difference of the predicted log sales over {_CONTEXTS} "
        f"contexts): Pearson {first['pearson']:.3f}, Spearman {first['spearman']:.3f}."
    )


def _states(subject: Subject) -> tuple[Figure, str]:
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 5.6), layout="constrained")
    layout = analysis.project(subject.model, "state", method="tsne")
    beside = analysis.compare_with_map(subject.model, "state", STATE_CENTRES)
    plots.plot_projection(layout, ax=left)
    left.set_title("t-SNE, as in the paper", fontsize=10, loc="left")
    plots.plot_map(beside, ax=right)
    first = beside.iloc[0]
    return figure, (
        f"Figure 3. The state vectors in the plane, by t-SNE and by PCA laid on the map of "
        f"Germany: {first['score']:.2f} of the map is explained, "
        f"p = {first['p_value']:.4f} against shuffled maps."
    )


def _sales(subject: Subject) -> tuple[Figure, str]:
    frame = analysis.target_along(subject.model, "store", subject.X, subject.y)
    figure, axes = plt.subplots(2, 2, figsize=(9, 7.4), layout="constrained")
    names = list(dict.fromkeys(frame["direction"]))
    for ax, name in zip(axes.ravel(), names, strict=True):
        plots.plot_target_along(frame, direction=name, target_label="mean sales", ax=ax)
    found = frame.groupby("direction", sort=False)["pearson"].first()
    listed = ", ".join(f"{name} {value:.2f}" for name, value in found.items())
    n_stores = int((frame["direction"] == names[0]).sum())
    return figure, (
        f"Figure 4. Mean sales of all {n_stores:,} stores along two principal components of their "
        f"vectors and along two random directions. Correlation: {listed}."
    )


def _density(subject: Subject) -> tuple[Figure, str]:
    table = analysis.normality(subject.model, "store")
    frame = analysis.components(subject.model, "store")
    joint = analysis.mardia(subject.model, "store")
    figure, axes = plt.subplots(2, 2, figsize=(9, 7.4), layout="constrained")
    for i, ax in enumerate(axes.ravel()):
        plots.plot_density(frame, component=i + 1, normality=table, ax=ax)
    tests = "; ".join(
        f"Mardia's {row['test']} {row['value']:.1f}, p = {row['p_value']:.1g}"
        for _, row in joint.iterrows()
    )
    return figure, (
        f"Figure 5. Density of the store vectors along their first four principal components, "
        f"with a Gaussian of the same mean and width. K² is D'Agostino's. {tests}."
    )


def _subspaces(subject: Subject) -> tuple[Figure, str]:
    rows = subject.X.sample(min(50_000, len(subject.X)), random_state=0)
    frame = analysis.subspace_correlation(subject.model, rows)
    figure, ax = plt.subplots(figsize=(7, 5.6), layout="constrained")
    plots.plot_subspace_correlation(frame, ax=ax)
    return figure, (
        f"Figure 6. Mean absolute correlation between dimensions of different columns' vectors "
        f"over {len(rows):,} rows; the largest is {frame['mean'].max():.2f}. The paper tells of "
        f"it without a figure."
    )


FIGURES: Mapping[str, Callable[[Subject], tuple[Figure, str]]] = {
    "figure-1-embedding-is-a-layer": _network,
    "figure-2-distances": _distances,
    "figure-3-states": _states,
    "figure-4-sales-along-directions": _sales,
    "figure-5-density": _density,
    "figure-6-subspaces": _subspaces,
}
