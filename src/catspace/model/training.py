"""The loop: batches, optimiser, schedule, early stopping; of one network, and of several."""

import math
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from catspace.exceptions import CatspaceError, InputError
from catspace.model.architecture import Architecture
from catspace.model.evidence import Evidence
from catspace.model.gradients import gradients_of
from catspace.model.known import Known, choose_shares
from catspace.model.losses import sum_losses
from catspace.model.network import EntityNetwork
from catspace.model.optimizer import make_optimizers
from catspace.model.pairs import PairMeans
from catspace.model.recipe import Recipe
from catspace.model.starts import Start, Starts, place_at
from catspace.model.team import Alone, Team
from catspace.model.turns import Epoch, Listener, hear_nothing, run_side_by_side
from catspace.preparation.rows import Rows, RowSource, weigh_codes

_WARM_UP = 0.1  # share of the steps in which the rate rises


@dataclass(frozen=True)
class Trained:
    """A trained network, its history, and the epoch whose weights it carries."""

    index: int
    network: EntityNetwork
    history: list[Epoch]
    best_epoch: int
    interrupted: bool


def train_networks(
    architecture: Architecture,
    rows: RowSource,
    recipe: Recipe,
    seeds: Sequence[int],
    *,
    edges: Sequence[np.ndarray] = (),
    pairs: PairMeans | None = None,
    starts: Starts | None = None,
    validation: RowSource | None = None,
    known: Sequence[Known] | None = None,
    device: torch.device | None = None,
    n_jobs: int = 1,
    listener: Listener = hear_nothing,
) -> list[Trained]:
    """Train one network for each seed, side by side; from anew, or each from a start.

    Each network draws from a generator of its own, and what is computed does not depend on how
    many threads share it, so its weights depend on its seed alone and not on ``n_jobs``. The
    networks take turns, an epoch each, so that five of them keep two cores busy to the end. Ctrl-C
    ends the training after the current batch and returns what was best until then.
    """
    device = torch.device("cpu") if device is None else device
    rows = rows.to(device)
    validation = None if validation is None else validation.to(device)
    stop = threading.Event()
    trainings = [
        Training(
            index,
            architecture,
            rows,
            recipe,
            seed,
            edges=edges,
            pairs=pairs,
            starts=starts,
            validation=validation,
            known=None if known is None else known[index],
            device=device,
            stop=stop,
        )
        for index, seed in enumerate(seeds)
    ]
    return run_side_by_side(trainings, stop, n_jobs=n_jobs, listener=listener)


class Training:
    """One network in training, an epoch at a time; in between its state can be kept.

    Parameters
    ----------
    index : int
        Which network of several it is.
    architecture : Architecture
    rows : RowSource
        On the device. In a team each process has rows of its own.
    recipe : Recipe
    seed : int
        Of the first weights, the order of rows, and dropout.
    edges : sequence of arrays
        Where the range of each number is cut.
    pairs : PairMeans, optional
        What all rows tell about pairs of categories. The rows to train on are told by each other.
    starts : mapping of int to Start, optional
        Of the tables whose vectors are given.
    validation : RowSource, optional
        To judge each epoch by; on the device.
    known : Known, optional
        What it goes on from: a network that has learned from other rows. It is that very network
        which learns. By default one is drawn.
    device : torch.device
    stop : threading.Event, optional
        Ends the epoch after the current batch.
    team : Team, optional
        The processes that train the same network; by default there is one.
    layers_of : EntityNetwork, optional
        A trained network whose layers, and *unseen*, stay as they are: the vectors of categories
        alone are learned, without dropout and without rows that forget their category. Both are
        for the layers to learn from; to the vector of a category with a row or two they are noise.
    """

    def __init__(
        self,
        index: int,
        architecture: Architecture,
        rows: RowSource,
        recipe: Recipe,
        seed: int,
        *,
        edges: Sequence[np.ndarray] = (),
        pairs: PairMeans | None = None,
        starts: Starts | None = None,
        validation: RowSource | None,
        known: Known | None = None,
        device: torch.device,
        stop: threading.Event | None = None,
        team: Team | None = None,
        layers_of: EntityNetwork | None = None,
    ) -> None:
        self.index, self.history = index, list[Epoch]()
        self._rows, self.recipe, self._validation, self._device = rows, recipe, validation, device
        self._stop, self._team = stop or threading.Event(), team or Alone()
        self._generator = torch.Generator().manual_seed(seed)
        if known is None:
            # Drawn on the CPU, so that a seed means the same network on every device.
            self.network = EntityNetwork(architecture, pairs=pairs)
            self.network.numbers.set_edges(edges)
            self.network.initialize(recipe.initialization, self._generator)
        else:
            self.network = known.network
        if layers_of is not None:
            self.network.keep_layers(layers_of)
        self.starts = starts or {}
        place_at(self.network.input.tables, self.starts)
        self.network.to(device)
        self._dropout = torch.Generator(device).manual_seed(seed + self._team.rank)
        self._learns_layers = layers_of is None
        self._n_samples = int(self._team.sum(torch.tensor(len(rows))))
        met = architecture.add_up(rows.count_codes(architecture.slot_codes))
        counts = [self._team.sum(count) for count in met]
        self.counts = counts if known is None else known.count(counts)
        self._optimizers = make_optimizers(
            self.network,
            optimizer=recipe.optimizer,
            weight_decay=recipe.weight_decay,
            by_row=known is not None,
        )
        self._shares = None if known is None else known.shares(counts, self._n_samples, device)
        forward = self._team.join(self.network)
        self.is_smooth = recipe.is_smooth(len(self.counts))
        self._evidence: Evidence | None = None
        if any(self.is_smooth):
            weights = architecture.add_up(weigh_codes(rows, architecture.slot_codes))
            n_rows = [self._team.sum(one) for one in weights]
            n_rows = n_rows if known is None else known.count(n_rows)
            self._evidence = self._weigh_evidence(architecture, n_rows)
        self._gradients = gradients_of(self.network, recipe, self._evidence, forward)
        self._n_batches = math.ceil(self._n_samples / recipe.batch_size)
        self._best_loss, self._best_epoch = math.inf, 0
        self._best_weights: list[Tensor] | None = None
        self._started = time.perf_counter()

    def _weigh_evidence(self, shape: Architecture, n_rows: Sequence[Tensor]) -> Evidence:
        """Return what follows from the rows of each code, for each row of codes."""
        given: dict[int, Start] = {}
        for i, column in enumerate(shape.column_of):
            start = self.starts.get(shape.tables[column])
            if start is not None:
                given[i] = start.with_absent() if shape.slots[column] else start
        return Evidence(
            shape.spread(n_rows),
            [shape.widths[column] for column in shape.column_of],
            [self.recipe.smooth[column] for column in shape.column_of],
            self._device,
            given,
            forgets=self._learns_layers,
        )

    @property
    def is_finished(self) -> bool:
        """Whether there is nothing left to do."""
        n_done, patience = len(self.history), self.recipe.patience
        is_patient = patience is None or n_done - self._best_epoch < patience
        is_ended = n_done == self.recipe.epochs or (n_done > 0 and self.history[-1].stopped)
        return self._stop.is_set() or is_ended or not is_patient

    def end(self) -> None:
        """Let the epoch that has ended be the last; what was best until then is kept."""
        self.history[-1] = replace(self.history[-1], stopped=True)

    def run_epoch(self, helper: Executor | None = None) -> Epoch | None:
        """Train for one epoch, and return what is known about it; None if it was stopped.

        Parameters
        ----------
        helper : Executor, optional
            A thread that has nothing else to do. What is learned does not depend on it.
        """
        recipe, epoch = self.recipe, len(self.history) + 1
        if self._shares is not None:
            shares = choose_shares(self._shares, (epoch - 1) / recipe.epochs)
            shares.apply(self._optimizers, self.network.input.sparse)
        step, n_steps = len(self.history) * self._n_batches, self._n_batches * recipe.epochs
        total = torch.zeros((), device=self._device, dtype=torch.float32)
        forget, rate = None, recipe.learning_rate
        dropout = self._dropout if self._learns_layers else None
        if (evidence := self._evidence) is not None:

            def forget(rows: Rows) -> Rows:
                return evidence.apply(rows, self._dropout)

        for batch in self._rows.shuffled(self._n_batches, self._generator, forget):
            if self._stop.is_set():
                return None
            rate = rate_at((step + 0.5) / n_steps, recipe)
            loss = self._gradients(batch, dropout, helper)
            self._team.exchange(self.network)
            for optimizer in self._optimizers:
                optimizer.step(rate)
            total += loss * len(batch)
            step += 1
        mean_loss = float(self._team.sum(total)) / self._n_samples
        check_loss(mean_loss, epoch, recipe)
        validation_loss = self._validate(epoch)
        seconds = time.perf_counter() - self._started
        self.history.append(
            Epoch(self.index, epoch, mean_loss, validation_loss, rate, seconds, recipe.epochs)
        )
        return self.history[-1]

    def finish(self) -> Trained:
        """Return the network as it was after its best epoch."""
        if self._best_weights is not None:
            with torch.no_grad():
                for weight, best in zip(self.network.parameters(), self._best_weights, strict=True):
                    weight.copy_(best)
        network = self.network.cpu()
        is_interrupted = self._stop.is_set()
        return Trained(self.index, network, self.history, self._best_epoch, is_interrupted)

    def state(self) -> dict[str, Any]:
        """Return all that changes while it trains: tensors, numbers, and lists and dicts of them.

        ``"own"`` is of this process alone, the rest is the same in all processes of a team.
        """
        return {
            "network": self.network.state_dict(),
            "optimizers": [optimizer.state() for optimizer in self._optimizers],
            "history": [asdict(epoch) for epoch in self.history],
            "best": (self._best_loss, self._best_epoch, self._best_weights),
            "own": (self._generator.get_state(), self._dropout.get_state()),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on where a state was taken."""
        self.network.load_state_dict(state["network"])
        for optimizer, found in zip(self._optimizers, state["optimizers"], strict=True):
            optimizer.restore(found)
        self.history = [Epoch(**epoch) for epoch in state["history"]]
        self._best_loss, self._best_epoch, self._best_weights = state["best"]
        for generator, found in zip((self._generator, self._dropout), state["own"], strict=True):
            generator.set_state(found)
        self._started = time.perf_counter() - (self.history[-1].seconds if self.history else 0)

    def _validate(self, epoch: int) -> float | None:
        """Judge the network, and keep the best weights."""
        if self._validation is None:
            self._best_epoch = epoch
            return None
        self.network.fill_untrained_rows(self.counts, self.is_smooth, self.starts)
        losses = sum_losses(self.network, self._validation, self.recipe)
        total, weight = self._team.sum(torch.tensor(losses, dtype=torch.float32)).tolist()
        if weight == 0:
            raise InputError(
                "The rows that judge epochs weigh nothing: class_weight or sample_weight is 0 for "
                "each of them.",
                hint="hold back more rows (validation_fraction), or rows that count.",
            )
        loss = float(total / weight)
        if loss < self._best_loss:
            self._best_loss, self._best_epoch = loss, epoch
            self._best_weights = None  # two copies of a large table at once are one too many
            self._best_weights = [weight.detach().clone() for weight in self.network.parameters()]
        return loss


def check_loss(loss: float, epoch: int, recipe: Recipe) -> None:
    """Raise where the loss of an epoch is no number."""
    if not math.isfinite(loss):
        raise CatspaceError(
            f"Training diverged: the loss of epoch {epoch} is {loss:g}.",
            hint=f"lower learning_rate, which is {recipe.learning_rate:g}.",
        )


def rate_at(progress: float, recipe: Recipe) -> float:
    """Return the learning rate after this share of the steps.

    The schedule "cosine" is a linear rise to the peak, and then half a cosine down to zero.
    """
    factor = 1.0
    if recipe.schedule == "cosine":
        if progress < _WARM_UP:
            factor = progress / _WARM_UP
        else:
            factor = 0.5 * (1 + math.cos(math.pi * (progress - _WARM_UP) / (1 - _WARM_UP)))
    return recipe.learning_rate * factor
