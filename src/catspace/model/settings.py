"""Torch as catspace needs it, whatever the user's program has told torch to do by default."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def plain_torch() -> Iterator[None]:
    """Put aside inference mode, switched-off gradients, autocast and the default device.

    These belong to a thread, so that nobody else notices. The default type of numbers belongs to
    the process: whoever makes a tensor names its type.
    """
    with (
        torch.inference_mode(mode=False),
        torch.enable_grad(),
        torch.autocast("cpu", enabled=False),
        torch.device("cpu"),
    ):
        yield
