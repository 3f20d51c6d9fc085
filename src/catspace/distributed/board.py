"""What a training tells while it runs, shown where the fit was called."""

import itertools
import os
import platform
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import asdict
from typing import Any

import pyarrow as pa
import ray
import ray.exceptions

# ray.train itself has it only where its second version is on, which predicting does not need.
from ray.train.v2.api.callback import UserCallback
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from catspace.distributed.nodes import this_node
from catspace.distributed.storage import Storage
from catspace.model.turns import Epoch

_LOOK_SECONDS = 0.5
_NAMESPACE = "catspace"
_TAKE_DOWN_SECONDS, _STEP_SECONDS = 10, 0.05


class _Notes:
    """An actor that holds what was written until somebody reads it."""

    def __init__(self) -> None:
        self._waiting: list[Epoch | str] = []

    def write(self, *notes: Epoch | str) -> None:
        """Add epochs or sentences."""
        self._waiting += notes

    def take(self) -> list[Epoch | str]:
        """Return what was written since the last time."""
        taken, self._waiting = self._waiting, []
        return taken


class Board:
    """Where workers and Ray Train's controller write. It may be sent to them.

    Parameters
    ----------
    name : str
        No other board that is in use has it.
    actor : actor of _Notes
    """

    def __init__(self, name: str, actor: Any) -> None:
        self.name, self._actor = name, actor

    def introduce(self, rank: int) -> None:
        """Tell where a worker is."""
        where = f"process {os.getpid()} on {platform.node()}"
        self._actor.write.remote(f"Worker {rank} is {where}.")

    def write(self, epochs: Sequence[Epoch]) -> None:
        """Tell of epochs; they are written when this returns, and nobody waits for a reader.

        Who writes the last ones may end right afterwards, and what is only sent would be lost.
        """
        with suppress(ray.exceptions.RayError):  # nothing depends on what is only shown
            ray.get(self._actor.write.remote(*epochs))


class KeptEpochs(UserCallback):
    """Tells a board of epochs when there is a state of all workers to go on from after them.

    Workers hand their epochs to Ray Train together with their states, and go on. Ray's controller
    collects them, writes down which states are the last of all workers, and only then calls this.
    So no epoch is told of that a fit which is called again would run once more.
    """

    def __init__(self, board: Board, storage: Storage) -> None:
        self._board, self._storage = board, storage

    @staticmethod
    def report(epochs: Sequence[Epoch]) -> dict[str, Any]:
        """Return what a worker is to report beside its state."""
        return {"epochs": [asdict(epoch) for epoch in epochs]}

    def after_report(
        self, run_context: object, metrics: Sequence[Mapping[str, Any]], checkpoint: object
    ) -> None:
        """Tell of what all workers have reported, and keep Ray's note of these states."""
        self._board.write([Epoch(**epoch) for said in metrics for epoch in said["epochs"]])
        # Last: it is needed where Ray's next note is cut off, and what is kept should be told of.
        with suppress(OSError, pa.ArrowException):
            self._storage.keep_note(self._board.name)


@contextmanager
def open_board(
    name: str, listen: Callable[[Epoch], object], tell: Callable[[str], None]
) -> Iterator[Board]:
    """Yield a board, whose notes are read on a thread.

    It has the name, or one like it where a board of that name is in use on the cluster.
    """
    name, actor = _put_up(name)
    is_over = threading.Event()

    def look() -> None:
        try:
            notes = ray.get(actor.take.remote())
        except ray.exceptions.RayError:
            return  # nothing depends on what is only shown
        for note in notes:
            if isinstance(note, Epoch):
                listen(note)
            else:
                tell(note)

    def watch() -> None:
        while not is_over.wait(_LOOK_SECONDS):
            look()
        look()  # also where the fit failed: these epochs are kept, and nobody will run them again

    try:
        with ThreadPoolExecutor(max_workers=1) as pool:
            watching = pool.submit(watch)
            try:
                yield Board(name, actor)
            finally:
                is_over.set()
            watching.result()  # raises what a listener raised
    finally:
        _take_down(name, actor)


def _put_up(name: str) -> tuple[str, Any]:
    """Start the actor on the node of this process, which no fit outlives anyway."""
    strategy = NodeAffinitySchedulingStrategy(this_node(), soft=False)
    for n in itertools.count(1):
        free = name if n == 1 else f"{name}-{n}"
        options = {"name": free, "namespace": _NAMESPACE, "scheduling_strategy": strategy}
        try:
            return free, ray.remote(_Notes).options(num_cpus=0, **options).remote()
        except ValueError:  # an actor has this name: the same fit, at the same time
            continue
    raise AssertionError("there is always a next number")


def _take_down(name: str, actor: Any) -> None:
    """End the actor, and wait until its name is free for the next fit."""
    ray.kill(actor)
    for _ in range(round(_TAKE_DOWN_SECONDS / _STEP_SECONDS)):
        try:
            ray.get_actor(name, namespace=_NAMESPACE)
        except ValueError:
            return
        time.sleep(_STEP_SECONDS)
