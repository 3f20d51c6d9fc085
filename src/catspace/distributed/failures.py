"""What goes wrong on a cluster: said in a sentence, or tried again where the cluster lost it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import pyarrow as pa
import ray.exceptions
import ray.train

from catspace.exceptions import CatspaceError, InputError

_T = TypeVar("_T")

_FAILURES = (ray.exceptions.RayError, ray.train.TrainingFailedError)
# What Ray calls it when the CPUs are there, and others are using them.
_WAITING = "WorkerGroupStartupTimeoutError"


@contextmanager
def plain_errors() -> Iterator[None]:
    """Raise what went wrong on a worker as if it had gone wrong here."""
    try:
        yield
    except _FAILURES as error:
        causes = list(_causes(error))
        for cause in causes:
            if isinstance(cause, CatspaceError):
                # A copy, since the one that was raised drags a traceback of Ray's along.
                raise type(cause)(str(cause)) from None
        is_training = any(isinstance(cause, ray.train.TrainingFailedError) for cause in causes)
        for cause in causes:
            if isinstance(cause, (pa.ArrowException, OSError)) and not is_training:
                raise InputError(f"The table cannot be read: {first_line(cause)}") from None
        raise CatspaceError(
            f"The work on the cluster failed: {_last_line(causes[-1])}",
            hint="Ray's logs tell more; what they say is above.",
        ) from error


class Attempts:
    """Runs work on a cluster, and runs it again when the cluster has lost it.

    Parameters
    ----------
    max_failures : int
        How often in all; -1 for as often as it takes.
    check : callable
        Is called before work is tried again, and raises where the cluster cannot do it any more.
    """

    def __init__(self, max_failures: int, check: Callable[[], None]) -> None:
        self._n_left, self._check = max_failures, check

    def run(self, work: Callable[[], _T]) -> _T:
        """Return what some work returns, which may be begun several times."""
        while True:
            try:
                return work()
            except _FAILURES as error:
                causes = list(_causes(error))
                if not _is_loss(causes) or self._n_left == 0:
                    raise
                if not any(type(cause).__name__ == _WAITING for cause in causes):
                    self._n_left -= 1
            self._check()


def _is_loss(causes: list[BaseException]) -> bool:
    """Whether a cluster lost something, rather than that the work itself cannot be done."""
    if any(isinstance(cause, CatspaceError) for cause in causes):
        return False
    # Where one worker is lost, the others fail in ways of their own.
    if any(isinstance(cause, ray.train.TrainingFailedError) for cause in causes):
        return True
    raised = (ray.exceptions.RayTaskError, ray.exceptions.UserCodeException)
    return any(
        isinstance(cause, ray.exceptions.RayError) and not isinstance(cause, raised)
        for cause in causes
    )


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and all that it was made of, each once."""
    waiting, seen = [error], set[int]()
    while waiting:
        found = waiting.pop(0)
        if id(found) in seen:
            continue
        seen.add(id(found))
        yield found
        inner = [
            getattr(found, name, None)
            for name in ("cause", "__cause__", "__context__", "controller_failure")
        ]
        inner += getattr(found, "worker_failures", {}).values()
        waiting += [one for one in inner if isinstance(one, BaseException)]


def first_line(error: BaseException) -> str:
    """Return the first line of what an error says."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def _last_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[-1] if lines else type(error).__name__
