"""The figures of the paper, from a network that is trained as the paper says."""

import textwrap
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from catspace import analysis, plots
from catspace.datasets import STATE_CENTRES
from catspace.paper.fitting import Progress
from catspace.paper.printing import bar
from catspace.paper.records import Record
from catspace.paper.request import Request
from catspace.paper.subject import Subject, train_subject
from catspace.storage.writing import explaining, replacing, write_text

_CONTEXTS = 300
_BLUE, _RED = "#3b6ea8", "#c8553d"


def run(request: Request) -> list[Record]:
    """Draw the figures in the folder ``figures``; there are no records."""
    subject = train_subject(request)
    start = time.perf_counter()
    with bar(request.console, "drawing the figures") as progress:
        paths = draw_figures(subject, request.out, progress=progress)
    seconds = time.perf_counter() - start
    request.console.print(
        f"Written: {len(paths)} figures in {request.out / 'figures'}, as PNG and SVG, "
        f"in {seconds:.0f} s."
    )
    return []


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
    for i, (name, (size, draw)) in enumerate(FIGURES.items()):
        figure = Figure(figsize=size, layout="constrained")
        caption = f"{draw(subject, figure)} {subject.origin}"
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
        paths.append(folder / f"{name}.png")
        page.append(f"![{name}]({name}.png)\n\n{caption}\n")
        progress((i + 1) / len(FIGURES))
    write_text(folder / "figures.md", "\n".join(page))
    return paths


def _network(subject: Subject, figure: Figure) -> str:
    """Draw that an embedding is a layer on top of one-hot input."""
    ax = figure.subplots()
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
    return (
        "Figure 1. An entity embedding layer is an extra layer on top of the one-hot input of "
        "each column: one-hot(x) times a matrix is the matrix's row x."
    )


def _connect(ax: Axes, below: np.ndarray, above: np.ndarray) -> None:
    for start in below:
        for end in above:
            ax.plot(*zip(start, end, strict=True), color="0.8", linewidth=0.6, zorder=1)


def _distances(subject: Subject, figure: Figure) -> str:
    metric = analysis.model_distance(
        subject.model, subject.X, "store", n_contexts=_CONTEXTS, transform=np.log
    )
    frame = analysis.compare_distances(subject.model, "store", metric)
    plots.plot_compare_distances(frame, ax=figure.subplots())
    first = frame.iloc[0]
    return (
        f"Figure 2. Distance of {len(frame):,} random pairs of stores in the learned space and in "
        f"the metric space (mean absolute difference of the predicted log sales over {_CONTEXTS} "
        f"contexts): Pearson {first['pearson']:.3f}, Spearman {first['spearman']:.3f}."
    )


def _states(subject: Subject, figure: Figure) -> str:
    left, right = figure.subplots(1, 2)
    plots.plot_projection(analysis.project(subject.model, "state", method="tsne"), ax=left)
    left.set_title("t-SNE, as in the paper", fontsize=10, loc="left")
    beside = analysis.compare_with_map(subject.model, "state", STATE_CENTRES)
    plots.plot_map(beside, ax=right)
    score, p_value = beside[["score", "p_value"]].iloc[0]
    return (
        f"Figure 3. The state vectors in the plane, by t-SNE and by PCA laid on the map of "
        f"Germany: {score:.2f} of the map is explained, p = {p_value:.4f} against shuffled maps."
    )


def _sales(subject: Subject, figure: Figure) -> str:
    frame = analysis.target_along(subject.model, "store", subject.X, subject.y)
    names = list(dict.fromkeys(frame["direction"]))
    for ax, name in zip(figure.subplots(2, 2).ravel(), names, strict=True):
        plots.plot_target_along(frame, direction=name, target_label="mean sales", ax=ax)
    found = frame.groupby("direction", sort=False)["pearson"].first()
    listed = ", ".join(f"{name} {value:.2f}" for name, value in found.items())
    n_stores = int((frame["direction"] == names[0]).sum())
    return (
        f"Figure 4. Mean sales of all {n_stores:,} stores along two principal components of their "
        f"vectors and along two random directions. Correlation: {listed}."
    )


def _density(subject: Subject, figure: Figure) -> str:
    table = analysis.normality(subject.model, "store")
    frame = analysis.components(subject.model, "store")
    joint = analysis.mardia(subject.model, "store")
    for i, ax in enumerate(figure.subplots(2, 2).ravel()):
        plots.plot_density(frame, component=i + 1, normality=table, ax=ax)
    tests = "; ".join(
        f"Mardia's {row['test']} {row['value']:.1f}, p = {row['p_value']:.1g}"
        for _, row in joint.iterrows()
    )
    return (
        f"Figure 5. Density of the store vectors along their first four principal components, "
        f"with a Gaussian of the same mean and width. K² is D'Agostino's. {tests}."
    )


def _subspaces(subject: Subject, figure: Figure) -> str:
    rows = subject.X.sample(min(50_000, len(subject.X)), random_state=0)
    frame = analysis.subspace_correlation(subject.model, rows)
    plots.plot_subspace_correlation(frame, ax=figure.subplots())
    return (
        f"Figure 6. Mean absolute correlation between dimensions of different columns' vectors "
        f"over {len(rows):,} rows; the largest is {frame['mean'].max():.2f}. The paper tells of "
        f"it without a figure."
    )


# The size of each in inches, and what draws it and returns its caption.
FIGURES: Mapping[str, tuple[tuple[float, float], Callable[[Subject, Figure], str]]] = {
    "figure-1-embedding-is-a-layer": ((7, 4.6), _network),
    "figure-2-distances": ((7, 5.2), _distances),
    "figure-3-states": ((10, 5.6), _states),
    "figure-4-sales-along-directions": ((9, 7.4), _sales),
    "figure-5-density": ((9, 7.4), _density),
    "figure-6-subspaces": ((7, 5.6), _subspaces),
}
