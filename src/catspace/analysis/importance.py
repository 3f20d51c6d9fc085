"""Which columns a model's predictions rest on."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from catspace.analysis.scoring import make_score
from catspace.analysis.source import frame_of, get_predictor, read_labelled
from catspace.data.encoding import Encoded, Places, TableEncoder
from catspace.data.frames import Frame
from catspace.data.labels import check_weights
from catspace.exceptions import InputError, ParameterError, did_you_mean
from catspace.validation import check_int, check_real

# A table of up to so many rows is asked whole in each repeat; of a larger one a part is enough.
_FEWEST_SAMPLES, _MOST_SAMPLES = 20_000, 100_000
# So that all repeats together take about as long as ten predictions of the whole table.
_PREDICTIONS = 8

# More of them tell nothing new, and each takes a pass over the rows for every column.
_MOST_REPEATS = 10_000


def importance(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    columns: Iterable[str] | None = None,
    groups: Mapping[str, Iterable[str]] | None = None,
    scoring: Any = None,
    n_repeats: int = 5,
    max_samples: int | float | str = "auto",
    sample_weight: Any = None,
    random_state: int | None = 0,
) -> Frame:
    """Tell how much worse a model does when it cannot read a column.

    The values of a column are shuffled between the rows, and the model is scored again
    (permutation importance). A column that the model does not use has an importance of 0. Two
    columns that say the same share theirs: shuffle them together with ``groups``.

    Parameters
    ----------
    model : fitted EmbeddingRegressor or EmbeddingClassifier
    X : table of shape (n_samples, n_features), or path to a CSV or Parquet file
        Rows that the model was not trained on tell what it rests on when it predicts; rows of the
        training also tell what it has learned by heart.
    y : array-like of shape (n_samples,), or str, optional
        The target, or the name of its column; by default the column that fit took it from.
    columns : iterable of str, optional
        Those that are asked about; by default all. A column of dates is one, whatever parts the
        model makes of it.
    groups : mapping of str to iterable of str, optional
        Columns that are shuffled together and count as one, under a name:
        ``{"place": ["store", "state"]}``.
    scoring : str or callable, optional
        One of scikit-learn's scorers, by name or itself. By default the mean absolute error of
        numbers and the log loss of classes.
    n_repeats : int, default=5
        How often each column is shuffled.
    max_samples : int, float or "auto", default="auto"
        How many rows, or which share of them, are drawn for each repeat. "auto": all of a table of
        up to 20,000 rows; of a larger one as many as let everything take about as long as ten
        predictions of the whole table, up to 100,000.
    sample_weight : array-like of shape (n_samples,), optional
    random_state : int, default=0
        Of the shuffling.

    Returns
    -------
    DataFrame of shape (n_columns, 4)
        ``column``, most important first; ``importance``, by how much the score falls, on average
        over the repeats and in the unit of the score: the mean absolute error grows by so much;
        ``std``, its standard deviation over the repeats; ``baseline``, the score of the rows as
        they are (scikit-learn's, so that a loss is negative).

    See Also
    --------
    effect : What the prediction does along one column.
    sklearn.inspection.permutation_importance : The same for any estimator; it takes as long as
        predicting the table for each column and repeat.

    Examples
    --------
    >>> from catspace import EmbeddingRegressor, analysis, make_sales
    >>> sales = make_sales(n_rows=2_000, n_stores=20, random_state=0, backend="pandas")
    >>> model = EmbeddingRegressor(target_transform="log", random_state=0).fit(sales.X, sales.y)
    >>> analysis.importance(model, sales.X, sales.y)["column"].tolist()[:2]
    ['store', 'promo']
    """
    get_predictor(model)
    if check_int("n_repeats", n_repeats) > _MOST_REPEATS:
        raise ParameterError(f"n_repeats must be at most {_MOST_REPEATS:,}; got {n_repeats}.")
    encoder = model.fitted_.learned.encoder
    units = _units(encoder, columns, groups or {})
    table, target = read_labelled(model, X, y)
    _check_rows(target)
    weight = None
    if sample_weight is not None:
        weight = check_weights(sample_weight, table.n_rows)
    score = make_score(model, scoring)
    n_drawn = _count_samples(max_samples, table.n_rows, len(units) * n_repeats)
    random = np.random.default_rng(random_state)
    encoded = model.encode(table)

    baselines, falls = np.empty(n_repeats), np.empty((len(units), n_repeats))
    for i in range(n_repeats):
        rows = np.arange(table.n_rows)
        if n_drawn < table.n_rows:
            rows = np.sort(random.choice(table.n_rows, n_drawn, replace=False))
        drawn = Encoded(encoded.codes[:, rows], encoded.numbers[rows])
        true, weights = target[rows], None if weight is None else weight[rows]
        is_same = i > 0 and n_drawn == table.n_rows
        baselines[i] = baselines[0] if is_same else score(drawn, true, weights)
        for j, places in enumerate(units.values()):
            shuffled = _shuffle(drawn, places, random.permutation(n_drawn))
            falls[j, i] = baselines[i] - score(shuffled, true, weights)
    means = falls.mean(axis=1)
    order = np.argsort(-means, kind="stable")
    names = list(units)
    return frame_of(
        table.backend,
        {
            "column": [names[j] for j in order],
            "importance": means[order],
            "std": falls.std(axis=1)[order],
            "baseline": baselines.mean(),
        },
    )


def _units(
    encoder: TableEncoder, columns: Iterable[str] | None, groups: Mapping[str, Iterable[str]]
) -> dict[str, Places]:
    """Return where what is shuffled together stands, by name."""
    origins, by_column = encoder.origins, dict[str, Places]()
    for name, places in encoder.places.items():
        raw = origins[name].raw
        by_column[raw] = by_column[raw].join(places) if raw in by_column else places
    grouped = {name: _listed(f"groups[{name!r}]", members) for name, members in groups.items()}
    alone = _listed("columns", columns) if columns is not None else None
    members = [member for listed in grouped.values() for member in listed]
    for what, names in (("columns", alone or []), ("groups", members)):
        for name in names:
            if name not in by_column:
                raise ParameterError(
                    f"{what} names {name!r}, which is not a column of the model."
                    f"{did_you_mean(name, by_column)}"
                )
    if alone is None:
        alone = [name for name in by_column if name not in members]
    units = {name: by_column[name] for name in alone}
    for name, listed in grouped.items():
        if name in units:
            raise ParameterError(
                f"groups has a group {name!r}, and a column of that name stands alone.",
                hint="give the group another name.",
            )
        units[name] = Places().join(*(by_column[member] for member in dict.fromkeys(listed)))
    if not units:
        raise ParameterError("columns is empty: there is nothing to ask about.")
    return units


def _listed(parameter: str, names: Any) -> list[str]:
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise ParameterError(f"{parameter} must be a list of names of columns; got {names!r}.")
    listed = list(names)
    if not listed:
        raise ParameterError(f"{parameter} is empty: there is nothing to ask about.")
    return listed


def _check_rows(target: np.ndarray) -> None:
    if len(target) < 2:
        raise InputError(
            f"The table has {len(target)} row, and nothing that its values could be exchanged "
            "with.",
            hint="ask about as many rows as there are.",
        )
    first = target[0]
    if np.all(target == first):
        raise InputError(
            f"The target is {np.asarray(first).tolist()!r} in all {len(target):,} rows, so that no "
            "column can matter to it.",
            hint="ask about rows whose targets differ.",
        )


def _count_samples(max_samples: Any, n_samples: int, n_asked: int) -> int:
    """Return how many rows are drawn for each repeat, where so many shuffled tables are scored."""
    if isinstance(max_samples, str) and max_samples == "auto":
        affordable = _PREDICTIONS * n_samples // n_asked
        return min(n_samples, max(_FEWEST_SAMPLES, min(_MOST_SAMPLES, affordable)))
    if isinstance(max_samples, (float, np.floating)):
        share = check_real("max_samples", max_samples, above=0, below=1.0000001)
        return min(n_samples, max(2, round(share * n_samples)))
    return min(n_samples, max(2, check_int("max_samples", max_samples)))


def _shuffle(encoded: Encoded, places: Places, order: np.ndarray) -> Encoded:
    """Return encoded rows with some of their columns in another order."""
    codes, numbers = encoded.codes, encoded.numbers
    if places.codes:
        codes, chosen = codes.copy(), list(places.codes)
        codes[chosen] = encoded.codes[chosen][:, order]
    if places.numbers:
        numbers, chosen = numbers.copy(), list(places.numbers)
        numbers[:, chosen] = encoded.numbers[:, chosen][order]
    return Encoded(codes, numbers)
