"""Defaults that travel: what "auto" means for a table with this many rows.

A small table needs more passes in smaller batches and a firmer hand against overfitting, a large
one fewer passes, larger batches and almost no hand at all. Between, everything moves smoothly with
the number of rows. The constants were chosen on validation parts of the Rossmann data and of the
tables in docs/defaults.md, never on their test rows.
"""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Defaults:
    """The values that "auto" stands for.

    Attributes
    ----------
    hidden_layer_sizes : tuple of int
    n_bins : int
        Pieces into which the range of a number is cut.
    dropout : float
    max_epochs, batch_size : int
    learning_rate : float
        The peak of the schedule.
    shrinkage : float
        How far weight decay alone would shrink a weight over the whole training: to
        exp(-shrinkage). Stated this way one number serves 100 steps and 100,000.
    """

    hidden_layer_sizes: tuple[int, ...]
    n_bins: int
    dropout: float
    max_epochs: int
    batch_size: int
    learning_rate: float
    shrinkage: float


def defaults_for(n_rows: int) -> Defaults:
    """Return the defaults for a training table.

    Examples
    --------
    >>> small, large = defaults_for(200), defaults_for(200_000)
    >>> small.batch_size, small.max_epochs, small.dropout
    (32, 28, 0.2)
    >>> large.batch_size, large.max_epochs, large.dropout
    (512, 10, 0.0)
    """
    n_rows = max(1, n_rows)
    return Defaults(
        hidden_layer_sizes=(256, 128),
        n_bins=16,
        dropout=round(_clamp(0.1 * math.log10(1e5 / n_rows), 0.0, 0.2), 3),
        max_epochs=round(_clamp(10 * (200_000 / n_rows) ** 0.15, 5, 30)),
        batch_size=int(_clamp(2 ** round(math.log2(math.sqrt(n_rows))), 32, 4096)),
        learning_rate=1e-2,
        shrinkage=2.5,
    )


def _clamp(value: float, low: float, high: float) -> float:
    return max(low, min(value, high))
