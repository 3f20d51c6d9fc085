"""What all pictures share: frames as arrays, Axes, colours, titles.

Colour maps grow darker from one end to the other, so that they survive a printer without colour,
and the colours of groups are told apart by colour-blind readers too (Okabe and Ito).
"""

from typing import Any

import narwhals as nw
import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from catspace.exceptions import InputError, shorten
from catspace.names import visible

BLUE, RED, GREY = "#0072b2", "#d55e00", "#9a9a9a"
PALETTE = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")  # for those who see no colour at all
NUMBERS, DISTANCES, SHARES = "viridis", "viridis_r", "Blues"  # colour maps
_MOST_FOR_BEST_ORDER = 300  # of leaves, whose order takes the cube of their number


def read(frame: Any, *names: str) -> list[np.ndarray]:
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


def read_if_there(frame: Any, name: str) -> np.ndarray | None:
    """Return a column that a frame may have."""
    columns = nw.from_native(frame, eager_only=True).columns
    return read(frame, name)[0] if name in columns else None


def column_of(frame: Any, otherwise: str = "the column") -> str:
    """Return the name of the column that a frame is about, as it can be shown."""
    names = read_if_there(frame, "column")
    return otherwise if names is None else short(names[0])


def make_axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """Return the Axes to draw on."""
    return plt.subplots(figsize=size, layout="constrained")[1] if ax is None else ax


def title(ax: Axes, what: str, how_well: str = "") -> None:
    """Say above a picture what it shows and, in a second line, how far it can be trusted."""
    ax.set_title("\n".join(filter(None, [what, how_well])), fontsize=9.5, loc="left")


def finish(ax: Axes, x: str, y: str = "") -> Axes:
    """Say what the axes are, and what has a name; take away the half of the frame without ticks."""
    ax.set_xlabel(x)
    ax.set_ylabel(y or ax.get_ylabel())
    if ax.get_legend_handles_labels()[0]:
        ax.legend(frameon=False, fontsize=8)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def plane(ax: Axes) -> Axes:
    """Take away what means nothing in a layout: ticks and a frame."""
    ax.set_aspect("equal", adjustable="datalim")
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    ax.margins(0.08)
    return ax


def plane_size(points: np.ndarray, width: float) -> tuple[float, float]:
    """Return the size of a figure in which a layout, with all directions alike, leaves no gaps."""
    across, up = np.ptp(points, axis=0)
    return width, float(np.clip(width * up / max(across, 1e-12), 0.55 * width, 1.05 * width))


def dots(ax: Axes, x: np.ndarray, y: np.ndarray) -> None:
    """Draw a point for each category."""
    ax.scatter(x, y, s=dot_size(len(x)), color=BLUE, linewidths=0, alpha=0.7)


def dot_size(n: int) -> float:
    """Return the area of a point among n."""
    return float(np.clip(4000 / max(1, n), 8, 40))


def cluster_order(distances: np.ndarray) -> np.ndarray:
    """Return an order in which things that are close stand together.

    Parameters
    ----------
    distances : float array of shape (n, n)
        Symmetric; NaN where a distance is not known, which then counts as the largest one.
    """
    n = len(distances)
    if n < 3:
        return np.arange(n)
    known = distances[np.isfinite(distances)]
    whole = np.where(np.isfinite(distances), distances, known.max() if len(known) else 1.0)
    pairs = squareform((whole + whole.T) / 2, checks=False)
    tree = linkage(pairs, "average", optimal_ordering=n <= _MOST_FOR_BEST_ORDER)
    return np.asarray(leaves_list(tree))


def short(name: Any, most: int = 24) -> str:
    """Return a name as a picture can show it; of a long one both ends, which tell it apart."""
    text = cut(visible("missing" if name is None else name), most)
    return text.replace("$", r"\$")  # or matplotlib would read it as a formula


def cut(text: str, most: int) -> str:
    """Return both ends of a long text."""
    if len(text) <= most:
        return text
    end = (most - 1) // 2
    return f"{text[: most - 1 - end]}…{text[len(text) - end :]}"


def distinct(values: np.ndarray) -> list[Any]:
    """Return the values, each once, in the order in which they come."""
    return list(dict.fromkeys(values.tolist()))


def correlation_words(pearson: np.ndarray, spearman: np.ndarray) -> str:
    """Return both correlations as a title has them."""
    return f"Pearson {pearson[0]:.2f}, Spearman {spearman[0]:.2f}"


def p_words(value: float) -> str:
    """Return a p-value as a title has it."""
    return f"{value:.3f}" if value >= 0.001 else f"{value:.0e}" if value > 0 else "0"
