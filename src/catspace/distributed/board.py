"""What workers tell while they train, shown where the fit was called."""

import itertools
import os
import platform
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import ray
import ray.exceptions
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from catspace.distributed.nodes import this_node
from catspace.model.training import Epoch

_LOOK_SECONDS = 0.5
_NAMESPACE = "catspace"
_TAKE_DOWN_SECONDS, _STEP_SECONDS = 10, 0.05


class _Notes:
    """An actor that holds what workers wrote until somebody reads it."""

    def __init__(self) -> None:
        self._waiting: list[Epoch | str] = []

    def write(self, note: Epoch | str) -> None:
        """Add an epoch or a sentence."""
        self._waiting.append(note)

    def take(self) -> list[Epoch | str]:
        """Return what was written since the last time."""
        taken, self._waiting = self._waiting, []
        return taken


class Board:
    """Where workers write. It may be sent to them.

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

    def write(self, epoch: Epoch) -> None:
        """Tell of a finished epoch; nobody waits for it to be read."""
        self._actor.write.remote(epoch)


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

    try:
        with ThreadPoolExecutor(max_workers=1) as pool:
            watching = pool.submit(watch)
            try:
                yield Board(name, actor)
            finally:
                is_over.set()
            watching.result()  # raises what a listener raised
            look()
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
