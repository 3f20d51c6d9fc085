"""Encoded rows on disk, so that each epoch reads codes instead of parsing files again."""

import math
import mmap
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Self

import numpy as np

from catspace.exceptions import CatspaceError


def record_type(
    n_values: Sequence[int], n_numbers: int, target: np.dtype, *, is_weighted: bool
) -> np.dtype:
    """Return the layout of one row: codes, numbers, target and weight, side by side.

    Parameters
    ----------
    n_values : sequence of int
        The number of codes of each categorical column, which get the smallest type that holds
        them.
    n_numbers : int
    target : dtype
        Of the target of one row; several outputs are a subarray.
    is_weighted : bool

    Examples
    --------
    >>> record_type([7, 1115], 1, np.dtype("f4"), is_weighted=False).itemsize
    11
    """
    fields = [(f"code{i}", smallest_integer(n)) for i, n in enumerate(n_values)]
    fields += [("numbers", np.dtype((np.float32, (n_numbers,)))), ("target", target)]
    if is_weighted:
        fields.append(("weight", np.dtype(np.float32)))
    return np.dtype(fields)


def smallest_integer(n_values: int) -> np.dtype:
    """Return the smallest integer type that holds the codes 0 to n_values - 1."""
    for kind in (np.uint8, np.uint16):
        if n_values - 1 <= np.iinfo(kind).max:
            return np.dtype(kind)
    return np.dtype(np.int32)


class RowCache:
    """Rows in one temporary file; each block of rows is spread over all of its parts.

    Each part is a sample of all rows, whatever order they came in, and is read as a whole: what
    is shuffled within a part is shuffled well. A table that fits in one part keeps its order.

    The file is in the system's folder for such files (``TMPDIR``), and has no name there: it is
    gone as soon as it is closed, however the process ends.

    Parameters
    ----------
    record : dtype
        The layout of a row, see `record_type`.
    n_rows : int, optional
        How many rows are to come. Then it is seen first whether there is room for them; without
        it there is one part.
    part_bytes : int
        The most that a part may hold.
    """

    def __init__(self, record: np.dtype, n_rows: int | None, part_bytes: int) -> None:
        self.record, self._n_rows = record, 0
        folder = tempfile.gettempdir()
        needed, free = (n_rows or 0) * record.itemsize, shutil.disk_usage(folder).free
        if needed > free:
            raise _no_room(f"needs {_size(needed)} and there are {_size(free)} free", folder)
        n_parts = max(1, math.ceil(needed / part_bytes))
        sizes = [len(range(part, n_rows or 0, n_parts)) for part in range(n_parts)]
        self._starts = np.concatenate([[0], np.cumsum(sizes)])
        self._random = np.random.default_rng(0)
        self._file = tempfile.TemporaryFile(prefix="catspace-")  # noqa: SIM115

    def __len__(self) -> int:
        return self._n_rows

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def parts(self) -> list[tuple[int, int]]:
        """The first row of each part, and the first after it."""
        if len(self._starts) == 2:
            return [(0, len(self))]
        return list(pairwise(self._starts.tolist()))

    def append(self, records: np.ndarray) -> None:
        """Write rows behind those that are there."""
        n_parts = len(self._starts) - 1
        if n_parts > 1:  # otherwise a pattern in the rows could meet that of the parts
            records = records[self._random.permutation(len(records))]
        n_before, size = self._n_rows, self.record.itemsize
        try:
            for part, start in enumerate(self._starts[:-1].tolist()):
                share = records[(part - n_before) % n_parts :: n_parts]
                n_there = len(range(part, n_before, n_parts))
                self._file.seek((start + n_there) * size)
                self._file.write(np.ascontiguousarray(share).view(np.uint8).data)
            self._file.flush()
        except OSError as error:
            reason = f"cannot be written ({error.strerror or error})"
            raise _no_room(reason, tempfile.gettempdir()) from None
        self._n_rows += len(records)

    def read(self, begin: int, end: int) -> np.ndarray:
        """Return a copy of rows, in the order of the file; several threads may read at a time."""
        size = self.record.itemsize
        # The map is closed at once, so that what was read does not pile up in memory.
        start = begin * size // mmap.ALLOCATIONGRANULARITY * mmap.ALLOCATIONGRANULARITY
        with mmap.mmap(
            self._file.fileno(), end * size - start, access=mmap.ACCESS_READ, offset=start
        ) as mapped:
            return np.frombuffer(mapped[begin * size - start :], dtype=self.record)

    def close(self) -> None:
        """Remove the file."""
        with suppress(OSError):  # of a full disk: it has been said, and the rows go anyway
            self._file.close()


def _no_room(reason: str, folder: str) -> CatspaceError:
    return CatspaceError(
        f"The cache of encoded rows {reason} in {folder!r}.",
        hint="set TMPDIR to a folder with more room.",
    )


def _size(n_bytes: float) -> str:
    return f"{n_bytes / 1e9:.2f} GB" if n_bytes >= 1e8 else f"{n_bytes / 1e6:.2f} MB"
