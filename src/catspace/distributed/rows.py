"""Encoded rows in the memory of a cluster, and the shares of them that workers read."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import ray
import ray.data

from catspace.distributed.nodes import alive_nodes

_ROW = "row"
_PATIENCE_SECONDS = 5


@dataclass(frozen=True)
class EncodedRows:
    """Rows as networks read them, in the memory of a cluster."""

    dataset: "ray.data.Dataset"  # which has been computed
    record: np.dtype  # the layout of a row
    nodes: frozenset[str]  # that may hold some of them

    def __len__(self) -> int:
        return int(self.dataset.count())

    def share(self, n_parts: int) -> list["Share"]:
        """Cut the rows into parts of even size."""
        bounds = np.linspace(0, len(self), n_parts + 1).astype(int).tolist()
        parts = self.dataset.split_at_indices(bounds[1:-1]) if n_parts > 1 else [self.dataset]
        return [
            Share(part.to_arrow_refs(), end - begin, self.record, self.nodes)
            for part, begin, end in zip(parts, bounds, bounds[1:], strict=False)
        ]


@dataclass(frozen=True)
class Share:
    """The rows of one worker."""

    blocks: Sequence["ray.ObjectRef[pa.Table]"]  # where they are
    n_rows: int
    record: np.dtype
    nodes: frozenset[str]  # that may hold some of them

    @property
    def is_at_risk(self) -> bool:
        """Whether some of the rows may have been on a node that is gone."""
        return not self.nodes <= alive_nodes()

    def read(self) -> Iterator[np.ndarray]:
        """Yield the rows, one block after the other."""
        for reference in self.blocks:
            # Ray makes lost blocks again when it has a CPU for that, and the workers may hold all
            # that there are.
            while not ray.wait([reference], timeout=_PATIENCE_SECONDS)[0]:
                if self.is_at_risk:
                    raise RuntimeError("rows were on a node that is gone")
            yield _from_arrow(ray.get(reference), self.record)


class SharedRows:
    """The rows of several tables, each cut into shares, and made again where a node was lost.

    Parameters
    ----------
    make : sequence of callables
        One for each table, which returns its rows.
    n_parts : int
    """

    def __init__(self, make: Sequence[Callable[[], EncodedRows]], n_parts: int) -> None:
        self._make, self._n_parts = make, n_parts
        self._tables: list[list[Share]] = []

    def shares(self) -> list[list[Share]]:
        """Return the shares of each table; all of the rows were there a moment ago."""
        if any(share.is_at_risk for shares in self._tables for share in shares):
            self._tables = []  # so that Ray need not keep what is left of them
        if not self._tables:
            self._tables = [make().share(self._n_parts) for make in self._make]
        return self._tables


def to_arrow(records: np.ndarray) -> pa.Table:
    """Return rows as one column of bytes, which Ray moves about without looking at them."""
    type_ = pa.binary(records.dtype.itemsize)
    data = pa.py_buffer(records.tobytes())
    return pa.table({_ROW: pa.FixedSizeBinaryArray.from_buffers(type_, len(records), [None, data])})


def _from_arrow(table: pa.Table, record: np.dtype) -> np.ndarray:
    parts = [np.empty(0, dtype=record)]
    for chunk in table[_ROW].chunks:
        _, data = chunk.buffers()
        rows = np.frombuffer(data, dtype=record)
        parts.append(rows[chunk.offset : chunk.offset + len(chunk)])
    return np.concatenate(parts)
