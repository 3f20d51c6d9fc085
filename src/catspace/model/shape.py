"""An estimator's parameters and the sizes of its columns -> the shape of its networks."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from catspace.exceptions import ParameterError
from catspace.model.architecture import Architecture
from catspace.model.layers import ACTIVATIONS
from catspace.model.recipe import defaults_for, resolve
from catspace.model.sizes import embedding_dims
from catspace.model.starts import given_dims
from catspace.preparation.given import GivenVectors
from catspace.storage.model_form import MOST_LAYERS
from catspace.validation import check_int, check_option, check_real


def make_architecture(
    parameters: Mapping[str, Any],
    *,
    n_samples: int,
    n_codes: Sequence[int],
    n_values: Mapping[str, int],
    n_bins: Sequence[int],
    n_outputs: int,
    output_activation: str,
    given: Mapping[str, GivenVectors],
    table_of: tuple[int, ...] = (),
    lists: tuple[int, ...] = (),
) -> Architecture:
    """Return the shape of the network for columns of these sizes."""
    defaults = defaults_for(n_samples)
    if parameters.get("shared_vectors") and parameters["input_encoding"] == "onehot":
        raise ParameterError(
            'input_encoding="onehot" has no vectors that columns could share: with the same '
            "weights it could not tell them apart.",
            hint='leave shared_vectors out, or input_encoding at "embedding".',
        )
    for name, kept in (("input_encoding", "embedding"), ("embedding_activation", "identity")):
        if given and parameters[name] != kept:
            raise ParameterError(
                f"initial_vectors are what the first hidden layer reads, and "
                f'{name}="{parameters[name]}" would make something else of them.',
                hint=f'leave {name} at "{kept}".',
            )
    encoding = check_option("input_encoding", parameters["input_encoding"], ("embedding", "onehot"))
    hidden = resolve(parameters["hidden_layer_sizes"], defaults.hidden_layer_sizes)
    dropout = resolve(parameters["dropout"], defaults.dropout)
    wanted = parameters["embedding_dim"]
    dims = embedding_dims(wanted, n_values, given_dims(wanted, given))
    return Architecture(
        n_codes=tuple(n_codes),
        dims=tuple(dims[column] for column in n_values),
        n_bins=tuple(n_bins),
        n_outputs=n_outputs,
        hidden_layer_sizes=_check_layers(hidden, needs_one=encoding == "onehot"),
        input_encoding=encoding,
        activation=check_option("activation", parameters["activation"], ACTIVATIONS),
        embedding_activation=check_option(
            "embedding_activation", parameters["embedding_activation"], ACTIVATIONS
        ),
        output_activation=output_activation,
        dropout=check_real("dropout", dropout, at_least=0, below=1),
        table_of=table_of,
        lists=lists,
    )


def _check_layers(sizes: Any, *, needs_one: bool) -> tuple[int, ...]:
    if isinstance(sizes, (int, np.integer)):
        sizes = (sizes,)
    if not isinstance(sizes, Iterable) or isinstance(sizes, str):
        raise ParameterError(f"hidden_layer_sizes must be a tuple of ints; got {sizes!r}.")
    layers = tuple(check_int("each of hidden_layer_sizes", size) for size in sizes)
    if len(layers) > MOST_LAYERS:  # which a model file may not have either
        raise ParameterError(
            f"hidden_layer_sizes may have {MOST_LAYERS} layers at most; got {len(layers)}."
        )
    if needs_one and not layers:
        raise ParameterError('input_encoding="onehot" needs at least one hidden layer.')
    return layers
