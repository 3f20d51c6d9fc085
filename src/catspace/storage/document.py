"""The document and the arrays of a model file: what they may be, checked before anything is built.

A checksum says that a file is whole, not that it means well. So all that is read out of one is
described here, with bounds: the document by `MODEL`, the names of columns by what each is used
as, and every array by the type and shape that the document gives it. What agrees with that can be
built without asking for more memory than the file itself takes, and nothing that is built meets a
key, a type or a length that it does not expect.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from catspace.data.dates import ELAPSED, is_date_format, is_zone
from catspace.data.groups import first_of, tables_of
from catspace.data.kinds import is_text
from catspace.data.target import COUNT, output_activation
from catspace.data.vocabulary import N_SPECIAL, RARE
from catspace.exceptions import ModelFileError, ParameterError
from catspace.storage import model_file
from catspace.storage.forms import FormError
from catspace.storage.model_form import (
    ARCHITECTURE_1,
    CLASS_TARGET,
    KIND_TYPES,
    MODEL,
    NUMBER_TARGET,
)

_PARTS = ("values", "rows")  # of the arrays of a vocabulary, for each kind


def read_model(path: str | Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read a model file whose document and arrays are what a model is made of.

    Returns
    -------
    document : dict
    arrays : dict of str to numpy or Arrow array

    Raises
    ------
    ModelFileError
        If the file cannot be read, or holds something else than a model.
    """
    document, arrays = model_file.read(path)
    with refusing(path):
        if document["format_version"] == 1:
            document, arrays = _from_format_1(document, arrays)
        MODEL.check(document, "")
        _check_columns(document["schema"], document["encoder"])
        _check_vocabularies(document["encoder"], arrays)
        _check_target(document, arrays)
        _check_architecture(document, arrays)
    return document, arrays


def _from_format_1(
    document: dict[str, Any], arrays: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the document and the arrays of an earlier format as they are written now."""
    shape = document.get("architecture")
    ARCHITECTURE_1.check(shape, "architecture")
    wide = {**document["architecture"]}
    n_numbers, n_bins = wide.pop("n_numbers"), wide["n_bins"]
    flat = {
        name: check_array(arrays, name, np.float32, (n_numbers, n_bins)).ravel()
        for name in sorted(arrays)
        if name.endswith((".numbers.lower", ".numbers.slope"))
    }
    if not flat:
        raise FormError("the file", "one with the bins of numbers", sorted(arrays))
    wide["n_bins"] = [n_bins] * n_numbers  # which is no more than the file has of them
    return {**document, "architecture": wide}, {**arrays, **flat}


@contextmanager
def refusing(path: str | Path) -> Iterator[None]:
    """Turn what does not fit together into a sentence about the file."""
    try:
        yield
    except (FormError, ParameterError) as error:
        reason = str(error).splitlines()[0].removesuffix(".")
        raise ModelFileError(
            f"{str(path)!r} holds no model that catspace could have written: {reason}.",
            hint="its checksum is right, so that somebody made it so; take models only from those "
            "you trust.",
        ) from None


def check_array(
    arrays: Mapping[str, Any], name: str, dtype: type[np.generic], shape: tuple[int, ...]
) -> np.ndarray:
    """Return a numpy array of a file, which has a type and a shape."""
    array = _get(arrays, name)
    if not isinstance(array, np.ndarray) or array.dtype != dtype or array.shape != shape:
        is_numpy = isinstance(array, np.ndarray)
        got = (str(array.dtype), array.shape) if is_numpy else str(array.type)
        raise FormError(f"the array {name!r}", f"{dtype.__name__} of shape {shape}", got)
    return array


def _get(arrays: Mapping[str, Any], name: str) -> Any:
    if name not in arrays:
        raise FormError("the file", f"one with an array {name!r}", sorted(arrays))
    return arrays[name]


def _check_columns(schema: Mapping[str, Any], encoder: Mapping[str, Any]) -> None:
    """Raise where the columns that the encoder reads are not those of the table, each once."""
    for what, names in (
        ("encoder.dates", encoder["dates"]),
        ("encoder.bins", encoder.get("bins", {})),
    ):
        if not {*names} <= {*schema["names"]}:
            raise FormError(what, f"among {schema['names']!r}", list(names))
    expanded: list[str] = []
    parts = dict.fromkeys(encoder["dates"], encoder["date_parts"])
    for name in schema["names"]:
        expanded += [f"{name}_{part}" for part in parts[name]] if name in parts else [name]
    used = [*encoder["categorical"], *encoder["scalings"]]
    if Counter(used) != Counter(expanded):
        raise FormError("encoder", f"one of the columns {expanded!r}", used)
    formats, first_days = encoder.get("date_formats", {}), encoder.get("first_days", {})
    if not {*formats} <= {*parts} or not all(map(is_date_format, formats.values())):
        raise FormError("encoder.date_formats", f"forms of dates of {[*parts]!r}", formats)
    zones = encoder.get("date_zones", {})
    if not {*zones} <= {*parts} or not all(map(is_zone, zones.values())):
        raise FormError("encoder.date_zones", f"zones of {[*parts]!r} that are known here", zones)
    counted = encoder["dates"] if ELAPSED in encoder["date_parts"] else []
    if {*first_days} != {*counted}:
        raise FormError("encoder.first_days", f"those of {counted!r}", list(first_days))
    elapsed = {f"{name}_{ELAPSED}" for name in counted}
    made = {f"{name}_{part}" for name in parts for part in parts[name]}
    if made & {*encoder["scalings"]} != elapsed:
        raise FormError("encoder.scalings", f"with {sorted(elapsed)!r} of the dates", sorted(made))
    for what in ("bins", "hashed"):
        names = encoder.get(what, {})
        if not {*names} <= {*encoder["categorical"]}:
            raise FormError(f"encoder.{what}", "among the categorical columns", list(names))
    shared = [name for group in encoder.get("shared", []) for name in group]
    is_apart = len({*shared}) == len(shared) and not {*shared} & {*encoder.get("bins", {})}
    if not is_apart or not {*shared} <= {*encoder["categorical"]}:
        raise FormError("encoder.shared", "groups of categorical columns, each once", shared)
    lists, others = encoder.get("lists", {}), {*shared, *encoder.get("bins", {}), *made}
    if not {*lists} <= {*encoder["categorical"]} - others:
        raise FormError("encoder.lists", "among the categorical columns, by themselves", [*lists])
    if any(one["separator"] == "" for one in lists.values()):
        raise FormError("encoder.lists", "separators of one character at least", lists)


def _check_vocabularies(encoder: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    met = {name for name in arrays if name.startswith("vocabulary.")}
    for i in sorted({*_first_columns(encoder)}):
        column, prefix = encoder["categorical"][i], f"vocabulary.{i}."
        kinds = _check_vocabulary(arrays, prefix, encoder.get("hashed", {}).get(column))
        met -= {prefix + "counts", *(f"{prefix}{part}.{kind}" for part in _PARTS for kind in kinds)}
    if met:
        raise FormError("the arrays", "those of the columns", sorted(met))


def _first_columns(encoder: Mapping[str, Any]) -> list[int]:
    """Return for each categorical column the position of the first one that has its table."""
    columns, groups = encoder["categorical"], tuple(map(tuple, encoder.get("shared", [])))
    first = first_of(columns, groups)
    return [columns.index(first[column]) for column in columns]


def _check_vocabulary(
    arrays: Mapping[str, Any], prefix: str, hashed: Mapping[str, Any] | None
) -> list[str]:
    """Return the kinds of values that a column has."""
    counts = _get(arrays, f"{prefix}counts")
    check_array(arrays, f"{prefix}counts", np.int64, np.shape(counts)[:1])
    if len(counts) < N_SPECIAL or (counts < 0).any():
        raise FormError(f"{prefix}counts", "numbers of rows, three at least", counts)
    kinds = [kind for kind in sorted(KIND_TYPES) if f"{prefix}values.{kind}" in arrays]
    places = [_check_values(arrays, prefix, kind) for kind in kinds]
    rows = np.concatenate([np.empty(0, dtype=np.int64), *places])
    own = rows[rows != RARE]
    if not np.array_equal(own, np.arange(N_SPECIAL, len(counts))):
        raise FormError(f"{prefix}rows", "rare, or one row after the other", own)
    if hashed is not None and kinds:
        buckets = arrays[f"{prefix}values.{kinds[0]}"]
        if kinds != ["number"] or buckets.type != pa.int64():
            raise FormError(f"{prefix}values", "numbers of buckets", kinds)
        if buckets[0].as_py() < 0 or buckets[-1].as_py() >= hashed["n_buckets"]:
            raise FormError(f"{prefix}values", "numbers of buckets", buckets.to_pylist())
    return kinds


def _check_values(arrays: Mapping[str, Any], prefix: str, kind: str) -> np.ndarray:
    """Return the row of each value of one kind; they are distinct and in order."""
    values = arrays[f"{prefix}values.{kind}"]
    if not isinstance(values, pa.Array) or values.type not in KIND_TYPES[kind] or not len(values):
        raise FormError(f"{prefix}values.{kind}", f"values of {KIND_TYPES[kind]}", values)
    comparable = values.cast(pa.int8()) if pa.types.is_boolean(values.type) else values
    is_rising = pc.all(pc.less(comparable[:-1], comparable[1:])).as_py() is not False
    if values.null_count or not is_rising or _has_nan(values):
        raise FormError(f"{prefix}values.{kind}", "a rising list", values.to_pylist())
    return check_array(arrays, f"{prefix}rows.{kind}", np.int64, (len(values),))


def _has_nan(values: pa.Array) -> bool:
    return pa.types.is_floating(values.type) and bool(pc.any(pc.is_nan(values)).as_py())


def _check_target(document: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    n_outputs = document["architecture"]["n_outputs"]
    is_class = "target.classes" in arrays
    (CLASS_TARGET if is_class else NUMBER_TARGET).check(document.get("target"), "target")
    wanted = {"EmbeddingRegressor": False, "EmbeddingClassifier": True}
    if wanted.get(document["estimator"], is_class) != is_class:
        raise FormError("target", "that of the estimator", document["estimator"])
    loss = (document.get("recipe") or {}).get("loss")  # by which a model goes on learning
    if loss is not None and (loss == "log_loss") != is_class:
        raise FormError("recipe.loss", "one for the target", loss)
    activation = document["architecture"].get("output_activation", "identity")
    expected = "identity"
    if is_class:
        _check_classes(arrays["target.classes"], document["target"]["dtype"], n_outputs)
    else:
        expected = _check_numbers(document["target"], arrays, n_outputs)
    if activation != expected:
        raise FormError("architecture.output_activation", expected, activation)


def _check_numbers(target: Mapping[str, Any], arrays: Mapping[str, Any], n_outputs: int) -> str:
    """Return what the last layer has to apply; raise where the scale is none for the outputs."""
    quantiles, n_columns = target.get("quantiles", []), _count_columns(target, n_outputs)
    if quantiles and len(quantiles) != n_outputs:
        raise FormError("target.quantiles", f"a list of {n_outputs}", quantiles)
    shifts = target.get("shifts", [])
    if shifts and (len(shifts) != len(quantiles) or any(a > b for a, b in pairwise(shifts))):
        raise FormError("target.shifts", f"a list of {len(quantiles)} that never falls", shifts)
    for name in ("target.centre", "target.scale"):
        values = check_array(arrays, name, np.float64, (n_columns,))
        if not np.isfinite(values).all():
            raise FormError(name, "finite", values)
    if quantiles and target["transform"] == COUNT:
        raise FormError("target.quantiles", "none for counts", quantiles)
    if quantiles and arrays["target.scale"][0] < 0:
        raise FormError("target.scale", "at least 0 where quantiles rise", arrays["target.scale"])
    if target["is_vector"] and n_columns > 1:
        raise FormError("architecture.n_outputs", "1 for a target that is a vector", n_outputs)
    return output_activation(target["transform"], is_rising=bool(quantiles))


def _count_columns(target: Mapping[str, Any], n_outputs: int) -> int:
    """Return how many numbers a target has: one, where several quantiles of it are predicted."""
    return 1 if target.get("quantiles") else n_outputs


def _check_classes(labels: Any, dtype: str, n_outputs: int) -> None:
    """Raise where labels are none, or would be blown up by the type that they are given."""
    if not isinstance(labels, pa.Array) or len(labels) != n_outputs or labels.null_count:
        raise FormError("target.classes", f"{n_outputs} labels", str(type(labels)))
    try:
        numpy_type = np.dtype(dtype).newbyteorder("=")
    except (TypeError, ValueError, SyntaxError):
        raise FormError("target.dtype", "a type of numpy", dtype) from None
    allowed = [labels.to_numpy(zero_copy_only=False).dtype]
    if is_text(labels.type):
        allowed.append(np.dtype(f"U{max(1, pc.max(pc.utf8_length(labels)).as_py())}"))
    elif pa.types.is_binary(labels.type):
        allowed.append(np.dtype(f"S{max(1, pc.max(pc.binary_length(labels)).as_py())}"))
    if numpy_type not in allowed:
        raise FormError("target.dtype", f"one of {[str(one) for one in allowed]}", dtype)


def _check_pairs(
    document: Mapping[str, Any], arrays: Mapping[str, Any], n_codes: Sequence[int]
) -> int:
    """Return how many numbers pairs of columns tell; raise where their arrays are others."""
    pairs, n_outputs = document.get("pairs", []), document["architecture"]["n_outputs"]
    met = {name for name in arrays if name.startswith("pairs.")}
    wanted = {"pairs.keys", "pairs.values"} if pairs else set()
    if met - ({"pairs.prior"} if pairs else set()) != wanted:
        raise FormError("the arrays", f"those of {len(pairs)} pairs", sorted(met))
    if not pairs:
        return 0
    if any(len(pair) != 2 or max(pair) >= len(n_codes) for pair in pairs):
        raise FormError("pairs", f"pairs of {len(n_codes)} columns", pairs)
    keys = arrays["pairs.keys"]
    check_array(arrays, "pairs.keys", np.int64, np.shape(keys)[:1])
    n_keys = sum(n_codes[first] * n_codes[second] for first, second in pairs)
    is_rising = bool((np.diff(keys) > 0).all())
    if n_keys >= 2**63 or not is_rising or (len(keys) and not 0 <= keys[0] <= keys[-1] < n_keys):
        raise FormError("pairs.keys", f"a rising list below {n_keys}", keys)
    is_binary = "target.classes" in arrays and n_outputs == 2
    n_values = 1 if is_binary else _count_columns(document["target"], n_outputs)
    values = check_array(arrays, "pairs.values", np.float32, (len(keys), n_values))
    if not np.isfinite(values).all():
        raise FormError("pairs.values", "finite", values)
    if "pairs.prior" in arrays:  # which the first files of this format lack
        prior = check_array(arrays, "pairs.prior", np.float64, (n_values,))
        if not np.isfinite(prior).all():
            raise FormError("pairs.prior", "finite", prior)
    return len(pairs) * n_values


def _check_lists(document: Mapping[str, Any], *, is_onehot: bool) -> None:
    """Raise where the networks read other lists than those of the columns."""
    encoder, found = document["encoder"], document["architecture"].get("lists", [])
    lists = encoder.get("lists", {})
    longest = [lists[name]["longest"] if name in lists else 0 for name in encoder["categorical"]]
    if found != (longest if lists else []):
        raise FormError("architecture.lists", f"{longest} by its columns", found)
    if lists and is_onehot:
        raise FormError("encoder.lists", "empty on one-hot input", [*lists])
    pairs = document.get("pairs", [])
    if any(longest[column] for pair in pairs for column in pair):
        raise FormError("pairs", "pairs of columns without lists", pairs)


def _check_architecture(document: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """Raise where the shape of the networks is not that of what they read and give."""
    shape, encoder = document["architecture"], document["encoder"]
    first = _first_columns(encoder)
    n_codes = [len(arrays[f"vocabulary.{i}.counts"]) for i in first]
    n_numbers = sum(1 + scaling["has_missing"] for scaling in encoder["scalings"].values())
    if shape["n_rows"] != n_codes:
        raise FormError("architecture.n_rows", f"{n_codes} by its columns", shape["n_rows"])
    n_numbers += _check_pairs(document, arrays, n_codes)
    for name, length in (("dims", len(n_codes)), ("n_bins", n_numbers)):
        if len(shape[name]) != length:
            raise FormError(f"architecture.{name}", f"a list of {length}", shape[name])
    smooth = (document.get("recipe") or {}).get("smooth", [])
    if smooth and len(smooth) != len(n_codes):
        raise FormError("recipe.smooth", f"a list of {len(n_codes)}", smooth)
    groups = tuple(map(tuple, encoder.get("shared", [])))
    table_of = list(tables_of(encoder["categorical"], groups))
    if shape.get("table_of", []) != table_of:
        found = shape.get("table_of", [])
        raise FormError("architecture.table_of", f"{table_of} by its columns", found)
    is_onehot = shape.get("input_encoding") == "onehot"
    _check_lists(document, is_onehot=is_onehot)
    for name, values in (("architecture.dims", shape["dims"]), ("recipe.smooth", smooth)):
        if values and any(values[i] != values[place] for place, i in enumerate(first)):
            raise FormError(name, "the same for columns that share their vectors", values)
    if groups and is_onehot:
        raise FormError("encoder.shared", "empty on one-hot input", encoder["shared"])
    if is_onehot and not shape["hidden_layer_sizes"]:
        raise FormError("architecture.hidden_layer_sizes", "a list of 1 at least", [])
    if document["n_networks"] > len(arrays):  # each has one output layer at least
        raise FormError("n_networks", f"at most {len(arrays)}", document["n_networks"])
    for i in sorted({*first}):
        width = shape["hidden_layer_sizes"][0] if is_onehot else shape["dims"][i]
        check_array(arrays, f"embedding.{i}", np.float32, (n_codes[i], width))
