"""What a model's prediction does along one column, everything else being as it is."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from catspace.analysis.asking import ask_everywhere, draw_rows, encode_codes
from catspace.analysis.source import frame_of, get_predictor, read_features
from catspace.data.encoding import Encoded, Places, TableEncoder
from catspace.data.frames import Frame
from catspace.data.table import Column, Table
from catspace.data.vocabulary import MISSING, N_SPECIAL, category_array
from catspace.exceptions import InputError, did_you_mean
from catspace.validation import check_int

# Of the rows, between these the spread is shown.
_LOW, _HIGH = 0.1, 0.9
_MOST_ANSWERS = 1 << 25  # a quarter of a gigabyte: fewer rows are asked where values are very many


@dataclass(frozen=True)
class _Grid:
    """The values of a column that are tried."""

    values: pa.Array  # as people know them; null for missing
    counts: np.ndarray  # int of shape (n_values,): rows of the table at, or next to, each
    encoded: Encoded  # as the networks read them; columns that are not tried do not matter
    places: Places  # where the column stands there


def effect(
    model: Any,
    X: Any,
    column: str,
    *,
    grid_resolution: int = 20,
    n_contexts: int = 500,
    random_state: int = 0,
) -> Frame:
    """Tell what the prediction does along a column of numbers or dates, or over categories.

    Rows are drawn from a table, and the model is asked for each of them again and again, with
    every value of the column in turn and everything else as it is (partial dependence).

    Parameters
    ----------
    model : fitted EmbeddingRegressor or EmbeddingClassifier
        A classifier is asked for its probabilities.
    X : table of shape (n_samples, n_features), or path to a CSV or Parquet file
        Rows are drawn from it, and the values of numbers and dates.
    column : str
        A column of the table, or one that the model has made of it, such as ``Date_month``. Of a
        column of dates all parts change together.
    grid_resolution : int, default=20
        How many values of a column of numbers or dates are tried: so many quantiles. Categories
        are all tried.
    n_contexts : int, default=500
        How many rows are drawn; fewer where the column has very many values.
    random_state : int, default=0
        Of the drawing.

    Returns
    -------
    DataFrame of shape (n_values, 6), or (n_values * n_outputs, 7) where several are predicted
        ``value``: the number, date or category, rising; null for missing, where the table has
        missing values;
        ``count``: how many rows of the table have it, or are closest to it;
        ``prediction``: the mean over the rows that were drawn;
        ``low`` and ``high``: where the effect is lower in a tenth of the rows, and higher in a
        tenth. A row's effect is what its prediction does around its own mean: rows differ here
        where another column changes the effect of this one;
        ``std_networks``: the standard deviation of ``prediction`` over the networks, null where
        there is one only.
        Of two classes it is the probability of the second. Where there are more, or several
        numbers are predicted, a column ``output`` comes first: the label, the quantile, or the
        position.

    See Also
    --------
    importance : Which columns matter at all.
    sklearn.inspection.partial_dependence : The same for any estimator with columns of numbers.

    Examples
    --------
    >>> from catspace import EmbeddingRegressor, analysis, make_sales
    >>> sales = make_sales(n_rows=2_000, n_stores=20, random_state=0, backend="pandas")
    >>> model = EmbeddingRegressor(target_transform="log", random_state=0).fit(sales.X, sales.y)
    >>> found = analysis.effect(model, sales.X, "promo")
    >>> found["value"].tolist(), (found["prediction"].diff()[1] > 0).item()
    ([0, 1], True)
    """
    get_predictor(model)
    check_int("n_contexts", n_contexts)
    if check_int("grid_resolution", grid_resolution) < 2:
        raise InputError(f"grid_resolution must be at least 2; got {grid_resolution!r}.")
    table = read_features(model, X)
    grid = _find_grid(model.fitted_.learned.encoder, table, column, grid_resolution)
    n_values = len(grid.values)
    if n_values < 2:
        raise InputError(
            f"Column {column!r} has {n_values} value here, so that nothing changes along it.",
            hint="ask with rows in which it differs.",
        )
    labels = _outputs(model)
    affordable = max(1, _MOST_ANSWERS // (n_values * len(labels)))
    contexts = model.encode(table.take(draw_rows(table, min(n_contexts, affordable), random_state)))
    together, each = [], []
    for asked in ask_everywhere(contexts, grid.encoded, grid.places):
        answer, answers = model.predict_networks(asked)
        shape = (-1, n_values, len(labels))
        together.append(_of_interest(answer, labels).reshape(shape))
        # The sum over rows is enough of each network: (n_networks, n_values, n_outputs)
        each.append([_of_interest(one, labels).reshape(shape).sum(axis=0) for one in answers])
    return _describe(grid, np.concatenate(together), np.sum(each, axis=0), labels, table.backend)


def _describe(
    grid: _Grid, answers: np.ndarray, sums: np.ndarray, labels: list[Any], backend: str
) -> Frame:
    """Return the frame; answers of shape (n_contexts, n_values, n_outputs)."""
    n_contexts, n_values, n_outputs = answers.shape
    mean = answers.mean(axis=0)  # (n_values, n_outputs)
    around = answers - answers.mean(axis=1, keepdims=True)  # what each row does around its own mean
    low, high = mean.mean(axis=0) + np.quantile(around, [_LOW, _HIGH], axis=0)
    spread = np.full(mean.shape, np.nan) if len(sums) < 2 else (sums / n_contexts).std(axis=0)
    columns = {
        "value": pa.chunked_array([grid.values] * n_outputs).combine_chunks(),
        "count": np.tile(grid.counts, n_outputs),
        "prediction": mean.T.ravel(),
        "low": low.T.ravel(),
        "high": high.T.ravel(),
        "std_networks": pa.array(spread.T.ravel(), from_pandas=True),
    }
    if n_outputs > 1:
        output = category_array(labels, np.repeat(np.arange(n_outputs), n_values))
        columns = {"output": output, **columns}
    return frame_of(backend, columns)


def _outputs(model: Any) -> list[Any]:
    """Return the names of what is predicted: classes, quantiles, or positions."""
    if hasattr(model, "classes_"):
        labels = list(model.classes_.tolist())
        return labels[1:] if len(labels) == 2 else labels
    return list(model.fitted_.learned.target.quantiles or range(model.n_outputs_))


def _of_interest(answer: np.ndarray, labels: list[Any]) -> np.ndarray:
    """Return the last outputs: of two classes the second; shape (n_samples, n_outputs)."""
    return np.asarray(answer.reshape(len(answer), -1)[:, -len(labels) :], dtype=np.float64)


def _find_grid(encoder: TableEncoder, table: Table, column: str, resolution: int) -> _Grid:
    """Return the values of a column that are tried, with all that the model makes of it."""
    if column in encoder.vocabularies:
        return _grid_of_categories(encoder, table, column)
    if column in encoder.dates.names:
        made = [name for name, (raw, _) in encoder.dates.made.items() if raw == column]
        places = Places().join(*(encoder.places[name] for name in made))
        dates = encoder.dates.read(table[column])
        return _grid_of_quantiles(encoder, table, dates, places, resolution)
    if column not in encoder.scalings:
        known = dict.fromkeys([*encoder.vocabularies, *encoder.scalings, *encoder.dates.names])
        raise InputError(
            f"The model has no column {column!r}.{did_you_mean(column, known)}",
            hint=f"its columns are: {', '.join(known)}.",
        )
    read = encoder.origins[column].read(table)
    return _grid_of_quantiles(encoder, table, read, encoder.places[column], resolution)


def _grid_of_categories(encoder: TableEncoder, table: Table, column: str) -> _Grid:
    vocabulary, places = encoder.vocabularies[column], encoder.places[column]
    origin = encoder.origins[column]
    read = encoder.apply(table)[column].entries if origin.holds_lists else origin.read(table)
    codes = vocabulary.encode(read)
    counts = np.bincount(codes, minlength=vocabulary.n_codes)
    tried = np.arange(N_SPECIAL, vocabulary.n_codes)
    values = category_array(vocabulary.categories)
    if counts[MISSING]:
        tried = np.append(tried, MISSING)
        values = pa.concat_arrays([values, pa.nulls(1, values.type)])
    return _Grid(values, counts[tried], encode_codes(encoder, tried), places)


def _grid_of_quantiles(
    encoder: TableEncoder, table: Table, column: Column, places: Places, resolution: int
) -> _Grid:
    """Return rows of the table at quantiles of a column, and one where it is missing."""
    values = column.parts[0][1] if len(column.parts) == 1 else pa.array(column.to_numbers())
    is_missing = pc.is_null(values, nan_is_null=True).to_numpy(zero_copy_only=False)
    present = np.flatnonzero(~is_missing)
    if not len(present):
        raise InputError(f"Column {column.name!r} is missing in all rows of the table.")
    order = present[pc.array_sort_indices(values.take(pa.array(present))).to_numpy()]
    at = np.linspace(0, len(order) - 1, resolution).round().astype(np.int64)
    ranks = values.take(pa.array(order)).dictionary_encode().indices.to_numpy()  # rising from 0
    _, first = np.unique(ranks[at], return_index=True)
    at = at[first]
    # Rows belong to the closest value, in the order of all.
    middles = (at[1:] + at[:-1] + 1) // 2
    counts = np.diff(np.concatenate([[0], middles, [len(order)]]))
    rows = order[at]
    if is_missing.any():
        rows = np.append(rows, np.flatnonzero(is_missing)[0])
        counts = np.append(counts, is_missing.sum())
    grid = values.take(pa.array(rows))
    if pa.types.is_floating(grid.type):  # NaN is missing too
        grid = pa.array(grid.to_numpy(zero_copy_only=False), from_pandas=True)
    return _Grid(grid, counts, encoder.encode(table.take(rows)), places)
