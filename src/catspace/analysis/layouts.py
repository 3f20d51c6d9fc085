"""A metric between categories, beside the learned vectors: how well one holds the other.

The distances are those of `catspace.analysis.distances`, observed in a table or asked of a model.
"""

from typing import Any

import numpy as np
from scipy.spatial import procrustes
from sklearn.manifold import MDS, ClassicalMDS

from catspace.analysis.distances import DistanceMatrix
from catspace.analysis.metric_space import complete, one_thread
from catspace.analysis.projection import correlations
from catspace.analysis.source import frame_of, get_embedding
from catspace.data.vocabulary import category_array
from catspace.embeddings import Embedding
from catspace.exceptions import InputError

_ENVELOPE_BINS = 25


def compare_distances(
    source: Any,
    column: str,
    distances: DistanceMatrix,
    *,
    n_pairs: int = 10_000,
    random_state: int = 0,
) -> Any:
    """Set distances in the learned space against distances in the metric space.

    The closer the pairs lie to a straight line, the better the vectors keep the metric.

    Parameters
    ----------
    source : fitted estimator, Embeddings, or path to a model file
    column : str
    distances : DistanceMatrix
        Of the same column.
    n_pairs : int, default=10_000
        Random pairs; all of them where there are fewer.
    random_state : int, default=0

    Returns
    -------
    DataFrame of shape (n_pairs, 11)
        ``category_a``, ``category_b``, ``metric`` and ``embedding`` distance; ``fitted`` (the
        straight line), ``lower`` and ``upper`` (the first and the last percent of the embedding
        distances among pairs about as far apart), and of all pairs ``pearson``, ``spearman``,
        ``slope`` and the ``column``.

    Examples
    --------
    >>> import pandas as pd
    >>> from catspace import EmbeddingRegressor, analysis
    >>> X = pd.DataFrame({"town": ["Aachen", "Bonn", "Celle", "Dresden"] * 50})
    >>> model = EmbeddingRegressor(random_state=1).fit(X, [1.0, 1.1, 3.0, 3.1] * 50)
    >>> asked = analysis.model_distance(model, X, "town")
    >>> found = analysis.compare_distances(model, "town", asked)
    >>> found[["category_a", "category_b", "metric", "embedding", "pearson"]].round(1)
      category_a category_b  metric  embedding  pearson
    0     Aachen       Bonn     0.1        0.0      1.0
    1     Aachen      Celle     2.0        0.4      1.0
    2     Aachen    Dresden     2.1        0.4      1.0
    3       Bonn      Celle     1.9        0.3      1.0
    4       Bonn    Dresden     2.0        0.4      1.0
    5      Celle    Dresden     0.1        0.1      1.0
    """
    embedding = get_embedding(source, column, at_least=3)
    vectors = _vectors_of(embedding, distances)
    a, b = np.triu_indices(len(distances), k=1)
    known = np.flatnonzero(np.isfinite(distances.values[a, b]))
    if len(known) > n_pairs:
        known = np.random.default_rng(random_state).choice(known, size=n_pairs, replace=False)
    a, b = a[known], b[known]
    metric = distances.values[a, b]
    learned = np.linalg.norm(vectors[a] - vectors[b], axis=1)
    if len(metric) < 2 or np.ptp(metric) == 0:
        raise InputError("There are no two different distances to compare.")
    slope, intercept = np.polyfit(metric, learned, 1)
    pearson, spearman = correlations(metric, learned)
    lower, upper = _envelope(metric, learned)
    return frame_of(
        embedding.backend,
        {
            "category_a": category_array(distances.categories, a),
            "category_b": category_array(distances.categories, b),
            "metric": metric,
            "embedding": learned,
            "fitted": intercept + slope * metric,
            "lower": lower,
            "upper": upper,
            "pearson": pearson,
            "spearman": spearman,
            "slope": slope,
            "column": distances.column,
        },
    )


def mds(
    distances: DistanceMatrix,
    *,
    n_components: int = 2,
    source: Any = None,
    random_state: int = 0,
) -> Any:
    """Lay the categories out by their metric distances, and compare with the learned vectors.

    Parameters
    ----------
    distances : DistanceMatrix
        Without unknown distances.
    n_components : int, default=2
    source : fitted estimator, Embeddings, or path to a model file, optional
        To compare with.
    random_state : int, default=0

    Returns
    -------
    DataFrame of shape (n_categories, 1 + n_components + 2 or 4)
        ``category``, ``x0``, ``x1``, …; of the layout its ``stress`` (Kruskal's stress-1: 0 is
        perfect, 0.2 is poor); and with a source, the ``learned_stress`` of the learned vectors
        (scaled as well as they can be) and the ``procrustes`` disparity of the two layouts. In
        every row the ``column``.

    Examples
    --------
    >>> import numpy as np
    >>> from catspace import analysis
    >>> d = np.array([[0.0, 0.1, 2.0], [0.1, 0.0, 1.9], [2.0, 1.9, 0.0]])
    >>> towns = analysis.DistanceMatrix("town", ["Aachen", "Bonn", "Celle"], d, np.full((3, 3), 10))
    >>> analysis.mds(towns)[["category", "x0", "stress"]].round(1)
      category   x0  stress
    0   Aachen -0.7     0.0
    1     Bonn -0.6     0.0
    2    Celle  1.3     0.0
    """
    d = complete(distances)
    model = MDS(
        n_components, metric="precomputed", n_init=1, init="random", random_state=random_state
    )
    with one_thread():
        layout = np.asarray(model.fit_transform(d, init=_classical_layout(d, n_components)))
    columns: dict[str, Any] = {
        "category": category_array(distances.categories),
        **{f"x{i}": layout[:, i] for i in range(n_components)},
        "stress": _stress(layout, d),
    }
    if source is not None:
        vectors = _vectors_of(get_embedding(source, distances.column), distances)
        width = max(n_components, vectors.shape[1])
        padded = [np.pad(x, ((0, 0), (0, width - x.shape[1]))) for x in (layout, vectors)]
        columns["learned_stress"] = _stress(vectors, d)
        columns["procrustes"] = procrustes(*padded)[2]
    columns["column"] = distances.column
    return frame_of(distances.backend, columns)


def distortion(source: Any, column: str, distances: DistanceMatrix) -> Any:
    """Return how much the learned space stretches and shrinks the metric one.

    Parameters
    ----------
    source : fitted estimator, Embeddings, or path to a model file
    column : str
    distances : DistanceMatrix

    Returns
    -------
    DataFrame of shape (1, 6)
        ``dim`` of the space, worst ``stretch`` and worst ``shrink`` (of learned over metric
        distance, relative to their median ratio), their product, the ``distortion``, and its
        ``average`` form: the mean of ratio / median and median / ratio, whichever is larger; and
        the ``column``.

    Examples
    --------
    >>> import pandas as pd
    >>> from catspace import EmbeddingRegressor, analysis
    >>> X = pd.DataFrame({"town": ["Aachen", "Bonn", "Celle", "Dresden"] * 50})
    >>> model = EmbeddingRegressor(random_state=1).fit(X, [1.0, 1.1, 3.0, 3.1] * 50)
    >>> asked = analysis.model_distance(model, X, "town")
    >>> list(analysis.distortion(model, "town", asked).columns)
    ['dim', 'stretch', 'shrink', 'distortion', 'average', 'column']
    """
    embedding = get_embedding(source, column, at_least=2)
    vectors = _vectors_of(embedding, distances)
    a, b = np.triu_indices(len(distances), k=1)
    metric = distances.values[a, b]
    learned = np.linalg.norm(vectors[a] - vectors[b], axis=1)
    usable = (metric > 0) & (learned > 0)  # NaN is not
    if not usable.any():
        raise InputError(f"All categories of column {column!r} coincide.")
    ratio = learned[usable] / metric[usable]
    ratio /= np.median(ratio)
    stretch, shrink = float(ratio.max()), float(1 / ratio.min())
    return frame_of(
        embedding.backend,
        {
            "dim": [embedding.dim],
            "stretch": [stretch],
            "shrink": [shrink],
            "distortion": [stretch * shrink],
            "average": [float(np.maximum(ratio, 1 / ratio).mean())],
            "column": [distances.column],
        },
    )


def _envelope(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the first and the last percent of y among points with about the same x."""
    n_bins = max(1, min(_ENVELOPE_BINS, len(x) // 20))
    edges = np.quantile(x, np.linspace(0, 1, n_bins + 1)[1:-1])
    bins = np.searchsorted(edges, x)
    lower, upper = np.empty(len(x)), np.empty(len(x))
    for i in range(n_bins):
        inside = bins == i
        if inside.any():
            lower[inside], upper[inside] = np.quantile(y[inside], [0.01, 0.99])
    return lower, upper


def _classical_layout(d: np.ndarray, n_components: int) -> np.ndarray:
    """Return where MDS starts: Torgerson's layout; shape (n_categories, n_components).

    A metric space that is not Euclidean has directions of negative variance; they are left flat.
    """
    # MDS(init="classical_mds") would start from the NaN that scikit-learn has for them.
    with np.errstate(invalid="ignore"):
        layout = ClassicalMDS(n_components, metric="precomputed").fit_transform(d)
    return np.pad(np.nan_to_num(layout), ((0, 0), (0, n_components - layout.shape[1])))


def _stress(layout: np.ndarray, d: np.ndarray) -> float:
    """Return Kruskal's stress-1 of a layout that may be scaled."""
    a, b = np.triu_indices(len(d), k=1)
    found, wanted = np.linalg.norm(layout[a] - layout[b], axis=1), d[a, b]
    if not found.any():
        return 1.0
    found = found * (found @ wanted) / (found @ found)
    return float(np.sqrt(np.square(found - wanted).sum() / np.square(wanted).sum()))


def _vectors_of(embedding: Embedding, distances: DistanceMatrix) -> np.ndarray:
    rows = [
        embedding.vocabulary.code(category, embedding.column) for category in distances.categories
    ]
    return embedding.table[rows].astype(float)
