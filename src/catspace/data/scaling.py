"""Columns of numbers -> the scale of the network."""

import sys
from dataclasses import dataclass

import numpy as np

from catspace.data.table import Column
from catspace.exceptions import InputError, in_row

# Below this a division would overflow.
_SMALLEST_SCALE = 1e-200
# Past this, the sum of a few squares is past all numbers.
LARGEST_SQUARED = 1e150
# Past this many robust standard deviations a number is bent towards a limit.
BEND = 3.0


@dataclass(frozen=True)
class Scaling:
    """How one column of numbers is brought to the scale of the network.

    The median goes to 0 and the middle half of the values to about ±0.67, as for a standard
    normal; what lies far out is bent smoothly towards ±3, so that one wild value cannot drown the
    column. Where half of the values are equal, the others lie about 1 from them: a flag that one
    row in a hundred carries is as far from the rest as one that every third row carries, and not
    several times as far, which would let it say most where it is known least. Missing values
    become 0, and where fit met any, an indicator stands beside the number.
    """

    centre: float
    scale: float
    has_missing: bool

    @classmethod
    def fit(cls, values: np.ndarray) -> "Scaling":
        """Learn centre and scale from float64 values of shape (n_samples,)."""
        present = values[~np.isnan(values)]
        if not len(present):
            return cls(0.0, 1.0, has_missing=True)
        unit = find_unit(present)
        low, centre, high = np.percentile(present / unit, [25, 50, 75])
        scale = (high - low) / 1.349
        if scale == 0:  # half of the values are equal, and the spread is in the others
            others = present[present / unit != centre] / unit
            scale = float(np.sqrt(np.mean(np.square(others - centre)))) if len(others) else 0.0
        scale = min(scale, sys.float_info.max / unit) * unit
        return cls(
            float(centre) * unit,
            float(scale) if scale > _SMALLEST_SCALE else 1.0,
            has_missing=len(present) < len(values),
        )

    @property
    def width(self) -> int:
        """How many numbers the network reads for one: itself, and whether it was missing."""
        return 1 + self.has_missing

    def apply(self, values: np.ndarray) -> np.ndarray:
        """Return the features of a column; shape (n_samples, width)."""
        missing = np.isnan(values)
        with np.errstate(over="ignore"):  # what is past all numbers is at the limit
            z = np.where(missing, 0.0, (values - self.centre) / self.scale)
        z = np.where(
            np.isinf(z), np.copysign(BEND, z), z / np.hypot(1, np.where(np.isinf(z), 0, z) / BEND)
        )
        return np.stack([z, missing] if self.has_missing else [z], axis=1).astype(np.float32)


def find_unit(values: np.ndarray) -> float:
    """Return what to divide numbers by, so that they can be subtracted, added and squared.

    It is 1 for all but numbers of a size that nothing in the world has; else a power of two, which
    changes no digit.
    """
    return 1.0 if np.abs(values).max(initial=0) <= LARGEST_SQUARED else 2.0**600


def finite_numbers(column: Column, *, first_row: int | None = 0) -> np.ndarray:
    """Return the values of a column of numbers, NaN where missing, or say where infinity is.

    Parameters
    ----------
    column : Column
    first_row : int or None
        Where the column begins in the whole table, if it is a block of one; None if that is not
        known.
    """
    values = column.to_numbers()
    if np.isinf(values).any():
        position = int(np.flatnonzero(np.isinf(values))[0])
        where = "" if first_row is None else f", first{in_row(first_row + position)}"
        raise InputError(
            f"Column {column.name!r} holds infinity{where}.",
            hint="replace it by a number, or by NaN where the value is not known.",
        )
    return values
