"""Pictures of whole spaces: how vectors are spread, and how they keep distances."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from catspace.plots.drawing import (
    BLUE,
    DISTANCES,
    MARKERS,
    PALETTE,
    RED,
    SHARES,
    cluster_order,
    column_of,
    correlation_words,
    cut,
    distinct,
    dots,
    finish,
    make_axes,
    p_words,
    plane,
    plane_size,
    read,
    short,
    title,
)
from catspace.plots.labels import MOST_LABELED, label_points

_NAMES_OF_MANY = 30  # along each side of a heat map of many categories
_FEWEST_FOR_BARS = 20  # fewer values are drawn one by one
_AT_THE_ENDS = 3


def plot_density(
    frame: Any, *, component: int = 1, normality: Any = None, ax: Axes | None = None
) -> Axes:
    """Draw the density along a principal component, with a Gaussian of the same mean and width.

    The categories at both ends are named. A dozen values make no histogram: each is a stroke.

    Parameters
    ----------
    frame : from `catspace.analysis.components`
    component : int, default=1
    normality : from `catspace.analysis.normality`, optional
        For the test's result in the title.
    ax : Axes, optional
    """
    name = f"component {component}"
    category, values = read(frame, "category", name)
    ax = make_axes(ax, (6, 4))
    mean, std = values.mean(), values.std()
    if len(values) >= _FEWEST_FOR_BARS:
        ax.hist(values, bins="auto", density=True, color=BLUE, alpha=0.5, linewidth=0)
    else:
        ax.vlines(values, 0, 0.05, color=BLUE, transform=ax.get_xaxis_transform())
    grid = np.linspace(values.min() - 0.3 * std, values.max() + 0.3 * std, 300)
    if std > 0:
        bell = np.exp(-0.5 * ((grid - mean) / std) ** 2) / (std * np.sqrt(2 * np.pi))
        ax.plot(grid, bell, color=RED, label="Gaussian fit")
    test = ""
    if normality is not None:
        names, k2, p_value = read(normality, "component", "k2", "p_value")
        (row,) = np.flatnonzero(names == name)
        test = f"K² = {k2[row]:.1f}, p = {p_words(p_value[row])}"
    title(ax, f"{column_of(frame)}: how the categories are spread", test)
    order = np.argsort(values, kind="stable")
    n = min(_AT_THE_ENDS, len(order) // 2)
    low, high = (", ".join(short(category[i], 12) for i in ends) for ends in _ends(order, n))
    ends = f"\n← {low}    {high} →" if n else ""
    return finish(ax, name + ends, "density")


def plot_subspace_correlation(frame: Any, *, value: str = "mean", ax: Axes | None = None) -> Axes:
    """Draw the correlation between the spaces of columns, those that go together side by side.

    Parameters
    ----------
    frame : from `catspace.analysis.subspace_correlation`
    value : {"mean", "largest", "canonical"}, default="mean"
    ax : Axes, optional
    """
    a, b, values = read(frame, "column_a", "column_b", value)
    names = list(dict.fromkeys([*a, *b]))
    whole = np.full((len(names), len(names)), np.nan)
    for first, second, number in zip(a, b, values, strict=True):
        i, j = names.index(first), names.index(second)
        whole[i, j] = whole[j, i] = number
    order = cluster_order(np.where(np.eye(len(names)), 0, 1 - whole))
    names = [names[i] for i in order]
    grid = np.where(np.tri(len(names), k=-1, dtype=bool), whole[np.ix_(order, order)], np.nan)
    ax = make_axes(ax, (0.7 * len(names) + 2.5, 0.6 * len(names) + 1.8))
    drawn = ax.imshow(grid, cmap=SHARES, vmin=0, vmax=1)
    for j, i in np.argwhere(np.isfinite(grid)):
        colour = "white" if grid[j, i] > 0.6 else "black"
        ax.text(i, j, f"{grid[j, i]:.2f}", ha="center", va="center", fontsize=8, color=colour)
    shown = [short(name) for name in names]
    ax.set_xticks(range(len(names) - 1), shown[:-1], rotation=45, ha="right")
    ax.set_yticks(range(1, len(names)), shown[1:])
    ax.set_xlim(-0.5, len(names) - 1.5)
    ax.set_ylim(len(names) - 0.5, 0.5)
    ax.figure.colorbar(drawn, ax=ax, label=f"{value} absolute correlation", shrink=0.8)
    ax.spines[:].set_visible(False)
    title(ax, "Columns whose vectors vary together in the rows")
    return ax


def plot_compare_distances(frame: Any, *, ax: Axes | None = None) -> Axes:
    """Draw learned against metric distances; from `catspace.analysis.compare_distances`.

    Among many pairs, those that stand out are named.
    """
    a, b, metric, learned, fitted, lower, upper, pearson, spearman = read(
        frame,
        "category_a",
        "category_b",
        "metric",
        "embedding",
        "fitted",
        "lower",
        "upper",
        "pearson",
        "spearman",
    )
    ax = make_axes(ax, (6.5, 5))
    ax.scatter(metric, learned, s=3, color=BLUE, alpha=0.3, linewidths=0, rasterized=True)
    order = np.argsort(metric, kind="stable")
    ax.plot(metric[order], fitted[order], color=RED, label="linear fit")
    for bound, label in ((lower, "first and last percent"), (upper, None)):
        ax.step(metric[order], bound[order], color="0.3", linewidth=1, where="mid", label=label)
    what = f"{column_of(frame)}: does closeness mean likeness?"
    title(ax, what, correlation_words(pearson, spearman))
    finish(ax, "distance in the metric space", "distance in the learned space")
    if len(metric) > MOST_LABELED:  # a name for each of a few pairs would cover them all
        names = [f"{cut(str(x), 9)} and {cut(str(y), 9)}" for x, y in zip(a, b, strict=True)]
        points = np.column_stack([metric, learned])
        label_points(ax, points, np.array(names, dtype=object))
    return ax


def plot_distances(distances: Any, *, ax: Axes | None = None) -> Axes:
    """Draw a `catspace.analysis.DistanceMatrix` as a heat map, close categories side by side."""
    order = cluster_order(distances.values)
    names = [short(distances.categories[i], 16) for i in order]
    ax = make_axes(ax, (6.5, 5.8))
    drawn = ax.imshow(distances.values[np.ix_(order, order)], cmap=DISTANCES)
    every = 1 if len(names) <= MOST_LABELED else -(-len(names) // _NAMES_OF_MANY)
    size = 8 if len(names) <= _NAMES_OF_MANY else 6.5
    ticks = range(0, len(names), every)
    ax.set_xticks(ticks, names[::every], rotation=90, fontsize=size)
    ax.set_yticks(ticks, names[::every], fontsize=size)
    column = short(distances.column)
    if every > 1:
        label = f"{len(names):,} categories of {column}, one in {every} named"
        ax.set(xlabel=label, ylabel=label)
    ax.figure.colorbar(drawn, ax=ax, label="distance", shrink=0.8)
    title(ax, f"{column}: distances in the metric space")
    return ax


def plot_schoenberg(frame: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the smallest eigenvalues over λ; from `catspace.analysis.schoenberg`."""
    kernel, factor, smallest = read(frame, "kernel", "lambda", "smallest")
    ax = make_axes(ax, (6, 4))
    for i, name in enumerate(distinct(kernel)):
        chosen = kernel == name
        style = MARKERS[i] + ("-", "--")[i % 2]
        ax.plot(factor[chosen], smallest[chosen], style, color=PALETTE[i], label=name, markersize=5)
    ax.axhline(0, color="0.5", linewidth=1)
    ax.set_xscale("log")
    ax.set_xticks(np.unique(factor), [f"{value:g}" for value in np.unique(factor)])
    ax.set_yscale("symlog", linthresh=1e-6)
    ax.minorticks_off()
    title(
        ax,
        f"{column_of(frame)}: does it fit into a Euclidean space?",
        "without distortion only where exp(-λ d²) has no negative eigenvalue",
    )
    return finish(ax, "λ, in units of one over the mean distance", "smallest eigenvalue")


def plot_mds(frame: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the layout by metric distances; from `catspace.analysis.mds`."""
    category, x, y, stress = read(frame, "category", "x0", "x1", "stress")
    points = np.column_stack([x, y])
    ax = make_axes(ax, plane_size(points, 6))
    dots(ax, x, y)
    what = f"{column_of(frame)}: laid out by metric distances"
    title(ax, what, f"stress {stress[0]:.2f} (0 is perfect, 0.2 is poor)")
    return label_points(plane(ax), points, category)


def plot_distortion(frame: Any, *, ax: Axes | None = None) -> Axes:
    """Draw distortion by dimension, from rows of `catspace.analysis.distortion` put together."""
    dim, worst, average = read(frame, "dim", "distortion", "average")
    order = np.argsort(dim)
    ax = make_axes(ax, (6, 4))
    worst_label = "worst stretch times worst shrink"
    ax.plot(dim[order], worst[order], "o-", color=BLUE, label=worst_label)
    ax.plot(dim[order], average[order], "s--", color=RED, label="average")
    ax.set_yscale("log")
    ax.set_xscale("log", base=2)
    ax.set_xticks(dim[order], [str(int(d)) for d in dim[order]])
    title(ax, f"{column_of(frame)}: distances kept, by dimension")
    return finish(ax, "dimension of the embedding", "distortion")


def _ends(order: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the first and the last n, each from the outside to the inside."""
    return order[:n], order[len(order) - n :]
