"""Category <-> code: which row of an embedding belongs to which value of a column.

The first three rows of every embedding are not categories. A value that is missing, one that was
seen in fit but too rarely to be learned, and one that was never seen are three different things,
and each has a row of its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from catspace.data.kinds import (
    InexactError,
    Part,
    convert_exactly,
    factorize,
    find_positions,
    merge_counts,
    naming,
    sort_counts,
    tell_kinds,
)
from catspace.data.table import Column
from catspace.exceptions import UnknownCategoryError, did_you_mean, warn

MISSING, RARE, UNSEEN = 0, 1, 2
N_SPECIAL = 3
SPECIAL_NAMES = ("(missing)", "(rare)", "(unseen)")

_FEWEST_UNSEEN = 3  # rows of nothing but unseen values that are worth a warning

# Fewer distinct values than this are kept as they come, block by block.
_SMALLEST_MERGE = 1 << 16


@dataclass(frozen=True)
class Vocabulary:
    """The categories of one column and the row that each has in an embedding.

    Values are grouped by kind: numbers, text, times and so on. Within numbers 1, 1.0 and True are
    one category; the text '1' is another. Categories are sorted within their kind, so the codes
    depend neither on the order of the rows nor on the library that the table came from.
    """

    values: Mapping[str, pa.Array]  # all values seen in fit, sorted; rare ones are among them
    # The embedding row of each value: RARE, or one from ``N_SPECIAL`` on
    rows: Mapping[str, np.ndarray]
    counts: np.ndarray  # int64 of shape (n_codes,): how often each row was met in fit

    @classmethod
    def fit(
        cls, column: Column, min_frequency: int = 1, max_categories: int | None = None
    ) -> "Vocabulary":
        """Learn the categories of a column.

        Parameters
        ----------
        column : Column
        min_frequency : int, default=1
            Values that occur less often share the row of the rare.
        max_categories : int, optional
            The column has at most so many rows, that of the rare included; the most frequent
            values have one of their own, of equally frequent ones the first in their order.
        """
        counts = ValueCounts()
        with naming(column.name):
            counts.add(column)
            return counts.vocabulary(min_frequency, max_categories)

    def to_state(self) -> dict[str, Any]:
        """Return the arrays that make up the vocabulary, by name."""
        state: dict[str, Any] = {"counts": self.counts}
        for kind in self.values:
            state[f"values.{kind}"] = self.values[kind]
            state[f"rows.{kind}"] = self.rows[kind]
        return state

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> "Vocabulary":
        """Return the vocabulary that `to_state` took apart."""
        kinds = sorted(name.partition(".")[2] for name in state if name.startswith("values."))
        return cls(
            {kind: state[f"values.{kind}"] for kind in kinds},
            {kind: state[f"rows.{kind}"] for kind in kinds},
            state["counts"],
        )

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of values that fit met: "number", "text", "time" and so on."""
        return tuple(self.values)

    @property
    def n_codes(self) -> int:
        """The number of rows of an embedding of this column, special ones included."""
        return len(self.counts)

    @property
    def n_categories(self) -> int:
        """The number of categories that have a row of their own."""
        return len(self.counts) - N_SPECIAL

    @property
    def n_values(self) -> int:
        """The number of rows that fit met: categories, and missing and rare if there were any."""
        return int((self.counts > 0).sum())

    @property
    def categories(self) -> list[Any]:
        """The categories as Python values, in the order of their rows."""
        found: list[Any] = []
        for kind, values in self.values.items():
            found.extend(values.filter(pa.array(self.rows[kind] >= N_SPECIAL)).to_pylist())
        return found

    def count(self) -> "ValueCounts":
        """Return what counts more rows of the column, for `ValueCounts.grow`."""
        return ValueCounts()

    def encode(self, column: Column, *, is_date_part: bool = False) -> np.ndarray:
        """Return the embedding row of each value.

        Warns when the column holds another kind of value than it did in fit, since then no value
        can be known: the text '12' is not the number 12.

        Returns
        -------
        int32 array of shape (n_rows,)
        """
        parts = column.factors
        known = set(self.kinds)
        new = {
            kind
            for _, kind, dictionary, _ in parts
            if kind not in known and len(dictionary) > dictionary.null_count
        }
        codes = self.codes(parts, column.n_rows)
        if new and known:
            _warn_about_kinds(column.name, known, new)
        elif known and not is_date_part and _is_all_unseen(codes):
            self._warn_about_all(column)
        return codes

    def _warn_about_all(self, column: Column) -> None:
        singles = [values for _, values in column.parts if values.type == pa.float32()]
        numbers = self.values.get("number")
        hint = "compare a few of them with embeddings_[column].categories."
        if singles and numbers is not None and pa.types.is_floating(numbers.type):
            rounded = numbers.to_numpy().astype(np.float32)
            if np.isin(singles[0].drop_null().to_numpy(), rounded).any():
                hint = "the column is float32 now and was float64 in fit; keep the type of fit."
        warn(f"None of the values of column {column.name!r} was met in fit.", hint=hint)

    def select(self, positions: np.ndarray) -> "Vocabulary":
        """Return a vocabulary of some of the categories, in the order that they have here.

        Parameters
        ----------
        positions : int array of shape (n_kept,)
            Of the categories in ``categories``. All others count as unseen.
        """
        kept = np.concatenate([np.arange(N_SPECIAL), N_SPECIAL + np.sort(positions)])
        new_row = np.full(self.n_codes, -1, dtype=np.int64)
        new_row[kept] = np.arange(len(kept))
        values, rows = {}, {}
        for kind, old in self.rows.items():
            stays = new_row[old] >= 0
            values[kind] = self.values[kind].filter(pa.array(stays))
            rows[kind] = new_row[old][stays]
        return replace(self, values=values, rows=rows, counts=self.counts[kept])

    def code(self, category: Any, column: str) -> int:
        """Return the row of one category; missing values are asked for with None."""
        try:
            kind, dictionary, _ = factorize(pa.array([category], from_pandas=True))
            code = int(self._lookup(kind, dictionary)[0]) if len(dictionary) else MISSING
        except (pa.ArrowException, OverflowError, InexactError):
            code = UNSEEN
        if code == UNSEEN:
            other = self._lookalike(category)
            raise UnknownCategoryError(f"Column {column!r} has no category {category!r}.{other}")
        return code

    def match(self, other: "Vocabulary") -> np.ndarray:
        """Return the row that each category of another vocabulary has here, UNSEEN for none.

        Returns
        -------
        int array of shape (n_codes of the other,)
            UNSEEN at the rows that are no categories.
        """
        found = np.full(other.n_codes, UNSEEN, dtype=np.int64)
        for kind, values in other.values.items():
            is_own = other.rows[kind] >= N_SPECIAL
            found[other.rows[kind][is_own]] = self._lookup(kind, values)[is_own]
        return found

    def unseen(self, column: Column) -> list[Any]:
        """Return the distinct values of a column that were not seen in fit."""
        found: list[Any] = []
        for _, part in column.parts:
            kind, dictionary, indices = factorize(part)
            used = np.bincount(indices[indices >= 0], minlength=len(dictionary)) > 0
            unknown = used & (self._lookup(kind, dictionary) == UNSEEN)
            found.extend(dictionary.filter(pa.array(unknown)).to_pylist())
        return found

    def codes(self, parts: Sequence[Part], n_rows: int) -> np.ndarray:
        """Return the embedding row of each value of a column that was factorized already."""
        codes = np.full(n_rows, MISSING, dtype=np.int32)
        for where, kind, dictionary, indices in parts:
            # One more entry at the end: index -1 is a missing value.
            lookup = np.append(self._lookup(kind, dictionary), np.int32(MISSING))
            codes[slice(None) if where is None else where] = lookup[indices]
        return codes

    def _lookup(self, kind: str, dictionary: pa.Array) -> np.ndarray:
        """Return the row of each distinct value; shape (len(dictionary),)."""
        missing = dictionary.is_null().to_numpy(zero_copy_only=False)
        if kind not in self.values:
            return np.where(missing, MISSING, UNSEEN).astype(np.int32)
        known = self.values[kind]
        position = find_positions(convert_exactly(dictionary, known.type), known)
        rows = np.where(position >= 0, self.rows[kind][position], UNSEEN)
        return np.where(missing, MISSING, rows).astype(np.int32)

    def _lookalike(self, category: Any) -> str:
        """Return a sentence when the value is there under another type or spelling."""
        shown = {str(known): known for known in self.categories[:100_000]}
        if str(category) in shown:
            return f" Did you mean {shown[str(category)]!r}?"
        return did_you_mean(category, shown) if isinstance(category, str) else ""


@dataclass(frozen=True)
class Growth:
    """A vocabulary that has met more rows, and where its rows come from."""

    vocabulary: Vocabulary
    # int64 of shape (n_codes,): the row that each row was before. UNSEEN for a category that is
    # new, RARE for one that was rare.
    origin: np.ndarray


_EMPTY = Vocabulary({}, {}, np.zeros(N_SPECIAL, dtype=np.int64))


class ValueCounts:
    """How often each value of a column occurs, counted block by block.

    Counts of several parts of a table, made in any order and anywhere, give the vocabulary of the
    whole when they are put together. Only distinct values are kept.
    """

    def __init__(self) -> None:
        self._n_rows = 0
        self._values: dict[str, list[pa.Array]] = {}
        self._counts: dict[str, list[np.ndarray]] = {}

    def add(self, column: Column) -> None:
        """Count the values of a column or of one block of it."""
        self.add_parts(column.factors, column.n_rows)

    def add_parts(self, parts: Sequence[Part], n_rows: int) -> None:
        """Count values that were factorized already."""
        self._n_rows += n_rows
        for _, kind, dictionary, indices in parts:
            counts = np.bincount(indices[indices >= 0], minlength=len(dictionary))
            used = (counts > 0) & dictionary.is_valid().to_numpy(zero_copy_only=False)
            if used.any():
                self._extend(kind, [dictionary.filter(pa.array(used))], [counts[used]])

    def merge(self, other: "ValueCounts") -> None:
        """Add what was counted elsewhere."""
        self._n_rows += other._n_rows
        for kind, values in other._values.items():
            self._extend(kind, values, other._counts[kind])

    @property
    def kinds(self) -> set[str]:
        """The kinds of values that were met."""
        return set(self._values)

    def vocabulary(self, min_frequency: int = 1, max_categories: int | None = None) -> Vocabulary:
        """Return the categories, the same whatever the blocks were."""
        return self.grow(_EMPTY, min_frequency, max_categories).vocabulary

    def grow(
        self, known: Vocabulary, min_frequency: int = 1, max_categories: int | None = None
    ) -> "Growth":
        """Return a vocabulary with what was counted here added to it.

        Its categories keep rows of their own, whatever they are counted now. All others need
        ``min_frequency`` rows here, and room below ``max_categories``: also those that were rare,
        since how often each rare value was met is not kept.

        Rows are numbered anew, in the order of the values, as if all had been met at once.
        """
        values, frequencies, before = {}, {}, {}
        for kind in sorted({*known.values, *self._values}):
            values[kind], frequencies[kind], before[kind] = self._join(known, kind)
        is_kept = _choose(
            {kind: frequency[before[kind] < N_SPECIAL] for kind, frequency in frequencies.items()},
            min_frequency,
            None if max_categories is None else max_categories - known.n_categories,
            has_rare=any((known.rows[kind] == RARE).any() for kind in known.rows),
        )
        rows, origin = {}, [np.arange(N_SPECIAL)]
        row_counts = [known.counts[:N_SPECIAL].copy()]
        next_row = N_SPECIAL
        for kind, frequency in frequencies.items():
            has_row = before[kind] >= N_SPECIAL
            has_row[~has_row] = is_kept[kind]
            rows[kind] = np.full(len(has_row), RARE, dtype=np.int64)
            rows[kind][has_row] = next_row + np.arange(has_row.sum())
            next_row += int(has_row.sum())
            row_counts[0][RARE] += frequency[~has_row].sum()
            row_counts[0][MISSING] -= frequency.sum()
            from_row = before[kind][has_row]
            earlier = np.where(from_row >= N_SPECIAL, known.counts[from_row], 0)
            row_counts.append(frequency[has_row] + earlier)
            origin.append(from_row)
        row_counts[0][MISSING] += self._n_rows
        counts = np.concatenate(row_counts).astype(np.int64)
        grown = replace(known, values=values, rows=rows, counts=counts)
        return Growth(grown, np.concatenate(origin))

    def _join(self, known: Vocabulary, kind: str) -> tuple[pa.Array, np.ndarray, np.ndarray]:
        """Return all values of a kind, how often each was counted here, and its row before.

        That is UNSEEN for a value that is new.
        """
        arrays, counts = self._values.get(kind, []), self._counts.get(kind, [])
        if kind not in known.values:
            values, frequency = sort_counts(arrays, counts)
            return values, frequency, np.full(len(values), UNSEEN, dtype=np.int64)
        met = known.values[kind]
        values, frequency = sort_counts([met, *arrays], [np.zeros(len(met), np.int64), *counts])
        before = np.full(len(values), UNSEEN, dtype=np.int64)
        before[find_positions(convert_exactly(met, values.type), values)] = known.rows[kind]
        return values, frequency, before

    def _extend(self, kind: str, values: Sequence[pa.Array], counts: Sequence[np.ndarray]) -> None:
        kept, kept_counts = self._values.setdefault(kind, []), self._counts.setdefault(kind, [])
        kept.extend(values)
        kept_counts.extend(counts)
        # When what waits is as much as what was merged last: each value is merged a few times
        # only, and memory is that of the distinct values.
        if sum(map(len, kept[1:])) > max(_SMALLEST_MERGE, len(kept[0])):
            merged, merged_counts = merge_counts(kept, kept_counts)
            self._values[kind], self._counts[kind] = [merged], [merged_counts]


def category_array(
    categories: Sequence[Any], rows: Sequence[int] | np.ndarray | None = None
) -> pa.Array:
    """Return categories as they are, or as text where they are of several types.

    Parameters
    ----------
    categories : sequence of object
    rows : sequence of int, optional
        Positions of those that are wanted, in any order; by default all.
    """
    try:
        array = pa.array(categories)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):  # mixed types, huge integers
        array = pa.array([str(category) for category in categories])
    return array if rows is None else array.take(pa.array(np.asarray(rows, dtype=int)))


def _choose(
    frequencies: Mapping[str, np.ndarray],
    min_frequency: int,
    max_categories: int | None,
    *,
    has_rare: bool = False,
) -> dict[str, np.ndarray]:
    """Return which values of each kind have a row of their own, from how often each occurs."""
    frequency = np.concatenate([np.empty(0, dtype=np.int64), *frequencies.values()])
    kept = frequency >= min_frequency
    has_rare = has_rare or not kept.all()
    if max_categories is not None and kept.sum() + has_rare > max_categories:
        # As in scikit-learn, the vector that the others have in common is one of them.
        kept[np.argsort(-frequency, kind="stable")[max(0, max_categories - 1) :]] = False
    ends = np.cumsum([len(part) for part in frequencies.values()])
    return {
        kind: kept[end - len(frequencies[kind]) : end]
        for kind, end in zip(frequencies, ends, strict=True)
    }


def _is_all_unseen(codes: np.ndarray) -> bool:
    """Whether several rows hold a value, and none of them one of fit; one row alone may be new."""
    return len(codes) >= _FEWEST_UNSEEN and (
        bool((codes == UNSEEN).sum() >= _FEWEST_UNSEEN)
        and bool(((codes == UNSEEN) | (codes == MISSING)).all())
    )


def _warn_about_kinds(column: str, known: set[str], new: set[str]) -> None:
    message, hint = tell_kinds(column, known, new)
    warn(f"{message}, so its values count as unseen.", hint=hint)
