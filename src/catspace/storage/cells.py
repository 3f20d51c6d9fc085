"""Columns of text, as a CSV file has them, read as what a fitted model knows the column to be.

A file that is read block by block cannot have its types guessed: one block's are not the next
one's. So every cell comes as text, and the model says what it is. Only distinct values are parsed.
"""

from collections.abc import Collection

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from catspace.data.table import Column
from catspace.storage.files import MISSING_CELLS

_TRUTH = {"true": 1, "false": 0, "True": 1, "False": 0, "TRUE": 1, "FALSE": 0}


def parse_column(name: str, cells: pa.Array, kinds: Collection[str]) -> Column:
    """Return cells of text as a column of one of the kinds that a vocabulary has.

    Parameters
    ----------
    name : str
    cells : Arrow array of strings
    kinds : collection of str
        Of `catspace.data.vocabulary.Vocabulary`: "number", "text", "time" and so on. What cannot
        be read as one of them stays text, and counts as unseen.
    """
    encoded = cells.dictionary_encode()
    words = encoded.dictionary
    is_missing = pc.is_in(words, value_set=pa.array(MISSING_CELLS, words.type))
    indices = encoded.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    lost = np.append(is_missing.to_numpy(zero_copy_only=False), True)[indices]  # -1 is missing
    parsers = [_PARSERS[kind] for kind in sorted(kinds) if kind in _PARSERS]
    parsed, is_parsed = parsers[0](words) if parsers else (words, np.ones(len(words), dtype=bool))
    parts = []
    for values, usable in ((parsed, is_parsed), (words, ~is_parsed)):
        rows = np.flatnonzero(~lost & np.append(usable, False)[indices])
        if len(rows) or usable is is_parsed:
            typed = pa.DictionaryArray.from_arrays(pa.array(indices[rows]), values)
            parts.append((rows, typed))
    if len(parts) == 1 and len(parts[0][0]) == len(indices):
        return Column(name, ((None, parts[0][1]),), len(indices))
    return Column(name, tuple(parts), len(indices))


def _numbers(words: pa.Array) -> tuple[pa.Array, np.ndarray]:
    """Read words as integers where all of them are, else as fractions."""
    for type_ in (pa.int64(), pa.float64()):
        try:
            return words.cast(type_), np.ones(len(words), dtype=bool)
        except pa.ArrowInvalid:
            continue
    found = [_number(word) for word in words.to_pylist()]
    is_number = np.array([value is not None for value in found])
    return pa.array([value or 0.0 for value in found], pa.float64()), is_number


def _number(word: str | None) -> float | None:
    if word in _TRUTH:
        return float(_TRUTH[word])
    try:
        return float(word or "")
    except ValueError:
        return None


def _times(words: pa.Array) -> tuple[pa.Array, np.ndarray]:
    """Read words as dates or points in time, in ISO's way of writing them."""
    try:
        return words.cast(pa.timestamp("us")), np.ones(len(words), dtype=bool)
    except pa.ArrowInvalid:
        pass
    found = []
    for word in words:
        try:
            found.append(word.cast(pa.timestamp("us")).as_py())
        except pa.ArrowInvalid:
            found.append(None)
    is_time = np.array([value is not None for value in found])
    return pa.array(found, pa.timestamp("us")), is_time


_PARSERS = {"number": _numbers, "time": _times}
