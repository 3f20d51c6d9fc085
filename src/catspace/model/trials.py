"""What is tried before a training: smoothings, lengths and pairs, each by small networks.

Small networks learn from some rows, and others judge them. What is to be made of it, `choice` says.
"""

import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from catspace.model.architecture import Architecture
from catspace.model.pair_search import choose_columns, choose_pairs
from catspace.model.pairs import Pair
from catspace.model.plan import TrainingPlan
from catspace.model.small_networks import Tried, are_computed_together, small_networks
from catspace.model.turns import Runnable, run_side_by_side
from catspace.preparation.rows import Rows

# What is tried, all of them at once.
_SMOOTHS = (1.0, 2.0, 4.0, 16.0, 32.0, 64.0)
# Networks with more elements than this in their tables, or in the vectors of a batch, take as long
# together as one by one (Rossmann's have 24,576 in a batch of 512 rows), and six times the memory.
# Of them two are tried first, side by side; then those on the side of the better one.
_MOST_IN_TABLES, _MOST_IN_BATCH = 1 << 20, 20_000
_FIRST = (4.0, 16.0)
_LOWER, _UPPER = (1.0, 2.0), (32.0, 64.0)
# A trial has a network of this size, and this share of the epochs.
_MOST_DIMS, _HIDDEN = 8, (64, 32)
_EPOCHS = 0.5
# And batches of this size at least: a step of a small network takes as long with half the rows.
_SMALLEST_BATCH = 64
# Pairs are told where that takes away more than this share of the loss, and more than more time.
WORTH_TELLING = 0.01
# Where no smoothing above this one is best, none at all is tried too.
_WEAK = 2.0


class Split(NamedTuple):
    """Rows to learn from, and others to judge by."""

    learning: Rows
    judging: Rows


def epochs_of_trial(n_epochs: int, share: float = _EPOCHS) -> int:
    """Return how many epochs a trial has where the whole training has so many."""
    return max(1, math.ceil(share * n_epochs))


class Found(NamedTuple):
    """What the judging rows lose with each smoothing that was worth a try."""

    losses: Mapping[float, float]
    sooner: float = math.nan  # with the best of them in half of the time; NaN if nobody has asked
    pairs: tuple[Pair, ...] = ()
    # What is lost by networks that are told of pairs
    paired: Mapping[float, float] = MappingProxyType({})
    worth_telling: float = WORTH_TELLING  # the share of the loss that telling must take away
    # What is gained without any smoothing in the whole time; nothing where nobody asked for it
    gained_unsmoothed: float = 0.0

    @property
    def best(self) -> float:
        """What is lost with the best smoothing by networks that are told of nothing."""
        return min(self.losses.values())

    @property
    def is_best_weak(self) -> bool:
        """Whether there may be too much smoothing, however little was tried."""
        return _best(self.losses) <= _WEAK

    @property
    def told(self) -> float:
        """What is lost with the best smoothing by networks that are told of pairs."""
        return min(self.paired.values(), default=math.inf)

    @property
    def least(self) -> float:
        """What the best of all lost."""
        return min(self.best, self.told)

    @property
    def is_found_in_time(self) -> bool:
        """Whether more time takes more away than is left, so that pairs cannot give as much."""
        return self.sooner >= 2 * self.best > 0

    @property
    def are_pairs_worth_telling(self) -> bool:
        """Whether pairs take away a part of the loss that more time would not.

        A network that is still learning gains by everything that it is told. What it would have
        found by itself is better in its vectors, so pairs must give more than the second half of
        the time did. Single columns are told where there is much noise, and there it is not.
        """
        of_time = 0.0 if all(a == b for a, b in self.pairs) else self.sooner - self.best
        return self.best - self.told > max(self.worth_telling * abs(self.best), of_time)


class Trials:
    """Small networks that learn from some rows and are judged by others.

    Parameters
    ----------
    plan : TrainingPlan
        Of a whole training, of whose epochs trials have a share.
    splits : sequence of Split
    n_jobs : int
    """

    def __init__(self, plan: TrainingPlan, splits: Sequence[Split], n_jobs: int) -> None:
        self._plan, self._n_jobs = plan, n_jobs
        self._splits = [
            Split(split.learning.to(plan.device), split.judging.to(plan.device)) for split in splits
        ]

    @property
    def has_a_say_in_length(self) -> bool:
        """Whether it matters what is learned in half of the time."""
        return self._plan.lengths is not None

    def find(self) -> Found:
        """Return what is lost with each smoothing."""
        if self._are_together:
            return Found(self._losses(self._plan, _SMOOTHS))
        losses = self._losses(self._plan, _FIRST)
        further = _LOWER if losses[_FIRST[0]] <= losses[_FIRST[1]] else _UPPER
        return Found(losses | self._losses(self._plan, further))

    def find_pairs(self) -> tuple[Pair, ...]:
        """Return the pairs that networks may be told of; none where nobody has asked for any."""
        shape, rows = self._plan.architecture, self._splits[0].learning
        if not self._plan.tries_pairs or self._plan.pairs:
            return ()
        return choose_pairs(rows, shape.n_codes, shape.n_outputs, self._plan.seeds[0], shape.lists)

    def learn_sooner(self, found: Found) -> Found:
        """Return what was found, and what is lost with the best smoothing in half of the time."""
        (sooner,) = self._losses(self._plan, [_best(found.losses)], _EPOCHS / 2).values()
        return found._replace(sooner=sooner)

    def tell(self, found: Found, pairs: tuple[Pair, ...]) -> Found:
        """Return what was found, and what is lost by networks that are told of pairs."""
        plan = replace(self._plan, pairs=pairs)
        smooths = _SMOOTHS if self._are_together else [_best(found.losses)]
        return found._replace(paired=self._losses(plan, smooths), pairs=pairs)

    def leave_unsmoothed(self, found: Found) -> Found:
        """Return what was found, and what is gained where no row forgets and no vector is drawn.

        Both that and the best smoothing are tried for the whole time, of which half says nothing:
        what is learned by heart shows late, and so do vectors that multiply.
        """
        smooths = [_best(found.losses), 0.0]
        lost = self._losses(self._plan, smooths, share=1.0)
        return found._replace(gained_unsmoothed=lost[smooths[0]] - lost[0.0])

    def tell_columns(self, found: Found, worth_telling: float) -> Found:
        """Return what was found, by networks that are told of single columns in place of pairs.

        Parameters
        ----------
        found : Found
        worth_telling : float
            The share of the loss that telling must take away.
        """
        shape, rows = self._plan.architecture, self._splits[0].learning
        columns = choose_columns(
            rows, shape.n_codes, shape.n_outputs, self._plan.seeds[0], shape.lists
        )
        if not columns:
            return found
        return self.tell(found, columns)._replace(worth_telling=worth_telling)

    @property
    def _are_together(self) -> bool:
        """Whether networks that differ in their smoothing are computed as one."""
        small = small_shape(self._plan)
        can_be = are_computed_together(small, self._plan.starts)
        return can_be and not is_large(small, self._plan.recipe.batch_size)

    def _losses(
        self, plan: TrainingPlan, smooths: Sequence[float], share: float = _EPOCHS
    ) -> dict[float, float]:
        """Return what the judging rows lose with each of some smoothings, as one or side by side.

        Parameters
        ----------
        plan : TrainingPlan
        smooths : sequence of float
        share : float
            Of the epochs of the whole training.
        """
        together = [smooths] if self._are_together else [[smooth] for smooth in smooths]
        stop = threading.Event()
        trainings = list[Runnable[Tried]]()
        for split in self._splits:
            for some in together:
                trainings.append(self._begin(len(trainings), plan, some, share, split, stop))
        tried = run_side_by_side(trainings, stop, n_jobs=self._n_jobs)
        if stop.is_set():  # by Ctrl-C; there is nothing yet to keep
            raise KeyboardInterrupt
        by_split = np.array([loss for result in tried for loss in result.losses])
        losses = by_split.reshape(len(self._splits), len(smooths)).mean(axis=0)
        return dict(zip(smooths, losses.tolist(), strict=True))

    def _begin(
        self,
        index: int,
        plan: TrainingPlan,
        smooths: Sequence[float],
        share: float,
        split: Split,
        stop: threading.Event,
    ) -> Runnable[Tried]:
        """Return networks that learn from the rows of one split, one with each smoothing."""
        plan, rows = plan.tell_pairs(split.learning)
        recipe = plan.recipe.cut_short(epochs_of_trial(plan.recipe.epochs, share))
        return small_networks(
            index,
            small_shape(plan),
            rows,
            split.judging,
            replace(recipe, batch_size=max(recipe.batch_size, _SMALLEST_BATCH)),
            [plan.smoothed(smooth).recipe.smooth for smooth in smooths],
            plan.seeds[0],
            edges=plan.edges,
            pairs=plan.pair_means,
            starts=plan.starts,
            device=plan.device,
            stop=stop,
        )


def _best(losses: Mapping[float, float]) -> float:
    return min(losses, key=lambda smooth: losses[smooth])


def small_shape(plan: TrainingPlan) -> Architecture:
    """Return the shape of a network that is tried."""
    shape = plan.architecture
    # Vectors that are given have as many dimensions as they have.
    dims = tuple(
        dim if table in plan.starts else min(dim, _MOST_DIMS)
        for dim, table in zip(shape.dims, shape.tables, strict=True)
    )
    return replace(shape, dims=dims, hidden_layer_sizes=_HIDDEN)


def is_large(architecture: Architecture, batch_size: int) -> bool:
    """Whether several networks of this shape are better not computed together."""
    shapes = architecture.table_shapes
    in_batch = batch_size * len(shapes) * max(width for _, width in shapes)
    in_tables = sum(rows * width for rows, width in shapes)
    return in_tables > _MOST_IN_TABLES or in_batch > _MOST_IN_BATCH
