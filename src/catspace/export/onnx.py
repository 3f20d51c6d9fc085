"""A fitted model -> an ONNX graph: raw values in, predictions out, without Python or torch between.

The graph has an input of shape (rows, 1) for each column of the table, under the column's name.
Text comes as strings, and numbers come as doubles, whether they are categories or not; only
integers that a double cannot hold exactly come as int64. A double is missing when it is NaN. The
other two types have no such value, so one is set apart: the empty text and the smallest int64,
unless they are categories themselves. The metadata of the graph says it of every column.
"""

from collections.abc import Iterable
from itertools import count
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.utils.validation import check_is_fitted

from catspace.data.bins import Bins
from catspace.data.hashing import HashedVocabulary
from catspace.data.kinds import LARGEST_EXACT, describe_kinds
from catspace.data.scaling import BEND, Scaling
from catspace.data.table import Column
from catspace.data.target import (
    LARGEST_EXPONENT,
    TARGET_TRANSFORMS,
    ClassTarget,
    RegressionTarget,
)
from catspace.data.vocabulary import MISSING, SPECIAL_NAMES, UNSEEN, Vocabulary
from catspace.estimators import EmbeddingEncoder
from catspace.estimators.base import EmbeddingEstimator
from catspace.exceptions import InputError, InputTypeError
from catspace.export.onnx_graph import Graph, ModelProto, TensorProto, numpy_helper
from catspace.model.architecture import Architecture
from catspace.model.inputs import OneHotInput
from catspace.model.network import EntityNetwork
from catspace.model.outputs import FARTHEST_EXPONENT
from catspace.model.pairs import PairMeans

_ACTIVATIONS = {"relu": "Relu", "gelu": "Gelu", "tanh": "Tanh", "logistic": "Sigmoid"}
# Bent numbers are all the same from here on, and the square of this is far from overflowing.
_FAR_OUT = 1e8

_AS_TEXT = "turn the column into text before fitting."


def to_onnx(model: EmbeddingEstimator) -> ModelProto:
    """Return a fitted model as an ONNX graph that takes the columns of a table as they are.

    Parameters
    ----------
    model : EmbeddingRegressor, EmbeddingClassifier or EmbeddingEncoder

    Returns
    -------
    onnx.ModelProto
        With an input of shape (rows, 1) for each column, and these outputs:

        - regressor: ``prediction``, double of shape (rows, n_outputs); of several quantiles one
          column each, as the entry ``quantiles`` of the metadata has them
        - classifier: ``label`` of shape (rows,) and ``probabilities``, double of shape
          (rows, n_classes)
        - encoder: ``features``, float of shape (rows, n_features)

        The entry ``inputs`` of its metadata is a JSON list that names each input's type and the
        value that stands for a missing one.

    Raises
    ------
    InputError
        Where a graph cannot do what the model does: dates, hashes, categories of several types,
        and ``handle_unknown="error"``.

    Examples
    --------
    >>> from catspace import EmbeddingClassifier, to_onnx
    >>> X = {"colour": ["red", "blue", "red", "blue"] * 10}
    >>> y = ["hot", "cold", "hot", "cold"] * 10
    >>> graph = to_onnx(EmbeddingClassifier(random_state=0).fit(X, y)).graph
    >>> [i.name for i in graph.input], [o.name for o in graph.output]
    (['colour'], ['label', 'probabilities'])
    """
    if not isinstance(model, EmbeddingEstimator):
        raise InputTypeError(f"A model of catspace is needed; got {type(model).__name__}.")
    check_is_fitted(model)
    learned = model.fitted_.learned
    encoder, target, columns = learned.encoder, learned.target, learned.schema.names
    _refuse_what_no_graph_does(model)

    graph = Graph(columns)
    codes = [
        _add_bins(graph, name, encoder.bins[name], vocabulary)
        if name in encoder.bins
        else _add_lookup(graph, name, vocabulary)
        for name, vocabulary in encoder.vocabularies.items()
    ]
    features = [
        feature
        for name, scaling in encoder.scalings.items()
        for feature in _add_number(graph, name, scaling)
    ]
    numbers = graph.add("Concat", *features, axis=1) if features else None
    pairs = model.networks_[0].pairs  # all networks are told the same

    metadata: dict[str, Any] = {}
    if isinstance(model, EmbeddingEncoder):
        _add_features(graph, model, codes, numbers)
        metadata["features"] = model.get_feature_names_out().tolist()
    else:
        if pairs is not None:
            features += _add_pairs(graph, pairs, codes)
            numbers = graph.add("Concat", *features, axis=1)
        outputs = [
            graph.add("Cast", _add_network(graph, network, codes, numbers), to=TensorProto.DOUBLE)
            for network in model.networks_
        ]
        if isinstance(target, ClassTarget):
            classes = _plain_classes(target.classes)
            _add_classes(graph, classes, outputs)
            metadata["classes"] = classes.tolist()
        else:
            _add_prediction(graph, target, outputs)
            if target.quantiles:
                metadata["quantiles"] = list(target.quantiles)
    return graph.to_model(
        f"{type(model).__name__} of {len(model.networks_)} network(s) on {len(columns)} column(s).",
        columns,
        metadata,
    )


def _refuse_what_no_graph_does(model: EmbeddingEstimator) -> None:
    if model.handle_unknown == "error":
        raise InputError(
            'handle_unknown="error" cannot be kept: an ONNX graph raises no errors.',
            hint='model.set_params(handle_unknown="mean") gives unseen categories a '
            "vector of their own.",
        )
    learned = model.fitted_.learned
    for name in learned.encoder.dates.names:
        raise InputError(
            f"Column {name!r} holds dates, and an ONNX graph has no calendar to expand them by.",
            hint="put their parts into the table as columns of their own before fitting.",
        )
    for name in learned.encoder.lists:
        raise InputError(
            f"Column {name!r} holds lists, and an input of the ONNX graph has one value for a row.",
            hint="serve the model itself, or fit without the column.",
        )
    for name, vocabulary in learned.encoder.vocabularies.items():
        if isinstance(vocabulary, HashedVocabulary):
            raise InputError(
                f"Column {name!r} is hashed into buckets, and an ONNX graph has no such hash.",
                hint="fit with max_categories in place of hash_buckets.",
            )
    if "" in learned.schema.names:
        raise InputError(
            "A column has no name, and every input of an ONNX graph needs one.",
            hint="name the column before fitting.",
        )


def _add_lookup(graph: Graph, name: str, vocabulary: Vocabulary) -> str:
    """Add a column of categories; return the name of its codes, int64 of shape (rows,)."""
    keys, rows = _keys(name, vocabulary)
    missing = _missing_value(keys)
    graph.add_input(name, keys.dtype, holds="category", missing=missing)
    if keys.dtype == np.float64:
        # The standard compares bits, and -0.0 has others than 0.0.
        keys, rows = np.append(keys, -keys[keys == 0]), np.append(rows, rows[keys == 0])
    else:
        keys, rows = np.append(keys, np.array([missing], keys.dtype)), np.append(rows, MISSING)
    codes = graph.add(
        "LabelEncoder",
        name,
        keys_tensor=numpy_helper.from_array(keys),
        values_tensor=numpy_helper.from_array(rows),
        default_tensor=numpy_helper.from_array(np.array([UNSEEN])),
    )
    if keys.dtype == np.float64:
        codes = graph.add("Where", graph.add("IsNaN", name), np.int64(MISSING), codes)
    return graph.add("Squeeze", codes, np.array([1]))


def _keys(name: str, vocabulary: Vocabulary) -> tuple[np.ndarray, np.ndarray]:
    """Return the categories of a column, in a type that ONNX looks up, and the row of each."""
    kinds = list(vocabulary.values) or ["text"]  # nothing but missing values in fit
    if len(kinds) > 1 or kinds[0] not in ("text", "number"):
        raise InputError(
            f"Column {name!r} has categories of {describe_kinds(kinds)}, and an ONNX graph looks "
            "up text or numbers, not both.",
            hint=_AS_TEXT,
        )
    if not vocabulary.values:
        return np.array([], dtype=object), np.array([], dtype=np.int64)
    keys = vocabulary.values[kinds[0]].to_numpy(zero_copy_only=False)
    rows = vocabulary.rows[kinds[0]]
    if kinds[0] == "text":
        return keys.astype(object), rows
    if keys.dtype == np.uint64:
        raise InputError(
            f"Column {name!r} has categories of 2**63 and more, which no ONNX graph looks up.",
            hint=_AS_TEXT,
        )
    if keys.dtype == np.int64 and (keys[0] <= -LARGEST_EXACT or keys[-1] >= LARGEST_EXACT):
        return keys, rows  # sorted, so these are the extremes
    return keys.astype(np.float64), rows


def _missing_value(keys: np.ndarray) -> Any:
    """Return what stands for a missing value: something that is no category."""
    if keys.dtype == np.float64:
        return "NaN"
    candidates: Iterable[Any] = count(np.iinfo(np.int64).min)
    if keys.dtype == object:  # the empty text, as in CSV files, or else (missing)
        candidates = (n * SPECIAL_NAMES[MISSING] for n in count())
    known = set(keys.tolist())
    return next(value for value in candidates if value not in known)


def _add_bins(graph: Graph, name: str, bins: Bins, vocabulary: Vocabulary) -> str:
    """Add a column of numbers that is cut into categories; return the name of its codes."""
    graph.add_input(name, np.float64, holds="number, cut into bins")
    labels = pa.array(bins.labels)
    rows = vocabulary.encode(Column(name, ((None, labels),), len(labels)))
    edges = np.array(bins.edges, dtype=np.float64)
    is_past = graph.add("GreaterOrEqual", name, edges)  # (rows, n_edges)
    n_past = graph.add("ReduceSum", graph.add("Cast", is_past, to=TensorProto.INT64), np.array([1]))
    # One more entry at the end: where the number is missing.
    bin_ = graph.add("Where", graph.add("IsNaN", name), np.int64(len(rows)), n_past)
    codes = np.append(rows, MISSING).astype(np.int64)
    return graph.add("Gather", codes, graph.add("Squeeze", bin_, np.array([1])))


def _add_number(graph: Graph, name: str, scaling: Scaling) -> list[str]:
    """Add a column of numbers; return the names of its features, float of shape (rows, 1)."""
    graph.add_input(name, np.float64, holds="number")
    is_missing = graph.add("IsNaN", name)
    z = graph.add("Sub", name, np.float64(scaling.centre))
    z = graph.add("Div", z, np.float64(scaling.scale))
    z = graph.add("Where", is_missing, np.float64(0), z)
    z = graph.add("Clip", z, np.float64(-_FAR_OUT), np.float64(_FAR_OUT))
    part = graph.add("Div", z, np.float64(BEND))
    square = graph.add("Mul", part, part)
    z = graph.add("Div", z, graph.add("Sqrt", graph.add("Add", square, np.float64(1))))
    values = [z, is_missing] if scaling.has_missing else [z]
    return [graph.add("Cast", value, to=TensorProto.FLOAT) for value in values]


def _add_pairs(graph: Graph, means: PairMeans, codes: list[str]) -> list[str]:
    """Add what is told about pairs; return the names of it, float of shape (rows, n_values)."""
    keys, told, begin = _array(means.keys), [], 0
    for first, second in means.pairs:
        factor, end = means.n_codes[second], begin + means.n_codes[first] * means.n_codes[second]
        key = graph.add("Add", graph.add("Mul", codes[first], np.int64(factor)), codes[second])
        places = np.arange(*np.searchsorted(keys, [begin, end]))
        # Where no pair was met, a key that none has: an encoder needs one at least.
        known = keys[places] - begin if len(places) else np.array([-1])
        place = graph.add(
            "LabelEncoder",
            key,
            keys_tensor=numpy_helper.from_array(known),
            values_tensor=numpy_helper.from_array(places if len(places) else np.array([-1])),
            default_tensor=numpy_helper.from_array(np.array([len(keys)])),  # nothing is known
        )
        told.append(graph.add("Gather", _array(means.values), place))
        begin = end
    return told


def _add_features(
    graph: Graph, model: EmbeddingEstimator, codes: list[str], numbers: str | None
) -> None:
    """Add what `transform` gives."""
    parts = [
        vectors
        for tables in model.fitted_.feature_tables(model.feature_networks)
        for vectors in _add_vectors(graph, tables, codes)
    ]
    parts += [numbers] if numbers else []
    features = graph.add("Concat", *parts, axis=1)
    graph.add_output("features", features, np.float32, len(model.get_feature_names_out()))


def _add_vectors(graph: Graph, tables: list[np.ndarray], codes: list[str]) -> list[str]:
    return [graph.add("Gather", table, code) for table, code in zip(tables, codes, strict=True)]


def _add_network(
    graph: Graph, network: EntityNetwork, codes: list[str], numbers: str | None
) -> str:
    """Add a network; return the name of its outputs, float of shape (rows, n_outputs)."""
    architecture = network.architecture
    # With the activation of the embeddings applied already.
    parts = _add_vectors(graph, network.input.vectors(), codes)
    wide = _add_pieces(graph, network, numbers) if numbers else None
    if isinstance(network.input, OneHotInput):
        if wide:
            parts.append(graph.add("MatMul", wide, _array(network.input.numbers).T))
        x = graph.add("Sum", *parts, _array(network.input.bias))
        x = _activate(graph, x, architecture.activation)
    else:
        x = graph.add("Concat", *parts, *([wide] if wide else []), axis=1)
    *hidden, last = network.dense_layers
    for layer in hidden:
        x = graph.add("Gemm", x, _array(layer.weight), _array(layer.bias), transB=1)
        x = _activate(graph, x, architecture.activation)
    x = graph.add("Gemm", x, _array(last.weight), _array(last.bias), transB=1)
    return _add_outputs(graph, x, architecture)


def _add_pieces(graph: Graph, network: EntityNetwork, numbers: str) -> str:
    """Add the bins of the numbers; return the name of both, side by side."""
    pieces = network.numbers
    if not len(pieces.number_of):
        return numbers
    x = graph.add("Gather", numbers, _array(pieces.number_of), axis=1)  # (rows, sum of n_bins)
    x = graph.add("Mul", graph.add("Sub", x, _array(pieces.lower)), _array(pieces.slope))
    x = graph.add("Clip", x, np.float32(0), np.float32(1))
    return graph.add("Concat", numbers, x, axis=1)


def _activate(graph: Graph, x: str, activation: str) -> str:
    if activation == "identity":
        return x
    if activation == "silu":
        return graph.add("Mul", x, graph.add("Sigmoid", x))
    return graph.add(_ACTIVATIONS[activation], x)


def _add_outputs(graph: Graph, x: str, architecture: Architecture) -> str:
    """Add what the last layer applies; see `catspace.model.outputs`."""
    activation = architecture.output_activation.removeprefix("rising").removeprefix("_")
    if architecture.output_activation.startswith("rising"):
        x = graph.add("TopK", x, np.array([architecture.n_outputs]), axis=1, largest=0)
    if activation == "exp":
        farthest = np.float32(FARTHEST_EXPONENT)
        return graph.add("Exp", graph.add("Clip", x, -farthest, farthest))
    return _activate(graph, x, activation or "identity")


def _add_prediction(graph: Graph, target: RegressionTarget, outputs: list[str]) -> None:
    """Add what a regressor predicts, on the user's scale."""
    x = _add_mean(graph, outputs)
    if target.shifts:
        x = graph.add("Add", x, np.array(target.shifts))
    x = graph.add("Mul", x, target.scale)
    x = graph.add("Add", x, target.centre)
    if target.transform in TARGET_TRANSFORMS:
        x = graph.add("Exp", graph.add("Min", x, np.float64(LARGEST_EXPONENT)))
    if target.transform == "log1p":
        x = graph.add("Sub", x, np.float64(1))
    graph.add_output("prediction", x, np.float64, target.n_outputs)


def _add_classes(graph: Graph, classes: np.ndarray, outputs: list[str]) -> None:
    """Add what a classifier predicts: the label, and the probability of each class."""
    shares = _add_mean(graph, [graph.add("Softmax", output, axis=1) for output in outputs])
    best = graph.add("ArgMax", shares, axis=1, keepdims=0)
    graph.add_output("label", graph.add("Gather", classes, best), classes.dtype)
    graph.add_output("probabilities", shares, np.float64, len(classes))


def _add_mean(graph: Graph, values: list[str]) -> str:
    total = graph.add("Sum", *values)
    return graph.add("Div", total, np.float64(len(values)))


def _plain_classes(classes: np.ndarray) -> np.ndarray:
    """Return the labels in a type that ONNX has."""
    if all(isinstance(label, str) for label in classes):
        return classes.astype(object)  # numpy's own text would lose a NUL at its end
    if classes.dtype == object:
        classes = np.array(classes.tolist())
    is_too_large = classes.dtype == np.uint64 and classes[-1] > np.iinfo(np.int64).max
    if classes.dtype.kind not in "biufU" or is_too_large:
        raise InputError(
            f"The classes are of the type {classes.dtype}, which no ONNX graph returns: "
            f"{classes[0]!r} is one.",
            hint="turn the target into text before fitting.",
        )
    plain = {"b": np.bool_, "i": np.int64, "u": np.int64, "f": np.float64, "U": np.object_}
    return classes.astype(plain[classes.dtype.kind])


def _array(weights: Any) -> np.ndarray:
    return np.asarray(weights.detach().cpu().numpy())
