"""The paper's distance between categories.

The distance of two categories is how much the target differs between them, everything else being
equal, on average: d(p, q) = <|f(p, x) - f(q, x)|> over contexts x. It can be observed in a table,
or asked of a model.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from catspace.analysis.asking import ask_everywhere, draw_rows, encode_codes
from catspace.analysis.projection import means_by_code
from catspace.analysis.source import (
    frame_of,
    get_embedding,
    get_predictor,
    read_features,
    read_target,
)
from catspace.data.origin import get_column
from catspace.data.vocabulary import N_SPECIAL, Vocabulary, category_array
from catspace.exceptions import InputError
from catspace.storage.blocks import read_any

_MOST_CATEGORIES = 20_000


@dataclass(frozen=True, repr=False)
class DistanceMatrix:
    """Distances between the categories of a column.

    Attributes
    ----------
    column : str
    categories : list
        In the order of ``values``.
    values : float64 array of shape (n_categories, n_categories)
        NaN where two categories never met in the same context.
    contexts : int array of shape (n_categories, n_categories)
        How many contexts each distance is the average of.
    backend : str
        The kind of frame to hand out.

    Examples
    --------
    >>> import numpy as np
    >>> from catspace import analysis
    >>> d = np.array([[0.0, 0.1, 2.0], [0.1, 0.0, 1.9], [2.0, 1.9, 0.0]])
    >>> towns = analysis.DistanceMatrix("town", ["Aachen", "Bonn", "Celle"], d, np.full((3, 3), 10))
    >>> towns
    DistanceMatrix('town': 3 categories, 100% known)
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
        return frame_of(
            self.backend,
            {
                "category_a": category_array(self.categories, a),
                "category_b": category_array(self.categories, b),
                "distance": pa.array(self.values[a, b], from_pandas=True),
                "contexts": self.contexts[a, b],
            },
        )


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
    y : array-like of shape (n_samples,)
    column : str
    ignore : sequence of str
        Columns that are no context because the category fixes them, like the state of a store.
    transform : callable, optional
        Applied to the target first; ``np.log`` for the scale that the paper works on.

    Returns
    -------
    DistanceMatrix

    Examples
    --------
    >>> import pandas as pd
    >>> from catspace import analysis
    >>> X = pd.DataFrame({"town": ["Aachen", "Bonn"] * 3, "day": [1, 1, 2, 2, 3, 3]})
    >>> analysis.observed_distance(X, [5.0, 6.0, 4.0, 7.0, 1.0, 3.0], "town").values
    array([[0., 2.],
           [2., 0.]])
    """
    table = read_any(X)
    asked, *_ = (get_column(table, name) for name in (column, *ignore))
    target = read_target(y, table)
    target = target if transform is None else np.asarray(transform(target), dtype=float)
    vocabulary = Vocabulary.fit(asked)
    codes = vocabulary.encode(asked)
    others = [other for other in table.columns if other.name not in (column, *ignore)]
    # Beside a column that is the same everywhere: without others, there is one context.
    beside = [np.zeros_like(codes), *(Vocabulary.fit(other).encode(other) for other in others)]
    _, context = np.unique(beside, axis=1, return_inverse=True)
    shape = (int(context.max()) + 1, vocabulary.n_categories)
    cell = np.where(codes < N_SPECIAL, -1, shape[1] * context.ravel() + codes - N_SPECIAL)
    means = means_by_code(cell, target, shape[0] * shape[1]).reshape(shape)
    met = np.isfinite(means).sum(axis=1) > 1  # a context with a single category compares nothing
    return _distances(means[met], column, vocabulary.categories, table.backend)


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

    Examples
    --------
    >>> import pandas as pd
    >>> from catspace import EmbeddingRegressor, analysis
    >>> X = pd.DataFrame({"town": ["Aachen", "Bonn", "Celle", "Dresden"] * 50})
    >>> model = EmbeddingRegressor(random_state=1).fit(X, [1.0, 1.1, 3.0, 3.1] * 50)
    >>> analysis.model_distance(model, X, "town").values.round(1)
    array([[0. , 0.1, 2. , 2.1],
           [0.1, 0. , 1.9, 2. ],
           [2. , 1.9, 0. , 0.1],
           [2.1, 2. , 0.1, 0. ]])
    """
    get_predictor(model)
    embedding = get_embedding(model, column, at_least=2)
    n = len(embedding)
    _refuse_too_many(n)
    table = read_features(model, X)
    n_contexts = min(n_contexts, table.n_rows)
    contexts = model.encode(table.take(draw_rows(table, n_contexts, random_state)))
    encoder = model.fitted_.learned.encoder
    categories = encode_codes(encoder, N_SPECIAL + np.arange(n))
    outputs = []
    for asked in ask_everywhere(contexts, categories, encoder.places[column]):
        values = np.asarray(model.predict_encoded(asked), dtype=float)
        values = values if transform is None else np.asarray(transform(values), dtype=float)
        # (contexts, categories, outputs) -> (contexts * outputs, categories)
        values = values.reshape(-1, n, values[0].size).transpose(0, 2, 1)
        outputs.append(values.reshape(-1, n))
    found = _distances(np.concatenate(outputs), column, embedding.categories, table.backend)
    n_outputs = sum(map(len, outputs)) // n_contexts
    return replace(found, values=found.values * n_outputs, contexts=found.contexts // n_outputs)


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


def _refuse_too_many(n: int) -> None:
    if n > _MOST_CATEGORIES:
        raise InputError(
            f"All distances between {n:,} categories do not fit in memory.",
            hint="nearest() looks for the neighbours of one category among millions; or fit with "
            "min_frequency, and compare those that are left.",
        )
