"""How the categories are distributed in their space, and how the spaces of columns relate."""

from itertools import combinations
from typing import Any

import numpy as np
from scipy import stats

from catspace.analysis.source import (
    category_frame,
    centred_components,
    frame_of,
    get_embedding,
    refuse_equal_vectors,
)
from catspace.embeddings import Embedding
from catspace.exceptions import InputError, InputTypeError
from catspace.storage.blocks import read_any

_BLOCK = 2048
# D'Agostino's test is an approximation that needs some values to rest on.
FEWEST_FOR_K2 = 8


def components(source: Any, column: str, *, n_components: int = 4) -> Any:
    """Return the categories along the principal components of their space.

    Parameters
    ----------
    source : fitted estimator, Embeddings, or path to a model file
    column : str
    n_components : int, default=4
        Fewer, where the space has fewer dimensions.

    Returns
    -------
    DataFrame of shape (n_categories, 3 + n_components)
        ``category``, ``count``, ``component 1``, ``component 2``, …, ``column``.

    Examples
    --------
    >>> import pandas as pd
    >>> from catspace import EmbeddingRegressor, analysis
    >>> X = pd.DataFrame({"town": ["Aachen", "Bonn", "Celle", "Dresden"] * 50})
    >>> model = EmbeddingRegressor(random_state=1).fit(X, [1.0, 1.1, 3.0, 3.1] * 50)
    >>> analysis.components(model, "town")[["category", "count", "component 1"]].round(1)
      category  count  component 1
    0   Aachen     50          0.2
    1     Bonn     50          0.2
    2    Celle     50         -0.2
    3  Dresden     50         -0.2
    """
    embedding = get_embedding(source, column, at_least=2)
    along, _ = _components(embedding, n_components)
    return category_frame(embedding, along)


def normality(source: Any, column: str, *, n_components: int = 4) -> Any:
    """Test whether the categories are normally distributed along the principal components.

    Parameters
    ----------
    source : fitted estimator, Embeddings, or path to a model file
    column : str
    n_components : int, default=4
        As for `components`.

    Returns
    -------
    DataFrame of shape (n_components, 7)
        ``component``, ``variance_share``, ``standard_deviation``, ``skewness``, ``kurtosis``
        (excess), ``k2`` (D'Agostino's K²) and ``p_value``: small where the distribution is not
        normal.

    Examples
    --------
    >>> from catspace import EmbeddingRegressor, analysis, make_sales
    >>> sales = make_sales(n_rows=1_000, n_stores=12, backend="pandas")
    >>> model = EmbeddingRegressor(max_epochs=5, random_state=0).fit(sales.X, sales.y)
    >>> analysis.normality(model, "store")["component"].tolist()
    ['component 1', 'component 2', 'component 3', 'component 4']
    """
    embedding = get_embedding(source, column, at_least=FEWEST_FOR_K2)
    refuse_equal_vectors(embedding)
    along, shares = _components(embedding, n_components)
    positions = np.column_stack(list(along.values()))
    k2, p_value = stats.normaltest(positions, axis=0)
    return frame_of(
        embedding.backend,
        {
            "component": list(along),
            "variance_share": shares,
            "standard_deviation": positions.std(axis=0),
            "skewness": stats.skew(positions, axis=0),
            "kurtosis": stats.kurtosis(positions, axis=0),
            "k2": k2,
            "p_value": p_value,
        },
    )


def mardia(source: Any, column: str) -> Any:
    """Test whether the vectors are jointly normal, by Mardia's skewness and kurtosis.

    Directions in which the vectors do not vary are left out.

    Parameters
    ----------
    source : fitted estimator, Embeddings, or path to a model file
    column : str

    Returns
    -------
    DataFrame of shape (2, 6)
        ``test`` ("skewness", "kurtosis"), ``value`` (Mardia's b1 and b2), ``expected`` (under
        normality), ``statistic`` (chi-squared, and standard normal), ``degrees`` (of freedom; of
        the kurtosis none) and ``p_value``.

    Examples
    --------
    >>> from catspace import EmbeddingRegressor, analysis, make_sales
    >>> sales = make_sales(n_rows=1_000, n_stores=12, backend="pandas")
    >>> model = EmbeddingRegressor(max_epochs=5, random_state=0).fit(sales.X, sales.y)
    >>> analysis.mardia(model, "state")[["test", "expected"]].round(1)
           test  expected
    0  skewness       0.0
    1  kurtosis      48.0
    """
    embedding = get_embedding(source, column, at_least=3)
    refuse_equal_vectors(embedding)
    skewness, kurtosis, n_dims = mardia_statistics(embedding.vectors)
    n = len(embedding)
    degrees = n_dims * (n_dims + 1) * (n_dims + 2) / 6
    chi_squared = n * skewness / 6
    expected = n_dims * (n_dims + 2)
    z = (kurtosis - expected) / np.sqrt(8 * expected / n)
    return frame_of(
        embedding.backend,
        {
            "test": ["skewness", "kurtosis"],
            "value": [skewness, kurtosis],
            "expected": [0.0, float(expected)],
            "statistic": [chi_squared, z],
            "degrees": [degrees, None],
            "p_value": [
                float(stats.chi2.sf(chi_squared, degrees)),
                float(2 * stats.norm.sf(abs(z))),
            ],
        },
    )


def mardia_statistics(vectors: np.ndarray) -> tuple[float, float, int]:
    """Return Mardia's b1 and b2 and the number of dimensions that they rest on.

    b1 is the mean over all pairs of (z_i · z_j)³ and b2 the mean of (z_i · z_i)², for whitened
    z; one matrix product for each block of rows, where a double loop takes minutes.
    """
    centred = vectors.astype(np.float64) - vectors.mean(axis=0, dtype=np.float64)
    left, scale, _ = np.linalg.svd(centred, full_matrices=False)
    used = scale > scale.max() * 1e-6
    whitened = left[:, used] * np.sqrt(len(vectors))  # covariance (divided by n) is the identity
    total = 0.0
    for begin in range(0, len(whitened), _BLOCK):
        total += float(np.power(whitened[begin : begin + _BLOCK] @ whitened.T, 3).sum())
    skewness = total / len(whitened) ** 2
    kurtosis = float(np.square(np.square(whitened).sum(axis=1)).mean())
    return skewness, kurtosis, int(used.sum())


def subspace_correlation(model: Any, X: Any) -> Any:
    """Return how far the spaces of different columns are correlated over the rows of a table.

    Parameters
    ----------
    model : fitted estimator
    X : table
        With the columns that the embedded ones are made of; others do not matter.

    Returns
    -------
    DataFrame of shape (number of pairs of columns, 5)
        ``column_a``, ``column_b``, ``mean`` and ``largest`` absolute correlation between a
        dimension of one and a dimension of the other, and ``canonical``: the largest correlation
        of any two directions.

    Examples
    --------
    >>> from catspace import EmbeddingRegressor, analysis, make_sales
    >>> sales = make_sales(n_rows=1_000, n_stores=12, backend="pandas")
    >>> model = EmbeddingRegressor(max_epochs=5, random_state=0).fit(sales.X, sales.y)
    >>> analysis.subspace_correlation(model, sales.X)[["column_a", "column_b"]].head(3)
      column_a     column_b
    0    store  day_of_week
    1    store        promo
    2    store         year
    """
    if not hasattr(model, "transform") or not hasattr(model, "embeddings_"):
        raise InputTypeError(f"A fitted estimator is needed; got {type(model).__name__}.")
    embeddings = model.embeddings_
    if len(embeddings) < 2:
        raise InputError("Correlation between columns needs at least two embedded columns.")
    table = read_any(X)
    centred = {}
    for column, embedding in embeddings.items():
        values = embedding.table[embedding.codes_in(table)].astype(float)
        centred[column] = values - values.mean(axis=0)
    pairs = list(combinations(centred, 2))
    correlation = [np.abs(_correlation(centred[a], centred[b])) for a, b in pairs]
    return frame_of(
        next(iter(embeddings.values())).backend,
        {
            "column_a": [a for a, _ in pairs],
            "column_b": [b for _, b in pairs],
            "mean": [each.mean() for each in correlation],
            "largest": [each.max() for each in correlation],
            "canonical": [_canonical(centred[a], centred[b]) for a, b in pairs],
        },
    )


def _components(embedding: Embedding, n_components: int) -> tuple[dict[str, np.ndarray], Any]:
    """Return the positions along each component by its name, and the shares of variance."""
    n_components = min(n_components, *embedding.vectors.shape)
    positions, shares = centred_components(embedding.vectors, n_components)
    return {f"component {i + 1}": position for i, position in enumerate(positions.T)}, shares


def _correlation(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the correlation of each column of one with each of the other; 0 where constant."""
    scale = np.outer(np.linalg.norm(a, axis=0), np.linalg.norm(b, axis=0))
    return np.asarray(np.divide(a.T @ b, scale, out=np.zeros_like(scale), where=scale > 0))


def _canonical(a: np.ndarray, b: np.ndarray) -> float:
    """Return the largest correlation between a direction of one and a direction of the other."""
    bases = []
    for block in (a, b):
        values, directions = np.linalg.eigh(block.T @ block)
        used = values > values.max(initial=0.0) * 1e-10
        if not used.any():
            return 0.0
        bases.append(block @ directions[:, used] / np.sqrt(values[used]))
    return float(min(1.0, np.linalg.svd(bases[0].T @ bases[1], compute_uv=False)[0]))
