"""Embeddings: vectors by column and category. No torch, so that a saved one opens anywhere."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from catspace.data.encoding import TableEncoder
from catspace.data.frames import Frame, make_frame
from catspace.data.groups import first_of
from catspace.data.origin import Origin
from catspace.data.reading import read_table
from catspace.data.vocabulary import (
    MISSING,
    N_SPECIAL,
    RARE,
    SPECIAL_NAMES,
    Vocabulary,
    category_array,
)
from catspace.exceptions import InputError, UnknownCategoryError, did_you_mean
from catspace.names import visible
from catspace.notebook import Space, describe_space, describe_spaces
from catspace.storage.document import read_model
from catspace.storage.paths import expand
from catspace.storage.projector import write_projector
from catspace.storage.word2vec import write_word2vec
from catspace.storage.writing import explaining, replacing


@dataclass(frozen=True, repr=False)
class Embedding:
    """The vectors of the categories of one column.

    Attributes
    ----------
    column : str
    vocabulary : Vocabulary
    table : float32 array of shape (n_categories + 3, dim)
        The first three rows belong to missing, rare and unseen values.
    backend : str
        The kind of frame to hand out: that of the table the model was fitted on.
    origin : Origin, optional
        What the column is made of in a table; by default it stands there as it is.
    smooth : float, default=0
        How strongly its vectors were drawn towards *unseen* in training, in rows.
    shared_with : tuple of str
        Other columns that have the same vectors; counts are of all of them together.

    Examples
    --------
    >>> import pandas as pd
    >>> from catspace import EmbeddingRegressor
    >>> X = pd.DataFrame({"town": ["Aachen", "Bonn", "Celle", None] * 50})
    >>> model = EmbeddingRegressor(random_state=1).fit(X, [1.0, 1.1, 3.0, 2.0] * 50)
    >>> town = model.embeddings_["town"]
    >>> town
    Embedding('town': 3 categories in 2 dimensions)
    >>> town.categories, town.counts.tolist()
    (['Aachen', 'Bonn', 'Celle'], [50, 50, 50])
    >>> town.vector("Bonn").shape, town.vector(None).shape
    ((2,), (2,))
    >>> town.nearest("Aachen", k=1)[["category", "count"]]
      category  count
    0     Bonn     50
    """

    column: str
    vocabulary: Vocabulary
    table: np.ndarray
    backend: str = "numpy"
    origin: Origin | None = None
    smooth: float = 0.0
    shared_with: tuple[str, ...] = ()

    @property
    def categories(self) -> list[Any]:
        """The categories, in the order of ``vectors``."""
        return self.vocabulary.categories

    @property
    def n_rows(self) -> int:
        """How many rows the training table had; of a column of lists, how many items."""
        return int(self.vocabulary.counts.sum()) // (1 + len(self.shared_with))

    @property
    def counts(self) -> np.ndarray:
        """How many rows of the training table each category had; shape (n_categories,)."""
        return self.vocabulary.counts[N_SPECIAL:]

    @property
    def evidence(self) -> np.ndarray:
        """How much of each vector is due to its own rows, from 0 to 1; shape (n_categories,).

        n² / (n² + smooth²) for a category with n rows: how far its vector has gone from *unseen*,
        as a share of the way to where its rows alone would have put it. A half where it has as
        many rows as ``smooth``; 1 for all where nothing was smoothed.
        """
        return _evidence(self.counts, self.smooth)

    @property
    def vectors(self) -> np.ndarray:
        """The vectors of the categories; shape (n_categories, dim)."""
        return self.table[N_SPECIAL:]

    @property
    def dim(self) -> int:
        """The dimension of the space."""
        return int(self.table.shape[1])

    def __len__(self) -> int:
        return len(self.vectors)

    def __repr__(self) -> str:
        return f"Embedding({self.column!r}: {len(self)} categories in {self.dim} dimensions)"

    def _repr_html_(self) -> str:
        """Return what notebooks show: a small map, counts, the most frequent categories."""
        return describe_space(self._space())

    def _space(self) -> Space:
        counts = self.vocabulary.counts
        return Space(
            self.column,
            self.categories,
            self.counts,
            self.evidence,
            self.vectors,
            n_missing=int(counts[MISSING]),
            n_rare=int(counts[RARE]),
            n_columns=1 + len(self.shared_with),
        )

    def vector(self, category: Any) -> np.ndarray:
        """Return the vector of one category; of missing values for None.

        Returns
        -------
        float32 array of shape (dim,)
        """
        return np.asarray(self.table[self.vocabulary.code(category, self.column)])

    def codes_in(self, X: Any) -> np.ndarray:
        """Return the row of ``table`` that each row of a user's table has.

        Dates and numbers that the column is made of are taken apart and cut as in fit.

        Parameters
        ----------
        X : table of shape (n_samples, n_columns)

        Returns
        -------
        int32 array of shape (n_samples,)
        """
        origin = self.origin or Origin(self.column)
        return self.vocabulary.encode(origin.read(read_table(X)))

    def codes(self, values: Any) -> np.ndarray:
        """Return the row of ``table`` that each value of the column has.

        Values that fit has not met have that of *unseen*, and None that of missing ones.

        Parameters
        ----------
        values : array-like of shape (n_samples,)
            Categories as they are in ``categories``.

        Returns
        -------
        int32 array of shape (n_samples,)
        """
        return self.vocabulary.encode(read_table({self.column: values})[self.column])

    def to_torch(self, *, frozen: bool = True) -> Any:
        """Return the vectors as a layer of torch, for a network of your own.

        Parameters
        ----------
        frozen : bool, default=True
            Whether the vectors stay as they are while that network trains.

        Returns
        -------
        torch.nn.Embedding of n_categories + 3 vectors
            Which maps what `codes`, or ``model.encode(X).codes``, gives to vectors. They are a
            copy.

        Examples
        --------
        >>> import torch
        >>> from catspace import EmbeddingRegressor
        >>> X = {"town": ["Aachen", "Bonn", "Celle"] * 50}
        >>> model = EmbeddingRegressor(random_state=1).fit(X, [1.0, 1.1, 3.0] * 50)
        >>> town = model.embeddings_["town"]
        >>> layer = town.to_torch()
        >>> layer
        Embedding(6, 2)
        >>> layer(torch.from_numpy(town.codes(["Bonn", "Jena"]))).shape
        torch.Size([2, 2])
        """
        from catspace.model.modules import make_embedding  # torch, where it is asked for

        return make_embedding(self.table, frozen=frozen)

    def nearest(self, category: Any, k: int = 5) -> Frame:
        """Return the categories closest to one category.

        Distance is Euclidean in the learned space, so it reflects the target
        the network was trained on, not similarity in general.

        Parameters
        ----------
        category : object
            A value of the column.
        k : int, default=5

        Returns
        -------
        DataFrame of shape (k, 4)
            ``category`` and ``distance``, nearest first; ``count`` (rows in training) and
            ``evidence`` say how much each of them rests on.
        """
        closest, distance = self.search(self.vector(category), k=k, without=[category])
        columns = {
            "category": self.category_array(closest),
            "distance": pa.array(distance),
            "count": pa.array(self.counts[closest]),
            "evidence": pa.array(self.evidence[closest]),
        }
        return make_frame(columns, self.backend)

    def search(
        self, point: np.ndarray, *, k: int = 5, without: Iterable[Any] = ()
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the categories closest to a point of the space.

        Parameters
        ----------
        point : float array of shape (dim,)
        k : int, default=5
        without : iterable of object
            Categories that are no answer, such as the one that was asked about.

        Returns
        -------
        positions : int array of shape (k,)
            Of the categories in ``categories`` and ``vectors``, nearest first.
        distances : float array of shape (k,)
        """
        if not isinstance(k, (int, np.integer)) or k < 1:
            raise InputError(f"k must be an int of at least 1; got {k!r}.")
        point = np.asarray(point, dtype=self.table.dtype)
        positions = {self.vocabulary.code(name, self.column) - N_SPECIAL for name in without}
        excluded = [position for position in positions if position >= 0]
        k = min(k, len(self) - len(excluded))
        if k == 0:
            return np.empty(0, dtype=int), np.empty(0, dtype=self.table.dtype)
        # |v - p|² up to a constant: one pass over the vectors, and rounded a little. For a single
        # point scikit-learn's search takes three times as long (benchmarks/nearest.py).
        rough = self._squares - 2 * (self.vectors @ point)
        rough[excluded] = np.inf
        farthest = np.partition(rough, k - 1)[k - 1]
        rounding = 1e-5 * (float(self._squares.max()) + float(point @ point))
        candidates = np.flatnonzero(rough <= farthest + rounding)
        distance = np.linalg.norm(self.vectors[candidates] - point, axis=1)
        order = np.argsort(distance, kind="stable")[:k]
        return candidates[order], distance[order]

    @cached_property
    def _squares(self) -> np.ndarray:
        """The squared length of each vector; shape (n_categories,)."""
        return np.asarray(np.einsum("ij,ij->i", self.vectors, self.vectors))

    def select(self, positions: np.ndarray) -> "Embedding":
        """Return the embedding of some of the categories, in the order that they have here.

        Parameters
        ----------
        positions : int array of shape (n_kept,)
            Of the categories in ``categories`` and ``vectors``.
        """
        kept = np.concatenate([np.arange(N_SPECIAL), N_SPECIAL + np.sort(positions)])
        return replace(self, vocabulary=self.vocabulary.select(positions), table=self.table[kept])

    def to_frame(self, *, include_special: bool = False) -> Frame:
        """Return categories, counts and vectors as one frame.

        Parameters
        ----------
        include_special : bool, default=False
            Whether missing, rare and unseen come first, as rows of their own; categories are
            text then.

        Returns
        -------
        DataFrame of shape (n_categories, 3 + dim)
            ``category``, ``count``, ``evidence``, and ``store_0``, ``store_1``, … for a column
            ``store``.
        """
        return make_frame(self._columns(include_special), self.backend)

    def to_arrow(self) -> pa.Table:
        """Return ``to_frame()`` as an Arrow table, whatever the model was fitted on."""
        return pa.table(self._columns(include_special=False))

    def to_parquet(self, path: str | Path) -> None:
        """Write ``to_frame()`` to a Parquet file."""
        place = expand(path)
        with explaining(place), replacing(place) as temporary, temporary.open("wb") as file:
            pyarrow.parquet.write_table(self.to_arrow(), file)

    def to_tensorboard(self, directory: str | Path) -> None:
        """Write ``vectors.tsv`` and ``metadata.tsv`` for TensorBoard's embedding projector."""
        write_projector(directory, self.column, self.categories, self.counts, self.vectors)

    def to_word2vec(self, path: str | Path) -> None:
        """Write the text format of word2vec: a line for each category.

        The format separates by spaces, so white space inside a category becomes ``_``.
        """
        write_word2vec(path, self.categories, self.vectors)

    def category_array(self, positions: Sequence[int] | np.ndarray | None = None) -> pa.Array:
        """Return the categories as an Arrow array; as text where they are of several types.

        Parameters
        ----------
        positions : sequence of int, optional
            Of those that are wanted, in any order; by default all.
        """
        return category_array(self.categories, positions)

    def _columns(self, include_special: bool) -> dict[str, pa.Array]:
        categories, counts, vectors = self.category_array(), self.counts, self.vectors
        if include_special:
            names = [*SPECIAL_NAMES, *(str(category) for category in self.categories)]
            categories = pa.array(names)
            counts, vectors = self.vocabulary.counts, self.table
        components = {
            f"{self.column}_{i}": pa.array(np.ascontiguousarray(vectors[:, i]))
            for i in range(self.dim)
        }
        evidence = pa.array(_evidence(counts, self.smooth))
        return {
            "category": categories,
            "count": pa.array(counts),
            "evidence": evidence,
        } | components


class Embeddings(Mapping[str, Embedding]):
    """The embeddings of all categorical columns of a model, by column.

    Examples
    --------
    >>> import pandas as pd
    >>> from catspace import EmbeddingRegressor
    >>> X = pd.DataFrame({"town": ["Bonn", "Jena"] * 50, "day": ["Mon", "Tue", "Wed", "Thu"] * 25})
    >>> model = EmbeddingRegressor(random_state=0).fit(X, [1.0, 2.0] * 50)
    >>> model.embeddings_
    Embeddings(town: 2x1, day: 4x2)
    >>> list(model.embeddings_), model.embeddings_["day"].dim
    (['town', 'day'], 2)
    """

    def __init__(self, embeddings: Mapping[str, Embedding]) -> None:
        self._embeddings = dict(embeddings)

    @classmethod
    def load(cls, path: str | Path) -> "Embeddings":
        """Read the embeddings out of a model file; torch is not needed."""
        document, arrays = read_model(path)
        encoder = TableEncoder.from_state(document["encoder"], arrays)
        first = first_of([*encoder.vocabularies], encoder.groups)
        places = {column: i for i, column in enumerate(encoder.vocabularies)}
        tables = [arrays[f"embedding.{places[first[column]]}"] for column in places]
        smooth = (document.get("recipe") or {}).get("smooth", ())
        return cls.of(encoder, tables, document["backend"], smooth)

    @classmethod
    def of(
        cls,
        encoder: TableEncoder,
        tables: Iterable[np.ndarray],
        backend: str,
        smooth: Sequence[float] = (),
    ) -> "Embeddings":
        """Join what is known of columns, tables of vectors and smoothing, in the same order."""
        origins, strengths = encoder.origins, smooth or [0.0] * len(encoder.vocabularies)
        beside = {
            column: tuple(other for other in group if other != column)
            for group in encoder.groups
            for column in group
        }
        columns = zip(encoder.vocabularies.items(), tables, strengths, strict=True)
        return cls(
            {
                column: Embedding(
                    column,
                    vocabulary,
                    table,
                    backend,
                    origins[column],
                    strength,
                    beside.get(column, ()),
                )
                for (column, vocabulary), table, strength in columns
            }
        )

    def __getitem__(self, column: str) -> Embedding:
        try:
            return self._embeddings[column]
        except KeyError:
            raise UnknownCategoryError(
                f"There is no embedding of a column {column!r}."
                f"{did_you_mean(column, self._embeddings)}",
                hint=f"the embedded columns are: {', '.join(map(visible, self._embeddings))}.",
            ) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._embeddings)

    def __len__(self) -> int:
        return len(self._embeddings)

    def __repr__(self) -> str:
        inside = ", ".join(
            f"{visible(name)}: {len(e)}x{e.dim}" for name, e in self._embeddings.items()
        )
        return f"Embeddings({inside})"

    def _repr_html_(self) -> str:
        """Return what notebooks show: the columns, each with a map as large as a stamp."""
        return self.describe()

    def describe(self, title: str = "") -> str:
        """Return the columns as a table of HTML, under a title."""
        return describe_spaces((each._space() for each in self.values()), title)


def _evidence(counts: np.ndarray, smooth: float) -> np.ndarray:
    squares = counts.astype(np.float64) ** 2
    return np.divide(squares, squares + smooth**2, out=np.zeros(len(counts)), where=counts > 0)
