"""Columns -> a frame of the library that the user works with."""

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any, Protocol, cast

import narwhals as nw
import pyarrow as pa


class Frame(Protocol):
    """What the tables of pandas, polars and Arrow have in common, for editors and type checkers."""

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and of columns."""

    def __getitem__(self, column: str, /) -> Any: ...

    def __len__(self) -> int: ...


def make_frame(columns: Mapping[str, pa.Array], backend: str) -> Frame:
    """Return columns as a frame of the kind that the user works with.

    Arrays have no frame of their own: then it is the first library at hand, and an Arrow table
    where there is neither pandas nor polars.
    """
    table = pa.table(dict(columns))
    if backend != "pyarrow":
        for name in ("polars", "pandas") if backend == "polars" else ("pandas", "polars"):
            if find_spec(name) is not None:
                native: Frame = nw.from_arrow(table, backend=cast(Any, name)).to_native()
                return native
    return cast(Frame, table)
