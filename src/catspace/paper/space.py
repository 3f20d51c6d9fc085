"""The paper's questions about the space, those that it leaves open included, put to real networks.

Two experiments: "map" asks under which training the map of Germany appears, and how often;
"metric" asks what the vectors have to do with the distance between categories.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from catspace import analysis
from catspace.data.datasets import STATE_CENTRES
from catspace.paper.figures import Subject
from catspace.paper.methods import PAPER_NETWORK, fit_network
from catspace.paper.protocol import PAPER_DIMS, Problem

Progress = Callable[[float], None]
Answer = tuple[str, pd.DataFrame]

_SEEDS = 10
_OWN = {"target_transform": "log", "n_networks": _SEEDS}
_PAPER = {**PAPER_NETWORK, "n_networks": _SEEDS}

# How the networks of the map are trained, and the columns that they do not see.
TRAININGS: Mapping[str, tuple[Mapping[str, Any], tuple[str, ...]]] = {
    "catspace's defaults": (_OWN, ()),
    "catspace's defaults, without the store": (_OWN, ("store",)),
    "the paper's network": (_PAPER, ()),
    "the paper's network, without the store": (_PAPER, ("store",)),
}

_STORE_DIMS = (1, 2, 5, 10, 20, 50)
_CONTEXTS = 300


def look_for_the_map(problem: Problem, *, progress: Progress) -> Iterator[dict[str, Any]]:
    """Yield, for each training and each of ten networks, how much of the map its states show.

    ``score`` and ``p_value`` are those of `catspace.analysis.compare_with_map`; ``spread`` is the
    standard deviation of the distances between states over their mean: 0 where all are
    equidistant.
    """
    X, y = problem.frames.train, problem.y_train
    for training, (parameters, unseen) in TRAININGS.items():
        kept = X.drop(columns=list(unseen))
        dims = parameters.get("embedding_dim", "auto")
        if isinstance(dims, Mapping):
            dims = {name: dim for name, dim in dims.items() if name in kept}
        model = fit_network(
            kept, y, {**parameters, "embedding_dim": dims}, seed=problem.seed, progress=progress
        )
        for i, embeddings in enumerate(model.network_embeddings()):
            states = embeddings["state"]
            compared = analysis.compare_with_map(states, "state", STATE_CENTRES).iloc[0]
            a, b = np.triu_indices(len(states), k=1)
            apart = np.linalg.norm(states.vectors[a] - states.vectors[b], axis=1)
            yield {
                "data": problem.name,
                "training": training,
                "network": i,
                "score": float(compared["score"]),
                "p_value": float(compared["p_value"]),
                "spread": float(apart.std() / apart.mean()),
                "rows": len(y),
                "seed": problem.seed,
            }


def summarise_map(records: list[dict[str, Any]]) -> pd.DataFrame:
    """Return a row for each training: the map's score over the networks, and how often p < 0.05."""
    frame = pd.DataFrame(records)
    groups = frame.groupby("training", sort=False)
    return groups.agg(
        networks=("score", "size"),
        score=("score", "mean"),
        worst=("score", "min"),
        best=("score", "max"),
        median_p=("p_value", "median"),
        significant=("p_value", lambda p: int((p < 0.05).sum())),
        spread=("spread", "mean"),
    ).reset_index()


def question_the_metric(
    subject: Subject, problem: Problem, *, progress: Progress
) -> Iterator[Answer]:
    """Yield the answers to the paper's questions about the finite metric space, as frames.

    Parameters
    ----------
    subject : Subject
        The network of the figures.
    problem : Problem
        Rows for the networks of several dimensions.
    progress : callable
        Told the share of a network's training that is done.
    """
    model, X, y = subject.model, subject.X, subject.y
    started = time.perf_counter()
    by_model = {
        column: analysis.model_distance(model, X, column, n_contexts=_CONTEXTS, transform=np.log)
        for column in ("store", "state")
    }
    yield (
        "Seconds for the model's distances",
        pd.DataFrame({"columns": ["store and state"], "seconds": [time.perf_counter() - started]}),
    )
    for column, distances in by_model.items():
        yield f"Axioms of a metric, {column}, by the model", analysis.check_metric(distances)
        yield f"Schoenberg's condition, {column}", analysis.schoenberg(distances)
        yield (
            f"Learned and metric distance, {column}",
            _first(
                analysis.compare_distances(model, column, distances), "pearson", "spearman", "slope"
            ),
        )
        yield f"Distortion, {column}", analysis.distortion(model, column, distances)
        for n_components in (2, 10):
            yield f"MDS in {n_components} dimensions, {column}", _first(
                analysis.mds(distances, n_components=n_components, source=model),
                "stress", "learned_stress", "procrustes",
            )  # fmt: skip
    yield from _observed(subject, by_model["store"])
    for column in ("store", "state"):
        yield f"Normality along components, {column}", analysis.normality(model, column)
        yield f"Mardia's tests, {column}", analysis.mardia(model, column)
    rows = X.sample(min(50_000, len(X)), random_state=0)
    yield "Correlation between the subspaces", analysis.subspace_correlation(model, rows)
    along: Any = analysis.target_along(model, "store", X, y)
    yield (
        "Sales along directions, store",
        _only(along.drop_duplicates("direction"), "direction", "pearson", "spearman"),
    )
    yield (
        "Seconds for all of the above",
        pd.DataFrame(
            {
                "categories": [len(model.embeddings_["store"])],
                "seconds": [time.perf_counter() - started],
            }
        ),
    )
    yield "Distortion by dimension, store", _distortion_by_dimension(problem, progress)


def _observed(subject: Subject, by_model: analysis.DistanceMatrix) -> Iterator[Answer]:
    """Compare the distance that the table shows with the model's, and with the vectors."""
    # A store lies in one state: its state is no context of its own.
    observed = analysis.observed_distance(
        subject.X, subject.y, "store", ignore=["state"], transform=np.log
    )
    assert observed.categories == by_model.categories
    a, b = np.triu_indices(len(observed), k=1)
    known = np.isfinite(observed.values[a, b])
    shown = pd.Series(observed.values[a, b][known])
    asked = pd.Series(by_model.values[a, b][known])
    yield "Axioms of a metric, store, observed", analysis.check_metric(observed)
    yield (
        "Observed distance and the model's, store",
        pd.DataFrame(
            {
                "pairs": [int(known.sum())],
                "share_known": [float(known.mean())],
                "contexts": [float(np.median(observed.contexts[a, b]))],
                "pearson": [shown.corr(asked)],
                "spearman": [shown.corr(asked, method="spearman")],
                "mean_observed": [shown.mean()],
                "mean_by_model": [asked.mean()],
            }
        ),
    )
    yield (
        "Observed and learned distance, store",
        _first(analysis.compare_distances(subject.model, "store", observed), "pearson", "spearman"),
    )
    tolerances = (1e-9, 0.01, 0.02, 0.05)
    merged = [analysis.merge_redundant(by_model, tolerance=t)["merged_into"] for t in tolerances]
    yield (
        "Stores left when those within a tolerance are merged",
        pd.DataFrame({"tolerance": tolerances, "stores": [found.nunique() for found in merged]}),
    )


def _distortion_by_dimension(problem: Problem, progress: Progress) -> pd.DataFrame:
    found = []
    for dim in _STORE_DIMS:
        dims = {**PAPER_DIMS, "store": dim}
        parameters = {"target_transform": "log", "n_networks": 1, "embedding_dim": dims}
        X, y = problem.frames.train, problem.y_train
        model = fit_network(X, y, parameters, seed=problem.seed, progress=progress)
        distances = analysis.model_distance(
            model, X, "store", n_contexts=_CONTEXTS, transform=np.log
        )
        row = analysis.distortion(model, "store", distances)
        compared = analysis.compare_distances(model, "store", distances)
        found.append(row.assign(pearson=compared["pearson"].iloc[0]))
    return pd.DataFrame(pd.concat(found, ignore_index=True))


def _first(frame: Any, *names: str) -> pd.DataFrame:
    """Return what a frame says of all its rows."""
    return _only(frame.head(1), *names)


def _only(frame: Any, *names: str) -> pd.DataFrame:
    return pd.DataFrame(frame[list(names)])
