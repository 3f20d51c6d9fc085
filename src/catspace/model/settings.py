"""From an estimator's parameters to an architecture and a recipe, with every "auto" resolved."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import torch

from catspace.exceptions import ParameterError
from catspace.model.network import ACTIVATIONS, Architecture
from catspace.model.recipe import Defaults
from catspace.model.sizes import embedding_dims
from catspace.model.training import Recipe
from catspace.validation import check_int, check_option, check_real

# Of one step: where there are only a few, decay must not eat the weights before they learn.
_LARGEST_SHRINKAGE = 0.05

REGRESSION_LOSSES = ("squared_error", "absolute_error", "huber", "quantile")


def make_architecture(
    parameters: Mapping[str, Any],
    defaults: Defaults,
    *,
    n_rows: Mapping[str, int],
    n_categories: Mapping[str, int],
    n_numbers: int,
    n_outputs: int,
    output_activation: str,
) -> Architecture:
    """Return the shape of the network for columns of these sizes."""
    encoding = check_option("input_encoding", parameters["input_encoding"], ("embedding", "onehot"))
    hidden = _auto(parameters["hidden_layer_sizes"], defaults.hidden_layer_sizes)
    dims = embedding_dims(parameters["embedding_dim"], n_categories)
    return Architecture(
        n_rows=tuple(n_rows.values()),
        dims=tuple(dims.values()),
        n_numbers=n_numbers,
        n_bins=defaults.n_bins,
        n_outputs=n_outputs,
        hidden_layer_sizes=_check_layers(hidden, needs_one=encoding == "onehot"),
        input_encoding=encoding,
        activation=check_option("activation", parameters["activation"], ACTIVATIONS),
        embedding_activation=check_option(
            "embedding_activation", parameters["embedding_activation"], ACTIVATIONS
        ),
        output_activation=output_activation,
        dropout=check_real(
            "dropout", _auto(parameters["dropout"], defaults.dropout), at_least=0, below=1
        ),
    )


def make_recipe(
    parameters: Mapping[str, Any], defaults: Defaults, *, n_rows: int, is_classification: bool
) -> Recipe:
    """Return how the network is trained on so many rows."""
    loss = "log_loss"
    if not is_classification:
        is_transformed = parameters["target_transform"] is not None
        loss = check_option("loss", parameters["loss"], ("auto", *REGRESSION_LOSSES))
        # The median stays the median when its scale is changed; the mean does not. Huber's loss
        # comes close to the median and trains as smoothly as the squared error.
        loss = _auto(loss, "huber" if is_transformed else "squared_error")
    patience = check_int("n_iter_no_change", parameters["n_iter_no_change"])
    epochs = check_int("max_epochs", _auto(parameters["max_epochs"], defaults.max_epochs))
    batch_size = check_int("batch_size", _auto(parameters["batch_size"], defaults.batch_size))
    rate = check_real(
        "learning_rate", _auto(parameters["learning_rate"], defaults.learning_rate), above=0
    )
    schedule = check_option("schedule", parameters["schedule"], ("cosine", "constant"))
    n_steps = epochs * math.ceil(n_rows / batch_size)
    mean_rate = rate / 2 if schedule == "cosine" else rate
    decay = min(defaults.shrinkage / (mean_rate * n_steps), _LARGEST_SHRINKAGE / rate)
    optimizer = check_option("optimizer", parameters["optimizer"], ("adamw", "adam"))
    # Paper: plain Adam, without any decay.
    decay = _auto(parameters["weight_decay"], decay if optimizer == "adamw" else 0.0)
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
        quantile=check_real("quantile", parameters.get("quantile", 0.5), above=0, below=1),
        patience=patience if parameters["early_stopping"] else None,
    )


def make_device(device: Any) -> torch.device:
    """Return the device to compute on; "auto" takes a GPU where there is one."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        chosen = torch.device(device)
        torch.empty(0, device=chosen)
    except (RuntimeError, TypeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise ParameterError(
            f'device must be "auto" or a device of torch that is here, such as "cpu"; '
            f"got {device!r} ({reason})."
        ) from None
    return chosen


def _check_layers(sizes: Any, *, needs_one: bool) -> tuple[int, ...]:
    if isinstance(sizes, (int, np.integer)):
        sizes = (sizes,)
    if not isinstance(sizes, Iterable) or isinstance(sizes, str):
        raise ParameterError(f"hidden_layer_sizes must be a tuple of ints; got {sizes!r}.")
    layers = tuple(check_int("each of hidden_layer_sizes", size) for size in sizes)
    if needs_one and not layers:
        raise ParameterError('input_encoding="onehot" needs at least one hidden layer.')
    return layers


def _auto(value: Any, default: Any) -> Any:
    return default if isinstance(value, str) and value == "auto" else value
