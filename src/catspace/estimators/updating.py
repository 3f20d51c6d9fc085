"""What an update is made of: new rows, what is known, and networks that go on learning."""

from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack
from dataclasses import asdict, replace
from typing import Any

from catspace.estimators.fitted import Fitted
from catspace.estimators.fitting import Fit, OnEpoch
from catspace.exceptions import InterruptedWarning, warn
from catspace.model.memory import available_memory, show_bytes
from catspace.model.training import train_networks
from catspace.model.turns import Epoch
from catspace.model.updating import Update
from catspace.preparation.prepare import Given
from catspace.preparation.updating import prepare_more


def update(
    job: Fit,
    fitted: Fitted,
    given: Given,
    *,
    frozen: Collection[str] = (),
    n_jobs: int,
    on_epoch: OnEpoch | None = None,
) -> Fitted:
    """Return what is fitted after it has learned from more rows; what was fitted stays as it is.

    Parameters
    ----------
    job : Fit
        With the parameters that the estimator has now.
    fitted : Fitted
    given : Given
        The new rows.
    frozen : collection of str
        Columns whose vectors stay as they are.
    n_jobs : int
        Networks that learn at the same time.
    on_epoch : callable, optional
        Is told of each epoch what ``history_`` keeps of it.
    """
    try:
        return _update(job, fitted, given, frozen, n_jobs, on_epoch)
    except KeyboardInterrupt:
        warn("The update was interrupted. The model is as it was before it.", InterruptedWarning)
        raise


def _update(
    job: Fit,
    fitted: Fitted,
    given: Given,
    frozen: Collection[str],
    n_jobs: int,
    on_epoch: OnEpoch | None,
) -> Fitted:
    number = _numbering(fitted)
    with ExitStack() as stack:  # which closes what was cached on disk
        prepared = prepare_more(job.preparation(stack), given, fitted.learned)
        more = Update(fitted.networks, prepared.learned, prepared.origins, prepared.rows)
        plan = job.plan_update(more, fitted.recipe)
        need = plan.memory(prepared.rows.n_bytes, has_validation=False)
        need.check(available_memory(plan.device), plan.columns)
        known, rows = more.begin(plan.seeds[0], frozen)

        def told(epoch: Mapping[str, Any]) -> bool | None:
            return None if on_epoch is None else on_epoch(asdict(number(Epoch(**epoch))))

        with job.progress(plan, told) as (listen, tell):
            tell(f"Training needs about {show_bytes(need.total)} of memory.")
            trained = train_networks(
                plan.architecture,
                rows,
                plan.recipe,
                plan.seeds,
                known=known,
                device=plan.device,
                n_jobs=n_jobs,
                listener=listen,
            )
        # Half an update would be of networks that have gone on for different lengths.
        if any(result.interrupted for result in trained):
            raise KeyboardInterrupt
        met = plan.architecture.add_up(rows.count_codes(plan.architecture.slot_codes))
        counts = known[0].count(met)
    for result in trained:
        result.network.fill_untrained_rows(counts, plan.recipe.is_smooth(len(counts)))
    epochs = (number(epoch) for result in trained for epoch in result.history)
    return replace(
        fitted,
        learned=prepared.learned,
        networks=tuple(result.network.eval() for result in trained),
        history=(*fitted.history, *epochs),
    )


def _numbering(fitted: Fitted) -> Callable[[Epoch], Epoch]:
    """Return what numbers the epochs of an update: on from those that a network has had."""
    n_done: dict[int, int] = {}
    for epoch in fitted.history:
        n_done[epoch.network] = max(epoch.epoch, n_done.get(epoch.network, 0))
    # Networks that an interrupted fit has left out have no number in the history.
    names = sorted(n_done)

    def number(epoch: Epoch) -> Epoch:
        name = names[epoch.network] if epoch.network < len(names) else epoch.network
        done = n_done.get(name, 0)
        return replace(
            epoch, network=name, epoch=done + epoch.epoch, max_epochs=done + epoch.max_epochs
        )

    return number
