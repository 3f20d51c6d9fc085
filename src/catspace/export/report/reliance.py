"""What the predictions rest on: how much each column matters, and what each number does."""

from typing import Any

import numpy as np

from catspace.analysis import effect, importance
from catspace.exceptions import InputError
from catspace.export.report.records import Record, arrays_of, names_of, rounded
from catspace.export.report.rows import Rows

_MOST_SAMPLES = 20_000
_REPEATS = 3
_CONTEXTS = 200
_MOST_OUTPUTS = 6
# A column that moves the score by less than this share of the most important one hardly matters.
_HARDLY = 0.01


def rank_columns(rows: Rows) -> tuple[list[Record], str | None]:
    """Return how much each column matters, most first, or the sentence that tells why not."""
    try:
        frame = importance(
            rows.model,
            rows.table,
            rows.target,
            n_repeats=_REPEATS,
            max_samples=_MOST_SAMPLES,
        )
    except InputError as error:
        return [], f"Which columns matter cannot be told: {error}"
    found = arrays_of(frame)
    top = max(float(found["importance"].max(initial=0.0)), 0.0)
    return [
        {
            "column": str(name),
            "importance": rounded(value),
            "std": rounded(std),
            "hardly": bool(value <= _HARDLY * top or value <= 2 * std),
        }
        for name, value, std in zip(found["column"], found["importance"], found["std"], strict=True)
    ], None


def effects_of_numbers(rows: Rows) -> tuple[list[Record], list[str]]:
    """Return what the prediction does along each column of numbers, and what cannot be told."""
    found, left_out = [], []
    for name in rows.model.fitted_.learned.encoder.scalings:
        try:
            frame = effect(rows.model, rows.table, name, n_contexts=_CONTEXTS)
        except InputError as error:
            left_out.append(str(error))
            continue
        columns = arrays_of(frame)
        outputs = columns.get("output", np.zeros(len(columns["value"]), dtype=int))
        labels = list(dict.fromkeys(outputs.tolist()))[:_MOST_OUTPUTS]
        curves = [_curve(columns, outputs == label, label) for label in labels]
        found.append({"name": name, "curves": curves})
    return found, left_out


def _curve(columns: dict[str, np.ndarray], chosen: np.ndarray, label: Any) -> Record:
    """Return one line of numbers, and apart from it what missing values do."""
    values = columns["value"][chosen].astype(float)
    known = np.isfinite(values)
    curve: Record = {"output": names_of([label])[0], "value": rounded(values[known])}
    for name in ("prediction", "low", "high"):
        curve[name] = rounded(columns[name][chosen].astype(float)[known])
    curve["count"] = columns["count"][chosen][known].tolist()
    curve["missing"] = None
    if not known.all():
        curve["missing"] = rounded(float(columns["prediction"][chosen][~known][0]))
    return curve
