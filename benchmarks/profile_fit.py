"""What a fit consists of, and what steps of networks cost, computed in several ways.

For each table the seconds that all cores together computed in each part of a fit with the defaults;
then the milliseconds of one core for a step of the small networks of the trials: one by itself, and
so many as one; then those by the clock for a step of the whole network: by torch's graph, with
gradients written out, by one thread and with a second one for layers, and in halves, by one thread
and by two. Least of several epochs that take turns, since a busy machine lengthens some. The parts
can be had of other commits too, whose sources PYTHONPATH names.
"""

import argparse
import threading
import time
import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from common import print_table
from speed import TABLES, load

import catspace.estimators.fitting as fitting
from catspace import EmbeddingRegressor
from catspace.estimators.fitting import Fit
from catspace.model import trials
from catspace.model.training import Training
from catspace.preparation.prepare import Preparation

SMOOTHS = (1.0, 2.0, 4.0, 16.0, 32.0, 64.0)
TOGETHER = (1, 2, 3, 4, 6)
STEPS, ROUNDS = 100, 6
BATCHES = (1024, 4096)  # beside that of the defaults
PARTS = {
    "reading and encoding": (Preparation, "prepare"),
    "plan": (Fit, "plan"),
    "trials": (fitting, "settle"),
    "of them the search for pairs": (trials, "choose_pairs"),
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


def settled(name: str) -> tuple[Any, Any]:
    """Return the plan of a fit before anything is tried, and its rows."""
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
    return plan, rows


def least(
    epochs: Mapping[str, Callable[[], object]], n_steps: int, clock: Callable[[], float]
) -> dict[str, float]:
    """Return the milliseconds of a step of each, which take turns."""
    times = {what: list[float]() for what in epochs}
    for _ in range(ROUNDS):
        for what, run in epochs.items():
            begin = clock()
            run()
            times[what].append((clock() - begin) / n_steps)
    return {what: 1e3 * float(np.min(taken)) for what, taken in times.items()}


def steps_of(name: str) -> Mapping[str, float]:
    """Return the milliseconds of a step of small networks, by how many are computed together."""
    from catspace.model.small_networks import SmallNetworks  # which not every commit has

    plan, rows = settled(name)
    cpu, batch = torch.device("cpu"), plan.recipe.batch_size
    rows = rows.take(slice(0, STEPS * batch))
    recipe = replace(plan.smoothed(4.0).recipe, epochs=1000)
    shape = trials.small_shape(plan)
    n_columns = len(shape.n_codes)
    epochs: dict[str, Any] = {
        "by itself": Training(
            0, shape, rows, recipe, 0, edges=plan.edges, validation=None, device=cpu
        ).run_epoch
    }
    for n in TOGETHER:
        smooths = [(smooth,) * n_columns for smooth in SMOOTHS[:n]]
        epochs[f"{n} as one"] = SmallNetworks(
            0, shape, rows, rows, recipe, smooths, 0,
            edges=plan.edges, device=cpu, stop=threading.Event(),
        ).run_epoch  # fmt: skip
    return least(epochs, -(-len(rows) // batch), time.thread_time)


def gradients_of(name: str) -> Mapping[str, float]:
    """Return the milliseconds of a step of the whole network, by how gradients are found."""
    from catspace.model import gradients  # which not every commit has

    plan, rows = settled(name)
    recipe = replace(plan.smoothed(4.0).recipe, epochs=1000)
    found: dict[str, float] = {}
    for batch_size in (recipe.batch_size, *(size for size in BATCHES if len(rows) >= 10 * size)):
        found |= {
            f"{batch_size} rows, {what}": taken
            for what, taken in _gradients_of(gradients, plan, rows, recipe, batch_size).items()
        }
    return found


def _gradients_of(
    gradients: Any, plan: Any, rows: Any, recipe: Any, batch_size: int
) -> dict[str, float]:
    recipe, rows = replace(recipe, batch_size=batch_size), rows.take(slice(0, STEPS * batch_size))

    def train(*, by_graph: bool = False) -> Training:
        training = Training(
            0, plan.architecture, rows, recipe, 0,
            edges=plan.edges, validation=None, device=torch.device("cpu"),
        )  # fmt: skip
        if by_graph:
            parts = training.network, recipe, training._evidence
            training._gradients = gradients.ByGraph(*parts)
        return training

    def run(training: Training, split_from: int, helper: Any = None) -> Callable[[], object]:
        def epoch() -> None:
            gradients._ROWS_TO_SPLIT, gradients._ROWS_TO_SHARE = split_from, 1
            training.run_epoch(helper)

        return epoch

    never = 1 << 62
    with ThreadPoolExecutor(1, initializer=torch.set_num_threads, initargs=(1,)) as helper:
        epochs = {
            "by torch's graph": run(train(by_graph=True), never),
            "written out": run(train(), never),
            "layers by a second thread": run(train(), never, helper),
            "in halves, one thread": run(train(), 1),
            "in halves, two threads": run(train(), 1, helper),
        }
        return least(epochs, -(-len(rows) // recipe.batch_size), time.perf_counter)


def main(names: list[str], only: str | None) -> None:
    torch.set_num_threads(1)
    measures = {
        "parts": ("seconds of all cores", parts_of),
        "steps": ("ms of a step", steps_of),
        "gradients": ("ms of a step, by the clock", gradients_of),
    }
    for what, (unit, measure) in measures.items():
        if only in (None, what):
            found = [measure(name) for name in names]
            parts = dict.fromkeys(part for one in found for part in one)
            rows = (
                [part, *(f"{one[part]:.2f}" if part in one else "" for one in found)]
                for part in parts
            )
            print_table([unit, *names], rows)
            print()


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="+", choices=TABLES)
    parser.add_argument("--only", choices=["parts", "steps", "gradients"])
    arguments = parser.parse_args()
    main(arguments.tables, arguments.only)
