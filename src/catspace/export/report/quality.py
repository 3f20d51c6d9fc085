"""How good the predictions are, compared with what, and where they fail."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from catspace.analysis.scoring import score_classes, score_numbers
from catspace.data.dates import take_part
from catspace.data.vocabulary import MISSING, N_SPECIAL, RARE, SPECIAL_NAMES, UNSEEN
from catspace.exceptions import InputError
from catspace.export.report.records import Record, names_of, rounded
from catspace.export.report.rows import Rows

Scores = Mapping[str, Mapping[str, float]]

_MOST_POINTS = 2_000
_MOST_OUTPUTS = 6
_MOST_CLASSES = 12
_PERIODS = 40
_BINS = 10
_FEWEST_ROWS = 5  # of a category, for its error to say something
_MOST_LISTED = 10


def judge(rows: Rows, training: Rows | None, scores: Scores | None, name: str) -> Record:
    """Return how the model does on rows, beside a constant and whatever else was scored."""
    own = score(rows)
    if not scores:
        constant = "majority" if rows.is_class else "mean"
        scores = {"catspace": own, constant: _score_constant(rows, training or rows)}
    record: Record = {
        "n_rows": len(rows.target),
        "is_new": rows is not training,
        "is_class": rows.is_class,
        "own": {key: rounded(value) for key, value in own.items()},
        "mean_error": rounded(float(rows.errors.mean())),
        "scores": score_table(scores),
    }
    if rows.is_class:
        record |= {"confusion": _confusion(rows), "calibration": _calibration(rows)}
    else:
        record["outputs"] = _predicted_and_actual(rows, name)
    record["times"] = [
        found
        for one in rows.model.fitted_.learned.encoder.dates.names
        if (found := _over_time(rows, one))
    ]
    return record


def score(rows: Rows) -> dict[str, float]:
    """Return the scores of the model on rows."""
    if rows.is_class:
        return score_classes(rows.target, rows.predicted, rows.model.classes_)
    return score_numbers(rows.numbers, rows.predicted, is_count=rows.is_count)


def describe_quantiles(rows: Rows) -> list[str]:
    """Say which of several quantiles the page shows, and how many rows lie between the outer."""
    target = rows.model.fitted_.learned.target
    if rows.is_class or not target.quantiles:
        return []
    *_, last = quantiles = target.quantiles
    said = [
        f"The model predicts the quantiles {', '.join(map(str, quantiles))}. How good it is, where "
        f"it fails and which columns matter is shown for {quantiles[target.middle]}."
    ]
    if len(quantiles) > 1:
        low, high = rows.answers[:, 0], rows.answers[:, -1]
        inside = np.mean((rows.numbers[:, 0] >= low) & (rows.numbers[:, 0] <= high))
        said.append(
            f"{inside:.1%} of these rows lie between the quantiles {quantiles[0]} and {last}, "
            f"which promise {last - quantiles[0]:.1%}."
        )
    return said


def score_table(scores: Scores) -> Record:
    """Return scores as a table; a method may lack some of them."""
    names = list(dict.fromkeys(name for found in scores.values() for name in found))
    rows = [
        [method, *(_as_scored(found.get(name)) for name in names)]
        for method, found in scores.items()
    ]
    return {"names": names, "rows": rows}


def _as_scored(value: float | None) -> float | None:
    """Return a score with all of its digits, as it was printed elsewhere, where it is a number."""
    return None if value is None or not np.isfinite(value) else float(value)


def errors_by_category(rows: Rows, column: str, categories: Any) -> Record:
    """Return the categories where the model is off most, and the rows that have no own vector.

    Parameters
    ----------
    rows : Rows
    column : str
    categories : sequence
        All categories of the column.
    """
    codes, errors = rows.codes[column], rows.errors
    n_codes = N_SPECIAL + len(categories)
    counts = np.bincount(codes, minlength=n_codes)
    sums = np.bincount(codes, weights=errors, minlength=n_codes)
    means = np.divide(sums, counts, out=np.full(n_codes, np.nan), where=counts > 0)
    enough = np.flatnonzero(counts[N_SPECIAL:] >= _FEWEST_ROWS)
    worst = enough[np.argsort(-means[N_SPECIAL:][enough], kind="stable")][:_MOST_LISTED]
    bias = _bias_by_code(rows, codes, n_codes, counts)

    def line(name: Any, code: int) -> Record:
        return {
            "name": names_of([name])[0],
            "count": int(counts[code]),
            "error": rounded(means[code]),
            "bias": None if bias is None else rounded(bias[code]),
        }

    special = [code for code in (MISSING, RARE, UNSEEN) if counts[code]]
    return {
        "worst": [line(categories[i], N_SPECIAL + i) for i in worst],
        "special": [line(SPECIAL_NAMES[code], code) for code in special],
        "fewest": _FEWEST_ROWS,
        "by_category": means[N_SPECIAL:],
    }


def _bias_by_code(
    rows: Rows, codes: np.ndarray, n_codes: int, counts: np.ndarray
) -> np.ndarray | None:
    """Return how much more is predicted than is true, on average, of each code."""
    if rows.is_class or rows.numbers.shape[1] != 1:
        return None
    over = (rows.predicted - rows.numbers)[:, 0]
    sums = np.bincount(codes, weights=over, minlength=n_codes)
    return np.asarray(np.divide(sums, counts, out=np.full(n_codes, np.nan), where=counts > 0))


def _score_constant(rows: Rows, training: Rows) -> dict[str, float]:
    """Return the scores of the mean, or of the share of each class, of the training's rows."""
    n = len(rows.target)
    if rows.is_class:
        classes = rows.model.classes_
        known = training.labels[training.labels >= 0]  # type: ignore[index, operator]
        shares = np.bincount(known, minlength=len(classes)) / max(1, len(known))
        return score_classes(rows.target, np.tile(shares, (n, 1)), classes)
    mean = np.tile(training.numbers.mean(axis=0), (n, 1))
    return score_numbers(rows.numbers, mean, is_count=rows.is_count)


def _predicted_and_actual(rows: Rows, name: str) -> list[Record]:
    """Return some of the rows for each number that is predicted, and how far most are off."""
    n, n_outputs = rows.numbers.shape
    chosen = np.sort(np.random.default_rng(0).permutation(n)[:_MOST_POINTS])
    found = []
    for i in range(min(n_outputs, _MOST_OUTPUTS)):
        actual, predicted = rows.numbers[:, i], rows.predicted[:, i]
        off = np.abs(predicted - actual)
        found.append(
            {
                "name": name if n_outputs == 1 else f"{name} {i + 1}",
                "actual": rounded(actual[chosen]),
                "predicted": rounded(predicted[chosen]),
                "half_within": rounded(float(np.quantile(off, 0.5))),
                "most_within": rounded(float(np.quantile(off, 0.9))),
                "bias": rounded(float((predicted - actual).mean())),
            }
        )
    return found


def _confusion(rows: Rows) -> Record:
    """Return how many rows of each class were taken for which; the most frequent classes."""
    labels, taken_for = rows.labels, rows.predicted.argmax(axis=1)
    n = len(rows.model.classes_)
    known = labels >= 0  # type: ignore[operator]
    counts = np.zeros((n, n), dtype=int)
    np.add.at(counts, (labels[known], taken_for[known]), 1)  # type: ignore[index]
    shown = np.sort(np.argsort(-counts.sum(axis=1), kind="stable")[:_MOST_CLASSES])
    return {
        "classes": names_of(rows.model.classes_[shown].tolist()),
        "counts": counts[np.ix_(shown, shown)].tolist(),
        "n_classes": n,
    }


def _calibration(rows: Rows) -> Record:
    """Return how often what is said with a probability happens.

    Of two classes the probability of the second; of more, that of the class that is predicted.
    """
    two = len(rows.model.classes_) == 2
    said = rows.predicted[:, 1] if two else rows.predicted.max(axis=1)
    happened = np.asarray(rows.labels == 1 if two else rows.errors == 0, dtype=float)
    at = np.minimum((said * _BINS).astype(int), _BINS - 1)
    counts = np.bincount(at, minlength=_BINS)
    used = np.flatnonzero(counts)
    return {
        "of": names_of([rows.model.classes_[1]])[0] if two else None,
        "said": rounded(np.bincount(at, weights=said, minlength=_BINS)[used] / counts[used]),
        "happened": rounded(
            np.bincount(at, weights=happened, minlength=_BINS)[used] / counts[used]
        ),
        "counts": counts[used].tolist(),
    }


def _over_time(rows: Rows, column: str) -> Record | None:
    """Return how far predictions are off along a column of dates."""
    dates = rows.model.fitted_.learned.encoder.dates
    try:
        days = take_part(dates.read(rows.table[column]), "elapsed", 0.0).to_numbers()
    except InputError:  # rows with nonsense in them have been encoded as missing
        return None
    known = np.flatnonzero(np.isfinite(days))
    if not len(known) or np.ptp(days[known]) == 0:
        return None
    days = days[known]
    # Whole days; and periods of the same length, so that a gap is seen as a gap.
    n_periods = int(min(_PERIODS, np.floor(days.max()) - np.floor(days.min()) + 1))
    edges = np.linspace(np.floor(days.min()), np.floor(days.max()) + 1, n_periods + 1)
    at = np.clip(np.searchsorted(edges, days, side="right") - 1, 0, n_periods - 1)
    counts = np.bincount(at, minlength=n_periods)
    used = np.flatnonzero(counts)

    def mean(values: np.ndarray) -> Any:
        sums = np.bincount(at, weights=values[known], minlength=n_periods)
        return rounded(sums[used] / counts[used])

    is_signed = not rows.is_class and rows.numbers.shape[1] == 1
    middles = ((edges[:-1] + edges[1:]) / 2)[used]
    return {
        "column": column,
        "dates": np.datetime_as_string(middles.astype("datetime64[D]")).tolist(),
        "error": mean(rows.errors),
        "bias": mean((rows.predicted - rows.numbers)[:, 0]) if is_signed else None,
        "counts": counts[used].tolist(),
    }
