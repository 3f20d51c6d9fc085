"""Under which training the map of Germany appears in the vectors of the states, and how often."""

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd
from scipy.spatial.distance import pdist

from catspace import analysis
from catspace.datasets import STATE_CENTRES
from catspace.paper.fitting import Progress, fit_network
from catspace.paper.methods import PAPER_NETWORK
from catspace.paper.printing import bar, data_of, frame_table, publish
from catspace.paper.protocol import Problem
from catspace.paper.records import Record, prepare_folder, write_json
from catspace.paper.request import Request

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


def run(request: Request) -> list[Record]:
    """Look for the map under several trainings, and write ``map.json`` and ``map.md``."""
    problem = request.problem("time")
    prepare_folder(request.out)
    records: list[Record] = []
    with bar(request.console, "training for the map") as progress:
        for record in look_for_the_map(problem, progress=progress):
            records.append(record)
            write_json(request.out / "map.json", records)
    publish(request.console, request.out / "map.md", map_table(records))
    return records


def look_for_the_map(problem: Problem, *, progress: Progress) -> Iterator[Record]:
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
            apart = pdist(states.vectors)
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


def summarise_map(records: list[Record]) -> pd.DataFrame:
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


def map_table(records: list[Record]) -> str:
    """Return the summary as a Markdown table, with a sentence on the data below it."""
    first = records[0]
    return f"{frame_table(summarise_map(records))}\n{data_of(first)}; seed {first['seed']}.\n"
