"""The categories as a finite metric space: the paper's distance, and what it is good for.

The distance of two categories is how much the target differs between them, everything else being
equal, on average: d(p, q) = <|f(p, x) - f(q, x)|> over contexts x. It can be observed in a table,
or asked of a model.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.spatial import procrustes
from sklearn.manifold import MDS

from catspace.analysis.projection import correlations
from catspace.analysis.source import frame_of, get_embedding
from catspace.data.encoding import TableEncoder
from catspace.data.table import Column, Table, make_frame, read_table, read_vector
from catspace.data.vocabulary import N_SPECIAL
from catspace.embeddings import Embedding
from catspace.exceptions import InputError, InputTypeError, did_you_mean, shorten

# Rows that a model predicts at once: categories times contexts.
_PREDICT_ROWS = 200_000
_MOST_CATEGORIES = 20_000
_ENVELOPE_BINS = 25


@dataclass(frozen=True, repr=False)
class DistanceMatrix:
    """Distances between the categories of a column.

    Attributes
    ----------
    column : str
    categories : list
    values : float64 array of shape (n_categories, n_categories)
        NaN where two categories never met in the same context.
    contexts : int array of shape (n_categories, n_categories)
        How many contexts each distance is the average of.
    backend : str
        The kind of frame to hand out.
    """

    column: str
    categories: list[Any]
    values: np.ndarray
    contexts: np.ndarray
    backend: str = "numpy"

    def __len__(self) -> int:
        return len(self.categories)

    def __repr__(self) -> str:
        known = np.isfinite(self.values).mean()
        return f"DistanceMatrix({self.column!r}: {len(self)} categories, {known:.0%} known)"

    def to_frame(self) -> Any:
        """Return the distances of all pairs as a frame.

        Returns
        -------
        DataFrame of shape (n_pairs, 4)
            ``category_a``, ``category_b``, ``distance`` and ``contexts``.
        """
        a, b = np.triu_indices(len(self), k=1)
        labels = self.labels()
        return make_frame(
            {
                "category_a": labels.take(pa.array(a)),
                "category_b": labels.take(pa.array(b)),
                "distance": pa.array(self.values[a, b], from_pandas=True),
                "contexts": pa.array(self.contexts[a, b]),
            },
            self.backend,
        )

    def labels(self) -> pa.Array:
        """Return the categories as an Arrow array; as text where they are of several types."""
        try:
            return pa.array(self.categories)
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
            return pa.array([str(category) for category in self.categories])


def observed_distance(
    X: Any,
    y: Any,
    column: str,
    *,
    ignore: Sequence[str] = (),
    transform: Callable[[np.ndarray], np.ndarray] | None = None,
) -> DistanceMatrix:
    """Return the paper's distance as a table shows it.

    Two categories are compared in the contexts in which both occur: rows that agree in all other
    columns. Where a context holds several rows of a category, their mean counts.

    Parameters
    ----------
    X : table
    y : array-like of shape (n_rows,)
    column : str
    ignore : sequence of str
        Columns that are no context because the category fixes them, like the state of a store.
    transform : callable, optional
        Applied to the target first; ``np.log`` for the scale that the paper works on.

    Returns
    -------
    DistanceMatrix
    """
    table = read_table(X)
    _check_columns(table, [column, *ignore])
    target = np.asarray(read_vector(y, "target"), dtype=float)
    if len(target) != table.n_rows:
        raise InputError(f"The table has {table.n_rows} rows and the target {len(target)}.")
    target = target if transform is None else np.asarray(transform(target), dtype=float)
    others = [name for name in table.names if name != column and name not in ignore]
    encoder = TableEncoder.fit(
        table.select([column, *others]), categorical_features=[column, *others]
    )
    codes = encoder.encode(table.select([column, *others])).codes
    category = codes[0] - N_SPECIAL
    known = category >= 0
    if others:
        _, context = np.unique(codes[1:], axis=1, return_inverse=True)
    else:
        context = np.zeros(table.n_rows, dtype=int)
    vocabulary = encoder.vocabularies[column]
    shape = (int(context.max()) + 1, vocabulary.n_categories)
    cell = np.ravel_multi_index((context.ravel()[known], category[known]), shape)
    counts = np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape)
    sums = np.bincount(cell, weights=target[known], minlength=shape[0] * shape[1]).reshape(shape)
    means = np.divide(sums, counts, out=np.full(shape, np.nan), where=counts > 0)
    # A context with a single category compares nothing.
    return _distances(
        means[(counts > 0).sum(axis=1) > 1], column, vocabulary.categories, table.backend
    )


def model_distance(
    model: Any,
    X: Any,
    column: str,
    *,
    n_contexts: int = 500,
    transform: Callable[[np.ndarray], np.ndarray] | None = None,
    random_state: int = 0,
) -> DistanceMatrix:
    """Return the paper's distance by a model, which can be asked for every category everywhere.

    Parameters
    ----------
    model : fitted EmbeddingRegressor or EmbeddingClassifier
        A classifier is asked for its probabilities, and their absolute differences are added up.
    X : table
        Contexts are rows drawn from it.
    column : str
    n_contexts : int, default=500
    transform : callable, optional
        Applied to the predictions; ``np.log`` for the scale that the paper works on.
    random_state : int, default=0

    Returns
    -------
    DistanceMatrix
    """
    ask = getattr(model, "predict_proba", getattr(model, "predict", None))
    if ask is None:
        raise InputTypeError(
            f"A fitted model that predicts is needed; got {type(model).__name__}.",
            hint="vectors alone cannot be asked; catspace.load(path) gives the model back.",
        )
    embedding = get_embedding(model, column, at_least=2)
    table = read_table(X)
    _check_columns(table, [column])
    random = np.random.default_rng(random_state)
    n_contexts = min(n_contexts, table.n_rows)
    rows = np.sort(random.choice(table.n_rows, size=n_contexts, replace=False))
    contexts = table.take(rows)
    n = len(embedding)
    _refuse_too_many(n)
    outputs = []
    per_block = max(1, _PREDICT_ROWS // n)
    for begin in range(0, n_contexts, per_block):
        block = np.arange(begin, min(begin + per_block, n_contexts))
        asked = _every_category(contexts, embedding, block)
        values = np.asarray(ask(asked), dtype=float)
        values = values if transform is None else np.asarray(transform(values), dtype=float)
        # (contexts, categories, outputs) -> (contexts * outputs, categories)
        values = values.reshape(len(block), n, -1).transpose(0, 2, 1)
        outputs.append(values.reshape(-1, n))
    found = _distances(np.concatenate(outputs), column, embedding.categories, table.backend)
    n_outputs = sum(map(len, outputs)) // n_contexts
    return DistanceMatrix(
        column,
        found.categories,
        found.values * n_outputs,
        found.contexts // n_outputs,
        found.backend,
    )


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
    names = distances.categories
    i, j = divmod(int(np.nanargmax(asymmetry)), n)
    return make_frame(
        {
            "axiom": pa.array(["identity", "symmetry", "triangle"]),
            "holds": pa.array(
                [not len(coincide), bool(np.nanmax(asymmetry) <= tolerance), n_triangles == 0]
            ),
            "violations": pa.array(
                [len(coincide), int((asymmetry > tolerance).sum() // 2), n_triangles]
            ),
            "worst": pa.array(
                [float(np.nanmin(d[a, b])), float(np.nanmax(asymmetry)), worst], from_pandas=True
            ),
            "example": pa.array(
                [
                    str([names[a[k]], names[b[k]]])
                    if len(coincide) and (k := coincide[0]) >= 0
                    else "",
                    str([names[i], names[j]]) if asymmetry[i, j] > tolerance else "",
                    str([names[k] for k in triple]) if n_triangles else "",
                ]
            ),
        },
        distances.backend,
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
    leader = np.arange(len(distances))
    for i, j in np.argwhere(np.triu(distances.values <= tolerance, k=1)):
        low, high = sorted((leader[i], leader[j]))
        leader[leader == high] = low
    labels = distances.labels()
    return make_frame(
        {"category": labels, "merged_into": labels.take(pa.array(leader))}, distances.backend
    )


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
    rows: list[tuple[str, float, float, int, bool]] = []
    for kernel, power in (("exp(-λ d)", 1), ("exp(-λ d²)", 2)):
        for factor in lambdas:
            values = np.linalg.eigvalsh(np.exp(-factor * (d / mean) ** power))
            # Eigenvalues are known to about this precision.
            floor = len(d) * np.finfo(float).eps * values[-1]
            n_negative = int((values < -floor).sum())
            rows.append((kernel, factor, float(values[0]), n_negative, bool(values[0] > floor)))
    labels = ("kernel", "lambda", "smallest", "negative", "positive")
    columns = zip(labels, zip(*rows, strict=True), strict=True)
    return make_frame({name: pa.array(list(values)) for name, values in columns}, distances.backend)


def compare_distances(
    source: Any,
    column: str,
    distances: DistanceMatrix,
    *,
    n_pairs: int = 10_000,
    random_state: int = 0,
) -> Any:
    """Set distances in the learned space against distances in the metric space.

    Parameters
    ----------
    source : fitted estimator, Embeddings, or path to a model file
    column : str
    distances : DistanceMatrix
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
    labels = distances.labels()
    n = len(metric)
    return frame_of(
        embedding,
        {
            "category_a": labels.take(pa.array(a)),
            "category_b": labels.take(pa.array(b)),
            "metric": metric,
            "embedding": learned,
            "fitted": intercept + slope * metric,
            "lower": lower,
            "upper": upper,
            "pearson": np.full(n, pearson),
            "spearman": np.full(n, spearman),
            "slope": np.full(n, slope),
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
        n_components,
        metric="precomputed",
        n_init=1,
        init="classical_mds",
        random_state=random_state,
    )
    layout = np.asarray(model.fit_transform(d))
    columns: dict[str, Any] = {
        "category": distances.labels(),
        **{f"x{i}": layout[:, i] for i in range(n_components)},
        "stress": np.full(len(d), _stress(layout, d)),
    }
    if source is not None:
        vectors = _vectors_of(get_embedding(source, distances.column), distances)
        width = max(n_components, vectors.shape[1])
        padded = [np.pad(x, ((0, 0), (0, width - x.shape[1]))) for x in (layout, vectors)]
        columns["learned_stress"] = np.full(len(d), _stress(vectors, d))
        columns["procrustes"] = np.full(len(d), procrustes(*padded)[2])
    return make_frame(
        {name: v if isinstance(v, pa.Array) else pa.array(v) for name, v in columns.items()},
        distances.backend,
    )


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
        embedding,
        {
            "dim": [embedding.dim],
            "stretch": [stretch],
            "shrink": [shrink],
            "distortion": [stretch * shrink],
            "average": [float(np.maximum(ratio, 1 / ratio).mean())],
        },
    )


def _distances(
    outputs: np.ndarray, column: str, categories: list[Any], backend: str
) -> DistanceMatrix:
    """Return mean absolute differences; outputs of shape (contexts, categories), NaN allowed."""
    n = outputs.shape[1]
    _refuse_too_many(n)
    by_category = np.ascontiguousarray(outputs.T)
    present = np.isfinite(by_category)
    filled = np.where(present, by_category, 0.0)
    weight = present.astype(float)
    contexts = np.rint(weight @ weight.T).astype(np.int64)
    is_complete = bool(present.all())
    values = np.full((n, n), np.nan)
    for i in range(n):
        difference = np.abs(filled[i] - filled[i:])  # (categories from i on, contexts)
        if not is_complete:
            difference *= weight[i] * weight[i:]
        met = contexts[i, i:]
        row = np.divide(difference.sum(axis=1), met, out=np.full(n - i, np.nan), where=met > 0)
        values[i, i:] = values[i:, i] = row
    np.fill_diagonal(values, 0.0)
    return DistanceMatrix(column, categories, values, contexts, backend)


def _every_category(contexts: Table, embedding: Embedding, block: np.ndarray) -> Table:
    """Return each context once for each category, with the category in its column."""
    n = len(embedding)
    repeated = np.repeat(block, n)
    columns = []
    for column in contexts.columns:
        if column.name == embedding.column:
            values = embedding.category_array().take(pa.array(np.tile(np.arange(n), len(block))))
            columns.append(Column(column.name, ((None, values),), len(repeated)))
        else:
            columns.append(column.repeat(repeated))
    return Table(tuple(columns), len(repeated), contexts.backend, contexts.named)


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


def _refuse_too_many(n: int) -> None:
    if n > _MOST_CATEGORIES:
        raise InputError(
            f"All distances between {n:,} categories do not fit in memory.",
            hint="nearest() looks for the neighbours of one category among millions; or fit with "
            "min_frequency, and compare those that are left.",
        )


def _check_columns(table: Table, names: Sequence[str]) -> None:
    for name in names:
        if name not in table.names:
            raise InputError(f"The table has no column {name!r}.{did_you_mean(name, table.names)}")
