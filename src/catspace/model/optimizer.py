"""What moves the weights: Adam, and for large embeddings Adam on the rows of a batch alone."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from catspace.model.network import Architecture, EntityNetwork

# Tables of this many elements and more are updated row by row. Measured on one thread, with 4 to 50
# dimensions and batches of 64 to 4096 rows: a step of fused AdamW on the whole table takes as long
# as one on the rows of the batch at some 300,000 elements, 0.7 to 3 times as long at a million,
# 1.4 to 6 times at three million, and so on in proportion.
SPARSE_FROM = 1_000_000

_EPSILON = 1e-8


class QuickAdamW(torch.optim.AdamW):
    """torch's fused AdamW, bit for bit, without its search for what a step works on.

    For a network of some ten thousand weights that search takes longer than the step itself. Here
    it is done once.
    """

    def __init__(
        self, groups: list[dict[str, Any]], *, lr: float, betas: tuple[float, float]
    ) -> None:
        super().__init__(groups, lr=lr, betas=betas, fused=True)
        self._found: list[_Group] = []

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """Move all weights."""
        if not self.state:
            super().step()  # which makes the moments
            return
        if not self._found:
            self._found = [self._find(group) for group in self.param_groups]
        for found in self._found:
            settings = found.settings
            found.steps[0].add_(1)  # which is all of them
            torch._fused_adamw_(
                found.weights,
                [weight.grad for weight in found.weights],  # type: ignore[misc]
                found.means,
                found.squares,
                [],
                found.steps,
                lr=settings["lr"],
                beta1=settings["betas"][0],
                beta2=settings["betas"][1],
                weight_decay=settings["weight_decay"],
                eps=settings["eps"],
                amsgrad=False,
                maximize=False,
            )

    def load_state_dict(self, state_dict: Any) -> None:
        """Go on where a state was taken."""
        super().load_state_dict(state_dict)
        self._found = []

    def _find(self, group: dict[str, Any]) -> "_Group":
        weights = group["params"]
        states = [self.state[weight] for weight in weights]
        for state in states:
            state["step"] = states[0]["step"]  # one tensor to count with
        lists = ([state[name] for state in states] for name in ("exp_avg", "exp_avg_sq", "step"))
        return _Group(group, weights, *lists)


class _Group(NamedTuple):
    """What a step of fused AdamW works on."""

    settings: dict[str, Any]
    weights: list[Tensor]
    means: list[Tensor]
    squares: list[Tensor]
    steps: list[Tensor]


class RowAdam(torch.optim.Optimizer):
    """Adam on the rows that a batch meets; all other rows, and their moments, stay untouched.

    Also known as lazy Adam. A step costs what the batch costs, whatever the number of rows. Dense
    Adam in contrast lets a row drift on along its last gradients when no batch meets it any more.
    ``torch.optim.SparseAdam`` computes the same through sparse tensors, in twice the time.

    Parameters
    ----------
    tables : iterable of Parameter of shape (n_rows, dim)
        With sparse gradients, as ``functional.embedding(…, sparse=True)`` gives them.
    lr : float
    betas : tuple of float
        How much of the moments is kept at each step that meets a row.
    """

    def __init__(
        self, tables: Iterable[torch.nn.Parameter], *, lr: float, betas: tuple[float, float]
    ) -> None:
        super().__init__(tables, {"lr": lr, "betas": betas})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """Move the rows that have a gradient."""
        for group in self.param_groups:
            for table in group["params"]:
                if table.grad is not None:
                    self._step(table, group["lr"], *group["betas"])

    def _step(self, table: Tensor, rate: float, beta1: float, beta2: float) -> None:
        state = self.state[table]
        if not state:
            state |= {"step": 0, "mean": torch.zeros_like(table), "square": torch.zeros_like(table)}
        state["step"] += 1
        by_row = table.grad.coalesce()  # type: ignore[union-attr]  # adds up what a row gets
        rows, gradient = by_row.indices()[0], by_row.values()  # (n_met,), (n_met, dim)
        mean = state["mean"].index_select(0, rows).lerp_(gradient, 1 - beta1)
        square = state["square"].index_select(0, rows).lerp_(gradient.square(), 1 - beta2)
        state["mean"].index_copy_(0, rows, mean)
        state["square"].index_copy_(0, rows, square)
        # The moments start at zero; this makes up for it, by the steps of the table as a whole.
        scale = square.div_(1 - beta2 ** state["step"]).sqrt_().add_(_EPSILON)
        size = -rate / (1 - beta1 ** state["step"])
        # Every row is there once, so copying is adding; index_add_ takes three times as long.
        moved = table.index_select(0, rows).addcdiv_(mean, scale, value=size)
        table.index_copy_(0, rows, moved)


def sparse_tables(
    architecture: Architecture, *, optimizer: str, weight_decay: float, device: torch.device
) -> list[int]:
    """Return which embeddings are updated row by row, by their positions.

    Those with at least `SPARSE_FROM` elements; none where every step moves every row anyway
    because all weights decay, and none on devices that have no sparse gradients.
    """
    if device.type not in ("cpu", "cuda") or (optimizer == "adam" and weight_decay > 0):
        return []
    shapes = architecture.table_shapes
    return [i for i, (rows, width) in enumerate(shapes) if rows * width >= SPARSE_FROM]


def make_optimizers(
    network: EntityNetwork, *, optimizer: str, learning_rate: float, weight_decay: float
) -> list[torch.optim.Optimizer]:
    """Return what moves the weights of a network: Adam, and `RowAdam` where tables are large.

    Parameters
    ----------
    network : EntityNetwork
        Is told which of its tables shall have sparse gradients.
    optimizer : {"adamw", "adam"}
    learning_rate, weight_decay : float
    """
    tables = list(network.input.tables)
    network.input.sparse = sparse_tables(
        network.architecture,
        optimizer=optimizer,
        weight_decay=weight_decay,
        device=network.dense_layers[0].weight.device,
    )
    by_row = [tables[i] for i in network.input.sparse]
    apart = {id(weight) for weight in by_row}
    whole = [weight for weight in network.parameters() if id(weight) not in apart]
    betas = (0.9, 0.999) if optimizer == "adam" else (0.9, 0.99)
    dense: torch.optim.Optimizer
    if optimizer == "adam":
        dense = torch.optim.Adam(
            whole, lr=learning_rate, betas=betas, weight_decay=weight_decay, fused=True
        )
    else:
        # Only the dense layers are held small: an embedding row that a batch does not meet would
        # otherwise shrink all the same, the rare categories most.
        decayed = [layer.weight for layer in network.dense_layers]
        held = {id(weight) for weight in decayed}
        free = [weight for weight in whole if id(weight) not in held]
        groups = [
            {"params": decayed, "weight_decay": weight_decay},
            {"params": free, "weight_decay": 0.0},
        ]
        dense = QuickAdamW(groups, lr=learning_rate, betas=betas)
    return [dense, RowAdam(by_row, lr=learning_rate, betas=betas)] if by_row else [dense]
