"""What a table holds: its columns, target and weights, learned before it is encoded."""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from catspace.data.encoding import Encoded, TableEncoder
from catspace.data.labels import no_weight
from catspace.data.reading import is_records
from catspace.data.roles import Roles
from catspace.data.schema import Schema
from catspace.data.statistics import BinStatistics, ColumnStatistics, TableStatistics
from catspace.data.table import Table
from catspace.data.target import ClassTarget, Target, target_from_state, transform_of
from catspace.data.target_statistics import TargetStatistics
from catspace.exceptions import InputError, ParameterError
from catspace.preparation.tables import (
    LabelledBlocks,
    LabelledTable,
    OneBlock,
    open_labelled,
)
from catspace.storage.blocks import Kinds, read_any
from catspace.validation import check_column_names

# Of quantiles. The standard error of a median of so many rows is 0.3 % of a standard deviation.
SAMPLE_ROWS = 200_000
_SAMPLE_VALUES = 1 << 25  # a quarter of a gigabyte, for a table with very many columns


@dataclass(frozen=True)
class Learned:
    """What fit learned about a table besides its networks."""

    schema: Schema  # the names of the columns
    encoder: TableEncoder  # turns columns into codes and numbers
    target: Target  # turns the target into what a network learns, and back
    backend: str  # the kind of frame that the user works with
    n_samples: int = 0  # how many rows it was learned from; 0 in files that do not say it

    @property
    def is_classification(self) -> bool:
        """Whether the target is one of several classes."""
        return isinstance(self.target, ClassTarget)

    def kinds(self, target: str | None, weight: str | None = None) -> Kinds:
        """Return what the columns of a file hold, its target and its weight among them."""
        known: dict[str, Collection[str]] = dict(self.encoder.kinds)
        if target is not None:
            known[target] = self.target.kinds
        return known if weight is None else {**known, weight: {"number"}}

    @property
    def n_known(self) -> int:
        """How many rows it was learned from, also where a file does not say it."""
        counted = (int(one.counts.sum()) for one in self.encoder.vocabularies.values())
        return self.n_samples or next(counted, 0)

    def open(
        self, X: Any, y: Any, sample_weight: Any, *, estimator: str
    ) -> OneBlock | LabelledBlocks:
        """Return more rows with their labels, wherever they are, by the columns that fit knew."""
        names = (name if isinstance(name, str) else None for name in (y, sample_weight))
        return open_labelled(
            X, y, sample_weight, estimator=estimator, schema=self.schema, kinds=self.kinds(*names)
        )

    def read(self, X: Any, estimator: str = "the model") -> Table:
        """Return the columns that fit knew, from whatever the user has."""
        table = read_any(X, kinds=self.encoder.kinds)
        # A Table is one that was read from a file, block by block; records have no order either.
        is_file = isinstance(X, (str, Path, Table)) or is_records(X)
        return self.schema.conform(table, estimator, is_file=is_file)

    def encode(
        self, X: Any, *, handle_unknown: str = "mean", estimator: str = "the model"
    ) -> Encoded:
        """Return a table as the networks read it."""
        return self.encoder.encode(self.read(X, estimator), handle_unknown=handle_unknown)

    def to_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return what was learned as a JSON document and arrays by name."""
        encoder, arrays = self.encoder.to_state()
        target, target_arrays = self.target.to_state()
        document = {
            "schema": asdict(self.schema),
            "encoder": encoder,
            "target": target,
            "backend": self.backend,
            "n_samples": self.n_samples,
        }
        return document, {**arrays, **target_arrays}

    @classmethod
    def from_state(cls, document: Mapping[str, Any], arrays: Mapping[str, Any]) -> "Learned":
        """Return what `to_state` took apart."""
        return cls(
            Schema(**{**document["schema"], "names": tuple(document["schema"]["names"])}),
            TableEncoder.from_state(document["encoder"], arrays),
            target_from_state(document["target"], arrays),
            document["backend"],
            document.get("n_samples", 0),
        )


@dataclass(frozen=True)
class Weigher:
    """The weights that rows are trained with: their own, times those of their classes."""

    # Of all rows. Weights are divided by it, which keeps the meaning of the learning rate.
    mean: float = 1.0
    by_class: np.ndarray | None = None  # float of shape (n_classes,), or None

    def weigh(self, codes: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
        """Return the weights of some rows; shape (n_samples,).

        Parameters
        ----------
        codes : int array of shape (n_samples,)
            Their classes, where classes have weights.
        weight : float64 array of shape (n_samples,), or None
            Their own weights.
        """
        weights = np.ones(len(codes)) if weight is None else weight
        if self.by_class is not None:
            weights = weights * self.by_class[codes]
        if self.mean == 0:
            raise InputError(
                "No row counts: the weight of each, times that of its class, is 0.",
                hint="leave class_weight or sample_weight out, or give rows that count.",
            )
        with np.errstate(over="ignore"):
            scaled = np.asarray(weights / self.mean, dtype=np.float32)
        if not np.isfinite(scaled).all():
            raise InputError(
                f"sample_weight holds {weights.max():g}, which is too much for rows to be judged "
                "by.",
                hint="divide the weights by their mean; only their ratios matter.",
            )
        return scaled


@dataclass(frozen=True)
class Survey:
    """What the passes over a table found."""

    learned: Learned
    weigher: Weigher | None  # None where all rows weigh the same
    # float32 array of shape (n_sampled, n_numbers): those of a sample of the rows, as networks read
    # them; empty where the rows are in memory
    numbers: np.ndarray
    n_samples: int


def survey(table: LabelledTable, target_kind: str, parameters: Mapping[str, Any]) -> Survey:
    """Learn what a table holds; one pass, and one more where columns are cut into bins.

    All that names and types of columns decide is decided before the first row is read.

    Parameters
    ----------
    table : LabelledTable
    target_kind : {"continuous", "class", "auto"}
    parameters : mapping of str to object
        Of the estimator.
    """
    columns = table.columns
    roles = _decide_roles(columns, parameters)
    sample_rows = table.n_in_memory or max(
        1, min(SAMPLE_ROWS, _SAMPLE_VALUES // (1 + len(roles.numbers)))
    )

    def target_statistics() -> TargetStatistics:
        n_kept = 0 if table.n_in_memory else SAMPLE_ROWS
        return TargetStatistics(target_kind, transform_of(parameters), n_kept)

    if roles.rules:
        found = table.learn(
            lambda seed: BinStatistics(
                roles.rules, target_statistics(), sample_rows=sample_rows, seed=seed
            )
        )
        roles = replace(roles, bins=found.bins())
    statistics = table.learn(
        lambda seed: TableStatistics(
            ColumnStatistics(columns, roles, sample_rows=sample_rows, seed=seed),
            target_statistics(),
        )
    )
    n_samples, target = statistics.columns.n_samples, statistics.target
    if n_samples == 0 and table.is_weighted:
        raise no_weight()
    schema = Schema.of(replace(columns, n_rows=n_samples), table.labels.target)
    encoder = statistics.columns.encoder(parameters["min_frequency"])
    asked = _as_asked(target.target(), parameters)
    learned = Learned(schema, encoder, asked, columns.backend, n_samples)
    by_class = target.class_weights(parameters.get("class_weight"))
    weigher = None
    if table.is_weighted or by_class is not None:
        weigher = Weigher(target.mean_weight(by_class), by_class)
    numbers = np.empty((0, 0), dtype=np.float32)
    if not table.n_in_memory:
        sample = statistics.columns.numbers
        numbers = encoder.scale(sample.T, len(sample))
    return Survey(learned, weigher, numbers, n_samples)


def _as_asked(target: Target, parameters: Mapping[str, Any]) -> Target:
    """Return a target of numbers of which as many quantiles are predicted as were asked for."""
    quantile = parameters.get("quantile")
    if isinstance(target, ClassTarget) or quantile is None or np.ndim(quantile) == 0:
        return target
    return target.with_quantiles(tuple(map(float, quantile)))


def _decide_roles(columns: Table, parameters: Mapping[str, Any]) -> Roles:
    options = (
        *("categorical_features", "date_parts", "date_formats", "discretize"),
        *("max_categories", "hash_buckets", "shared_vectors", "list_separators"),
    )
    roles = Roles.of(columns, **{name: parameters.get(name) for name in options})
    if roles.lists and parameters.get("input_encoding") == "onehot":
        raise ParameterError(
            f'input_encoding="onehot" has one row of weights for each cell, and column '
            f"{min(roles.lists)!r} holds lists.",
            hint='leave input_encoding at "embedding", or the column out.',
        )
    for name in ("embedding_dim", "smooth", "initial_vectors"):
        if isinstance(parameters.get(name), Mapping):
            check_column_names(name, parameters[name], roles.categorical, "a categorical column")
    return roles
