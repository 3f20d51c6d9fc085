"""Vectors that the user gives for the categories of a column, wherever they come from."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from catspace.data.groups import Groups, spread
from catspace.data.hashing import HashedVocabulary
from catspace.data.kinds import naming
from catspace.data.reading import read_table
from catspace.data.table import Column, Table
from catspace.data.vocabulary import MISSING, N_SPECIAL, RARE, SPECIAL_NAMES, UNSEEN, Vocabulary
from catspace.embeddings import Embedding, Embeddings
from catspace.exceptions import (
    CatspaceError,
    InputError,
    InputTypeError,
    ParameterError,
    shorten,
    warn,
)
from catspace.storage.blocks import read_any
from catspace.storage.word2vec import read_word2vec, word_of

_NAME = "initial_vectors"
# What `Embedding.to_frame` gives beside the vectors, where it calls the categories so.
_CATEGORY, _BESIDE = "category", ("count", "evidence")
_TABLE_ENDINGS, _MODEL_ENDING = (".parquet", ".csv"), ".catspace"


@dataclass(frozen=True)
class GivenVectors(ABC):
    """Vectors of categories, which the rows of a column's table start from.

    Attributes
    ----------
    column : str
    table : float32 array of shape (n_given + 3, dim)
        The first three rows belong to missing, rare and unseen values, as in an `Embedding`.
    counts : float64 array of shape (n_given + 3,)
        How many rows each vector was learned from; NaN where nobody knows, 0 where none was.
    """

    column: str
    table: np.ndarray
    counts: np.ndarray

    @property
    def dim(self) -> int:
        """The dimension of the space."""
        return int(self.table.shape[1])

    def find(self, vocabulary: Vocabulary) -> np.ndarray:
        """Return the row of ``table`` where each row of a column's own table starts.

        Warns where none of its categories has a vector here.

        Returns
        -------
        int array of shape (n_codes,)
            Row UNSEEN for categories that have no vector of their own here.
        """
        found = np.asarray(self._match(vocabulary))
        found[found < N_SPECIAL] = UNSEEN  # one that was rare there has no vector of its own
        for special in (MISSING, RARE):
            if self.counts[special] != 0:
                found[special] = special
        if vocabulary.n_categories and (found[N_SPECIAL:] == UNSEEN).all():
            warn(
                f"{_NAME} has a vector for none of the {vocabulary.n_categories} categories of "
                f"column {self.column!r}: {shorten(vocabulary.categories)}.",
                hint="the text '12' is not the number 12; compare a few of them.",
            )
        return found

    @abstractmethod
    def _match(self, vocabulary: Vocabulary) -> np.ndarray:
        """Return the row of each category of a column."""


@dataclass(frozen=True)
class _ByValue(GivenVectors):
    """Vectors whose categories are values of their own type."""

    vocabulary: Vocabulary

    def _match(self, vocabulary: Vocabulary) -> np.ndarray:
        if isinstance(vocabulary, HashedVocabulary):
            here = self.vocabulary
            n_buckets = here.n_buckets if isinstance(here, HashedVocabulary) else None
            if n_buckets != vocabulary.n_buckets:
                raise _not_by_bucket(self.column, vocabulary.n_buckets)
        return self.vocabulary.match(vocabulary)


@dataclass(frozen=True)
class _ByWord(GivenVectors):
    """Vectors whose categories are words, as a file of word2vec has them."""

    words: Mapping[str, int]  # the row of each

    def _match(self, vocabulary: Vocabulary) -> np.ndarray:
        if isinstance(vocabulary, HashedVocabulary):
            raise _not_by_bucket(self.column, vocabulary.n_buckets)
        rows = [self.words.get(word_of(one), UNSEEN) for one in vocabulary.categories]
        return np.array([UNSEEN] * N_SPECIAL + rows)


def read_given(initial_vectors: Any, groups: Groups = ()) -> dict[str, GivenVectors]:
    """Return the vectors that an estimator's `initial_vectors` gives, by column.

    Parameters
    ----------
    initial_vectors : mapping of column to object, or None
        An `Embedding`; a fitted model or `Embeddings`, whose column of the same name is taken; a
        frame with one column of categories and numbers beside it; or the path of a file: one of
        word2vec, a table, or a model.
    groups : Groups
        Of columns that share their vectors: what is given to one is given to all of them.
    """
    if initial_vectors is None:
        return {}
    if not isinstance(initial_vectors, Mapping):
        raise ParameterError(
            f"{_NAME} must be a dict of column to vectors, or None; got "
            f"{type(initial_vectors).__name__}.",
            hint=f'{_NAME}={{"store": model}} takes the vectors of a fitted model.',
        )
    spread(_NAME, initial_vectors, groups)  # says where columns of a group differ
    given = {str(column): _read_one(str(column), one) for column, one in initial_vectors.items()}
    for group in groups:
        named = [name for name in group if name in given]
        given.update(dict.fromkeys(group, given[named[0]]) if named else {})
    return given


def check_frozen(frozen_columns: Any, given: Mapping[str, GivenVectors]) -> list[str]:
    """Return the columns whose vectors stay as they are given, or say why they cannot."""
    if frozen_columns is None:
        return []
    names = None if isinstance(frozen_columns, (str, Mapping)) else frozen_columns
    if not isinstance(names, (list, tuple, set, frozenset)) or not all(
        isinstance(name, str) for name in names
    ):
        raise ParameterError(
            f"frozen_columns must be a list of names of columns, or None; got {frozen_columns!r}."
        )
    for name in names:
        if name not in given:
            raise ParameterError(
                f"frozen_columns names {name!r}, which has no {_NAME}: its vectors would stay "
                "where they are drawn at random.",
                hint=f"{_NAME}={{{name!r}: …}} gives them; a model file does not keep it.",
            )
    return list(names)


def _read_one(column: str, source: Any) -> GivenVectors:
    if isinstance(source, Embedding):
        return _from_embedding(column, source)
    if isinstance(source, Embeddings) or hasattr(source, "embeddings_"):
        return _from_embedding(column, _column_of(column, getattr(source, "embeddings_", source)))
    if hasattr(source, "fit") and hasattr(source, "get_params"):
        raise ParameterError(
            f"{_NAME}[{column!r}] is an {type(source).__name__} that is not fitted yet."
        )
    if isinstance(source, (str, Path)):
        return _from_path(column, source)
    try:
        table = read_table(source)
    except InputTypeError:
        raise ParameterError(
            f"{_NAME}[{column!r}] must be an Embedding, a fitted model, a frame, or the path of a "
            f"file of vectors; got {type(source).__name__}."
        ) from None
    return _from_table(column, table)


def _from_embedding(column: str, embedding: Embedding) -> GivenVectors:
    with np.errstate(over="ignore"):
        table = np.asarray(embedding.table, dtype=np.float32)
    _check_finite(column, table)
    counts = embedding.vocabulary.counts.astype(np.float64)
    return _ByValue(column, table, counts, embedding.vocabulary)


def _column_of(column: str, embeddings: Embeddings) -> Embedding:
    try:
        return embeddings[column]
    except CatspaceError as error:
        raise ParameterError(f"{_NAME}[{column!r}]: {error}") from None


def _from_path(column: str, path: str | Path) -> GivenVectors:
    name = str(path).lower()
    if name.endswith(_MODEL_ENDING):
        return _from_embedding(column, _column_of(column, Embeddings.load(path)))
    if name.endswith(_TABLE_ENDINGS):
        return _from_table(column, read_any(path))
    words, vectors = read_word2vec(path)
    rows = {word: row for row, word in enumerate(words, start=N_SPECIAL)}
    if len(rows) < len(words):
        last = [rows[word] - N_SPECIAL for word in words]
        raise _repeated(column, [words[i] for i in range(len(words)) if last[i] != i])
    _check_finite(column, vectors)
    table = np.concatenate([np.repeat(_mean(vectors), N_SPECIAL, axis=0), vectors])
    counts = np.concatenate([np.zeros(N_SPECIAL), np.full(len(words), np.nan)])
    return _ByWord(column, table, counts, rows)


def _from_table(column: str, table: Table) -> GivenVectors:
    """Return the vectors of a frame: one column of categories, and numbers beside it."""
    categories = _category_column(column, table)
    beside = _BESIDE if categories.name == _CATEGORY else ()
    components = [c for c in table.columns if c.name not in (categories.name, *beside)]
    for component in components:
        if not _is_number(component):
            raise InputError(
                f"{_NAME}[{column!r}] holds {component.name!r} beside the categories in "
                f"{categories.name!r}, which are no numbers.",
                hint="leave that column out.",
            )
    if not components or not table.n_rows:
        raise InputError(f"{_NAME}[{column!r}] holds no vectors: a column of numbers is needed.")
    with np.errstate(over="ignore"):
        vectors = np.stack([c.to_numbers() for c in components], axis=1).astype(np.float32)
    counts = np.full(table.n_rows, np.nan)
    if "count" in beside and "count" in table.names:
        counts = table["count"].to_numbers()
    _check_finite(column, vectors)
    n_special = N_SPECIAL if _begins_with_specials(categories) else 0
    categories = categories.take(np.arange(n_special, categories.n_rows))
    with naming(categories.name):
        vocabulary = Vocabulary.fit(categories)
        rows = vocabulary.encode(categories)
    if (vocabulary.counts > 1).any():
        times = vocabulary.counts[N_SPECIAL:]
        names = [name for name, n in zip(vocabulary.categories, times, strict=True) if n > 1]
        raise _repeated(column, names or [None])
    if not vocabulary.n_categories:
        raise InputError(f"{_NAME}[{column!r}] holds no categories.")
    found = np.repeat(_mean(vectors[n_special:]), vocabulary.n_codes, axis=0)
    found_counts = np.zeros(vocabulary.n_codes)
    found[rows], found_counts[rows] = vectors[n_special:], counts[n_special:]
    found[:n_special], found_counts[:n_special] = vectors[:n_special], counts[:n_special]
    return _ByValue(column, found, found_counts, vocabulary)


def _category_column(column: str, table: Table) -> Column:
    """Return the column that holds categories: by its name, or the only one without numbers."""
    for name in (_CATEGORY, column):
        if name in table.names:
            return table[name]
    others = [one for one in table.columns if not _is_number(one)]
    if len(others) != 1:
        raise InputError(
            f"{_NAME}[{column!r}] is a frame with {len(others)} columns that are no numbers, and "
            "the categories are one.",
            hint=f'name the column of categories "{_CATEGORY}".',
        )
    return others[0]


def _is_number(column: Column) -> bool:
    type_ = column.type
    return type_ is not None and bool(
        pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_decimal(type_)
    )


def _begins_with_specials(categories: Column) -> bool:
    """Whether a frame has rows for missing, rare and unseen, as `Embedding.to_frame` can give."""
    if len(categories.parts) != 1:  # values of several types, or lists, which are refused next
        return False
    return tuple(categories.parts[0][1][:N_SPECIAL].to_pylist()) == SPECIAL_NAMES


def _mean(vectors: np.ndarray) -> np.ndarray:
    """Return the mean of vectors, which is all that is known of a category without one."""
    return np.asarray(vectors.mean(axis=0, dtype=np.float64, keepdims=True), dtype=np.float32)


def _check_finite(column: str, vectors: np.ndarray) -> None:
    n_wrong = int((~np.isfinite(vectors).all(axis=1)).sum())
    if n_wrong:
        raise InputError(
            f"{_NAME}[{column!r}] holds values that are no finite numbers, in {n_wrong} of its "
            f"{len(vectors)} vectors.",
            hint="leave those categories out: they start at the vector of unseen ones.",
        )


def _repeated(column: str, names: list[Any]) -> InputError:
    return InputError(
        f"{_NAME}[{column!r}] gives several vectors to the same category: {shorten(names)}."
    )


def _not_by_bucket(column: str, n_buckets: int) -> ParameterError:
    return ParameterError(
        f"{_NAME} names {column!r}, whose values are hashed into {n_buckets} buckets.",
        hint="give vectors of a model that hashes the column into as many.",
    )
