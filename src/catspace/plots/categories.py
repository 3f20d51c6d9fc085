"""Pictures of the categories of one column: their neighbours, places, directions."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator, StrMethodFormatter

from catspace.exceptions import InputError
from catspace.plots.drawing import (
    BLUE,
    GREY,
    MARKERS,
    NUMBERS,
    PALETTE,
    RED,
    column_of,
    correlation_words,
    distinct,
    dot_size,
    dots,
    finish,
    make_axes,
    p_words,
    plane,
    plane_size,
    read,
    read_if_there,
    short,
    title,
)
from catspace.plots.labels import label_points

_MOST_IN_LEGEND = 16


def plot_nearest(frame: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the neighbours of a category as bars; from `catspace.analysis.nearest`.

    Where the frame has the agreement of the networks, it stands beside each bar, and a bar is
    the darker the more of them found the neighbour.
    """
    category, distance = read(frame, "category", "distance")
    agreement, anchor = read_if_there(frame, "agreement"), read_if_there(frame, "anchor")
    ax = make_axes(ax, (6, 0.4 * len(category) + 1.4))
    places = np.arange(len(category))[::-1]
    bars = ax.barh(places, distance, color=BLUE, height=0.7)
    ax.set_yticks(places, [short(name) for name in category])
    if agreement is not None:
        for bar, share in zip(bars, agreement, strict=True):
            bar.set_alpha(0.25 + 0.75 * share)
        ax.bar_label(bars, [f"{share:.0%}" for share in agreement], padding=4, fontsize=8)
        ax.margins(x=0.12)
    if anchor is not None:
        agreed = "at each bar: the share of the other networks that found the neighbour too"
        what = f"{column_of(frame)}: closest to {short(anchor[0])}"
        title(ax, what, "" if agreement is None else agreed)
    return finish(ax, "distance in the learned space")


def plot_clusters(frame: Any, layout: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the categories in the plane, with a colour and a symbol for each cluster.

    Parameters
    ----------
    frame : from `catspace.analysis.cluster`
    layout : from `catspace.analysis.project`
    ax : Axes, optional
    """
    category, cluster = read(frame, "category", "cluster")
    place = {name: (x, y) for name, x, y in zip(*read(layout, "category", "x", "y"), strict=True)}
    points = np.array([place[name] for name in category])
    ax = make_axes(ax, plane_size(points, 7))
    numbers = np.unique(cluster)
    for number in numbers:
        colour = GREY if number < 0 else PALETTE[number % len(PALETTE)]
        marker = "." if number < 0 else MARKERS[number % len(MARKERS)]
        name = "no cluster" if number < 0 else f"cluster {number}"
        inside = cluster == number
        ax.scatter(
            points[inside, 0],
            points[inside, 1],
            s=dot_size(len(points)),
            color=colour,
            marker=marker,
            label=f"{name} ({inside.sum():,})",
            linewidths=0,
        )
    handles, names = ax.get_legend_handles_labels()
    shown = slice(_MOST_IN_LEGEND)
    ax.legend(
        handles[shown],
        names[shown],
        frameon=False,
        fontsize=8,
        loc="center left",
        bbox_to_anchor=(1, 0.5),
    )
    n_clusters = int((numbers >= 0).sum())
    title(ax, f"{column_of(frame)}: {len(category):,} categories, {n_clusters} clusters")
    return label_points(plane(ax), points, category)


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
    category, x, y, trust = read(frame, "category", "x", "y", "trustworthiness")
    points = np.column_stack([x, y])
    ax = make_axes(ax, plane_size(points, 6.5))
    if color is None:
        dots(ax, x, y)
    else:
        drawn = ax.scatter(x, y, s=dot_size(len(x)), c=color, cmap=NUMBERS, linewidths=0)
        ax.figure.colorbar(drawn, ax=ax, label=color_label, shrink=0.8)
    what = f"{column_of(frame)}: {len(category):,} categories in the plane"
    title(ax, what, f"trustworthiness {trust[0]:.2f} (1: all neighbours here are neighbours)")
    return label_points(plane(ax), points, category)


def plot_map(frame: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the learned layout on the map; from `catspace.analysis.compare_with_map`."""
    category, map_x, map_y, x, y, score, p_value = read(
        frame, "category", "map_x", "map_y", "x", "y", "score", "p_value"
    )
    ax = make_axes(ax, (6, 6))
    for ends in zip(map_x, x, map_y, y, strict=True):
        ax.plot(ends[:2], ends[2:], color="0.85", linewidth=1, zorder=1)
    ax.scatter(map_x, map_y, s=26, color=GREY, marker="s", label="place on the map", zorder=2)
    ax.scatter(x, y, s=34, color=RED, label="learned vector, in the plane", zorder=3)
    ax.legend(frameon=False, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, 0), ncols=2)
    what = f"{column_of(frame)}: learned places beside the map"
    title(ax, what, f"score {score[0]:.2f}, p = {p_words(p_value[0])}")
    on_map = np.column_stack([map_x, map_y])
    return label_points(plane(ax), np.column_stack([x, y]), category, avoid=on_map)


def plot_direction(frame: Any, *, ax: Axes | None = None) -> Axes:
    """Draw where categories lie along a line; from `catspace.analysis.direction`."""
    category, position, distance, a, b = read(frame, "category", "position", "distance", "a", "b")
    ax = make_axes(ax, (7, 4))
    dots(ax, position, distance)
    begin, end = short(a[0]), short(b[0])
    title(ax, f"{column_of(frame)}: from {begin} to {end}")
    finish(ax, f"position along the line (0: {begin}, 1: {end})", "distance from the line")
    return label_points(ax, np.column_stack([position, distance]), category)


def plot_target_along(
    frame: Any,
    *,
    direction: str = "component 1",
    target_label: str = "mean target",
    ax: Axes | None = None,
) -> Axes:
    """Draw the target along one direction; from `catspace.analysis.target_along`."""
    names, category, position, target, pearson, spearman = read(
        frame, "direction", "category", "position", "target", "pearson", "spearman"
    )
    chosen = names == direction
    if not chosen.any():
        raise InputError(f"The frame has no direction {direction!r}; it has {distinct(names)}.")
    ax = make_axes(ax, (6, 4.5))
    dots(ax, position[chosen], target[chosen])
    ax.xaxis.set_major_locator(MaxNLocator(5))
    what = f"{column_of(frame)}: {target_label} along {direction}"
    title(ax, what, correlation_words(pearson[chosen], spearman[chosen]))
    finish(ax, direction, target_label)
    points = np.column_stack([position[chosen], target[chosen]])
    return label_points(ax, points, category[chosen])


def plot_stability(frame: Any, *, ax: Axes | None = None) -> Axes:
    """Draw how far networks agree on neighbours; from `catspace.analysis.stability`."""
    category, count, overlap, chance = read(frame, "category", "count", "overlap", "chance")
    ax = make_axes(ax, (6, 4))
    dots(ax, count, overlap)
    ax.axhline(chance[0], color=RED, linewidth=1, linestyle="--", label="chance")
    if count.max() >= 10 * count.min() > 0:  # else there may be no power of ten to write down
        ax.set_xscale("log")
        ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    else:
        ax.xaxis.set_major_locator(MaxNLocator(6, integer=True, steps=[1, 2, 5, 10]))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    ax.set_ylim(0, 1)
    title(ax, f"{column_of(frame)}: do the networks find the same neighbours?")
    finish(ax, "rows of the category in training", "neighbours that networks have in common")
    return label_points(ax, np.column_stack([count, overlap]), category)
