"""Names beside points: all of them where there are few, of many those that stand out."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from matplotlib.axes import Axes
from scipy.spatial import cKDTree

from catspace.plots.drawing import short

MOST_LABELED = 60  # points that all have their names
_STANDING_OUT = 24  # names among more points than that
# Where a label may stand beside its point, the best first: (across, up).
_SIDES = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1))
_FONT_SIZE = 8

_Box = tuple[float, float, float, float]  # left, low, right, high, in pixels


@dataclass(frozen=True)
class _Taken:
    """What a label should not cover."""

    marks: np.ndarray  # of shape (n, 2)
    boxes: Sequence[_Box]
    window: _Box  # outside are the numbers of the axes, and the title

    def cost(self, box: _Box) -> float:
        covered = ((self.marks > box[:2]) & (self.marks < box[2:])).all(axis=1).sum()
        overlapping = sum(_overlap(box, other) for other in self.boxes)
        left, low, right, high = self.window
        is_outside = box[0] < left or box[1] < low or box[2] > right or box[3] > high
        return float(covered + 2 * overlapping + 2 * is_outside)


def label_points(
    ax: Axes, points: np.ndarray, names: np.ndarray, avoid: np.ndarray | None = None
) -> Axes:
    """Write names beside points, each in the place where it covers the least.

    Comes last: it needs to know how large everything else is. Among more than `MOST_LABELED`
    points, those at the edges and those that lie alone have names, as far as there is room.

    Parameters
    ----------
    ax : Axes
    points : float array of shape (n, 2)
    names : array of shape (n,)
    avoid : float array of shape (m, 2), optional
        Other points that no name should cover.
    """
    figure = ax.figure.figure  # the whole, also where the Axes is in a part of a figure
    figure.draw_without_rendering()  # fixes the layout, so that data has a place in pixels
    per_point = figure.dpi / 72
    drawn = np.flatnonzero(np.isfinite(points).all(axis=1))
    points, names = points[drawn], names[drawn]
    marks = ax.transData.transform(points if avoid is None else np.vstack([points, avoid]))
    everyone = len(points) <= MOST_LABELED
    chosen = range(len(points)) if everyone else standing_out(marks[: len(points)])
    boxes: list[_Box] = []
    left, low, right, high = ax.get_window_extent().extents
    window = (left, low, right, high)
    for i in chosen:
        text = short(names[i])
        size = (0.62 * len(text) * _FONT_SIZE * per_point, 9 * per_point)
        offset, box = _best_place(marks[i], size, per_point, _Taken(marks, boxes, window))
        if not everyone and any(_overlap(box, other) for other in boxes):
            continue  # one of many: a picture that can be read is worth more than its name
        boxes.append(box)
        dx, dy = offset
        ax.annotate(
            text,
            (float(points[i, 0]), float(points[i, 1])),
            offset,
            textcoords="offset points",
            ha="left" if dx > 0 else "right" if dx < 0 else "center",
            va="bottom" if dy > 0 else "top" if dy < 0 else "center",
            fontsize=_FONT_SIZE,
        )
    return ax


def standing_out(points: np.ndarray, most: int = _STANDING_OUT) -> list[int]:
    """Return the points that a reader asks about, the most striking first.

    Those are the farthest in each of eight directions, then those whose third neighbour is the
    farthest away.

    Parameters
    ----------
    points : float array of shape (n, 2)
    most : int
    """
    width = np.ptp(points, axis=0)
    scaled = (points - points.mean(axis=0)) / np.where(width > 0, width, 1)
    directions = np.array(_SIDES, dtype=float)
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    farthest = (scaled @ directions.T).argmax(axis=0).tolist()
    neighbours = min(4, len(points))  # itself, and three
    alone = cKDTree(scaled).query(scaled, k=[neighbours])[0][:, 0]
    return list(dict.fromkeys([*farthest, *np.argsort(-alone, kind="stable").tolist()]))[:most]


def _best_place(
    mark: np.ndarray,
    size: tuple[float, float],
    per_point: float,
    taken: _Taken,
) -> tuple[tuple[float, float], _Box]:
    """Return the best place of a label: its offset in points, and its box in pixels."""
    (x, y), (width, height) = mark, size
    best = (np.inf, (0.0, 0.0), (0.0, 0.0, 0.0, 0.0))
    for distance, (across, up) in product((5.0, 11.0, 19.0), _SIDES):
        dx, dy = across * distance, up * distance
        left = x + dx * per_point + (across - 1) * width / 2
        low = y + dy * per_point + (up - 1) * height / 2
        box = (left, low, left + width, low + height)
        # Far from its point a name is hard to place, but better than under another one.
        cost = taken.cost(box) + distance / 40
        if cost < best[0]:
            best = (cost, (dx, dy), box)
    return best[1:]


def _overlap(a: _Box, b: _Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
