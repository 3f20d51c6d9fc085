"""What a batch teaches: the gradient of each weight, written out or by torch's graph.

A step of a small network takes torch's graph as long as the products that it consists of. So for
networks as the defaults make them, gradients are written out. Two threads can share a large batch:
one of them finds the gradients of layers, or each computes one of two halves. What is found does
not depend on how many threads there are.
"""

from collections.abc import Callable
from concurrent.futures import Executor
from typing import Protocol

import torch
from torch import Tensor

from catspace.data.vocabulary import UNSEEN
from catspace.model.evidence import Evidence
from catspace.model.inputs import EmbeddingInput, gather, scatter
from catspace.model.layers import relu_backward, relu_forward
from catspace.model.losses import find_loss, loss_and_gradient, weighted_mean
from catspace.model.network import EntityNetwork
from catspace.model.recipe import Recipe
from catspace.preparation.rows import Rows

# Of batches of at least this many rows another thread may find the gradients of layers. For smaller
# ones two threads wait for each other longer than they compute.
_ROWS_TO_SHARE = 512
# Batches of at least this many rows are computed in halves. Of smaller ones, half of the rows take
# so little less time than all of them that two threads gain nothing, and one thread loses.
_ROWS_TO_SPLIT = 1024
# And not where each half would fill gradients of tables with more elements than this.
_MOST_TO_SPLIT = 1 << 20


class Gradients(Protocol):
    """What leaves the weights of a network their gradients."""

    def __call__(
        self, batch: Rows, dropout: torch.Generator | None, helper: Executor | None = None
    ) -> Tensor:
        """Leave each weight its gradient, and return the mean loss of a batch.

        Parameters
        ----------
        batch : Rows
        dropout : torch.Generator, optional
            Where dropout draws from; without it there is none.
        helper : Executor, optional
            A thread that may do a part of the work.
        """


def gradients_of(
    network: EntityNetwork,
    recipe: Recipe,
    evidence: Evidence | None,
    forward: Callable[..., Tensor] | None = None,
) -> Gradients:
    """Return what finds the gradients of a network.

    Parameters
    ----------
    network : EntityNetwork
    recipe : Recipe
    evidence : Evidence, optional
        What draws vectors towards *unseen*.
    forward : callable, optional
        The network's forward pass, where something else listens to torch's graph of it.
    """
    if forward is None and _is_usual(network):
        return WrittenOut(network, recipe, evidence)
    return ByGraph(network, recipe, evidence, forward)


def _is_usual(network: EntityNetwork) -> bool:
    shape = network.architecture
    is_embedded = isinstance(network.input, EmbeddingInput) and bool(shape.n_codes)
    is_plain = shape.embedding_activation == "identity" and not shape.lists
    return is_embedded and is_plain and shape.activation == "relu"


class ByGraph:
    """Gradients by torch's graph, of any network; the parameters are those of `gradients_of`."""

    def __init__(
        self,
        network: EntityNetwork,
        recipe: Recipe,
        evidence: Evidence | None,
        forward: Callable[..., Tensor] | None = None,
    ) -> None:
        self._forward, self._loss_of = forward or network, find_loss(recipe)
        self._evidence, self._weights = evidence, list(network.parameters())

    def __call__(
        self, batch: Rows, dropout: torch.Generator | None, helper: Executor | None = None
    ) -> Tensor:
        """Leave each weight its gradient, and return the mean loss of a batch."""
        pull = None if self._evidence is None else self._evidence.pull(batch)
        output = self._forward(batch.codes, batch.numbers, dropout, pull)
        loss = weighted_mean(self._loss_of(output, batch.target), batch.weight)
        for weight in self._weights:  # torch's zero_grad would look for them at every step
            weight.grad = None
        loss.backward()  # type: ignore[no-untyped-call]
        return loss.detach()


class WrittenOut:
    """Gradients of a network with rectifiers on embeddings, without torch's graph.

    It must be made when the network is on its device, and tables know whether their gradients
    are sparse. The parameters are those of `gradients_of`.
    """

    def __init__(self, network: EntityNetwork, recipe: Recipe, evidence: Evidence | None) -> None:
        assert isinstance(network.input, EmbeddingInput)
        shape = network.architecture
        self._network, self._recipe, self._evidence = network, recipe, evidence
        self._dropout, self._outputs = shape.dropout, shape.output_activation
        self._tables, self._table_of = list(network.input.tables), network.input.table_of
        self._sparse = network.input.sparse
        self._by_slot = [self._tables[i].detach() for i in self._table_of]
        self._unseen = [table[UNSEEN] for table in self._by_slot]  # views of them
        self._shapes = [table.shape for table in self._tables]
        layers = network.dense_layers
        self._weights = [layer.weight.detach() for layer in layers]
        self._biases = [layer.bias.detach() for layer in layers]
        self._learned = [part for layer in layers for part in (layer.weight, layer.bias)]
        self._are_tables_learned = [table.requires_grad for table in self._tables]
        self._are_layers_learned = [layer.weight.requires_grad for layer in layers]
        self._n_dims = sum(self._shapes[i][1] for i in self._table_of)
        self._is_on_cpu = self._weights[0].device.type == "cpu"
        dense = [table for i, table in enumerate(self._tables) if i not in self._sparse]
        in_tables = sum(table.numel() for table in dense)
        self._is_split = self._is_on_cpu and in_tables <= _MOST_TO_SPLIT

    def __call__(
        self, batch: Rows, dropout: torch.Generator | None, helper: Executor | None = None
    ) -> Tensor:
        """Leave each weight its gradient, and return the mean loss of a batch."""
        dropout = None if self._dropout == 0 else dropout
        weights = [*self._tables, *self._learned]
        for weight in weights:  # before there are others, which take as much memory
            weight.grad = None
        loss, found = self._of_halves(batch, dropout, helper)
        for weight, gradient in zip(weights, found, strict=True):
            weight.grad = gradient
        return loss

    def _of_halves(
        self, batch: Rows, dropout: torch.Generator | None, helper: Executor | None
    ) -> tuple[Tensor, list[Tensor | None]]:
        n = len(batch)
        if not self._is_split or n < _ROWS_TO_SPLIT:
            is_shared = self._is_on_cpu and n >= _ROWS_TO_SHARE
            return self._of_rows(batch, n, dropout, helper if is_shared else None)
        first, second = batch.take(slice(0, n // 2)), batch.take(slice(n // 2, n))
        also_dropout = None if dropout is None else _branch(dropout)
        if helper is None:
            other = self._of_rows(second, n, also_dropout)
            loss, found = self._of_rows(first, n, dropout)
        else:
            waiting = helper.submit(self._of_rows, second, n, also_dropout)
            loss, found = self._of_rows(first, n, dropout)
            other = waiting.result()
        return loss + other[0], [
            None if mine is None or theirs is None else mine.add_(theirs)
            for mine, theirs in zip(found, other[1], strict=True)
        ]

    @torch.no_grad()
    def _of_rows(
        self,
        rows: Rows,
        n_samples: int,
        dropout: torch.Generator | None,
        helper: Executor | None = None,
    ) -> tuple[Tensor, list[Tensor | None]]:
        """Return what rows add to the mean loss of so many, and to the gradient of each weight."""
        network = self._network
        vectors = gather(rows.codes, self._by_slot)
        inputs = torch.cat([vectors, network.read_numbers(rows.codes, rows.numbers)], dim=1)
        read, output = relu_forward(inputs, self._weights, self._biases, self._dropout, dropout)
        loss, gradient = loss_and_gradient(
            output, rows.target, rows.weight, n_samples, self._recipe, self._outputs
        )
        scale = 1.0 if dropout is None else 1 / (1 - self._dropout)
        gradient, of_layers = relu_backward(
            gradient, read, self._weights, scale, self._are_layers_learned, helper
        )
        of_vectors = gradient @ self._weights[0][:, : self._n_dims]
        if self._evidence is not None:
            pull = self._evidence.pull(rows)
            away = pull.away(vectors, torch.cat(self._unseen))
            of_vectors = pull.added(of_vectors, away, n_samples)
        of_tables = scatter(
            of_vectors,
            rows.codes,
            self._shapes,
            self._table_of,
            self._sparse,
            self._are_tables_learned,
        )
        return loss, [*of_tables, *of_layers()]


def _branch(generator: torch.Generator) -> torch.Generator:
    """Return a generator that another thread may draw from, and whose draws follow from this."""
    cpu = torch.device("cpu")
    seed = torch.randint(2**63 - 1, (), generator=generator, device=cpu, dtype=torch.int64)
    return torch.Generator(cpu).manual_seed(int(seed))
