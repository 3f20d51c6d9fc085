"""Predictions and vectors for files of any size, block by block."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from catspace.data.table import Table
from catspace.exceptions import InputError
from catspace.export.columns import answer, check_answerable
from catspace.storage.blocks import FileBlocks, Kinds
from catspace.storage.files import standard_input
from catspace.storage.sinks import TableSink

_BLOCK_ROWS = 100_000


def score_files(
    model: Any, source: str, out: str, *, what: str = "predict", probabilities: bool = False
) -> int:
    """Write the rows of files with predictions or vectors beside them.

    Parameters
    ----------
    model : fitted estimator
    source : str
        A file, a pattern, a folder, or ``-`` for CSV from standard input.
    out : str
        A CSV or Parquet file, or ``-`` for CSV on standard output.
    what : {"predict", "transform"}
    probabilities : bool
        Whether a classifier's probabilities stand beside its predictions.

    Returns
    -------
    int
        The number of rows.
    """
    check_answerable(model, what, probabilities=probabilities)
    n_rows = 0
    with TableSink(out) as sink:
        for block, table in read_blocks(source, model.fitted_.learned.encoder.kinds):
            sink.write(answer(model, block, table, what, probabilities=probabilities))
            n_rows += block.num_rows
        if n_rows == 0:
            raise InputError(f"{source!r} has no rows.")
    return n_rows


def read_blocks(source: str, kinds: Kinds) -> Iterator[tuple[pa.Table, Table]]:
    """Yield the rows of all files, as they are there and as the model reads them."""
    if source == "-":
        with standard_input() as path:
            yield from FileBlocks(path, kinds=kinds).pairs(_BLOCK_ROWS)
    else:
        yield from FileBlocks(source, kinds=kinds).pairs(_BLOCK_ROWS)
