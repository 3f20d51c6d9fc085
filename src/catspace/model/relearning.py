"""Vectors that are learned anew from some of the rows, under the layers of trained networks."""

import copy
import math
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import torch

from catspace.model.network import EntityNetwork
from catspace.model.plan import TrainingPlan
from catspace.model.training import Training
from catspace.model.turns import Listener, hear_nothing, run_side_by_side
from catspace.preparation.rows import Rows

# Shares of the epochs and of the rate of the whole training. The layers have learned already, and
# Adam's first steps are as long for a category of one row as for any other: at the whole rate they
# leave rare categories far from *unseen*. Chosen on validation parts of wages and access rights.
EPOCHS, RATE = 0.5, 0.3


class Part(NamedTuple):
    """Rows to learn from."""

    rows: Rows
    validation: Rows | None = None  # to judge each epoch by


def relearn_vectors(
    networks: Sequence[EntityNetwork],
    plan: TrainingPlan,
    parts: Sequence[Part],
    *,
    n_jobs: int = 1,
    listener: Listener = hear_nothing,
) -> Iterator[list[EntityNetwork]]:
    """Yield for each part the networks with the vectors that its rows teach them.

    The layers of the networks and *unseen* stay as they are, so that all vectors lie in one space,
    around one point. They start there, where those stay that have no row in the part; or where the
    user has put them.

    Parameters
    ----------
    networks : sequence of EntityNetwork
        Trained on all rows.
    plan : TrainingPlan
        By which they were.
    parts : sequence of Part
    n_jobs : int
        Trainings at the same time, and in memory. What they find does not depend on it.
    listener : callable
        Is told of each epoch; networks are numbered part by part.
    """
    jobs = [(part, i) for part in parts for i in range(len(networks))]
    n_at_once = max(1, n_jobs)
    found: list[EntityNetwork] = []
    for begin in range(0, len(jobs), n_at_once):
        stop = threading.Event()
        trainings = [
            _training(index, networks[i], plan, part, plan.seeds[i], stop)
            for index, (part, i) in enumerate(jobs[begin : begin + n_at_once], begin)
        ]
        trained = run_side_by_side(trainings, stop, n_jobs=n_at_once, listener=listener)
        if stop.is_set():  # by Ctrl-C; some of the parts alone are of no use
            raise KeyboardInterrupt
        for training, result in zip(trainings, trained, strict=True):
            result.network.fill_untrained_rows(training.counts, training.is_smooth, training.starts)
            found.append(result.network)
            if len(found) == len(networks):
                yield found
                found = []


class MeanVectors:
    """The mean of the vectors that networks have learned from several parts.

    Parameters
    ----------
    networks : sequence of EntityNetwork
        Whose layers those have.
    """

    def __init__(self, networks: Sequence[EntityNetwork]) -> None:
        self._networks, self._n_parts = networks, 0
        self._sums = [
            [torch.zeros(table.shape, dtype=torch.float64) for table in network.input.tables]
            for network in networks
        ]

    def add(self, networks: Sequence[EntityNetwork]) -> None:
        """Add the vectors of a part."""
        self._n_parts += 1
        for sums, network in zip(self._sums, networks, strict=True):
            for total, table in zip(sums, network.input.tables, strict=True):
                total += table.detach()

    def networks(self) -> tuple[EntityNetwork, ...]:
        """Return the networks with the mean of all parts."""
        found = tuple(copy.deepcopy(network) for network in self._networks)
        with torch.no_grad():
            for sums, network in zip(self._sums, found, strict=True):
                for total, table in zip(sums, network.input.tables, strict=True):
                    table.copy_(total / self._n_parts)
        return found


def _training(
    index: int,
    network: EntityNetwork,
    plan: TrainingPlan,
    part: Part,
    seed: int,
    stop: threading.Event,
) -> Training:
    """Return the training of the vectors of a network on a part."""
    recipe = plan.recipe.cut_short(max(1, math.ceil(EPOCHS * plan.recipe.epochs)))
    return Training(
        index,
        plan.architecture,
        part.rows.to(plan.device),
        replace(recipe, learning_rate=RATE * recipe.learning_rate),
        seed,
        edges=plan.edges,
        starts=plan.starts,
        validation=None if part.validation is None else part.validation.to(plan.device),
        device=plan.device,
        stop=stop,
        layers_of=network,
    )
