"""A fitted model, and its table where there is one -> the document that the page shows.

The document is plain lists, numbers and text. What it says of a column comes from
`catspace.analysis`; what cannot be said is left out, with the sentence that tells why.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import narwhals as nw
import numpy as np
from scipy.spatial.distance import cdist
from threadpoolctl import threadpool_limits

from catspace.analysis import cluster, compare_distances, model_distance, normality, project
from catspace.analysis.distribution import FEWEST_FOR_K2
from catspace.analysis.projection import correlations, means_by_code
from catspace.analysis.stability import find_all_neighbours
from catspace.data.reading import read_vector
from catspace.data.table import Table
from catspace.data.vocabulary import N_SPECIAL
from catspace.embeddings import Embedding
from catspace.exceptions import InputError
from catspace.storage.blocks import read_any

Record = dict[str, Any]

# A page with more points than this is no longer fluid; the most frequent categories are shown.
MOST_SHOWN = 10_000
_MOST_NEIGHBOURS = 10
_FEWEST_FOR_MAP = 4
_MOST_FOR_TSNE = 10_000
_MOST_FOR_METRIC = 2_000  # all pairs of categories in every context
_CONTEXTS = 100
_PAIRS = 2_000
_MOST_FOR_HEAT_MAP = 40
_MOST_VALUES = 12  # of a column that colours the map of another
_FIXED = 0.6  # share of a category's rows that must agree for that
_FEW_ROWS = 10
_LONGEST_NAME = 2_000  # characters; nobody reads further
# The scale on which the model learned is the one on which its distances are measured.
_SCALES: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "log": np.log,
    "log1p": np.log1p,
    "paper": np.log,
}


@dataclass(frozen=True)
class TrainingTable:
    """The table that a model was fitted on, as the page needs it."""

    table: Table  # the columns of fit
    # Of shape (n_samples,) for each column: the code of each row's category
    codes: Mapping[str, np.ndarray]
    # Of shape (n_samples,); 1 for the second of two classes, NaN where there are more
    target: np.ndarray
    # The classes, of shape (n_samples,), where there are more than two
    labels: np.ndarray | None


def summarise(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    title: str | None = None,
    target_name: str | None = None,
    scores: Mapping[str, Mapping[str, float]] | None = None,
    on_step: Callable[[str], None] = lambda step: None,
) -> Record:
    """Return what the page shows of a model."""
    training = _read_training(model, X, y)
    target_name = (
        target_name
        or (y if isinstance(y, str) else model.fitted_.learned.schema.target)
        or "the target"
    )
    columns = []
    # t-SNE and k-means on many threads wait for each other, above all beside other work.
    with threadpool_limits(1, user_api="openmp"):
        for column in model.embeddings_:
            on_step(column)
            columns.append(_summarise_column(model, column, training))
    return {
        "title": title or f"What the model learned about {target_name}",
        "target": target_name,
        "target_label": _target_label(model, target_name),
        "facts": _facts(model, training),
        "scores": _score_table(scores or {}),
        "history": _histories(model.history_),
        "numbers": list(model.fitted_.learned.encoder.scalings),
        "columns": columns,
        "version": version("catspace"),
    }


def _read_training(model: Any, X: Any, y: Any) -> TrainingTable | None:
    if X is None:
        if y is not None and not isinstance(y, str):
            raise InputError("A target was given without its table.", hint="pass X as well.")
        return None
    learned = model.fitted_.learned
    name = y if isinstance(y, str) else learned.schema.target
    table = read_any(X, learned.kinds(name))
    if y is None and name in table.names:
        y = name
    if y is None:
        raise InputError(
            "The report of a table needs its target, to colour the maps by.",
            hint='pass y, or its name: y="Sales".',
        )
    column = table.pop(y)[1] if isinstance(y, str) else y
    target = np.asarray(read_vector(column, "target"))
    if len(target) != table.n_rows:
        raise InputError(f"The table has {table.n_rows} rows and the target {len(target)}.")
    # As with files, further columns do not matter.
    conformed = learned.schema.conform(table, type(model).__name__, is_file=True)
    encoder = learned.encoder
    codes = dict(zip(encoder.vocabularies, encoder.encode(conformed).codes, strict=True))
    labels = None
    if hasattr(model, "classes_"):
        if len(model.classes_) == 2:
            target = (target == model.classes_[1]).astype(float)
        else:
            labels = target
            target = np.full(len(labels), np.nan)
    elif target.ndim != 1 or target.dtype.kind not in "biuf":
        raise InputError("The report of a regression needs one number for each row as target.")
    return TrainingTable(conformed, codes, target.astype(float), labels)


def _target_label(model: Any, name: str) -> str:
    classes = getattr(model, "classes_", None)
    if classes is None:
        return f"mean {name}"
    return f"share of {classes[1]!s}" if len(classes) == 2 else f"most frequent {name}"


def _facts(model: Any, training: TrainingTable | None) -> list[list[Any]]:
    counts = next((e.vocabulary.counts for e in model.embeddings_.values()), np.zeros(1))
    facts: list[list[Any]] = [
        ["rows in training", int(counts.sum())],
        ["categorical columns", len(model.embeddings_)],
        ["categories", int(sum(map(len, model.embeddings_.values())))],
        ["numeric columns", len(model.fitted_.learned.encoder.scalings)],
        ["networks", len(model.networks_)],
    ]
    return facts if len(model.embeddings_) else facts[3:]


def _score_table(scores: Mapping[str, Mapping[str, float]]) -> Record | None:
    if not scores:
        return None
    names = list(next(iter(scores.values())))
    return {
        "names": names,
        "rows": [[method, *(found[name] for name in names)] for method, found in scores.items()],
    }


def _histories(history: Sequence[Mapping[str, Any]]) -> list[Record]:
    found: dict[int, Record] = {}
    for epoch in history:
        curve = found.setdefault(epoch["network"], {"epoch": [], "loss": [], "validation": []})
        curve["epoch"].append(epoch["epoch"])
        curve["loss"].append(_rounded(epoch["loss"]))
        curve["validation"].append(_rounded(epoch.get("validation_loss")))
    return [found[network] for network in sorted(found)]


def _summarise_column(model: Any, column: str, training: TrainingTable | None) -> Record:
    networks = [embeddings[column] for embeddings in model.network_embeddings()]
    n_all = len(networks[0])
    shown = np.arange(n_all)
    if n_all > MOST_SHOWN:
        shown = np.sort(np.argsort(-networks[0].counts, kind="stable")[:MOST_SHOWN])
        networks = [network.select(shown) for network in networks]
    embedding = networks[0]
    record: Record = {
        "name": column,
        "dimension": embedding.dim,
        "n_categories": n_all,
        "categories": [str(category)[:_LONGEST_NAME] for category in embedding.categories],
        "counts": embedding.counts.tolist(),
        "evidence": _rounded(embedding.evidence),
        "smooth": embedding.smooth,
        "few_rows": _FEW_ROWS,
        "left_out": [],
    }
    if n_all > len(shown):
        record["left_out"].append(
            f"The {len(shown):,} most frequent of {n_all:,} categories are shown."
        )
    means = None
    if training is not None:
        # The table's codes -> the categories that are shown; -1 for all else.
        place = np.full(len(model.embeddings_[column].table), -1)
        place[shown + N_SPECIAL] = np.arange(len(shown))
        codes = place[training.codes[column]]
        means = means_by_code(codes, training.target, len(shown))
        record["colours"] = _colours(column, codes, means, len(shown), model, training)
    record |= _describe_space(embedding, networks, record["left_out"])
    if means is not None and "pca" in record.get("layouts", {}):
        known = np.isfinite(means)
        pearson, spearman = correlations(
            np.array(record["layouts"]["pca"]["x"])[known], means[known]
        )
        if np.isfinite(pearson):
            record["along"] = {"pearson": _rounded(pearson), "spearman": _rounded(spearman)}
    if training is not None:
        record |= _describe_metric(model, column, training, record["left_out"])
    return record


def _describe_space(
    embedding: Embedding, networks: Sequence[Embedding], left_out: list[str]
) -> Record:
    """Return layouts, clusters, neighbours, density and heat map of a column's vectors."""
    n, column = len(embedding), embedding.column
    if n < 2:
        left_out.append("One category alone has no neighbours, so there is no map.")
        return {}
    record: Record = {}
    neighbours, distances, agreement = find_all_neighbours(networks, _n_neighbours(n))
    record["neighbours"] = {
        "index": neighbours.tolist(),
        "distance": _rounded(distances),
        "agreement": None if agreement is None else _rounded(agreement),
        "networks": len(networks),
    }
    if n < _FEWEST_FOR_MAP:
        left_out.append("So few categories need no map.")
        return record
    if n <= _MOST_FOR_HEAT_MAP:
        record["heat_map"] = _rounded(cdist(embedding.vectors, embedding.vectors))
    try:
        layouts = {"pca": _layout(project(embedding, column, method="pca"))}
        if n <= _MOST_FOR_TSNE:
            layouts["tsne"] = _layout(project(embedding, column, method="tsne"))
        record["layouts"] = layouts
        record["cluster"] = _arrays(cluster(embedding, column))["cluster"].tolist()
    except InputError as error:  # all in one place
        left_out.append(str(error))
        return record
    if n >= FEWEST_FOR_K2:
        first = _arrays(normality(embedding, column, n_components=1))
        record["density"] = {
            name: _rounded(float(first[name][0]))
            for name in ("standard_deviation", "variance_share", "k2", "p_value")
        }
    return record


def _n_neighbours(n: int) -> int:
    """Return how many neighbours to list: of a dozen categories the ten closest say nothing."""
    return min(n - 1, max(3, min(_MOST_NEIGHBOURS, n // 3)))


def _describe_metric(
    model: Any, column: str, training: TrainingTable, left_out: list[str]
) -> Record:
    """Return pairs of categories: how far apart in the space, and in what the model predicts."""
    n = len(model.embeddings_[column])
    if not _FEWEST_FOR_MAP <= n <= _MOST_FOR_METRIC or not hasattr(model, "predict"):
        return {}
    scale = _SCALES.get(str(getattr(model, "target_transform", None)))
    try:
        distances = model_distance(
            model, training.table, column, n_contexts=_CONTEXTS, transform=scale
        )
        pairs = _arrays(compare_distances(model, column, distances, n_pairs=_PAIRS))
    except InputError as error:
        left_out.append(str(error))
        return {}
    order = np.argsort(pairs["metric"])
    return {
        "distances": {
            **{
                name: _rounded(pairs[name][order].astype(float))
                for name in ("metric", "embedding", "fitted", "lower", "upper")
            },
            "pearson": _rounded(float(pairs["pearson"][0])),
            "spearman": _rounded(float(pairs["spearman"][0])),
        }
    }


def _colours(
    column: str,
    codes: np.ndarray,
    means: np.ndarray,
    n: int,
    model: Any,
    training: TrainingTable,
) -> list[Record]:
    """Return what the map can be coloured by: the target, and columns that a category fixes."""
    found = []
    if np.isfinite(means).any():
        found.append({"name": "target", "is_target": True, "values": _rounded(means)})
    if training.labels is not None:
        classes = [str(label) for label in model.classes_]
        index = np.searchsorted(model.classes_, training.labels)
        groups = _majority(codes, index, n, classes, fixed=0.0)
        found.append({"name": "target", "is_target": True, **groups})
    for name, vocabulary in model.fitted_.learned.encoder.vocabularies.items():
        if name != column and vocabulary.n_categories <= _MOST_VALUES:
            labels = [str(category)[:100] for category in vocabulary.categories]
            other = training.codes[name] - N_SPECIAL
            if groups := _majority(codes, other, n, labels, fixed=_FIXED):
                found.append({"name": name, **groups})
    for name in model.fitted_.learned.encoder.scalings:
        values = training.table.columns[training.table.names.index(name)].to_numbers()
        found.append({"name": name, "values": _rounded(means_by_code(codes, values, n))})
    return found


def _majority(
    codes: np.ndarray, other: np.ndarray, n: int, labels: list[str], *, fixed: float
) -> Record:
    """Return the most frequent value of another column for each category.

    Nothing, where categories have rows of many values: then the most frequent says little.
    """
    known = (codes >= 0) & (other >= 0)
    counts = np.zeros((n, len(labels)))
    np.add.at(counts, (codes[known], other[known]), 1)
    totals = counts.sum(axis=1)
    if not totals.any() or counts.max(axis=1).sum() < fixed * totals.sum():
        return {}
    if fixed and len(np.unique(counts[totals > 0].argmax(axis=1))) < 2:
        return {}
    return {"labels": labels, "groups": np.where(totals > 0, counts.argmax(axis=1), -1).tolist()}


def _layout(frame: Any) -> Record:
    columns = _arrays(frame)
    return {
        "x": _rounded(columns["x"]),
        "y": _rounded(columns["y"]),
        "trustworthiness": _rounded(float(columns["trustworthiness"][0])),
    }


def _arrays(frame: Any) -> dict[str, np.ndarray]:
    """Return the columns of a frame of any kind."""
    columns = nw.from_native(frame, eager_only=True)
    return {name: columns[name].to_numpy() for name in columns.columns}


def _rounded(values: Any) -> Any:
    """Return numbers with five digits, as the page needs them; what is not known becomes None."""
    if isinstance(values, np.ndarray):
        return [_rounded(value) for value in values.tolist()]
    if isinstance(values, list):
        return [_rounded(value) for value in values]
    if values is None or not np.isfinite(values):
        return None
    return float(f"{values:.5g}")
