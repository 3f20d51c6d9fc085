"""The loop: batches, optimiser, schedule, early stopping, and several networks at once."""

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from catspace.exceptions import CatspaceError
from catspace.model.network import Architecture, EntityNetwork
from catspace.model.optimizer import make_optimizers
from catspace.model.team import Alone, Team
from catspace.preparation.rows import RowSource

# Rows in one forward pass where no gradient is needed.
_EVALUATION_ROWS = 8192
_ROW_MULTIPLE = 32
_WARM_UP = 0.1  # share of the steps in which the rate rises
# From here on Huber's loss grows like the absolute error, in standard deviations of the target.
_HUBER_DELTA = 0.25


@dataclass(frozen=True)
class Recipe:
    """How a network is trained; nothing here is "auto" any more."""

    loss: str
    epochs: int
    batch_size: int
    learning_rate: float
    weight_decay: float
    optimizer: str = "adamw"
    schedule: str = "cosine"
    initialization: str = "normal"
    quantile: float = 0.5
    patience: int | None = None


@dataclass(frozen=True)
class Epoch:
    """What is known after an epoch of one network."""

    network: int
    epoch: int
    loss: float
    validation_loss: float | None
    learning_rate: float
    seconds: float


class Listener(Protocol):
    """Is told about each epoch, from the thread that trained it."""

    def __call__(self, epoch: Epoch) -> None:
        """Take notice of a finished epoch."""


@dataclass(frozen=True)
class Trained:
    """A trained network, its history, and the epoch whose weights it carries."""

    index: int
    network: EntityNetwork
    history: list[Epoch]
    best_epoch: int
    interrupted: bool


class _OneThreadEach:
    """Gives torch its threads back when the last of several fits that overlap has ended."""

    def __init__(self) -> None:
        self._lock, self._n_inside, self._threads = threading.Lock(), 0, 1

    def __enter__(self) -> None:
        with self._lock:
            if self._n_inside == 0:
                self._threads = torch.get_num_threads()
            self._n_inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._n_inside -= 1
            if self._n_inside == 0:
                torch.set_num_threads(self._threads)


_one_thread_each = _OneThreadEach()


def _use_one_thread() -> None:
    torch.set_num_threads(1)


def train_networks(
    architecture: Architecture,
    rows: RowSource,
    recipe: Recipe,
    seeds: Sequence[int],
    *,
    validation: RowSource | None = None,
    device: torch.device | None = None,
    n_jobs: int = 1,
    listener: Listener = lambda epoch: None,
) -> list[Trained]:
    """Train one network for each seed, side by side.

    Each network draws from a generator of its own and is never computed by more than one thread
    at a time, so its weights depend on its seed alone and not on ``n_jobs``. The networks take
    turns, an epoch each, so that five of them keep two cores busy to the end. Ctrl-C ends the
    training after the current batch and returns what was best until then.
    """
    device = torch.device("cpu") if device is None else device
    rows = rows.to(device)
    validation = None if validation is None else validation.to(device)
    stop = threading.Event()

    waiting = deque(
        Training(
            index,
            architecture,
            rows,
            recipe,
            seed,
            validation=validation,
            device=device,
            stop=stop,
        )
        for index, seed in enumerate(seeds)
    )
    finished: list[Trained] = []

    def work() -> None:
        torch.set_num_threads(1)
        torch.set_flush_denormal(True)  # otherwise dying weights slow the matrix products down
        while waiting:
            try:
                training = waiting.popleft()
            except IndexError:  # another worker was faster
                return
            try:
                if (epoch := training.run_epoch()) is not None:
                    listener(epoch)
            except BaseException:
                stop.set()  # the other workers need not go on
                raise
            if training.is_finished:
                finished.append(training.finish())
            else:
                waiting.append(training)

    n_workers = max(1, min(n_jobs, len(seeds)))
    # Also a single network runs in a thread of its own: the caller's thread stays free to receive
    # Ctrl-C, and keeps its floating-point mode.
    with _one_thread_each, ThreadPoolExecutor(max_workers=n_workers) as pool:
        futures = [pool.submit(work) for _ in range(n_workers)]
        try:
            wait(futures)
        except KeyboardInterrupt:
            stop.set()
        for future in futures:
            future.result()
    # After an interruption some networks may not have come as far as one epoch.
    usable = [result for result in finished if result.history]
    if not usable:
        raise KeyboardInterrupt
    return sorted(usable, key=lambda result: result.index)


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
    validation : RowSource, optional
        To judge each epoch by; on the device.
    device : torch.device
    stop : threading.Event, optional
        Ends the epoch after the current batch.
    team : Team, optional
        The processes that train the same network; by default there is one.
    """

    def __init__(
        self,
        index: int,
        architecture: Architecture,
        rows: RowSource,
        recipe: Recipe,
        seed: int,
        *,
        validation: RowSource | None,
        device: torch.device,
        stop: threading.Event | None = None,
        team: Team | None = None,
    ) -> None:
        self.index, self.history = index, list[Epoch]()
        self._rows, self._recipe, self._validation, self._device = rows, recipe, validation, device
        self._stop, self._team = stop or threading.Event(), team or Alone()
        # Drawn on the CPU, so that a seed means the same network on every device.
        self.network = EntityNetwork(architecture)
        self._generator = torch.Generator().manual_seed(seed)
        self.network.numbers.set_bins(rows.sample_numbers())
        self.network.initialize(recipe.initialization, self._generator)
        self.network.to(device)
        self._dropout = torch.Generator(device).manual_seed(seed + self._team.rank)
        self._optimizers = make_optimizers(
            self.network,
            optimizer=recipe.optimizer,
            learning_rate=recipe.learning_rate,
            weight_decay=recipe.weight_decay,
        )
        self._forward = self._team.join(self.network)
        self.counts = [self._team.sum(count) for count in rows.count_codes(architecture.n_rows)]
        self._n_rows = int(self._team.sum(torch.tensor(len(rows))))
        self._n_batches = math.ceil(self._n_rows / recipe.batch_size)
        self._best_loss, self._best_epoch = math.inf, 0
        self._best_weights: list[Tensor] | None = None
        self._started = time.perf_counter()

    @property
    def is_finished(self) -> bool:
        """Whether there is nothing left to do."""
        n_done, patience = len(self.history), self._recipe.patience
        is_patient = patience is None or n_done - self._best_epoch < patience
        return self._stop.is_set() or n_done == self._recipe.epochs or not is_patient

    def run_epoch(self) -> Epoch | None:
        """Train for one epoch, and return what is known about it; None if it was stopped."""
        recipe, epoch = self._recipe, len(self.history) + 1
        loss_of = LOSSES[recipe.loss]
        step, n_steps = len(self.history) * self._n_batches, self._n_batches * recipe.epochs
        total = torch.zeros((), device=self._device)
        for batch in self._rows.shuffled(self._n_batches, self._generator):
            if self._stop.is_set():
                return None
            factor = _rate_factor((step + 0.5) / n_steps) if recipe.schedule == "cosine" else 1.0
            for optimizer in self._optimizers:
                for group in optimizer.param_groups:
                    group["lr"] = recipe.learning_rate * factor
            output = self._forward(batch.codes, batch.numbers, self._dropout)
            loss = weighted_mean(loss_of(output, batch.target, recipe.quantile), batch.weight)
            self.network.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            self._team.exchange(self.network)
            for optimizer in self._optimizers:
                optimizer.step()
            total += loss.detach() * len(batch)
            step += 1
        mean_loss = float(self._team.sum(total)) / self._n_rows
        if not math.isfinite(mean_loss):
            raise CatspaceError(
                f"Training diverged: the loss of epoch {epoch} is {mean_loss:g}.",
                hint=f"lower learning_rate, which is {recipe.learning_rate:g}.",
            )
        validation_loss = self._validate(epoch)
        rate = float(self._optimizers[0].param_groups[0]["lr"])
        seconds = time.perf_counter() - self._started
        self.history.append(Epoch(self.index, epoch, mean_loss, validation_loss, rate, seconds))
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
            "optimizers": [optimizer.state_dict() for optimizer in self._optimizers],
            "history": [asdict(epoch) for epoch in self.history],
            "best": (self._best_loss, self._best_epoch, self._best_weights),
            "own": (self._generator.get_state(), self._dropout.get_state()),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on where a state was taken."""
        self.network.load_state_dict(state["network"])
        for optimizer, found in zip(self._optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(found)
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
        self.network.fill_untrained_rows(self.counts)
        total, weight = self._team.sum(
            torch.tensor(sum_losses(self.network, self._validation, self._recipe))
        ).tolist()
        loss = float(total / weight)
        if loss < self._best_loss:
            self._best_loss, self._best_epoch = loss, epoch
            self._best_weights = None  # two copies of a large table at once are one too many
            self._best_weights = [weight.detach().clone() for weight in self.network.parameters()]
        return loss


def predict(
    network: EntityNetwork,
    codes: Tensor,
    numbers: Tensor,
    device: torch.device,
    *,
    n_jobs: int = 1,
) -> np.ndarray:
    """Return the outputs of a network for any number of rows; shape (n_rows, n_outputs).

    What a row gets does not depend on the rows beside it, to the last bit: blocks are padded to
    a multiple of `_ROW_MULTIPLE`, since matrix products treat a remainder of rows differently.
    Several blocks are computed at the same time, by one thread each.
    """
    network = network.to(device)
    n_rows = len(numbers)
    outputs = np.empty((n_rows, network.architecture.n_outputs), dtype=np.float32)

    def fill(begin: int) -> None:
        end = min(begin + _EVALUATION_ROWS, n_rows)
        padding = -(end - begin) % _ROW_MULTIPLE
        block_codes = functional.pad(codes[:, begin:end], (0, padding))
        block_numbers = functional.pad(numbers[begin:end], (0, 0, 0, padding))
        with torch.inference_mode():
            output = network(block_codes.to(device), block_numbers.to(device))
        outputs[begin:end] = output[: end - begin].cpu().numpy()

    blocks = range(0, n_rows, _EVALUATION_ROWS)
    n_workers = max(1, min(n_jobs, len(blocks))) if device.type == "cpu" else 1
    with _one_thread_each, ThreadPoolExecutor(n_workers, initializer=_use_one_thread) as pool:
        list(pool.map(fill, blocks))
    network.cpu()  # where it rests, so that it can be saved and pickled
    return outputs


def sum_losses(network: EntityNetwork, rows: RowSource, recipe: Recipe) -> tuple[float, float]:
    """Return the sum of the weighted losses of some rows, and the sum of their weights."""
    total, weight_sum = 0.0, 0.0
    with torch.inference_mode():
        for block in rows.in_order(_EVALUATION_ROWS):
            losses = LOSSES[recipe.loss](
                network(block.codes, block.numbers), block.target, recipe.quantile
            )
            weight = torch.ones_like(losses) if block.weight is None else block.weight
            total += float((losses * weight).sum())
            weight_sum += float(weight.sum())
    return total, weight_sum


def weighted_mean(losses: Tensor, weight: Tensor | None) -> Tensor:
    """Return the mean of the losses of a batch; weights have a mean of one over all rows."""
    return losses.mean() if weight is None else (losses * weight).mean()


def _mean_over_outputs(losses: Tensor) -> Tensor:
    return losses.mean(dim=1)  # (batch, n_outputs) -> (batch,)


def _pinball(output: Tensor, target: Tensor, quantile: float) -> Tensor:
    error = target - output
    return _mean_over_outputs(torch.maximum(quantile * error, (quantile - 1) * error))


# Each maps output (batch, n_outputs), target and quantile to losses of shape (batch,).
LOSSES: dict[str, Callable[[Tensor, Tensor, float], Tensor]] = {
    "squared_error": lambda output, target, _: _mean_over_outputs((output - target).square()),
    "absolute_error": lambda output, target, _: _mean_over_outputs((output - target).abs()),
    "huber": lambda output, target, _: _mean_over_outputs(
        functional.huber_loss(output, target, reduction="none", delta=_HUBER_DELTA)
    ),
    "quantile": _pinball,
    "log_loss": lambda output, target, _: functional.cross_entropy(
        output, target, reduction="none"
    ),
}


def _rate_factor(progress: float) -> float:
    """Return the share of the peak rate: a linear rise, then half a cosine down to zero."""
    if progress < _WARM_UP:
        return progress / _WARM_UP
    return 0.5 * (1 + math.cos(math.pi * (progress - _WARM_UP) / (1 - _WARM_UP)))
