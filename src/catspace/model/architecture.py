"""What fixes the shape of a network."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from catspace.data.lists import codes_of, columns_of


@dataclass(frozen=True)
class Architecture:
    """Everything that fixes the shape of a network.

    What follows from it is kept: for thousands of columns it is asked for in each of many loops.
    """

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

    @cached_property
    def slots(self) -> tuple[int, ...]:
        """The items of the longest list of each column, 0 where it holds single values."""
        return self.lists or (0,) * len(self.n_codes)

    @cached_property
    def column_of(self) -> list[int]:
        """The column of each row of codes: each once, then the further items of lists."""
        return columns_of(self.slots)

    @cached_property
    def slot_codes(self) -> list[int]:
        """The number of codes of each row of codes."""
        return codes_of(self.n_codes, self.slots)

    @cached_property
    def tables(self) -> tuple[int, ...]:
        """The position of the table of each column."""
        return self.table_of or tuple(range(len(self.n_codes)))

    @cached_property
    def widths(self) -> list[int]:
        """The width of the table of each column."""
        if self.input_encoding == "onehot":
            return [self.hidden_layer_sizes[0]] * len(self.n_codes)
        return list(self.dims)

    @cached_property
    def first_columns(self) -> list[int]:
        """The position of the first column of each table."""
        first = dict(zip(reversed(self.tables), reversed(range(len(self.tables))), strict=True))
        return [first[table] for table in range(len(first))]

    @cached_property
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
