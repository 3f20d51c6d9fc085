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


# Beyond this, means would be past the numbers of float32; no row needs that.
FARTHEST_EXPONENT = 30.0


def bounded_exp(x: Tensor) -> Tensor:
    """Return means of counts, in units of the mean of all rows: with an output of 0 it is that."""
    return torch.exp(x.clamp(-FARTHEST_EXPONENT, FARTHEST_EXPONENT))


OUTPUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "identity": lambda x: x,
    "logistic": torch.sigmoid,
    "exp": bounded_exp,
    "rising": rising,
    "rising_logistic": lambda x: torch.sigmoid(rising(x)),
}
