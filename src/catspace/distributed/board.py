"""What workers tell while they train, shown where the fit was called."""

import os
import platform
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import ray

from catspace.model.training import Epoch

_LOOK_SECONDS = 0.5


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
    """Where workers write. It may be sent to them."""

    def __init__(self, actor: Any) -> None:
        self._actor = actor

    def introduce(self, rank: int) -> None:
        """Tell where a worker is."""
        where = f"process {os.getpid()} on {platform.node()}"
        self._actor.write.remote(f"Worker {rank} is {where}.")

    def write(self, epoch: Epoch) -> None:
        """Tell of a finished epoch; nobody waits for it to be read."""
        self._actor.write.remote(epoch)


@contextmanager
def open_board(listen: Callable[[Epoch], None], tell: Callable[[str], None]) -> Iterator[Board]:
    """Yield a board, whose notes are read on a thread."""
    actor: Any = ray.remote(_Notes).options(num_cpus=0).remote()
    is_over = threading.Event()

    def look() -> None:
        for note in ray.get(actor.take.remote()):
            if isinstance(note, Epoch):
                listen(note)
            else:
                tell(note)

    def watch() -> None:
        while not is_over.wait(_LOOK_SECONDS):
            look()

    with ThreadPoolExecutor(max_workers=1) as pool:
        watching = pool.submit(watch)
        try:
            yield Board(actor)
        finally:
            is_over.set()
        watching.result()  # raises what a listener raised
        look()
        ray.kill(actor)
