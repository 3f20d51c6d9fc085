"""What a target is, learned block by block: numbers or classes, their scale, and what is wrong."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.utils import column_or_1d, compute_sample_weight

from catspace.data.scaling import LARGEST_SQUARED, find_unit
from catspace.data.target import (
    COUNT,
    ClassTarget,
    Moments,
    RegressionTarget,
    Target,
    check_transform,
    is_outside,
    labels_to_keep,
    not_finite,
    outside,
    to_numbers,
    too_large,
    transformed,
)
from catspace.exceptions import InputError, ParameterError, warn
from catspace.validation import check_real

# Where nobody says what a target of whole numbers is: at most so many are classes.
MOST_CLASSES = 20
# More classes of text than this, as a share of the rows, can be learned by nobody.
_MOST_SHARE = 0.5


@dataclass
class _Flaw:
    """Values that a target may not hold: how many there are, and the first of them."""

    count: int = 0
    row: int | None = None
    value: float = np.nan

    def note(self, is_bad: np.ndarray, values: np.ndarray, first_row: int | None) -> None:
        if is_bad.any():
            at = int(np.argwhere(is_bad)[0][0])
            row = None if first_row is None else first_row + at
            self.merge(_Flaw(int(is_bad.sum()), row, values[is_bad][0]))

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
        try:
            labels, position = np.unique(y, return_inverse=True)
        except TypeError:
            kinds = sorted({type(label).__name__ for label in y})
            raise InputError(
                f"Unknown label type: unknown. The target holds several: {', '.join(kinds)}.",
                hint="turn all labels into text.",
            ) from None
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
    n_kept : int
        Up to so many rows the target itself is kept: then the scale is that of the whole, to the
        last bit, and not of blocks put together.
    """

    kind: str
    transform: str | None = None
    n_kept: int = 0
    n_samples: int = 0
    weight_sum: float = 0.0
    _is_vector: bool = True
    _moments: Moments | None = None
    _classes: _Classes | None = None
    _may_be_classes: bool = True
    _missing: _Flaw = field(default_factory=_Flaw)
    _infinite: _Flaw = field(default_factory=_Flaw)
    _outside: _Flaw = field(default_factory=_Flaw)
    _large: _Flaw = field(default_factory=_Flaw)
    _kept: list[np.ndarray] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.transform != COUNT:  # which is asked for by a loss
            check_transform(self.transform)
        self._may_be_classes = self.kind != "continuous"

    def add(self, y: np.ndarray, weight: np.ndarray | None, first_row: int | None) -> None:
        """Learn from the target of a block that begins at a row of the whole table.

        What is wrong with some values is noted and told in the end, with their number.
        """
        if not len(y):
            return
        self.n_samples += len(y)
        self.weight_sum += len(y) if weight is None else float(weight.sum())
        self._keep([y])
        self._is_vector = y.ndim == 1
        if self.kind == "class":
            y = column_or_1d(y, warn=True)
        elif self.kind == "auto" and y.ndim == 2 and y.shape[1] == 1:
            y = y[:, 0]
        if y.dtype == object and not _is_text(y):  # decimals, and booleans beside missing ones
            y = (
                to_numbers(y)
                if self.kind == "continuous"
                else _labels(y, is_class=self.kind == "class")
            )
        missing = _is_missing(y)
        self._missing.note(missing, missing, first_row)
        is_number = y.dtype.kind in "iufb"
        if self.kind == "continuous" or (self.kind == "auto" and is_number):
            self._add_numbers(to_numbers(y), first_row)
        if y.ndim > 1:
            self._may_be_classes, self._classes = False, None
        if self._may_be_classes and not missing.all():
            known = ~missing
            self._add_classes(_Classes.of(y[known], None if weight is None else weight[known]))

    def merge(self, other: "TargetStatistics") -> None:
        """Add what was learned elsewhere."""
        if not other.n_samples:
            return
        self.n_samples += other.n_samples
        self.weight_sum += other.weight_sum
        self._keep(other._kept)
        self._is_vector = other._is_vector
        self._missing.merge(other._missing)
        self._infinite.merge(other._infinite)
        self._outside.merge(other._outside)
        self._large.merge(other._large)
        if other._moments is not None:
            self._add_moments(other._moments)
        if not other._may_be_classes:
            self._may_be_classes, self._classes = False, None
        if other._classes is not None and self._may_be_classes:
            self._add_classes(other._classes)

    @property
    def is_class(self) -> bool:
        """Whether the target is one of several classes."""
        return self.kind == "class" or (self.kind == "auto" and self._may_be_classes)

    def check(self) -> None:
        """Raise where some values can be learned by no target of this kind."""
        if self._missing.count:
            raise not_finite(self._missing.row, self._missing.count, has_nan=True)
        if self.is_class:
            return
        if self._infinite.count:
            raise not_finite(self._infinite.row, self._infinite.count, has_nan=False)
        if self._outside.count:
            flaw = self._outside
            raise outside(self.transform, flaw.value, flaw.row, flaw.count)
        if self._large.count:
            raise too_large(self._large.value, self._large.row)

    def target(self) -> Target:
        """Return the target, or say what stands in the way."""
        self.check()
        if self.is_class:
            self._check_classes()
            labels = np.empty(0) if self._classes is None else self._classes.labels
            if self.kind == "auto" and labels.dtype.kind == "f" and len(labels) > 2:
                warn(
                    f"The target holds {len(labels)} different whole numbers, from {labels[0]:g} "
                    f"to {labels[-1]:g}, and is taken for classes.",
                    hint='target_type="continuous" learns numbers; target_type="class" learns '
                    "classes without this warning.",
                )
            return ClassTarget(labels_to_keep(labels))
        if len(self._kept) > 1:
            return learn_target(np.concatenate(self._kept), self.kind, self.transform)
        assert self._moments is not None  # a table without rows has been refused
        return RegressionTarget.from_moments(
            self._moments, self.transform, is_vector=self._is_vector
        )

    def _check_classes(self) -> None:
        """Raise where nearly every row is a class of its own: that is no class, but an amount."""
        if self._classes is None or self._classes.labels.dtype.kind in "biuf":
            return
        n_classes = len(self._classes.labels)
        if n_classes > MOST_CLASSES and n_classes > _MOST_SHARE * self.n_samples:
            raise InputError(
                f"The target holds {n_classes:,} different texts in {self.n_samples:,} rows, such "
                f"as {str(self._classes.labels[0])!r}: nearly every row would be a class of its "
                "own.",
                hint="if they are amounts, write them as numbers, such as 5387.20, without a unit; "
                "else predict another column, or put similar values into one class.",
            )

    def class_weights(
        self, class_weight: Any, known: ClassTarget | None = None
    ) -> np.ndarray | None:
        """Return the weight of each class by the parameter of that name; None where it has none.

        Parameters
        ----------
        class_weight : dict, "balanced" or None
        known : ClassTarget, optional
            The classes, where a model knows them already; some of them may not have been met.
        """
        if class_weight is None or self._classes is None:
            return None
        labels, counts = self._classes.labels, self._classes.counts
        if known is not None:
            labels, counts = known.classes, np.zeros(known.n_outputs, dtype=counts.dtype)
            counts[known.encode(self._classes.labels)] = self._classes.counts
        if isinstance(class_weight, str):  # "balanced", by what was counted in all blocks
            is_met = counts > 0
            weights = np.zeros(len(counts))
            weights[is_met] = counts.sum() / (is_met.sum() * counts[is_met])
            return weights
        try:
            weights = np.asarray(compute_sample_weight(class_weight, labels))
        except ValueError as error:
            raise ParameterError(f"class_weight does not fit the target: {error}.") from None
        if not weights.any():
            raise ParameterError(
                f"class_weight must not be 0 for all classes; got {class_weight!r}."
            )
        return weights

    def check_known(self, known: ClassTarget) -> None:
        """Raise where a class was met that a model does not know."""
        if self._classes is not None:
            known.encode(self._classes.labels)

    def mean_weight(
        self, by_class: np.ndarray | None = None, known: ClassTarget | None = None
    ) -> float:
        """Return the mean weight of a row, each times the weight of its class."""
        if by_class is None or self._classes is None:
            return self.weight_sum / self.n_samples
        if known is not None:
            by_class = by_class[known.encode(self._classes.labels)]
        return float(by_class @ self._classes.weights) / self.n_samples

    def _keep(self, targets: list[np.ndarray]) -> None:
        self._kept = [*self._kept, *targets] if self.n_samples <= self.n_kept else []

    def _add_numbers(self, numbers: np.ndarray, first_row: int | None) -> None:
        if numbers.ndim not in (1, 2) or 0 in numbers.shape[1:]:
            raise InputError(
                f"The target must have one or two dimensions; got shape {numbers.shape}."
            )
        values = np.atleast_2d(numbers.T).T  # (n_samples, n_outputs)
        self._infinite.note(np.isinf(values), values, first_row)
        known = np.isfinite(values)
        is_bad = known & is_outside(np.where(known, values, 1.0), self.transform)
        self._outside.note(is_bad, values, first_row)
        if is_bad.any() or not known.all():
            values = values[(known & ~is_bad).all(axis=1)]
        if len(values):
            moved = transformed(values, self.transform)
            self._large.note(np.abs(moved) > LARGEST_SQUARED, values, first_row)
            self._add_moments(Moments.of(moved / find_unit(moved)))

    def _add_moments(self, moments: Moments) -> None:
        self._moments = moments if self._moments is None else self._moments.merge(moments)

    def _add_classes(self, classes: _Classes) -> None:
        merged = classes if self._classes is None else self._classes.merge(classes)
        labels = merged.labels
        with np.errstate(invalid="ignore"):  # infinity has no remainder, and is no class
            fractions = labels[labels % 1 != 0] if labels.dtype.kind == "f" else labels[:0]
        is_fraction = len(fractions) > 0
        if is_fraction and self.kind == "class":
            raise InputError(
                f"Unknown label type: continuous. The target holds {fractions[0]:g}, which is not "
                "a class.",
                hint="EmbeddingRegressor learns numbers.",
            )
        is_number = labels.dtype.kind in "iuf"
        if self.kind == "auto" and is_number and (is_fraction or len(labels) > MOST_CLASSES):
            self._may_be_classes, self._classes = False, None
        else:
            self._classes = merged


def learn_target(y: Any, kind: str = "continuous", transform: str | None = None) -> Target:
    """Return the target that a whole table has; one block.

    Examples
    --------
    >>> learn_target(["b", "a", "b"], "class").encode(np.array(["a", "b"])).tolist()
    [0, 1]
    """
    statistics = TargetStatistics(kind, transform)
    statistics.add(np.asarray(y), None, 0)
    return statistics.target()


def check_class_weight(class_weight: Any) -> None:
    """Raise where weights of classes are none that scikit-learn knows."""
    is_word = isinstance(class_weight, str) and class_weight == "balanced"
    if not (class_weight is None or is_word or isinstance(class_weight, dict)):
        raise ParameterError(
            f'class_weight must be a dict of class to weight, "balanced" or None; '
            f"got {class_weight!r}."
        )
    if isinstance(class_weight, dict):
        for label, weight in class_weight.items():
            check_real(f"class_weight[{label!r}]", weight, at_least=0, below=LARGEST_SQUARED)


def _labels(y: np.ndarray, *, is_class: bool) -> np.ndarray:
    """Return objects that are no text as labels, each itself, or say why they cannot be."""
    if all(isinstance(label, (bool, np.bool_)) for label in y.flat):
        return y.astype(bool)
    try:
        numbers = to_numbers(y)
    except InputError:
        numbers = np.full(y.shape, np.nan)
    for label, number in zip(y.flat, numbers.flat, strict=True):
        is_known = label is not None and label == label
        # In Python a number is compared to the last digit, and so are two classes.
        is_other = np.isnan(number) or (number.is_integer() and label != float(number))
        if is_known and is_other and (is_class or np.isnan(number)):
            raise InputError(
                f"Unknown label type: the target holds {label!r}, and labels are text, numbers or "
                "truth values.",
                hint="turn the labels into text.",
            )
    return numbers


def _is_text(y: np.ndarray) -> bool:
    return any(isinstance(value, str) for value in y.flat)


def _is_missing(y: np.ndarray) -> np.ndarray:
    """Return which rows are missing; of several outputs, any."""
    if y.dtype == object:
        return np.fromiter((value is None or value != value for value in y), bool, len(y))
    missing = np.isnan(y) if y.dtype.kind == "f" else np.zeros(y.shape, dtype=bool)
    return np.asarray(missing if y.ndim == 1 else missing.any(axis=1))
