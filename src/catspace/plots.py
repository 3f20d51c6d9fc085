"""Pictures of what `catspace.analysis` found; the only file that imports matplotlib.

Every function takes a frame that an analysis function returned, draws on ``ax`` or on a new
figure, and returns the Axes. No number is computed here that is not in the frame.
"""

from collections.abc import Sequence
from itertools import product
from typing import Any

import narwhals as nw
import numpy as np

from catspace.exceptions import CatspaceError, InputError, shorten
from catspace.names import visible

try:
    from matplotlib import pyplot as plt
    from matplotlib.axes import Axes
    from matplotlib.ticker import MaxNLocator, NullFormatter, ScalarFormatter
except ImportError:  # pragma: no cover - only where the extra is not installed
    raise CatspaceError(
        'plots need matplotlib. Install it with: pip install "catspace[plots]"'
    ) from None

_BLUE, _RED, _GREY = "#3b6ea8", "#c8553d", "#9a9a9a"
# Colours that are told apart by colour-blind readers too (Okabe and Ito).
_PALETTE = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#000000")
_MOST_LABELS = 60
# Where a label may stand beside its point, the best first: (across, up).
_SIDES = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1))


def plot_nearest(frame: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the neighbours of a category as bars; from `catspace.analysis.nearest`."""
    category, distance = _read(frame, "category", "distance")
    ax = _axes(ax, (6, 0.4 * len(category) + 1.2))
    places = np.arange(len(category))[::-1]
    ax.barh(places, distance, color=_BLUE, height=0.7)
    ax.set_yticks(places, [_short(name) for name in category])
    return _finish(ax, "distance in the learned space")


def plot_clusters(frame: Any, layout: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the categories in the plane, coloured by cluster.

    Parameters
    ----------
    frame : from `catspace.analysis.cluster`
    layout : from `catspace.analysis.project`
    ax : Axes, optional
    """
    category, cluster = _read(frame, "category", "cluster")
    place = {name: (x, y) for name, x, y in zip(*_read(layout, "category", "x", "y"), strict=True)}
    ax = _axes(ax, (6.5, 5.5))
    points = np.array([place[name] for name in category])
    for number in np.unique(cluster):
        colour = _GREY if number < 0 else _PALETTE[number % len(_PALETTE)]
        name = "no cluster" if number < 0 else f"cluster {number}"
        x, y = points[cluster == number].T
        ax.scatter(x, y, s=_size(len(points)), color=colour, label=name, linewidths=0)
    ax.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    return _label_points(_plane(ax), points, category)


def plot_projection(
    frame: Any,
    *,
    color: Sequence[float] | None = None,
    color_label: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw the categories in the plane; from `catspace.analysis.project`.

    Parameters
    ----------
    frame : DataFrame
    color : sequence of float, optional
        One number for each category, such as its mean target.
    color_label : str
        What the colour means.
    ax : Axes, optional
    """
    category, x, y, trust = _read(frame, "category", "x", "y", "trustworthiness")
    ax = _axes(ax, (6.5, 5.5))
    if color is None:
        _dots(ax, x, y)
    else:
        drawn = ax.scatter(x, y, s=_size(len(x)), c=color, cmap="viridis", linewidths=0)
        ax.figure.colorbar(drawn, ax=ax, label=color_label, shrink=0.8)
    ax.set_title(f"trustworthiness {trust[0]:.2f}", fontsize=9, loc="right", color="0.4")
    return _label_points(_plane(ax), np.column_stack([x, y]), category)


def plot_map(frame: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the learned layout on the map; from `catspace.analysis.compare_with_map`."""
    category, map_x, map_y, x, y, score, p_value = _read(
        frame, "category", "map_x", "map_y", "x", "y", "score", "p_value"
    )
    ax = _axes(ax, (6, 6))
    for ends in zip(map_x, x, map_y, y, strict=True):
        ax.plot(ends[:2], ends[2:], color="0.85", linewidth=1, zorder=1)
    ax.scatter(map_x, map_y, s=26, color=_GREY, label="place on the map", zorder=2)
    ax.scatter(x, y, s=34, color=_RED, label="learned vector, in the plane", zorder=3)
    ax.legend(frameon=False, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, 0), ncols=2)
    ax.set_title(f"score {score[0]:.2f}, p = {_p(p_value[0])}", fontsize=10)
    on_map = np.column_stack([map_x, map_y])
    return _label_points(_plane(ax), np.column_stack([x, y]), category, avoid=on_map)


def plot_direction(frame: Any, *, ax: Axes | None = None) -> Axes:
    """Draw where categories lie along a line; from `catspace.analysis.direction`."""
    category, position, distance = _read(frame, "category", "position", "distance")
    ax = _axes(ax, (7, 4))
    _dots(ax, position, distance)
    _finish(ax, "position along the direction (0: from, 1: to)", "distance from the line")
    return _label_points(ax, np.column_stack([position, distance]), category)


def plot_target_along(
    frame: Any,
    *,
    direction: str = "component 1",
    target_label: str = "mean target",
    ax: Axes | None = None,
) -> Axes:
    """Draw the target along one direction; from `catspace.analysis.target_along`."""
    names, position, target, pearson, spearman = _read(
        frame, "direction", "position", "target", "pearson", "spearman"
    )
    chosen = names == direction
    if not chosen.any():
        raise InputError(f"The frame has no direction {direction!r}; it has {_distinct(names)}.")
    ax = _axes(ax, (5, 4))
    ax.scatter(position[chosen], target[chosen], s=8, color=_BLUE, alpha=0.6, linewidths=0)
    ax.xaxis.set_major_locator(MaxNLocator(5))
    ax.set_title(_correlations(pearson[chosen], spearman[chosen]), fontsize=9)
    return _finish(ax, direction, target_label)


def plot_density(
    frame: Any, *, component: int = 1, normality: Any = None, ax: Axes | None = None
) -> Axes:
    """Draw the density along a principal component, with a Gaussian of the same mean and width.

    Parameters
    ----------
    frame : from `catspace.analysis.components`
    component : int, default=1
    normality : from `catspace.analysis.normality`, optional
        For the test's result in the title.
    ax : Axes, optional
    """
    name = f"component {component}"
    (values,) = _read(frame, name)
    ax = _axes(ax, (5, 4))
    mean, std = values.mean(), values.std()
    ax.hist(values, bins="auto", density=True, color=_BLUE, alpha=0.5, linewidth=0)
    grid = np.linspace(values.min() - 0.3 * std, values.max() + 0.3 * std, 300)
    if std > 0:
        bell = np.exp(-0.5 * ((grid - mean) / std) ** 2) / (std * np.sqrt(2 * np.pi))
        ax.plot(grid, bell, color=_RED, label="Gaussian fit")
    if normality is not None:
        names, k2, p_value = _read(normality, "component", "k2", "p_value")
        (row,) = np.flatnonzero(names == name)
        ax.set_title(f"K² = {k2[row]:.1f}, p = {_p(p_value[row])}", fontsize=9)
    return _finish(ax, name, "density")


def plot_subspace_correlation(frame: Any, *, value: str = "mean", ax: Axes | None = None) -> Axes:
    """Draw the correlation between the spaces of columns as a heat map.

    Parameters
    ----------
    frame : from `catspace.analysis.subspace_correlation`
    value : {"mean", "largest", "canonical"}, default="mean"
    ax : Axes, optional
    """
    a, b, values = _read(frame, "column_a", "column_b", value)
    names = list(dict.fromkeys([*a, *b]))
    grid = np.full((len(names), len(names)), np.nan)
    for first, second, number in zip(a, b, values, strict=True):
        i, j = sorted((names.index(first), names.index(second)))
        grid[j, i] = number
    ax = _axes(ax, (0.7 * len(names) + 2, 0.6 * len(names) + 1.5))
    drawn = ax.imshow(grid, cmap="Blues", vmin=0, vmax=1)
    for j, i in np.argwhere(np.isfinite(grid)):
        colour = "white" if grid[j, i] > 0.6 else "black"
        ax.text(i, j, f"{grid[j, i]:.2f}", ha="center", va="center", fontsize=8, color=colour)
    shown = [_short(name) for name in names]
    ax.set_xticks(range(len(names) - 1), shown[:-1], rotation=45, ha="right")
    ax.set_yticks(range(1, len(names)), shown[1:])
    ax.set_xlim(-0.5, len(names) - 1.5)
    ax.set_ylim(len(names) - 0.5, 0.5)
    ax.figure.colorbar(drawn, ax=ax, label=f"{value} absolute correlation", shrink=0.8)
    ax.spines[:].set_visible(False)
    return ax


def plot_compare_distances(frame: Any, *, ax: Axes | None = None) -> Axes:
    """Draw learned against metric distances; from `catspace.analysis.compare_distances`."""
    metric, learned, fitted, lower, upper, pearson, spearman = _read(
        frame, "metric", "embedding", "fitted", "lower", "upper", "pearson", "spearman"
    )
    ax = _axes(ax, (6, 4.5))
    ax.scatter(metric, learned, s=3, color=_BLUE, alpha=0.3, linewidths=0, rasterized=True)
    order = np.argsort(metric, kind="stable")
    ax.plot(metric[order], fitted[order], color=_RED, label="linear fit")
    for bound, label in ((lower, "first and last percent"), (upper, None)):
        ax.step(metric[order], bound[order], color="0.3", linewidth=1, where="mid", label=label)
    ax.set_title(_correlations(pearson, spearman), fontsize=9)
    return _finish(ax, "distance in the metric space", "distance in the learned space")


def plot_distances(distances: Any, *, ax: Axes | None = None) -> Axes:
    """Draw a `catspace.analysis.DistanceMatrix` as a heat map."""
    values, names = distances.values, [_short(name) for name in distances.categories]
    ax = _axes(ax, (6.5, 5.5))
    drawn = ax.imshow(values, cmap="viridis_r")
    if len(names) <= _MOST_LABELS:
        ax.set_xticks(range(len(names)), names, rotation=90, fontsize=8)
        ax.set_yticks(range(len(names)), names, fontsize=8)
    else:
        label = f"{len(names):,} categories of {_short(distances.column)}"
        ax.set(xlabel=label, ylabel=label, xticks=[], yticks=[])
    ax.figure.colorbar(drawn, ax=ax, label="distance", shrink=0.8)
    return ax


def plot_schoenberg(frame: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the smallest eigenvalues over λ; from `catspace.analysis.schoenberg`."""
    kernel, factor, smallest = _read(frame, "kernel", "lambda", "smallest")
    ax = _axes(ax, (6, 4))
    for i, name in enumerate(_distinct(kernel)):
        chosen = kernel == name
        ax.plot(factor[chosen], smallest[chosen], "o-", color=_PALETTE[i], label=name, markersize=4)
    ax.axhline(0, color="0.5", linewidth=1)
    ax.set_xscale("log")
    ax.set_yscale("symlog", linthresh=1e-6)
    return _finish(ax, "λ, in units of one over the mean distance", "smallest eigenvalue")


def plot_mds(frame: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the layout by metric distances; from `catspace.analysis.mds`."""
    category, x, y, stress = _read(frame, "category", "x0", "x1", "stress")
    ax = _axes(ax, (6, 5.5))
    _dots(ax, x, y)
    ax.set_title(f"stress {stress[0]:.2f}", fontsize=9, loc="right", color="0.4")
    return _label_points(_plane(ax), np.column_stack([x, y]), category)


def plot_distortion(frame: Any, *, ax: Axes | None = None) -> Axes:
    """Draw distortion by dimension, from rows of `catspace.analysis.distortion` put together."""
    dim, worst, average = _read(frame, "dim", "distortion", "average")
    order = np.argsort(dim)
    ax = _axes(ax, (6, 4))
    ax.plot(dim[order], worst[order], "o-", color=_BLUE, label="worst stretch times worst shrink")
    ax.plot(dim[order], average[order], "o-", color=_RED, label="average")
    ax.set_yscale("log")
    ax.set_xscale("log", base=2)
    ax.set_xticks(dim[order], [str(int(d)) for d in dim[order]])
    return _finish(ax, "dimension of the embedding", "distortion")


def plot_stability(frame: Any, *, ax: Axes | None = None) -> Axes:
    """Draw how far networks agree on neighbours; from `catspace.analysis.stability`."""
    count, overlap, chance = _read(frame, "count", "overlap", "chance")
    ax = _axes(ax, (6, 4))
    ax.scatter(count, overlap, s=10, color=_BLUE, alpha=0.6, linewidths=0)
    ax.axhline(chance[0], color=_RED, linewidth=1, label="chance")
    ax.set_xscale("log")
    if count.max() < 10 * count.min():  # there may be no power of ten to write down
        ax.xaxis.set_major_locator(MaxNLocator(5))
    ax.xaxis.set_major_formatter(ScalarFormatter())
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_ylim(0, 1)
    return _finish(
        ax, "rows of the category in training", "neighbours that networks have in common"
    )


def _read(frame: Any, *names: str) -> list[np.ndarray]:
    """Return columns of any frame as arrays."""
    table = nw.from_native(frame, eager_only=True, pass_through=True)
    if not isinstance(table, nw.DataFrame):
        raise InputError(
            f"A frame that a function of catspace.analysis returned is needed; got "
            f"{type(frame).__name__}."
        )
    missing = [name for name in names if name not in table.columns]
    if missing:
        raise InputError(
            f"The frame has no {' and no '.join(missing)}; its columns are "
            f"{shorten(table.columns, most=10)}.",
            hint="each plot takes what the analysis function in its description returns.",
        )
    if len(table) == 0:
        raise InputError("The frame has no rows to draw.")
    return [np.asarray(table[name].to_numpy()) for name in names]


def _axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    return plt.subplots(figsize=size, layout="constrained")[1] if ax is None else ax


def _finish(ax: Axes, x: str, y: str = "") -> Axes:
    """Say what the axes are, and what has a name; take away the half of the frame without ticks."""
    ax.set_xlabel(x)
    ax.set_ylabel(y or ax.get_ylabel())
    if ax.get_legend_handles_labels()[0]:
        ax.legend(frameon=False, fontsize=8)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _plane(ax: Axes) -> Axes:
    """Take away what means nothing in a layout: ticks and a frame."""
    ax.set_aspect("equal", adjustable="datalim")
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    return ax


def _dots(ax: Axes, x: np.ndarray, y: np.ndarray) -> None:
    ax.scatter(x, y, s=_size(len(x)), color=_BLUE, linewidths=0, alpha=0.8)


def _size(n: int) -> float:
    return float(np.clip(4000 / max(1, n), 6, 40))


def _label_points(
    ax: Axes, points: np.ndarray, names: np.ndarray, avoid: np.ndarray | None = None
) -> Axes:
    """Write names beside points, each in the place where it covers the least.

    Comes last: it needs to know how large everything else is.
    """
    if len(points) > _MOST_LABELS:
        return ax
    figure = ax.figure.figure  # the whole, also where the Axes is in a part of a figure
    figure.draw_without_rendering()  # fixes the layout, so that data has a place in pixels
    pixels_per_point = figure.dpi / 72
    marks = ax.transData.transform(points if avoid is None else np.vstack([points, avoid]))
    boxes: list[tuple[float, float, float, float]] = []
    for (x, y), point, name in zip(marks, points, names, strict=False):
        text = _short(name)
        width, height = (0.62 * len(text) * 8) * pixels_per_point, 9 * pixels_per_point
        best = (np.inf, (0.0, 0.0), (0.0, 0.0, 0.0, 0.0))
        for distance, (across, up) in product((5.0, 11.0, 19.0), _SIDES):
            dx, dy = across * distance, up * distance
            left = x + dx * pixels_per_point + (across - 1) * width / 2
            low = y + dy * pixels_per_point + (up - 1) * height / 2
            box = (left, low, left + width, low + height)
            covered = ((marks > box[:2]) & (marks < box[2:])).all(axis=1).sum()
            # Far from its point a name is hard to place, but better than under another one.
            cost = covered + 2 * sum(_overlap(box, other) for other in boxes) + distance / 40
            if cost < best[0]:
                best = (cost, (dx, dy), box)
        _, (dx, dy), box = best
        boxes.append(box)
        ax.annotate(
            text,
            (float(point[0]), float(point[1])),
            (dx, dy),
            textcoords="offset points",
            ha="left" if dx > 0 else "right" if dx < 0 else "center",
            va="bottom" if dy > 0 else "top" if dy < 0 else "center",
            fontsize=8,
        )
    return ax


def _overlap(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> float:
    wide = min(a[2], b[2]) - max(a[0], b[0])
    high = min(a[3], b[3]) - max(a[1], b[1])
    return 1.0 if wide > 0 and high > 0 else 0.0


def _short(name: Any, most: int = 24) -> str:
    text = visible(name).replace("$", r"\$")  # or matplotlib would read it as a formula
    return text if len(text) <= most else text[: most - 1] + "…"


def _distinct(values: np.ndarray) -> list[Any]:
    return list(dict.fromkeys(values.tolist()))


def _correlations(pearson: np.ndarray, spearman: np.ndarray) -> str:
    return f"Pearson {pearson[0]:.2f}, Spearman {spearman[0]:.2f}"


def _p(value: float) -> str:
    return f"{value:.3f}" if value >= 0.001 else f"{value:.0e}" if value > 0 else "0"
