"""What a model file may hold: its document, described with bounds.

What an array has to be follows from the document, and is checked where both are read.
"""

from typing import Any

import pyarrow as pa

from catspace.data.dates import DATE_PARTS
from catspace.data.lists import MOST_ITEMS
from catspace.data.target import COUNT, TARGET_TRANSFORMS
from catspace.storage.forms import (
    Flag,
    Form,
    FormError,
    ListOf,
    MapOf,
    Maybe,
    Number,
    OneOrList,
    Record,
    Text,
)

MOST_LAYERS = 1000
_LARGEST_SIZE = 2**40  # of anything that is counted; what an array has is bounded by the file
_DEEPEST_PARAMETER = 6
_MOST_DAYS = 1e7  # before or after 1970; Python's dates end sooner

# What the values of each kind are kept as.
KIND_TYPES = {
    "number": (pa.bool_(), pa.int64(), pa.uint64(), pa.float64()),
    "text": (pa.large_string(),),
    "time": (pa.timestamp("us"),),
    "duration": (pa.duration("us"),),
    "clock": (pa.time64("us"),),
    "bytes": (pa.large_binary(),),
}
_ACTIVATION = Text(("identity", "relu", "silu", "gelu", "tanh", "logistic"))
_COUNT = Number(1, _LARGEST_SIZE, is_whole=True)
_NAMES = ListOf(Text(), is_distinct=True)


class _Packed:
    """A parameter of an estimator, as it was packed for JSON."""

    def check(self, value: Any, where: str, depth: int = 0) -> None:
        """Raise where a value cannot be unpacked."""
        if depth > _DEEPEST_PARAMETER:
            raise FormError(where, "a parameter that is nested less deeply", value)
        if isinstance(value, dict):
            kind, items = next(iter(value.items()), ("", None))
            if len(value) != 1 or kind not in ("tuple", "dict") or not isinstance(items, list):
                raise FormError(where, "a packed tuple or dict", value)
            for pair in items if kind == "dict" else ():
                if not isinstance(pair, list) or len(pair) != 2:
                    raise FormError(where, "a packed dict of pairs", pair)
                Maybe(_SCALAR).check(pair[0], where)
            value = items
        if isinstance(value, list):
            for i, item in enumerate(value):
                self.check(item, f"{where}[{i}]", depth + 1)
        else:
            Maybe(_SCALAR).check(value, where)


class _Scalar:
    """A number, text or truth value."""

    def check(self, value: Any, where: str) -> None:
        """Raise where a value is something else."""
        form: Form = Text() if isinstance(value, str) else Number()
        if not isinstance(value, bool):
            form.check(value, where)


_SCALAR = _Scalar()

_SCALING = Record(
    {"centre": Number(), "scale": Number(low=1e-200), "has_missing": Flag()},
)
_ENCODER = Record(
    {
        "categorical": _NAMES,
        "scalings": MapOf(_SCALING),
        "date_parts": ListOf(Text(DATE_PARTS), is_distinct=True),
        "dates": _NAMES,
    },
    optional={
        "bins": MapOf(ListOf(Number(), is_rising=True)),
        "date_formats": MapOf(Text()),
        "first_days": MapOf(Number(-_MOST_DAYS, _MOST_DAYS)),
        "date_zones": MapOf(Text()),  # which files before it lack
        "shared": ListOf(ListOf(Text(), at_least=2, is_distinct=True)),
        "lists": MapOf(
            Record({"longest": Number(1, MOST_ITEMS, is_whole=True), "separator": Maybe(Text())})
        ),
        "hashed": MapOf(
            Record(
                {
                    "n_buckets": Number(1, 2**63 - 1, is_whole=True),
                    "kinds": ListOf(Text(tuple(KIND_TYPES)), is_distinct=True),
                }
            )
        ),
    },
)
_SIZES: dict[str, Form] = {
    "n_rows": ListOf(_COUNT),
    "dims": ListOf(_COUNT),
    "n_outputs": _COUNT,
    "hidden_layer_sizes": ListOf(_COUNT, at_most=MOST_LAYERS),
}
_FUNCTIONS: dict[str, Form] = {
    "input_encoding": Text(("embedding", "onehot")),
    "activation": _ACTIVATION,
    "embedding_activation": _ACTIVATION,
    "output_activation": Text(),  # which one is said by the target
    "dropout": Number(0, 1),
}
_MOST_BINS = 1 << 16
_ARCHITECTURE = Record(
    {**_SIZES, "n_bins": ListOf(Number(0, _MOST_BINS, is_whole=True))},
    optional={
        **_FUNCTIONS,
        "table_of": ListOf(Number(0, is_whole=True)),
        "lists": ListOf(Number(0, MOST_ITEMS, is_whole=True)),
    },
)
# Format 1 had as many bins for each number, some of them empty.
ARCHITECTURE_1 = Record(
    {
        **_SIZES,
        "n_numbers": Number(0, _LARGEST_SIZE, is_whole=True),
        "n_bins": Number(1, _MOST_BINS, is_whole=True),
    },
    optional=_FUNCTIONS,
)
_QUANTILES = ListOf(Number(0, 1), at_least=1, is_rising=True)
_EPOCH = Record(
    {
        "network": Number(0, is_whole=True),
        "epoch": Number(1, is_whole=True),
        "loss": Number(),
        "validation_loss": Maybe(Number()),
        "learning_rate": Number(),
        "seconds": Number(),
    },
    optional={"max_epochs": Number(0, is_whole=True), "stopped": Flag()},
)
_RECIPE = Record(
    {
        "loss": Text(
            (
                *("log_loss", "squared_error", "absolute_error", "huber", "quantile", "poisson"),
                "custom",  # a function, which no file holds
            )
        ),
        "epochs": _COUNT,
        "batch_size": _COUNT,
        "learning_rate": Number(0),
        "weight_decay": Number(0),
    },
    optional={
        "optimizer": Text(("adamw", "adam")),
        "schedule": Text(("cosine", "constant")),
        "initialization": Text(("normal", "uniform")),
        "quantile": OneOrList(Number(0, 1), _QUANTILES),
        "patience": Maybe(_COUNT),
        "smooth": ListOf(Number(0)),
    },
)
NUMBER_TARGET = Record(
    {"transform": Maybe(Text((*TARGET_TRANSFORMS, COUNT))), "is_vector": Flag()},
    optional={"quantiles": _QUANTILES, "shifts": ListOf(Number())},
)
CLASS_TARGET = Record({"dtype": Text()})
_SCHEMA = Record(
    {"names": ListOf(Text(), at_least=1, is_distinct=True), "named": Flag()},
    optional={"target": Maybe(Text())},
)
MODEL = Record(
    {
        "library_version": Text(),
        "estimator": Text(("EmbeddingRegressor", "EmbeddingClassifier", "EmbeddingEncoder")),
        "parameters": MapOf(_Packed()),
        "schema": _SCHEMA,
        "encoder": _ENCODER,
        "backend": Text(),
        "architecture": _ARCHITECTURE,
        "n_networks": _COUNT,
        "history": ListOf(_EPOCH, at_least=1),
    },
    optional={
        "recipe": Maybe(_RECIPE),
        "pairs": ListOf(ListOf(Number(0, is_whole=True))),
        "n_samples": Number(0, _LARGEST_SIZE, is_whole=True),
    },
    is_open=True,  # the target is one of two records
)
