"""Predictions and vectors for tables of any size, on a cluster."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import ray
import ray.data
import torch
from ray.data import ActorPoolStrategy
from sklearn.utils.validation import check_is_fitted

from catspace.data.reading import read_table
from catspace.distributed.cluster import connect
from catspace.distributed.failures import plain_errors
from catspace.distributed.nodes import Needs
from catspace.distributed.tables import open_dataset, paths_of, read_files
from catspace.estimators.base import EmbeddingEstimator
from catspace.export.columns import answer, check_answerable
from catspace.storage.blocks import FileBlocks, Kinds, parse_table
from catspace.storage.files import find_files, is_parquet
from catspace.validation import check_int

_BATCH_ROWS = 50_000


def predict(
    estimator: EmbeddingEstimator,
    dataset: Any,
    *,
    probabilities: bool = False,
    num_workers: int = 2,
    use_gpu: bool = False,
) -> "ray.data.Dataset":
    """Return a dataset with a column ``prediction`` beside those that it has.

    Nothing is computed before the result is used: ``write_parquet`` streams it to files that may
    be larger than all memory.

    Parameters
    ----------
    estimator : fitted EmbeddingRegressor or EmbeddingClassifier
    dataset : ray.data.Dataset, str or Path
        As in `fit`. It may hold more columns than the estimator was fitted on. Those of CSV files
        come back as the text that stands there.
    probabilities : bool, default=False
        Whether a classifier's probabilities stand beside its predictions.
    num_workers : int, default=2
        How many processes compute at the same time.
    use_gpu : bool, default=False

    Returns
    -------
    ray.data.Dataset
    """
    return _score(estimator, dataset, "predict", probabilities, num_workers, use_gpu)


def transform(
    estimator: EmbeddingEstimator, dataset: Any, *, num_workers: int = 2, use_gpu: bool = False
) -> "ray.data.Dataset":
    """Return a dataset with the vectors of each row beside its columns: ``store_0``, ….

    Parameters
    ----------
    estimator : fitted estimator
    dataset : ray.data.Dataset, str or Path
    num_workers : int, default=2
    use_gpu : bool, default=False

    Returns
    -------
    ray.data.Dataset
    """
    return _score(estimator, dataset, "transform", False, num_workers, use_gpu)


class _Scorer:
    """A process that answers for block after block; the model is read once."""

    def __init__(
        self, estimator: EmbeddingEstimator, what: str, probabilities: bool, has_cells: bool
    ) -> None:
        torch.set_num_threads(1)
        self._estimator, self._what, self._probabilities = estimator, what, probabilities
        self._kinds, self._has_cells = estimator.fitted_.learned.encoder.kinds, has_cells

    def __call__(self, block: pa.Table) -> pa.Table:
        known = block.select([name for name in block.column_names if name in self._kinds])
        table = parse_table(known, self._kinds) if self._has_cells else read_table(known)
        return answer(self._estimator, block, table, self._what, probabilities=self._probabilities)


def _score(
    estimator: EmbeddingEstimator,
    dataset: Any,
    what: str,
    probabilities: bool,
    num_workers: int,
    use_gpu: bool,
) -> "ray.data.Dataset":
    check_is_fitted(estimator)
    check_answerable(estimator, what, probabilities=probabilities)
    num_workers = check_int("num_workers", num_workers)
    connect()
    with plain_errors():
        opened, has_cells = _open(dataset, estimator.fitted_.learned.encoder.kinds)
        Needs(num_workers, use_gpu, paths_of(opened)).check()
        source = read_files(opened.files) if isinstance(opened, FileBlocks) else opened
        return source.map_batches(
            _Scorer,
            fn_constructor_args=(estimator, what, probabilities, has_cells),
            batch_format="pyarrow",
            batch_size=_BATCH_ROWS,
            compute=ActorPoolStrategy(min_size=1, max_size=num_workers),
            num_gpus=1 if use_gpu else 0,
        )


def _open(dataset: Any, kinds: Kinds) -> tuple["ray.data.Dataset | FileBlocks", bool]:
    """Return what Ray Data reads, and whether that is cells of CSV files, as text."""
    is_path = isinstance(dataset, (str, Path)) and "://" not in str(dataset)
    if is_path and not any(map(is_parquet, find_files(dataset))):
        return FileBlocks(dataset, kinds=kinds), True
    return open_dataset(dataset), False
