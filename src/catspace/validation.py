"""Values that people pass: within their bounds, or a sentence that says what they may be."""

import math
from collections.abc import Collection, Iterable
from numbers import Real
from typing import Any

import numpy as np

from catspace.exceptions import ParameterError, did_you_mean


def check_option(name: str, value: Any, options: Iterable[str]) -> str:
    """Return one of the options, or say what they are."""
    if isinstance(value, str) and value in options:
        return value
    shown = ", ".join(f'"{option}"' for option in options)
    raise ParameterError(
        f"{name} must be one of {shown}; got {value!r}.{did_you_mean(value, options)}"
    )


def check_int(name: str, value: Any) -> int:
    """Return a positive int."""
    if is_count(value):
        return int(value)
    raise ParameterError(f"{name} must be a positive int; got {value!r}.")


def check_real(
    name: str,
    value: Any,
    *,
    above: float | None = None,
    at_least: float | None = None,
    below: float | None = None,
) -> float:
    """Return a number within its bounds."""
    is_number = (
        isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(float(value))
    )
    if (
        is_number
        and (above is None or value > above)
        and (at_least is None or value >= at_least)
        and (below is None or value < below)
    ):
        return float(value)
    bounds = [("above", above), ("at least", at_least), ("below", below)]
    wanted = " and ".join(f"{word} {bound:g}" for word, bound in bounds if bound is not None)
    raise ParameterError(f"{name} must be a number {wanted}; got {value!r}.")


def check_seed(name: str, value: int) -> None:
    """Raise where a number is none that scikit-learn takes for a seed."""
    if not 0 <= value < 2**32:
        raise ParameterError(f"{name} must be an int from 0 to {2**32 - 1}; got {value}.")


def is_integer(value: Any) -> bool:
    """Whether a value is an int, of Python or numpy."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def is_count(value: Any) -> bool:
    """Whether a value is a positive int."""
    return is_integer(value) and int(value) >= 1


def check_column_names(
    parameter: str, names: Iterable[Any], columns: Collection[str], a_column: str = "a column"
) -> None:
    """Raise where a parameter names something that is not one of the columns."""
    for name in names:
        if name not in columns:
            raise ParameterError(
                f"{parameter} names {name!r}, which is not {a_column}.{did_you_mean(name, columns)}"
            )
