"""A fitted model, and rows where there are some -> the document that the page shows.

The document is plain lists, numbers and text. What it says comes from `catspace.analysis`; what
cannot be said is left out, with the sentence that tells why.
"""

from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from typing import Any

from threadpoolctl import threadpool_limits

from catspace.export.report.quality import Scores, describe_quantiles, judge, score_table
from catspace.export.report.records import Record, rounded
from catspace.export.report.reliance import effects_of_numbers, rank_columns
from catspace.export.report.rows import read_rows
from catspace.export.report.space import summarise_column

NO_ROWS = (
    "This page was made without rows, so it cannot show how good the predictions are, which "
    "columns matter, or where the model fails. Give it some: model.report(X, y), or catspace "
    "report MODEL --data FILE."
)
NOT_HELD_BACK = (
    "These are the rows that the page was given. If the model was trained on them, it looks better "
    "here than it is: rows that it has not seen tell more."
)
CANNOT_PREDICT = "An EmbeddingEncoder makes vectors and does not predict, so nothing is scored."


def summarise(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    X_val: Any = None,
    y_val: Any = None,
    title: str | None = None,
    target_name: str | None = None,
    scores: Scores | None = None,
    on_step: Callable[[str], None] = lambda step: None,
) -> Record:
    """Return what the page shows of a model; the parameters of `write_report`."""
    training, held_back = read_rows(model, X, y), read_rows(model, X_val, y_val)
    judged = held_back or training
    target_name = (
        target_name
        or (y if isinstance(y, str) else model.fitted_.learned.schema.target)
        or "the target"
    )
    notes: list[str] = []
    quality: Record | None = None
    ranking: list[Record] = []
    effects: list[Record] = []
    if judged is None:
        notes.append(NO_ROWS)
    elif not hasattr(model, "predict"):
        notes.append(CANNOT_PREDICT)
        judged = None
    else:
        quality = judge(judged, training, scores, target_name)
        if held_back is None:
            notes.append(NOT_HELD_BACK)
        notes += describe_quantiles(judged)
        ranking, why_not = rank_columns(judged)
        notes += [why_not] if why_not else []
        effects, left_out = effects_of_numbers(judged)
        notes += left_out
    columns = []
    # t-SNE and k-means on many threads wait for each other, above all beside other work.
    with threadpool_limits(1, user_api="openmp"):
        for column in model.embeddings_:
            on_step(column)
            columns.append(summarise_column(model, column, training, judged))
    return {
        "title": title or f"What the model learned about {target_name}",
        "target": target_name,
        "target_labels": _target_labels(model, target_name),
        "facts": _facts(model),
        "notes": notes,
        "scores": score_table(scores) if scores else None,
        "quality": quality,
        "ranking": ranking,
        "effects": effects,
        "history": _histories(model.history_),
        "numbers": list(model.fitted_.learned.encoder.scalings),
        "networks": len(model.networks_),
        "columns": columns,
        "version": version("catspace"),
    }


def _target_labels(model: Any, name: str) -> list[str]:
    """Return what to call the mean of each number that is predicted."""
    if model.fitted_.learned.is_classification:
        classes = model.classes_
        return [f"share of {classes[1]!s}" if len(classes) == 2 else f"most frequent {name}"]
    n = model.fitted_.learned.target.n_columns
    return [f"mean {name}"] if n == 1 else [f"mean {name} {i + 1}" for i in range(n)]


def _facts(model: Any) -> list[list[Any]]:
    facts: list[list[Any]] = [
        ["rows in training", model.fitted_.learned.n_known],
        ["categorical columns", len(model.embeddings_)],
        ["categories", int(sum(map(len, model.embeddings_.values())))],
        ["numeric columns", len(model.fitted_.learned.encoder.scalings)],
        ["networks", len(model.networks_)],
    ]
    return facts if len(model.embeddings_) else facts[3:]


def _histories(history: Sequence[Mapping[str, Any]]) -> list[Record]:
    found: dict[int, Record] = {}
    for epoch in history:
        curve = found.setdefault(epoch["network"], {"epoch": [], "loss": [], "validation": []})
        curve["epoch"].append(epoch["epoch"])
        curve["loss"].append(rounded(epoch["loss"]))
        curve["validation"].append(rounded(epoch.get("validation_loss")))
    return [found[network] for network in sorted(found)]
