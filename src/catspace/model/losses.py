"""What training minimises, row by row."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from catspace.exceptions import ParameterError
from catspace.model.network import EntityNetwork
from catspace.model.outputs import OUTPUTS
from catspace.model.recipe import LossFunction, Quantile, Recipe
from catspace.preparation.rows import Rows, RowSource

# From here on Huber's loss grows like the absolute error, in standard deviations of the target.
_HUBER_DELTA = 0.25
# Rows in one forward pass where no gradient is needed.
_BLOCK_ROWS = 8192
# Rows that a loss is asked about before training.
_CHECKED_ROWS = 32


def find_loss(recipe: Recipe) -> LossFunction:
    """Return what maps outputs and target to the loss of each row; shape (batch,)."""
    if not isinstance(recipe.loss, str):
        return recipe.loss
    named, quantile = LOSSES[recipe.loss], recipe.quantile
    return lambda output, target: named(output, target, quantile)


def check_loss(recipe: Recipe, rows: RowSource, n_outputs: int) -> None:
    """Raise where a loss that somebody has brought along gives no loss for each row.

    It is asked once, about a few rows and outputs between -1 and 1.
    """
    if isinstance(recipe.loss, str):
        return
    target = next(rows.in_order(_CHECKED_ROWS)).target
    n = len(target)
    output = torch.linspace(-1, 1, n * n_outputs, device=target.device, dtype=torch.float32)
    output = output.reshape(n, n_outputs).requires_grad_()
    losses = recipe.loss(output, target)
    if not isinstance(losses, Tensor):
        raise _no_loss(f"it returned {type(losses).__name__}, which is no tensor")
    if losses.shape != (n,):
        raise _no_loss(f"for {n} rows it returned a tensor of shape {tuple(losses.shape)}")
    if not torch.isfinite(losses).all():
        raise _no_loss("it returned NaN or infinity for outputs between -1 and 1")
    if not losses.requires_grad:
        raise _no_loss("what it returned has no gradient: it must be computed from the outputs")


def _no_loss(reason: str) -> ParameterError:
    return ParameterError(
        "loss must be a function of outputs and target, tensors of shape (n_samples, n_outputs), "
        f"that returns the loss of each row, of shape (n_samples,); {reason}.",
        hint="(outputs - target).square().mean(dim=1) would be the squared error.",
    )


def sum_losses(network: EntityNetwork, rows: RowSource, recipe: Recipe) -> tuple[float, float]:
    """Return the sum of the weighted losses of some rows, and the sum of their weights."""
    total, weight_sum, loss_of = 0.0, 0.0, find_loss(recipe)
    with torch.inference_mode():
        for block in rows.in_order(_BLOCK_ROWS):
            losses = loss_of(network(block.codes, block.numbers), block.target)
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
        lost = find_loss(recipe)(output, judges.target)
        weights = torch.ones_like(lost) if judges.weight is None else judges.weight
        losses.append(float((lost * weights).sum() / weights.sum()))
    return min(losses)


def weighted_mean(losses: Tensor, weight: Tensor | None) -> Tensor:
    """Return the mean of the losses of a batch; weights have a mean of one over all rows."""
    return losses.mean() if weight is None else (losses * weight).mean()


def loss_and_gradient(
    output: Tensor,
    target: Tensor,
    weight: Tensor | None,
    n_samples: int,
    recipe: Recipe,
    activation: str,
) -> tuple[Tensor, Tensor]:
    """Return what rows add to the mean loss of a batch, and the gradient of that.

    Parameters
    ----------
    output : tensor of shape (n_rows, n_outputs)
        Of the last layer, before its activation.
    target : tensor
    weight : tensor of shape (n_rows,), optional
    n_samples : int
        Rows of the batch, of which these may be some.
    recipe : Recipe
    activation : str
        Of the last layer.

    Returns
    -------
    loss : tensor without dimensions
    gradient : tensor of shape (n_rows, n_outputs)
    """
    loss_of, name = find_loss(recipe), recipe.loss
    if activation == "identity" and isinstance(name, str) and name in _GRADIENTS:
        losses, gradient = loss_of(output, target), _GRADIENTS[name](output, target)
        gradient.mul_(1 / n_samples)
        if weight is not None:
            losses, gradient = losses * weight, gradient.mul_(weight[:, None])
        return losses.sum() / n_samples, gradient
    with torch.enable_grad():  # of the others torch finds it
        last = output.detach().requires_grad_()
        losses = loss_of(OUTPUTS[activation](last), target)
        loss = (losses if weight is None else losses * weight).sum() / n_samples
        (gradient,) = torch.autograd.grad(loss, last)
    return loss.detach(), gradient


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


def _of_log_loss(output: Tensor, target: Tensor) -> Tensor:
    chances = torch.softmax(output, dim=1)
    return chances.scatter_add_(1, target[:, None], -torch.ones_like(chances[:, :1]))


# The gradients of the losses of rows by their outputs; (batch, n_outputs).
_GRADIENTS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "squared_error": lambda output, target: (output - target).mul_(2 / output.shape[1]),
    "huber": lambda output, target: (
        (output - target).clamp_(-_HUBER_DELTA, _HUBER_DELTA).mul_(1 / output.shape[1])
    ),
    "log_loss": _of_log_loss,
}
