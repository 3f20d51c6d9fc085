"""Trainings that take turns on some threads, an epoch each: all cores are busy to the end."""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Protocol, TypeVar

import torch

from catspace.model.prediction import keep_thread_count


@dataclass(frozen=True)
class Epoch:
    """What is known after an epoch of one network."""

    network: int
    epoch: int
    loss: float
    validation_loss: float | None
    learning_rate: float
    seconds: float
    max_epochs: int = 0  # that there are to be; 0 in files that do not say it
    stopped: bool = False  # whether a listener let the training of the network end here


# Is told about each epoch, from the thread that trained it; whether that network shall stop.
Listener = Callable[[Epoch], bool]


def hear_nothing(epoch: Epoch) -> bool:
    """Let every training go on."""
    return False


class Ended(Protocol):
    """What a training is when it has ended."""

    @property
    def index(self) -> int:
        """Which of several trainings it was."""

    @property
    def history(self) -> Sequence[Epoch]:
        """Its epochs."""


_Result = TypeVar("_Result", bound=Ended)
_Given = TypeVar("_Given", bound=Ended, covariant=True)


class Runnable(Protocol[_Given]):
    """A training that is run an epoch at a time."""

    @property
    def is_finished(self) -> bool:
        """Whether there is nothing left to do."""

    def run_epoch(self, helper: Executor | None = None) -> Epoch | None:
        """Train for one epoch, and return what is known about it; None if it was stopped.

        Parameters
        ----------
        helper : Executor, optional
            A thread that has nothing else to do. What is learned does not depend on it.
        """

    def end(self) -> None:
        """Let the epoch that has ended be the last."""

    def finish(self) -> _Given:
        """Return what has come of it."""


def run_side_by_side(
    trainings: Sequence[Runnable[_Result]],
    stop: threading.Event,
    *,
    n_jobs: int = 1,
    listener: Listener = hear_nothing,
) -> list[_Result]:
    """Run trainings to their ends, an epoch at a time, so many at the same time.

    Parameters
    ----------
    trainings : sequence of Runnable
        With indices of their own.
    stop : threading.Event
        What stops all of them.
    n_jobs : int
        Threads. Where there are twice as many as trainings, each has one that helps it.
    listener : callable
    """
    waiting = deque(trainings)
    finished: list[_Result] = []

    def work(helper: Executor | None) -> None:
        while waiting:
            try:
                training = waiting.popleft()
            except IndexError:  # another worker was faster
                return
            try:
                if (epoch := training.run_epoch(helper)) is not None and listener(epoch):
                    training.end()
            except BaseException:
                stop.set()  # the other workers need not go on
                raise
            if training.is_finished:
                finished.append(training.finish())
            else:
                waiting.append(training)

    n_workers = max(1, min(n_jobs, len(trainings)))
    # Also a single network runs in a thread of its own: the caller's thread stays free to receive
    # Ctrl-C, and keeps its floating-point mode.
    with keep_thread_count, _open_pool(n_workers) as pool, _open_pool(n_workers) as helpers:
        helper = helpers if n_jobs >= 2 * n_workers else None
        futures = [pool.submit(work, helper) for _ in range(n_workers)]
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


def _open_pool(n_threads: int) -> ThreadPoolExecutor:
    """Return threads that compute, each by itself; they are started when there is work."""
    return ThreadPoolExecutor(max_workers=n_threads, initializer=_begin_to_compute)


def _begin_to_compute() -> None:
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)  # otherwise dying weights slow the matrix products down
