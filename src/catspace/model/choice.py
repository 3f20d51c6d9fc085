"""What ``smooth="auto"`` means: small networks, judged by rows that they have not seen.

How noisy a target is shows in nothing but rows that were not learned from. So a part of the rows is
held back, small networks are trained on the others with several smoothings, and the one that
predicts the held-back rows best says the smoothing for the training on all rows. One more of them
learns for half as long: where it comes as far, the training on all rows is shorter too.
"""

import math
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from catspace.model.losses import constant_loss, sum_losses
from catspace.model.plan import TrainingPlan
from catspace.model.recipe import Recipe
from catspace.model.training import Epoch, Training, run_side_by_side
from catspace.preparation.rows import Rows, RowSource, sample_rows

# Tried first, side by side; then those on the side of the better one.
_FIRST = (4.0, 16.0)
_LOWER, _UPPER = (1.0, 2.0), (32.0, 64.0)
# Taken where there are too few rows to tell one smoothing from another.
_UNTRIED = 8.0
_FEWEST_ROWS = 2_000
# Rows that are looked at where there are more of them, and the share that is held back.
SAMPLE_ROWS = 500_000
_HELD_BACK = 0.1
# A trial has a network of this size, and this share of the epochs.
_MOST_DIMS, _HIDDEN = 8, (64, 32)
_EPOCHS = 0.5
# After fewer epochs a network may well be worse than a constant; that says nothing.
_FEWEST_EPOCHS = 3
# What trials find is multiplied by this for the whole training, which has more epochs and more
# weights to learn rows by heart. Without it the choice was a little too weak wherever it mattered.
_WHOLE_TRAINING = 1.25
# Where twice the epochs gain less than this, the whole training has half as many. A share of the
# loss that is left or of what is explained, whichever is less.
_WORTH_LEARNING = 0.05


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

    @property
    def is_worse_than_constant(self) -> bool:
        """Whether a constant does as well."""
        return self.loss >= self.constant


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
        None where no row was held back.
    """
    is_tried = bool(plan.unsettled) and len(rows) >= _FEWEST_ROWS
    if not is_tried:
        plan = plan.smoothed(_UNTRIED)
        if judges is None:
            return plan, None
    random = np.random.RandomState(plan.seeds[0])
    learning = sample_rows(rows, SAMPLE_ROWS, random)
    if judges is None:
        order = torch.from_numpy(random.permutation(len(learning)))
        n_held_back = round(_HELD_BACK * len(learning))
        judging, learning = learning.take(order[:n_held_back]), learning.take(order[n_held_back:])
    else:
        judging = sample_rows(judges, SAMPLE_ROWS, random)
    judged = Judged(math.nan, constant_loss(learning, judging, plan.recipe))
    if is_tried:
        trials = _Trials(plan, learning.to(plan.device), judging.to(plan.device), n_jobs)
        losses = trials.losses()
        best = min(losses, key=lambda smooth: losses[smooth])
        if _trial_epochs(plan, _EPOCHS) >= _FEWEST_EPOCHS:
            judged = replace(judged, loss=losses[best])
            if plan.shorter is not None and _has_learned_all(trials, best, judged):
                plan = replace(plan, recipe=plan.shorter)
        plan = plan.smoothed(float(f"{_WHOLE_TRAINING * lowest_between(losses):.2g}"))
    return plan, judged


def _has_learned_all(trials: "_Trials", smooth: float, judged: Judged) -> bool:
    """Whether the second half of a trial gave little, beside what there was to gain."""
    gained = trials.loss_sooner(smooth) - judged.loss
    to_gain = min(judged.loss, judged.constant - judged.loss)
    return gained < _WORTH_LEARNING * max(0.0, to_gain)


def lowest_between(losses: Mapping[float, float]) -> float:
    """Return where a parabola through the best smoothing and those beside it is lowest.

    The ratio of two smoothings is what counts, so the parabola is one of their logarithms. It evens
    out some of the noise of the losses.

    Examples
    --------
    >>> lowest_between({4.0: 0.52, 16.0: 0.5, 64.0: 0.52})
    16.0
    >>> lowest_between({1.0: 0.5, 2.0: 0.51, 4.0: 0.52})
    1.0
    """
    tried = sorted(losses)
    place = tried.index(min(tried, key=lambda smooth: losses[smooth]))
    if place in (0, len(tried) - 1):
        return tried[place]
    beside = tried[place - 1 : place + 2]
    bend, slope, _ = np.polyfit(np.log(beside), [losses[smooth] for smooth in beside], 2)
    if not bend > 0:  # all three are equal, or not numbers
        return tried[place]
    lowest = math.exp(-slope / (2 * bend))
    return min(max(round(lowest, 6), beside[0]), beside[2])


def _trial_epochs(plan: TrainingPlan, share: float) -> int:
    return max(1, math.ceil(share * plan.recipe.epochs))


class _Trials:
    """Small networks that learn from some rows and are judged by others."""

    def __init__(self, plan: TrainingPlan, rows: Rows, judges: Rows, n_jobs: int) -> None:
        self._plan, self._rows, self._judges, self._n_jobs = plan, rows, judges, n_jobs
        shape = plan.architecture
        self._shape = replace(
            shape,
            dims=tuple(min(dim, _MOST_DIMS) for dim in shape.dims),
            hidden_layer_sizes=_HIDDEN,
        )

    def losses(self) -> dict[float, float]:
        """Return what the judging rows lose with each smoothing that was worth a try."""
        losses = dict(zip(_FIRST, self._run(_FIRST, _EPOCHS), strict=True))
        further = _LOWER if losses[_FIRST[0]] <= losses[_FIRST[1]] else _UPPER
        return losses | dict(zip(further, self._run(further, _EPOCHS), strict=True))

    def loss_sooner(self, smooth: float) -> float:
        """Return what they lose with this smoothing after a training of half the length."""
        return self._run([smooth], _EPOCHS / 2)[0]

    def _run(self, smooths: Sequence[float], share: float) -> list[float]:
        """Return what the judging rows lose with each smoothing, after a share of the epochs."""
        plan, stop = self._plan, threading.Event()
        epochs = _trial_epochs(plan, share)
        trainings = [
            Training(
                index,
                self._shape,
                self._rows,
                _cut_short(plan.smoothed(smooth).recipe, epochs),
                plan.seeds[0],
                edges=plan.edges,
                validation=None,
                device=plan.device,
                stop=stop,
            )
            for index, smooth in enumerate(smooths)
        ]
        trained = run_side_by_side(trainings, stop, n_jobs=self._n_jobs)
        if stop.is_set():  # by Ctrl-C; there is nothing yet to keep
            raise KeyboardInterrupt
        losses = []
        for training, result in zip(trainings, trained, strict=True):
            network = result.network.to(plan.device)
            network.fill_untrained_rows(training.counts, training.is_smooth)
            total, weight = sum_losses(network, self._judges, plan.recipe)
            losses.append(total / weight)
        return losses


def _cut_short(recipe: Recipe, epochs: int) -> Recipe:
    """Return the recipe with so many epochs; decay is stated for a training as a whole."""
    decay = recipe.weight_decay * recipe.epochs / epochs
    return replace(recipe, epochs=epochs, weight_decay=decay)
