"""Kinds of values: numbers, text, times and so on, each in one type that stands for its kind.

What a table tells apart stays apart, and what is equal is one value, whatever library or width it
came in: 1, 1.0 and True are one number, the text '1' is another value. Values that the one type of
their kind cannot tell apart are refused.
"""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from operator import methodcaller
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from catspace.exceptions import InputError

# Whole floats up to here are exact, so they can stand for integers.
LARGEST_EXACT = 2.0**53

# Decimals of so many digits have each a double of their own.
_SAFE_DIGITS = 15
# What Python can show.
_FIRST_TIME, _LAST_TIME = (
    pa.scalar(time, pa.timestamp("us")) for time in (datetime.min, datetime.max)
)
# So few values are searched for one by one, and one more for so many that are known: looking at
# these takes as long as one search.
_FEW, _SEARCHED_IN_TIME_OF_ONE = 5, 2_000
_TEXT_HINT = "turn the column into text, so that each value is itself."

# A part of a column: its rows (None is all), kind, distinct values, and their place in each row.
Part = tuple[np.ndarray | None, str, pa.Array, np.ndarray]


class InexactError(ValueError):
    """Values that the type of their kind does not tell apart; says what they are."""


@contextmanager
def naming(column: str) -> Iterator[None]:
    """Turn values that cannot be told apart into a sentence about their column."""
    try:
        yield
    except InexactError as error:
        raise InputError(f"Column {column!r} holds {error}.", hint=_TEXT_HINT) from None


def is_text(type_: pa.DataType) -> bool:
    """Whether an Arrow type is one of the three string types."""
    return bool(
        pa.types.is_string(type_)
        or pa.types.is_large_string(type_)
        or pa.types.is_string_view(type_)
    )


def is_list(type_: pa.DataType) -> bool:
    """Whether an Arrow type is one of those of lists."""
    return bool(
        pa.types.is_list(type_)
        or pa.types.is_large_list(type_)
        or pa.types.is_fixed_size_list(type_)
        or pa.types.is_list_view(type_)
        or pa.types.is_large_list_view(type_)
    )


def factorize(values: pa.Array) -> tuple[str, pa.Array, np.ndarray]:
    """Split values into their kind, the distinct ones and where each of them stands.

    Returns
    -------
    kind : str
        "number", "text", "time", "duration", "clock" or "bytes".
    dictionary : Arrow array
        The distinct values in their kind's canonical type; nulls and repetitions may occur.
    indices : int array of shape (len(values),)
        Positions in the dictionary, -1 for missing.
    """
    if pa.types.is_null(values.type):
        return "text", pa.array([], pa.large_string()), np.full(len(values), -1, dtype=np.int64)
    is_encoded = pa.types.is_dictionary(values.type)
    if is_encoded and len(values.dictionary) > len(values):
        # A few rows that were taken from a table bring all of its categories along.
        values, is_encoded = values.dictionary_decode(), False
    encoded = values if is_encoded else values.dictionary_encode()
    indices = encoded.indices
    if indices.null_count:
        indices = indices.cast(pa.int64()).fill_null(-1)
    kind, dictionary = _canonical(encoded.dictionary)
    return kind, dictionary, np.asarray(indices.to_numpy(zero_copy_only=False))


def _canonical(values: pa.Array) -> tuple[str, pa.Array]:
    """Return the kind of the values, and the values in the one type that stands for it."""
    type_ = values.type
    if is_text(type_) or pa.types.is_null(type_):
        return "text", values.cast(pa.large_string())
    if pa.types.is_boolean(type_):
        return "number", values
    if pa.types.is_unsigned_integer(type_):
        fits = len(values) == 0 or (pc.max(values).as_py() or 0) < 2**63
        return "number", values.cast(pa.int64() if fits else pa.uint64())
    if pa.types.is_integer(type_):
        return "number", values.cast(pa.int64())
    if pa.types.is_decimal(type_):
        return "number", _whole_if_possible(_nearest_doubles(values))
    if pa.types.is_floating(type_):
        return "number", _whole_if_possible(values)
    if pa.types.is_timestamp(type_) or pa.types.is_date(type_):
        times = _cast_exactly(values, pa.timestamp("us", getattr(type_, "tz", None)))
        return "time", _check_years(times.cast(pa.timestamp("us")))
    if pa.types.is_duration(type_):
        return "duration", _cast_exactly(values, pa.duration("us"))
    if pa.types.is_time(type_):
        return "clock", _cast_exactly(values, pa.time64("us"))
    if pa.types.is_binary(type_) or pa.types.is_large_binary(type_):
        return "bytes", values.cast(pa.large_binary())
    return "text", values.cast(pa.large_string())


def _whole_if_possible(values: pa.Array) -> pa.Array:
    """Return floats as integers where all of them are whole; NaN becomes null."""
    floats = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    present = ~np.isnan(floats)
    whole = (np.abs(floats) <= LARGEST_EXACT) & (np.trunc(floats) == floats)
    if whole[present].all():
        return pa.array(np.where(present, floats, 0).astype(np.int64), mask=~present)
    return pa.array(np.where(floats == 0, 0.0, floats), mask=~present)  # -0.0 is 0.0


def _nearest_doubles(decimals: pa.Array) -> pa.Array:
    """Return decimals as doubles, or say that one has more digits than a double of its own.

    By way of their text: cast as they are, 1.13 would not be the 1.13 of a column of doubles.
    """
    shown = decimals.cast(pa.string())
    digits = pc.replace_substring_regex(shown, "[-.]|E.*$", "")
    n_digits = pc.binary_length(pc.utf8_trim(digits, "0"))
    is_long = pc.fill_null(pc.greater(n_digits, _SAFE_DIGITS), False)
    if pc.any(is_long).as_py():
        example = shown.filter(is_long)[0].as_py()
        raise InexactError(f"decimals of more than {_SAFE_DIGITS} digits, such as {example}")
    return shown.cast(pa.float64())


def _cast_exactly(times: pa.Array, type_: pa.DataType) -> pa.Array:
    """Return times in microseconds, or say that some are finer or too far away."""
    try:
        return times.cast(type_)
    except pa.ArrowInvalid:
        raise InexactError("times that are finer than a microsecond, or out of its range") from None


def _check_years(times: pa.Array) -> pa.Array:
    bounds = pc.min_max(times)
    if bounds["min"].is_valid and not (
        pc.less_equal(_FIRST_TIME, bounds["min"]).as_py()
        and pc.less_equal(bounds["max"], _LAST_TIME).as_py()
    ):
        raise InexactError("times before the year 1 or after the year 9999")
    return times


def convert_exactly(values: pa.Array, type_: pa.DataType) -> pa.Array:
    """Convert numbers to another type; those that it cannot hold become null."""
    if values.type == type_:
        return values
    valid = values.is_valid().to_numpy(zero_copy_only=False)
    numbers = values.fill_null(False if pa.types.is_boolean(values.type) else 0)
    numbers = numbers.to_numpy(zero_copy_only=False)
    with np.errstate(invalid="ignore"):
        converted = numbers.astype(type_.to_pandas_dtype())
        exact = valid & (converted.astype(numbers.dtype) == numbers)
        exact &= (converted < 0) == (numbers < 0)  # -1 is not the largest unsigned integer
    return pa.array(converted, type_, mask=~exact)


def find_positions(values: pa.Array, known: pa.Array) -> np.ndarray:
    """Return the position of each value among the known ones; -1 where it is not there.

    Those that are known are sorted, and differ. The table of hashes is built of the shorter of
    the two: a block of rows has few values, and finding them must not cost a table of all that are
    known. A single row must not even cost a look at all of them.
    """
    if len(values) < _FEW + len(known) // _SEARCHED_IN_TIME_OF_ONE:
        return np.array([_position(value, known) for value in values.to_pylist()], dtype=np.int64)
    if len(values) >= len(known):
        found = pc.index_in(values, value_set=known, skip_nulls=True)
        return np.asarray(found.fill_null(-1).to_numpy(zero_copy_only=False))
    distinct = values.dictionary_encode()  # which may hold one twice
    found = pc.index_in(known, value_set=distinct.dictionary, skip_nulls=True)
    met = found.is_valid().to_numpy(zero_copy_only=False).nonzero()[0]
    position = np.full(len(distinct.dictionary) + 1, -1)  # the last one is that of null
    position[found.drop_null().to_numpy()] = met
    return np.asarray(position[distinct.indices.fill_null(-1).to_numpy(zero_copy_only=False)])


def _position(value: Any, known: pa.Array) -> int:
    """Return the position of one value among known ones, which are sorted; -1 for none."""
    if value is None:
        return -1
    found = bisect_left(known, value, key=methodcaller("as_py"))
    return found if found < len(known) and known[found].as_py() == value else -1


def merge_counts(
    arrays: Sequence[pa.Array], counts: Sequence[np.ndarray]
) -> tuple[pa.Array, np.ndarray]:
    """Return the distinct values of one kind, in any order, and how often each occurs."""
    widest = _widest(arrays)
    try:
        joined = pa.concat_arrays([array.cast(widest) for array in arrays])
    except pa.ArrowInvalid:
        raise InexactError("integers past 2**53 beside fractions or negative numbers") from None
    # Not group_by, which takes three times as long on large strings.
    encoded = joined.dictionary_encode()
    sums = np.bincount(encoded.indices.to_numpy(), np.concatenate(counts))
    return encoded.dictionary, sums.astype(np.int64)


def sort_counts(
    arrays: Sequence[pa.Array], counts: Sequence[np.ndarray]
) -> tuple[pa.Array, np.ndarray]:
    """Return the distinct values of one kind, sorted, and how often each occurs."""
    is_merged = len(arrays) > 1
    values, frequency = merge_counts(arrays, counts) if is_merged else (arrays[0], counts[0])
    order = pc.sort_indices(values)
    values, frequency = values.take(order), frequency[order.to_numpy()]
    # One block alone hardly ever holds a value twice, and to see that is faster than to merge.
    if not is_merged and pc.any(pc.equal(values[1:], values[:-1])).as_py():
        return sort_counts(*([part] for part in merge_counts(arrays, counts)))
    return values, frequency


def _widest(arrays: Sequence[pa.Array]) -> pa.DataType:
    """Return the type that holds all values of one kind; only numbers have several."""
    types = {array.type for array in arrays}
    if len(types) == 1:
        return types.pop()
    if types <= {pa.bool_(), pa.int64()}:
        return pa.int64()
    signed = [array for array in arrays if array.type == pa.int64()]
    if types <= {pa.bool_(), pa.int64(), pa.uint64()} and all(
        pc.min(array).as_py() >= 0 for array in signed
    ):
        return pa.uint64()
    return pa.float64()


_KIND_WORDS = {"number": "numbers", "time": "dates", "clock": "times", "duration": "durations"}


def describe_kinds(kinds: Iterable[str]) -> str:
    """Return the kinds of values in words: ``numbers and text``."""
    return " and ".join(_KIND_WORDS.get(kind, kind) for kind in sorted(kinds))


def tell_kinds(column: str, known: set[str], new: set[str]) -> tuple[str, str]:
    """Say what a column held and holds now, and what to do about it."""
    then, now = describe_kinds(known), describe_kinds(new)
    message = f"Column {column!r} held {then} in fit and holds {now} now"
    return message, f"convert the column to {then} first."


def check_kinds(column: str, known: Collection[str], new: Collection[str]) -> None:
    """Raise where a column holds other kinds of values than it did: no category would be met."""
    unknown = {*new} - {*known}
    if known and unknown:
        message, hint = tell_kinds(column, {*known}, unknown)
        raise InputError(f"{message}.", hint=hint)
