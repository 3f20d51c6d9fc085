"""What the last layer of a network gives -> outputs that lie where their target can."""

from collections.abc import Callable

import torch
from torch import Tensor


def rising(x: Tensor) -> Tensor:
    """Return outputs in order, so that they never fall from one to the next; (batch, n_outputs).

    Averages of several networks do not fall either, nor does what rises with the outputs. On
    validation rows of Rossmann, sorting did as well as adding steps that cannot be negative.
    """
    return torch.sort(x, dim=1).values


OUTPUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "identity": lambda x: x,
    "logistic": torch.sigmoid,
    "rising": rising,
    "rising_logistic": lambda x: torch.sigmoid(rising(x)),
}
