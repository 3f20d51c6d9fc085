"""Blocks -> the rows that a network reads, kept in memory or on disk."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np
import torch

from catspace.data.labels import Block
from catspace.data.target import ClassTarget
from catspace.exceptions import CatspaceError, InputError
from catspace.preparation.learning import Learned, Weigher
from catspace.preparation.rows import CachedRows, Rows, RowSource, pack_rows
from catspace.preparation.tables import BLOCK_ROWS, LabelledBlocks, OneBlock
from catspace.storage.cache import RowCache, record_type, smallest_integer

# Each block is looked up in the vocabularies; it should not be much shorter than they are.
_LOOKUPS_PER_ROW = 4
# Rows of the cache that are shuffled together: a million and more for a table of ten columns.
PART_BYTES = 1 << 24


@dataclass(frozen=True)
class RowEncoding:
    """How a block becomes the rows that a network reads."""

    learned: Learned
    weigher: Weigher | None = None  # None where all rows weigh the same

    @property
    def n_codes(self) -> tuple[int, ...]:
        """The number of codes of each categorical column."""
        return self.learned.encoder.n_codes

    @property
    def record(self) -> np.dtype:
        """The layout of a row on disk."""
        target = self.learned.target
        return record_type(
            self.n_codes,
            len(self.learned.encoder.number_names),
            smallest_integer(target.n_outputs)
            if isinstance(target, ClassTarget)
            else np.dtype((np.float32, (target.n_columns,))),
            is_weighted=self.weigher is not None,
        )

    def encode(self, block: Block) -> Rows:
        """Return the rows of a block."""
        encoded = self.learned.encoder.encode(block.table)
        target = self.learned.target.encode(block.y)
        weight = None
        if self.weigher is not None:
            weight = torch.from_numpy(self.weigher.weigh(target, block.weight))
        return Rows(
            torch.from_numpy(encoded.codes),
            torch.from_numpy(encoded.numbers),
            torch.from_numpy(target),
            weight,
        )

    def pack(self, block: Block) -> np.ndarray:
        """Return the rows of a block as records."""
        return pack_rows(self.encode(block), self.record)

    def records(self, blocks: LabelledBlocks) -> Iterator[np.ndarray]:
        """Yield the rows of all blocks as records; the last pass over a table in files."""
        block_rows = max(BLOCK_ROWS, max(self.n_codes, default=0) // _LOOKUPS_PER_ROW)
        try:
            for block in blocks.read(block_rows):
                yield self.pack(block)
        except CatspaceError:
            blocks.source.check_unchanged()  # which explains it better
            raise
        blocks.source.check_unchanged()


class HoldBack:
    """Chooses rows to hold back, so many of all that come, block by block.

    Parameters
    ----------
    n_wanted, n_samples : int
        How many rows to hold back, and of how many.
    random : RandomState
    """

    def __init__(self, n_wanted: int, n_samples: int, random: np.random.RandomState) -> None:
        self.n_wanted, self._n_left, self._random = n_wanted, n_samples, random

    def choose(self, n_here: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the positions of the rows of a block that are held back, and of the others."""
        n_chosen = min(self.n_wanted, n_here)
        if self._n_left > n_here:  # otherwise it is the last block, which has all that are left
            n_others = self._n_left - self.n_wanted
            n_chosen = int(self._random.hypergeometric(self.n_wanted, n_others, n_here))
        self._n_left -= n_here
        self.n_wanted -= n_chosen
        order = self._random.permutation(n_here)
        return order[:n_chosen], order[n_chosen:]


def keep_rows(
    table: OneBlock | LabelledBlocks,
    encoding: RowEncoding,
    stack: ExitStack,
    *,
    n_samples: int | None = None,
    hold_back: HoldBack | None = None,
) -> tuple[RowSource, RowSource | None]:
    """Encode a table: rows in memory stay there, those of files go to a cache on disk.

    Parameters
    ----------
    table : OneBlock or LabelledBlocks
    encoding : RowEncoding
    stack : ExitStack
        Closes the cache, which removes it.
    n_samples, hold_back
        As in `fill_caches`.

    Returns
    -------
    rows, held_back : RowSource
        None for those held back where there are none.
    """
    if isinstance(table, LabelledBlocks):
        return fill_caches(
            stack,
            encoding.records(table),
            encoding.record,
            encoding.n_codes,
            n_samples=n_samples,
            hold_back=hold_back,
        )
    rows = encoding.encode(table.block)
    if hold_back is None:
        return rows, None
    held_back, used = (torch.from_numpy(chosen) for chosen in hold_back.choose(len(rows)))
    return rows.take(used), rows.take(held_back)


def fill_caches(
    stack: ExitStack,
    all_records: Iterable[np.ndarray],
    record: np.dtype,
    n_codes: Sequence[int],
    *,
    n_samples: int | None = None,
    hold_back: HoldBack | None = None,
) -> tuple[CachedRows, CachedRows | None]:
    """Write encoded rows to disk, for each epoch to read.

    Parameters
    ----------
    stack : ExitStack
        Closes the caches, which removes them.
    all_records : iterable of structured arrays of shape (n_samples,)
        As `RowEncoding` makes them.
    record : dtype
        Their layout.
    n_codes : sequence of int
        The number of codes of each categorical column.
    n_samples : int, optional
        How many rows are to come, where that is known.
    hold_back : HoldBack, optional
        Chooses rows that are kept apart, for validation; the number of rows must be known then.

    Returns
    -------
    rows, held_back : CachedRows
        None for those held back where there are none.
    """
    n_held_back = 0 if hold_back is None else hold_back.n_wanted
    n_used = None if n_samples is None else n_samples - n_held_back
    used = stack.enter_context(RowCache(record, n_used, PART_BYTES))
    held_back = stack.enter_context(RowCache(record, n_held_back, PART_BYTES))
    counts = [np.zeros(n, dtype=np.int64) for n in n_codes]
    n_done = 0
    for records in all_records:
        n_done += len(records)
        if n_samples is not None and n_done > n_samples:
            continue  # read on: the source may know what has happened to it
        if hold_back is not None:
            chosen, others = hold_back.choose(len(records))
            held_back.append(records[chosen])
            records = records[others]
        used.append(records)
        for i, count in enumerate(counts):
            count += np.bincount(records[f"code{i}"], minlength=len(count))
    if n_samples is not None and n_done != n_samples:
        raise InputError(f"The table had {n_samples} rows at first, and not any more.")
    return CachedRows(used, counts), CachedRows(held_back, counts) if n_held_back else None
