"""Codes -> what the first layer reads: vectors side by side, or the sum of one-hot rows."""

import math
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from catspace.data.vocabulary import UNSEEN
from catspace.model.architecture import Architecture
from catspace.model.evidence import Pull
from catspace.model.items import ItemMeans
from catspace.model.layers import ACTIVATIONS, CPU, draw, empty

# Vectors that start this close to each other move apart only where the data asks for it.
# Measured on Rossmann: starting at N(0, 1) instead costs a seventh of the accuracy.
_EMBEDDING_STD = 0.05


class EmbeddingInput(nn.Module):
    """One embedding for each categorical column, side by side."""

    def __init__(
        self, architecture: Architecture, n_numbers: int, device: torch.device = CPU
    ) -> None:
        super().__init__()
        self.tables = nn.ParameterList(
            empty(device, rows, dim) for rows, dim in architecture.table_shapes
        )
        self._tables = architecture.tables
        self.table_of = [architecture.tables[column] for column in architecture.column_of]
        self._items: ItemMeans | None = None
        if architecture.lists:
            sizes = zip(architecture.n_codes, architecture.lists, strict=True)
            absent = [n if longest else None for n, longest in sizes]
            self._items = ItemMeans(architecture.column_of, absent, architecture.dims)
        self.sparse: Collection[int] = ()  # tables whose gradients hold the rows of the batch only
        self.activation = architecture.embedding_activation
        self.width = sum(architecture.dims) + n_numbers

    def forward(self, codes: Tensor, pull: Pull | None = None) -> Tensor:
        """Map codes (slots, batch) to (batch, sum of dims)."""
        known = codes if self._items is None else self._items.fill(codes)
        joined = look_up(known, _list(self.tables), self.table_of, self.sparse, pull)
        joined = ACTIVATIONS[self.activation](joined)
        return joined if self._items is None else self._items.mean(joined, codes)

    def vectors(self) -> list[np.ndarray]:
        """Return what the next layer sees of each row; for each column of shape (n_codes, dim)."""
        activation = ACTIVATIONS[self.activation]
        tables = [activation(table.detach()).cpu().numpy() for table in self.tables]
        return [tables[i] for i in self._tables]

    def initialize(self, initialization: str, generator: torch.Generator) -> None:
        """Draw the vectors."""
        for table in self.tables:
            draw(table, initialization, generator, std=_EMBEDDING_STD, limit=_EMBEDDING_STD)


class OneHotInput(nn.Module):
    """The first hidden layer on one-hot input, as a sum of rows.

    one-hot(x) W is row x of W. So each column has a table as wide as the layer, the rows of a
    record are added up, and no one-hot matrix is ever built.
    """

    def __init__(
        self, architecture: Architecture, n_numbers: int, device: torch.device = CPU
    ) -> None:
        super().__init__()
        self.width = architecture.hidden_layer_sizes[0]
        self.tables = nn.ParameterList(
            empty(device, rows, width) for rows, width in architecture.table_shapes
        )
        self.sparse: Collection[int] = ()  # tables whose gradients hold the rows of the batch only
        self.numbers = nn.Parameter(empty(device, self.width, n_numbers))
        self.bias = nn.Parameter(empty(device, self.width))

    def forward(self, codes: Tensor, numbers: Tensor, pull: Pull | None = None) -> Tensor:
        """Map codes (columns, batch) and numbers (batch, n_numbers) to (batch, width)."""
        total = functional.linear(numbers, self.numbers, self.bias)
        joined = look_up(codes, _list(self.tables), range(len(codes)), self.sparse, pull)
        for row in torch.split(joined, self.width, dim=1) if len(self.tables) else ():
            total = total + row
        return total

    def vectors(self) -> list[np.ndarray]:
        """Return the weights of each row; arrays of shape (n_codes, width)."""
        return [table.detach().cpu().numpy() for table in self.tables]

    def initialize(self, initialization: str, generator: torch.Generator) -> None:
        """Draw the weights."""
        n_inputs = sum(len(table) for table in self.tables) + self.numbers.shape[1]
        # Of the many one-hot inputs only one for each column is on.
        n_active = max(1, len(self.tables) + self.numbers.shape[1])
        limit = math.sqrt(6 / (n_inputs + self.width))
        for weight in [*self.tables, self.numbers]:
            draw(weight, initialization, generator, std=math.sqrt(2 / n_active), limit=limit)
        nn.init.zeros_(self.bias)


def look_up(
    codes: Tensor,
    tables: Sequence[Tensor],
    table_of: Sequence[int],
    sparse: Collection[int],
    pull: Pull | None = None,
) -> Tensor:
    """Return the rows that codes name in their tables, side by side.

    Parameters
    ----------
    codes : int tensor of shape (n_slots, batch)
    tables : sequence of tensors of shape (n_rows, width)
    table_of : sequence of int
        The position of the table of each slot.
    sparse : collection of int
        The tables whose gradients shall hold the rows of the batch only.
    pull : Pull, optional
        Draws the rows towards *unseen* when gradients are computed.

    Returns
    -------
    tensor of shape (batch, sum of widths)
    """
    if not tables:
        return empty(codes.device, codes.shape[1], 0)
    if not torch.is_grad_enabled():
        return gather(codes, [tables[i] for i in table_of])
    return _LookUp.apply(  # type: ignore[no-any-return, no-untyped-call]
        codes, table_of, sparse, pull, *tables
    )


class _LookUp(torch.autograd.Function):
    """Rows of several tables side by side, as one step of torch's graph."""

    @staticmethod
    def forward(
        ctx: Any,
        codes: Tensor,
        table_of: Sequence[int],
        sparse: Collection[int],
        pull: Pull | None,
        *tables: Tensor,
    ) -> Tensor:
        """Map codes (slots, batch) to (batch, sum of widths)."""
        by_slot = [tables[i] for i in table_of]
        joined = gather(codes, by_slot)
        ctx.table_of, ctx.sparse, ctx.pull = table_of, sparse, pull
        ctx.shapes = [table.shape for table in tables]
        if pull is None:
            ctx.save_for_backward(codes)
        else:
            unseen = torch.cat([table[UNSEEN] for table in by_slot])
            ctx.save_for_backward(codes, pull.away(joined, unseen))
        return joined

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of the tables that are learned."""
        (gradient,), (codes, *away) = gradients, ctx.saved_tensors
        if ctx.pull is not None:
            gradient = ctx.pull.added(gradient, *away, len(gradient))
        is_learned = ctx.needs_input_grad[4:]
        return (
            None,
            None,
            None,
            None,
            *scatter(gradient, codes, ctx.shapes, ctx.table_of, ctx.sparse, is_learned),
        )


def gather(codes: Tensor, by_slot: Sequence[Tensor]) -> Tensor:
    """Return the rows that codes (slots, batch) name in the table of each slot, side by side."""
    found = [torch.embedding(table, code) for table, code in zip(by_slot, codes, strict=True)]
    return torch.cat(found, dim=1)


def scatter(
    gradient: Tensor,
    codes: Tensor,
    shapes: Sequence[torch.Size],
    table_of: Sequence[int],
    sparse: Collection[int],
    is_learned: Sequence[bool],
) -> list[Tensor | None]:
    """Return the gradient of each table that is learned, of that of the rows side by side.

    Parameters
    ----------
    gradient : tensor of shape (batch, sum of widths)
    codes : int tensor of shape (n_slots, batch)
    shapes : sequence of torch.Size
        Of the tables.
    table_of, sparse
        As in `look_up`.
    is_learned : sequence of bool
        Of each table.
    """
    found: list[Tensor | None] = [None] * len(shapes)
    parts = torch.split(gradient, [shapes[i][1] for i in table_of], dim=1)
    for code, part, i in zip(codes.long().unbind(), parts, table_of, strict=True):
        if is_learned[i]:
            of_slot = gradient_of_table(code, part, shapes[i], is_sparse=i in sparse)
            before = found[i]
            found[i] = of_slot if before is None else before + of_slot
    return found


def gradient_of_table(
    code: Tensor, gradient: Tensor, shape: torch.Size, *, is_sparse: bool
) -> Tensor:
    """Return the gradient of a table of which a batch has read some rows.

    Parameters
    ----------
    code : int tensor of shape (n_read,)
        The rows of the table that were read.
    gradient : tensor of shape (n_read, width)
        Of each of them.
    shape : torch.Size
        Of the table.
    is_sparse : bool
        Whether the gradient shall hold these rows only.
    """
    code = code.long()
    if is_sparse:
        return torch.sparse_coo_tensor(code[None], gradient, shape, check_invariants=False)
    if gradient.device.type == "cpu":  # where it takes a quarter of the time, and adds in order too
        return gradient.new_zeros(shape).index_add_(0, code, gradient)
    return torch.ops.aten.embedding_dense_backward(  # type: ignore[no-any-return]
        gradient, code, shape[0], -1, False
    )


def _list(tables: nn.ParameterList) -> list[Tensor]:
    """Return tables as a list, which is iterated over in a tenth of the time."""
    return [table for table in tables._parameters.values() if table is not None]
