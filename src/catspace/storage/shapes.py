"""What a cell of a CSV file looks like, and the type of a column of such cells.

The rules stand in words in `catspace.storage.cells`. Each cell has a shape, and a column has the
shapes of all of its cells. Those of several blocks or files are put together with ``|``: so what a
column is, is decided by all of its cells, wherever a block ends.
"""

from enum import IntFlag, auto

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

# What an empty cell looks like in the CSV files that people have.
MISSING_CELLS = ["", "NA", "N/A", "n/a", "NaN", "nan", "-nan", "NULL", "null", "None", "<NA>"]
_UNKNOWN = [*MISSING_CELLS, "Nan", "NAN", "+nan", "+NaN", "-NaN", "-NAN"]  # where it is no text
_TRUTH = ["true", "false", "True", "False", "TRUE", "FALSE"]
_LARGEST_EXACT = 2**53  # integers up to here are exact as a double
_LARGEST_SIGNED, _LARGEST_UNSIGNED = 2**63 - 1, 2**64 - 1
_PROBED = 16  # Arrow writes a message for each cell that it cannot cast: try a few before all


class Shape(IntFlag):
    """What a cell looks like; of a column, what its cells look like."""

    MISSING = auto()  # a missing word, which has quotes or white space around it
    BIT = auto()  # 0 or 1
    NATURAL = auto()
    NEGATIVE = auto()
    LONG = auto()  # an integer past 2**53; always beside another shape
    UNSIGNED = auto()  # past int64 and within uint64
    ENDLESS = auto()  # past 64 bits
    TRUTH = auto()
    DATE = auto()
    CLOCK = auto()
    CLOCK_FRACTION = auto()
    TIME = auto()
    TIME_FRACTION = auto()
    TIME_FINE = auto()  # finer than a microsecond
    ZONED = auto()
    ZONED_FRACTION = auto()
    ZONED_FINE = auto()
    FRACTION = auto()
    TEXT = auto()


_WHOLE = Shape.BIT | Shape.NATURAL | Shape.NEGATIVE
_CLOCKS = Shape.CLOCK | Shape.CLOCK_FRACTION
_TIMES = Shape.DATE | Shape.TIME | Shape.TIME_FRACTION
_ZONED = Shape.ZONED | Shape.ZONED_FRACTION
FINE = Shape.TIME_FINE | Shape.ZONED_FINE

# A column is of the first type that takes all of its shapes, and text where none does.
_TYPES = (
    (_WHOLE | Shape.LONG, pa.int64()),
    (Shape.BIT | Shape.NATURAL | Shape.LONG | Shape.UNSIGNED, pa.uint64()),
    (Shape.BIT | Shape.TRUTH, pa.bool_()),
    (Shape.DATE, pa.date32()),
    (Shape.CLOCK, pa.time32("s")),
    (_CLOCKS, pa.time64("us")),
    (Shape.DATE | Shape.TIME, pa.timestamp("s")),
    (_TIMES, pa.timestamp("us")),
    (_TIMES | Shape.TIME_FINE, pa.timestamp("ns")),
    (Shape.ZONED, pa.timestamp("s", "UTC")),
    (_ZONED, pa.timestamp("us", "UTC")),
    (_ZONED | Shape.ZONED_FINE, pa.timestamp("ns", "UTC")),
    (_WHOLE | Shape.FRACTION, pa.float64()),
)

# The kinds of values that a cell can be, beside text.
KIND_SHAPES = {
    "number": _WHOLE | Shape.LONG | Shape.UNSIGNED | Shape.ENDLESS | Shape.TRUTH | Shape.FRACTION,
    "time": _TIMES | _ZONED | FINE,
    "clock": _CLOCKS,
}

_INTEGER = r"^-?(0|[1-9][0-9]*)$"
_PADDED = r"^[+-]?0[0-9]+$"  # such as 007: an identifier
_DIGITS = r"^[+-]?[0-9]{16,}$"  # perhaps past 2**53
_DAY = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}"
_HOUR = _DAY + r"[T ][0-9:]+"
_MICROS = r"\.[0-9]{1,6}0*"  # with more digits than six where those are zeros
_ZONE = r"(Z|[+-][0-9:]+)$"
# What looks like this and can be cast to one of the types is of the shape.
_FORMS = (
    (
        r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$|^[+-]?(?i:inf|infinity)$",
        [pa.float64()],
        Shape.FRACTION,
    ),
    (_DAY + "$", [pa.date32()], Shape.DATE),
    (r"^[0-9]{2}:[0-9]{2}(:[0-9]{2})?$", [pa.time32("s")], Shape.CLOCK),
    (r"^[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]+$", [pa.time64("us")], Shape.CLOCK_FRACTION),
    (_HOUR + "$", [pa.timestamp("s")], Shape.TIME),
    (_HOUR + _MICROS + "$", [pa.timestamp("us"), pa.timestamp("ns")], Shape.TIME_FRACTION),
    (_HOUR + r"\.[0-9]+$", [pa.timestamp("ns")], Shape.TIME_FINE),
    (_HOUR + _ZONE, [pa.timestamp("s", "UTC")], Shape.ZONED),
    (
        _HOUR + _MICROS + _ZONE,
        [pa.timestamp("us", "UTC"), pa.timestamp("ns", "UTC")],
        Shape.ZONED_FRACTION,
    ),
    (_HOUR + r"\.[0-9]+" + _ZONE, [pa.timestamp("ns", "UTC")], Shape.ZONED_FINE),
)


def find_type(shapes: Shape) -> pa.DataType:
    """Return the type of a column whose cells look like this.

    Examples
    --------
    >>> find_type(Shape.NATURAL | Shape.FRACTION)
    DataType(double)
    """
    if not shapes:
        return pa.null()
    present = shapes & ~Shape.MISSING
    return next((type_ for taken, type_ in _TYPES if present and present in taken), pa.string())


def add_shapes(known: Shape, cells: pa.Array) -> Shape:
    """Return what a column looks like with one more block of its cells."""
    if known & ~Shape.MISSING and find_type(known) == pa.string():
        return known  # text, whatever comes
    for attempt in (cells, clean(cells)):
        found = None if attempt.null_count == len(attempt) else read_plain(attempt)
        if found is not None:
            return known | found[0]
    return known | join(classify(cells.unique().drop_null()))


def join(shapes: np.ndarray) -> Shape:
    """Return the shapes of several cells as one."""
    return Shape(int(np.bitwise_or.reduce(shapes, initial=0)))


def clean(cells: pa.Array) -> pa.Array:
    """Return cells as they count where they are not text: no white space, no missing words."""
    trimmed = pc.ascii_trim_whitespace(cells)
    return pc.if_else(_is_among(trimmed, _UNKNOWN), pa.scalar(None, cells.type), trimmed)


def read_plain(cells: pa.Array, wanted: Shape = ~Shape.TEXT) -> tuple[Shape, pa.Array] | None:
    """Read cells in one go, where all of them are of one form, and of a shape that is wanted.

    Returns
    -------
    shapes, values
        As much of the shapes as decides what the column is, and an Arrow array. None where the
        cells must be looked at one by one.
    """
    plain = [(pa.int64(), _WHOLE), (pa.uint64(), _WHOLE)]
    plain += [(type_, shape) for _, types, shape in _FORMS for type_ in types]
    for type_, shape in plain:
        values = cast_all(cells, type_) if shape & wanted else None
        if values is None:
            continue
        if _is_misread(cells, values):
            return None
        if pa.types.is_timestamp(type_) and type_.unit == "ns":
            if shape not in FINE and _is_fine(values):
                continue
            if shape not in FINE:
                values = values.cast(pa.timestamp("us", type_.tz))
        return (_shape_of_integers(values) if shape == _WHOLE else shape), values
    return None


def classify(words: pa.Array) -> np.ndarray:
    """Return the shape of each word; they should be distinct, as this takes its time.

    Parameters
    ----------
    words : Arrow array of strings
        Without nulls.

    Returns
    -------
    int64 array of shape (n_words,)
    """
    words = pc.ascii_trim_whitespace(words)
    shapes = np.full(len(words), Shape.TEXT, dtype=np.int64)
    shapes[to_numpy(_is_among(words, _UNKNOWN))] = Shape.MISSING
    shapes[to_numpy(_is_among(words, _TRUTH))] = Shape.TRUTH
    integers = np.flatnonzero(_matches(words, _INTEGER))
    shapes[integers] = _shapes_of_integers(words.take(pa.array(integers)))
    is_padded = _matches(words, _PADDED)
    for pattern, types, shape in _FORMS:
        is_alike = _matches(words, pattern) & ~is_padded
        for type_ in types:
            left = np.flatnonzero(is_alike & (shapes == Shape.TEXT))
            values = _cast_each(words.take(pa.array(left)), type_)
            shapes[left[to_numpy(values.is_valid())]] = shape
    shapes[(shapes == Shape.FRACTION) & _matches(words, _DIGITS)] |= Shape.LONG  # with a plus
    return shapes


def cast_words(words: pa.Array, type_: pa.DataType) -> pa.Array:
    """Cast words to a type, also to those of clock times, which Arrow casts no text to."""
    if not pa.types.is_time(type_):
        return words.cast(type_)
    # A clock time is the end of a point in time.
    times = pc.utf8_replace_slice(words, start=0, stop=0, replacement="1970-01-01T")
    return times.cast(pa.timestamp("us")).cast(type_)


def cast_all(cells: pa.Array, type_: pa.DataType) -> pa.Array | None:
    """Cast all cells; None where one of them cannot be."""
    try:
        cast_words(cells[:_PROBED], type_)
        return cast_words(cells, type_)
    except pa.ArrowInvalid:
        return None


def to_numpy(values: pa.Array) -> np.ndarray:
    """Return an Arrow array as a numpy array."""
    return np.asarray(values.to_numpy(zero_copy_only=False))


def _cast_each(words: pa.Array, type_: pa.DataType) -> pa.Array:
    """Cast the words that can be, by halves; the others are null."""
    try:
        return cast_words(words, type_)
    except pa.ArrowInvalid:
        if len(words) == 1:
            return pa.nulls(1, type_)
        middle = len(words) // 2
        halves = [_cast_each(half, type_) for half in (words[:middle], words[middle:])]
        return pa.concat_arrays(halves)


def _is_misread(cells: pa.Array, values: pa.Array) -> bool:
    """Whether Arrow has cast a cell that is something else by the rules."""
    if pa.types.is_time(values.type):  # hours alone
        return bool(pc.any(pc.less(pc.binary_length(cells), len("hh:mm"))).as_py())
    if pa.types.is_integer(values.type):  # 007 and 0x1F; and -0, which has a sign
        is_long = pc.greater(pc.binary_length(cells), 1)
        return bool(pc.any(pc.and_(_begins_with_zero(cells), is_long)).as_py())
    if not pa.types.is_floating(values.type):
        return False
    numbers = to_numpy(values)
    if np.isnan(numbers).sum() > values.null_count:  # the word nan, which is missing
        return True
    whole = cells.filter(pa.array(np.trunc(numbers) == numbers))
    zeros = whole.filter(_begins_with_zero(whole)).unique()
    large = cells.filter(pa.array(np.abs(numbers) >= _LARGEST_EXACT))
    return bool(_matches(zeros, _PADDED).any() or _matches(large, _DIGITS).any())


def _is_fine(times: pa.Array) -> bool:
    """Whether some of the times are finer than a microsecond."""
    nanoseconds = to_numpy(times.cast(pa.int64()).drop_null())
    return bool((nanoseconds % 1000 != 0).any())


def _shape_of_integers(values: pa.Array) -> Shape:
    """Return the shapes of integers that are not told apart."""
    low, high = (bound.as_py() or 0 for bound in pc.min_max(values).values())
    shapes = Shape.NEGATIVE if low < 0 else Shape.BIT
    for bound, shape in (
        (1, Shape.NATURAL),
        (_LARGEST_EXACT, Shape.LONG),
        (_LARGEST_SIGNED, Shape.UNSIGNED),
    ):
        shapes |= shape if high > bound else Shape(0)
    return shapes | Shape.LONG if low < -_LARGEST_EXACT else shapes


def _shapes_of_integers(words: pa.Array) -> np.ndarray:
    """Return the shape of each integer, however many digits it has."""
    is_negative = to_numpy(pc.starts_with(words, "-"))
    digits = pc.utf8_ltrim(words, "-")
    n_digits = to_numpy(pc.binary_length(digits))

    def is_past(largest: int) -> np.ndarray:
        # Digits of equal number are in the order of the alphabet.
        is_later = to_numpy(pc.greater(digits, pa.scalar(str(largest), digits.type)))
        n_largest = len(str(largest))
        return np.asarray((n_digits > n_largest) | ((n_digits == n_largest) & is_later))

    shapes = np.where(is_negative, Shape.NEGATIVE, Shape.NATURAL).astype(np.int64)
    shapes[to_numpy(_is_among(words, ["0", "1"]))] = Shape.BIT
    shapes[is_past(_LARGEST_SIGNED) & ~is_negative] = Shape.UNSIGNED
    shapes[is_past(_LARGEST_SIGNED + 1) & is_negative] = Shape.ENDLESS
    shapes[is_past(_LARGEST_UNSIGNED)] = Shape.ENDLESS
    shapes[is_past(_LARGEST_EXACT)] |= Shape.LONG
    return shapes


def _begins_with_zero(words: pa.Array) -> pa.Array:
    signed = pc.or_(pc.starts_with(words, "-0"), pc.starts_with(words, "+0"))
    return pc.or_(pc.starts_with(words, "0"), signed)


def _is_among(words: pa.Array, known: list[str]) -> pa.Array:
    return pc.is_in(words, value_set=pa.array(known, words.type))


def _matches(words: pa.Array, pattern: str) -> np.ndarray:
    return to_numpy(pc.match_substring_regex(words, pattern))
