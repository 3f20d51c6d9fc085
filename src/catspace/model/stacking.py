"""Copies of one network that are computed together: their layers are matrices of one product."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from catspace.data.vocabulary import UNSEEN
from catspace.model.inputs import OneHotInput, gradient_of_table
from catspace.model.layers import ACTIVATIONS, draw_mask
from catspace.model.network import EntityNetwork


class StackedNetworks:
    """Copies of one network, which are computed together and learn apart.

    Parameters
    ----------
    network : EntityNetwork
        With the weights that all of them start from.
    n_networks : int
    have_own_codes : bool
        Whether each network reads codes of its own. The vectors that all networks have for a code
        are one row of their table otherwise, which is looked up faster.
    """

    def __init__(
        self, network: EntityNetwork, n_networks: int, *, have_own_codes: bool = False
    ) -> None:
        self._network, self._n = network, n_networks
        self._n_rows = n_networks if have_own_codes else 1  # of the table, for each code
        self.is_sparse = False  # whether gradients of the table hold the rows of the batch only
        tables = [table.detach() for table in network.input.tables]
        self._sizes = [len(table) for table in tables]
        self._widths = [table.shape[1] for table in tables]
        # Shorter vectors are filled up with zeros. They meet weights of zero, so both stay zeros.
        self._width = max(self._widths)
        sizes = torch.tensor(self._sizes, dtype=torch.int32)
        # The first code of each column among all of them, and the rows of a code
        self._begins = (sizes.cumsum(0, dtype=torch.int32) - sizes)[:, None, None]
        self._begins = self._begins.to(tables[0].device)
        self._rows = torch.arange(self._n_rows, dtype=torch.int32, device=tables[0].device)
        self._unseen = self.places(torch.full_like(self._begins, UNSEEN)).flatten()
        rows = torch.cat([functional.pad(one, (0, self._width - one.shape[1])) for one in tables])
        # (all codes, networks · width), or (all codes · networks, width)
        self.table = _learned(rows.repeat(1, n_networks).view(len(rows) * self._n_rows, -1))
        is_filled = torch.cat([torch.arange(self._width) < width for width in self._widths])
        self._places = torch.nonzero(is_filled).flatten().to(rows.device)
        self._is_filled = is_filled.to(rows).view(len(tables), 1, self._width)
        self._is_filled = self._is_filled.repeat(1, 1, n_networks)  # (columns, 1, networks · width)

        dense = [(layer.weight.detach(), layer.bias.detach()) for layer in network.dense_layers]
        if isinstance(network.input, OneHotInput):
            numbers, bias = network.input.numbers.detach(), network.input.bias.detach()
            self.vectors: Tensor | None = None
        else:
            (weight, bias), *dense = dense
            vectors = weight.new_zeros(len(is_filled), len(weight))
            vectors[self._places] = weight[:, : len(self._places)].T
            self.vectors = self._stack(vectors)  # (networks, columns · width, hidden)
            numbers = weight[:, len(self._places) :]
        self.from_numbers = _learned(numbers.repeat(n_networks, 1))
        self.first_bias = _learned(bias.repeat(n_networks))
        self.weights = [self._stack(weight.T) for weight, _ in dense]
        self.biases = [self._stack(bias[None]) for _, bias in dense]

    @property
    def parameters(self) -> list[Tensor]:
        """All that is learned."""
        first = [] if self.vectors is None else [self.vectors]
        return [self.table, *first, self.from_numbers, self.first_bias, *self.weights, *self.biases]

    @property
    def decayed(self) -> list[Tensor]:
        """The weights of dense layers."""
        first = [] if self.vectors is None else [self.vectors, self.from_numbers]
        return [*first, *self.weights]

    def places(self, codes: Tensor) -> Tensor:
        """Return the rows of the table that codes stand for.

        Parameters
        ----------
        codes : int tensor of shape (n_columns, batch, 1) or (n_columns, batch, n_networks)
            Of each network, where each has its own.

        Returns
        -------
        int tensor of shape (n_columns, batch, n_rows)
            One row holds the vectors of all networks, or there is one for each of them.
        """
        return (codes + self._begins) * self._n_rows + self._rows

    def __call__(
        self, places: Tensor, numbers: Tensor, generator: torch.Generator, pulls: Tensor
    ) -> Tensor:
        """Return what the last layers of all networks give for a batch, in training.

        Parameters
        ----------
        places : int tensor of shape (n_columns, batch, n_rows)
            What `places` gives.
        numbers : float tensor of shape (batch, n_numbers)
        generator : torch.Generator
            Where dropout draws from, once for all networks.
        pulls : float tensor of shape (n_columns, batch, n_networks)
            What draws the vectors of each row towards *unseen*.

        Returns
        -------
        tensor of shape (n_networks, batch, n_outputs)
        """
        shape = self._network.architecture
        vectors = functional.embedding(places, self.table, sparse=self.is_sparse).flatten(2)
        self._pull(vectors, pulls)
        pieces = self._network.numbers(numbers)
        x = functional.linear(pieces, self.from_numbers, self.first_bias)
        if self.vectors is None:
            x = self._apart(x + vectors.sum(0))
        else:
            n_columns, batch, _ = vectors.shape
            if shape.embedding_activation != "identity":
                vectors = ACTIVATIONS[shape.embedding_activation](vectors) * self._is_filled
            by_network = vectors.view(n_columns, batch, self._n, self._width).permute(2, 1, 0, 3)
            x = torch.baddbmm(self._apart(x), by_network.reshape(self._n, batch, -1), self.vectors)
        for weight, bias in zip(self.weights, self.biases, strict=True):
            x = ACTIVATIONS[shape.activation](x)  # (networks, batch, hidden)
            if shape.dropout:
                x = x * draw_mask(x[0], shape.dropout, generator)
            x = torch.baddbmm(bias, x, weight)
        return x

    @property
    def is_written_out(self) -> bool:
        """Whether `gradients` can be asked, and no graph is needed."""
        shape = self._network.architecture
        is_plain = self.vectors is not None and shape.embedding_activation == "identity"
        return is_plain and shape.activation == "relu"

    @torch.no_grad()
    def gradients(
        self,
        places: Tensor,
        numbers: Tensor,
        generator: torch.Generator,
        pulls: Tensor,
        loss_of: Callable[[Tensor], tuple[Tensor, Tensor]],
    ) -> Tensor:
        """Leave each weight its gradient, and return the loss; without torch's graph.

        Parameters
        ----------
        places, numbers, generator, pulls
            As for a call.
        loss_of : callable
            Maps what the last layers give, (n_networks · batch, n_outputs), to the sum of the mean
            losses of all networks, and its gradient.
        """
        assert self.vectors is not None
        shape, n, width = self._network.architecture, self._n, self._width
        vectors = functional.embedding(places, self.table).flatten(2)
        n_columns, batch, _ = vectors.shape
        pieces = self._network.numbers(numbers)
        by_network = vectors.view(n_columns, batch, n, width).permute(2, 1, 0, 3)
        inputs = by_network.reshape(n, batch, -1)
        x = functional.linear(pieces, self.from_numbers, self.first_bias)
        x = torch.baddbmm(self._apart(x), inputs, self.vectors)
        read = list[Tensor]()
        for weight, bias in zip(self.weights, self.biases, strict=True):
            x = x.relu_()  # (networks, batch, hidden)
            if shape.dropout:
                x = x.mul_(draw_mask(x[0], shape.dropout, generator))
            read.append(x)
            x = torch.baddbmm(bias, x, weight)
        loss, gradient = loss_of(x.flatten(0, 1))
        gradient, scale = gradient.view_as(x), 1 / (1 - shape.dropout)
        layers = list(zip(read, self.weights, self.biases, strict=True))
        for one, weight, bias in reversed(layers):
            bias.grad, weight.grad = gradient.sum(1, keepdim=True), one.mT @ gradient
            gradient = torch.ops.aten.threshold_backward(gradient @ weight.mT, one, 0)
            gradient = gradient.mul_(scale) if shape.dropout else gradient
        self.vectors.grad = inputs.mT @ gradient
        together = gradient.permute(1, 0, 2).reshape(batch, -1)  # (batch, networks · hidden)
        self.first_bias.grad = together.sum(0)
        self.from_numbers.grad = together.T @ pieces
        of_inputs = (gradient @ self.vectors.mT).view(n, batch, n_columns, width)
        of_vectors = of_inputs.permute(2, 1, 0, 3)  # (columns, batch, networks, width)
        away = vectors.sub_(self._vectors_of_unseen()).view(n_columns, batch, n, width)
        pulled = away.mul_((pulls / batch)[..., None]).add_(of_vectors)
        self.table.grad = gradient_of_table(
            places.flatten(),
            pulled.view(-1, self.table.shape[1]),
            self.table.shape,
            is_sparse=self.is_sparse,
        )
        return loss

    @torch.no_grad()
    def apart(self) -> list[EntityNetwork]:
        """Return the networks, each by itself."""
        return [self._unstack(k) for k in range(self._n)]

    def _unstack(self, k: int) -> EntityNetwork:
        shape = self._network.architecture
        network = EntityNetwork(shape, self.table.device, pairs=self._network.pairs)
        network.numbers = self._network.numbers
        side_by_side = self.table.view(-1, self._n * self._width)
        rows = torch.split(side_by_side[:, k * self._width : (k + 1) * self._width], self._sizes)
        for table, found, width in zip(network.input.tables, rows, self._widths, strict=True):
            table.copy_(found[:, :width])
        hidden = len(self.first_bias) // self._n
        own = slice(k * hidden, (k + 1) * hidden)
        dense = network.dense_layers
        if isinstance(network.input, OneHotInput):
            network.input.numbers.copy_(self.from_numbers[own])
            network.input.bias.copy_(self.first_bias[own])
        else:
            assert self.vectors is not None
            first, *dense = dense
            vectors = self.vectors[k, self._places].T
            first.weight.copy_(torch.cat([vectors, self.from_numbers[own]], dim=1))
            first.bias.copy_(self.first_bias[own])
        for layer, weight, bias in zip(dense, self.weights, self.biases, strict=True):
            layer.weight.copy_(weight[k].T)
            layer.bias.copy_(bias[k, 0])
        return network

    def _pull(self, vectors: Tensor, pulls: Tensor) -> None:
        """Add to the gradient of vectors of shape (n_columns, batch, networks · width)."""
        with torch.no_grad():
            away = (vectors - self._vectors_of_unseen()).view(*pulls.shape, self._width)
        shape = vectors.shape
        n_samples = shape[1]  # the loss is their mean

        # It may not know the vectors themselves: torch would keep both for ever.
        def pulled(gradient: Tensor) -> Tensor:
            apart = gradient.view(away.shape)
            return torch.addcmul(apart, pulls[..., None], away, value=1 / n_samples).view(shape)

        vectors.register_hook(pulled)  # type: ignore[no-untyped-call]

    def _vectors_of_unseen(self) -> Tensor:
        """Return the vectors of *unseen*, of shape (n_columns, 1, networks · width)."""
        return self.table.index_select(0, self._unseen).view(len(self._sizes), 1, -1)

    def _apart(self, x: Tensor) -> Tensor:
        """Return (batch, networks · hidden) as (networks, batch, hidden)."""
        return x.view(len(x), self._n, -1).transpose(0, 1)

    def _stack(self, weight: Tensor) -> Tensor:
        return _learned(weight.repeat(self._n, *[1] * weight.ndim))


def _learned(weight: Tensor) -> Tensor:
    return weight.contiguous().requires_grad_()
