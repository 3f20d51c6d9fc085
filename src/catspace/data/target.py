"""What the user predicts <-> what the network learns."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from catspace.exceptions import InputError, ParameterError, did_you_mean, in_row, shorten

TARGET_TRANSFORMS = ("log", "log1p", "paper")

# What loss="poisson" learns: the target in units of its mean, under an exponential.
COUNT = "count"
# A sigmoid cannot reach below zero, where the log of a target below 1 lies.
_ALLOWED = {"log": "above 0", "log1p": "above -1", "paper": "of at least 1", COUNT: "of at least 0"}
_IS_ALLOWED: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "log": lambda y: y > 0,
    "log1p": lambda y: y > -1,
    "paper": lambda y: y >= 1,
    COUNT: lambda y: y >= 0,
}
# A share of the mean below which a spread is what doubles have made of equal numbers.
_ROUNDING = 1e-14
# The units of times that Arrow has; the others are coarser, or finer than anything it keeps.
_UNITS = {"M": ("D", "s", "ms", "us", "ns"), "m": ("s", "ms", "us", "ns")}
LARGEST_EXPONENT = float(np.log(np.finfo(np.float64).max)) - 1


@dataclass(frozen=True)
class Moments:
    """What the scale of a target is made of; those of two blocks give those of both."""

    n_samples: int
    mean: np.ndarray  # float64 of shape (n_outputs,)
    std: np.ndarray  # float64 of shape (n_outputs,)
    largest: np.ndarray  # float64 of shape (n_outputs,)

    @classmethod
    def of(cls, values: np.ndarray) -> "Moments":
        """Return the moments of values of shape (n_samples, n_outputs)."""
        return cls(len(values), values.mean(axis=0), values.std(axis=0), values.max(axis=0))

    def merge(self, other: "Moments") -> "Moments":
        """Return the moments of both blocks together."""
        n_samples = self.n_samples + other.n_samples
        share = other.n_samples / n_samples
        step = other.mean - self.mean
        variance = (1 - share) * self.std**2 + share * other.std**2 + share * (1 - share) * step**2
        largest = np.maximum(self.largest, other.largest)
        return Moments(n_samples, self.mean + share * step, np.sqrt(variance), largest)


@dataclass(frozen=True)
class RegressionTarget:
    """One or several numbers, brought to the scale on which the network learns."""

    # What is taken of the target before it is scaled. "paper" is log(y) / log(y_max), which a
    # sigmoid output can reach; "count" is y / mean(y); the others are standardised for a linear
    # output.
    transform: str | None
    centre: np.ndarray  # float64 of shape (n_outputs,)
    scale: np.ndarray  # the same; 0 for a constant target, so that the constant is predicted
    is_vector: bool  # whether the user's target had one dimension
    # Those that are predicted side by side, rising; none where one number is predicted
    quantiles: tuple[float, ...] = ()
    # What is added to each quantile on the network's scale, never falling; none is nothing
    shifts: tuple[float, ...] = ()

    @classmethod
    def from_moments(
        cls, moments: Moments, transform: str | None, *, is_vector: bool
    ) -> "RegressionTarget":
        """Return the target whose transformed values have these moments."""
        if transform == "paper":
            centre, scale = np.zeros_like(moments.mean), moments.largest
        elif transform == COUNT:
            centre, scale = np.zeros_like(moments.mean), moments.mean
        else:
            centre, scale = moments.mean, moments.std
        # What doubles of this size cannot tell apart is rounding, and not a target that varies.
        scale = np.where(scale > _ROUNDING * np.abs(centre), scale, 0.0)
        return cls(transform, centre, scale, is_vector)

    kinds = frozenset({"number"})  # of the values, as vocabularies name them

    def with_quantiles(self, quantiles: tuple[float, ...]) -> "RegressionTarget":
        """Return the same target, of which several quantiles are predicted."""
        if len(quantiles) and self.n_columns > 1:
            raise InputError(
                f"quantile={list(quantiles)} predicts several quantiles of one number, and the "
                f"target has {self.n_columns} columns.",
                hint="fit a model for each column, or ask for one quantile.",
            )
        return replace(self, quantiles=quantiles)

    @property
    def n_columns(self) -> int:
        """The number of columns of the target."""
        return len(self.centre)

    @property
    def n_outputs(self) -> int:
        """The number of outputs of the network."""
        return len(self.quantiles) or self.n_columns

    @property
    def output_activation(self) -> str:
        """What the network's last layer applies, so that it can reach the target's range."""
        return output_activation(self.transform, is_rising=bool(self.quantiles))

    @property
    def middle(self) -> int:
        """The position of the quantile that is closest to the median; of two the lower."""
        return int(np.argmin(np.abs(np.array(self.quantiles) - 0.5)))

    def points(self, answers: np.ndarray) -> np.ndarray:
        """Return one prediction for each number of the target: of several quantiles the middle."""
        return np.asarray(answers[:, self.middle] if self.quantiles else answers)

    def to_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the target as a JSON document and arrays by name."""
        document: dict[str, Any] = {"transform": self.transform, "is_vector": self.is_vector}
        if self.quantiles:
            document |= {"quantiles": list(self.quantiles), "shifts": list(self.shifts)}
        return document, {"target.centre": self.centre, "target.scale": self.scale}

    def encode(self, y: Any) -> np.ndarray:
        """Return what the network learns; float32 of shape (n_samples, n_columns)."""
        values = np.atleast_2d(as_numbers(y).T).T
        if values.shape[1] != self.n_columns:
            raise InputError(
                f"The target has {values.shape[1]} columns, and in fit it had {self.n_columns}."
            )
        moved = transformed(values, self.transform)
        scale = np.where(self.scale == 0, 1.0, self.scale)
        with np.errstate(over="ignore"):
            learned = np.asarray((moved - self.centre) / scale, dtype=np.float32)
        if np.isinf(learned).any():
            raise too_large(values[np.isinf(learned)][0], int(np.argwhere(np.isinf(learned))[0][0]))
        return learned

    def decode(self, outputs: np.ndarray) -> np.ndarray:
        """Return predictions on the user's scale, from outputs of shape (n_samples, n_outputs).

        Quantiles that rise in the outputs rise in the predictions too: nothing here falls.
        """
        if self.shifts:
            outputs = outputs.astype(np.float64) + np.array(self.shifts)
        moved = self._unscale(outputs)
        return np.asarray(moved[:, 0] if self.is_vector and not self.quantiles else moved)

    def restore(self, learned: np.ndarray) -> np.ndarray:
        """Return the target of which `encode` made what the network learns."""
        moved = self._unscale(learned)
        return np.asarray(moved[:, 0] if self.is_vector else moved)

    def _unscale(self, outputs: np.ndarray) -> np.ndarray:
        moved = outputs.astype(np.float64) * self.scale + self.centre
        if self.transform in TARGET_TRANSFORMS:
            moved = np.minimum(moved, LARGEST_EXPONENT)
            moved = np.expm1(moved) if self.transform == "log1p" else np.exp(moved)
        return np.asarray(moved)


@dataclass(frozen=True)
class ClassTarget:
    """One of several classes, of any type that sorts."""

    classes: np.ndarray  # of shape (n_classes,)
    output_activation = "identity"

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of the labels, as vocabularies name them."""
        by_dtype = {"M": "time", "m": "duration"} | dict.fromkeys("biuf", "number")
        return frozenset({by_dtype.get(self.classes.dtype.kind, "text")})

    @property
    def n_outputs(self) -> int:
        """The number of outputs of the network: one logit for each class."""
        return len(self.classes)

    def to_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the target as a JSON document and arrays by name."""
        return {"dtype": self.classes.dtype.str}, {"target.classes": pa.array(self.classes)}

    def encode(self, y: np.ndarray) -> np.ndarray:
        """Return the position of each label among the classes; int64 of shape (n_samples,)."""
        y = y.ravel()
        if y.dtype == object and any(value is None for value in y):
            raise InputError("Input y contains NaN: the class of some rows is missing.")
        try:
            codes = np.minimum(np.searchsorted(self.classes, y), len(self.classes) - 1)
            is_unknown = np.asarray(self.classes[codes] != y)
        except TypeError:  # numbers and text have no order
            codes, is_unknown = np.zeros(len(y), dtype=np.int64), np.ones(len(y), dtype=bool)
        if is_unknown.any():
            unknown = y[is_unknown].tolist()[0]
            raise InputError(
                f"The target holds the class {unknown!r}, which fit has not met: there the classes "
                f"were {shorten(self.classes.tolist())}."
            )
        return codes.astype(np.int64)

    def decode(self, codes: np.ndarray) -> np.ndarray:
        """Return the labels at these positions."""
        return np.asarray(self.classes[codes])

    restore = decode


Target = RegressionTarget | ClassTarget


def labels_to_keep(labels: np.ndarray) -> np.ndarray:
    """Return labels in the one type of their kind that a model file holds, or say that none does.

    Text is as wide as the longest label, whatever the rows were that these ones come from.
    """
    kind = labels.dtype.kind
    try:
        if kind in "US" and len(labels):
            labels = np.array(labels.tolist())
        elif kind in _UNITS and np.datetime_data(labels.dtype)[0] not in _UNITS[kind]:
            labels = labels.astype(f"{kind}8[s]", casting="safe")
        elif kind == "f":
            labels = labels.astype(np.float64)
        labels = labels.astype(labels.dtype.newbyteorder("="))
        pa.array(labels)
    except (pa.ArrowException, UnicodeError, TypeError):
        raise InputError(
            f"The target holds labels that no model file can hold, such as {labels[0]!r}.",
            hint="turn the labels into text.",
        ) from None
    return labels


def target_from_state(document: Mapping[str, Any], arrays: Mapping[str, Any]) -> Target:
    """Return the target that `to_state` took apart."""
    if "target.classes" in arrays:
        classes = arrays["target.classes"].to_numpy(zero_copy_only=False)
        return ClassTarget(classes.astype(document["dtype"]))
    return RegressionTarget(
        document["transform"],
        arrays["target.centre"],
        arrays["target.scale"],
        document["is_vector"],
        tuple(document.get("quantiles", ())),
        tuple(document.get("shifts", ())),
    )


def output_activation(transform: str | None, *, is_rising: bool) -> str:
    """Return what the last layer of a network applies, which learns numbers of a transform."""
    activation = {"paper": "logistic", COUNT: "exp"}.get(transform or "", "identity")
    if not is_rising:
        return activation
    return "rising" if activation == "identity" else f"rising_{activation}"


def transform_of(parameters: Mapping[str, Any]) -> str | None:
    """Return what an estimator's parameters take of a target of numbers."""
    loss = parameters.get("loss")
    is_count = isinstance(loss, str) and loss == "poisson"
    return COUNT if is_count else parameters.get("target_transform")


def check_transform(transform: str | None) -> None:
    """Raise where there is no such transform."""
    if transform is not None and transform not in TARGET_TRANSFORMS:
        allowed = ", ".join(f'"{name}"' for name in TARGET_TRANSFORMS)
        raise ParameterError(
            f"target_transform must be None, {allowed}; got {transform!r}."
            f"{did_you_mean(transform, TARGET_TRANSFORMS)}"
        )


def as_numbers(y: Any) -> np.ndarray:
    """Return a target as finite float64, or say what stands in the way."""
    numbers = to_numbers(y)
    if numbers.ndim not in (1, 2) or 0 in numbers.shape[1:]:
        raise InputError(f"The target must have one or two dimensions; got shape {numbers.shape}.")
    bad = ~np.isfinite(numbers)
    if bad.any():
        row = int(np.argwhere(bad)[0][0])
        raise not_finite(row, int(bad.sum()), has_nan=bool(np.isnan(numbers).any()))
    return numbers


def to_numbers(y: Any) -> np.ndarray:
    """Return a target as float64, NaN where it is missing, or say that it holds no numbers."""
    values = np.asarray(y)
    try:
        if values.dtype.kind in "mMc":  # dates would become counts of their unit
            raise TypeError
        if values.dtype == object:
            known = [np.nan if value is None else value for value in values.flat]
            values = np.array(known, dtype=object).reshape(values.shape)
        if values.dtype.kind in "OUT" and any(isinstance(value, str) for value in values.flat):
            # Arrow and not Python, which takes 1_000 for a number.
            texts = pa.array([None if v != v else str(v) for v in values.flat], pa.string())
            numbers = texts.cast(pa.float64()).to_numpy(zero_copy_only=False)
            return np.asarray(numbers).reshape(values.shape)
        return values.astype(np.float64)
    except OverflowError:
        raise InputError(
            "The target holds integers that are past all doubles.",
            hint="divide the target by a constant.",
        ) from None
    except (ValueError, TypeError, pa.ArrowInvalid):
        raise InputError(
            f"The target must hold numbers; got {values.ravel()[:1].tolist()[0]!r} first.",
            hint="EmbeddingClassifier learns classes, text included.",
        ) from None


def not_finite(row: int | None, count: int, *, has_nan: bool) -> InputError:
    """Return the error for a target that is not known in some rows."""
    where = "" if row is None else f", first{in_row(row)}"
    return InputError(
        f"Input y contains {'NaN' if has_nan else 'infinity'}{where} ({count} in all).",
        hint="drop the rows whose target is not known.",
    )


def too_large(value: float, row: int | None) -> InputError:
    """Return the error for a target whose squares are past all numbers."""
    return InputError(
        f"The target holds {value:g}{in_row(row)}, and squares of such numbers cannot be added.",
        hint="divide the target by a constant, or drop the rows where it is no real value.",
    )


def transformed(values: np.ndarray, transform: str | None) -> np.ndarray:
    """Return the target on the scale of its transform, or say which values that scale lacks."""
    if transform is None:
        return values
    bad = is_outside(values, transform)
    if bad.any():
        raise outside(transform, values[bad][0], int(np.argwhere(bad)[0][0]), int(bad.sum()))
    if transform == COUNT:
        return values
    return np.asarray(np.log1p(values) if transform == "log1p" else np.log(values))


def is_outside(values: np.ndarray, transform: str | None) -> np.ndarray:
    """Return which values a transform does not take."""
    if transform is None:
        return np.zeros(values.shape, dtype=bool)
    return ~_IS_ALLOWED[transform](values)


def outside(transform: str | None, value: float, row: int | None, count: int) -> InputError:
    """Return the error for a target that its transform does not take."""
    asks = 'loss="poisson"' if transform == COUNT else f"target_transform={transform!r}"
    return InputError(
        f"{asks} needs a target {_ALLOWED[transform or '']}; "
        f"got {value:g}{in_row(row)} ({count} such rows).",
        hint="drop those rows"
        + (', or use "log1p", which takes zeros.' if transform == "log" else "."),
    )
