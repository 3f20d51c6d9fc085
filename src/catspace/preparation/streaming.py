"""Tables larger than memory -> rows that networks train from, in two passes over the files.

The first pass learns what `catspace.data.statistics` knows: vocabularies, scales, the target. The
second encodes each block and appends it to a cache on disk, which every epoch reads.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
import pyarrow as pa
from sklearn.utils import compute_sample_weight

from catspace.data.binning import make_bins
from catspace.data.bins import Bins
from catspace.data.encoding import Plan, TableEncoder
from catspace.data.schema import Schema, check_weights_of_block, no_weight
from catspace.data.statistics import Block, RowSample, TableStatistics, TargetStatistics
from catspace.data.table import Column, Table, read_vector
from catspace.data.target import ClassTarget, RegressionTarget
from catspace.exceptions import CatspaceError, InputError
from catspace.preparation.rows import CachedRows
from catspace.storage.blocks import BlockSource
from catspace.storage.cache import RowCache, record_type, smallest_integer

BLOCK_ROWS = 100_000
# Each block is looked up in the vocabularies; it should not be much shorter than they are.
_LOOKUPS_PER_ROW = 4
# Of quantiles. The standard error of a median of so many rows is 0.3 % of a standard deviation.
SAMPLE_ROWS = 200_000
# Rows of the cache that are shuffled together: a million and more for a table of ten columns.
PART_BYTES = 1 << 24


@dataclass(frozen=True)
class Labels:
    """Which columns of a table are no features.

    Attributes
    ----------
    target : str
    weight : str or None
        Rows of weight zero are left out.
    schema : Schema or None
        The columns that the features must have, where a model knows them already.
    """

    target: str
    weight: str | None = None
    schema: Schema | None = None

    def split(self, whole: Table, first_row: int | None) -> Block | None:
        """Return the rows of a block with what belongs to them; None where there are none."""
        table, target, column = self._pop(whole)
        y = read_vector(target, "target")
        weight = None
        if column is not None:
            weight = check_weights_of_block(column, table.n_rows, first_row=first_row)
            present = np.flatnonzero(weight)
            table, y, weight = table.take(present), y[present], weight[present]
        return Block(table, y, weight, first_row) if table.n_rows else None

    def features(self, columns: Table) -> Table:
        """Return the columns that are features."""
        return self._pop(columns)[0]

    def _pop(self, table: Table) -> tuple[Table, Column, Column | None]:
        table, target = table.pop(self.target)
        weight = None
        if self.weight is not None:
            table, weight = table.pop(self.weight, "sample_weight")
        if self.schema is not None:
            table = self.schema.conform(table, "the model", is_file=True)
        return table, target, weight


class Statistics(Protocol):
    """What is known about some blocks; it is added to what is known about others."""

    def add(self, block: Block) -> None:
        """Learn from some rows."""

    def merge(self, other: Any) -> None:
        """Add what was learned elsewhere."""


_S = TypeVar("_S", bound=Statistics)


class LabelledTable(Protocol):
    """A table in blocks, wherever they are, of which some columns are no features."""

    @property
    def labels(self) -> Labels:
        """Which columns are no features."""

    @property
    def columns(self) -> Table:
        """The features with their types, and without rows."""

    def learn(self, make: Callable[[int], _S]) -> _S:
        """Return the statistics of all blocks; ``make(seed)`` returns those of none."""


@dataclass(frozen=True)
class LabelledBlocks:
    """A table in blocks that are read here, one after the other.

    Attributes
    ----------
    source : BlockSource
    labels : Labels
    """

    source: BlockSource
    labels: Labels

    @property
    def columns(self) -> Table:
        """The features with their types, and without rows."""
        return self.labels.features(self.source.columns)

    def read(self, rows: int) -> Iterator[Block]:
        """Yield the rows in order, about so many at a time."""
        first_row = 0
        for whole in self.source.blocks(rows):
            block = self.labels.split(whole, first_row)
            if block is not None:
                yield block
            first_row += whole.n_rows

    def learn(self, make: Callable[[int], _S]) -> _S:
        """Return the statistics of all blocks."""
        statistics = make(0)
        for block in self.read(BLOCK_ROWS):
            statistics.add(block)
        self.source.check_unchanged()
        return statistics


class BinStatistics:
    """What the bins of ``discretize`` are made of, learned block by block.

    Parameters
    ----------
    discretize : mapping of column to int, "quantile" or "tree"
    target : TargetStatistics
    seed : int
        Of the sample of rows.
    """

    def __init__(
        self, discretize: Mapping[str, Any], target: TargetStatistics, *, seed: int = 0
    ) -> None:
        self._discretize, self._target = discretize, target
        self._sample = RowSample(SAMPLE_ROWS, seed=seed)

    def add(self, block: Block) -> None:
        """Learn from some rows."""
        self._target.add(block.y, None, block.first_row)
        columns = block.table.select(list(self._discretize)).columns
        self._sample.add(np.stack([column.to_numbers() for column in columns], axis=1), block.y)

    def merge(self, other: "BinStatistics") -> None:
        """Add what was learned elsewhere."""
        self._target.merge(other._target)
        self._sample.merge(other._sample)

    def bins(self) -> Mapping[str, Bins]:
        """Return the bins of each column."""
        sample = self._sample
        if sample.n_seen == 0:
            return {}
        columns = tuple(
            Column(name, ((None, pa.array(values, from_pandas=True)),), len(values))
            for name, values in zip(self._discretize, sample.numbers.T, strict=True)
        )
        return make_bins(
            self._discretize,
            Table(columns, len(sample.target), "pyarrow", named=True),
            sample.target,
            is_classification=isinstance(self._target.target(), ClassTarget),
        )


def learn_statistics(
    table: LabelledTable,
    target_kind: str,
    transform: str | None,
    *,
    discretize: Any,
    **options: Any,
) -> TableStatistics:
    """Return what there is to know about a table; the first pass.

    Where columns are to be cut into bins, their edges must be known first: one more pass. What
    each column is used as, is up to the options of `Plan.of`.
    """
    columns, bins = table.columns, None

    def target() -> TargetStatistics:
        return TargetStatistics(target_kind, transform)

    if make_bins(discretize, columns, np.empty(0), is_classification=False):
        bins = table.learn(lambda seed: BinStatistics(discretize, target(), seed=seed)).bins()
    plan = Plan.of(columns, bins=bins, **options)
    statistics = table.learn(
        lambda seed: TableStatistics(columns, plan, target(), sample_rows=SAMPLE_ROWS, seed=seed)
    )
    if statistics.n_rows == 0 and table.labels.weight is not None:
        raise no_weight()
    return statistics


@dataclass(frozen=True)
class RowEncoding:
    """How a block becomes the rows that a network reads.

    Attributes
    ----------
    encoder : TableEncoder
    target : RegressionTarget or ClassTarget
    weigh : callable or None
        Maps the target and the weight of a block to weights that have a mean of one over all
        blocks; None where all rows weigh the same.
    """

    encoder: TableEncoder
    target: RegressionTarget | ClassTarget
    weigh: Callable[[np.ndarray, np.ndarray | None], np.ndarray] | None = None

    @property
    def n_codes(self) -> list[int]:
        """The number of codes of each categorical column."""
        return [vocabulary.n_rows for vocabulary in self.encoder.vocabularies.values()]

    @property
    def record(self) -> np.dtype:
        """The layout of a row."""
        n_outputs = self.target.n_outputs
        is_class = isinstance(self.target, ClassTarget)
        return record_type(
            self.n_codes,
            len(self.encoder.number_names),
            smallest_integer(n_outputs) if is_class else np.dtype((np.float32, (n_outputs,))),
            is_weighted=self.weigh is not None,
        )

    def encode(self, block: Block) -> np.ndarray:
        """Return the rows of a block; a structured array of shape (n_rows,)."""
        encoded = self.encoder.encode(block.table)
        records = np.empty(len(block.y), dtype=self.record)
        for i, codes in enumerate(encoded.codes):
            records[f"code{i}"] = codes
        records["numbers"] = encoded.numbers
        records["target"] = self.target.encode(block.y)
        if self.weigh is not None:
            records["weight"] = self.weigh(block.y, block.weight)
        return records

    def encode_all(self, blocks: LabelledBlocks) -> Iterator[np.ndarray]:
        """Yield the rows of all blocks; the second pass over a table."""
        block_rows = max(BLOCK_ROWS, max(self.n_codes, default=0) // _LOOKUPS_PER_ROW)
        try:
            for block in blocks.read(block_rows):
                yield self.encode(block)
        except CatspaceError:
            blocks.source.check_unchanged()  # which explains it better
            raise
        blocks.source.check_unchanged()


def fill_caches(
    stack: ExitStack,
    all_records: Iterable[np.ndarray],
    record: np.dtype,
    n_codes: Sequence[int],
    *,
    numbers: np.ndarray,
    n_rows: int | None = None,
    n_held_back: int = 0,
    random: np.random.RandomState | None = None,
) -> tuple[CachedRows, CachedRows | None]:
    """Write encoded rows to disk, for each epoch to read.

    Parameters
    ----------
    stack : ExitStack
        Closes the caches, which removes them.
    all_records : iterable of structured arrays of shape (n_rows,)
        As `RowEncoding` makes them.
    record : dtype
        Their layout.
    n_codes : sequence of int
        The number of codes of each categorical column.
    numbers : float32 array of shape (n_sampled, n_numbers)
        Those of a sample of the rows.
    n_rows : int, optional
        How many rows are to come, where that is known.
    n_held_back : int
        How many rows to hold back for validation.
    random : RandomState
        Chooses those.

    Returns
    -------
    rows, held_back : CachedRows
        None for those held back where there are none.
    """
    n_used = None if n_rows is None else n_rows - n_held_back
    used = stack.enter_context(RowCache(record, n_used, PART_BYTES))
    held_back = stack.enter_context(RowCache(record, n_held_back, PART_BYTES))
    counts = [np.zeros(n, dtype=np.int64) for n in n_codes]
    n_done = 0
    for records in all_records:
        n_done += len(records)
        if n_rows is not None and n_done > n_rows:
            continue  # read on: the source may know what has happened to it
        if n_held_back and n_rows is not None and random is not None:
            n_wanted = n_held_back - len(held_back)
            n_after = n_rows - n_done
            is_held_back = _draw_some(len(records), n_after, n_wanted, random)
            held_back.append(records[is_held_back])
            records = records[~is_held_back]
        used.append(records)
        for i, count in enumerate(counts):
            count += np.bincount(records[f"code{i}"], minlength=len(count))
    if n_rows is not None and n_done != n_rows:
        raise InputError(f"The table had {n_rows} rows at first, and not any more.")
    rows = CachedRows(used, counts, numbers)
    return rows, CachedRows(held_back, counts, numbers) if n_held_back else None


def _draw_some(
    n_here: int, n_after: int, n_wanted: int, random: np.random.RandomState
) -> np.ndarray:
    """Return which rows of a block are among those wanted from it and from all that follow."""
    n_chosen = int(random.hypergeometric(n_wanted, n_here + n_after - n_wanted, n_here))
    is_chosen = np.zeros(n_here, dtype=bool)
    is_chosen[random.permutation(n_here)[:n_chosen]] = True
    return is_chosen


def make_weigher(
    class_weight: Any, statistics: TargetStatistics, *, is_weighted: bool
) -> Callable[[np.ndarray, np.ndarray | None], np.ndarray] | None:
    """Return what `RowEncoding` weighs rows by: their own weights, and those of their classes."""
    target = statistics.target()
    by_class = None
    if class_weight is not None and isinstance(target, ClassTarget):
        counts = statistics.class_counts
        if isinstance(class_weight, str) and class_weight == "balanced":
            by_class = counts.sum() / (len(counts) * counts)
        else:
            by_class = compute_sample_weight(class_weight, target.classes)
    if by_class is None and not is_weighted:
        return None
    weight_sum = statistics.weight_sum
    if by_class is not None:
        weight_sum = float(by_class @ statistics.class_weight_sums)
    mean = weight_sum / statistics.n_rows

    def weigh(y: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
        weights = np.ones(len(y)) if weight is None else weight
        if by_class is not None:
            weights = weights * by_class[target.encode(y)]
        return np.asarray(weights / mean)

    return weigh
