"""Embeddings and numbers -> hidden layers -> output; and the network's one-hot twin.

Randomness comes only from generators that are passed in. So networks that train side by side do
not disturb each other, and a forward pass without a generator is the one for prediction.
"""

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from catspace.data.vocabulary import UNSEEN
from catspace.model.evidence import Pull

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

    n_codes: tuple[int, ...]  # the number of rows of each embedding
    dims: tuple[int, ...]  # the dimension of each embedding
    n_numbers: int
    n_bins: int  # the pieces into which the range of each number is cut
    n_outputs: int
    hidden_layer_sizes: tuple[int, ...]
    input_encoding: str = "embedding"  # {"embedding", "onehot"}
    activation: str = "relu"
    embedding_activation: str = "identity"
    output_activation: str = "identity"
    dropout: float = 0.0

    @property
    def table_shapes(self) -> list[tuple[int, int]]:
        """The rows and the width of the table of each column."""
        if self.input_encoding == "onehot":
            return [(rows, self.hidden_layer_sizes[0]) for rows in self.n_codes]
        return list(zip(self.n_codes, self.dims, strict=True))


class PiecewiseLinear(nn.Module):
    """Gives each number beside its value the part of each bin that lies below it.

    A dense layer on top of this is a piecewise linear function of the number from the start, so
    that a curve with a bend need not be learned from straight lines first (Gorishniy et al.,
    "On Embeddings for Numerical Features", 2022).
    """

    def __init__(self, n_numbers: int, n_bins: int, device: torch.device = CPU) -> None:
        super().__init__()
        self.lower: Tensor
        self.slope: Tensor
        for name in ("lower", "slope"):
            self.register_buffer(name, _empty(device, n_numbers, n_bins).zero_())
        self.width = n_numbers * (1 + n_bins)

    def set_bins(self, numbers: np.ndarray) -> None:
        """Cut the range of each number at quantiles of these rows (n_samples, n_numbers)."""
        n_bins = self.lower.shape[1]
        for i, values in enumerate(numbers.T):
            edges = bin_edges(values, n_bins)
            n_used = len(edges) - 1
            self.lower[i, :n_used] = torch.from_numpy(edges[:-1])
            self.slope[i, :n_used] = torch.from_numpy(1 / np.diff(edges))

    def forward(self, numbers: Tensor) -> Tensor:
        """Map numbers (batch, n_numbers) to (batch, width)."""
        filled = ((numbers.unsqueeze(2) - self.lower) * self.slope).clamp(0, 1)
        return torch.cat([numbers, filled.flatten(1)], dim=1)


def bin_edges(values: np.ndarray, n_bins: int) -> np.ndarray:
    """Return where to cut numbers into at most so many bins with about as many rows each.

    A value that more rows share than a bin should hold is one edge; the other values have the
    rest of the edges for themselves. Otherwise a column that is mostly zero would have all its
    edges there, and its tail none.

    Parameters
    ----------
    values : float array of shape (n_samples,)
    n_bins : int

    Examples
    --------
    >>> bin_edges(np.array([0.0] * 90 + [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]), 4).tolist()
    [0.0, 1.0, 4.0, 7.0, 10.0]
    """
    distinct, counts = np.unique(values, return_counts=True)
    is_common = counts * n_bins > len(values)
    if len(distinct) <= n_bins + 1:
        return distinct
    if not is_common.any():
        return np.unique(np.quantile(values, np.linspace(0, 1, n_bins + 1)))
    others = values[np.isin(values, distinct[is_common], invert=True)]
    rest = bin_edges(others, n_bins - int(is_common.sum()))
    return np.union1d(distinct[is_common], rest)


class EmbeddingInput(nn.Module):
    """One embedding for each categorical column, concatenated with the numbers."""

    def __init__(
        self, architecture: Architecture, n_numbers: int, device: torch.device = CPU
    ) -> None:
        super().__init__()
        self.tables = nn.ParameterList(
            _empty(device, rows, dim) for rows, dim in architecture.table_shapes
        )
        self.sparse: Collection[int] = ()  # tables whose gradients hold the rows of the batch only
        self.activation = architecture.embedding_activation
        self.width = sum(architecture.dims) + n_numbers

    def forward(self, codes: Tensor, numbers: Tensor, pull: Pull | None = None) -> Tensor:
        """Map codes (columns, batch) and numbers (batch, n_numbers) to (batch, width)."""
        vectors = _look_up(codes, self.tables, self.sparse)
        if pull is not None:
            vectors = [_pulled(vectors, self.tables, pull)]
        if self.activation != "identity":
            vectors = [ACTIVATIONS[self.activation](vector) for vector in vectors]
        return torch.cat([*vectors, numbers], dim=1) if vectors else numbers

    def vectors(self) -> list[np.ndarray]:
        """Return what the next layer sees of each row; arrays of shape (n_codes, dim)."""
        activation = ACTIVATIONS[self.activation]
        return [activation(table.detach()).cpu().numpy() for table in self.tables]

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
        rows: Sequence[Tensor] = _look_up(codes, self.tables, self.sparse)
        if pull is not None:
            rows = torch.split(_pulled(rows, self.tables, pull), self.width, dim=1)
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
    """

    def __init__(self, architecture: Architecture, device: torch.device = CPU) -> None:
        super().__init__()
        self.architecture = architecture
        sizes = list(architecture.hidden_layer_sizes)
        self.numbers = PiecewiseLinear(architecture.n_numbers, architecture.n_bins, device)
        self.input: EmbeddingInput | OneHotInput
        if architecture.input_encoding == "onehot":
            self.input = OneHotInput(architecture, self.numbers.width, device)
            sizes = sizes[1:]  # the input is the first hidden layer already
        else:
            self.input = EmbeddingInput(architecture, self.numbers.width, device)
        widths = [self.input.width, *sizes, architecture.n_outputs]
        self.layers = nn.ModuleList(
            nn.Linear(inputs, outputs, device="meta", dtype=torch.float32).to_empty(device=device)
            for inputs, outputs in pairwise(widths)
        )

    @property
    def widest(self) -> int:
        """The most values that a layer makes of one row."""
        return max(self.input.width, *(layer.out_features for layer in self.dense_layers))

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
        codes : int tensor of shape (n_columns, batch)
        numbers : float tensor of shape (batch, n_numbers)
        generator : torch.Generator, optional
            Switches dropout on, and is where it draws from.
        pull : Pull, optional
            Draws the vectors towards *unseen* when gradients are computed.

        Returns
        -------
        tensor of shape (batch, n_outputs)
        """
        x = self.input(codes, self.numbers(numbers), pull)
        if isinstance(self.input, OneHotInput):
            x = self._activate(x, generator)
        for layer in self.layers[:-1]:
            x = self._activate(layer(x), generator)  # (batch, hidden)
        x = self.layers[-1](x)
        return ACTIVATIONS[self.architecture.output_activation](x)

    def _activate(self, x: Tensor, generator: torch.Generator | None) -> Tensor:
        x = ACTIVATIONS[self.architecture.activation](x)
        dropout = self.architecture.dropout
        if generator is None or dropout == 0:
            return x
        keep = torch.empty_like(x).bernoulli_(1 - dropout, generator=generator)
        return x * keep.div_(1 - dropout)

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

    def fill_untrained_rows(self, counts: Sequence[Tensor], is_smooth: Sequence[bool]) -> None:
        """Give rows that training never met the vector of *unseen*.

        Such a row is that of missing values where fit met none. Where a column was smoothed,
        *unseen* has been learned. Elsewhere it was never met either, and is the average of the
        rows that were, weighted by how often each occurs in training.
        """
        tables = zip(self.input.tables, counts, is_smooth, strict=True)
        with torch.no_grad():
            for table, met, has_learned in tables:
                count = met.to(table)
                unseen = table[UNSEEN].clone() if has_learned else (count / count.sum()) @ table
                table[count == 0] = unseen


def _empty(device: torch.device, *shape: int) -> Tensor:
    """Return a tensor without values, whatever torch has been told to make by default."""
    return torch.empty(shape, device=device, dtype=torch.float32)


def _look_up(codes: Tensor, tables: Iterable[Tensor], sparse: Collection[int]) -> list[Tensor]:
    """Return the row of each table that each code names; tensors of shape (batch, width)."""
    return [
        functional.embedding(code, table, sparse=i in sparse)
        for i, (code, table) in enumerate(zip(codes, tables, strict=True))
    ]


def _pulled(vectors: Sequence[Tensor], tables: Iterable[Tensor], pull: Pull) -> Tensor:
    """Return the vectors side by side, drawn towards *unseen* when gradients are computed."""
    joined = torch.cat(list(vectors), dim=1)  # (batch, sum of dims)
    pull.on(joined, list(tables))
    return joined


def _draw(
    weight: Tensor, initialization: str, generator: torch.Generator, *, std: float, limit: float
) -> None:
    with torch.no_grad():
        if initialization == "uniform":
            weight.uniform_(-limit, limit, generator=generator)
        else:
            weight.normal_(0.0, std, generator=generator)
