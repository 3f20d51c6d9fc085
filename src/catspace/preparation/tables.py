"""Tables with their labels: one block in memory, many in files."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from catspace.data.labels import Block, Labels
from catspace.data.schema import Schema
from catspace.data.table import Table
from catspace.exceptions import InputError
from catspace.storage.blocks import BlockSource, Kinds, is_source, open_blocks, read_any
from catspace.storage.files import find_files
from catspace.storage.paths import expand

BLOCK_ROWS = 100_000


class Statistics(Protocol):
    """What is known about some blocks; it is added to what is known about others."""

    def add(self, block: Block) -> None:
        """Learn from some rows."""

    def merge(self, other: Any) -> None:
        """Add what was learned elsewhere."""


_S = TypeVar("_S", bound=Statistics)


class LabelledTable(Protocol):
    """A table in blocks, wherever they are, whose rows have labels."""

    @property
    def labels(self) -> Labels:
        """Which columns are no features."""

    @property
    def columns(self) -> Table:
        """The features with their names and types; rows do not matter."""

    @property
    def is_weighted(self) -> bool:
        """Whether rows have weights."""

    @property
    def n_in_memory(self) -> int:
        """How many rows are in memory already: all of them, or 0."""

    def learn(self, make: Callable[[int], _S]) -> _S:
        """Return the statistics of all blocks; ``make(seed)`` returns those of none."""


@dataclass(frozen=True)
class OneBlock:
    """A table in memory."""

    block: Block
    labels: Labels

    @property
    def columns(self) -> Table:
        """The features."""
        return self.block.table

    @property
    def is_weighted(self) -> bool:
        """Whether rows have weights."""
        return self.block.weight is not None

    @property
    def n_in_memory(self) -> int:
        """All rows."""
        return len(self.block.y)

    def learn(self, make: Callable[[int], _S]) -> _S:
        """Return the statistics of the block."""
        statistics = make(0)
        statistics.add(self.block)
        return statistics


@dataclass(frozen=True)
class LabelledBlocks:
    """A table in blocks that are read here, one after the other."""

    source: BlockSource
    labels: Labels
    n_in_memory = 0

    @property
    def is_weighted(self) -> bool:
        """Whether rows have weights."""
        return self.labels.weight is not None

    @property
    def columns(self) -> Table:
        """The features with their types, and without rows."""
        return self.labels.features(self.source.columns)

    def read(self, rows: int) -> Iterator[Block]:
        """Yield the rows in order, about so many at a time."""
        first_row = 0
        for whole in self.source.blocks(rows):
            block = self.labels.split(whole, first_row)
            if len(block.y):
                yield block
            first_row += whole.n_rows

    def learn(self, make: Callable[[int], _S]) -> _S:
        """Return the statistics of all blocks."""
        statistics = make(0)
        for block in self.read(BLOCK_ROWS):
            statistics.add(block)
        self.source.check_unchanged()
        return statistics


def open_labelled(
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    estimator: str,
    schema: Schema | None = None,
    kinds: Kinds | None = None,
) -> OneBlock | LabelledBlocks:
    """Return a table with its labels, wherever it is.

    Parameters
    ----------
    X : table, or files
    y, sample_weight : array-like, or str
        Arrays, or the names of columns of the table.
    estimator : str
        Its name, for messages.
    schema : Schema, optional
        The columns that the features must have, where a model knows them already.
    kinds : mapping of column to kinds of values, optional
        And what they hold, labels included.
    """
    if y is None:
        raise InputError(f"This {estimator} requires y to be passed, but the target y is None.")
    target = y if isinstance(y, str) else None
    weight = sample_weight if isinstance(sample_weight, str) else None
    if is_read_in_blocks(X, y, sample_weight):
        return LabelledBlocks(open_blocks(X, kinds), Labels(target, weight, schema))
    labels = Labels(target, weight)
    table, target_column, weight_column = labels.pop(read_any(X, kinds))
    if schema is not None:
        table = schema.conform(table, estimator, is_file=isinstance(X, (str, Path)))
    block = Block.of(
        table,
        y if target_column is None else target_column,
        sample_weight if weight_column is None else weight_column,
    )
    return OneBlock(block, labels)


def is_read_in_blocks(X: Any, y: Any, sample_weight: Any) -> bool:
    """Whether a table is in files, with all that belongs to it."""
    if not is_source(X):
        return False
    if isinstance(y, str) and (sample_weight is None or isinstance(sample_weight, str)):
        return True
    is_file = isinstance(X, (str, Path)) and not expand(X).is_dir()
    if is_file and len(find_files(X)) == 1:
        return False  # one file, with arrays beside it
    raise InputError(
        "Files that are read block by block need the names of their columns for y and "
        f"sample_weight; got {type(y).__name__} and {type(sample_weight).__name__}.",
        hint='fit("sales/*.parquet", y="sales")',
    )
