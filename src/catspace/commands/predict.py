"""Predictions and vectors for files of any size, block by block."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from catspace.exceptions import InputError
from catspace.export.columns import answer, check_answerable
from catspace.storage.files import find_files, is_parquet, standard_input, stream_file
from catspace.storage.sinks import TableSink


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
        for block, is_text in _blocks(source):
            if block.num_rows == 0:
                continue
            block = answer(model, block, what, probabilities=probabilities, is_text=is_text)
            sink.write(block)
            n_rows += block.num_rows
        if n_rows == 0:
            raise InputError(f"{source!r} has no rows.")
    return n_rows


def _blocks(source: str) -> Iterator[tuple[pa.Table, bool]]:
    """Yield blocks of all files, and whether their cells are text."""
    if source == "-":
        with standard_input() as path:
            yield from ((block, True) for block in stream_file(path))
        return
    for path in find_files(source):
        yield from ((block, not is_parquet(path)) for block in stream_file(path))
