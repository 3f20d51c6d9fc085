"""Which categories are close, which belong together, and what a direction means."""

from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.cluster import HDBSCAN, AgglomerativeClustering, KMeans
from sklearn.metrics import silhouette_samples, silhouette_score

from catspace.analysis.source import (
    category_frame,
    frame_of,
    get_embedding,
    get_network_embeddings,
    refuse_equal_vectors,
)
from catspace.analysis.stability import neighbour_agreement
from catspace.data.frames import Frame
from catspace.data.lists import ListColumn
from catspace.data.table import Column
from catspace.data.vocabulary import N_SPECIAL, Vocabulary
from catspace.embeddings import Embedding
from catspace.exceptions import InputError
from catspace.storage.blocks import read_any

_MOST_CLUSTERS = 12
# Silhouettes need all distances; beyond this many categories a sample is judged.
_SILHOUETTE_SAMPLE = 5_000


def nearest(
    source: Any, column: str, category: Any, *, k: int = 5, with_agreement: bool = False
) -> Frame:
    """Return the categories closest to one category.

    Parameters
    ----------
    source : fitted estimator, Embeddings, or path to a model file
    column : str
    category : object
        The one in the middle; it is not among the answers.
    k : int, default=5
    with_agreement : bool, default=False
        Whether to tell how far the networks of the model agree on each neighbour. Needs a fitted
        estimator with ``n_networks`` of at least 2.

    Returns
    -------
    DataFrame of shape (k, 6 or 7)
        ``category``, ``distance``, ``count`` (rows in training), ``evidence`` (how much of its
        vector is due to its own rows, from 0 to 1: see `Embedding.evidence`), if asked for
        ``agreement`` (the share of the other networks in which it is among the k nearest too),
        and in every row the ``anchor`` whose neighbours they are, and its ``column``.

    Examples
    --------
    >>> import pandas as pd
    >>> from catspace import EmbeddingRegressor, analysis
    >>> X = pd.DataFrame({"town": ["Aachen", "Bonn", "Celle", "Dresden"] * 50})
    >>> model = EmbeddingRegressor(n_networks=2, random_state=1).fit(X, [1.0, 1.1, 3.0, 3.1] * 50)
    >>> analysis.nearest(model, "town", "Aachen", k=2, with_agreement=True).round(1)
      category  distance  count  evidence  agreement  anchor column
    0     Bonn       0.0     50       1.0        1.0  Aachen   town
    1    Celle       0.4     50       1.0        1.0  Aachen   town
    """
    embedding = get_embedding(source, column)
    positions, distances = embedding.search(embedding.vector(category), k=k, without=[category])
    columns = {
        "category": embedding.category_array(positions),
        "distance": distances,
        "count": embedding.counts[positions],
        "evidence": embedding.evidence[positions],
    }
    if with_agreement:
        networks = get_network_embeddings(source, column)
        columns["agreement"] = neighbour_agreement(networks, category, positions, k=k)
    columns["anchor"] = _repeated(embedding, category, len(positions))
    columns["column"] = embedding.column
    return frame_of(embedding.backend, columns)


def analogy(source: Any, column: str, a: Any, b: Any, c: Any, *, k: int = 5) -> Any:
    """Return what is to ``c`` as ``b`` is to ``a``: the categories closest to c + (b - a).

    Parameters
    ----------
    source : fitted estimator, Embeddings, or path to a model file
    column : str
    a, b, c : object
        Categories; they are not among the answers.
    k : int, default=5

    Returns
    -------
    DataFrame of shape (k, 2)
        ``category`` and ``distance`` from the point that was looked for.

    Examples
    --------
    >>> import pandas as pd
    >>> from catspace import EmbeddingRegressor, analysis
    >>> X = pd.DataFrame({"town": ["Aachen", "Bonn", "Celle", "Dresden"] * 50})
    >>> model = EmbeddingRegressor(random_state=1).fit(X, [1.0, 1.1, 3.0, 3.1] * 50)
    >>> # What is to Celle as Bonn is to Aachen?
    >>> analysis.analogy(model, "town", "Aachen", "Bonn", "Celle", k=1).round(1)
      category  distance
    0  Dresden       0.1
    """
    embedding = get_embedding(source, column, at_least=4)
    point = embedding.vector(c) + embedding.vector(b) - embedding.vector(a)
    positions, distances = embedding.search(point, k=k, without=[a, b, c])
    columns = {"category": embedding.category_array(positions), "distance": distances}
    return frame_of(embedding.backend, columns)


def direction(source: Any, column: str, a: Any, b: Any) -> Any:
    """Return where the categories lie along the line from one category to another.

    Parameters
    ----------
    source : fitted estimator, Embeddings, or path to a model file
    column : str
    a, b : object
        The categories where the line begins and where it ends.

    Returns
    -------
    DataFrame of shape (n_categories, 7)
        ``category``, ``count``, ``position`` (0 at a, 1 at b) and ``distance`` from the line;
        sorted by position. In every row ``a``, ``b`` and the ``column``.

    Examples
    --------
    >>> import pandas as pd
    >>> from catspace import EmbeddingRegressor, analysis
    >>> X = pd.DataFrame({"town": ["Aachen", "Bonn", "Celle", "Dresden"] * 50})
    >>> model = EmbeddingRegressor(random_state=1).fit(X, [1.0, 1.1, 3.0, 3.1] * 50)
    >>> analysis.direction(model, "town", "Aachen", "Dresden").round(1)
      category  count  position  distance       a        b column
    0   Aachen     50       0.0       0.0  Aachen  Dresden   town
    1     Bonn     50       0.1       0.0  Aachen  Dresden   town
    2    Celle     50       0.9       0.1  Aachen  Dresden   town
    3  Dresden     50       1.0       0.0  Aachen  Dresden   town
    """
    embedding = get_embedding(source, column, at_least=2)
    position, off_line = _along(embedding, a, b)
    order = np.argsort(position, kind="stable")
    columns = {
        "position": position[order],
        "distance": off_line[order],
        "a": _repeated(embedding, a, len(order)),
        "b": _repeated(embedding, b, len(order)),
    }
    return category_frame(embedding, columns, order)


def explain_direction(source: Any, column: str, a: Any, b: Any, X: Any) -> Any:
    """Return how much each other column of a table tells about the position along a direction.

    Each row of the table gets the position of its category; the share of the positions' variance
    that lies between the values of another column is what that column explains.

    Parameters
    ----------
    source : fitted estimator, Embeddings, or path to a model file
    column : str
    a, b : object
        As for `direction`.
    X : table
        With what the column is made of and others beside it, at best one row for each category.

    Returns
    -------
    DataFrame of shape (n_columns - 1, 2)
        ``column`` and ``explained``, from 0 to 1, most telling first. Numbers are cut into ten
        parts of equal size.

    Examples
    --------
    >>> import pandas as pd
    >>> from catspace import EmbeddingRegressor, analysis
    >>> X = pd.DataFrame({"town": ["Aachen", "Bonn", "Celle", "Dresden"] * 50})
    >>> model = EmbeddingRegressor(random_state=1).fit(X, [1.0, 1.1, 3.0, 3.1] * 50)
    >>> table = X.assign(region=["west", "west", "east", "east"] * 50, even=[0, 1, 0, 1] * 50)
    >>> analysis.explain_direction(model, "town", "Aachen", "Dresden", table).round(1)
       column  explained
    0  region        1.0
    1    even        0.0
    """
    embedding = get_embedding(source, column, at_least=2)
    table = read_any(X)
    position, _ = _along(embedding, a, b)
    codes = embedding.codes_in(table)
    is_known = codes >= N_SPECIAL
    values = position[codes[is_known] - N_SPECIAL]
    raw = column if embedding.origin is None else embedding.origin.raw
    found = {
        other.name: _variance_between(values, _groups(other)[is_known])
        for other in table.columns
        if other.name != raw and not isinstance(other, ListColumn)
    }
    names = sorted(found, key=lambda name: -found[name])
    columns = {"column": names, "explained": [found[name] for name in names]}
    return frame_of(embedding.backend, columns)


def cluster(
    source: Any,
    column: str,
    *,
    method: str = "kmeans",
    n_clusters: int | None = None,
    random_state: int = 0,
) -> Any:
    """Group the categories of a column.

    Parameters
    ----------
    source : fitted estimator, Embeddings, or path to a model file
    column : str
    method : {"kmeans", "agglomerative", "hdbscan"}, default="kmeans"
    n_clusters : int, optional
        By default the number from 2 to 12 with the best silhouette. HDBSCAN finds its own.
    random_state : int, default=0

    Returns
    -------
    DataFrame of shape (n_categories, 5)
        ``category``, ``count``, ``cluster`` (numbered by size, 0 the largest; -1 is what HDBSCAN
        calls noise), ``silhouette`` (how well a category fits its cluster, from -1 to 1) and, in
        every row, the ``column``.

    Examples
    --------
    >>> import pandas as pd
    >>> from catspace import EmbeddingRegressor, analysis
    >>> X = pd.DataFrame({"town": ["Aachen", "Bonn", "Celle", "Dresden"] * 50})
    >>> model = EmbeddingRegressor(random_state=1).fit(X, [1.0, 1.1, 3.0, 3.1] * 50)
    >>> analysis.cluster(model, "town", n_clusters=2).round(1)
      category  count  cluster  silhouette column
    0   Aachen     50        1         0.9   town
    1     Bonn     50        1         0.9   town
    2    Celle     50        0         0.8   town
    3  Dresden     50        0         0.8   town
    """
    embedding = get_embedding(source, column, at_least=3)
    refuse_equal_vectors(embedding)
    vectors = embedding.vectors
    if method == "hdbscan":
        if n_clusters is not None:
            raise InputError("HDBSCAN finds the number of clusters itself; leave n_clusters out.")
        smallest = max(2, min(5, len(vectors) // 4))
        labels = HDBSCAN(min_cluster_size=smallest, copy=True).fit_predict(vectors)
    elif method in ("kmeans", "agglomerative"):
        labels = _best_partition(vectors, method, n_clusters, random_state)
    else:
        raise InputError(
            f'method must be one of "kmeans", "agglomerative", "hdbscan"; got {method!r}.'
        )
    labels = _by_size(labels)
    columns = {"cluster": labels, "silhouette": _silhouettes(vectors, labels)}
    return category_frame(embedding, columns)


def _repeated(embedding: Embedding, category: Any, n: int) -> pa.Array:
    """Return one category n times; null for missing values, and others without a vector."""
    position = embedding.vocabulary.code(category, embedding.column) - N_SPECIAL
    if position < 0:
        return pa.nulls(n, embedding.category_array([]).type)
    return embedding.category_array([position] * n)


def _along(embedding: Embedding, a: Any, b: Any) -> tuple[np.ndarray, np.ndarray]:
    start, end = embedding.vector(a).astype(float), embedding.vector(b).astype(float)
    line = end - start
    length = float(line @ line)
    if length == 0:
        raise InputError(
            f"{a!r} and {b!r} have the same vector in column {embedding.column!r}, so there is no "
            f"direction from one to the other."
        )
    offset = embedding.vectors.astype(float) - start
    position = offset @ line / length
    return position, np.linalg.norm(offset - position[:, None] * line, axis=1)


def _groups(column: Column) -> np.ndarray:
    """Return a number for each row that rows of the same value, or of close numbers, share."""
    if column.is_category or column.is_date:
        return Vocabulary.fit(column).encode(column)
    numbers = column.to_numbers()
    edges = np.unique(np.nanquantile(numbers, np.linspace(0.1, 0.9, 9)))
    return np.where(np.isnan(numbers), -1, np.searchsorted(edges, numbers))


def _variance_between(values: np.ndarray, groups: np.ndarray) -> float:
    """Return the share of the variance of values that lies between groups (eta squared)."""
    total = float(np.square(values - values.mean()).sum()) if len(values) else 0.0
    if total == 0:
        return 0.0
    _, index, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    means = np.bincount(index, weights=values) / sizes
    return float((sizes * np.square(means - values.mean())).sum() / total)


def _best_partition(
    vectors: np.ndarray, method: str, n_clusters: int | None, random_state: int
) -> np.ndarray:
    def labels_of(n: int) -> np.ndarray:
        if method == "kmeans":
            model = KMeans(n, n_init=10, random_state=random_state)
        else:
            model = AgglomerativeClustering(n)
        return np.asarray(model.fit_predict(vectors))

    if n_clusters is not None:
        if not 1 <= n_clusters <= len(vectors):
            raise InputError(
                f"n_clusters must be between 1 and the {len(vectors)} categories; got {n_clusters}."
            )
        return labels_of(n_clusters)
    n_distinct = len(np.unique(vectors, axis=0))
    candidates = [labels_of(n) for n in range(2, min(_MOST_CLUSTERS, n_distinct - 1) + 1)]
    if not candidates:
        return labels_of(n_distinct)
    sample = min(len(vectors), _SILHOUETTE_SAMPLE)
    scores = [
        silhouette_score(vectors, labels, sample_size=sample, random_state=random_state)
        for labels in candidates
    ]
    return candidates[int(np.argmax(scores))]


def _by_size(labels: np.ndarray) -> np.ndarray:
    """Return the labels renumbered, so that 0 is the largest cluster."""
    found, sizes = np.unique(labels[labels >= 0], return_counts=True)
    order = found[np.argsort(-sizes, kind="stable")]
    renumbered = np.full(len(labels), -1)
    for new, old in enumerate(order):
        renumbered[labels == old] = new
    return renumbered


def _silhouettes(vectors: np.ndarray, labels: np.ndarray) -> np.ndarray:
    silhouettes = np.full(len(labels), np.nan)
    inside = labels >= 0
    n_clusters = len(np.unique(labels[inside]))
    if 2 <= n_clusters < inside.sum():
        silhouettes[inside] = silhouette_samples(vectors[inside], labels[inside])
    return silhouettes
