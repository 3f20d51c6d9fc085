"""One column: where its categories lie, what is close to what, and what the map is coloured by."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.spatial.distance import cdist

from catspace.analysis import cluster, compare_distances, model_distance, normality, project
from catspace.analysis.projection import correlations, means_by_code
from catspace.analysis.stability import find_all_neighbours
from catspace.data.vocabulary import MISSING, N_SPECIAL, RARE
from catspace.embeddings import Embedding
from catspace.exceptions import InputError
from catspace.export.report.quality import errors_by_category
from catspace.export.report.records import Record, arrays_of, names_of, rounded
from catspace.export.report.rows import Rows
from catspace.storage.spreadsheets import without_formulas

# A page with more points than this is no longer fluid; the most frequent categories are shown.
MOST_SHOWN = 10_000
_MOST_NEIGHBOURS = 10
_FEWEST_FOR_MAP = 4
_FEWEST_FOR_HISTOGRAM = 30
_MOST_FOR_TSNE = 10_000
_MOST_FOR_METRIC = 2_000  # all pairs of categories in every context
_CONTEXTS, _FEWEST_CONTEXTS, _MOST_ASKED = 100, 20, 50_000
_PAIRS = 2_000
_MOST_FOR_HEAT_MAP = 40
_MOST_VALUES = 12  # of a column that colours the map of another
_MOST_COLOURS = 20
_FIXED = 0.6  # share of a category's rows that must agree for that
_FEW_ROWS = 10
_MOST_NUMBERS = 200_000  # of vectors that the page carries to hand out
# The scale on which the model learned is the one on which its distances are measured.
_SCALES: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "log": np.log,
    "log1p": np.log1p,
    "paper": np.log,
}


def summarise_column(model: Any, column: str, training: Rows | None, judged: Rows | None) -> Record:
    """Return what the page shows of one embedded column.

    Parameters
    ----------
    model : fitted estimator
    column : str
    training : Rows, optional
        For means of the target, colours and distances.
    judged : Rows, optional
        For the errors of each category.
    """
    networks = [embeddings[column] for embeddings in model.network_embeddings()]
    whole = networks[0]
    n_all = len(whole)
    shown = np.arange(n_all)
    if n_all > MOST_SHOWN:
        shown = np.sort(np.argsort(-whole.counts, kind="stable")[:MOST_SHOWN])
        networks = [network.select(shown) for network in networks]
    embedding = networks[0]
    record: Record = {
        "name": column,
        "raw": column if whole.origin is None else whole.origin.raw,
        "dimension": embedding.dim,
        "n_categories": n_all,
        "categories": names_of(embedding.categories),
        "counts": embedding.counts.tolist(),
        "evidence": rounded(embedding.evidence),
        "smooth": embedding.smooth,
        "n_missing": int(whole.vocabulary.counts[MISSING]),
        "n_rare": int(whole.vocabulary.counts[RARE]),
        "few_rows": _FEW_ROWS,
        "left_out": [],
    }
    if n_all > len(shown):
        record["left_out"].append(
            f"The {len(shown):,} most frequent of {n_all:,} categories are shown."
        )
    record |= _vectors_to_hand_out(embedding)
    means = None
    if training is not None and column in training.codes:
        # The table's codes -> the categories that are shown; -1 for all else.
        place = np.full(len(whole.table), -1)
        place[shown + N_SPECIAL] = np.arange(len(shown))
        codes = place[training.codes[column]]
        targets = training.numbers
        means = [means_by_code(codes, targets[:, i], len(shown)) for i in range(targets.shape[1])]
        record["colours"] = _colours(column, codes, means, len(shown), model, training)
    if judged is not None and column in judged.codes:
        errors = errors_by_category(judged, column, whole.categories)
        by_category = errors.pop("by_category")[shown]
        record["errors"] = errors
        if np.isfinite(by_category).any():
            colour = {"name": "error", "is_error": True, "values": rounded(by_category)}
            record.setdefault("colours", []).append(colour)
    record |= _describe_space(embedding, networks, record["left_out"])
    if means and "pca" in record.get("layouts", {}):
        known = np.isfinite(means[0])
        pearson, spearman = correlations(
            np.array(record["layouts"]["pca"]["x"])[known], means[0][known]
        )
        if np.isfinite(pearson):
            record["along"] = {"pearson": rounded(pearson), "spearman": rounded(spearman)}
    if training is not None:
        record |= _describe_metric(model, column, training, record["left_out"])
    return record


def _vectors_to_hand_out(embedding: Embedding) -> Record:
    """Return the vectors for a download, with names that no spreadsheet takes for formulas."""
    if embedding.vectors.size > _MOST_NUMBERS:
        return {}
    names = pa.array([str(category) for category in embedding.categories], pa.string())
    cells = without_formulas(pa.chunked_array([names])).to_pylist()
    header = without_formulas(pa.chunked_array([pa.array([embedding.column])])).to_pylist()[0]
    return {"vectors": rounded(embedding.vectors), "cells": cells, "cell_name": header}


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
        "distance": rounded(distances),
        "agreement": None if agreement is None else rounded(agreement),
        "networks": len(networks),
        "agreed": None if agreement is None else rounded(float(agreement.mean())),
        "chance": rounded(neighbours.shape[1] / (n - 1)),
    }
    if n < _FEWEST_FOR_MAP:
        left_out.append("So few categories need no map.")
        return record
    if n <= _MOST_FOR_HEAT_MAP:
        record["heat_map"] = rounded(cdist(embedding.vectors, embedding.vectors))
    try:
        layouts = {"pca": _layout(project(embedding, column, method="pca"))}
        if n <= _MOST_FOR_TSNE:
            layouts["tsne"] = _layout(project(embedding, column, method="tsne"))
        record["layouts"] = layouts
        record["cluster"] = arrays_of(cluster(embedding, column))["cluster"].tolist()
    except InputError as error:  # all in one place
        left_out.append(str(error))
        return record
    if n >= _FEWEST_FOR_HISTOGRAM:
        first = arrays_of(normality(embedding, column, n_components=1))
        record["density"] = {
            name: rounded(float(first[name][0]))
            for name in ("standard_deviation", "variance_share", "k2", "p_value")
        }
    return record


def _n_neighbours(n: int) -> int:
    """Return how many neighbours to list: of a dozen categories the ten closest say nothing."""
    return min(n - 1, max(3, min(_MOST_NEIGHBOURS, n // 3)))


def _describe_metric(model: Any, column: str, training: Rows, left_out: list[str]) -> Record:
    """Return pairs of categories: how far apart in the space, and in what the model predicts."""
    n = len(model.embeddings_[column])
    if not _FEWEST_FOR_MAP <= n <= _MOST_FOR_METRIC or not hasattr(model, "predict"):
        return {}
    scale = _SCALES.get(str(getattr(model, "target_transform", None)))
    try:
        distances = model_distance(
            model,
            training.table,
            column,
            n_contexts=max(_FEWEST_CONTEXTS, min(_CONTEXTS, _MOST_ASKED // n)),
            transform=scale,
        )
        pairs = arrays_of(compare_distances(model, column, distances, n_pairs=_PAIRS))
    except InputError as error:
        left_out.append(str(error))
        return {}
    order = np.argsort(pairs["metric"])
    return {
        "distances": {
            **{
                name: rounded(pairs[name][order].astype(float))
                for name in ("metric", "embedding", "fitted", "lower", "upper")
            },
            "pearson": rounded(float(pairs["pearson"][0])),
            "spearman": rounded(float(pairs["spearman"][0])),
        }
    }


def _colours(
    column: str,
    codes: np.ndarray,
    means: Sequence[np.ndarray],
    n: int,
    model: Any,
    training: Rows,
) -> list[Record]:
    """Return what the map can be coloured by: the target, and columns that a category fixes."""
    found: list[Record] = []
    for i, values in enumerate(means):
        if np.isfinite(values).any():
            found.append(
                {"name": "target", "is_target": True, "output": i, "values": rounded(values)}
            )
    if training.labels is not None and not means:
        classes = names_of(model.classes_.tolist())
        groups = _majority(codes, training.labels, n, classes, fixed=0.0)
        found.append({"name": "target", "is_target": True, "output": 0, **groups})
    for name, vocabulary in model.fitted_.learned.encoder.vocabularies.items():
        is_told = name != column and name in training.codes
        if is_told and vocabulary.n_categories <= _MOST_VALUES:
            labels = [str(category)[:100] for category in vocabulary.categories]
            other = training.codes[name] - N_SPECIAL
            if groups := _majority(codes, other, n, labels, fixed=_FIXED):
                found.append({"name": name, **groups})
    for name in model.fitted_.learned.encoder.scalings:
        origin = model.fitted_.learned.encoder.origins[name]
        values = origin.read(training.table).to_numbers()
        found.append({"name": name, "values": rounded(means_by_code(codes, values, n))})
    return found[:_MOST_COLOURS]


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
    columns = arrays_of(frame)
    return {
        "x": rounded(columns["x"]),
        "y": rounded(columns["y"]),
        "trustworthiness": rounded(float(columns["trustworthiness"][0])),
    }
