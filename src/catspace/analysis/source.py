"""What analyses share: where their vectors and targets come from, and the frames of answers."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.decomposition import PCA

from catspace.data.frames import Frame, make_frame
from catspace.data.reading import read_vector
from catspace.data.schema import Schema
from catspace.data.table import Table
from catspace.data.target import as_numbers
from catspace.embeddings import Embedding, Embeddings
from catspace.exceptions import InputError, InputTypeError
from catspace.storage.blocks import read_any


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
            raise InputError(f"Which column? The embedded ones are: {', '.join(embeddings)}.")
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
    embeddings = getattr(source, "embeddings_", source)
    if not isinstance(embeddings, Embeddings):
        raise InputTypeError(
            f"A fitted estimator, its embeddings or a model file is needed; got "
            f"{type(source).__name__}."
        )
    return embeddings


def get_predictor(model: Any) -> Any:
    """Return a fitted model that predicts, or say what is needed."""
    if not hasattr(model, "predict") or not hasattr(model, "fitted_"):
        raise InputTypeError(
            f"A fitted model that predicts is needed; got {type(model).__name__}.",
            hint="vectors alone cannot be asked; catspace.load(path) gives the model back.",
        )
    return model


def read_features(model: Any, X: Any) -> Table:
    """Return the columns that a model knows, of a table or a file that may hold more."""
    learned = model.fitted_.learned
    return _conform(model, read_any(X, learned.encoder.kinds))


def read_labelled(model: Any, X: Any, y: Any = None) -> tuple[Table, np.ndarray]:
    """Return the columns that a model knows, and the target beside them.

    Parameters
    ----------
    model : fitted estimator
    X : table, or path to a CSV or Parquet file
        It may hold more columns than the model knows.
    y : array-like of shape (n_samples,), or str, optional
        The target, or the name of its column; by default the column that fit took it from.

    Returns
    -------
    table : Table
    target : array of shape (n_samples,) or (n_samples, n_outputs)
        Numbers as float64, labels as they are.
    """
    learned = model.fitted_.learned
    name = y if isinstance(y, str) else learned.schema.target
    table = read_any(X, learned.kinds(name))
    if y is None:
        if name not in table.names:
            raise InputError(
                "The target is needed beside the table.",
                hint='pass y, or its name: y="Sales".',
            )
        y = name
    target = read_vector(table.pop(y)[1] if isinstance(y, str) else y, "target")
    if target.ndim == 0 or len(target) != table.n_rows:
        n_targets = len(target) if target.ndim else "is one value"
        raise InputError(f"The table has {table.n_rows} rows and the target {n_targets}.")
    if not learned.is_classification:
        target = as_numbers(target)
    elif any(value is None or value != value for value in target.tolist()):
        raise InputError("Input y contains NaN: the class of some rows is missing.")
    return _conform(model, table), target


def _conform(model: Any, table: Table) -> Table:
    schema: Schema = model.fitted_.learned.schema
    return schema.conform(table, type(model).__name__, is_file=True)


def frame_of(backend: str, columns: Mapping[str, Any]) -> Frame:
    """Return columns as a frame of the kind that the user works with.

    A single number stands in every row.
    """
    n = max(len(values) for values in columns.values() if not np.isscalar(values))
    filled = {k: np.full(n, v) if np.isscalar(v) else v for k, v in columns.items()}
    arrays = {k: v if isinstance(v, pa.Array) else pa.array(v) for k, v in filled.items()}
    return make_frame(arrays, backend)


def category_frame(
    embedding: Embedding, columns: Mapping[str, Any], positions: np.ndarray | None = None
) -> Any:
    """Return a frame of categories, with their counts and what else is said of them.

    The name of the column stands in every row, so that frames of several columns can be put
    together, and a picture knows what it shows.

    Parameters
    ----------
    embedding : Embedding
    columns : mapping of name to values
        In the order of the rows of the frame.
    positions : int array, optional
        Of the categories in the rows of the frame; by default all, as they stand.
    """
    counts = embedding.counts if positions is None else embedding.counts[positions]
    said = {"category": embedding.category_array(positions), "count": counts, **columns}
    said["column"] = embedding.column
    return frame_of(embedding.backend, said)


def read_target(y: Any, table: Table) -> np.ndarray:
    """Return a target of one number for each row of a table, NaN where it is missing."""
    target, numbers = read_vector(y, "target"), None
    with suppress(TypeError, ValueError):
        numbers = target.astype(float) if target.dtype.kind in "biufO" else None
    if numbers is None or numbers.ndim != 1:
        raise InputError("The target must be one number for each row.")
    if len(numbers) != table.n_rows:
        raise InputError(f"The table has {table.n_rows} rows and the target {len(numbers)}.")
    return numbers


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


def refuse_equal_vectors(embedding: Embedding) -> None:
    """Say so where all categories lie in one place, and nothing can be told of them."""
    if len(embedding) > 1 and not np.ptp(embedding.vectors, axis=0).any():
        raise InputError(
            f"All vectors of column {embedding.column!r} are equal, so nothing can be told of "
            f"its categories.",
            hint="was the model trained? A column that does not help to predict can end like this.",
        )
