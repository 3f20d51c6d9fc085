"""Embeddings and numbers -> hidden layers -> output; and the network's one-hot twin.

Randomness comes only from generators that are passed in. So networks that train side by side do
not disturb each other, and a forward pass without a generator is the one for prediction.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from catspace.data.vocabulary import UNSEEN
from catspace.model.architecture import Architecture
from catspace.model.evidence import Pull
from catspace.model.inputs import EmbeddingInput, OneHotInput
from catspace.model.layers import CPU, Dense, activate, make_layers, run_layers
from catspace.model.outputs import OUTPUTS
from catspace.model.pairs import PairMeans
from catspace.model.pieces import PiecewiseLinear
from catspace.model.starts import Starts


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
        self.layers = make_layers(widths, device)

    @property
    def widest(self) -> int:
        """The most values that a layer makes of one row."""
        widths, slots = self.architecture.widths, self.architecture.column_of
        looked_up = sum(widths[column] for column in slots) if self.architecture.lists else 0
        layers = (layer.out_features for layer in self.dense_layers)
        return max(self.input.width, looked_up, *layers)

    @property
    def dense_layers(self) -> list[Dense]:
        """The hidden layers (on one-hot input: from the second on) and the output layer."""
        return [layer for layer in self.layers if isinstance(layer, Dense)]

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
        pieces = self.read_numbers(codes, numbers)
        shape, layers = self.architecture, self.dense_layers
        if isinstance(self.input, OneHotInput):
            x = self.input(codes, pieces, pull)
            for layer in layers:
                x = layer(activate(x, shape.activation, dropout=shape.dropout, generator=generator))
        else:
            x = run_layers(
                self.input(codes, pull),
                pieces,
                layers,
                activation=shape.activation,
                dropout=shape.dropout,
                generator=generator,
            )
        return OUTPUTS[shape.output_activation](x)

    def read_numbers(self, codes: Tensor, numbers: Tensor) -> Tensor:
        """Return what layers read of numbers, and of pairs of categories; (batch, width)."""
        if self.pairs is not None and numbers.shape[1] < len(self.architecture.n_bins):
            numbers = torch.cat([numbers, self.pairs(codes)], dim=1)
        found: Tensor = self.numbers(numbers)
        return found

    def initialize(self, initialization: str, generator: torch.Generator) -> None:
        """Draw all weights.

        ``"normal"`` is He's for the layers and N(0, 0.05²) for the vectors. ``"uniform"`` is what
        the paper's Keras did: Glorot's for the layers and ±0.05 for the vectors.
        """
        self.input.initialize(initialization, generator)
        for layer in self.dense_layers:
            layer.initialize(initialization, generator, is_last=layer is self.layers[-1])

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
