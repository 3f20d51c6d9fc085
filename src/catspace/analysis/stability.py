"""How far networks that differ only in their seed agree about a column."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from scipy.spatial import procrustes
from sklearn.neighbors import NearestNeighbors

from catspace.analysis.source import frame_of, get_network_embeddings
from catspace.embeddings import Embedding
from catspace.exceptions import InputError

# All distances between categories are needed, block by block.
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
    DataFrame of shape (n_categories, 5)
        ``category``, ``count``, ``overlap`` (the share of a category's k nearest that two
        networks have in common, averaged over pairs of networks), ``chance`` (what unrelated
        networks would have in common) and ``procrustes`` (of the whole column: 0 where two spaces
        are the same but for rotation and scale, 1 where they have nothing in common; averaged
        over pairs).
    """
    networks = get_network_embeddings(source, column)
    if len(networks) < 2:
        raise InputError(
            "Stability compares networks, and there is only one.",
            hint="fit with n_networks=5, or pass a list of models.",
        )
    n = len(networks[0])
    if n < 3:
        raise InputError(f"Column {column!r} has {n} categories, and this needs at least 3.")
    if n > _MOST_CATEGORIES:
        raise InputError(
            f"Column {column!r} has {n:,} categories; comparing all of them needs all distances.",
            hint="ask for single ones with nearest(..., with_agreement=True).",
        )
    k = min(k, n - 1)
    neighbours = [_all_neighbours(network.vectors, k)[0] for network in networks]
    overlaps = [
        [len(set(first) & set(second)) / k for first, second in zip(one, other, strict=True)]
        for one, other in combinations(neighbours, 2)
    ]
    disparities = [
        procrustes(one.vectors.astype(float), other.vectors.astype(float))[2]
        for one, other in combinations(networks, 2)
    ]
    embedding = networks[0]
    return frame_of(
        embedding,
        {
            "category": embedding.category_array(),
            "count": embedding.counts,
            "overlap": np.mean(overlaps, axis=0),
            "chance": np.full(n, k / (n - 1)),
            "procrustes": np.full(n, np.mean(disparities)),
        },
    )


def neighbour_agreement(
    networks: Sequence[Embedding], category: Any, codes: np.ndarray, *, k: int
) -> np.ndarray:
    """Return the share of the other networks in which each category is among the k nearest."""
    if len(networks) < 2:
        raise InputError(
            "Agreement compares networks, and there is only one.", hint="fit with n_networks=5."
        )
    found = [
        network.search(network.vector(category), k=k, without=[category])[0]
        for network in networks[1:]
    ]
    return np.asarray(np.mean([np.isin(codes, others) for others in found], axis=0))


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
    agreement = np.zeros(neighbours.shape)
    for other in networks[1:]:
        theirs, _ = _all_neighbours(other.vectors, k)
        agreement += (neighbours[:, :, None] == theirs[:, None, :]).any(axis=2)
    return neighbours, distances, agreement / (len(networks) - 1)


def _all_neighbours(vectors: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return positions and distances of the k nearest; both of shape (n_categories, k)."""
    # Not by a tree: from ten dimensions on it takes several times as long.
    search = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(vectors.astype(float))
    # Asked about no points, it answers about its own, and leaves each out of its own answer.
    distances, positions = search.kneighbors()
    return positions, distances
