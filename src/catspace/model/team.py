"""Processes that train one network together, each with rows of its own: what they exchange."""

from collections.abc import Callable
from typing import Protocol

import torch
import torch.distributed
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

from catspace.data.vocabulary import UNSEEN
from catspace.model.network import EntityNetwork

# After these torch's DistributedDataParallel changes nothing any more about what it sends together.
_STEPS_TO_SETTLE = 3


class Team(Protocol):
    """Those who train a network together."""

    @property
    def rank(self) -> int:
        """Which of them this process is."""

    def join(self, network: EntityNetwork) -> Callable[..., Tensor] | None:
        """Return a forward pass of the network, whose gradients are the average of all processes.

        None where there is nothing to average.
        """

    def exchange(self, network: EntityNetwork) -> None:
        """Average what `join` does not: gradients that hold the rows of a batch only."""

    def sum(self, value: Tensor) -> Tensor:
        """Return the sum of what each process has."""


class Alone:
    """A team of one, which has nothing to exchange."""

    rank = 0

    def join(self, network: EntityNetwork) -> None:
        """Return nothing: gradients are those of this process."""

    def exchange(self, network: EntityNetwork) -> None:
        """Do nothing."""

    def sum(self, value: Tensor) -> Tensor:
        """Return the value."""
        return value


class Processes:
    """All processes of torch.distributed's default group.

    Dense gradients go through torch's DistributedDataParallel, which sends them while others are
    still computed. It knows nothing of tables with sparse gradients; of those the rows that any
    batch has met are gathered, so that what is sent does not depend on the size of the table.
    """

    @property
    def rank(self) -> int:
        """Which of them this process is."""
        return torch.distributed.get_rank()

    def join(self, network: EntityNetwork) -> Callable[..., Tensor]:
        """Return the network's forward pass, whose gradients are the average of all processes."""
        apart = [f"input.tables.{i}" for i in network.input.sparse]
        # Where torch looks for what it shall leave alone.
        network._ddp_params_and_buffers_to_ignore = apart  # type: ignore[assignment]
        # The buffers are the same from the start: all processes know the same quantiles.
        joined = DistributedDataParallel(
            network, forward_sync_buffers=False, gradient_as_bucket_view=True, static_graph=True
        )
        _settle_buckets(joined, network)
        return joined

    def exchange(self, network: EntityNetwork) -> None:
        """Average gradients that hold the rows of a batch only."""
        n = torch.distributed.get_world_size()
        tables = list(network.input.tables)
        for table in (tables[i] for i in network.input.sparse):
            gradient = table.grad.coalesce()
            rows = self._gather(gradient.indices()[0])
            values = self._gather(gradient.values()) / n
            table.grad = torch.sparse_coo_tensor(
                rows[None], values, table.shape, check_invariants=False
            )

    def sum(self, value: Tensor) -> Tensor:
        """Return the sum of what each process has."""
        total = value.clone()
        torch.distributed.all_reduce(total)
        return total

    def _gather(self, part: Tensor) -> Tensor:
        """Return the parts of all processes, one after the other; they may differ in length."""
        n = torch.distributed.get_world_size()
        lengths = [torch.zeros(1, dtype=torch.int64, device=part.device) for _ in range(n)]
        torch.distributed.all_gather(lengths, torch.tensor([len(part)], device=part.device))
        longest = max(int(length) for length in lengths)
        padded = part.new_zeros(longest, *part.shape[1:])
        padded[: len(part)] = part
        parts = [torch.empty_like(padded) for _ in range(n)]
        torch.distributed.all_gather(parts, padded)
        return torch.cat([one[: int(n)] for one, n in zip(parts, lengths, strict=True)])


def _settle_buckets(joined: DistributedDataParallel, network: EntityNetwork) -> None:
    """Compute some gradients for nothing, so that the first that counts is sent like all others.

    After its first steps torch puts gradients into other packages. With three processes and more
    that changes the order in which they are added up, so that a training which goes on from a state
    would, for as many steps, not do what it would have done without a pause.
    """
    shape = network.architecture
    device = network.dense_layers[0].weight.device
    codes = torch.full((len(shape.slot_codes), 1), UNSEEN, dtype=torch.int32, device=device)
    numbers = torch.zeros(1, len(shape.n_bins), dtype=torch.float32, device=device)
    for _ in range(_STEPS_TO_SETTLE):
        joined(codes, numbers).sum().backward()
    for weight in network.parameters():
        weight.grad = None
