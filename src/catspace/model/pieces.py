"""Numbers -> pieces: how a dense layer reads a column of numbers as a curve."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

_CPU = torch.device("cpu")


class PiecewiseLinear(nn.Module):
    """Gives each number beside its value the part of each bin that lies below it.

    A dense layer on top of this is a piecewise linear function of the number from the start, so
    that a curve with a bend need not be learned from straight lines first (Gorishniy et al.,
    "On Embeddings for Numerical Features", 2022).

    Parameters
    ----------
    n_bins : sequence of int
        Of each number.
    """

    def __init__(self, n_bins: Sequence[int], device: torch.device = _CPU) -> None:
        super().__init__()
        self.number_of: Tensor  # the position of the number that each bin belongs to
        self.lower: Tensor
        self.slope: Tensor
        repeats = torch.tensor(n_bins, dtype=torch.int64, device=device)
        number_of = torch.arange(len(n_bins), device=device).repeat_interleave(
            repeats, output_size=sum(n_bins)
        )
        self.register_buffer("number_of", number_of, persistent=False)
        for name in ("lower", "slope"):
            zeros = torch.zeros(len(number_of), dtype=torch.float32, device=device)
            self.register_buffer(name, zeros)
        self.width = len(n_bins) + len(number_of)

    def set_edges(self, edges: Sequence[np.ndarray]) -> None:
        """Say where the bins of each number begin and end."""
        bounds = [(cuts[:-1], 1 / np.diff(cuts)) for cuts in edges if len(cuts)]
        if bounds:
            lower, slope = (np.concatenate(part) for part in zip(*bounds, strict=True))
            self.lower.copy_(torch.from_numpy(lower))
            self.slope.copy_(torch.from_numpy(slope))

    def forward(self, numbers: Tensor) -> Tensor:
        """Map numbers (batch, n_numbers) to (batch, width)."""
        if not len(self.number_of):
            return numbers
        repeated = numbers.index_select(1, self.number_of)
        filled = repeated.sub_(self.lower).mul_(self.slope).clamp_(0, 1)
        return torch.cat([numbers, filled], dim=1)


def cut_numbers(numbers: np.ndarray, n_bins: int) -> tuple[np.ndarray, ...]:
    """Return where to cut each column of numbers into at most so many bins.

    A column of two values has none: its bin would say what the number itself says.

    Parameters
    ----------
    numbers : float array of shape (n_samples, n_numbers)
    n_bins : int

    Returns
    -------
    tuple of float arrays of shape (n_bins + 1,), or (0,) where there is no bin

    Examples
    --------
    >>> [cuts.tolist() for cuts in cut_numbers(np.array([[0.0, 1.0], [1.0, 2.0], [1.0, 3.0]]), 4)]
    [[], [1.0, 2.0, 3.0]]
    """
    all_edges = (bin_edges(values, n_bins) for values in numbers.T)
    return tuple(edges if len(edges) > 2 else edges[:0] for edges in all_edges)


def bin_edges(values: np.ndarray, n_bins: int) -> np.ndarray:
    """Return where to cut numbers into at most so many bins with about as many rows each.

    A value that more rows share than a bin should hold is one edge; the other values have the
    rest of the edges for themselves. Otherwise a column that is mostly zero would have all its
    edges there, and its tail none.

    Parameters
    ----------
    values : float array of shape (n_samples,)
    n_bins : int

    Examples
    --------
    >>> bin_edges(np.array([0.0] * 90 + [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]), 4).tolist()
    [0.0, 1.0, 4.0, 7.0, 10.0]
    """
    distinct, counts = np.unique(values, return_counts=True)
    is_common = counts * n_bins > len(values)
    if len(distinct) <= n_bins + 1:
        return distinct
    if not is_common.any():
        return np.unique(np.quantile(values, np.linspace(0, 1, n_bins + 1)))
    others = values[np.isin(values, distinct[is_common], invert=True)]
    rest = bin_edges(others, n_bins - int(is_common.sum()))
    return np.union1d(distinct[is_common], rest)
