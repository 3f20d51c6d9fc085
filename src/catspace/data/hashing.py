"""Values -> buckets, by a hash that is the same everywhere: for ids that are too many to name.

The hash of a value depends on the value alone: not on the process, the platform, the library that
the table came from, or the values beside it. Models that are saved rely on it, so it must never
change. It works on whole arrays; the distinct values of a column are hashed, not its rows.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from catspace.data.kinds import Part
from catspace.data.vocabulary import MISSING, N_SPECIAL, UNSEEN, Growth, ValueCounts, Vocabulary

# What the number 1, the text '1' and the first microsecond of 1970 start from.
_STARTS = {"number": 1, "text": 2, "bytes": 3, "time": 4, "duration": 5, "clock": 6}
_GOLDEN = 0x9E3779B97F4A7C15
_WORD = 8  # bytes
# Longer text is rare, and would be read word by word in as many turns.
_LONGEST = 32 * _WORD


@dataclass(frozen=True)
class HashedVocabulary(Vocabulary):
    """A vocabulary whose categories are buckets that values are hashed into.

    It holds the numbers of the buckets that fit met, and no values: its size is bounded by the
    number of buckets. Values that share a bucket share its row. A value that fit has not met gets
    the row of others when their bucket is the same, and counts as unseen when the bucket is new.
    """

    n_buckets: int
    value_kinds: tuple[str, ...]  # the kinds of values that fit met

    @classmethod
    def of(cls, buckets: Vocabulary, n_buckets: int, kinds: Any) -> "HashedVocabulary":
        """Make one from the vocabulary of a column of buckets, as `HashedCounts` counts them."""
        return cls(buckets.values, buckets.rows, buckets.counts, n_buckets, tuple(kinds))

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of values that fit met."""
        return self.value_kinds

    @property
    def categories(self) -> list[Any]:
        """The buckets by name, in the order of their rows."""
        return [f"bucket {number}" for number in super().categories]

    def code(self, category: Any, column: str) -> int:
        """Return the row of a value, or of a bucket by name: ``bucket 17``."""
        name = re.fullmatch(r"bucket (\d{1,18})", category) if isinstance(category, str) else None
        row = int(self._rows(np.array([int(name[1])]))[0]) if name else UNSEEN
        return super().code(category, column) if row == UNSEEN else row

    def match(self, other: Vocabulary) -> np.ndarray:
        """Return the row that each category of another vocabulary has here; buckets by number."""
        if not isinstance(other, HashedVocabulary):
            return super().match(other)
        found = np.full(other.n_codes, UNSEEN, dtype=np.int64)
        if other.n_buckets == self.n_buckets and "number" in other.values:
            is_own = other.rows["number"] >= N_SPECIAL
            buckets = other.values["number"].to_numpy()[is_own]
            found[other.rows["number"][is_own]] = self._rows(buckets)
        return found

    def count(self) -> "HashedCounts":
        """Return what counts more rows of the column."""
        return HashedCounts(self.n_buckets)

    def _lookup(self, kind: str, dictionary: pa.Array) -> np.ndarray:
        missing = dictionary.is_null().to_numpy(zero_copy_only=False)
        known = np.full(len(dictionary), UNSEEN)
        if kind in self.kinds:
            known = self._rows(find_buckets(kind, dictionary, self.n_buckets))
        return np.where(missing, MISSING, known).astype(np.int32)

    def _rows(self, buckets: np.ndarray) -> np.ndarray:
        """Return the row of each bucket; by binary search, which takes no time to set up."""
        if "number" not in self.values:  # nothing but missing values in fit
            return np.full(len(buckets), UNSEEN)
        met = self.values["number"].to_numpy()
        position = np.searchsorted(met, buckets).clip(max=len(met) - 1)
        return np.where(met[position] == buckets, self.rows["number"][position], UNSEEN)

    def _lookalike(self, category: Any) -> str:
        return ""  # the names of values are not kept


class HashedCounts(ValueCounts):
    """How often each bucket of a column occurs, counted block by block.

    Parameters
    ----------
    n_buckets : int
    """

    def __init__(self, n_buckets: int) -> None:
        super().__init__()
        self.n_buckets = n_buckets
        self._kinds: set[str] = set()

    def add_parts(self, parts: Sequence[Part], n_rows: int) -> None:
        """Count values that were factorized already by their buckets."""
        hashed: list[Part] = []
        for where, kind, dictionary, indices in parts:
            missing = dictionary.is_null().to_numpy(zero_copy_only=False)
            if not missing.all():
                self._kinds.add(kind)
            buckets = pa.array(find_buckets(kind, dictionary, self.n_buckets), mask=missing)
            hashed.append((where, "number", buckets, indices))
        super().add_parts(hashed, n_rows)

    def merge(self, other: ValueCounts) -> None:
        """Add what was counted elsewhere."""
        super().merge(other)
        if isinstance(other, HashedCounts):
            self._kinds |= other._kinds

    @property
    def kinds(self) -> set[str]:
        """The kinds of values that were met, before they were hashed."""
        return self._kinds

    def grow(
        self, known: Vocabulary, min_frequency: int = 1, max_categories: int | None = None
    ) -> Growth:
        """Return a vocabulary of buckets with those that occurred here added to it."""
        growth = super().grow(known, min_frequency, max_categories)
        kinds = sorted({*known.kinds, *self._kinds})
        buckets = HashedVocabulary.of(growth.vocabulary, self.n_buckets, kinds)
        return replace(growth, vocabulary=buckets)


def find_buckets(kind: str, values: pa.Array, n_buckets: int) -> np.ndarray:
    """Return the bucket of each value; int64 array of shape (len(values),).

    Parameters
    ----------
    kind : str
    values : Arrow array
        Of the kind's canonical type, as `factorize` gives it. Whatever stands for a null has no
        meaning.
    n_buckets : int
    """
    start = _mix(np.full(len(values), _STARTS[kind], dtype=np.uint64))
    if kind in ("text", "bytes"):
        hashed = _hash_bytes(values, start)
    else:
        hashed = _mix(start ^ _to_words(values))
    return (hashed % np.uint64(n_buckets)).astype(np.int64)


def _mix(words: np.ndarray) -> np.ndarray:
    """Scramble words of 64 bits, each to another one: the step of SplitMix64 (Steele et al.)."""
    words = words + np.uint64(_GOLDEN)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(words ^ (words >> np.uint64(31)))


def _to_words(values: pa.Array) -> np.ndarray:
    """Return numbers and times as 64 bits; those that are equal have the same, whatever their type.

    Whole floats count as integers.
    """
    if not pa.types.is_floating(values.type):
        type_ = values.type if pa.types.is_uint64(values.type) else pa.int64()
        integers = values.cast(type_).fill_null(0).to_numpy(zero_copy_only=False)
        return np.asarray(integers.astype(np.uint64))
    floats = values.fill_null(0).to_numpy(zero_copy_only=False)
    is_whole = (np.trunc(floats) == floats) & (floats >= -(2.0**63)) & (floats < 2.0**64)
    whole = np.where(is_whole, floats, 0)
    is_large = whole >= 2.0**63
    signed = np.where(is_large, 0, whole).astype(np.int64).astype(np.uint64)
    unsigned = np.where(is_large, whole, 0).astype(np.uint64)
    return np.where(is_whole, np.where(is_large, unsigned, signed), floats.view(np.uint64))


def _hash_bytes(values: pa.Array, start: np.ndarray) -> np.ndarray:
    """Return a hash of each text, read in words of eight bytes."""
    _, offsets_buffer, data_buffer = values.buffers()
    if not len(values):
        return start
    offsets = np.frombuffer(offsets_buffer, dtype=np.int64)[values.offset :][: len(values) + 1]
    begin, end = offsets[:-1], offsets[1:]
    length = end - begin
    data = np.frombuffer(data_buffer or b"", dtype=np.uint8)
    # Each byte begins a word; the last ones reach into the padding.
    padded = np.concatenate([data, np.zeros(_WORD, dtype=np.uint8)])
    words = np.ndarray(len(data) + 1, dtype="<u8", buffer=padded, strides=(1,))
    kept = np.array([(1 << 8 * n) - 1 for n in range(_WORD + 1)], dtype=np.uint64)

    hashed = _mix(start ^ length.astype(np.uint64))
    for i in np.flatnonzero(length > _LONGEST):
        digest = hashlib.blake2b(data[begin[i] : end[i]].tobytes(), digest_size=_WORD).digest()
        hashed[i : i + 1] = _mix(hashed[i : i + 1] ^ np.frombuffer(digest, dtype="<u8"))
    left = np.flatnonzero((length > 0) & (length <= _LONGEST))
    for place in range(0, _LONGEST, _WORD):
        rest = length[left] - place
        word = words[begin[left] + place] & kept[np.minimum(rest, _WORD)]
        hashed[left] = _mix(hashed[left] ^ word)
        left = left[rest > _WORD]
        if not len(left):
            break
    return hashed
