"""The cells of a CSV file -> typed columns: the one set of rules, with and without a model.

A CSV file has no types: it is read as cells of text, and these are the rules for what they are.

- A cell is missing if it is one of the missing words (`MISSING_CELLS`, the empty word among them)
  without quotes. In quotes a missing word is text where the column is text: ``"NA"`` may be
  Namibia. In any other column it is missing too, and so is ``NAN``.
- White space around a cell counts where the column is text, and nowhere else.
- What a column is, is decided by all of its cells. It is the first of these that every one fits:

  1. integers: digits, perhaps with a minus. With a zero in front (``007``, ``01067``) they are
     identifiers: text. Past int64 they are unsigned where all of them fit into 64 bits, else text;
  2. truth values: true and false, True and False, TRUE and FALSE; 0 and 1 only beside those;
  3. dates: ``2014-01-31``;
  4. clock times: ``12:30``, ``12:30:15``, and with up to six digits of a second's fraction;
  5. points in time as ISO writes them: ``2014-01-31 12:30``, with ``T`` in between, seconds, and up
     to nine digits of a fraction. With ``Z`` or ``+02:00`` they are instants in UTC, and a column
     that has both is text. A date among them is its midnight;
  6. fractions, integers among them: ``2.5``, ``.5``, ``1.``, ``+5``, ``1e5``, ``inf``. Neither
     ``0x1F`` nor ``1_000`` is a number. No digit of an integer is lost: beside fractions, integers
     past 2**53, which a double does not tell apart, make the column text;
  7. text.

  A column in which every cell is missing without quotes is null; where all are missing words and
  some have quotes, it is text.

A fitted model knows what a column is, so each cell is read by itself as one of the kinds of value
that fit has met: a number is whatever 1, 2 and 6 take, a point in time what 3 and 5 take, with or
without a zone. What cannot be read as such stays text, and so do durations and bytes, which a CSV
file has no form for; a model counts it as unseen, or says that it needs numbers.
"""

from collections.abc import Collection

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from catspace.data.table import Column
from catspace.storage.shapes import (
    FINE,
    KIND_SHAPES,
    Shape,
    cast_all,
    cast_words,
    classify,
    clean,
    find_type,
    join,
    read_plain,
    to_numpy,
)

Parts = tuple[tuple[np.ndarray | None, pa.Array], ...]  # of a `Column`

# What numbers are read as where no one type holds all of them.
_NUMBER_TYPES = (
    (Shape.TRUTH, pa.bool_()),
    (Shape.FRACTION | Shape.ENDLESS, pa.float64()),
    (Shape.UNSIGNED, pa.uint64()),
    (Shape.BIT | Shape.NATURAL | Shape.NEGATIVE, pa.int64()),
)


def read_column(cells: pa.Array, type_: pa.DataType) -> pa.Array:
    """Return cells of a column that is of a type, as `catspace.storage.shapes` finds it.

    Parameters
    ----------
    cells : Arrow array of strings
        Null where they are missing without quotes.
    type_ : Arrow type
    """
    if pa.types.is_string(type_):
        return cells
    if pa.types.is_null(type_):
        return pa.nulls(len(cells))
    values = cast_all(cells, type_)
    return _read_words(clean(cells), type_) if values is None else _without_nan(values)


def parse_column(name: str, cells: pa.Array, kinds: Collection[str]) -> Column:
    """Return cells as a column of the kinds of values that fit has met in it.

    Parameters
    ----------
    name : str
    cells : Arrow array of strings
        Null where they are missing without quotes.
    kinds : collection of str
        Of `catspace.data.vocabulary.Vocabulary`: "number", "text", "time" and so on.
    """
    readable = [kind for kind in KIND_SHAPES if kind in kinds]
    if not readable:
        return Column(name, ((None, cells),), len(cells))
    is_text = "text" in kinds
    if not is_text:
        wanted = Shape(sum(KIND_SHAPES[kind] for kind in readable))  # they share none
        for attempt in (cells, clean(cells)):
            plain = read_plain(attempt, wanted)
            if plain is not None:
                return Column(name, ((None, plain[1]),), len(cells))
    return Column(name, _read_each(cells, readable, is_text=is_text), len(cells))


def _read_each(cells: pa.Array, kinds: list[str], *, is_text: bool) -> Parts:
    """Return the parts of a column whose cells are looked at one by one, each word once."""
    encoded = cells.dictionary_encode()
    words = encoded.dictionary
    shapes = classify(words)
    is_left = np.full(len(words), True) if is_text else shapes != Shape.MISSING
    groups = []
    for mine, type_ in (group for kind in kinds for group in _split(kind, shapes)):
        trimmed = pc.ascii_trim_whitespace(words.filter(pa.array(mine)))
        groups.append((mine, _read_words(trimmed, type_)))
        is_left &= ~mine
    groups.append((is_left, words.filter(pa.array(is_left))))
    return _place(groups, to_numpy(encoded.indices.cast(pa.int64()).fill_null(-1)))


def _split(kind: str, shapes: np.ndarray) -> list[tuple[np.ndarray, pa.DataType]]:
    """Return which words are of a kind, and the type that holds them: more where none does."""
    is_kind = (shapes & KIND_SHAPES[kind]) > 0
    if not is_kind.any():
        return []
    shape = join(shapes[is_kind])
    type_ = pa.timestamp("ns" if shape & FINE else "us") if kind == "time" else find_type(shape)
    if not pa.types.is_string(type_):
        return [(is_kind, type_)]
    return [((shapes & shape) > 0, type_) for shape, type_ in _NUMBER_TYPES]


def _place(groups: list[tuple[np.ndarray, pa.Array]], indices: np.ndarray) -> Parts:
    """Return the parts of a column.

    Parameters
    ----------
    groups : list of (mask, values)
        Which words are in the part, and their values.
    indices : int64 array of shape (n_rows,)
        The word of each row, -1 where it is missing.
    """
    parts = []
    for mask, values in groups:
        place = np.append(np.where(mask, np.cumsum(mask) - 1, -1), -1)[indices]
        if (place >= 0).any():
            parts.append((place, values))
    if not parts:
        return ((None, pa.nulls(len(indices))),)
    if len(parts) == 1:
        place, values = parts[0]
        return ((None, values.take(pa.array(place, mask=place < 0))),)
    return tuple(
        (np.flatnonzero(place >= 0), values.take(pa.array(place[place >= 0])))
        for place, values in parts
    )


def _read_words(words: pa.Array, type_: pa.DataType) -> pa.Array:
    """Read words without white space that are of a type, all of them."""
    if pa.types.is_timestamp(type_):
        return _read_times(words, type_.unit).cast(type_)
    return _without_nan(cast_words(words, type_))


def _read_times(words: pa.Array, kept: str) -> pa.Array:
    """Read points in time, with and without a zone, in a unit that holds all of them."""
    if kept != "ns":
        kept = "us"
    is_zoned = pc.match_substring_regex(words, "[T ].*[Z+-]")
    is_fine = pc.match_substring_regex(words, "[.][0-9]{7}")  # as in a table of nanoseconds
    times = []
    for zone, has_zone in ((None, pc.invert(is_zoned)), ("UTC", is_zoned)):
        for unit, has_unit in (("us", pc.invert(is_fine)), ("ns", is_fine)):
            mine = pc.if_else(pc.and_(has_zone, has_unit), words, pa.scalar(None, words.type))
            instants = mine.cast(pa.timestamp(unit, zone))
            times.append(instants.cast(pa.timestamp(kept, zone)))
    return pc.coalesce(*(part.cast(pa.timestamp(kept)) for part in times))


def _without_nan(values: pa.Array) -> pa.Array:
    """Return numbers that are null where the word nan stood."""
    if not pa.types.is_floating(values.type):
        return values
    return pc.if_else(pc.is_nan(values), pa.scalar(None, values.type), values)
