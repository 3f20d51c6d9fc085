"""The categories as a finite metric space: whether it is one, and how a Euclidean one holds it.

The distances are those of `catspace.analysis.distances`, observed in a table or asked of a model.
"""

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import procrustes
from sklearn.manifold import MDS, ClassicalMDS
from threadpoolctl import threadpool_limits

from catspace.analysis.distances import DistanceMatrix
from catspace.analysis.projection import correlations
from catspace.analysis.source import frame_of, get_embedding
from catspace.data.vocabulary import category_array
from catspace.embeddings import Embedding
from catspace.exceptions import InputError, shorten

_ENVELOPE_BINS = 25


def check_metric(distances: DistanceMatrix, *, tolerance: float = 1e-9) -> Any:
    """Check the axioms of a metric.

    Parameters
    ----------
    distances : DistanceMatrix
    tolerance : float, default=1e-9
        Distances up to here count as zero, and violations up to here as none.

    Returns
    -------
    DataFrame of shape (3, 4)
        ``axiom`` ("identity", "symmetry", "triangle"), ``holds``, ``violations`` (pairs of
        categories that coincide, pairs, triples) and ``worst``, with an ``example``.
    """
    d, n = distances.values, len(distances)
    a, b = np.triu_indices(n, k=1)
    coincide = np.flatnonzero(d[a, b] <= tolerance)
    asymmetry = np.abs(d - d.T)
    n_triangles, worst, triple = _worst_triangle(d, tolerance)
    violations = [len(coincide), int((asymmetry > tolerance).sum() // 2), n_triangles]
    first = coincide[:1]
    examples = [[*a[first], *b[first]], divmod(int(np.nanargmax(asymmetry)), n), triple]
    return frame_of(
        distances.backend,
        {
            "axiom": ["identity", "symmetry", "triangle"],
            "holds": [count == 0 for count in violations],
            "violations": violations,
            "worst": [float(np.nanmin(d[a, b])), float(np.nanmax(asymmetry)), worst],
            "example": [
                str([distances.categories[i] for i in example]) if count else ""
                for example, count in zip(examples, violations, strict=True)
            ],
        },
    )


def merge_redundant(distances: DistanceMatrix, *, tolerance: float = 1e-9) -> Any:
    """Return which categories can be merged because nothing tells them apart.

    Parameters
    ----------
    distances : DistanceMatrix
    tolerance : float, default=1e-9
        Categories that are at most so far apart become one. The relation is made transitive: a
        chain of close categories is one.

    Returns
    -------
    DataFrame of shape (n_categories, 2)
        ``category`` and ``merged_into``: itself, or the first category that it coincides with.
        ``X["store"].map(dict(zip(...)))`` applies it.
    """
    _, group = connected_components(csr_array(distances.values <= tolerance), directed=False)
    _, first = np.unique(group, return_index=True)
    names = distances.categories
    merged_into = category_array(names, first[group])
    columns = {"category": category_array(names), "merged_into": merged_into}
    return frame_of(distances.backend, columns)


def schoenberg(
    distances: DistanceMatrix, *, lambdas: Sequence[float] = (0.1, 0.3, 1.0, 3.0, 10.0)
) -> Any:
    """Test whether the space can lie in a Euclidean one without any distortion.

    Schoenberg (1938): it can, if and only if exp(-λ d²) is positive definite for every λ > 0.
    The paper writes exp(-λ d), which asks the same of the square root of d; both are given.

    Parameters
    ----------
    distances : DistanceMatrix
        Without unknown distances.
    lambdas : sequence of float
        In units of one over the mean distance (for d²: of its square).

    Returns
    -------
    DataFrame of shape (2 * len(lambdas), 5)
        ``kernel`` ("exp(-λ d)" or "exp(-λ d²)"), ``lambda`` (relative), ``smallest`` eigenvalue,
        number of ``negative`` ones, and whether it is ``positive`` definite.
    """
    d = _complete(distances)
    mean = d[np.triu_indices(len(d), k=1)].mean()
    if mean == 0:
        raise InputError(f"All categories of column {distances.column!r} coincide.")
    kernels = {1: "exp(-λ d)", 2: "exp(-λ d²)"}
    tried = list(product(kernels, lambdas))
    with _one_thread():
        spectra = np.array(
            [np.linalg.eigvalsh(np.exp(-factor * (d / mean) ** power)) for power, factor in tried]
        )
    # Eigenvalues are known to about this precision.
    floor = len(d) * np.finfo(float).eps * spectra[:, -1]
    return frame_of(
        distances.backend,
        {
            "kernel": [kernels[power] for power, _ in tried],
            "lambda": [factor for _, factor in tried],
            "smallest": spectra[:, 0],
            "negative": (spectra < -floor[:, None]).sum(axis=1),
            "positive": spectra[:, 0] > floor,
        },
    )


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
    DataFrame of shape (n_pairs, 10)
        ``category_a``, ``category_b``, ``metric`` and ``embedding`` distance; ``fitted`` (the
        straight line), ``lower`` and ``upper`` (the first and the last percent of the embedding
        distances among pairs about as far apart), and of all pairs ``pearson``, ``spearman`` and
        ``slope``.
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
    DataFrame of shape (n_categories, 1 + n_components + 1 or 3)
        ``category``, ``x0``, ``x1``, …; of the layout its ``stress`` (Kruskal's stress-1: 0 is
        perfect, 0.2 is poor); and with a source, the ``learned_stress`` of the learned vectors
        (scaled as well as they can be) and the ``procrustes`` disparity of the two layouts.
    """
    d = _complete(distances)
    model = MDS(
        n_components, metric="precomputed", n_init=1, init="random", random_state=random_state
    )
    with _one_thread():
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
    DataFrame of shape (1, 5)
        ``dim`` of the space, worst ``stretch`` and worst ``shrink`` (of learned over metric
        distance, relative to their median ratio), their product, the ``distortion``, and its
        ``average`` form: the mean of ratio / median and median / ratio, whichever is larger.
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
        },
    )


def _one_thread() -> threadpool_limits:
    # Threads of a decomposition wait for each other: beside other work, two take twenty times as
    # long as one for the eigenvalues of a thousand categories.
    return threadpool_limits(1, user_api="blas")


def _worst_triangle(d: np.ndarray, tolerance: float) -> tuple[int, float, tuple[int, int, int]]:
    """Return how many triples violate the triangle inequality, by how much, and the worst one."""
    n_violations, worst, triple = 0, 0.0, (0, 0, 0)
    for q in range(len(d)):
        excess = d - (d[:, q, None] + d[None, q, :])  # going through q is shorter
        bad = excess > tolerance
        n_violations += int(bad.sum()) // 2
        if bad.any() and (largest := float(np.nanmax(excess))) > worst:
            p, r = divmod(int(np.nanargmax(excess)), len(d))
            worst, triple = largest, (p, q, r)
    return n_violations, worst, triple


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


def _complete(distances: DistanceMatrix) -> np.ndarray:
    unknown = ~np.isfinite(distances.values)
    if unknown.any():
        pairs = [
            (distances.categories[i], distances.categories[j])
            for i, j in np.argwhere(np.triu(unknown))[:3]
        ]
        raise InputError(
            f"{int(unknown.sum()) // 2:,} distances are not known, such as {shorten(pairs)}.",
            hint="categories that never meet in the same context can be compared by a model: "
            "model_distance.",
        )
    return distances.values
