"""What moves the weights: Adam, and for large embeddings Adam on the rows of a batch alone."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from catspace.model.architecture import Architecture
from catspace.model.network import EntityNetwork

# Tables of this many elements and more are updated row by row. Measured on one thread, with 4 to 50
# dimensions and batches of 64 to 4096 rows: a step of fused AdamW on the whole table takes as long
# as one on the rows of the batch at some 300,000 elements, 0.7 to 3 times as long at a million,
# 1.4 to 6 times at three million, and so on in proportion.
SPARSE_FROM = 1_000_000

_EPSILON = 1e-8


class DenseAdam:
    """Adam on all weights: torch's fused kernels, bit for bit what torch.optim makes of them.

    Without torch.optim's bookkeeping: for a network of some ten thousand weights its search for
    what to work on takes longer than the step, and its imports take as long as those of torch.

    Parameters
    ----------
    groups : iterable of tuples
        Weights, and how much they decay.
    betas : tuple of float
        How much of the moments is kept at each step.
    is_decoupled : bool
        Whether decay shrinks the weights (AdamW), or is a penalty on them (Adam).

    Attributes
    ----------
    share : float
        Of the learning rate, that these weights move at.
    """

    def __init__(
        self,
        groups: Iterable[tuple[Iterable[Tensor], float]],
        *,
        betas: tuple[float, float],
        is_decoupled: bool,
    ) -> None:
        self.betas, self.share = betas, 1.0
        self._kernel = torch._fused_adamw_ if is_decoupled else torch._fused_adam_
        self.groups = [_Group.of(list(weights), decay) for weights, decay in groups]

    @torch.no_grad()
    def step(self, rate: float) -> None:
        """Move all weights that have a gradient, at this learning rate."""
        for group in self.groups:
            group.step.add_(1)
            self._kernel(
                group.weights,
                [weight.grad for weight in group.weights],  # type: ignore[misc]
                group.means,
                group.squares,
                [],
                [group.step] * len(group.weights),
                lr=rate * self.share,
                beta1=self.betas[0],
                beta2=self.betas[1],
                weight_decay=group.decay,
                eps=_EPSILON,
                amsgrad=False,
                maximize=False,
            )

    def state(self) -> list[dict[str, Any]]:
        """Return what changes from step to step."""
        return [
            {"step": group.step, "means": group.means, "squares": group.squares}
            for group in self.groups
        ]

    def restore(self, state: Sequence[Mapping[str, Any]]) -> None:
        """Go on where a state was taken."""
        for group, found in zip(self.groups, state, strict=True):
            group.step.copy_(found["step"])
            for name in ("means", "squares"):
                for moment, kept in zip(getattr(group, name), found[name], strict=True):
                    moment.copy_(kept)


@dataclass(frozen=True)
class _Group:
    """Weights that decay alike, and their moments."""

    weights: list[Tensor]
    decay: float
    means: list[Tensor]
    squares: list[Tensor]
    step: Tensor

    @classmethod
    def of(cls, weights: list[Tensor], decay: float) -> "_Group":
        means, squares = ([torch.zeros_like(one) for one in weights] for _ in range(2))
        device = weights[0].device if weights else None
        step = torch.zeros((), dtype=torch.float32, device=device)
        return cls(weights, decay, means, squares, step)


class RowAdam:
    """Adam on the rows that a batch meets; all other rows, and their moments, stay untouched.

    Also known as lazy Adam. A step costs what the batch costs, whatever the number of rows. Dense
    Adam in contrast lets a row drift on along its last gradients when no batch meets it any more.
    ``torch.optim.SparseAdam`` computes the same through sparse tensors, in twice the time.

    Parameters
    ----------
    tables : iterable of Parameter of shape (n_rows, dim)
        With sparse gradients, as ``functional.embedding(…, sparse=True)`` gives them.
    betas : tuple of float
        How much of the moments is kept at each step that meets a row.

    Attributes
    ----------
    shares : list of tensors of shape (n_rows,), or None
        Of the learning rate, that each row of each table moves at; None is all of it.
    """

    def __init__(self, tables: Iterable[Tensor], *, betas: tuple[float, float]) -> None:
        self.tables, self.betas, self._n_steps = list(tables), betas, 0
        self.shares: list[Tensor | None] = [None] * len(self.tables)
        self.means, self.squares = (
            [torch.zeros_like(table) for table in self.tables] for _ in range(2)
        )

    @torch.no_grad()
    def step(self, rate: float) -> None:
        """Move the rows that have a gradient, at this learning rate."""
        self._n_steps += 1
        moments = zip(self.tables, self.means, self.squares, self.shares, strict=True)
        for table, means, squares, shares in moments:
            self._move(table, means, squares, shares, rate)

    def state(self) -> dict[str, Any]:
        """Return what changes from step to step."""
        return {"step": self._n_steps, "means": self.means, "squares": self.squares}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on where a state was taken."""
        self._n_steps = state["step"]
        for moments, kept in ((self.means, state["means"]), (self.squares, state["squares"])):
            for moment, found in zip(moments, kept, strict=True):
                moment.copy_(found)

    def _move(
        self, table: Tensor, means: Tensor, squares: Tensor, shares: Tensor | None, rate: float
    ) -> None:
        beta1, beta2 = self.betas
        by_row = table.grad.coalesce()  # type: ignore[union-attr]  # adds up what a row gets
        rows, gradient = by_row.indices()[0], by_row.values()  # (n_met,), (n_met, dim)
        mean = means.index_select(0, rows).lerp_(gradient, 1 - beta1)
        square = squares.index_select(0, rows).lerp_(gradient.square(), 1 - beta2)
        means.index_copy_(0, rows, mean)
        squares.index_copy_(0, rows, square)
        # The moments start at zero; this makes up for it, by the steps of the table as a whole.
        scale = square.div_(1 - beta2**self._n_steps).sqrt_().add_(_EPSILON)
        size = -rate / (1 - beta1**self._n_steps)
        if shares is not None:
            mean = mean * shares.index_select(0, rows)[:, None]
        # Every row is there once, so copying is adding; index_add_ takes three times as long.
        moved = table.index_select(0, rows).addcdiv_(mean, scale, value=size)
        table.index_copy_(0, rows, moved)


def is_updated_by_row(
    n_elements: int, *, optimizer: str, weight_decay: float, device: torch.device
) -> bool:
    """Whether a step moves only the rows of its batch, in a table with so many elements.

    With at least `SPARSE_FROM` of them; never where every step moves every row anyway because all
    weights decay, nor on devices that have no sparse gradients.
    """
    if device.type not in ("cpu", "cuda") or (optimizer == "adam" and weight_decay > 0):
        return False
    return n_elements >= SPARSE_FROM


def sparse_tables(
    architecture: Architecture, *, optimizer: str, weight_decay: float, device: torch.device
) -> list[int]:
    """Return which embeddings are updated row by row, by their positions."""
    return [
        i
        for i, (rows, width) in enumerate(architecture.table_shapes)
        if is_updated_by_row(
            rows * width, optimizer=optimizer, weight_decay=weight_decay, device=device
        )
    ]


@dataclass(frozen=True)
class Shares:
    """Of the learning rate, what weights move at that have learned before."""

    tables: Sequence[Tensor]  # of shape (n_codes,): of each row of each table
    layers: float  # of all other weights

    def of_new(self) -> "Shares":
        """Return those where only rows move that have learned nothing yet."""
        return Shares([(table == 1).to(table) for table in self.tables], 0.0)

    def apply(self, optimizers: Iterable[DenseAdam | RowAdam], sparse: Iterable[int]) -> None:
        """Let the weights of a network move so from the next step on.

        Parameters
        ----------
        optimizers : iterable of DenseAdam or RowAdam
        sparse : iterable of int
            The positions of the tables that are updated row by row.
        """
        for optimizer in optimizers:
            if isinstance(optimizer, RowAdam):
                optimizer.shares = [self.tables[i] for i in sparse]
            else:
                optimizer.share = self.layers


def make_optimizers(
    network: EntityNetwork, *, optimizer: str, weight_decay: float, by_row: bool = False
) -> list[DenseAdam | RowAdam]:
    """Return what moves the weights of a network: Adam, and `RowAdam` where tables are large.

    Parameters
    ----------
    network : EntityNetwork
        Is told which of its tables shall have sparse gradients. Weights that need none stay.
    optimizer : {"adamw", "adam"}
    weight_decay : float
    by_row : bool
        Whether all tables are updated row by row, so that rows can have rates of their own.
    """
    tables = list(network.input.tables)
    wanted: Iterable[int] = range(len(tables))
    if not by_row:
        wanted = sparse_tables(
            network.architecture,
            optimizer=optimizer,
            weight_decay=weight_decay,
            device=network.dense_layers[0].weight.device,
        )
    network.input.sparse = [i for i in wanted if tables[i].requires_grad]
    return make_adam(
        [weight for weight in network.parameters() if weight.requires_grad],
        layers=[layer.weight for layer in network.dense_layers if layer.weight.requires_grad],
        by_row=[tables[i] for i in network.input.sparse],
        optimizer=optimizer,
        weight_decay=weight_decay,
    )


def make_adam(
    weights: Sequence[Tensor],
    *,
    layers: Sequence[Tensor],
    by_row: Sequence[Tensor],
    optimizer: str,
    weight_decay: float,
) -> list[DenseAdam | RowAdam]:
    """Return what moves weights, of which some are of dense layers and some have sparse gradients.

    Parameters
    ----------
    weights : sequence of tensors
        All of them.
    layers, by_row : sequences of tensors
        Those of dense layers; and tables whose gradients hold the rows of a batch only.
    optimizer : {"adamw", "adam"}
    weight_decay : float
    """
    apart = {id(weight) for weight in by_row}
    whole = [one for one in weights if id(one) not in apart]
    is_decoupled = optimizer == "adamw"
    betas = (0.9, 0.99) if is_decoupled else (0.9, 0.999)
    groups: list[tuple[Sequence[Tensor], float]] = [(whole, weight_decay)]
    if is_decoupled:
        # Only the dense layers are held small: an embedding row that a batch does not meet would
        # otherwise shrink all the same, the rare categories most.
        held = {id(weight) for weight in layers}
        groups = [
            (layers, weight_decay),
            ([weight for weight in whole if id(weight) not in held], 0.0),
        ]
    groups = [(moved, decay) for moved, decay in groups if moved]
    dense = DenseAdam(groups, betas=betas, is_decoupled=is_decoupled)
    return [dense, RowAdam(by_row, betas=betas)] if by_row else [dense]
