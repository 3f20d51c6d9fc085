"""The categories as a finite metric space: whether it is one, and whether it is Euclidean.

The distances are those of `catspace.analysis.distances`, observed in a table or asked of a model.
"""

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from threadpoolctl import threadpool_limits

from catspace.analysis.distances import DistanceMatrix
from catspace.analysis.source import frame_of
from catspace.data.vocabulary import category_array
from catspace.exceptions import InputError, shorten


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

    Examples
    --------
    >>> import numpy as np
    >>> from catspace import analysis
    >>> d = np.array([[0.0, 0.1, 2.0], [0.1, 0.0, 1.9], [2.0, 1.9, 0.0]])
    >>> towns = analysis.DistanceMatrix("town", ["Aachen", "Bonn", "Celle"], d, np.full((3, 3), 10))
    >>> analysis.check_metric(towns).drop(columns="example")
          axiom  holds  violations  worst
    0  identity   True           0    0.1
    1  symmetry   True           0    0.0
    2  triangle   True           0    0.0
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

    Examples
    --------
    >>> import numpy as np
    >>> from catspace import analysis
    >>> d = np.array([[0.0, 0.1, 2.0], [0.1, 0.0, 1.9], [2.0, 1.9, 0.0]])
    >>> towns = analysis.DistanceMatrix("town", ["Aachen", "Bonn", "Celle"], d, np.full((3, 3), 10))
    >>> analysis.merge_redundant(towns, tolerance=0.2)
      category merged_into
    0   Aachen      Aachen
    1     Bonn      Aachen
    2    Celle       Celle
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
    DataFrame of shape (2 * len(lambdas), 6)
        ``kernel`` ("exp(-λ d)" or "exp(-λ d²)"), ``lambda`` (relative), ``smallest`` eigenvalue,
        number of ``negative`` ones, whether it is ``positive`` definite, and the ``column``.

    Examples
    --------
    >>> import numpy as np
    >>> from catspace import analysis
    >>> d = np.array([[0.0, 0.1, 2.0], [0.1, 0.0, 1.9], [2.0, 1.9, 0.0]])
    >>> towns = analysis.DistanceMatrix("town", ["Aachen", "Bonn", "Celle"], d, np.full((3, 3), 10))
    >>> analysis.schoenberg(towns)[["kernel", "lambda", "positive"]].head(3)
          kernel  lambda  positive
    0  exp(-λ d)     0.1      True
    1  exp(-λ d)     0.3      True
    2  exp(-λ d)     1.0      True
    """
    d = complete(distances)
    mean = d[np.triu_indices(len(d), k=1)].mean()
    if mean == 0:
        raise InputError(f"All categories of column {distances.column!r} coincide.")
    kernels = {1: "exp(-λ d)", 2: "exp(-λ d²)"}
    tried = list(product(kernels, lambdas))
    with one_thread():
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
            "column": distances.column,
        },
    )


def one_thread() -> threadpool_limits:
    """Return a context in which matrices are decomposed by one thread."""
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


def complete(distances: DistanceMatrix) -> np.ndarray:
    """Return all distances, or say which are not known."""
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
