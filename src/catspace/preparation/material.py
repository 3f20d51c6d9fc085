"""A table, a target and an estimator's parameters -> rows that networks can be trained on."""

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.utils import column_or_1d, compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from catspace.data.binning import make_bins
from catspace.data.encoding import Encoded, TableEncoder
from catspace.data.schema import Schema, check_weight
from catspace.data.table import Table, read_vector
from catspace.data.target import MOST_CLASSES, ClassTarget, RegressionTarget
from catspace.exceptions import InputError
from catspace.preparation.rows import Rows, RowSource
from catspace.preparation.streaming import (
    LabelledBlocks,
    LabelledTable,
    Labels,
    RowEncoding,
    fill_caches,
    learn_statistics,
    make_weigher,
)
from catspace.storage.blocks import is_source, open_blocks, read_any
from catspace.storage.files import find_files
from catspace.validation import check_real


@dataclass(frozen=True)
class Material:
    """What there is to learn from.

    Attributes
    ----------
    schema : Schema
    encoder : TableEncoder
    target : RegressionTarget or ClassTarget
    rows : RowSource
        To train on; in memory or on disk.
    validation : RowSource or None
        To judge each epoch by.
    backend : str
        The kind of frame that the user works with.
    """

    schema: Schema
    encoder: TableEncoder
    target: RegressionTarget | ClassTarget
    rows: RowSource
    validation: RowSource | None
    backend: str


@dataclass(frozen=True)
class Learned:
    """What is known about a table that is read in blocks, before it is encoded.

    Attributes
    ----------
    schema : Schema
    encoding : RowEncoding
    numbers : float32 array of shape (n_sampled, n_numbers)
        The numbers of a sample of the rows, as networks read them.
    n_rows : int
    """

    schema: Schema
    encoding: RowEncoding
    numbers: np.ndarray
    n_rows: int


@dataclass(frozen=True)
class Reader:
    """Reads what the user passes to fit.

    Attributes
    ----------
    estimator : str
        Its name, for messages.
    target_kind : {"continuous", "class", "auto"}
    parameters : mapping of str to object
        Of the estimator.
    random : RandomState
        Chooses the rows that are held back.
    stack : ExitStack
        Closes what is cached on disk.
    """

    estimator: str
    target_kind: str
    parameters: Mapping[str, Any]
    random: np.random.RandomState
    stack: ExitStack

    def read(self, X: Any, y: Any, sample_weight: Any, X_val: Any, y_val: Any) -> Material:
        """Return what there is to learn from; a table in files need not fit in memory."""
        if X_val is None and y_val is not None:
            raise InputError("y_val was passed without X_val.")
        if _is_read_in_blocks(X, y, sample_weight):
            return self._read_blocks(X, y, sample_weight, X_val, y_val)
        return self._read_whole(X, y, sample_weight, X_val, y_val)

    def _read_whole(self, X: Any, y: Any, sample_weight: Any, X_val: Any, y_val: Any) -> Material:
        table = read_any(X)
        target_name = y if isinstance(y, str) else None
        if target_name is not None:
            table, y = table.pop(target_name)
        if isinstance(sample_weight, str):
            table, sample_weight = table.pop(sample_weight, "sample_weight")
        schema = Schema.of(table, target_name)
        y = self._read_target(y, table.n_rows)
        weight = check_weight(sample_weight, table.n_rows)
        if weight is not None and not weight.all():  # a row of weight zero is absent
            present = np.flatnonzero(weight)
            table, y, weight = table.take(present), y[present], weight[present]

        target = self._fit_target(y)
        bins = make_bins(
            self.parameters["discretize"],
            table,
            y,
            is_classification=isinstance(target, ClassTarget),
        )
        encoder, encoded = TableEncoder.fit_encode(
            table,
            min_frequency=self.parameters["min_frequency"],
            bins=bins,
            **self._column_options(),
        )
        rows = _make_rows(encoded, target, y, self._weigh_classes(target, y, weight))
        validation = self._read_validation(schema, encoder, target, X_val, y_val)
        if validation is None and self.parameters["early_stopping"]:
            n_validation = self.n_held_back(len(rows))
            order = torch.from_numpy(self.random.permutation(len(rows)))
            rows, validation = rows.take(order[n_validation:]), rows.take(order[:n_validation])
        return Material(schema, encoder, target, rows, validation, table.backend)

    def _read_blocks(
        self, X: Any, y: str, sample_weight: str | None, X_val: Any, y_val: Any
    ) -> Material:
        blocks = LabelledBlocks(open_blocks(X), Labels(y, sample_weight))
        learned = self.learn(blocks)
        schema, encoding = learned.schema, learned.encoding
        validation = self._read_validation(schema, encoding.encoder, encoding.target, X_val, y_val)
        holds_back = validation is None and self.parameters["early_stopping"]
        rows, held_back = fill_caches(
            self.stack,
            encoding.encode_all(blocks),
            encoding.record,
            encoding.n_codes,
            numbers=learned.numbers,
            n_rows=learned.n_rows,
            n_held_back=self.n_held_back(learned.n_rows) if holds_back else 0,
            random=self.random,
        )
        judges = held_back if validation is None else validation
        return Material(
            schema, encoding.encoder, encoding.target, rows, judges, blocks.columns.backend
        )

    def learn(self, table: LabelledTable) -> Learned:
        """Learn what a table in blocks holds; the first pass over it."""
        statistics = learn_statistics(
            table,
            self.target_kind,
            self.parameters.get("target_transform"),
            discretize=self.parameters["discretize"],
            **self._column_options(),
        )
        n_rows, sample = statistics.n_rows, statistics.sample
        schema = Schema.of(replace(table.columns, n_rows=n_rows), table.labels.target)
        # Of a small table everything is known, so that it gives the same bits as in memory.
        target = (
            self._fit_target(sample.target) if sample.is_complete else statistics.target.target()
        )
        encoder = statistics.encoder(self.parameters["min_frequency"])
        weigh = make_weigher(
            self.parameters.get("class_weight"),
            statistics.target,
            is_weighted=table.labels.weight is not None,
        )
        numbers = encoder.scale(sample.numbers.T, len(sample.target))
        return Learned(schema, RowEncoding(encoder, target, weigh), numbers, n_rows)

    def _read_validation(
        self,
        schema: Schema,
        encoder: TableEncoder,
        target: RegressionTarget | ClassTarget,
        X_val: Any,
        y_val: Any,
    ) -> RowSource | None:
        """Return the rows that the user gave to judge each epoch by."""
        if X_val is None:
            return None
        if is_source(X_val) and isinstance(y_val, str):
            blocks = LabelledBlocks(open_blocks(X_val), Labels(y_val, schema=schema))
            encoding = RowEncoding(encoder, target)
            rows, _ = fill_caches(
                self.stack,
                encoding.encode_all(blocks),
                encoding.record,
                encoding.n_codes,
                numbers=np.empty((0, 0)),
            )
            if not len(rows):
                raise InputError("The table of X_val has no rows.")
            return rows
        if isinstance(y_val, str):
            _, y_val = read_any(X_val).pop(y_val)
        table = read_features(schema, X_val, self.estimator)
        y_val = self._read_target(y_val, table.n_rows)
        return _make_rows(encoder.encode(table), target, y_val, None)

    def _column_options(self) -> dict[str, Any]:
        """Return the parameters that say what each column is used as."""
        names = ("categorical_features", "date_parts", "max_categories", "hash_buckets")
        return {name: self.parameters[name] for name in names}

    def _read_target(self, y: Any, n_rows: int) -> np.ndarray:
        if y is None:
            raise InputError(
                f"This {self.estimator} requires y to be passed, but the target y is None."
            )
        values = read_vector(y, "target")
        if values.ndim == 0 or len(values) != n_rows:
            raise InputError(
                f"Found input variables with inconsistent numbers of samples: the table has "
                f"{n_rows} rows and the target {len(values) if values.ndim else 'is one value'}."
            )
        return values

    def _fit_target(self, y: np.ndarray) -> RegressionTarget | ClassTarget:
        is_auto = self.target_kind == "auto"
        if self.target_kind == "class" or (is_auto and _looks_like_classes(y)):
            return _class_target(y)
        return RegressionTarget.fit(y, self.parameters.get("target_transform"))

    def _weigh_classes(
        self, target: RegressionTarget | ClassTarget, y: np.ndarray, weight: np.ndarray | None
    ) -> np.ndarray | None:
        class_weight = self.parameters.get("class_weight")
        if class_weight is None or not isinstance(target, ClassTarget):
            return weight
        by_class = np.asarray(compute_sample_weight(class_weight, y.ravel()))
        return by_class if weight is None else by_class * weight

    def n_held_back(self, n_rows: int) -> int:
        """Return how many rows early stopping judges by."""
        fraction = check_real(
            "validation_fraction", self.parameters["validation_fraction"], above=0, below=1
        )
        n_validation = round(fraction * n_rows)
        if n_validation == 0 or n_validation == n_rows:
            raise InputError(
                f"early_stopping would hold back {n_validation} of {n_rows} rows.",
                hint="change validation_fraction, pass X_val and y_val, or switch it off.",
            )
        return n_validation


def read_features(schema: Schema, X: Any, estimator: str) -> Table:
    """Return the columns that a model was fitted on, from whatever the user has."""
    # A Table is one that was read from a file, block by block.
    is_file = isinstance(X, (str, Path, Table))
    return schema.conform(read_any(X), estimator, is_file=is_file)


def _is_read_in_blocks(X: Any, y: Any, sample_weight: Any) -> bool:
    """Whether a table is in files, with all that belongs to it."""
    if not is_source(X):
        return False
    if isinstance(y, str) and (sample_weight is None or isinstance(sample_weight, str)):
        return True
    is_file = isinstance(X, (str, Path)) and not Path(X).expanduser().is_dir()
    if is_file and len(find_files(X)) == 1:
        return False  # one file, with arrays beside it
    raise InputError(
        "Files that are read block by block need the names of their columns for y and "
        f"sample_weight; got {type(y).__name__} and {type(sample_weight).__name__}.",
        hint='fit("sales/*.parquet", y="sales")',
    )


def _make_rows(
    encoded: Encoded,
    target: RegressionTarget | ClassTarget,
    y: np.ndarray,
    weight: np.ndarray | None,
) -> Rows:
    if weight is not None:  # a mean of one keeps the meaning of the learning rate
        weight = (weight / weight.mean()).astype(np.float32)
    return Rows(
        torch.from_numpy(encoded.codes),
        torch.from_numpy(encoded.numbers),
        torch.from_numpy(target.encode(y)),
        None if weight is None else torch.from_numpy(weight),
    )


def _class_target(y: np.ndarray) -> ClassTarget:
    y = column_or_1d(y, warn=True)
    is_missing = y.dtype == object and any(value is None or value != value for value in y)
    if is_missing or (y.dtype.kind == "f" and np.isnan(y).any()):
        raise InputError("Input y contains NaN.", hint="drop the rows whose target is not known.")
    check_classification_targets(y)
    return ClassTarget.fit(y)


def _looks_like_classes(y: np.ndarray) -> bool:
    if type_of_target(y) not in ("binary", "multiclass"):
        return False
    return y.dtype.kind not in "iuf" or len(np.unique(y)) <= MOST_CLASSES
