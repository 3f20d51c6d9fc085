"""Defaults that travel: what "auto" means for a table with this many rows.

A small table needs many passes in small batches and a firm hand against overfitting, a large one
few passes in large batches and almost none. Between, everything moves with the logarithm of the
number of rows.
"""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Defaults:
    """The values that "auto" stands for."""

    hidden_layer_sizes: tuple[int, ...]
    dropout: float
    max_epochs: int
    batch_size: int
    learning_rate: float
    weight_decay: float


def defaults_for(n_rows: int) -> Defaults:
    """Return the defaults for a training table.

    Examples
    --------
    >>> defaults_for(200_000).batch_size
    512
    """
    batch_size = _clamp(2 ** round(math.log2(max(1, n_rows) / 400)), 32, 1024)
    return Defaults(
        hidden_layer_sizes=(256, 128),
        dropout=0.0 if n_rows >= 100_000 else 0.1,
        max_epochs=round(_clamp(10 * (200_000 / n_rows) ** 0.4, 5, 100)),
        batch_size=batch_size,
        learning_rate=1e-2,
        weight_decay=0.1,
    )


def _clamp(value: float, low: int, high: int) -> int:
    return int(max(low, min(value, high)))
