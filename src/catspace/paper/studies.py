"""What the paper left for later: activations and dimensions of the embedding, compared.

Judged by a validation part of the training rows, since something is chosen here.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from catspace.paper.fitting import fit_network
from catspace.paper.protocol import PAPER_DIMS, Problem, scores

Record = dict[str, Any]

_BASE = {"target_transform": "log", "n_networks": 2}

STUDIES: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "activations": {
        f'embedding_activation="{name}"': {"embedding_activation": name}
        for name in ("identity", "relu", "silu", "gelu", "tanh", "logistic")
    },
    "dimensions": {
        **{f'embedding_dim="{rule}"': {"embedding_dim": rule} for rule in ("half", "fastai")},
        **{f'embedding_dim="{rule}"': {"embedding_dim": rule} for rule in ("sqrt", "fourth_root")},
        "the paper's dimensions": {"embedding_dim": PAPER_DIMS},
        **{
            f"store in {dim}, the rest as in the paper": {
                "embedding_dim": {**PAPER_DIMS, "store": dim}
            }
            for dim in (1, 2, 5, 20, 50, 100)
        },
    },
}


def run_study(
    name: str, problem: Problem, *, progress: Callable[[float], None]
) -> Iterator[Record]:
    """Fit each variant on nine tenths of the training rows, and yield how it does on the last.

    Parameters
    ----------
    name : {"activations", "dimensions"}
    problem : Problem
        Its test rows are not touched.
    progress : callable
        Told the share of a variant's training that is done.
    """
    held_back = problem.validation
    X, y = problem.frames.train, problem.y_train
    for variant, changes in STUDIES[name].items():
        parameters = {**_BASE, **changes}
        start = time.perf_counter()
        model = fit_network(
            X[~held_back], y[~held_back], parameters, seed=problem.seed, progress=progress
        )
        seconds = time.perf_counter() - start
        predicted = model.predict(X[held_back])
        yield {
            "study": name,
            "data": problem.name,
            "split": problem.split,
            "variant": variant,
            **scores(y[held_back], predicted),
            "fit_seconds": seconds,
            "rows": int((~held_back).sum()),
            "judged_by": int(held_back.sum()),
            "seed": problem.seed,
            "parameters": parameters,
        }
