"""Tables in Ray Data: what they hold, learned block by block, and encoded."""

import pickle
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import ray
import ray.data

from catspace.data.labels import Block, Labels
from catspace.data.reading import read_table
from catspace.data.table import Table
from catspace.distributed.nodes import alive_nodes
from catspace.distributed.rows import EncodedRows, to_arrow
from catspace.exceptions import InputError, InputTypeError
from catspace.preparation.encoding import RowEncoding
from catspace.preparation.tables import BLOCK_ROWS, Statistics
from catspace.storage.blocks import FileBlocks, check_block
from catspace.storage.files import DataFile, is_parquet

_STATISTICS = "statistics"
_PIECE_ROWS = 500_000  # of a file, for one task


_S = TypeVar("_S", bound=Statistics)


@dataclass(frozen=True)
class ClusterTable:
    """A table that Ray Data reads, of which some columns are no features."""

    dataset: "ray.data.Dataset"
    schema: pa.Schema  # the names and the types of all columns
    labels: Labels
    files: FileBlocks | None = None  # the files, where it is read from such
    n_in_memory = 0

    @property
    def is_weighted(self) -> bool:
        """Whether rows have weights."""
        return self.labels.weight is not None

    @classmethod
    def open(cls, source: Any, labels: Labels) -> "ClusterTable":
        """Return the table that a dataset, a path, a pattern, a folder or a URI stands for."""
        dataset = open_dataset(source)
        if isinstance(dataset, FileBlocks):
            return cls(read_files(dataset.files), dataset.schema, labels, dataset)
        return cls(dataset, _schema_of(dataset), labels)

    @property
    def columns(self) -> Table:
        """The features with their types, and without rows."""
        return self.labels.features(read_table(self.schema.empty_table()))

    def learn(self, make: Callable[[int], _S]) -> _S:
        """Return the statistics of all blocks, each learned where it is and merged here."""
        schema, labels = self.schema, self.labels

        def learn_block(arrow: pa.Table) -> pa.Table:
            block = _read_block(arrow, schema, labels)
            statistics = None
            if block is not None:
                # The seed must be the block's own, and the same every time.
                statistics = make(zlib.crc32(pickle.dumps(block.y)))
                statistics.add(block)
            return pa.table({_STATISTICS: pa.array([pickle.dumps(statistics)], pa.large_binary())})

        total = make(0)
        for row in self._map(learn_block).iter_rows():
            statistics = pickle.loads(row[_STATISTICS])
            if statistics is not None:
                total.merge(statistics)
        self._check_unchanged()
        return total

    def encode(self, encoding: RowEncoding) -> EncodedRows:
        """Return the rows as networks read them, in the memory of the cluster."""
        schema, labels, shared = self.schema, self.labels, ray.put(encoding)

        def encode_block(arrow: pa.Table) -> pa.Table:
            encoding = ray.get(shared)
            block = _read_block(arrow, schema, labels)
            records = np.empty(0, encoding.record) if block is None else encoding.pack(block)
            return to_arrow(records)

        before = alive_nodes()
        dataset = self._map(encode_block).materialize()
        rows = EncodedRows(dataset, encoding.record, before | alive_nodes())
        self._check_unchanged()
        return rows

    def _map(self, function: Callable[[pa.Table], pa.Table]) -> "ray.data.Dataset":
        return self.dataset.map_batches(function, batch_size=BLOCK_ROWS, batch_format="pyarrow")

    def _check_unchanged(self) -> None:
        if self.files is not None:
            self.files.check_unchanged()


def open_dataset(source: Any) -> "ray.data.Dataset | FileBlocks":
    """Return what Ray Data reads, or the files that a path stands for."""
    if isinstance(source, (ray.data.Dataset, FileBlocks)):
        return source
    if isinstance(source, str) and "://" in source:  # a cloud, which Ray knows how to read
        return ray.data.read_parquet(source) if is_parquet(source) else ray.data.read_csv(source)
    if isinstance(source, (str, Path)):
        return FileBlocks(source)
    raise InputTypeError(
        f"A table for a cluster is a ray.data.Dataset, or the path of CSV or Parquet files; "
        f"got {type(source).__name__}.",
        hint="ray.data.from_pandas and ray.data.from_arrow make a dataset of a frame.",
    )


def paths_of(source: "ray.data.Dataset | FileBlocks | None") -> list[Path]:
    """Return the files that nodes are to read by themselves; none where Ray reads."""
    return [file.path.absolute() for file in source.files] if isinstance(source, FileBlocks) else []


def _schema_of(dataset: "ray.data.Dataset") -> pa.Schema:
    schema = dataset.schema()
    if schema is None:
        raise InputError("The table has no columns or no rows.")
    if isinstance(schema.base_schema, pa.Schema):
        return schema.base_schema
    # Frames of pandas, whose types only their values tell.
    batches: Any = dataset.iter_batches(batch_format="pyarrow", batch_size=BLOCK_ROWS)
    return next(iter(batches)).schema


def read_files(files: Sequence[DataFile]) -> "ray.data.Dataset":
    """Return the rows of files, which Ray Data lets catspace read, piece by piece on all nodes."""

    def read(batch: Any) -> Iterator[pa.Table]:
        for packed in batch["piece"]:
            yield from pickle.loads(packed).blocks(BLOCK_ROWS)

    pieces = [
        {"piece": pickle.dumps(replace(piece, path=piece.path.absolute()))}
        for file in files
        for piece in file.pieces(_PIECE_ROWS)
    ]
    return ray.data.from_items(pieces, override_num_blocks=len(pieces)).map_batches(read)


def _read_block(arrow: pa.Table, schema: pa.Schema, labels: Labels) -> Block | None:
    """Return the rows of a block; None where there are none."""
    check_block(arrow.schema, schema)
    if arrow.num_rows == 0:
        return None
    block = labels.split(read_table(arrow.select(schema.names)), None)
    return block if len(block.y) else None
