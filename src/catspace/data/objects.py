"""Python objects -> Arrow columns: what Arrow knows by its type, all else as the text it shows.

Objects that differ stay different: where their text, or the type that Arrow takes them for, would
make one value of two, the column is refused.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from catspace.data.kinds import is_text
from catspace.data.table import Column
from catspace.exceptions import InputError, shorten

# What Arrow raises where objects are not all of one type that it knows.
NOT_ONE_TYPE = (
    pa.ArrowInvalid,
    pa.ArrowTypeError,
    pa.ArrowNotImplementedError,
    OverflowError,
    UnicodeEncodeError,
)
_LISTS = (list, tuple, set, frozenset, np.ndarray)
# What Arrow knows, up to some size.
_BOUNDED = (int, Decimal, date, timedelta)


def mixed_column(name: str, values: np.ndarray) -> Column:
    """Split a column of Python objects into one Arrow array for each Python type."""
    objects = np.asarray(values, dtype=object)
    times = _read_times(name, objects)
    if times is not None:
        return Column(name, ((None, times),), len(objects))
    type_ids = np.fromiter(map(id, map(type, objects)), dtype=np.int64, count=len(objects))
    parts: list[tuple[np.ndarray | None, pa.Array]] = []
    for type_id in np.unique(type_ids):
        parts += _split(name, objects, np.flatnonzero(type_ids == type_id))
    texts = [part.cast(pa.large_string()).unique() for _, part in parts if is_text(part.type)]
    if len(texts) > 1 and len(pa.concat_arrays(texts).unique()) < sum(map(len, texts)):
        raise _same_text(name, objects)
    return Column(name, tuple(parts), len(objects))


def recheck(name: str, values: pa.Array, to_objects: Callable[[], Sequence[Any]]) -> Column | None:
    """Return objects that Arrow took for values of one type which they are not; else None.

    Arrow reads text beside bytes as bytes, and dates beside points in time as dates. Of other
    types the objects are not asked for, which takes longer than to read them.
    """
    type_ = values.type
    if pa.types.is_binary(type_) or pa.types.is_large_binary(type_):
        objects = to_objects()
        is_mixed = any(isinstance(value, str) for value in objects)
        return mixed_column(name, object_array(objects)) if is_mixed else None
    times = _read_times(name, to_objects()) if pa.types.is_temporal(type_) else None
    return None if times is None else Column(name, ((None, times),), len(times))


def _read_times(name: str, objects: Sequence[Any] | np.ndarray) -> pa.Array | None:
    """Return dates beside points in time as points in time, each date as its midnight.

    Arrow takes them for dates, and drops the time of the day; it drops nanoseconds too, the zones
    of clocks, and zones where only some have one. Those are refused. None where Arrow reads them
    right.
    """
    kinds = set()
    for value in objects:
        if isinstance(value, time) and value.tzinfo is not None:
            raise InputError(
                f"Column {name!r} holds times of the day with a zone: {value}.",
                hint="give them in one zone without saying it, or turn the column into text.",
            )
        if not isinstance(value, (date, timedelta)) or value != value:
            continue
        # pandas has one name for those of a time, and another for those of a duration.
        if getattr(value, "nanosecond", 0) or getattr(value, "nanoseconds", 0):
            raise InputError(
                f"Column {name!r} holds times that are finer than a microsecond: {value}.",
                hint="round them, or turn the column into text.",
            )
        if isinstance(value, timedelta):
            continue
        zone = value.utcoffset() if isinstance(value, datetime) else None
        is_time = isinstance(value, datetime)
        kinds.add("times with a zone" if zone is not None else "times" if is_time else "dates")
    if len(kinds) > 1 and "times with a zone" in kinds:
        raise InputError(
            f"Column {name!r} holds {' and '.join(sorted(kinds))} side by side.",
            hint="give all of them a zone, or none.",
        )
    if len(kinds) < 2 or not all(_is_time(value) for value in objects):
        return None
    midnight = datetime.min.time()
    times = [
        datetime.combine(value, midnight) if type(value) is date else value for value in objects
    ]
    return pa.array(times, pa.timestamp("us"), from_pandas=True)


def _is_time(value: Any) -> bool:
    return value is None or value != value or isinstance(value, date)


def no_single_value(name: str, examples: Iterable[object]) -> InputError:
    """Return the error for a column whose values are records of several values."""
    return InputError(
        f"Column {name!r} holds structs or dicts, and a category is one value: "
        f"{shorten(examples)}.",
        hint="give each of their fields a column, or turn each value into text.",
    )


def nested_lists(name: str, examples: Iterable[object]) -> InputError:
    """Return the error for a column of lists whose items have several values inside."""
    return InputError(
        f"Column {name!r} holds lists whose items are no single values: {shorten(examples)}.",
        hint="flatten each list, or turn each of its items into text.",
    )


def object_array(values: Sequence[Any] | np.ndarray) -> np.ndarray:
    """Return objects as an array of shape (n_values,), whatever they have inside."""
    return np.fromiter(values, dtype=object, count=len(values))


def take_lists_apart(name: str, objects: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the items of all lists, and how many each list has; None where there are no lists.

    A list that is missing is one missing item.
    """
    is_list = np.fromiter((isinstance(one, _LISTS) for one in objects), bool, len(objects))
    if not is_list.any():
        return None
    others = [one for one in objects[~is_list] if not _is_missing(one)]
    if others:
        raise InputError(
            f"Column {name!r} holds lists beside single values: {shorten(others[:2])}.",
            hint="make a list of one item of each single value.",
        )
    if any(np.ndim(one) != 1 for one in objects[is_list] if isinstance(one, np.ndarray)):
        raise nested_lists(name, objects[is_list][:2])
    lists = [list(one) if known else [None] for one, known in zip(objects, is_list, strict=True)]
    items = [item for one in lists for item in one]
    if any(isinstance(item, (*_LISTS, dict)) for item in items):
        raise nested_lists(name, objects[is_list][:2])
    lengths = np.fromiter(map(len, lists), dtype=np.int64, count=len(lists))
    return object_array(items), lengths


def _is_missing(value: Any) -> bool:
    return value is None or type(value).__name__ == "NAType" or bool(value != value)


def _split(
    name: str, objects: np.ndarray, rows: np.ndarray
) -> list[tuple[np.ndarray | None, pa.Array]]:
    """Return the rows of objects of one Python type that Arrow can hold, and those of the others.

    So a value means the same beside others and alone, also where one of them is out of range.
    """
    values = _objects_to_arrow(name, objects[rows])
    if is_text(values.type) and isinstance(objects[rows[0]], _BOUNDED):
        fits = np.fromiter(map(_is_in_range, objects[rows]), dtype=bool, count=len(rows))
        if fits.any() and not fits.all():
            halves = (rows[fits], rows[~fits])
            return [(half, _objects_to_arrow(name, objects[half])) for half in halves]
    return [(rows, values)]


def _is_in_range(value: Any) -> bool:
    try:
        pa.array([value])
    except NOT_ONE_TYPE:
        return False
    return True


def _objects_to_arrow(name: str, objects: np.ndarray) -> pa.Array:
    """Convert objects of one Python type; those that Arrow does not know become text."""
    first, type_ = objects[0], type(objects[0])
    if isinstance(first, dict):
        raise no_single_value(name, objects[:2])
    if isinstance(first, (complex, np.complexfloating)):
        raise InputError(f"Complex data not supported: column {name!r} holds {first!r}.")
    if isinstance(first, np.longdouble):
        return _doubles(name, objects)
    try:
        values = pa.array(objects, from_pandas=True)
        if not isinstance(values.type, pa.BaseExtensionType):
            return values
    except NOT_ONE_TYPE:  # integers past 64 bits too, and half a surrogate pair
        pass
    shows = {method for base in type_.__mro__[:-1] for method in vars(base)}
    if shows.isdisjoint({"__str__", "__repr__"}):
        raise InputError(
            f"Column {name!r} holds objects of type {type_.__name__!r}, which show nothing but "
            "their address in memory.",
            hint="turn each of them into text.",
        )
    texts = [
        None if value != value else str(value).encode(errors="backslashreplace").decode()
        for value in objects
    ]
    try:
        n_distinct = len({value for value in objects if value == value})
    except TypeError:  # what has no hash is compared by its text alone
        n_distinct = 0
    if n_distinct > len(set(texts) - {None}):
        raise _same_text(name, objects)
    return pa.array(texts, pa.large_string())


def _doubles(name: str, objects: np.ndarray) -> pa.Array:
    doubles = objects.astype(np.float64)
    if any(
        value == value and value != double for value, double in zip(objects, doubles, strict=True)
    ):
        raise InputError(
            f"Column {name!r} holds numbers of more digits than a double has.",
            hint="convert it to float64.",
        )
    return pa.array(doubles, from_pandas=True)


def _same_text(name: str, objects: np.ndarray) -> InputError:
    types = sorted({type(value).__name__ for value in objects})
    return InputError(
        f"Column {name!r} holds different objects that read the same as text ({', '.join(types)}).",
        hint="turn each of them into a text of its own.",
    )
