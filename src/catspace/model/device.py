"""The device that networks are computed on."""

from typing import Any

import torch

from catspace.exceptions import ParameterError


def make_device(device: Any) -> torch.device:
    """Return the device to compute on; "auto" takes a GPU where there is one."""
    chosen = parse_device(device)
    try:
        torch.empty(0, device=chosen)
    except (RuntimeError, AssertionError) as error:
        raise _no_device(device, error) from None
    return chosen


def parse_device(device: Any) -> torch.device:
    """Return the device of a name, which need not be here."""
    if isinstance(device, str) and device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        chosen = torch.device(device)
    except (RuntimeError, TypeError, ValueError, OverflowError) as error:
        raise _no_device(device, error) from None
    if chosen.type == "meta":
        raise _no_device(device, "it has no memory")
    return chosen


def _no_device(device: Any, reason: object) -> ParameterError:
    reason = str(reason).splitlines()[0]
    return ParameterError(
        f'device must be "auto" or a device of torch that is here, such as "cpu"; '
        f"got {device!r} ({reason})."
    )
