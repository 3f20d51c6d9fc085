"""Where vectors start that the user gives, what they are drawn to, and whether they stay there.

A vector that was learned elsewhere is what is known of its category before a row of this table is
read. So it takes the place of *unseen* as that to which few rows leave a vector close, and a row
forgets its category as seldom as if the rows that the vector was learned from were here.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from catspace.data.encoding import TableEncoder
from catspace.data.groups import first_of
from catspace.data.vocabulary import UNSEEN, Vocabulary
from catspace.exceptions import ParameterError
from catspace.preparation.given import GivenVectors, check_frozen
from catspace.validation import is_integer

# Rows that a given vector counts for where nobody says from how many it was learned.
_ROWS_OF_UNKNOWN = 100.0


@dataclass(frozen=True)
class Start:
    """Where the vectors of one table start.

    Attributes
    ----------
    vectors : float32 array of shape (n_codes, dim)
    is_given : bool array of shape (n_codes,)
        Which of them were given. All others start at *unseen*.
    n_rows : float array of shape (n_codes,)
        The rows that each given vector rests on already; 0 for the others.
    is_frozen : bool
        Whether the vectors stay there.
    """

    vectors: np.ndarray
    is_given: np.ndarray
    n_rows: np.ndarray
    is_frozen: bool = False

    @classmethod
    def of(cls, given: GivenVectors, vocabulary: Vocabulary, *, is_frozen: bool) -> "Start":
        """Return where the vectors of a vocabulary's table start."""
        rows = given.find(vocabulary)
        is_given = rows != UNSEEN
        counts = np.where(np.isnan(given.counts), _ROWS_OF_UNKNOWN, given.counts)
        return cls(given.table[rows], is_given, np.where(is_given, counts[rows], 0.0), is_frozen)

    def with_absent(self) -> "Start":
        """Return the same with a row for the slots of lists that hold no item."""
        return replace(
            self,
            vectors=np.append(self.vectors, np.zeros_like(self.vectors[:1]), axis=0),
            is_given=np.append(self.is_given, False),
            n_rows=np.append(self.n_rows, 0.0),
        )


# By the position of the table; columns without given vectors have none.
Starts = Mapping[int, Start]


def make_starts(
    frozen_columns: Any, given: Mapping[str, GivenVectors], encoder: TableEncoder
) -> Starts:
    """Return where the tables of the columns whose vectors are given start."""
    columns = list(encoder.vocabularies)
    first = first_of(columns, encoder.groups)
    frozen = {first[column] for column in check_frozen(frozen_columns, given)}
    tables = encoder.table_of or range(len(columns))
    return {
        table: Start.of(given[column], encoder.vocabularies[column], is_frozen=column in frozen)
        for column, table in zip(columns, tables, strict=True)
        if column in given and first[column] == column
    }


def frozen_tables(starts: Starts) -> list[int]:
    """Return the positions of tables that no step may move."""
    return [i for i, start in starts.items() if start.is_frozen]


def place_at(tables: Iterable[torch.nn.Parameter], starts: Starts) -> None:
    """Move tables of shape (n_codes, dim) to where they start, and fix those that are frozen."""
    for i, table in enumerate(tables):
        if i in starts:
            with torch.no_grad():
                table.copy_(torch.from_numpy(starts[i].vectors))
            table.requires_grad_(not starts[i].is_frozen)


def given_dims(embedding_dim: object, given: Mapping[str, GivenVectors]) -> dict[str, int]:
    """Return the dimensions that given vectors have, or say that others were asked for."""
    for column, one in given.items():
        wanted = embedding_dim.get(column) if isinstance(embedding_dim, Mapping) else embedding_dim
        if is_integer(wanted) and wanted != one.dim:
            raise ParameterError(
                f"initial_vectors gives {column!r} vectors of {one.dim} dimensions, and "
                f"embedding_dim says {wanted}.",
                hint='embedding_dim="auto" takes the dimension of the vectors that are given.',
            )
    return {column: one.dim for column, one in given.items()}
