"""What a fit must know about a table, learned block by block in bounded memory.

Statistics of several blocks, made in any order and anywhere, give those of the whole table when
they are merged. Vocabularies, the moments of a target and its classes are exact. Quantiles cannot
be merged: they come from a sample of the rows, which is the whole table where that is small.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from catspace.data.encoding import (
    Plan,
    Scaling,
    TableEncoder,
    count_threshold,
    finite_numbers,
    hint_at_id,
)
from catspace.data.table import Table
from catspace.data.target import (
    MOST_CLASSES,
    ClassTarget,
    Moments,
    RegressionTarget,
    check_transform,
    is_outside,
    not_finite,
    outside,
    to_numbers,
    transformed,
)
from catspace.exceptions import InputError

_SAMPLE_VALUES = 1 << 25  # a quarter of a gigabyte, for a table with very many columns


@dataclass(frozen=True)
class Block:
    """Some rows of a table: features, target and weight, and which row is the first, if known."""

    table: Table
    y: np.ndarray
    weight: np.ndarray | None = None
    first_row: int | None = 0


class RowSample:
    """A uniform sample of rows; all of them, in their order, where there are few enough.

    Each row draws a random key, and the smallest keys stay. So the sample of two blocks is made
    of the samples of each.

    Parameters
    ----------
    n_most : int
        The size of the sample.
    seed : int
        Parts of one table that are sampled apart need seeds of their own.
    """

    def __init__(self, n_most: int, *, seed: int = 0) -> None:
        self.n_most, self.n_seen = n_most, 0
        self._random = np.random.default_rng(seed)
        self._largest_key = np.inf
        self._keys: list[np.ndarray] = []
        self._numbers: list[np.ndarray] = []
        self._targets: list[np.ndarray] = []

    def add(self, numbers: np.ndarray, target: np.ndarray) -> None:
        """Draw from a block of numbers (n_rows, n_columns) and target (n_rows,)."""
        self.n_seen += len(target)
        keys = self._random.random(len(target))
        self._extend([keys], [numbers], [target])

    def merge(self, other: "RowSample") -> None:
        """Add what was drawn elsewhere."""
        self.n_seen += other.n_seen
        self._extend(other._keys, other._numbers, other._targets)

    @property
    def is_complete(self) -> bool:
        """Whether the sample is the whole table."""
        return self.n_seen <= self.n_most

    @property
    def numbers(self) -> np.ndarray:
        """The numbers of the sample; shape (n_sampled, n_columns)."""
        self._shrink()
        return self._numbers[0]

    @property
    def target(self) -> np.ndarray:
        """The target of the sample; shape (n_sampled,)."""
        self._shrink()
        return self._targets[0]

    def _extend(
        self,
        keys: Sequence[np.ndarray],
        numbers: Sequence[np.ndarray],
        targets: Sequence[np.ndarray],
    ) -> None:
        for key, number, target in zip(keys, numbers, targets, strict=True):
            stays = key <= self._largest_key
            self._keys.append(key[stays])
            self._numbers.append(number[stays])
            self._targets.append(target[stays])
        if sum(map(len, self._keys)) > 2 * self.n_most:
            self._shrink()

    def _shrink(self) -> None:
        keys, numbers = np.concatenate(self._keys), np.concatenate(self._numbers)
        targets = np.concatenate(self._targets)
        if len(keys) > self.n_most:
            self._largest_key = np.partition(keys, self.n_most - 1)[self.n_most - 1]
            stays = keys <= self._largest_key
            keys, numbers, targets = keys[stays], numbers[stays], targets[stays]
        self._keys, self._numbers, self._targets = [keys], [numbers], [targets]


@dataclass
class _Flaw:
    """Values that a target may not hold: how many there are, and the first of them."""

    count: int = 0
    row: int | None = None
    value: float = np.nan

    def note(self, is_bad: np.ndarray, values: np.ndarray, first_row: int | None) -> None:
        if is_bad.any():
            at = int(is_bad.argmax())
            row = None if first_row is None else first_row + at
            self.merge(_Flaw(int(is_bad.sum()), row, values[at]))

    def merge(self, other: "_Flaw") -> None:
        is_earlier = other.row is not None and self.row is not None and other.row < self.row
        if other.count and (not self.count or is_earlier):
            self.row, self.value = other.row, other.value
        self.count += other.count


@dataclass
class _Classes:
    """The labels of a target, and the number and the weight of the rows of each."""

    labels: np.ndarray
    counts: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, y: np.ndarray, weight: np.ndarray | None) -> "_Classes":
        labels, position = np.unique(y, return_inverse=True)
        counts = np.bincount(position, minlength=len(labels))
        weights = counts if weight is None else np.bincount(position, weight, len(labels))
        return cls(labels, counts, weights.astype(float))

    def merge(self, other: "_Classes") -> "_Classes":
        labels = np.concatenate([self.labels, other.labels])
        labels, position = np.unique(labels, return_inverse=True)
        counts = np.bincount(position, np.concatenate([self.counts, other.counts]))
        weights = np.bincount(position, np.concatenate([self.weights, other.weights]))
        return _Classes(labels, counts.astype(int), weights)


@dataclass
class TargetStatistics:
    """What is known about a target after some blocks.

    Parameters
    ----------
    kind : {"continuous", "class", "auto"}
        "auto": text is a class, and so are up to 20 different whole numbers.
    transform : str, optional
        Of a `RegressionTarget`.
    """

    kind: str
    transform: str | None = None
    n_rows: int = 0
    weight_sum: float = 0.0
    _moments: Moments | None = None
    _classes: _Classes | None = None
    _may_be_classes: bool = True
    _not_finite: _Flaw = field(default_factory=_Flaw)
    _missing: _Flaw = field(default_factory=_Flaw)
    _outside: _Flaw = field(default_factory=_Flaw)

    def __post_init__(self) -> None:
        check_transform(self.transform)
        self._may_be_classes = self.kind != "continuous"

    def add(self, y: np.ndarray, weight: np.ndarray | None, first_row: int | None) -> None:
        """Learn from a block of shape (n_rows,) that begins at a row of the whole table.

        What is wrong with some values is noted and told in the end, with their number.
        """
        self.n_rows += len(y)
        self.weight_sum += len(y) if weight is None else float(weight.sum())
        if y.dtype == object and not _is_text(y):  # decimals, and booleans beside missing ones
            y = to_numbers(y)
        missing = _is_missing(y)
        self._missing.note(missing, missing, first_row)
        is_number = y.dtype.kind in "iufb"
        if self.kind == "continuous" or (self.kind == "auto" and is_number):
            self._add_numbers(to_numbers(y), first_row)
        if self._may_be_classes and not missing.all():
            known = ~missing
            self._add_classes(_Classes.of(y[known], None if weight is None else weight[known]))

    def merge(self, other: "TargetStatistics") -> None:
        """Add what was learned elsewhere."""
        self.n_rows += other.n_rows
        self.weight_sum += other.weight_sum
        self._missing.merge(other._missing)
        self._not_finite.merge(other._not_finite)
        self._outside.merge(other._outside)
        if other._moments is not None:
            self._add_moments(other._moments)
        if not other._may_be_classes:
            self._may_be_classes, self._classes = False, None
        if other._classes is not None and self._may_be_classes:
            self._add_classes(other._classes)

    def target(self) -> RegressionTarget | ClassTarget:
        """Return the target, or say what stands in the way."""
        is_class = self.kind == "class" or (self.kind == "auto" and self._may_be_classes)
        if self._missing.count:
            raise not_finite(self._missing.row, self._missing.count, has_nan=True)
        if is_class:
            return ClassTarget(self.class_labels)
        if self._not_finite.count:
            raise not_finite(self._not_finite.row, self._not_finite.count, has_nan=False)
        if self._outside.count:
            flaw = self._outside
            raise outside(self.transform, flaw.value, flaw.row, flaw.count)
        assert self._moments is not None  # a table without rows has been refused
        return RegressionTarget.from_moments(self._moments, self.transform, is_vector=True)

    @property
    def class_labels(self) -> np.ndarray:
        """The labels of the classes, sorted."""
        return np.empty(0) if self._classes is None else self._classes.labels

    @property
    def class_counts(self) -> np.ndarray:
        """The number of rows of each class."""
        return np.empty(0, dtype=int) if self._classes is None else self._classes.counts

    @property
    def class_weight_sums(self) -> np.ndarray:
        """The sum of the weights of the rows of each class."""
        return np.empty(0) if self._classes is None else self._classes.weights

    def _add_numbers(self, numbers: np.ndarray, first_row: int | None) -> None:
        infinite = np.isinf(numbers)
        self._not_finite.note(infinite, numbers, first_row)
        known = np.isfinite(numbers)
        is_bad = known & is_outside(np.where(known, numbers, 1.0), self.transform)
        self._outside.note(is_bad, numbers, first_row)
        usable = numbers[known & ~is_bad]
        if len(usable):
            self._add_moments(Moments.of(transformed(usable[:, None], self.transform)))

    def _add_moments(self, moments: Moments) -> None:
        self._moments = moments if self._moments is None else self._moments.merge(moments)

    def _add_classes(self, classes: _Classes) -> None:
        merged = classes if self._classes is None else self._classes.merge(classes)
        labels = merged.labels
        is_fraction = labels.dtype.kind == "f" and bool((labels % 1 != 0).any())
        if is_fraction and self.kind == "class":
            raise InputError(
                f"Unknown label type: continuous. The target holds {labels[labels % 1 != 0][0]:g}, "
                f"which is not a class.",
                hint="EmbeddingRegressor learns numbers.",
            )
        is_number = labels.dtype.kind in "iuf"
        if self.kind == "auto" and is_number and (is_fraction or len(labels) > MOST_CLASSES):
            self._may_be_classes, self._classes = False, None
        else:
            self._classes = merged


class TableStatistics:
    """What is known about the columns of a table, and about its target, after some blocks.

    Parameters
    ----------
    columns : Table
        Without rows: names and types. Blocks may hold narrower types, such as integers in a
        column of numbers.
    plan : Plan
        What each column is used as.
    target : TargetStatistics
    sample_rows : int
        How many rows quantiles are taken from.
    seed : int
        Of the sample.
    """

    def __init__(
        self,
        columns: Table,
        plan: Plan,
        target: TargetStatistics,
        *,
        sample_rows: int,
        seed: int = 0,
    ) -> None:
        self.plan, self.target = plan, target
        n_most = max(1, min(sample_rows, _SAMPLE_VALUES // (1 + len(plan.numbers))))
        self.sample = RowSample(n_most, seed=seed)
        self._columns = {column.name: column for column in plan.apply(columns).columns}
        self._counts = {name: plan.counts(name) for name in plan.categorical}
        self._has_missing = dict.fromkeys(plan.numbers, False)

    @property
    def n_rows(self) -> int:
        """The number of rows so far."""
        return self.target.n_rows

    def add(self, block: Block) -> None:
        """Learn from some rows."""
        self.target.add(block.y, block.weight, block.first_row)
        by_name = {column.name: column for column in self.plan.apply(block.table).columns}
        for name, counts in self._counts.items():
            counts.add(by_name[name])
        numbers = np.empty((block.table.n_rows, len(self.plan.numbers)))
        for i, name in enumerate(self.plan.numbers):
            numbers[:, i] = finite_numbers(by_name[name], first_row=block.first_row)
            self._has_missing[name] |= bool(np.isnan(numbers[:, i]).any())
        self.sample.add(numbers, block.y)

    def merge(self, other: "TableStatistics") -> None:
        """Add what was learned elsewhere, by the same plan."""
        self.target.merge(other.target)
        self.sample.merge(other.sample)
        for name, counts in other._counts.items():
            self._counts[name].merge(counts)
        for name, has_missing in other._has_missing.items():
            self._has_missing[name] |= has_missing

    def encoder(self, min_frequency: float = 1) -> TableEncoder:
        """Return what `TableEncoder.fit` learns from the whole table."""
        threshold = count_threshold(min_frequency, self.n_rows)
        scalings = {}
        for name, values in zip(self.plan.numbers, self.sample.numbers.T, strict=True):
            if self.plan.is_by_dtype:
                hint_at_id(self._columns[name], values)
            scalings[name] = replace(Scaling.fit(values), has_missing=self._has_missing[name])
        plan = self.plan
        vocabularies = {
            name: counts.vocabulary(threshold, plan.most.get(name))
            for name, counts in self._counts.items()
        }
        return TableEncoder(vocabularies, scalings, plan.date_parts, plan.dates, plan.bins)


def _is_text(y: np.ndarray) -> bool:
    return any(isinstance(value, str) for value in y)


def _is_missing(y: np.ndarray) -> np.ndarray:
    if y.dtype == object:
        return np.fromiter((value is None or value != value for value in y), bool, len(y))
    return np.isnan(y) if y.dtype.kind == "f" else np.zeros(len(y), dtype=bool)
