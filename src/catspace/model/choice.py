"""What ``smooth="auto"`` means: small networks, judged by rows that they have not seen.

How noisy a target is shows in nothing but rows that were not learned from. So a part of the rows is
held back, small networks are trained on the others with several smoothings, and the one that
predicts the held-back rows best says the smoothing for the training on all rows. Of few rows, each
is held back once, in folds. Others are told what the target did for pairs of categories: where that
helps, so is the whole training. One more learns for half as long: where it comes as far, the
training on all rows is shorter too, and where it lags far behind, it is longer.
"""

import math
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

import numpy as np
import torch

from catspace.data.vocabulary import N_SPECIAL
from catspace.model.architecture import Architecture
from catspace.model.losses import constant_loss
from catspace.model.pairs import Pair, choose_pairs
from catspace.model.plan import TrainingPlan
from catspace.model.recipe import defaults_for
from catspace.model.training import Epoch, Runnable, run_side_by_side
from catspace.model.trials import Tried, are_computed_together, small_networks
from catspace.preparation.rows import Rows, RowSource, sample_rows

# What is tried, all of them at once.
_SMOOTHS = (1.0, 2.0, 4.0, 16.0, 32.0, 64.0)
# Networks with more elements than this in their tables, or in the vectors of a batch, take as long
# together as one by one (Rossmann's have 24,576 in a batch of 512 rows), and six times the memory.
# Of them two are tried first, side by side; then those on the side of the better one.
_MOST_IN_TABLES, _MOST_IN_BATCH = 1 << 20, 20_000
_FIRST = (4.0, 16.0)
_LOWER, _UPPER = (1.0, 2.0), (32.0, 64.0)
# Taken where there are too few rows to tell one smoothing from another.
_UNTRIED = 8.0
_FEWEST_ROWS = 200
# Below this, a tenth of the rows says too little: rows are put into folds, and each judges others.
_ENOUGH_TO_JUDGE, _FOLDS = 2_000, 4
# Rows that are looked at where there are more of them, and the share that is held back.
SAMPLE_ROWS = 500_000
_HELD_BACK = 0.1
# A trial has a network of this size, and this share of the epochs.
_MOST_DIMS, _HIDDEN = 8, (64, 32)
_EPOCHS = 0.5
# And batches of this size at least: a step of a small network takes as long with half the rows.
_SMALLEST_BATCH = 64
# After fewer epochs a network may well be worse than a constant; that says nothing.
_FEWEST_EPOCHS = 3
# What trials find is multiplied by this for the whole training, which has more epochs and more
# weights to learn rows by heart. Without it the choice was a little too weak wherever it mattered.
# Learning by heart costs most where there is much noise, and where certainty is punished: small
# networks that learned classes for all of the epochs wanted two to three times the smoothing of
# those that learned for half of them. So the second is for classes, and for noise alone.
_WHOLE_TRAINING, _WHOLE_TRAINING_OF_NOISE = 1.25, 2.5
# But no more than the rows of a category, or this where they are fewer. Vectors that are drawn much
# harder never leave *unseen*, and the whole network, other than a small one, learns nothing then.
_ALWAYS_LEARNED = 32.0
# Smoothings that lose no more than this beyond the best are as good: a share of the loss that is
# left or of what is explained, whichever is less. Between two of them is looked at in steps.
_AS_GOOD, _STEPS_BETWEEN = 0.0025, 16
# Where twice the epochs gain less than the first, the whole training is shorter, and where they
# gain more than the second, it is longer. Shares of the loss that is left or of what is explained,
# whichever is less.
_WORTH_LEARNING, _STILL_LEARNING = 0.05, 0.1
# The latter only where at least a quarter of the constant's loss is explained.
_CLEAN = 0.75
# What one row that judges may gain over a constant by chance, as a share; many gain the less, by
# the root of their number (1,000 rows 2 %). A smoothing with which nothing is learned of categories
# is as good as the constant, and no worse.
_GAINED_BY_CHANCE, _NOTHING_LEARNED = 0.63, 256.0
# Pairs are told where that takes away more than this share of the loss, and more than more time.
_WORTH_TELLING = 0.01


@dataclass(frozen=True)
class Judged:
    """What rows that were held back say of what was learned from the others."""

    loss: float  # of what was learned; NaN where that is not known
    constant: float  # of the best constant

    def after(self, history: Iterable[Epoch]) -> "Judged":
        """Return it after a training, which may have been judged by the same rows."""
        losses = [
            epoch.validation_loss
            for epoch in history
            if epoch.validation_loss is not None and epoch.epoch >= _FEWEST_EPOCHS
        ]
        return replace(self, loss=min(losses)) if losses else self

    def to_gain(self, loss: float) -> float:
        """Return beside what a difference is small: what is left of a loss, or what is explained.

        Whichever is less, and 0 where nothing is explained.
        """
        return max(0.0, min(loss, self.constant - loss))

    @property
    def is_worse_than_constant(self) -> bool:
        """Whether a constant does as well."""
        return self.loss >= self.constant


def are_tried(plan: TrainingPlan, n_samples: int) -> bool:
    """Whether small networks are to say how strongly vectors are smoothed.

    Few rows are tried in folds, and not where the networks of all folds would be large: few rows
    say little about many categories.
    """
    if not plan.unsettled:
        return False
    return n_samples >= (_ENOUGH_TO_JUDGE if _is_large(_small(plan), 1) else _FEWEST_ROWS)


def settle(
    plan: TrainingPlan, rows: RowSource, judges: RowSource | None, *, n_jobs: int = 1
) -> tuple[TrainingPlan, Judged | None]:
    """Return the plan with a smoothing for every column, and what held-back rows say.

    Parameters
    ----------
    plan : TrainingPlan
    rows : RowSource
        To train on.
    judges : RowSource, optional
        Rows that are held back already. Otherwise some of the others are, while this takes.
    n_jobs : int
        Trials at the same time. What they find does not depend on it.

    Returns
    -------
    plan : TrainingPlan
    judged : Judged or None
        None where no row was held back, or too few to say.
    """
    is_tried = are_tried(plan, len(rows))
    if not is_tried:
        plan = plan.smoothed(_UNTRIED)
        if judges is None:
            return plan, None
    splits = _split(rows, judges, np.random.RandomState(plan.seeds[0]))
    constants = [constant_loss(split.learning, split.judging, plan.recipe) for split in splits]
    judged = Judged(math.nan, float(np.mean(constants)))
    if len(rows) > SAMPLE_ROWS:  # what pairs tell is learned from rows in memory
        plan = replace(plan, tries_pairs=False)
    if len(rows) < _ENOUGH_TO_JUDGE:  # how strong the smoothing is can be said, and no more
        plan = replace(plan, tries_pairs=False, lengths=None)
    if is_tried:
        # Who asks for a thousand epochs and early stopping does not want them in trials.
        n_epochs = min(plan.recipe.epochs, defaults_for(len(rows)).max_epochs)
        losses, paired, sooner, pairs = _Trials(plan, splits, n_epochs, n_jobs).find()
        best, told = min(losses.values()), min(paired.values(), default=math.inf)
        if _share_of(n_epochs, _EPOCHS) >= _FEWEST_EPOCHS:
            judged = replace(judged, loss=min(best, told))
            is_clean = best < _CLEAN * judged.constant
            plan = _with_length(plan, sooner - best, judged.to_gain(best), is_clean=is_clean)
        if _are_worth_telling(told, best, sooner):
            plan = replace(plan, pairs=pairs)
            # What networks are told need not be in their vectors, which ask for a smoothing of
            # their own; one network alone does not show it.
            losses = paired if len(paired) > 1 else losses
        is_class = plan.recipe.loss == "log_loss"
        most = max(_ALWAYS_LEARNED, _rows_of_a_category(plan, len(rows)))
        smooth = _for_whole_training(losses, judged, most, is_class=is_class)
        n_judges = sum(len(split.judging) for split in splits)
        if _is_by_chance(min(best, told), judged.constant, n_judges):
            plan, smooth = replace(plan, pairs=()), _NOTHING_LEARNED
        plan = plan.smoothed(smooth)
    # Small networks that learned for a short time from parts of few rows are no proof that there is
    # nothing to learn.
    return plan, judged if len(splits) == 1 else None


class _Split(NamedTuple):
    """Rows to learn from, and others to judge by."""

    learning: Rows
    judging: Rows


def _split(
    rows: RowSource, judges: RowSource | None, random: np.random.RandomState
) -> list[_Split]:
    """Return rows that are held back, each time beside the others; one split, or a few folds."""
    known = sample_rows(rows, SAMPLE_ROWS, random)
    if judges is not None:
        return [_Split(known, sample_rows(judges, SAMPLE_ROWS, random))]
    order = torch.from_numpy(random.permutation(len(known)))
    if len(rows) >= _ENOUGH_TO_JUDGE:
        n_held_back = round(_HELD_BACK * len(known))
        return [_Split(known.take(order[n_held_back:]), known.take(order[:n_held_back]))]
    folds = torch.arange(len(known)) % _FOLDS
    return [
        _Split(known.take(order[folds != fold]), known.take(order[folds == fold]))
        for fold in range(_FOLDS)
    ]


def _rows_of_a_category(plan: TrainingPlan, n_samples: int) -> float:
    """Return how many rows a category has, in the column where they have most."""
    fewest = min(plan.architecture.n_codes[i] - N_SPECIAL for i in plan.unsettled)
    return n_samples / max(1, fewest)


def _for_whole_training(
    losses: Mapping[float, float], judged: Judged, most: float, *, is_class: bool
) -> float:
    """Return the smoothing of the whole training, after what small networks lost with each.

    It is ``most`` at most, whatever they say.
    """
    best = min(losses.values())
    found = choose_between(losses, _AS_GOOD * judged.to_gain(best))
    noise = 1.0  # of classes, and where a constant is perfect
    if not is_class and judged.constant > 0:
        noise = min(1.0, max(0.0, best / judged.constant))
    factor = _WHOLE_TRAINING + (_WHOLE_TRAINING_OF_NOISE - _WHOLE_TRAINING) * noise**4
    return float(f"{min(factor * found, most):.2g}")


def tell_pairs(plan: TrainingPlan, rows: RowSource) -> tuple[TrainingPlan, RowSource]:
    """Return the plan with what rows tell about its pairs, and the rows, told by each other.

    Where there are no pairs, both are returned as they are. Otherwise rows are in memory then.
    """
    if not plan.pairs:
        return plan, rows
    return plan.tell_pairs(sample_rows(rows, len(rows), np.random.RandomState()))


def _with_length(
    plan: TrainingPlan, gained: float, to_gain: float, *, is_clean: bool
) -> TrainingPlan:
    """Return the plan with fewer epochs or with more, by what the second half of a trial gave.

    Where there is mostly noise, a gain may be one by chance, and more epochs learn it by heart.
    """
    if plan.lengths is None:
        return plan
    if gained < _WORTH_LEARNING * to_gain:
        return replace(plan, recipe=plan.lengths.shorter)
    if is_clean and gained > _STILL_LEARNING * to_gain:
        return replace(plan, recipe=plan.lengths.longer)
    return plan


def _is_by_chance(loss: float, constant: float, n_judges: int) -> bool:
    """Whether so many rows cannot tell a loss from that of a constant."""
    gain = _GAINED_BY_CHANCE / math.sqrt(n_judges)
    return constant > 0 and loss > (1 - gain) * constant


def _are_worth_telling(told: float, untold: float, sooner: float) -> bool:
    """Whether pairs take away a part of the loss that more time would not.

    A network that is still learning gains by everything that it is told. What it would have found
    by itself is better in its vectors, so pairs must give more than the second half of the time.
    """
    to_gain = max(_WORTH_TELLING * abs(untold), sooner - untold)
    return untold - told > to_gain


def choose_between(losses: Mapping[float, float], tolerance: float) -> float:
    """Return the smoothing that is most like the usual one, of those that do about as well as any.

    Where hardly anything depends on the smoothing, the best of a few small networks is so by
    chance, and may be the strongest that was tried as well as the weakest. What lies between
    those that were tried is between their losses; the ratio of two smoothings is what counts.

    Parameters
    ----------
    losses : mapping of float to float
        By the smoothings that were tried.
    tolerance : float
        What a smoothing that does as well as the best may lose more than that.

    Examples
    --------
    >>> choose_between({4.0: 0.505, 16.0: 0.5, 64.0: 0.502}, tolerance=0.005)
    8.0
    >>> choose_between({1.0: 0.5, 2.0: 0.51, 4.0: 0.52}, tolerance=0.005)
    1.414214
    """
    tried = np.log(sorted(losses))
    lost = [losses[smooth] for smooth in sorted(losses)]
    usual, steps = math.log(_UNTRIED), np.linspace(0, 1, _STEPS_BETWEEN + 1)
    places = np.union1d(np.outer(tried[:-1], 1 - steps) + np.outer(tried[1:], steps), tried)
    is_good = np.interp(places, tried, lost) <= min(lost) + tolerance
    nearest = min(places[is_good], key=lambda place: abs(place - usual))
    return round(math.exp(nearest), 6)


def _share_of(n_epochs: int, share: float) -> int:
    return max(1, math.ceil(share * n_epochs))


_Name = TypeVar("_Name")


class _Trial(NamedTuple):
    """Small networks that are to learn from the rows of each split, one with each smoothing."""

    plan: TrainingPlan
    smooths: Sequence[float]
    share: float = _EPOCHS  # of the epochs of the whole training


class _Found(NamedTuple):
    """What the judging rows lose with each smoothing that was worth a try."""

    losses: dict[float, float]
    paired: dict[float, float]  # by networks that are told of pairs; empty where there are none
    sooner: float  # with the best smoothing in half of the time; NaN where nobody asked for it
    pairs: tuple[Pair, ...]


class _Trials:
    """Small networks that learn from some rows and are judged by others.

    Parameters
    ----------
    plan : TrainingPlan
        Of the whole training.
    splits : sequence of _Split
    n_epochs : int
        Of which trials have a share.
    n_jobs : int
    """

    def __init__(
        self, plan: TrainingPlan, splits: Sequence[_Split], n_epochs: int, n_jobs: int
    ) -> None:
        self._plan, self._n_epochs, self._n_jobs = plan, n_epochs, n_jobs
        self._splits = [
            _Split(split.learning.to(plan.device), split.judging.to(plan.device))
            for split in splits
        ]

    def find(self) -> _Found:
        """Return what is lost with each smoothing, also by those who are told of pairs."""
        shape, pairs, rows = self._plan.architecture, tuple[Pair, ...](), self._splits[0].learning
        if self._plan.tries_pairs and not self._plan.pairs:
            pairs = choose_pairs(
                rows, shape.n_codes, shape.n_outputs, self._plan.seeds[0], shape.lists
            )
        small, batch_size = _small(self._plan), self._plan.recipe.batch_size
        if _is_large(small, batch_size) or not are_computed_together(small, self._plan.starts):
            losses = self._losses_one_by_one()
            others = self._run(self._variants(pairs, [_best(losses)]))
        else:
            plain = {"plain": _Trial(self._plan, _SMOOTHS)}
            others = self._run(plain | self._variants(pairs, _SMOOTHS))
            losses = others["plain"]
        sooner = others.get("sooner", {}).get(_best(losses), math.nan)
        return _Found(losses, others.get("paired", {}), sooner, pairs)

    def _variants(self, pairs: tuple[Pair, ...], smooths: Sequence[float]) -> dict[str, _Trial]:
        """Return what else is tried: to tell of pairs, and to learn for half of the time."""
        trials: dict[str, _Trial] = {}
        if pairs:
            trials["paired"] = _Trial(replace(self._plan, pairs=pairs), smooths)
        if pairs or self._plan.lengths is not None:
            trials["sooner"] = _Trial(self._plan, smooths, _EPOCHS / 2)
        return trials

    def _losses_one_by_one(self) -> dict[float, float]:
        losses = self._losses(_FIRST)
        further = _LOWER if losses[_FIRST[0]] <= losses[_FIRST[1]] else _UPPER
        return losses | self._losses(further)

    def _losses(self, smooths: Sequence[float]) -> dict[float, float]:
        """Return what is lost with each of some smoothings, each tried by itself."""
        alone = {smooth: _Trial(self._plan, [smooth]) for smooth in smooths}
        return {smooth: losses[smooth] for smooth, losses in self._run(alone).items()}

    def _run(self, trials: Mapping[_Name, _Trial]) -> dict[_Name, dict[float, float]]:
        """Return what the judging rows lose with each smoothing of each trial."""
        if not trials:
            return {}
        stop = threading.Event()
        trainings = list[Runnable[Tried]]()
        for trial in trials.values():
            for split in self._splits:
                trainings.append(self._begin(len(trainings), trial, split, stop))
        tried = run_side_by_side(trainings, stop, n_jobs=self._n_jobs)
        if stop.is_set():  # by Ctrl-C; there is nothing yet to keep
            raise KeyboardInterrupt
        lost = np.array([result.losses for result in tried]).reshape(
            len(trials), len(self._splits), -1
        )
        return {
            name: dict(zip(trial.smooths, losses.mean(axis=0).tolist(), strict=True))
            for (name, trial), losses in zip(trials.items(), lost, strict=True)
        }

    def _begin(
        self, index: int, trial: _Trial, split: _Split, stop: threading.Event
    ) -> Runnable[Tried]:
        """Return the networks of a trial that learn from the rows of one split."""
        plan, rows = tell_pairs(trial.plan, split.learning)
        recipe = plan.recipe.cut_short(_share_of(self._n_epochs, trial.share))
        return small_networks(
            index,
            _small(plan),
            rows,
            split.judging,
            replace(recipe, batch_size=max(recipe.batch_size, _SMALLEST_BATCH)),
            [plan.smoothed(smooth).recipe.smooth for smooth in trial.smooths],
            plan.seeds[0],
            edges=plan.edges,
            pairs=plan.pair_means,
            starts=plan.starts,
            device=plan.device,
            stop=stop,
        )


def _best(losses: Mapping[float, float]) -> float:
    return min(losses, key=lambda smooth: losses[smooth])


def _small(plan: TrainingPlan) -> Architecture:
    """Return the shape of a network that is tried."""
    shape = plan.architecture
    # Vectors that are given have as many dimensions as they have.
    dims = tuple(
        dim if table in plan.starts else min(dim, _MOST_DIMS)
        for dim, table in zip(shape.dims, shape.tables, strict=True)
    )
    return replace(shape, dims=dims, hidden_layer_sizes=_HIDDEN)


def _is_large(architecture: Architecture, batch_size: int) -> bool:
    """Whether several networks of this shape are better not computed together."""
    shapes = architecture.table_shapes
    in_batch = batch_size * len(shapes) * max(width for _, width in shapes)
    in_tables = sum(rows * width for rows, width in shapes)
    return in_tables > _MOST_IN_TABLES or in_batch > _MOST_IN_BATCH
