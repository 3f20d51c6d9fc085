"""Any table in memory -> named Arrow columns, the same ones whatever the table came from.

pandas, polars and Arrow tables come in through narwhals, numpy arrays and nested lists column by
column. From here on a value is missing when it is an Arrow null: None, NaN, NaT, ``pd.NA`` and
polars' null cannot be told apart any more.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Set
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from narwhals.exceptions import DuplicateError

from catspace.data.kinds import LARGEST_EXACT, is_list
from catspace.data.lists import ListColumn, insert_missing
from catspace.data.objects import (
    NOT_ONE_TYPE,
    mixed_column,
    nested_lists,
    no_single_value,
    object_array,
    recheck,
    take_lists_apart,
)
from catspace.data.table import Column, Table
from catspace.exceptions import InputError, InputTypeError, shorten


def read_table(source: Any) -> Table:
    """Read any table that users have.

    Parameters
    ----------
    source : pandas, polars or Arrow table, 2-d array, list of rows, or of mappings as JSON has them
        Whatever narwhals understands works, lazy frames included.

    Returns
    -------
    Table

    Examples
    --------
    >>> table = read_table({"store": [1, 2], "state": ["HE", None]})
    >>> table.names
    ['store', 'state']
    """
    if isinstance(source, Table):
        return source
    if type(source).__module__.startswith("scipy.sparse"):
        raise InputTypeError(
            "Sparse data was passed, but dense data is required.",
            hint="category columns need no one-hot encoding here; pass them as they are.",
        )
    if isinstance(source, pa.RecordBatch):  # which narwhals does not know
        source = pa.Table.from_batches([source])
    if isinstance(source, Mapping):
        return _from_dict(source)
    if is_records(source):
        names = dict.fromkeys(name for record in source for name in record)
        return _from_dict({name: [record.get(name) for record in source] for name in names})
    try:
        frame = nw.from_native(source)
    except DuplicateError:
        names = source.column_names if isinstance(source, pa.Table) else source.columns
        raise _duplicated(map(str, names)) from None
    except TypeError:
        return _from_array(source)
    return _from_narwhals(_collect(frame) if isinstance(frame, nw.LazyFrame) else frame)


def _collect(frame: "nw.LazyFrame[Any]") -> "nw.DataFrame[Any]":
    try:
        return frame.collect()
    except Exception as error:  # of whatever library plans it
        said = str(error).partition("\n")[0]
        raise InputError(f"The lazy table cannot be collected: {said}") from error


def is_records(source: Any) -> bool:
    """Whether something is a list of mappings, as JSON has them: one for each row."""
    is_list = isinstance(source, (list, tuple)) and len(source) > 0
    return is_list and all(isinstance(record, Mapping) for record in source)


def read_vector(source: Any, what: str) -> np.ndarray:
    """Return a target or a weight as a numpy array, from a list, array, series or column.

    Text comes back as object, numbers as they are; missing values are NaN or None.
    """
    if isinstance(source, ListColumn):
        raise InputError(f"The {what} {source.name!r} holds lists, and must be one value a row.")
    if isinstance(source, Column):
        (_, values), *more = source.parts
        if more:
            raise InputError(f"The {what} {source.name!r} mixes several types.")
        if pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        return _without_na(np.asarray(values.to_numpy(zero_copy_only=False)))
    if type(source).__module__.startswith("scipy.sparse"):
        raise InputTypeError(f"The {what} is sparse, but a dense array is required.")
    if isinstance(source, (pa.Array, pa.ChunkedArray)):
        _check_arrow(f"The {what}", source)
    frame = nw.from_native(source, pass_through=True, allow_series=True)
    if isinstance(frame, (nw.Series, nw.DataFrame)):
        return _without_na(np.asarray(frame.to_numpy()))
    if isinstance(source, pa.Array):
        source = source.to_numpy(zero_copy_only=False)
    try:
        array = _unmask(source)
        # numpy cuts the NUL at the end of a text, and makes text of what stands beside text.
        if array.dtype.kind in "US" and array is not source and array.tolist() != list(source):
            array = np.asarray(source, dtype=object)
        return _without_na(array)
    except ValueError:
        raise InputError(f"The {what} is not one array: its rows differ in length.") from None


def _unmask(source: Any) -> np.ndarray:
    """Return an array, with None for what a masked array masks."""
    if isinstance(source, np.ma.MaskedArray):
        objects = np.array(source.data, dtype=object)
        objects[np.ma.getmaskarray(source)] = None
        return objects
    return np.asarray(source)


def _without_na(values: np.ndarray) -> np.ndarray:
    """Return a vector with None where pandas' NA stands, which cannot even be compared."""
    if values.dtype.kind == "T":  # numpy's own text, which no file can name
        values = values.astype(object)
    if values.dtype != object:
        return values
    is_na = np.fromiter((type(v).__name__ == "NAType" for v in values.flat), bool, values.size)
    cleaned = values.copy()
    cleaned[is_na.reshape(values.shape)] = None
    return cleaned


def _from_narwhals(frame: "nw.DataFrame[Any]") -> Table:
    names = [str(name) for name in frame.columns]
    if len(set(names)) < len(names):  # for instance 1 and '1'
        raise _duplicated(names)
    # scikit-learn's rule: names count only when all of them are text.
    all_text = all(isinstance(name, str) for name in frame.columns)
    read = _pandas_column if frame.implementation.is_pandas() else _column
    columns = [
        read(name, frame, original) for name, original in zip(names, frame.columns, strict=True)
    ]
    backend = frame.implementation.name.lower()
    return Table(tuple(columns), len(frame), backend, named=all_text)


def _column(name: str, frame: "nw.DataFrame[Any]", original: Any) -> Column:
    series = frame.get_column(original)
    is_object = series.dtype == nw.Object
    # What polars calls an object comes to Arrow as its address in memory.
    is_address = is_object and series.implementation.is_polars()
    return _series_column(name, series, None if is_address else series.to_arrow, is_object)


def _pandas_column(name: str, frame: "nw.DataFrame[Any]", original: Any) -> Column:
    """Return a column of pandas, whose series takes longer to wrap than a row takes to read.

    A wrapped one calls objects text where the first hundred of them are.
    """
    series = frame.to_native()[original]
    if hasattr(series.dtype, "fill_value"):  # sparse numbers are numbers
        series = series.sparse.to_dense()
    to_arrow = partial(pa.Array.from_pandas, series)
    # Objects may hide behind categories, and Arrow takes either for what they are not.
    values = getattr(series.dtype, "categories", series)
    return _series_column(name, series, to_arrow, values.dtype == object)


def _series_column(
    name: str, series: Any, to_arrow: Callable[[], pa.Array] | None, is_object: bool
) -> Column:
    """Return the column that a series of narwhals or pandas is."""
    try:
        values = None if to_arrow is None else to_arrow()
    except NOT_ONE_TYPE:
        values = None
    if values is None:
        # Not to_numpy: polars has integers of 128 bits, and numpy does not.
        return _object_column(name, object_array(series.to_list()))
    if is_object and (column := _reread(name, values, series.to_list)) is not None:
        return column
    return _arrow_column(name, values, series.to_numpy)


def _arrow_column(name: str, values: pa.Array, objects: Callable[[], np.ndarray]) -> Column:
    _check_arrow(f"Column {name!r}", values)
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if isinstance(values, pa.ChunkedArray):  # combine_chunks keeps chunks that would overflow
        values = pa.concat_arrays(values.cast(pa.large_string()).chunks)
    if pa.types.is_run_end_encoded(values.type):
        values = pc.run_end_decode(values)
    values = _with_known_type(values)
    type_ = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
    if is_list(type_):
        return _list_column(name, values)
    if pa.types.is_nested(type_):
        raise no_single_value(name, values.drop_null()[:2].to_pylist())
    if isinstance(type_, pa.BaseExtensionType):  # for instance the intervals of pd.cut
        return mixed_column(name, objects())
    if pa.types.is_interval(type_):
        raise InputError(
            f"Column {name!r} holds {type_}, which is neither a number nor a category.",
            hint="turn it into a duration or into text.",
        )
    return Column(name, ((None, values),), len(values))


def _with_known_type(values: pa.Array) -> pa.Array:
    """Return values of types that Arrow knows little of in one that it has all functions for."""
    is_encoded = pa.types.is_dictionary(values.type)
    type_ = values.type.value_type if is_encoded else values.type
    known = None
    if pa.types.is_binary_view(type_) or pa.types.is_fixed_size_binary(type_):
        known = pa.large_binary()
    elif pa.types.is_decimal(type_) and type_.bit_width < 128:
        known = pa.decimal128(type_.precision, type_.scale)
    if known is None:
        return values
    if not is_encoded:
        return values.cast(known)
    return pa.DictionaryArray.from_arrays(values.indices, values.dictionary.cast(known))


def _list_column(name: str, values: pa.Array) -> ListColumn:
    """Return lists of Arrow, whose items are read as a column of them is."""
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if pa.types.is_nested(values.type.value_type):
        raise nested_lists(name, values.drop_null()[:2].to_pylist())
    items, lengths = insert_missing(
        pc.list_flatten(values),
        pc.list_value_length(values).fill_null(0).to_numpy(zero_copy_only=False),
        values.is_null().to_numpy(zero_copy_only=False),
    )
    return ListColumn.of(_arrow_column(name, items, items.to_pandas), lengths.astype(np.int64))


def _object_column(name: str, objects: np.ndarray) -> Column:
    """Return Python objects that Arrow does not take for values of one type."""
    found = take_lists_apart(name, objects)
    if found is None:
        return mixed_column(name, objects)
    items, lengths = found
    return ListColumn.of(_array_column(name, items), lengths)


def _reread(name: str, values: pa.Array, objects: Callable[[], Any]) -> Column | None:
    """Return objects that Arrow took for what they are not, or that are lists; else None."""
    if pa.types.is_dictionary(values.type):
        values = values.dictionary
    if is_list(values.type):  # items of several types are told apart, and sets are lists too
        return _object_column(name, object_array(objects()))
    return recheck(name, values, objects)


def _check_arrow(what: str, values: pa.Array | pa.ChunkedArray) -> None:
    """Raise where Arrow's values are not what their type says: text that is not UTF-8, mostly."""
    try:
        values.validate(full=True)
    except pa.ArrowInvalid as error:
        raise InputError(
            f"{what} cannot be read: {error}.", hint="write text as UTF-8, or pass it as bytes."
        ) from None


def _from_dict(source: Mapping[Any, Any]) -> Table:
    names = [str(name) for name in source]
    if len(set(names)) < len(names):  # for instance 1 and '1'
        raise _duplicated(names)
    columns = []
    for name, values in source.items():
        if isinstance(values, (pa.Array, pa.ChunkedArray)):
            columns.append(_arrow_column(str(name), values, values.to_pandas))
            continue
        # Bytes would be numbers, a dict its keys, and a set has no order.
        is_single = isinstance(values, (str, bytes, bytearray, Mapping, Set))
        if is_single or not isinstance(values, Iterable):
            raise InputError(
                f"Column {str(name)!r} must be a list of values; got {shorten([values])[1:-1]}.",
                hint="one row alone is a list of one mapping: [{…}]; pandas' to_dict makes a table "
                'of lists with "list".',
            )
        columns.append(_array_column(str(name), object_array(list(values))))
    lengths = {column.n_rows for column in columns}
    if len(lengths) > 1:
        raise InputError(f"The columns differ in length: {sorted(lengths)}.")
    return Table(tuple(columns), lengths.pop() if lengths else 0, "numpy", named=True)


def _from_array(source: Any) -> Table:
    if not isinstance(source, (np.ndarray, list, tuple)) and not hasattr(source, "__array__"):
        raise InputTypeError(
            f"A table is needed: pandas, polars, Arrow, a 2-d array or a path to CSV or Parquet; "
            f"got {type(source).__name__}."
        )
    try:
        array = _unmask(source)
        if not isinstance(source, np.ndarray) and _has_lost(array):
            array = np.asarray(source, dtype=object)  # a list of rows keeps its values
    except ValueError:
        raise InputError("The rows of the table differ in length.") from None
    if array.ndim != 2:
        raise InputError(
            f"Expected 2D array, got {array.ndim}D array instead, of shape {array.shape}.",
            hint="Reshape your data: array.reshape(-1, 1) makes one column, "
            "array.reshape(1, -1) one row.",
        )
    if array.dtype.kind == "c":
        raise InputError(f"Complex data not supported, got an array of {array.dtype}.")
    columns = [_array_column(f"x{i}", array[:, i]) for i in range(array.shape[1])]
    return Table(tuple(columns), array.shape[0], "numpy", named=False)


def _has_lost(array: np.ndarray) -> bool:
    """Whether values of several types were made one: numbers text, or large integers floats."""
    is_float = array.dtype.kind == "f"
    return array.dtype.kind in "US" or bool(
        is_float and (np.abs(np.where(np.isfinite(array), array, 0)) >= LARGEST_EXACT).any()
    )


def _array_column(name: str, values: np.ndarray) -> Column:
    values = np.ascontiguousarray(values)
    try:
        arrow = pa.array(values, from_pandas=True)
    except NOT_ONE_TYPE:
        return _object_column(name, values)
    if values.dtype == object and (column := _reread(name, arrow, lambda: values)) is not None:
        return column
    return _arrow_column(name, arrow, lambda: values)


def _duplicated(names: Iterable[str]) -> InputError:
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    return InputError(
        f"Column names must be unique, and these stand more than once: {shorten(twice)}."
    )
