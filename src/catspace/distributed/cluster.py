"""Joining a cluster, and how Ray Data works there."""

import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import ray
import ray.data

from catspace.distributed.failures import first_line
from catspace.exceptions import CatspaceError

_KNOCK_SECONDS = 10


def connect(address: str | None = None) -> None:
    """Join the cluster at an address, or start Ray on this machine; once is enough."""
    if ray.is_initialized():
        return
    try:
        _knock(address)
        ray.init(address=address, log_to_driver=False)
    except (ConnectionError, ValueError, RuntimeError, OSError) as error:
        raise CatspaceError(
            f"No Ray cluster can be reached at {address!r}: {first_line(error)}",
            hint='"ray start --head" starts one and prints its address; "local" runs Ray on this '
            "machine.",
        ) from None


def _knock(address: str | None) -> None:
    """Raise where nobody listens at an address; Ray itself would try for minutes."""
    host, colon, port = (address or "").removeprefix("ray://").rpartition(":")
    if colon and port.isdigit():
        socket.create_connection((host, int(port)), timeout=_KNOCK_SECONDS).close()


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
