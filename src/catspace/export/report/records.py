"""Numbers and names in the form that the page takes: plain lists, five digits, no NaN."""

from typing import Any

import narwhals as nw
import numpy as np

Record = dict[str, Any]

LONGEST_NAME = 2_000  # characters; nobody reads further


def arrays_of(frame: Any) -> dict[str, np.ndarray]:
    """Return the columns of a frame of any kind."""
    columns = nw.from_native(frame, eager_only=True)
    return {name: columns[name].to_numpy() for name in columns.columns}


def names_of(values: Any) -> list[str]:
    """Return categories as text, as long as somebody may read."""
    return [str(value)[:LONGEST_NAME] for value in values]


def rounded(values: Any) -> Any:
    """Return numbers with five digits, as the page needs them; what is not known becomes None."""
    if isinstance(values, np.ndarray):
        return [rounded(value) for value in values.tolist()]
    if isinstance(values, list):
        return [rounded(value) for value in values]
    if values is None or not np.isfinite(values):
        return None
    return float(f"{values:.5g}")
