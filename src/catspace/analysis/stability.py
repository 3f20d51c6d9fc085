"""How far networks that differ only in their seed agree about a column."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from scipy.spatial import procrustes
from sklearn.neighbors import NearestNeighbors

from catspace.analysis.source import category_frame, get_embedding, get_network_embeddings
from catspace.embeddings import Embedding
from catspace.exceptions import InputError

# In many dimensions the nearest of all categories take all distances between them.
_MOST_CATEGORIES = 50_000


def stability(source: Any, column: str, *, k: int = 10) -> Any:
    """Tell how much the neighbours of each category agree between networks.

    Parameters
    ----------
    source : fitted estimator with ``n_networks`` of at least 2, or a list of fitted estimators
    column : str
    k : int, default=10
        Neighbours to compare.

    Returns
    -------
    DataFrame of shape (n_categories, 6)
        ``category``, ``count``, ``overlap`` (the share of a category's k nearest that two
        networks have in common, averaged over pairs of networks), ``chance`` (what unrelated
        networks would have in common), ``procrustes`` (of the whole column: 0 where two spaces
        are the same but for rotation and scale, 1 where they have nothing in common; averaged
        over pairs) and, in every row, the ``column``.

    Examples
    --------
    >>> import pandas as pd
    >>> from catspace import EmbeddingRegressor, analysis
    >>> X = pd.DataFrame({"town": ["Aachen", "Bonn", "Celle", "Dresden"] * 50})
    >>> model = EmbeddingRegressor(n_networks=2, random_state=1).fit(X, [1.0, 1.1, 3.0, 3.1] * 50)
    >>> analysis.stability(model, "town", k=1).round(1)
      category  count  overlap  chance  procrustes column
    0   Aachen     50      1.0     0.3         0.0   town
    1     Bonn     50      1.0     0.3         0.0   town
    2    Celle     50      1.0     0.3         0.0   town
    3  Dresden     50      1.0     0.3         0.0   town
    """
    networks = get_network_embeddings(source, column)
    if len(networks) < 2:
        raise InputError(
            "Stability compares networks, and there is only one.",
            hint="fit with n_networks=5, or pass a list of models.",
        )
    n = len(get_embedding(networks[0], at_least=3))
    if n > _MOST_CATEGORIES:
        raise InputError(
            f"Column {column!r} has {n:,} categories; comparing all of them needs all distances.",
            hint="ask for single ones with nearest(..., with_agreement=True).",
        )
    k = min(k, n - 1)
    neighbours = [_all_neighbours(network.vectors, k)[0] for network in networks]
    overlaps = [_shared(one, other).mean(axis=1) for one, other in combinations(neighbours, 2)]
    disparities = [
        procrustes(one.vectors.astype(float), other.vectors.astype(float))[2]
        for one, other in combinations(networks, 2)
    ]
    return category_frame(
        networks[0],
        {
            "overlap": np.mean(overlaps, axis=0),
            "chance": k / (n - 1),
            "procrustes": np.mean(disparities),
        },
    )


def neighbour_agreement(
    networks: Sequence[Embedding], category: Any, positions: np.ndarray, *, k: int
) -> np.ndarray:
    """Return the share of the other networks in which each position is among the k nearest."""
    if len(networks) < 2:
        raise InputError(
            "Agreement compares networks, and there is only one.", hint="fit with n_networks=5."
        )
    found = [
        network.search(network.vector(category), k=k, without=[category])[0]
        for network in networks[1:]
    ]
    return np.asarray(np.mean([np.isin(positions, others) for others in found], axis=0))


def find_all_neighbours(
    networks: Sequence[Embedding], k: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return the nearest of every category in the first network, and how far the others agree.

    Returns
    -------
    neighbours : int array of shape (n_categories, k)
        Positions, nearest first.
    distances : float array of shape (n_categories, k)
    agreement : float array of shape (n_categories, k), or None where there is one network
        The share of the other networks in which it is among the k nearest too.
    """
    neighbours, distances = _all_neighbours(networks[0].vectors, k)
    if len(networks) < 2:
        return neighbours, distances, None
    found = [_shared(neighbours, _all_neighbours(other.vectors, k)[0]) for other in networks[1:]]
    return neighbours, distances, np.mean(found, axis=0)


def _shared(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return which neighbours in one network are neighbours in the other; all (n_categories, k)."""
    return np.asarray((one[:, :, None] == other[:, None, :]).any(axis=2))


def _all_neighbours(vectors: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return positions and distances of the k nearest; both of shape (n_categories, k)."""
    # Not by a tree: from ten dimensions on it takes several times as long.
    search = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(vectors.astype(float))
    # Asked about no points, it answers about its own, and leaves each out of its own answer.
    distances, positions = search.kneighbors()
    return positions, distances
