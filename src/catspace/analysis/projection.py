"""Categories in the plane, beside a map, and along directions."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import stats
from sklearn.manifold import MDS, TSNE, trustworthiness
from threadpoolctl import threadpool_limits

from catspace.analysis.source import (
    category_frame,
    centred_components,
    frame_of,
    get_embedding,
    read_target,
    refuse_equal_vectors,
)
from catspace.data.vocabulary import N_SPECIAL
from catspace.exceptions import InputError, shorten
from catspace.storage.blocks import read_any

METHODS = ("pca", "tsne", "mds")
# Trustworthiness needs all distances; beyond this many categories a sample is judged.
_TRUST_SAMPLE = 3_000
_MOST_FOR_MDS = 3_000
# Up to here, threads of t-SNE wait for each other longer than they work.
_MOST_FOR_ONE_THREAD = 2_000


def project(source: Any, column: str, *, method: str = "pca", random_state: int = 0) -> Any:
    """Lay the categories of a column out in the plane.

    Parameters
    ----------
    source : fitted estimator, Embeddings, or path to a model file
    column : str
    method : {"pca", "tsne", "mds"}, default="pca"
        PCA keeps the large distances, t-SNE the neighbours, MDS all distances as well as it can.
    random_state : int, default=0

    Returns
    -------
    DataFrame of shape (n_categories, 6)
        ``category``, ``count``, ``x``, ``y``, ``trustworthiness`` (of the whole picture: 1
        where all that are neighbours in the plane are neighbours in the space too, about 0.5
        where it is chance) and, in every row, the ``column``.

    Examples
    --------
    >>> import pandas as pd
    >>> from catspace import EmbeddingRegressor, analysis
    >>> X = pd.DataFrame({"town": ["Aachen", "Bonn", "Celle", "Dresden"] * 50})
    >>> model = EmbeddingRegressor(random_state=1).fit(X, [1.0, 1.1, 3.0, 3.1] * 50)
    >>> analysis.project(model, "town", method="pca")[["category", "count", "x"]].round(1)
      category  count    x
    0   Aachen     50  0.2
    1     Bonn     50  0.2
    2    Celle     50 -0.2
    3  Dresden     50 -0.2
    """
    embedding = get_embedding(source, column, at_least=4)
    refuse_equal_vectors(embedding)
    plane = to_plane(embedding.vectors, method, random_state=random_state)
    trust = _trust(embedding.vectors, plane)
    columns = {"x": plane[:, 0], "y": plane[:, 1], "trustworthiness": trust}
    return category_frame(embedding, columns)


def compare_with_map(
    source: Any,
    column: str,
    coordinates: Mapping[Any, Sequence[float]],
    *,
    method: str = "pca",
    n_permutations: int = 10_000,
    random_state: int = 0,
) -> Any:
    """Compare the layout of the categories with a map.

    The layout is moved, turned, mirrored and scaled to lie on the map as well as it can
    (Procrustes). The test asks how often a map with its names shuffled would be met as well.

    Parameters
    ----------
    source : fitted estimator, Embeddings, or path to a model file
    column : str
    coordinates : mapping of category to (latitude, longitude)
        In degrees.
    method : {"pca", "tsne", "mds"}, default="pca"
    n_permutations : int, default=10_000
    random_state : int, default=0

    Returns
    -------
    DataFrame of shape (n_categories, 8)
        ``category``, ``map_x`` and ``map_y`` (kilometres east and north of the middle), ``x`` and
        ``y`` (the layout, on the map), ``score`` (1 where it is the map, 0 where it has nothing
        of it), ``p_value`` and, in every row, the ``column``.

    Examples
    --------
    >>> from catspace import EmbeddingRegressor, analysis, make_sales
    >>> sales = make_sales(n_rows=1_000, n_stores=12, backend="pandas")
    >>> model = EmbeddingRegressor(max_epochs=5, random_state=0).fit(sales.X, sales.y)
    >>> beside = analysis.compare_with_map(model, "state", sales.truth.state_coordinates)
    >>> list(beside.columns), beside["category"].tolist()[:3]
    (['category', 'map_x', 'map_y', 'x', 'y', 'score', 'p_value', 'column'], ['BE', 'BW', 'BY'])
    """
    embedding = get_embedding(source, column, at_least=4)
    refuse_equal_vectors(embedding)
    categories = embedding.categories
    missing = [category for category in categories if category not in coordinates]
    if missing:
        raise InputError(f"The map has no coordinates of {shorten(missing)}.")
    on_map = _kilometres(np.array([coordinates[category] for category in categories], dtype=float))
    plane = to_plane(embedding.vectors, method, random_state=random_state)
    plane = plane - plane.mean(axis=0)

    left, _, right = np.linalg.svd(plane.T @ on_map)
    # As large as the map: the scale of the least squares would shrink a poor fit to a point.
    aligned = plane @ (left @ right) * (np.linalg.norm(on_map) / np.linalg.norm(plane))
    score = _procrustes_score(plane, on_map[None])[0]
    random = np.random.default_rng(random_state)
    orders = random.permuted(np.tile(np.arange(len(on_map)), (n_permutations, 1)), axis=1)
    shuffled = _procrustes_score(plane, on_map[orders])
    # The map itself is one of the orders, so that p is never zero.
    p_value = (1 + int((shuffled >= score).sum())) / (1 + n_permutations)
    return frame_of(
        embedding.backend,
        {
            "category": embedding.category_array(),
            "map_x": on_map[:, 0],
            "map_y": on_map[:, 1],
            "x": aligned[:, 0],
            "y": aligned[:, 1],
            "score": score,
            "p_value": p_value,
            "column": embedding.column,
        },
    )


def target_along(
    source: Any, column: str, X: Any, y: Any, *, n_random: int = 2, random_state: int = 0
) -> Any:
    """Return the mean target of each category along directions of the space.

    Random directions beside the principal components show how much any direction says.

    Parameters
    ----------
    source : fitted estimator, Embeddings, or path to a model file
    column : str
    X : table
        With what the column is made of; other columns do not matter.
    y : array-like of shape (n_samples,)
    n_random : int, default=2
        How many of them, beside the first two components.
    random_state : int, default=0

    Returns
    -------
    DataFrame of shape (n_categories * (2 + n_random), 7)
        ``direction`` ("component 1", …, "random 1", …), ``category``, ``position``, ``target``
        (its mean over the category's rows), and of each direction ``pearson`` and ``spearman``,
        the correlation of position and target. In every row the ``column``.

    Examples
    --------
    >>> import pandas as pd
    >>> from catspace import EmbeddingRegressor, analysis
    >>> X = pd.DataFrame({"town": ["Aachen", "Bonn", "Celle", "Dresden"] * 50})
    >>> y = [1.0, 1.1, 3.0, 3.1] * 50
    >>> model = EmbeddingRegressor(random_state=1).fit(X, y)
    >>> analysis.target_along(model, "town", X, y).head(4).round(1)
         direction category  position  target  pearson  spearman column
    0  component 1   Aachen       0.2     1.0     -1.0      -1.0   town
    1  component 1     Bonn       0.2     1.1     -1.0      -1.0   town
    2  component 1    Celle      -0.2     3.0     -1.0      -1.0   town
    3  component 1  Dresden      -0.2     3.1     -1.0      -1.0   town
    """
    embedding = get_embedding(source, column, at_least=3)
    refuse_equal_vectors(embedding)
    table = read_any(X)
    codes = embedding.codes_in(table)
    means = means_by_code(codes - N_SPECIAL, read_target(y, table), len(embedding))
    has_rows = np.flatnonzero(~np.isnan(means))
    components, _ = centred_components(embedding.vectors, 2)
    random = np.random.default_rng(random_state)
    lines = random.normal(size=(embedding.dim, n_random))
    lines /= np.linalg.norm(lines, axis=0)
    positions = {f"component {i + 1}": components[:, i] for i in range(2)}
    positions |= {f"random {i + 1}": embedding.vectors @ lines[:, i] for i in range(n_random)}
    along = {name: position[has_rows] for name, position in positions.items()}
    found = [correlations(position, means[has_rows]) for position in along.values()]
    rows = np.tile(has_rows, len(along))
    return frame_of(
        embedding.backend,
        {
            "direction": np.repeat(list(along), len(has_rows)),
            "category": embedding.category_array(rows),
            "position": np.concatenate(list(along.values())),
            "target": means[rows],
            "pearson": np.repeat([pearson for pearson, _ in found], len(has_rows)),
            "spearman": np.repeat([spearman for _, spearman in found], len(has_rows)),
            "column": embedding.column,
        },
    )


def to_plane(vectors: np.ndarray, method: str, *, random_state: int = 0) -> np.ndarray:
    """Return positions in the plane; shape (n_categories, 2)."""
    if method == "pca":
        return centred_components(vectors, 2)[0]
    if method == "tsne":
        n = len(vectors)
        model = TSNE(
            perplexity=perplexity_for(n),
            init="pca" if min(vectors.shape) >= 2 else "random",
            learning_rate="auto",
            random_state=random_state,
        )
        n_threads = 1 if n <= _MOST_FOR_ONE_THREAD else None
        with threadpool_limits(n_threads, user_api="openmp"):
            return np.asarray(model.fit_transform(vectors.astype(np.float32)), dtype=float)
    if method == "mds":
        if len(vectors) > _MOST_FOR_MDS:
            raise InputError(
                f"MDS keeps all distances, and {len(vectors):,} categories have too many.",
                hint='use method="pca" or method="tsne".',
            )
        model = MDS(2, n_init=1, init="random", random_state=random_state)
        # The first two components are the layout of classical MDS, without the matrix of all
        # distances that scikit-learn's would decompose.
        start = centred_components(vectors, 2)[0]
        return np.asarray(model.fit_transform(vectors.astype(float), init=start))
    raise InputError(f"method must be one of {shorten(METHODS)}; got {method!r}.")


def perplexity_for(n: int) -> float:
    """Return how many neighbours t-SNE looks at: 30, and less where there are few categories.

    Examples
    --------
    >>> perplexity_for(12), perplexity_for(12_000)
    (3.0, 30.0)
    """
    return float(max(1.0, min(30.0, n / 4)))


def means_by_code(codes: np.ndarray, values: np.ndarray, n: int) -> np.ndarray:
    """Return the mean of the values of each code from 0 to n - 1, NaN where there are none.

    Negative codes and values that are NaN do not count.
    """
    used = (codes >= 0) & ~np.isnan(values)
    counts = np.bincount(codes[used], minlength=n)
    sums = np.bincount(codes[used], weights=values[used], minlength=n)
    return np.asarray(np.divide(sums, counts, out=np.full(n, np.nan), where=counts > 0))


def correlations(a: np.ndarray, b: np.ndarray) -> tuple[float, float]:
    """Return Pearson's and Spearman's correlation, NaN where one of the two is constant."""
    if len(a) < 2 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return float("nan"), float("nan")
    return float(np.corrcoef(a, b)[0, 1]), float(stats.spearmanr(a, b).statistic)


def _trust(vectors: np.ndarray, plane: np.ndarray) -> float:
    n = min(len(vectors), _TRUST_SAMPLE)
    rows = np.random.default_rng(0).permutation(len(vectors))[:n]
    n_neighbors = max(1, min(5, (n - 1) // 2))
    return float(trustworthiness(vectors[rows], plane[rows], n_neighbors=n_neighbors))


def _kilometres(degrees: np.ndarray) -> np.ndarray:
    """Return latitude and longitude as kilometres east and north of the middle."""
    latitude, longitude = degrees.T
    north = 111.2 * (latitude - latitude.mean())
    east = 111.2 * np.cos(np.radians(latitude.mean())) * (longitude - longitude.mean())
    return np.column_stack([east, north])


def _procrustes_score(plane: np.ndarray, maps: np.ndarray) -> np.ndarray:
    """Return 1 - the Procrustes disparity of a centred layout with each map.

    The sum of the singular values of a 2 x 2 matrix is sqrt(|M|² + 2 |det M|), so that ten
    thousand shuffled maps need no decomposition each.
    """
    products = np.einsum("ni,mnj->mij", plane, maps)
    size = np.square(products).sum(axis=(1, 2))
    determinant = np.abs(
        products[:, 0, 0] * products[:, 1, 1] - products[:, 0, 1] * products[:, 1, 0]
    )
    squared_norms = np.square(plane).sum() * np.square(maps).sum(axis=(1, 2))
    return np.asarray((size + 2 * determinant) / squared_norms)
