"""What a training goes on from: a network that has learned, and how much that rests on.

What a vector says rests on the rows that have moved it. When others come, it moves by the share of
its rows that are new: that of a category which was never met at the full rate, that of a store with
800 rows and 30 new ones at a twenty-eighth of it. The layers, which every row of before has moved,
go by the cube of the share of all rows.

Rows of a new category are no news about the others until its own vector is known: a new shop that
sells twice as much would move the vectors of its state and of the month. So for half of the epochs
only what is new moves, and then all.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from catspace.data.vocabulary import UNSEEN
from catspace.model.network import EntityNetwork
from catspace.model.optimizer import Shares

# For so much of the training, only what is new moves.
_NEW_ALONE = 0.5
# Hundreds of steps in one direction turn a layer upside down at rates that a vector hardly feels.
_POWER_OF_LAYERS = 3


@dataclass(frozen=True)
class Known:
    """A network that has learned from rows, and how many there were."""

    network: EntityNetwork
    # int of shape (n_codes,): for each column the rows that each code of its table has had
    counts: Sequence[Tensor]
    n_rows: int  # in all

    def count(self, new: Sequence[Tensor]) -> list[Tensor]:
        """Return the rows of each code together with new ones."""
        return [known.to(more) + more for known, more in zip(self.counts, new, strict=True)]

    def shares(self, new: Sequence[Tensor], n_new: int, device: torch.device) -> Shares:
        """Return what share of the rate each weight moves at, from the new rows of each code."""
        of_all = n_new / (self.n_rows + n_new)
        tables = []
        every = self.count(new)
        for column in self.network.architecture.first_columns:
            share = new[column].double() / every[column].double().clamp(min=1)
            share[UNSEEN] = of_all  # it is what all rows say that forget their category
            tables.append(share.to(device, torch.float32))
        return Shares(tables, of_all**_POWER_OF_LAYERS)


def choose_shares(shares: Shares, progress: float) -> Shares:
    """Return the shares of an epoch that begins when so much of the training is done, 0 to 1."""
    has_new = any(bool((table == 1).any()) for table in shares.tables)
    return shares.of_new() if has_new and progress < _NEW_ALONE else shares
