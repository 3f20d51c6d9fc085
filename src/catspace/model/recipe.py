"""How networks are trained, and what "auto" means for a table with this many rows.

A small table needs more passes in smaller batches and more dropout against overfitting, a large
one fewer passes, larger batches and hardly any dropout. Between, everything moves smoothly with
the number of rows. The constants were chosen on validation parts of the Rossmann data and of the
tables in docs/defaults.md, never on their test rows.
"""

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from torch import Tensor

from catspace.exceptions import ParameterError
from catspace.validation import check_column_names, check_int, check_option, check_real

REGRESSION_LOSSES = ("squared_error", "absolute_error", "huber", "quantile", "poisson")

# Of outputs of shape (batch, n_outputs) and a target of shape (batch, n_columns), both on the scale
# that networks learn on, to losses of shape (batch,).
LossFunction = Callable[[Tensor, Tensor], Tensor]
# What a model file says of a loss that somebody has brought along: it holds no code.
CUSTOM = "custom"

# One number, or several that rise and are predicted side by side.
Quantile = float | tuple[float, ...]

# Of one step: where there are only a few, decay must not eat the weights before they learn.
_LARGEST_SHRINKAGE = 0.05

# Where a target is mostly noise, and so many columns are numbers. On held-back rows of imdb, whole,
# with half of its numbers, without its directors and as classes, this took 0 to 6 % off the error.
_DROPOUT_OF_NOISE, _MANY_NUMBERS = 0.3, 80


@dataclass(frozen=True)
class Recipe:
    """How a network is trained; nothing here is "auto" any more."""

    loss: str | LossFunction
    epochs: int
    batch_size: int
    learning_rate: float
    weight_decay: float
    optimizer: str = "adamw"
    schedule: str = "cosine"
    initialization: str = "normal"
    quantile: Quantile = 0.5
    patience: int | None = None
    # For each embedded column, in rows; see `catspace.model.evidence`. Empty is 0 for all of them.
    smooth: tuple[float, ...] = ()

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> "Recipe":
        """Return the recipe that a model file holds."""
        listed = {name: tuple(value) for name, value in state.items() if isinstance(value, list)}
        return cls(**{**state, **listed})

    def to_state(self) -> dict[str, Any]:
        """Return the recipe as a model file holds it, without a loss that is a function."""
        return {**asdict(self), "loss": self.loss if isinstance(self.loss, str) else CUSTOM}

    def cut_short(self, epochs: int) -> "Recipe":
        """Return the recipe with so many epochs; decay is stated for a training as a whole.

        Also in a short one it does not eat the weights before they learn.
        """
        most = max(self.weight_decay, _LARGEST_SHRINKAGE / self.learning_rate)
        decay = min(self.weight_decay * (self.epochs / epochs), most)
        return replace(self, epochs=epochs, weight_decay=decay)

    def for_fewer_rows(self, n_samples: int, n_fewer: int) -> "Recipe":
        """Return the recipe for a trial on some of the rows, or on all of them.

        It has smaller batches and more epochs, as tables with so many rows have. Who asks for a
        thousand epochs and early stopping does not want them in trials.
        """
        whole, fewer = defaults_for(n_samples), defaults_for(n_fewer)
        share = min(1.0, self.epochs / whole.max_epochs)
        found = self.cut_short(max(1, round(share * fewer.max_epochs)))
        batch_size = max(1, self.batch_size * fewer.batch_size // whole.batch_size)
        steps, fewer_steps = math.ceil(n_samples / self.batch_size), math.ceil(n_fewer / batch_size)
        decay = found.weight_decay * (steps / fewer_steps)
        return replace(found, batch_size=batch_size, weight_decay=decay)

    def is_smooth(self, n_columns: int) -> list[bool]:
        """Return whether each of so many embedded columns is smoothed."""
        return [value > 0 for value in self.smooth] if self.smooth else [False] * n_columns


@dataclass(frozen=True)
class Defaults:
    """The values that "auto" stands for."""

    hidden_layer_sizes: tuple[int, ...]
    n_bins: int  # pieces into which the range of a number is cut
    dropout: float
    max_epochs: int
    batch_size: int
    learning_rate: float  # the peak of the schedule
    # How far weight decay alone would shrink a weight over the whole training: to exp(-shrinkage).
    # Stated this way one number serves 100 steps and 100,000.
    shrinkage: float


def defaults_for(n_samples: int) -> Defaults:
    """Return the defaults for a training table.

    Examples
    --------
    >>> small, large = defaults_for(200), defaults_for(200_000)
    >>> small.batch_size, small.max_epochs, small.dropout
    (32, 28, 0.2)
    >>> large.batch_size, large.max_epochs, large.dropout
    (512, 10, 0.0)
    """
    n_samples = max(1, n_samples)
    return Defaults(
        hidden_layer_sizes=(256, 128),
        n_bins=16,
        dropout=round(_clamp(0.1 * math.log10(1e5 / n_samples), 0.0, 0.2), 3),
        max_epochs=round(_clamp(10 * (200_000 / n_samples) ** 0.15, 5, 30)),
        batch_size=int(_clamp(2 ** round(math.log2(math.sqrt(n_samples))), 32, 4096)),
        learning_rate=1e-2,
        shrinkage=2.5,
    )


def dropout_of_noise(dropout: float, n_numbers: int) -> float:
    """Return the dropout where a target is mostly noise, in place of that for the number of rows.

    Nothing smooths columns of numbers as it smooths categories, and many of them are learned by
    heart as rare categories are.

    Examples
    --------
    >>> dropout_of_noise(0.1, 0), dropout_of_noise(0.1, 40), dropout_of_noise(0.1, 160)
    (0.1, 0.2, 0.3)
    """
    share = min(1.0, n_numbers / _MANY_NUMBERS)
    return round(dropout + share * max(0.0, _DROPOUT_OF_NOISE - dropout), 3)


def make_recipe(
    parameters: Mapping[str, Any], *, n_samples: int, is_classification: bool
) -> Recipe:
    """Return how a network is trained on so many rows, by an estimator's parameters."""
    defaults = defaults_for(n_samples)
    loss: str | LossFunction = "log_loss"
    if not is_classification:
        is_transformed = parameters["target_transform"] is not None
        loss = _check_loss(parameters["loss"])
        # The median stays the median when its scale is changed; the mean does not. Huber's loss
        # comes close to the median and trains as smoothly as the squared error.
        loss = resolve(loss, "huber" if is_transformed else "squared_error")
        if loss == "poisson" and is_transformed:
            raise ParameterError(
                f'loss="poisson" learns the logarithm of the mean itself, and '
                f"target_transform={parameters['target_transform']!r} would take another one.",
                hint="leave target_transform at None.",
            )
    quantile = check_quantile(parameters.get("quantile", 0.5))
    if isinstance(quantile, tuple) and loss not in ("quantile", "log_loss"):
        raise ParameterError(
            f"quantile={list(quantile)} asks for several quantiles, and the loss is "
            f"{parameters['loss']!r}.",
            hint='loss="quantile" learns them.',
        )
    patience = check_int("n_iter_no_change", parameters["n_iter_no_change"])
    epochs = check_int("max_epochs", resolve(parameters["max_epochs"], defaults.max_epochs))
    batch_size = check_int("batch_size", resolve(parameters["batch_size"], defaults.batch_size))
    rate = check_real(
        "learning_rate", resolve(parameters["learning_rate"], defaults.learning_rate), above=0
    )
    schedule = check_option("schedule", parameters["schedule"], ("cosine", "constant"))
    n_steps = epochs * math.ceil(n_samples / batch_size)
    mean_rate = rate / 2 if schedule == "cosine" else rate
    decay = min(defaults.shrinkage / (mean_rate * n_steps), _LARGEST_SHRINKAGE / rate)
    optimizer = check_option("optimizer", parameters["optimizer"], ("adamw", "adam"))
    # Paper: plain Adam, without any decay.
    decay = resolve(parameters["weight_decay"], decay if optimizer == "adamw" else 0.0)
    return Recipe(
        loss=loss,
        epochs=epochs,
        batch_size=batch_size,
        learning_rate=rate,
        weight_decay=check_real("weight_decay", decay, at_least=0),
        optimizer=optimizer,
        schedule=schedule,
        initialization=check_option(
            "initialization", parameters["initialization"], ("normal", "uniform")
        ),
        quantile=quantile,
        patience=patience if parameters["early_stopping"] else None,
    )


def _check_loss(loss: Any) -> str | LossFunction:
    if callable(loss) and not isinstance(loss, type):
        return loss  # type: ignore[no-any-return]
    if isinstance(loss, str) and loss == CUSTOM:
        raise ParameterError(
            'loss="custom" stands for a function that the model was fitted with, and a model file '
            "holds no code.",
            hint="give the function again: model.set_params(loss=function).",
        )
    return check_option("loss", loss, ("auto", *REGRESSION_LOSSES))


def check_quantile(value: Any) -> Quantile:
    """Return a quantile, or several that rise.

    Examples
    --------
    >>> check_quantile([0.1, 0.5, 0.9])
    (0.1, 0.5, 0.9)
    """
    is_listed = isinstance(value, (list, tuple, np.ndarray)) and np.shape(value) != ()
    if not is_listed:
        return check_real("quantile", value, above=0, below=1)
    quantiles = tuple(check_real("each quantile", one, above=0, below=1) for one in value)
    if not quantiles:
        raise ParameterError(
            f"quantile must be a number, or a list of at least one; got {value!r}."
        )
    if any(low >= high for low, high in pairwise(quantiles)):
        raise ParameterError(
            f"quantile must be a list that rises, each once; got {list(quantiles)}.",
            hint=f"quantile={sorted({*quantiles})}",
        )
    return quantiles


def check_smooth(smooth: Any, columns: Collection[str] | None = None) -> dict[str, float | None]:
    """Return what an estimator's `smooth` says of each column; None where the data is to say it.

    Parameters
    ----------
    smooth : object
        "auto", a number, or a dict of column to either.
    columns : collection of str, optional
        The embedded columns; without them only values are checked.
    """
    is_by_column = isinstance(smooth, Mapping)
    wanted = dict(smooth) if is_by_column else dict.fromkeys(columns or ("",), smooth)
    if is_by_column and columns is not None:
        check_column_names("smooth", wanted, columns, "a categorical column")
    values = {column: _check_strength(value) for column, value in wanted.items()}
    return values if columns is None else {column: values.get(column) for column in columns}


def _check_strength(value: Any) -> float | None:
    if isinstance(value, str) and value == "auto":
        return None
    try:
        return check_real("smooth", value, at_least=0)
    except ParameterError:
        raise ParameterError(
            f'smooth must be "auto", a number of at least 0, or a dict of column to either; '
            f"got {value!r}."
        ) from None


def resolve(value: Any, default: Any) -> Any:
    """Return the default for "auto", and any other value as it is."""
    return default if isinstance(value, str) and value == "auto" else value


def _clamp(value: float, low: float, high: float) -> float:
    return max(low, min(value, high))
