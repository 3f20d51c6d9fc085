"""What training minimises, row by row."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from catspace.model.network import EntityNetwork
from catspace.model.recipe import Quantile, Recipe
from catspace.preparation.rows import Rows, RowSource

# From here on Huber's loss grows like the absolute error, in standard deviations of the target.
_HUBER_DELTA = 0.25
# Rows in one forward pass where no gradient is needed.
_BLOCK_ROWS = 8192


def sum_losses(network: EntityNetwork, rows: RowSource, recipe: Recipe) -> tuple[float, float]:
    """Return the sum of the weighted losses of some rows, and the sum of their weights."""
    total, weight_sum = 0.0, 0.0
    with torch.inference_mode():
        for block in rows.in_order(_BLOCK_ROWS):
            losses = LOSSES[recipe.loss](
                network(block.codes, block.numbers), block.target, recipe.quantile
            )
            weight = torch.ones_like(losses) if block.weight is None else block.weight
            total += float((losses * weight).sum())
            weight_sum += float(weight.sum())
    return total, weight_sum


def constant_loss(rows: Rows, judges: Rows, recipe: Recipe) -> float:
    """Return the mean loss on some rows of the best constant that others know.

    That is the share of each class, the mean of counts; or the mean, or the quantile that the loss
    asks for, whichever does better.
    """
    target = rows.target.cpu()
    weight = torch.from_numpy(np.ones(len(rows), dtype=np.float32))
    weight = weight if rows.weight is None else rows.weight.cpu()
    if recipe.loss == "log_loss":
        n_classes = 1 + int(max(target.max(), judges.target.max()))
        shares = torch.bincount(target, weights=weight.double(), minlength=n_classes)
        # A class that none of the rows has is not impossible.
        constants = [((shares + 0.5) / (shares + 0.5).sum()).log()]
    else:
        mean = np.average(target.numpy(), axis=0, weights=weight.numpy())
        middle = np.quantile(
            target.numpy(), recipe.quantile, axis=0, weights=weight.numpy(), method="inverted_cdf"
        )  # (n_columns,), or (n_quantiles, 1)
        constants = [torch.from_numpy(mean), torch.from_numpy(middle.ravel())]
        constants = constants[:1] if recipe.loss == "poisson" else constants
    losses = []
    for constant in constants:
        output = constant.to(judges.numbers).expand(len(judges), -1)
        lost = LOSSES[recipe.loss](output, judges.target, recipe.quantile)
        weights = torch.ones_like(lost) if judges.weight is None else judges.weight
        losses.append(float((lost * weights).sum() / weights.sum()))
    return min(losses)


def weighted_mean(losses: Tensor, weight: Tensor | None) -> Tensor:
    """Return the mean of the losses of a batch; weights have a mean of one over all rows."""
    return losses.mean() if weight is None else (losses * weight).mean()


def _mean_over_outputs(losses: Tensor) -> Tensor:
    return losses.mean(dim=1)  # (batch, n_outputs) -> (batch,)


def _pinball(output: Tensor, target: Tensor, quantile: Quantile) -> Tensor:
    error = target - output  # (batch, n_outputs); several quantiles are of the same target
    if isinstance(quantile, float):
        return _mean_over_outputs(torch.maximum(quantile * error, (quantile - 1) * error))
    above = torch.tensor(quantile, dtype=error.dtype, device=error.device)
    below = torch.tensor([one - 1 for one in quantile], dtype=error.dtype, device=error.device)
    return _mean_over_outputs(torch.maximum(above * error, below * error))


# Each maps output (batch, n_outputs), target and quantile to losses of shape (batch,).
LOSSES: dict[str, Callable[[Tensor, Tensor, Quantile], Tensor]] = {
    "squared_error": lambda output, target, _: _mean_over_outputs((output - target).square()),
    "absolute_error": lambda output, target, _: _mean_over_outputs((output - target).abs()),
    "huber": lambda output, target, _: _mean_over_outputs(
        functional.huber_loss(output, target, reduction="none", delta=_HUBER_DELTA)
    ),
    "quantile": _pinball,
    # Half of the deviance, which is 0 at best. The outputs are means, and above 0.
    "poisson": lambda output, target, _: _mean_over_outputs(
        torch.xlogy(target, target) - torch.xlogy(target, output) - target + output
    ),
    "log_loss": lambda output, target, _: functional.cross_entropy(
        output, target, reduction="none"
    ),
}
