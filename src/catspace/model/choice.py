"""What ``smooth="auto"`` means: small networks, judged by rows that they have not seen.

How noisy a target is shows in nothing but rows that were not learned from. So a part of the rows is
held back, small networks are trained on the others with several smoothings, and the one that
predicts the held-back rows best says the smoothing for the training on all rows. Of few rows, each
is held back once, in folds. Where the weakest smoothing is best and there is little noise, none at
all is tried too, and where that is better nothing more is asked. One more network learns for half
as long: where it comes as far, the training on all rows is shorter too, and where it lags far
behind, it is longer. Others are told what the target did for pairs of categories, or where there is
much noise for single columns: where that helps, so is the whole training.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import torch

from catspace.data.vocabulary import N_SPECIAL
from catspace.model.losses import constant_loss
from catspace.model.plan import TrainingPlan
from catspace.model.trials import (
    WORTH_TELLING,
    Found,
    Split,
    Trials,
    epochs_of_trial,
    is_large,
    small_shape,
)
from catspace.model.turns import Epoch
from catspace.preparation.rows import Rows, RowSource, sample_rows

# Taken where there are too few rows to tell one smoothing from another.
_UNTRIED = 8.0
_FEWEST_ROWS = 200
# Below this, a tenth of the rows says too little: rows are put into folds, and each judges others.
_ENOUGH_TO_JUDGE, _FOLDS = 2_000, 4
# The share of the rows that is held back, and the most that are.
_HELD_BACK, _MOST_HELD_BACK = 0.1, 20_000
# Of tables with up to so many rows all others learn. Of larger ones so many do, or so many for each
# category of the column with most of them. Pairs are looked for in the former alone.
_LOOKED_AT_WHOLE, _ENOUGH_TO_LEARN, _ENOUGH_OF_A_CATEGORY = 100_000, 50_000, 10
# No more than this learn, however many categories there are, or judge, however many are given.
_MOST_ROWS = 500_000
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
# Where some of the rows learned, single networks differ by more than that from chance.
_AS_GOOD, _AS_GOOD_IN_A_PART, _STEPS_BETWEEN = 0.0025, 0.01, 16
# Where twice the epochs gain less than the first, the whole training is shorter, and where they
# gain more than the second, it is longer. Shares of the loss that is left or of what is explained,
# whichever is less. Small networks that gained 3 to 6 % stood for whole ones that gained 0 to 4 %,
# and more where several are averaged.
_WORTH_LEARNING, _STILL_LEARNING = 0.02, 0.1
# The latter only where at least a quarter of the constant's loss is explained.
_CLEAN = 0.75
# Smoothing is left out where that gains more than such a share.
_WORTH_LEAVING_OUT = 0.05
# Where more than this share of the constant's loss is left, a target is mostly noise.
_NOISY = 0.5
# What one row that judges may gain over a constant by chance, as a share; many gain the less, by
# the root of their number (1,000 rows 2 %). A smoothing with which nothing is learned of categories
# is as good as the constant, and no worse.
_GAINED_BY_CHANCE, _NOTHING_LEARNED = 0.63, 256.0


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
    def is_noisy(self) -> bool:
        """Whether most of what a constant loses is lost still."""
        return self.loss > _NOISY * self.constant > 0

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
    return n_samples >= (_ENOUGH_TO_JUDGE if is_large(small_shape(plan), 1) else _FEWEST_ROWS)


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
    n_learning = _rows_to_learn_from(plan, len(rows))
    splits = _split(rows, judges, n_learning, np.random.RandomState(plan.seeds[0]))
    if not all(_weigh(split.learning) and _weigh(split.judging) for split in splits):
        return plan.smoothed(_UNTRIED), None
    constants = [constant_loss(split.learning, split.judging, plan.recipe) for split in splits]
    judged = Judged(math.nan, float(np.mean(constants)))
    if is_tried:
        plan, judged = _ask_small_networks(plan, splits, judged, len(rows), n_jobs)
    # Small networks that learned for a short time from parts of few rows are no proof that there is
    # nothing to learn.
    return plan, judged if len(splits) == 1 else None


def _ask_small_networks(
    plan: TrainingPlan, splits: list[Split], judged: Judged, n_samples: int, n_jobs: int
) -> tuple[TrainingPlan, Judged]:
    """Return the plan as small networks ask for it, and the least that they lose."""
    n_learning = _rows_to_learn_from(plan, n_samples)
    n_judges = sum(len(split.judging) for split in splits)
    worth_telling = None
    if plan.tries_pairs and _ENOUGH_TO_JUDGE <= n_samples <= _MOST_ROWS:
        # A column may have little to say in all; what many rows tell from chance is worth it.
        worth_telling = min(WORTH_TELLING, _by_chance(n_judges))
    if n_samples > _LOOKED_AT_WHOLE:  # what a network finds in so many, it need not be told
        plan = replace(plan, tries_pairs=False)
    if n_samples < _ENOUGH_TO_JUDGE:  # how strong the smoothing is can be said, and no more
        plan = replace(plan, tries_pairs=False, lengths=None, noisy_dropout=None)
    tried = replace(plan, recipe=plan.recipe.for_fewer_rows(n_samples, n_learning))
    found = _try(Trials(tried, splits, n_jobs), judged, worth_telling)
    if epochs_of_trial(tried.recipe.epochs) >= _FEWEST_EPOCHS:
        plan = _with_length(plan, found, judged)
        # By networks that are told of nothing: what is told is no less noisy.
        is_noisy = replace(judged, loss=found.best).is_noisy
        if plan.noisy_dropout is not None and is_noisy:
            plan = plan.with_dropout(plan.noisy_dropout)
        judged = replace(judged, loss=found.least)
    if _is_by_chance(found.least, judged.constant, n_judges):
        return replace(plan, pairs=()).smoothed(_NOTHING_LEARNED), judged
    as_good = _AS_GOOD if n_learning == n_samples else _AS_GOOD_IN_A_PART
    return _with_findings(plan, found, judged, as_good, n_samples), judged


def _try(trials: Trials, judged: Judged, worth_telling: float | None) -> Found:
    """Return what small networks lose, those included that are tried only where others ask for it.

    Where the weakest smoothings are the best, none is tried as well, and if that is better there is
    nothing more to ask. Where there is much noise, networks are told of single columns, if they may
    be, unless pairs help.

    Parameters
    ----------
    trials : Trials
    judged : Judged
        What the best constant loses.
    worth_telling : float or None
        The share of the loss that single columns must take away; None where none may be told.
    """
    found = trials.find()
    if not replace(judged, loss=found.best).is_noisy:
        worth_telling = None  # vectors say what columns do, and more
    may_gain = judged.to_gain(found.best) > 0
    if found.is_best_weak and may_gain and worth_telling is None:
        found = trials.leave_unsmoothed(found)
        if _is_better_unsmoothed(found, judged):
            return found
    pairs = trials.find_pairs()
    if pairs or trials.has_a_say_in_length:
        found = trials.learn_sooner(found)
    if pairs and not found.is_found_in_time:
        found = trials.tell(found, pairs)
    if worth_telling is None or found.are_pairs_worth_telling:
        return found
    return trials.tell_columns(found, worth_telling)


def _with_findings(
    plan: TrainingPlan, found: Found, judged: Judged, as_good: float, n_samples: int
) -> TrainingPlan:
    """Return the plan with the smoothing that small networks ask for, and what they are told."""
    if _is_better_unsmoothed(found, judged):
        return plan.smoothed(0.0)
    losses, most = found.losses, max(_ALWAYS_LEARNED, _rows_of_a_category(plan, n_samples))
    if found.are_pairs_worth_telling:
        plan = replace(plan, pairs=found.pairs)
        # What networks are told need not be in their vectors, which ask for a smoothing of
        # their own; one network alone does not show it.
        losses = found.paired if len(found.paired) > 1 else losses
    is_class = plan.recipe.loss == "log_loss"
    return plan.smoothed(_for_whole_training(losses, judged, as_good, most, is_class=is_class))


def _rows_to_learn_from(plan: TrainingPlan, n_samples: int) -> int:
    """Return how many rows small networks may learn from; all of them with those that judge."""
    if n_samples <= _LOOKED_AT_WHOLE:
        return n_samples
    n_codes = max(plan.architecture.n_codes, default=0)  # a table may have numbers alone
    wanted = max(_ENOUGH_TO_LEARN, _ENOUGH_OF_A_CATEGORY * n_codes)
    return min(n_samples, wanted, _MOST_ROWS)


def _split(
    rows: RowSource, judges: RowSource | None, n_learning: int, random: np.random.RandomState
) -> list[Split]:
    """Return rows that are held back, each time beside the others; one split, or a few folds.

    Parameters
    ----------
    rows : RowSource
    judges : RowSource, optional
        Those that are held back, if there are any already.
    n_learning : int
        How many rows learn at most. Where that is all of them, those that judge are among them.
    random : RandomState
    """
    if judges is not None:
        judging = sample_rows(judges, _MOST_ROWS, random)
        return [Split(sample_rows(rows, n_learning, random), judging)]
    n_held_back = min(_MOST_HELD_BACK, round(_HELD_BACK * len(rows)))
    known = sample_rows(rows, n_learning + n_held_back, random)
    order = torch.from_numpy(random.permutation(len(known)))
    if len(rows) >= _ENOUGH_TO_JUDGE:
        return [Split(known.take(order[n_held_back:]), known.take(order[:n_held_back]))]
    folds = torch.arange(len(known)) % _FOLDS
    return [
        Split(known.take(order[folds != fold]), known.take(order[folds == fold]))
        for fold in range(_FOLDS)
    ]


def _weigh(rows: Rows) -> bool:
    """Whether rows say anything: a class may weigh nothing, and few rows may be all of it."""
    return rows.weight is None or bool(rows.weight.sum() > 0)


def _rows_of_a_category(plan: TrainingPlan, n_samples: int) -> float:
    """Return how many rows a category has, in the column where they have most."""
    fewest = min(plan.architecture.n_codes[i] - N_SPECIAL for i in plan.unsettled)
    return n_samples / max(1, fewest)


def _for_whole_training(
    losses: Mapping[float, float], judged: Judged, as_good: float, most: float, *, is_class: bool
) -> float:
    """Return the smoothing of the whole training, after what small networks lost with each.

    Those that lose no more than the share ``as_good`` beyond the best are as good, and it is
    ``most`` at most, whatever they say.
    """
    best = min(losses.values())
    found = choose_between(losses, as_good * judged.to_gain(best))
    noise = 1.0  # of classes, and where a constant is perfect
    if not is_class and judged.constant > 0:
        noise = min(1.0, max(0.0, best / judged.constant))
    factor = _WHOLE_TRAINING + (_WHOLE_TRAINING_OF_NOISE - _WHOLE_TRAINING) * noise**4
    return float(f"{min(factor * found, most):.2g}")


def _with_length(plan: TrainingPlan, found: Found, judged: Judged) -> TrainingPlan:
    """Return the plan with fewer epochs or with more, by what the second half of a trial gave.

    Where there is mostly noise, a gain may be one by chance, and more epochs learn it by heart. And
    what no smoothing holds back has learned all there is in the usual time.
    """
    if plan.lengths is None or _is_better_unsmoothed(found, judged):
        return plan
    gained, to_gain = found.sooner - found.best, judged.to_gain(found.best)
    if gained < _WORTH_LEARNING * to_gain:
        return replace(plan, recipe=plan.lengths.shorter)
    is_clean = found.best < _CLEAN * judged.constant
    if is_clean and gained > _STILL_LEARNING * to_gain:
        return replace(plan, recipe=plan.lengths.longer)
    return plan


def _is_better_unsmoothed(found: Found, judged: Judged) -> bool:
    """Whether smoothing takes away more than it gives, however weak it is."""
    to_gain = judged.to_gain(found.best)
    return to_gain > 0 and found.gained_unsmoothed > _WORTH_LEAVING_OUT * to_gain


def _is_by_chance(loss: float, constant: float, n_judges: int) -> bool:
    """Whether so many rows cannot tell a loss from that of a constant."""
    return constant > 0 and loss > (1 - _by_chance(n_judges)) * constant


def _by_chance(n_judges: int) -> float:
    """Return the share of a loss that so many rows may gain by chance."""
    return _GAINED_BY_CHANCE / math.sqrt(n_judges)


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
