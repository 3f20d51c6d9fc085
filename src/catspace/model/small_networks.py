"""Small networks that differ in their smoothing alone, trained as one.

A step of a small network takes hardly longer than telling torch what there is to do. So networks
that read the same rows in the same order are computed together: their vectors lie in one table, and
their layers are the matrices of one product. Each learns what it would learn alone.
"""

import math
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from catspace.model.architecture import Architecture
from catspace.model.evidence import Evidence
from catspace.model.losses import loss_and_gradient, sum_losses
from catspace.model.network import EntityNetwork
from catspace.model.optimizer import is_updated_by_row, make_adam
from catspace.model.pairs import PairMeans
from catspace.model.recipe import Recipe
from catspace.model.stacking import StackedNetworks
from catspace.model.starts import Starts
from catspace.model.training import Training, check_loss, rate_at
from catspace.model.turns import Epoch, Runnable
from catspace.preparation.rows import Rows, RowSource, weigh_codes

# Tables are updated row by row where so many networks together are worth it, also where there are
# fewer: what one loses is compared with what several do.
_MOST_TOGETHER = 6


@dataclass(frozen=True)
class Tried:
    """What has come of networks that were trained as one."""

    index: int
    history: list[Epoch]
    losses: list[float]  # of each network, on the rows that judge


class SmallNetworks:
    """Networks that learn from the same rows, each with a smoothing of its own; an epoch at a time.

    Parameters
    ----------
    index : int
        Which trial of several it is.
    architecture : Architecture
    rows : RowSource
        To learn from; on the device.
    judges : Rows
        To judge them by in the end; on the device.
    recipe : Recipe
    smooths : sequence of sequences of float
        For each network the smoothing of each column, in place of the recipe's.
    seed : int
        Of the first weights, the order of rows, and dropout: the same for all networks.
    edges : sequence of arrays
        Where the range of each number is cut.
    pairs : PairMeans, optional
        What all rows tell about pairs of categories.
    device : torch.device
    stop : threading.Event
        Ends the epoch after the current batch.
    """

    def __init__(
        self,
        index: int,
        architecture: Architecture,
        rows: RowSource,
        judges: Rows,
        recipe: Recipe,
        smooths: Sequence[Sequence[float]],
        seed: int,
        *,
        edges: Sequence[np.ndarray] = (),
        pairs: PairMeans | None = None,
        device: torch.device,
        stop: threading.Event,
    ) -> None:
        self.index, self.recipe, self.history = index, recipe, list[Epoch]()
        self._rows, self._judges, self._stop, self._device = rows, judges, stop, device
        self._generator = torch.Generator().manual_seed(seed)
        network = EntityNetwork(architecture, pairs=pairs)
        network.numbers.set_edges(edges)
        network.initialize(recipe.initialization, self._generator)
        strengths = torch.tensor(smooths, dtype=torch.float64).T[:, None]  # (columns, 1, networks)
        is_smooth = strengths > 0
        # Where a column is smoothed for some networks alone, rows forget it for these alone.
        are_alike = bool((is_smooth == is_smooth[..., :1]).all())
        self._forgets = None if are_alike else is_smooth.to(device)
        self._networks = StackedNetworks(
            network.to(device), len(smooths), have_own_codes=not are_alike
        )
        self._dropout = torch.Generator(device).manual_seed(seed)
        table = self._networks.table
        kind, decay = recipe.optimizer, recipe.weight_decay
        size = table.numel() // len(smooths) * _MOST_TOGETHER
        self._networks.is_sparse = is_updated_by_row(
            size, optimizer=kind, weight_decay=decay, device=device
        )
        self._optimizers = make_adam(
            self._networks.parameters,
            layers=self._networks.decayed,
            by_row=[table] if self._networks.is_sparse else [],
            optimizer=kind,
            weight_decay=decay,
        )
        self._output_activation = architecture.output_activation
        self._counts = rows.count_codes(architecture.n_codes)
        self._is_smooth = is_smooth[:, 0].T.tolist()
        # The pull grows with the square of the smoothing: what it is for one row, and the factors
        self._strengths = strengths.float().square().contiguous().to(device)
        n_rows = weigh_codes(rows, architecture.n_codes)
        widths = [width for _, width in architecture.table_shapes]
        is_any_smooth = is_smooth.any(dim=-1).flatten().tolist()
        self._evidence = Evidence(n_rows, widths, [float(one) for one in is_any_smooth], device)
        self._n_batches = math.ceil(len(rows) / recipe.batch_size)
        self._started = time.perf_counter()

    @property
    def is_finished(self) -> bool:
        """Whether there is nothing left to do."""
        n_done = len(self.history)
        is_ended = n_done == self.recipe.epochs or (n_done > 0 and self.history[-1].stopped)
        return self._stop.is_set() or is_ended

    def end(self) -> None:
        """Let the epoch that has ended be the last."""
        self.history[-1] = replace(self.history[-1], stopped=True)

    def run_epoch(self, helper: Executor | None = None) -> Epoch | None:
        """Train for one epoch, and return what is known about it; None if it was stopped."""
        recipe, epoch, rate = self.recipe, len(self.history) + 1, 0.0
        step, n_steps = len(self.history) * self._n_batches, self._n_batches * recipe.epochs
        total = torch.zeros((), device=self._device, dtype=torch.float32)
        for batch in self._rows.shuffled(self._n_batches, self._generator, self._place):
            if self._stop.is_set():
                return None
            rate = rate_at((step + 0.5) / n_steps, recipe)
            total += self._find_gradients(batch) * len(batch)
            for optimizer in self._optimizers:
                optimizer.step(rate)
            step += 1
        mean_loss = float(total) / len(self._rows) / self._strengths.shape[-1]
        check_loss(mean_loss, epoch, recipe)
        seconds = time.perf_counter() - self._started
        self.history.append(Epoch(self.index, epoch, mean_loss, None, rate, seconds, recipe.epochs))
        return self.history[-1]

    def _place(self, rows: Rows) -> Rows:
        """Return rows of which some have forgotten categories, with places in place of codes."""
        changed = self._evidence.apply(rows, self._dropout)
        codes = changed.codes[..., None]
        if self._forgets is not None:
            codes = torch.where(self._forgets, codes, rows.codes[..., None])
        return replace(changed, codes=self._networks.places(codes))

    def finish(self) -> Tried:
        """Return what the judges lose with each network."""
        losses = []
        for network, is_smooth in zip(self._networks.apart(), self._is_smooth, strict=True):
            network.fill_untrained_rows(self._counts, is_smooth)
            total, weight = sum_losses(network, self._judges, self.recipe)
            losses.append(total / weight)
        return Tried(self.index, self.history, losses)

    def _find_gradients(self, batch: Rows) -> Tensor:
        """Leave each weight its gradient, and return the sum of the networks' mean losses."""
        assert batch.rates is not None  # a batch of rows that know their evidence
        pulls = batch.rates.T[..., None] * self._strengths  # (columns, batch, networks)
        n_networks, n_samples = self._strengths.shape[-1], len(batch)
        target = batch.target.repeat(n_networks, *[1] * (batch.target.ndim - 1))
        weight = None if batch.weight is None else batch.weight.repeat(n_networks)

        def loss_of(output: Tensor) -> tuple[Tensor, Tensor]:
            return loss_and_gradient(
                output, target, weight, n_samples, self.recipe, self._output_activation
            )

        read = (batch.codes, batch.numbers, self._dropout, pulls)
        if self._networks.is_written_out:
            return self._networks.gradients(*read, loss_of)
        for one in self._networks.parameters:
            one.grad = None
        output = self._networks(*read)
        loss, gradient = loss_of(output.detach().flatten(0, 1))
        output.backward(gradient.view_as(output))  # type: ignore[no-untyped-call]
        return loss


class Alone:
    """One small network by itself, as `SmallNetworks` runs several; also with given vectors.

    Parameters
    ----------
    training : Training
    judges : Rows
        To judge it by in the end; on the device.
    """

    def __init__(self, training: Training, judges: Rows) -> None:
        self._training, self._judges = training, judges

    @property
    def is_finished(self) -> bool:
        """Whether there is nothing left to do."""
        return self._training.is_finished

    def run_epoch(self, helper: Executor | None = None) -> Epoch | None:
        """Train for one epoch, and return what is known about it; None if it was stopped."""
        return self._training.run_epoch(helper)

    def end(self) -> None:
        """Let the epoch that has ended be the last."""
        self._training.end()

    def finish(self) -> Tried:
        """Return what the judges lose with the network."""
        training, trained = self._training, self._training.finish()
        network = trained.network.to(self._judges.target.device)
        network.fill_untrained_rows(training.counts, training.is_smooth, training.starts)
        total, weight = sum_losses(network, self._judges, training.recipe)
        return Tried(trained.index, trained.history, [total / weight])


def are_computed_together(architecture: Architecture, starts: Starts) -> bool:
    """Whether several networks of a shape can be computed as one.

    Vectors that are given or shared, and those of lists, are trained as everywhere else.
    """
    return not starts and not architecture.table_of and not architecture.lists


def small_networks(
    index: int,
    architecture: Architecture,
    rows: RowSource,
    judges: Rows,
    recipe: Recipe,
    smooths: Sequence[Sequence[float]],
    seed: int,
    *,
    edges: Sequence[np.ndarray] = (),
    pairs: PairMeans | None = None,
    starts: Starts,
    device: torch.device,
    stop: threading.Event,
) -> Runnable[Tried]:
    """Return networks that learn from the same rows, each with a smoothing of its own.

    Where they cannot be computed together there may be one. The parameters are those of
    `SmallNetworks` and, for given vectors, of `Training`.
    """
    if are_computed_together(architecture, starts):
        return SmallNetworks(
            index,
            architecture,
            rows,
            judges,
            recipe,
            smooths,
            seed,
            edges=edges,
            pairs=pairs,
            device=device,
            stop=stop,
        )
    (smooth,) = smooths
    training = Training(
        index,
        architecture,
        rows,
        replace(recipe, smooth=tuple(smooth)),
        seed,
        edges=edges,
        pairs=pairs,
        starts=starts,
        validation=None,
        device=device,
        stop=stop,
    )
    return Alone(training, judges)
