"""What an analysis starts from: a fitted model, its embeddings, or a model file."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.decomposition import PCA

from catspace.data.frames import make_frame
from catspace.data.table import Table
from catspace.embeddings import Embedding, Embeddings
from catspace.exceptions import InputError, InputTypeError, did_you_mean


def get_embedding(source: Any, column: str | None = None, *, at_least: int = 1) -> Embedding:
    """Return the embedding of a column.

    Parameters
    ----------
    source : fitted estimator, Embeddings, Embedding, or path to a model file
    column : str
        May be left out where the source is the embedding of one column.
    at_least : int
        How many categories the analysis needs.
    """
    if isinstance(source, Embedding):
        embedding = source
    else:
        embeddings = _get_embeddings(source)
        if column is None:
            raise InputError(
                f"Which column? The embedded ones are: {', '.join(embeddings)}.",
            )
        embedding = embeddings[column]
    if len(embedding) < at_least:
        raise InputError(
            f"Column {embedding.column!r} has {len(embedding)} categories, and this needs at "
            f"least {at_least}."
        )
    return embedding


def get_network_embeddings(source: Any, column: str) -> list[Embedding]:
    """Return the embeddings of a column by every network of one or several fitted models."""
    models = source if isinstance(source, (list, tuple)) else [source]
    found = []
    for model in models:
        if not hasattr(model, "network_embeddings"):
            raise InputTypeError(
                f"Fitted estimators are needed, with their networks; got {type(model).__name__}.",
                hint="catspace.load(path) gives the estimator back that a file holds.",
            )
        found += [embeddings[column] for embeddings in model.network_embeddings()]
    first = found[0].categories
    if any(other.categories != first for other in found[1:]):
        raise InputError(f"The models do not have the same categories of column {column!r}.")
    return found


def _get_embeddings(source: Any) -> Embeddings:
    if isinstance(source, (str, Path)):
        return Embeddings.load(source)
    if isinstance(source, Embeddings):
        return source
    embeddings = getattr(source, "embeddings_", None)
    if not isinstance(embeddings, Embeddings):
        raise InputTypeError(
            f"A fitted estimator, its embeddings or a model file is needed; got "
            f"{type(source).__name__}."
        )
    return embeddings


def frame_of(embedding: Embedding, columns: Mapping[str, Any]) -> Any:
    """Return columns as a frame of the kind that the model was fitted on."""
    arrays = {
        name: values if isinstance(values, pa.Array) else pa.array(_plain(values))
        for name, values in columns.items()
    }
    return make_frame(arrays, embedding.backend)


def check_columns(table: Table, names: Iterable[str]) -> None:
    """Say so where a table lacks a column."""
    for name in names:
        if name not in table.names:
            raise InputError(f"The table has no column {name!r}.{did_you_mean(name, table.names)}")


def centred_components(vectors: np.ndarray, n_components: int) -> tuple[np.ndarray, np.ndarray]:
    """Return positions along the principal components, and the share of variance of each.

    The largest loading of a component is positive, as scikit-learn has it: the same vectors give
    the same picture. Where there are fewer components than asked for, the rest is zero.

    Returns
    -------
    positions : array of shape (n_categories, n_components)
    shares : array of shape (n_components,)
    """
    positions, shares = np.zeros((len(vectors), n_components)), np.zeros(n_components)
    if np.ptp(vectors, axis=0).any():  # vectors that are all the same have no share of anything
        n = min(n_components, *vectors.shape)
        pca = PCA(n, svd_solver="full")
        positions[:, :n] = pca.fit_transform(vectors.astype(np.float64))
        shares[:n] = pca.explained_variance_ratio_
    return positions, shares


def refuse_equal_vectors(embedding: Embedding, vectors: np.ndarray | None = None) -> None:
    """Say so where all categories lie in one place, and nothing can be told of them."""
    vectors = embedding.vectors if vectors is None else vectors
    if len(vectors) > 1 and np.ptp(vectors, axis=0).max(initial=0.0) == 0:
        raise InputError(
            f"All vectors of column {embedding.column!r} are equal, so nothing can be told of "
            f"its categories.",
            hint="was the model trained? A column that does not help to predict can end like this.",
        )


def _plain(values: Any) -> Any:
    return np.ascontiguousarray(values) if isinstance(values, np.ndarray) else values
