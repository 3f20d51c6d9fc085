"""What each worker of a cluster does: reads its rows, trains, and keeps its state after an epoch.

Workers either train every network together, each on a part of the rows, or each trains some of the
networks on all rows. When one is lost, Ray starts all of them again, and they go on from the state
that was kept last.
"""

import hashlib
import math
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import ray.train
import ray.train.torch
import torch

from catspace.distributed.board import Board, KeptEpochs
from catspace.distributed.rows import Share
from catspace.distributed.states import Begun, open_kept, write_states
from catspace.model.choice import Judged, settle
from catspace.model.losses import check_loss
from catspace.model.memory import available_memory
from catspace.model.network import EntityNetwork
from catspace.model.pairs import PairMeans
from catspace.model.plan import TrainingPlan
from catspace.model.recipe import Recipe
from catspace.model.team import Alone, Processes
from catspace.model.training import Trained, Training
from catspace.model.turns import Epoch
from catspace.preparation.encoding import HoldBack, fill_caches
from catspace.preparation.rows import CachedRows


@dataclass(frozen=True)
class Assignment:
    """What the workers are to do."""

    plan: TrainingPlan
    n_held_back: Sequence[int]  # how many rows of each share are held back to judge epochs by
    is_by_network: bool  # whether each worker trains networks of its own
    # For each table, that to learn from and that to judge epochs by if there is one, the rows of
    # each worker, or those of all.
    tables: Sequence[Sequence[Share]]
    board: Board  # where to tell who the workers are


def work(config: dict[str, Any]) -> None:
    """Train, in a worker of Ray Train."""
    assignment: Assignment = config["assignment"]
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    plan = replace(assignment.plan, device=ray.train.torch.get_device())
    context = ray.train.get_context()
    rank, n_workers = context.get_world_rank(), context.get_world_size()
    assignment.board.introduce(rank)
    with ExitStack() as stack:
        opened = stack.enter_context(ExitStack())
        kept = open_kept(opened, rank)
        if kept is not None:
            plan = replace(plan, seeds=kept.begun.seeds)
        rows, validation, digest = _read(assignment, plan.seeds[0], rank, stack)
        # A state is of no use for other rows, nor where another worker has none.
        if _any_worker(kept is None or kept.begun.digest != digest):
            kept = None
        indices = list(range(len(plan.seeds)))
        if assignment.is_by_network:
            indices = indices[rank::n_workers]
        need = plan.memory(
            rows.n_bytes, has_validation=validation is not None, n_networks=len(indices)
        )
        need.check(available_memory(plan.device), plan.columns)
        team = Alone() if assignment.is_by_network else Processes()
        if kept is None:
            plan, judged = _settle(plan, rows, validation, team)
        else:
            plan, judged = kept.begun.settled(plan), kept.begun.judged
        check_loss(plan.recipe, rows, plan.architecture.n_outputs)
        dropout = plan.architecture.dropout
        begun = Begun(digest, list(plan.seeds), plan.recipe, dropout, judged, plan.pairs)
        plan, learned_from = plan.tell_pairs(rows)
        trainings = [
            Training(
                index,
                plan.architecture,
                learned_from.to(plan.device),
                plan.recipe,
                plan.seeds[index],
                edges=plan.edges,
                pairs=plan.pair_means,
                starts=plan.starts,
                validation=None if validation is None else validation.to(plan.device),
                device=plan.device,
                team=team,
            )
            for index in indices
        ]
        if kept is not None:
            kept.restore(trainings)
        opened.close()
        # What all workers of a team know is told by the first.
        speaks = assignment.is_by_network or rank == 0
        is_last = False
        while not is_last:
            ran = [training.run_epoch() for training in trainings if not training.is_finished]
            told = [epoch for epoch in ran if epoch is not None and speaks]
            # All workers report equally often, also those that have nothing left to do.
            is_last = not _any_worker(any(not training.is_finished for training in trainings))
            with tempfile.TemporaryDirectory() as folder:
                write_states(Path(folder), begun, trainings, rank, is_common=speaks)
                if is_last and speaks:
                    _write_results(Path(folder), trainings, judged)
                states = ray.train.Checkpoint.from_directory(folder)
                ray.train.report(KeptEpochs.report(told), checkpoint=states)


@dataclass(frozen=True)
class Results:
    """What the workers learned."""

    trained: list[Trained]
    counts: list[torch.Tensor]  # how often each code occurred
    recipe: Recipe
    judged: Judged | None


def read_results(folder: Path, plan: TrainingPlan) -> Results:
    """Return what the workers wrote."""
    trained = []
    for index in range(len(plan.seeds)):
        found = torch.load(folder / f"network-{index}.pt", weights_only=True)
        said = {"n_bins": tuple(found["n_bins"]), "dropout": found["dropout"]}
        shape = replace(plan.architecture, **said)
        network = EntityNetwork(shape, pairs=_unpack_pairs(found["pairs"], shape.n_codes))
        network.load_state_dict(found["network"])
        history = [Epoch(**epoch) for epoch in found["history"]]
        trained.append(Trained(index, network, history, found["best_epoch"], interrupted=False))
    judged = None if found["judged"] is None else Judged(*found["judged"])
    return Results(trained, found["counts"], Recipe.from_state(found["recipe"]), judged)


def _read(
    assignment: Assignment, seed: int, rank: int, stack: ExitStack
) -> tuple[CachedRows, CachedRows | None, str]:
    """Copy a worker's rows to its disk, from where each epoch reads them.

    Returns them, those to judge epochs by, and a digest of all.
    """
    part = 0 if assignment.is_by_network else rank
    digest = hashlib.blake2b(digest_size=16)

    def digested(share: Share) -> Iterator[np.ndarray]:
        for records in share.read():
            digest.update(records.tobytes())
            yield records

    def fill(share: Share, hold_back: HoldBack | None = None) -> tuple[CachedRows, Any]:
        return fill_caches(
            stack,
            digested(share),
            share.record,
            assignment.plan.architecture.slot_codes,
            n_samples=share.n_rows,
            hold_back=hold_back,
        )

    share, *judging = (shares[part] for shares in assignment.tables)
    n_held_back, hold_back = assignment.n_held_back[part], None
    if n_held_back:
        hold_back = HoldBack(n_held_back, share.n_rows, np.random.RandomState(seed))
    rows, judges = fill(share, hold_back)
    for share in judging:
        judges, _ = fill(share)
    return rows, judges, digest.hexdigest()


def _settle(
    plan: TrainingPlan, rows: CachedRows, validation: CachedRows | None, team: Alone | Processes
) -> tuple[TrainingPlan, Judged | None]:
    """Find the smoothing: each worker for itself, or the first one of a team for all."""
    if isinstance(team, Alone):
        return settle(plan, rows, validation)
    # A worker cannot tell of pairs by rows that others have.
    plan = replace(plan, tries_pairs=False)
    said = torch.zeros(5 + len(plan.columns), dtype=torch.float64)
    if team.rank == 0:
        settled, judged = settle(plan, rows, validation)
        values = [judged.loss, judged.constant] if judged is not None else [math.nan] * 2
        found, dropout = settled.recipe, settled.architecture.dropout
        numbers = [*values, dropout, found.epochs, found.weight_decay, *found.smooth]
        said[:] = torch.tensor(numbers, dtype=torch.float64)
    loss, constant, dropout, epochs, decay, *smooth = team.sum(said).tolist()
    recipe = replace(plan.recipe, epochs=int(epochs), weight_decay=decay, smooth=tuple(smooth))
    judged = None if math.isnan(constant) else Judged(loss, constant)
    return plan.settled(recipe, dropout), judged


def _pack_pairs(means: PairMeans | None) -> tuple[Any, ...] | None:
    if means is None:
        return None
    prior = None if means.prior is None else torch.from_numpy(means.prior)
    return (means.pairs, means.keys, means.values[:-1], prior)


def _unpack_pairs(packed: tuple[Any, ...] | None, n_codes: Sequence[int]) -> PairMeans | None:
    if packed is None:
        return None
    pairs, keys, values, prior = packed
    known = None if prior is None else prior.numpy()
    return PairMeans(pairs, n_codes, keys.numpy(), values.numpy(), known)


def _any_worker(is_true: bool) -> bool:
    """Whether something holds for any worker."""
    return bool(Processes().sum(torch.tensor(int(is_true))) > 0)


def _write_results(folder: Path, trainings: Sequence[Training], judged: Judged | None) -> None:
    said = None if judged is None else (judged.loss, judged.constant)
    for training in trainings:
        counts = [count.cpu() for count in training.counts]
        trained = training.finish()
        found = {
            "network": trained.network.state_dict(),
            "history": training.state()["history"],
            "best_epoch": trained.best_epoch,
            "counts": counts,
            "recipe": training.recipe.to_state(),
            "judged": said,
            "n_bins": trained.network.architecture.n_bins,
            "dropout": trained.network.architecture.dropout,
            "pairs": _pack_pairs(trained.network.pairs),
        }
        torch.save(found, folder / f"network-{trained.index}.pt")
