"""Dense layers, one on the other: as one step of torch's graph, or as many."""

import math
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from itertools import pairwise
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "identity": lambda x: x,
    "relu": torch.relu,
    "silu": functional.silu,
    "gelu": functional.gelu,
    "tanh": torch.tanh,
    "logistic": torch.sigmoid,
}

CPU = torch.device("cpu")

_Result = TypeVar("_Result")


class Dense(nn.Linear):
    """A dense layer that draws no weights when it is made: `initialize` does."""

    def reset_parameters(self) -> None:
        """Do nothing; it would draw from torch's global generator."""

    def initialize(self, initialization: str, generator: torch.Generator, *, is_last: bool) -> None:
        """Draw the weights."""
        n_out, n_in = self.weight.shape
        std = math.sqrt((1.0 if is_last else 2.0) / max(1, n_in))
        limit = math.sqrt(6 / (n_in + n_out))
        draw(self.weight, initialization, generator, std=std, limit=limit)
        nn.init.zeros_(self.bias)


def make_layers(widths: Sequence[int], device: torch.device) -> nn.ModuleList:
    """Return layers that lead from each width to the next, without values."""
    return nn.ModuleList(
        Dense(inputs, outputs, device=device, dtype=torch.float32)
        for inputs, outputs in pairwise(widths)
    )


def run_layers(
    vectors: Tensor,
    numbers: Tensor,
    layers: Sequence[nn.Linear],
    *,
    activation: str,
    dropout: float,
    generator: torch.Generator | None,
) -> Tensor:
    """Return what layers make of vectors (batch, dims) and numbers (batch, n_numbers).

    Between layers are the activation and, where a generator is given, dropout.

    Returns
    -------
    tensor of shape (batch, n_outputs)
    """
    drawn = None if dropout == 0 else generator
    if activation == "relu" and not torch.is_grad_enabled():
        inputs = torch.cat([vectors, numbers], dim=1)
        weights, biases = [one.weight for one in layers], [one.bias for one in layers]
        return relu_forward(inputs, weights, biases, dropout, drawn)[1]
    if activation == "relu":
        weights = [part for layer in layers for part in (layer.weight, layer.bias)]
        return _ReluLayers.apply(  # type: ignore[no-any-return, no-untyped-call]
            vectors, numbers, dropout, drawn, *weights
        )
    first, *others = layers
    x: Tensor = first(torch.cat([vectors, numbers], dim=1))
    for layer in others:
        x = layer(activate(x, activation, dropout=dropout, generator=generator))
    return x


def activate(
    x: Tensor, activation: str, *, dropout: float, generator: torch.Generator | None
) -> Tensor:
    """Return what the next layer reads of a layer's outputs."""
    x = ACTIVATIONS[activation](x)
    return x if generator is None or dropout == 0 else x * draw_mask(x, dropout, generator)


class _ReluLayers(torch.autograd.Function):
    """Layers with rectifiers between them, as one step of torch's graph.

    Small layers take less time than torch's graph takes to get from one to the next. No gradient
    of the numbers is computed, which nobody needs: there may be many more of them than components
    of vectors.
    """

    @staticmethod
    def forward(
        ctx: Any,
        vectors: Tensor,
        numbers: Tensor,
        dropout: float,
        generator: torch.Generator | None,
        *parameters: Tensor,
    ) -> Tensor:
        """Map (batch, dims) and (batch, n_numbers) to (batch, n_outputs)."""
        weights, biases = parameters[::2], parameters[1::2]
        inputs = torch.cat([vectors, numbers], dim=1)
        read, output = relu_forward(inputs, weights, biases, dropout, generator)
        ctx.save_for_backward(*read, *weights)
        ctx.n_dims, ctx.scale = vectors.shape[1], 1.0 if generator is None else 1 / (1 - dropout)
        return output

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of vectors, and of the weights and biases that are learned."""
        (gradient,), saved = gradients, ctx.saved_tensors
        n_layers = len(saved) // 2
        read, weights = saved[:n_layers], saved[n_layers:]
        is_learned = ctx.needs_input_grad[4::2]
        of_first, of_layers = relu_backward(gradient, read, weights, ctx.scale, is_learned)
        of_vectors = None
        if ctx.needs_input_grad[0]:
            of_vectors = of_first @ weights[0][:, : ctx.n_dims]
        return of_vectors, None, None, None, *of_layers()


def relu_forward(
    inputs: Tensor,
    weights: Sequence[Tensor],
    biases: Sequence[Tensor],
    dropout: float,
    generator: torch.Generator | None,
) -> tuple[list[Tensor], Tensor]:
    """Return what each layer reads, and what the last one gives.

    Before each layer but the first are a rectifier and, where there is a generator, dropout.
    """
    read, x = list[Tensor](), inputs
    for weight, bias in zip(weights, biases, strict=True):
        if read:
            x = x.relu_()
            x = x if generator is None else x.mul_(draw_mask(x, dropout, generator))
        read.append(x)
        x = functional.linear(x, weight, bias)
    return read, x


def relu_backward(
    gradient: Tensor,
    read: Sequence[Tensor],
    weights: Sequence[Tensor],
    scale: float,
    is_learned: Sequence[bool],
    helper: Executor | None = None,
) -> tuple[Tensor, Callable[[], list[Tensor | None]]]:
    """Return the gradient of what the first layer gives, and what waits for those of the layers.

    These are of each weight and bias, and nothing else follows from them: a helper may find them.

    Parameters
    ----------
    gradient : tensor of shape (batch, n_outputs)
        Of what the last layer gives.
    read : sequence of tensors
        What each layer has read.
    weights : sequence of tensors
        Of each layer.
    scale : float
        What dropout has multiplied those with that it left.
    is_learned : sequence of bool
        Of each layer. The others have no gradients.
    helper : Executor, optional
        A thread.
    """
    waiting = list[Callable[[], Sequence[Tensor | None]]]()
    last = len(read) - 1
    for i in reversed(range(len(read))):
        if is_learned[i]:
            # Those of the last layer are there before another thread would wake up.
            waiting.append(
                _begin(helper if i < last else None, _gradients_of_layer, gradient, read[i])
            )
        else:
            waiting.append(lambda: (None, None))
        if i:
            # What a rectifier or dropout has set to zero is zero in what the layer has read.
            gradient = torch.ops.aten.threshold_backward(gradient @ weights[i], read[i], 0)
            gradient = gradient if scale == 1 else gradient.mul_(scale)
    return gradient, lambda: [part for wait in reversed(waiting) for part in wait()]


def _begin(
    helper: Executor | None, function: Callable[..., _Result], *arguments: Tensor
) -> Callable[[], _Result]:
    """Call a function, on another thread if there is one, and return what waits for its result."""
    if helper is not None:
        return helper.submit(function, *arguments).result
    result = function(*arguments)
    return lambda: result


def _gradients_of_layer(gradient: Tensor, read: Tensor) -> tuple[Tensor, Tensor]:
    """Return the gradients of a weight and a bias, by that of what their layer gives."""
    return gradient.T @ read, gradient.sum(0)


def draw_mask(x: Tensor, dropout: float, generator: torch.Generator) -> Tensor:
    """Return zeros where dropout falls, and elsewhere what keeps the mean; like x.

    One random number of 64 bits serves four elements, which is four times as fast as drawing one
    for each. Sixteen bits are enough to tell any dropout from its neighbours.
    """
    bits = torch.empty(-(-x.numel() // 4), dtype=torch.int64, device=x.device)
    bits.random_(-(2**63), None, generator=generator)
    drawn = bits.view(torch.int16)[: x.numel()].view(x.shape)  # from -2¹⁵ to 2¹⁵ - 1
    # Comparing floats in place is several times as fast as making a mask of bools.
    kept = drawn.to(x.dtype).ge_(round(dropout * 2**16) - 2**15)
    return kept.mul_(1 / (1 - dropout))


def draw(
    weight: Tensor, initialization: str, generator: torch.Generator, *, std: float, limit: float
) -> None:
    """Draw the values of a weight: normal with a standard deviation, or uniform up to a limit."""
    with torch.no_grad():
        if initialization == "uniform":
            weight.uniform_(-limit, limit, generator=generator)
        else:
            weight.normal_(0.0, std, generator=generator)


def empty(device: torch.device, *shape: int) -> Tensor:
    """Return a tensor without values, whatever torch has been told to make by default."""
    return torch.empty(shape, device=device, dtype=torch.float32)
