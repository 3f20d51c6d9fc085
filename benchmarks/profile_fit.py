"""What a fit consists of, and what networks cost that are computed together.

For each table the seconds that all cores together computed in each part of a fit with the defaults;
then the milliseconds of one core for a step of the small networks of the trials: one by itself, and
so many as one. Least of several epochs that take turns, since a busy machine lengthens some. The
parts can be had of other commits too, whose sources PYTHONPATH names.
"""

import argparse
import threading
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from common import print_table
from speed import TABLES, load

import catspace.estimators.fitting as fitting
from catspace import EmbeddingRegressor
from catspace.estimators.fitting import Fit
from catspace.model import choice
from catspace.model.training import Training
from catspace.preparation.prepare import Preparation

SMOOTHS = (1.0, 2.0, 4.0, 16.0, 32.0, 64.0)
TOGETHER = (1, 2, 3, 4, 6)
STEPS, ROUNDS = 100, 5
PARTS = {
    "reading and encoding": (Preparation, "prepare"),
    "plan": (Fit, "plan"),
    "trials": (fitting, "settle"),
    "of them the search for pairs": (choice, "choose_pairs"),
    "training": (fitting, "train_networks"),
    "finishing": (fitting, "finish"),
}


def parts_of(name: str) -> dict[str, float]:
    """Return the seconds of all cores that each part of a fit takes."""
    X, y, options = load(name)
    EmbeddingRegressor(max_epochs=1, random_state=0).fit(X[:500], y[:500])
    spent = dict.fromkeys(PARTS, 0.0)
    kept = {what: getattr(*place) for what, place in PARTS.items()}
    for what, place in PARTS.items():
        setattr(*place, counted(kept[what], what, spent))
    begin = time.process_time()
    EmbeddingRegressor(random_state=0, **options).fit(X, y)
    spent["all"] = time.process_time() - begin
    for what, place in PARTS.items():
        setattr(*place, kept[what])
    return spent


def counted(action: Callable[..., Any], what: str, spent: dict[str, float]) -> Callable[..., Any]:
    def run(*arguments: Any, **options: Any) -> Any:
        begin = time.process_time()
        try:
            return action(*arguments, **options)
        finally:
            spent[what] += time.process_time() - begin

    return run


def steps_of(name: str) -> Mapping[str, float]:
    """Return the milliseconds of a step of small networks, by how many are computed together."""
    from catspace.model.trials import SmallNetworks  # which not every commit has

    X, y, options = load(name)
    found: list[Any] = []

    def keep(plan: Any, rows: Any, *_: object, **__: object) -> None:
        found.extend([plan, rows])
        raise KeyboardInterrupt  # that is all there is to know

    settle, fitting.settle = fitting.settle, keep
    try:
        EmbeddingRegressor(random_state=0, **options).fit(X, y)
    except KeyboardInterrupt:
        fitting.settle = settle
    plan, rows = found
    cpu, batch = torch.device("cpu"), plan.recipe.batch_size
    rows = rows.take(slice(0, STEPS * batch))
    recipe = replace(plan.smoothed(4.0).recipe, epochs=1000)
    shape = choice._small(plan)
    n_columns = len(shape.n_codes)
    trainings: dict[str, Any] = {
        "by itself": Training(
            0, shape, rows, recipe, 0, edges=plan.edges, validation=None, device=cpu
        )
    }
    for n in TOGETHER:
        smooths = [(smooth,) * n_columns for smooth in SMOOTHS[:n]]
        trainings[f"{n} as one"] = SmallNetworks(
            0, shape, rows, rows, recipe, smooths, 0,
            edges=plan.edges, device=cpu, stop=threading.Event(),
        )  # fmt: skip
    times = {what: list[float]() for what in trainings}
    for _ in range(ROUNDS):
        for what, training in trainings.items():
            begin = time.thread_time()
            training.run_epoch()
            times[what].append((time.thread_time() - begin) / -(-len(rows) // batch))
    return {what: 1e3 * float(np.min(taken)) for what, taken in times.items()}


def main(names: list[str], only: str | None) -> None:
    torch.set_num_threads(1)
    measures = {"parts": ("seconds of all cores", parts_of), "steps": ("ms of a step", steps_of)}
    for what, (unit, measure) in measures.items():
        if only in (None, what):
            found = [measure(name) for name in names]
            rows = ([part, *(f"{one[part]:.2f}" for one in found)] for part in found[0])
            print_table([unit, *names], rows)
            print()


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="+", choices=TABLES)
    parser.add_argument("--only", choices=["parts", "steps"])
    arguments = parser.parse_args()
    main(arguments.tables, arguments.only)
