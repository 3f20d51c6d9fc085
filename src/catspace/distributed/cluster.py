"""What a cluster must have before work is sent to it, and what it says when work fails."""

import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import ray
import ray.data
import ray.exceptions
import ray.train
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from catspace.exceptions import CatspaceError, InputError

_KNOCK_SECONDS, _PROBE_SECONDS = 10, 120


def connect(address: str | None = None) -> None:
    """Join the cluster at an address, or start Ray on this machine; once is enough."""
    if ray.is_initialized():
        return
    try:
        _knock(address)
        ray.init(address=address, log_to_driver=False)
    except (ConnectionError, ValueError, RuntimeError, OSError) as error:
        raise CatspaceError(
            f"No Ray cluster can be reached at {address!r}: {_first_line(error)}",
            hint='"ray start --head" starts one and prints its address; "local" runs Ray on this '
            "machine.",
        ) from None


def _knock(address: str | None) -> None:
    """Raise where nobody listens at an address; Ray itself would try for minutes."""
    host, colon, port = (address or "").removeprefix("ray://").rpartition(":")
    if colon and port.isdigit():
        socket.create_connection((host, int(port)), timeout=_KNOCK_SECONDS).close()


def check_workers(num_workers: int, *, use_gpu: bool) -> None:
    """Raise where a cluster has no room for the workers, or lacks what they need.

    Ray itself would wait for ever for CPUs that do not exist.
    """
    kind = "GPU" if use_gpu else "CPU"
    n_there = int(ray.cluster_resources().get(kind, 0))  # type: ignore[no-untyped-call]
    if num_workers > n_there:
        raise CatspaceError(
            f"num_workers={num_workers} needs as many {kind}s, and the cluster has {n_there}.",
            hint=f"lower num_workers to {n_there}." if n_there else None,
        )
    here = ray.get_runtime_context().get_node_id()
    for node in ray.nodes():  # type: ignore[no-untyped-call]
        if node["Alive"] and (node["Resources"].get("CPU") or node["NodeID"] == here):
            _check_node(node)


def _check_node(node: dict[str, Any]) -> None:
    name = node.get("NodeManagerHostname") or node["NodeID"]

    # A function inside of another travels as it is: the node may have no catspace to find it in.
    def look() -> str:
        for module in ("torch", "catspace.model.training"):
            try:
                __import__(module)
            except Exception as error:
                return f"cannot import {module.split('.')[0]} ({error})"
        return ""

    strategy = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
    probe = ray.remote(look).options(num_cpus=0, scheduling_strategy=strategy)
    try:
        trouble = ray.get(probe.remote(), timeout=_PROBE_SECONDS)
    except ray.exceptions.RayError as error:
        trouble = f"does not answer ({_first_line(error)})"
    if trouble:
        raise CatspaceError(
            f"The Ray worker on {name!r} {trouble}.",
            hint='every node needs the same catspace: pip install "catspace[ray]"',
        )


@contextmanager
def plain_errors() -> Iterator[None]:
    """Raise what went wrong on a worker as if it had gone wrong here."""
    try:
        yield
    except (ray.exceptions.RayError, ray.train.TrainingFailedError) as error:
        causes = list(_causes(error))
        for cause in causes:
            if isinstance(cause, CatspaceError):
                # A copy, since the one that was raised drags a traceback of Ray's along.
                raise type(cause)(str(cause)) from None
        for cause in causes:
            if isinstance(cause, (pa.ArrowException, OSError)):
                raise InputError(f"The table cannot be read: {_first_line(cause)}") from None
        raise CatspaceError(
            f"The work on the cluster failed: {_last_line(causes[-1])}",
            hint="Ray's logs tell more; what they say is above.",
        ) from error


@contextmanager
def ordered_data(*, is_quiet: bool) -> Iterator[None]:
    """Let Ray Data keep the order of rows, so that a seed means the same model every time."""
    context, logger = ray.data.DataContext.get_current(), logging.getLogger("ray.data")
    options = context.execution_options
    before = options.preserve_order, context.enable_progress_bars, logger.level
    options.preserve_order = True
    if is_quiet:
        context.enable_progress_bars = False
        logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        options.preserve_order, context.enable_progress_bars, level = before
        logger.setLevel(level)


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


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def _last_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[-1] if lines else type(error).__name__
