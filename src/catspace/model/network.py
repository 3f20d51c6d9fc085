"""Embeddings and numbers -> hidden layers -> output; and the network's one-hot twin.

Randomness comes only from generators that are passed in. So networks that train side by side do
not disturb each other, and a forward pass without a generator is the one for prediction.
"""

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from catspace.data.lists import codes_of, columns_of
from catspace.data.vocabulary import UNSEEN
from catspace.model.evidence import Pull
from catspace.model.items import ItemMeans
from catspace.model.outputs import OUTPUTS
from catspace.model.pairs import PairMeans
from catspace.model.pieces import PiecewiseLinear
from catspace.model.starts import Starts

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "identity": lambda x: x,
    "relu": torch.relu,
    "silu": functional.silu,
    "gelu": functional.gelu,
    "tanh": torch.tanh,
    "logistic": torch.sigmoid,
}

# Vectors that start this close to each other move apart only where the data asks for it.
# Measured on Rossmann: starting at N(0, 1) instead costs a seventh of the accuracy.
_EMBEDDING_STD = 0.05

CPU = torch.device("cpu")


@dataclass(frozen=True)
class Architecture:
    """Everything that fixes the shape of a network."""

    n_codes: tuple[int, ...]  # the number of codes of each column
    dims: tuple[int, ...]  # the dimension of the vectors of each column
    # The pieces into which the range of each number is cut, those that pairs tell at the end
    n_bins: tuple[int, ...]
    n_outputs: int
    hidden_layer_sizes: tuple[int, ...]
    input_encoding: str = "embedding"  # {"embedding", "onehot"}
    activation: str = "relu"
    embedding_activation: str = "identity"
    output_activation: str = "identity"  # see `catspace.model.outputs`
    dropout: float = 0.0
    # The position of the table of each column; empty where each has one of its own
    table_of: tuple[int, ...] = ()
    # The items of the longest list of each column, 0 where it holds single values; empty where all
    # of them do
    lists: tuple[int, ...] = ()

    @property
    def slots(self) -> tuple[int, ...]:
        """The items of the longest list of each column, 0 where it holds single values."""
        return self.lists or (0,) * len(self.n_codes)

    @property
    def column_of(self) -> list[int]:
        """The column of each row of codes: each once, then the further items of lists."""
        return columns_of(self.slots)

    @property
    def slot_codes(self) -> list[int]:
        """The number of codes of each row of codes."""
        return codes_of(self.n_codes, self.slots)

    @property
    def tables(self) -> tuple[int, ...]:
        """The position of the table of each column."""
        return self.table_of or tuple(range(len(self.n_codes)))

    @property
    def widths(self) -> list[int]:
        """The width of the table of each column."""
        if self.input_encoding == "onehot":
            return [self.hidden_layer_sizes[0]] * len(self.n_codes)
        return list(self.dims)

    @property
    def first_columns(self) -> list[int]:
        """The position of the first column of each table."""
        return [self.tables.index(table) for table in range(len({*self.tables}))]

    @property
    def table_shapes(self) -> list[tuple[int, int]]:
        """The rows and the width of each table."""
        return [(self.n_codes[i], self.widths[i]) for i in self.first_columns]

    def add_up(self, counts: Sequence[Tensor]) -> list[Tensor]:
        """Return for each column the sum of the counts of all rows of codes with the same table.

        Slots of lists that hold no item do not count.
        """
        if not self.table_of and not self.lists:
            return list(counts)
        sums: dict[int, Tensor] = {}
        for column, count in zip(self.column_of, counts, strict=True):
            table, count = self.tables[column], count[: self.n_codes[column]]
            sums[table] = sums[table] + count if table in sums else count
        return [sums[table] for table in self.tables]

    def spread(self, counts: Sequence[Tensor]) -> list[Tensor]:
        """Return for each row of codes the counts of its column; slots without an item have 0."""
        if not self.lists:
            return list(counts)
        padded = [
            torch.cat([count, count.new_zeros(1)]) if longest else count
            for count, longest in zip(counts, self.lists, strict=True)
        ]
        return [padded[column] for column in self.column_of]


class EmbeddingInput(nn.Module):
    """One embedding for each categorical column, side by side."""

    def __init__(
        self, architecture: Architecture, n_numbers: int, device: torch.device = CPU
    ) -> None:
        super().__init__()
        self.tables = nn.ParameterList(
            _empty(device, rows, dim) for rows, dim in architecture.table_shapes
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
        if not len(self.tables):
            return _empty(codes.device, codes.shape[1], 0)
        tables = _list(self.tables)
        known = codes if self._items is None else self._items.fill(codes)
        vectors = _look_up(known, tables, self.table_of, self.sparse)
        tables = [tables[i] for i in self.table_of]
        joined = ACTIVATIONS[self.activation](_join(vectors, tables, pull))
        return joined if self._items is None else self._items.mean(joined, codes)

    def vectors(self) -> list[np.ndarray]:
        """Return what the next layer sees of each row; for each column of shape (n_codes, dim)."""
        activation = ACTIVATIONS[self.activation]
        tables = [activation(table.detach()).cpu().numpy() for table in self.tables]
        return [tables[i] for i in self._tables]

    def initialize(self, initialization: str, generator: torch.Generator) -> None:
        """Draw the vectors."""
        for table in self.tables:
            _draw(table, initialization, generator, std=_EMBEDDING_STD, limit=_EMBEDDING_STD)


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
            _empty(device, rows, width) for rows, width in architecture.table_shapes
        )
        self.sparse: Collection[int] = ()  # tables whose gradients hold the rows of the batch only
        self.numbers = nn.Parameter(_empty(device, self.width, n_numbers))
        self.bias = nn.Parameter(_empty(device, self.width))

    def forward(self, codes: Tensor, numbers: Tensor, pull: Pull | None = None) -> Tensor:
        """Map codes (columns, batch) and numbers (batch, n_numbers) to (batch, width)."""
        total = functional.linear(numbers, self.numbers, self.bias)
        tables = _list(self.tables)
        rows: Sequence[Tensor] = _look_up(codes, tables, range(len(codes)), self.sparse)
        if pull is not None:
            rows = torch.split(_join(rows, tables, pull), self.width, dim=1)
        for row in rows:
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
            _draw(weight, initialization, generator, std=math.sqrt(2 / n_active), limit=limit)
        nn.init.zeros_(self.bias)


class EntityNetwork(nn.Module):
    """The network of the paper: entity embeddings (or one-hot input) under dense layers.

    Parameters
    ----------
    architecture : Architecture
    device : torch.device, optional
        Where its weights are made, without values. On "meta" they have shapes and take no memory.
    pairs : PairMeans, optional
        What it is told about pairs of categories beside its numbers.
    """

    def __init__(
        self,
        architecture: Architecture,
        device: torch.device = CPU,
        *,
        pairs: PairMeans | None = None,
    ) -> None:
        super().__init__()
        self.architecture = architecture
        sizes = list(architecture.hidden_layer_sizes)
        self.pairs = pairs
        self.numbers = PiecewiseLinear(architecture.n_bins, device)
        self.input: EmbeddingInput | OneHotInput
        if architecture.input_encoding == "onehot":
            self.input = OneHotInput(architecture, self.numbers.width, device)
            sizes = sizes[1:]  # the input is the first hidden layer already
        else:
            self.input = EmbeddingInput(architecture, self.numbers.width, device)
        widths = [self.input.width, *sizes, architecture.n_outputs]
        self.layers = nn.ModuleList(
            _Dense(inputs, outputs, device=device, dtype=torch.float32)
            for inputs, outputs in pairwise(widths)
        )

    @property
    def widest(self) -> int:
        """The most values that a layer makes of one row."""
        widths, slots = self.architecture.widths, self.architecture.column_of
        looked_up = sum(widths[column] for column in slots) if self.architecture.lists else 0
        layers = (layer.out_features for layer in self.dense_layers)
        return max(self.input.width, looked_up, *layers)

    @property
    def dense_layers(self) -> list[nn.Linear]:
        """The hidden layers (on one-hot input: from the second on) and the output layer."""
        return [layer for layer in self.layers if isinstance(layer, nn.Linear)]

    def forward(
        self,
        codes: Tensor,
        numbers: Tensor,
        generator: torch.Generator | None = None,
        pull: Pull | None = None,
    ) -> Tensor:
        """Return the outputs for a batch.

        Parameters
        ----------
        codes : int tensor of shape (n_slots, batch)
            Of the columns, and then of the further items of lists.
        numbers : float tensor of shape (batch, n_numbers)
            In training together with what other rows tell about pairs, which is looked up where
            it is not there.
        generator : torch.Generator, optional
            Switches dropout on, and is where it draws from.
        pull : Pull, optional
            Draws the vectors towards *unseen* when gradients are computed.

        Returns
        -------
        tensor of shape (batch, n_outputs)
        """
        first, *others = self.layers
        if self.pairs is not None and numbers.shape[1] < len(self.architecture.n_bins):
            numbers = torch.cat([numbers, self.pairs(codes)], dim=1)
        pieces = self.numbers(numbers)
        if isinstance(self.input, OneHotInput):
            x = first(self._activate(self.input(codes, pieces, pull), generator))
        else:
            x = _Beside.apply(  # type: ignore[no-untyped-call]
                self.input(codes, pull), pieces, first.weight, first.bias
            )
        for layer in others:
            x = layer(self._activate(x, generator))  # (batch, hidden)
        return OUTPUTS[self.architecture.output_activation](x)

    def _activate(self, x: Tensor, generator: torch.Generator | None) -> Tensor:
        x = ACTIVATIONS[self.architecture.activation](x)
        dropout = self.architecture.dropout
        return x if generator is None or dropout == 0 else x * draw_mask(x, dropout, generator)

    def initialize(self, initialization: str, generator: torch.Generator) -> None:
        """Draw all weights.

        ``"normal"`` is He's for the layers and N(0, 0.05²) for the vectors. ``"uniform"`` is what
        the paper's Keras did: Glorot's for the layers and ±0.05 for the vectors.
        """
        self.input.initialize(initialization, generator)
        for i, layer in enumerate(self.dense_layers):
            gain = 1.0 if i == len(self.layers) - 1 else 2.0
            n_out, n_in = layer.weight.shape
            std = math.sqrt(gain / max(1, n_in))
            limit = math.sqrt(6 / (n_in + n_out))
            _draw(layer.weight, initialization, generator, std=std, limit=limit)
            nn.init.zeros_(layer.bias)

    def keep_layers(self, of: "EntityNetwork") -> None:
        """Take everything but vectors from a trained network, and let nothing else be learned.

        All vectors start where that network has *unseen*: what is known without their rows.
        """
        learned = set(map(id, self.input.tables))
        with torch.no_grad():
            for mine, other in zip(self.parameters(), of.parameters(), strict=True):
                if id(mine) in learned:
                    mine.copy_(other[UNSEEN].expand_as(mine))
                else:
                    mine.copy_(other).requires_grad_(False)

    def fill_untrained_rows(
        self, counts: Sequence[Tensor], is_smooth: Sequence[bool], starts: Starts | None = None
    ) -> None:
        """Give rows that training never met the vector of *unseen*.

        Such a row is that of missing values where fit met none. Where a column was smoothed,
        *unseen* has been learned. Elsewhere it was never met either, and is the average of the
        rows that were, weighted by how often each occurs in training.

        A vector that was given stays where it started, and a frozen table as it is.

        Parameters
        ----------
        counts : sequence of tensors of shape (n_codes,)
            For each column, of all columns together that have its table.
        is_smooth : sequence of bool
            For each column.
        starts : mapping of int to Start, optional
            Of the tables whose vectors were given.
        """
        starts, columns = starts or {}, self.architecture.first_columns
        with torch.no_grad():
            for i, (table, column) in enumerate(zip(self.input.tables, columns, strict=True)):
                met, has_learned = counts[column], is_smooth[column]
                if i in starts and starts[i].is_frozen:
                    continue
                count = met.to(table)
                unseen = table[UNSEEN].clone() if has_learned else (count / count.sum()) @ table
                is_untrained = count == 0
                if i in starts:
                    is_untrained &= ~torch.from_numpy(starts[i].is_given).to(table.device)
                table[is_untrained] = unseen


class _Dense(nn.Linear):
    """A dense layer that draws no weights when it is made: `EntityNetwork.initialize` does."""

    def reset_parameters(self) -> None:
        """Do nothing; it would draw from torch's global generator."""


class _Beside(torch.autograd.Function):
    """A dense layer on vectors and numbers side by side.

    It computes no gradient of the numbers, which nobody needs: there may be many more of them than
    components of vectors.
    """

    @staticmethod
    def forward(ctx: Any, vectors: Tensor, numbers: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """Map (batch, dims) and (batch, n_numbers) to (batch, hidden)."""
        inputs = torch.cat([vectors, numbers], dim=1)
        ctx.save_for_backward(inputs, weight)
        ctx.n_dims = vectors.shape[1]
        return functional.linear(inputs, weight, bias)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of vectors, weight and bias."""
        (gradient,), (inputs, weight) = gradients, ctx.saved_tensors
        of_vectors = gradient @ weight[:, : ctx.n_dims]
        if not ctx.needs_input_grad[2]:  # the layer stays as it is
            return of_vectors, None, None, None
        return of_vectors, None, gradient.T @ inputs, gradient.sum(0)


def _empty(device: torch.device, *shape: int) -> Tensor:
    """Return a tensor without values, whatever torch has been told to make by default."""
    return torch.empty(shape, device=device, dtype=torch.float32)


def _list(tables: nn.ParameterList) -> list[Tensor]:
    """Return tables as a list, which is iterated over in a tenth of the time."""
    return [table for table in tables._parameters.values() if table is not None]


def _look_up(
    codes: Tensor, tables: Sequence[Tensor], table_of: Iterable[int], sparse: Collection[int]
) -> list[Tensor]:
    """Return the row that each code names in its column's table; of shape (batch, width)."""
    return [
        functional.embedding(code, tables[i], sparse=i in sparse)
        for code, i in zip(codes, table_of, strict=True)
    ]


def _join(vectors: Sequence[Tensor], tables: Sequence[Tensor], pull: Pull | None) -> Tensor:
    """Return the vectors side by side, drawn towards *unseen* when gradients are computed."""
    joined = torch.cat(list(vectors), dim=1)  # (batch, sum of dims)
    if pull is not None and joined.requires_grad:  # not where every table is frozen
        pull.on(joined, tables)
    return joined


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


def _draw(
    weight: Tensor, initialization: str, generator: torch.Generator, *, std: float, limit: float
) -> None:
    with torch.no_grad():
        if initialization == "uniform":
            weight.uniform_(-limit, limit, generator=generator)
        else:
            weight.normal_(0.0, std, generator=generator)
