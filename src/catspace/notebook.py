"""What notebooks show: vectors as a small map, numbers beside them, bars while networks train.

The forms are plain HTML without scripts, in the colours of the notebook. Names reach them only
through `text`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from catspace.names import visible

_MOST_POINTS = 500  # the most frequent ones: a notebook is kept with all that it shows
_MOST_LISTED = 6
_MOST_NAMED = 12
_FEWEST_POINTS = 3
_LONGEST = 40
_STYLE = "font-family:system-ui,sans-serif;font-size:13px;line-height:1.5"
_CELL = "text-align:{};padding:1px 10px 1px 0;vertical-align:middle"


@dataclass(frozen=True)
class Space:
    """The vectors of a column, as the forms need them."""

    column: str
    categories: Sequence[Any]
    counts: np.ndarray  # of shape (n_categories,)
    evidence: np.ndarray  # of shape (n_categories,)
    vectors: np.ndarray  # of shape (n_categories, dim)
    n_missing: int = 0
    n_rare: int = 0
    n_columns: int = 1  # that have these vectors, and are counted together

    @property
    def _n_rows(self) -> int:
        return (int(self.counts.sum()) + self.n_missing + self.n_rare) // self.n_columns

    @property
    def summary(self) -> str:
        """The numbers in a line."""
        n, dim = self.vectors.shape
        parts = [
            f"{n:,} {'category' if n == 1 else 'categories'}",
            f"{dim} {'dimension' if dim == 1 else 'dimensions'}",
            f"{self._n_rows:,} rows in training",
        ]
        parts += [f"{self.n_missing:,} missing"] if self.n_missing else []
        parts += [f"{self.n_rare:,} rare"] if self.n_rare else []
        return " · ".join(parts)


def text(name: object, most: int = _LONGEST) -> str:
    r"""Return a name as HTML shows it, whatever stands in it.

    Examples
    --------
    >>> text("</script>\x1b")
    '&lt;/script&gt;\\x1b'
    """
    shown = visible(name)
    if len(shown) > most:
        shown = f"{shown[: most // 2]}…{shown[len(shown) - most // 2 + 1 :]}"
    return escape(shown)


def describe_space(space: Space) -> str:
    """Return one column: its map, and its most frequent categories."""
    order = np.argsort(-space.counts, kind="stable")[:_MOST_LISTED]
    rows = [
        (text(space.categories[i]), f"{space.counts[i]:,}", f"{space.evidence[i]:.0%}")
        for i in order
    ]
    listed = _table(("most frequent", "rows", "evidence"), rows)
    return (
        f'<div style="{_STYLE}"><b>{text(space.column)}</b> <span style="opacity:.7">'
        f"{space.summary}</span>"
        f'<div style="display:flex;flex-wrap:wrap;gap:24px;align-items:center;margin-top:4px">'
        f"{draw_map(space, 300, 190, n_named=_MOST_NAMED)}<div>{listed}</div></div></div>"
    )


def describe_spaces(spaces: Iterable[Space], title: str = "") -> str:
    """Return all columns of a model, each with a map as large as a stamp."""
    header = ("", "column", "categories", "dimension", "missing", "rare")
    rows = [
        (
            draw_map(space, 72, 44),
            text(space.column),
            f"{len(space.vectors):,}",
            f"{space.vectors.shape[1]:,}",
            f"{space.n_missing:,}",
            f"{space.n_rare:,}",
        )
        for space in spaces
    ]
    head = f"<b>{escape(title)}</b>" if title else ""
    return f'<div style="{_STYLE}">{head}{_table(header, rows, n_left=2)}</div>'


def draw_map(space: Space, width: int, height: int, *, n_named: int = 0) -> str:
    """Return the most frequent categories in the plane of their vectors, as SVG."""
    chosen = np.sort(np.argsort(-space.counts, kind="stable")[:_MOST_POINTS])
    if len(chosen) < _FEWEST_POINTS or not np.ptp(space.vectors[chosen], axis=0).any():
        return ""
    places = _plane(space.vectors[chosen].astype(np.float64))
    room = np.array([width, height]) - 16
    scale = (room / np.maximum(np.ptp(places, axis=0), 1e-12)).min()  # all directions alike
    places = (places - (places.max(axis=0) + places.min(axis=0)) / 2) * scale
    places = places + np.array([width, height]) / 2
    radius = 1.5 if width < 100 else 2 if len(chosen) > 100 else 3.5
    points = "".join(
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" opacity="{0.2 + 0.7 * share:.2f}">'
        f"<title>{text(space.categories[i])}</title></circle>"
        for i, (x, y), share in zip(chosen, places, space.evidence[chosen], strict=True)
    )
    named = _outermost(places, n_named)
    names = "".join(
        f'<text x="{places[j, 0] + (6 if places[j, 0] < 0.7 * width else -6):.1f}" '
        f'y="{places[j, 1] + 4:.1f}" font-size="10" fill="currentColor" '
        f'text-anchor="{"start" if places[j, 0] < 0.7 * width else "end"}">'
        f"{text(space.categories[chosen[j]], 14)}</text>"
        for j in named
    )
    return (
        f'<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="Map of {text(space.column)}" style="overflow:visible">'
        f'<g fill="#3b82c4">{points}</g>{names}</svg>'
    )


def progress_bars(bars: Iterable[tuple[str, float, str]]) -> str:
    """Return bars: a name, the share that is done, and what else there is to say of each."""
    rows = [
        (
            escape(name),
            f'<div style="width:200px;background:rgba(128,128,128,.25);border-radius:3px">'
            f'<div style="width:{100 * share:.0f}%;height:9px;background:#3b82c4;'
            f'border-radius:3px"></div></div>',
            escape(words),
        )
        for name, share, words in bars
    ]
    return f'<div style="{_STYLE}">{_table((), rows, n_left=3)}</div>'


def _table(header: Sequence[str], rows: Iterable[Sequence[str]], n_left: int = 1) -> str:
    """Return a table of cells that are HTML; the first few are aligned to the left."""

    def line(tag: str, cells: Sequence[str]) -> str:
        inside = "".join(
            f'<{tag} style="{_CELL.format("left" if i < n_left else "right")}">{cell}</{tag}>'
            for i, cell in enumerate(cells)
        )
        return f"<tr>{inside}</tr>"

    body = "".join(line("td", cells) for cells in rows)
    head = line("th", header) if header else ""
    return (
        f'<table style="border-collapse:collapse;font-size:13px;margin:4px 0">{head}{body}</table>'
    )


def _plane(vectors: np.ndarray) -> np.ndarray:
    """Return places along the first two principal components; shape (n, 2)."""
    centred = vectors - vectors.mean(axis=0)
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    places = np.zeros((len(vectors), 2))
    n = min(2, len(sizes))
    places[:, :n] = left[:, :n] * sizes[:n]
    return places


def _outermost(places: np.ndarray, n: int) -> list[int]:
    """Return the points that lie farthest out in each of n directions."""
    angles = 2 * np.pi * np.arange(n) / max(1, n)
    directions = np.column_stack([np.cos(angles), np.sin(angles)])
    return list(dict.fromkeys(((places - places.mean(axis=0)) @ directions.T).argmax(0).tolist()))
