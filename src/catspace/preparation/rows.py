"""Where batches come from: rows in memory, or rows on disk that are shuffled part by part."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Protocol, TypeVar

import numpy as np
import torch
from torch import Tensor

from catspace.storage.cache import RowCache

_T = TypeVar("_T")

# Rows that are read at a time, where they are weighed or drawn from.
_BLOCK_ROWS = 1 << 16
# Rows that are changed at a time, before they are cut into batches.
_GROUP_ROWS = 1 << 15


class RowSource(Protocol):
    """Rows to train on, wherever they are."""

    def __len__(self) -> int:
        """Return the number of rows."""

    @property
    def n_bytes(self) -> int:
        """The memory that rows in the order of an epoch take at a time."""

    def to(self, device: torch.device) -> "RowSource":
        """Return the same rows, whose batches come on a device."""

    def shuffled(
        self, n_batches: int, generator: torch.Generator, change: "Change | None" = None
    ) -> Iterator["Rows"]:
        """Yield the batches of one epoch, of even size, in an order that the generator draws.

        Before rows are cut into batches they are changed, many at a time.
        """

    def in_order(self, n_rows: int) -> Iterator["Rows"]:
        """Yield all rows, so many at a time."""

    def count_codes(self, n_codes: Sequence[int]) -> list[Tensor]:
        """Return how often each code occurs in each column; tensors of shape (n_codes,)."""


@dataclass(frozen=True)
class Rows:
    """Rows that a network learns from, resident in memory."""

    codes: Tensor  # int of shape (n_columns, n_samples)
    numbers: Tensor  # float of shape (n_samples, n_numbers)
    target: Tensor  # of shape (n_samples, n_outputs), or (n_samples,) for classes
    weight: Tensor | None = None  # of shape (n_samples,), or None for equal weights
    # float of shape (n_samples, n_columns): see `catspace.model.evidence`
    rates: Tensor | None = None

    def __len__(self) -> int:
        return len(self.target)

    @property
    def n_bytes(self) -> int:
        """The memory that the rows take."""
        weight = 0 if self.weight is None else self.weight.nbytes
        return self.codes.nbytes + self.numbers.nbytes + self.target.nbytes + weight

    def take(self, index: Tensor | slice) -> "Rows":
        """Return some of the rows: views for a slice, copies for an index."""
        return Rows(
            self.codes[:, index],
            self.numbers[index],
            self.target[index],
            None if self.weight is None else self.weight[index],
            None if self.rates is None else self.rates[index],
        )

    def to(self, device: torch.device) -> "Rows":
        """Return the rows on a device."""
        weight = None if self.weight is None else self.weight.to(device)
        return Rows(self.codes.to(device), self.numbers.to(device), self.target.to(device), weight)

    def shuffled(
        self, n_batches: int, generator: torch.Generator, change: "Change | None" = None
    ) -> Iterator["Rows"]:
        """Yield the batches of one epoch, of even size, in an order that the generator draws."""
        order = torch.randperm(len(self), generator=generator).to(self.target.device)
        shuffled = self.take(order)
        bounds = even_bounds(len(self), n_batches)
        yield from cut_batches(lambda begin, end: shuffled.take(slice(begin, end)), bounds, change)

    def in_order(self, n_rows: int) -> Iterator["Rows"]:
        """Yield all rows, so many at a time."""
        for begin in range(0, len(self), n_rows):
            yield self.take(slice(begin, begin + n_rows))

    def count_codes(self, n_codes: Sequence[int]) -> list[Tensor]:
        """Return how often each code occurs in each column; tensors of shape (n_codes,)."""
        return [
            torch.bincount(code, minlength=n)
            for code, n in zip(self.codes.cpu(), n_codes, strict=True)
        ]


# What is done to rows before they are cut into batches.
Change = Callable[[Rows], Rows]


@dataclass(frozen=True)
class CachedRows:
    """Rows on disk, which are read anew in each epoch.

    An epoch draws an order of the parts of the cache, reads one after the other, draws an order of
    the rows in it, and cuts them into batches, while the next part is read on a thread. Each part
    is a sample of all rows. Where there is one part, the batches are those of the same rows in
    memory.
    """

    cache: RowCache
    counts: Sequence[np.ndarray]  # how often each code occurs in each column
    device: torch.device | None = None  # where batches go; by default they stay on the CPU

    def __len__(self) -> int:
        return len(self.cache)

    @property
    def n_bytes(self) -> int:
        """The memory that a part takes, which is shuffled as a whole."""
        return max(end - begin for begin, end in self.cache.parts) * self.cache.record.itemsize

    def to(self, device: torch.device) -> "CachedRows":
        """Return the same rows, whose batches come on a device."""
        return replace(self, device=device)

    def shuffled(
        self, n_batches: int, generator: torch.Generator, change: Change | None = None
    ) -> Iterator[Rows]:
        """Yield the batches of one epoch, of even size, in an order that the generator draws."""
        bounds = even_bounds(len(self), n_batches)
        for records, cuts in read_ahead(self._parts(bounds, generator)):

            def read(begin: int, end: int, records: np.ndarray = records) -> Rows:
                return self._to_rows(records[begin:end])

            yield from cut_batches(read, cuts, change)

    def in_order(self, n_rows: int) -> Iterator[Rows]:
        """Yield all rows, so many at a time."""
        for begin in range(0, len(self), n_rows):
            yield self._to_rows(self.cache.read(begin, min(begin + n_rows, len(self))))

    def count_codes(self, n_codes: Sequence[int]) -> list[Tensor]:
        """Return how often each code occurs in each column; tensors of shape (n_codes,)."""
        return [torch.from_numpy(count) for count in self.counts]

    def _parts(
        self, bounds: np.ndarray, generator: torch.Generator
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield records in random order, and where to cut them into batches."""
        parts = self.cache.parts
        if len(parts) > 1:
            order = torch.randperm(len(parts), generator=generator)
            parts = [parts[i] for i in order.tolist()]
        n_done, rest = 0, np.empty(0, dtype=self.cache.record)
        for begin, end in parts:
            records = np.concatenate([rest, self.cache.read(begin, end)])
            records = records[torch.randperm(len(records), generator=generator).numpy()]
            # What is left after the last full batch is shuffled into the next part.
            first, last = np.searchsorted(bounds, [n_done, n_done + len(records)], side="right")
            cuts = bounds[first - 1 : last] - n_done
            n_done, rest = n_done + cuts[-1], records[cuts[-1] :]
            yield records, cuts

    def _to_rows(self, records: np.ndarray) -> Rows:
        """Return records as tensors, which take three times their memory: some at a time."""
        rows = unpack_rows(records, len(self.counts))
        return rows if self.device is None else rows.to(self.device)


def cut_batches(
    read: Callable[[int, int], Rows], cuts: np.ndarray, change: Change | None
) -> Iterator[Rows]:
    """Yield the rows between cuts, which are read and changed many batches at a time."""
    first = 0
    while first < len(cuts) - 1:
        # As many batches as make a group, but at least one
        last = int(np.searchsorted(cuts, cuts[first] + _GROUP_ROWS, side="right")) - 1
        last = max(first + 1, last)
        group = read(int(cuts[first]), int(cuts[last]))
        group = group if change is None else change(group)
        for begin, end in pairwise((cuts[first : last + 1] - cuts[first]).tolist()):
            yield group.take(slice(begin, end))
        first = last


def sample_rows(rows: RowSource, n_most: int, random: np.random.RandomState) -> Rows:
    """Return all rows, or so many of them drawn at random; in memory, in the order they have."""
    chosen = np.arange(len(rows))
    if len(rows) > n_most:
        chosen = np.sort(random.choice(len(rows), size=n_most, replace=False))
    found, begin = list[Rows](), 0
    for block in rows.in_order(_BLOCK_ROWS):
        first, last = np.searchsorted(chosen, [begin, begin + len(block)])
        found.append(block.take(torch.from_numpy(chosen[first:last] - begin)))
        begin += len(block)
    return join_rows(found)


def join_rows(parts: Sequence[Rows]) -> Rows:
    """Return rows one part after the other."""
    weights = [part.weight for part in parts if part.weight is not None]
    return Rows(
        torch.cat([part.codes for part in parts], dim=1),
        torch.cat([part.numbers for part in parts]),
        torch.cat([part.target for part in parts]),
        torch.cat(weights) if weights else None,
    )


def weigh_codes(rows: RowSource, n_codes: Sequence[int]) -> list[Tensor]:
    """Return the sum of the weights of the rows that have each code; tensors of shape (n_codes,).

    Where all rows weigh the same that is their number.
    """
    sums = [torch.zeros(n, dtype=torch.float64) for n in n_codes]
    for block in rows.in_order(_BLOCK_ROWS):
        if block.weight is None:
            return rows.count_codes(n_codes)
        weight = block.weight.cpu().double()
        for total, code in zip(sums, block.codes.cpu(), strict=True):
            total += torch.bincount(code, weights=weight, minlength=len(total))
    return sums


def pack_rows(rows: Rows, record: np.dtype) -> np.ndarray:
    """Return rows as records, in the smallest types that hold them; shape (n_samples,)."""
    records = np.empty(len(rows), dtype=record)
    for i, codes in enumerate(rows.codes.numpy()):
        records[f"code{i}"] = codes
    records["numbers"] = rows.numbers.numpy()
    records["target"] = rows.target.numpy()
    if rows.weight is not None:
        records["weight"] = rows.weight.numpy()
    return records


def unpack_rows(records: np.ndarray, n_columns: int) -> Rows:
    """Return the rows that `pack_rows` made records of."""
    codes = np.empty((n_columns, len(records)), dtype=np.int32)
    for i in range(n_columns):
        codes[i] = records[f"code{i}"]
    target, weight = np.array(records["target"]), None
    if "weight" in (records.dtype.names or ()):
        weight = torch.from_numpy(np.array(records["weight"]))
    return Rows(
        torch.from_numpy(codes),
        torch.from_numpy(np.array(records["numbers"])),
        torch.from_numpy(target if target.dtype.kind == "f" else target.astype(np.int64)),
        weight,
    )


def even_bounds(n_rows: int, n_batches: int) -> np.ndarray:
    """Return where to cut rows into so many batches of even size."""
    return np.linspace(0, n_rows, n_batches + 1).astype(int)


def read_ahead(items: Iterator[_T]) -> Iterator[_T]:
    """Yield items, of which the next is made on a thread meanwhile."""
    with ThreadPoolExecutor(max_workers=1) as thread:
        ahead = thread.submit(next, items, None)
        while (item := ahead.result()) is not None:
            ahead = thread.submit(next, items, None)
            yield item
