"""What a fit is made of, in this process and on a cluster."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import torch
from joblib import effective_n_jobs
from sklearn.utils import check_random_state

from catspace.data.groups import read_groups
from catspace.data.roles import check_min_frequency
from catspace.data.target import ClassTarget, check_transform
from catspace.data.target_statistics import check_class_weight
from catspace.estimators.fitted import Fitted
from catspace.exceptions import InterruptedWarning, NothingLearnedWarning, ParameterError, warn
from catspace.model.calibration import find_shifts
from catspace.model.choice import Judged, are_tried, settle
from catspace.model.device import parse_device
from catspace.model.losses import check_loss
from catspace.model.memory import available_memory, show_bytes
from catspace.model.plan import TrainingPlan, check_parameters, make_plan
from catspace.model.progress import TrainingProgress
from catspace.model.recipe import Recipe
from catspace.model.settings import plain_torch
from catspace.model.training import Trained, train_networks
from catspace.model.turns import Epoch, Listener
from catspace.model.updating import Update
from catspace.preparation.given import read_given
from catspace.preparation.learning import Learned
from catspace.preparation.prepare import Given, Preparation, Prepared
from catspace.preparation.rows import RowSource
from catspace.validation import check_option, check_real, is_integer

# Of what is known of an epoch; True ends the training of its network.
OnEpoch = Callable[[Mapping[str, Any]], bool | None]

HANDLE_UNKNOWN = ("mean", "error")
NETWORKS = ("first", "all")


def check_use(parameters: Mapping[str, Any]) -> None:
    """Raise where a parameter that matters to a model at any time makes no sense."""
    check_option("handle_unknown", parameters["handle_unknown"], HANDLE_UNKNOWN)
    check_option("networks", parameters.get("networks", "first"), NETWORKS)
    parse_device(parameters["device"])
    n_jobs, verbose = parameters["n_jobs"], parameters["verbose"]
    if n_jobs is not None and (not is_integer(n_jobs) or n_jobs == 0):
        raise ParameterError(
            f"n_jobs must be an int other than 0, or None; got {n_jobs!r}.",
            hint="-1 takes all cores.",
        )
    if not is_integer(verbose) and not isinstance(verbose, (bool, np.bool_)):
        raise ParameterError(f"verbose must be 0, 1 or 2; got {verbose!r}.")


@dataclass(frozen=True)
class Finished:
    """A fit that has ended."""

    fitted: Fitted
    plan: TrainingPlan  # as it was settled
    prepared: Prepared


class Fit:
    """One fit of an estimator: its parameters, checked, and all that it draws at random.

    Parameters
    ----------
    estimator : str
        Its name, for messages.
    parameters : mapping of str to object
    target_kind : {"continuous", "class", "auto"}
    """

    def __init__(self, estimator: str, parameters: Mapping[str, Any], target_kind: str) -> None:
        self._estimator, self._parameters, self._target_kind = estimator, parameters, target_kind
        groups = read_groups(parameters.get("shared_vectors"))
        self._given = read_given(parameters.get("initial_vectors"), groups)
        self._check()
        try:
            self._random = check_random_state(parameters["random_state"])
        except ValueError:
            raise ParameterError(
                f"random_state must be an int from 0 to 2**32 - 1, a RandomState or None; "
                f"got {parameters['random_state']!r}."
            ) from None

    def preparation(self, stack: ExitStack) -> Preparation:
        """Return what makes rows of a table; the stack closes what it keeps on disk."""
        return Preparation(
            self._estimator, self._target_kind, self._parameters, self._random, stack
        )

    def plan(self, learned: Learned, numbers: np.ndarray, n_samples: int) -> TrainingPlan:
        """Return what there is to train, on so many rows, of which some have these numbers."""
        return make_plan(self._parameters, learned, numbers, n_samples, self._random, self._given)

    def plan_update(self, update: Update, known: Recipe | None) -> TrainingPlan:
        """Return what there is to train in an update of networks that were trained so."""
        return update.plan(self._parameters, known, self._random)

    @contextmanager
    def progress(
        self, plan: TrainingPlan, on_epoch: OnEpoch | None
    ) -> Iterator[tuple[Listener, Callable[..., None]]]:
        """Yield whom to tell of each epoch, and of what goes on besides."""
        with TrainingProgress(len(plan.seeds), int(self._parameters["verbose"])) as progress:

            def listen(epoch: Epoch) -> bool:
                progress(epoch)
                answer = None if on_epoch is None else on_epoch(asdict(epoch))
                # Callbacks may return anything, and only truth itself asks for an end.
                return isinstance(answer, (bool, np.bool_)) and bool(answer)

            yield listen, progress.tell

    def run(
        self,
        given: Given,
        judges: Given,
        *,
        on_epoch: OnEpoch | None = None,
        on_prepared: Callable[[Prepared], None] | None = None,
        on_planned: Callable[[TrainingPlan, Prepared], None] | None = None,
    ) -> Finished:
        """Fit in this process.

        Parameters
        ----------
        given, judges : Given
            To learn from, and to judge each epoch by; without a table where there is none.
        on_epoch, on_prepared : callable, optional
            As in an estimator's ``fit``.
        on_planned : callable, optional
            Called once before training: the last moment to refuse what is to follow it.
        """
        n_jobs = effective_n_jobs(self._parameters["n_jobs"])
        with plain_torch(), ExitStack() as stack:  # which closes what was cached on disk
            prepared = self.preparation(stack).prepare(given, judges)
            if on_prepared is not None:
                on_prepared(prepared)
            rows, validation = prepared.rows, prepared.validation
            plan = self.plan(prepared.learned, prepared.numbers, len(rows))
            check_loss(plan.recipe, rows, plan.architecture.n_outputs)
            need = plan.memory(rows.n_bytes, has_validation=validation is not None)
            need.check(available_memory(plan.device), plan.columns)
            if on_planned is not None:
                on_planned(plan, prepared)
            with self.progress(plan, on_epoch) as (listen, tell):
                tell(f"Training needs about {show_bytes(need.total)} of memory.")
                tell(plan.describe_updates())
                if are_tried(plan, len(rows)):
                    tell("Finding the smoothing with small networks.", verbosity=1)
                plan, judged = settle(plan, rows, validation, n_jobs=n_jobs)
                tell(plan.describe_smoothing())
                if plan.pairs:
                    tell(plan.describe_pairs())
                plan, rows = plan.tell_pairs(rows)
                trained = train_networks(
                    plan.architecture,
                    rows,
                    plan.recipe,
                    plan.seeds,
                    edges=plan.edges,
                    pairs=plan.pair_means,
                    starts=plan.starts,
                    validation=validation,
                    device=plan.device,
                    n_jobs=n_jobs,
                    listener=listen,
                )
            if on_planned is not None and any(one.interrupted for one in trained):
                raise KeyboardInterrupt  # what is to follow needs whole networks
            counts = plan.architecture.add_up(rows.count_codes(plan.architecture.slot_codes))
            fitted = finish(trained, counts, prepared.learned, plan, judged, validation)
        return Finished(fitted, plan, prepared)

    def _check(self) -> None:
        """Raise all that can be known to be wrong before the table is read."""
        parameters = self._parameters
        check_transform(parameters.get("target_transform"))
        check_parameters(
            parameters, is_classification=self._target_kind == "class", given=self._given
        )
        check_use(parameters)
        check_min_frequency(parameters["min_frequency"])
        check_class_weight(parameters.get("class_weight"))
        check_real("validation_fraction", parameters["validation_fraction"], above=0, below=1)
        if not isinstance(parameters["early_stopping"], (bool, np.bool_)):
            raise ParameterError(
                f"early_stopping must be True or False; got {parameters['early_stopping']!r}."
            )


def finish(
    trained: Sequence[Trained],
    counts: Sequence[torch.Tensor],
    learned: Learned,
    plan: TrainingPlan,
    judged: Judged | None,
    judges: RowSource | None = None,
) -> Fitted:
    """Return what is fitted, from networks that met so many rows of each code.

    Several quantiles are moved to where rows that judged the epochs say they are. Warns where the
    training was interrupted, and where rows that were held back say that a constant would have done
    as well.
    """
    for result in trained:
        is_smooth = plan.recipe.is_smooth(len(counts))
        result.network.fill_untrained_rows(counts, is_smooth, plan.starts)
    if any(result.interrupted for result in trained):
        epochs = ", ".join(str(result.best_epoch) for result in trained)
        warn(
            f"Training was interrupted. The model keeps {len(trained)} "
            f"{'network' if len(trained) == 1 else 'networks'} with the best weights so far, "
            f"after epoch {epochs}.",
            InterruptedWarning,
        )
    history = tuple(epoch for result in trained for epoch in result.history)
    if judged is not None and judged.after(history).is_worse_than_constant:
        what = "share of each class" if learned.is_classification else "mean of the target"
        warn(
            f"A constant does as well: on rows that were held back the loss is "
            f"{judged.after(history).loss:.4g}, and {judged.constant:.4g} for the {what} alone.",
            NothingLearnedWarning,
            hint="see whether the columns can tell anything about the target; leave out columns "
            "that are different in every row; a larger smooth trusts rare categories less.",
        )
    networks, target = tuple(result.network.eval() for result in trained), learned.target
    if judges is not None and not isinstance(target, ClassTarget) and target.quantiles:
        shifts = find_shifts(networks, judges, target.quantiles, plan.device)
        learned = replace(learned, target=replace(target, shifts=shifts))
    return Fitted(learned, networks, history, plan.recipe)
