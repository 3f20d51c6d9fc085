"""Vectors of the items of lists -> one vector for each list: their mean."""

from collections.abc import Sequence

import torch
from torch import Tensor

from catspace.data.vocabulary import UNSEEN


class ItemMeans:
    """Means of the vectors of items, for columns of lists among others.

    Parameters
    ----------
    column_of : sequence of int
        The column of each row of codes (`catspace.data.lists.columns_of`).
    absent : sequence of int or None
        For each column the code of slots without an item; None where it holds single values.
    dims : sequence of int
        Of the vectors of each column.
    """

    def __init__(
        self, column_of: Sequence[int], absent: Sequence[int | None], dims: Sequence[int]
    ) -> None:
        self._widths = [dims[column] for column in column_of]
        self._absent = list(absent)
        self._slots = [
            [slot for slot, of in enumerate(column_of) if of == column]
            for column in range(len(absent))
        ]

    def fill(self, codes: Tensor) -> Tensor:
        """Return codes (slots, batch) with one that has a vector where there is no item.

        It is that of the first item, whose row of the table the batch moves in any case.
        """
        filled = codes.clone()
        for slots, absent in zip(self._slots, self._absent, strict=True):
            if absent is not None:
                first = codes[slots[0]].masked_fill(codes[slots[0]] == absent, UNSEEN)
                filled[slots] = torch.where(codes[slots] == absent, first, codes[slots])
        return filled

    def mean(self, vectors: Tensor, codes: Tensor) -> Tensor:
        """Return vectors (batch, sum of dims) of columns, of those of their slots side by side.

        A list without items has the zero vector.
        """
        by_slot = torch.split(vectors, self._widths, dim=1)
        found = []
        for slots, absent in zip(self._slots, self._absent, strict=True):
            if absent is None:
                found.append(by_slot[slots[0]])
                continue
            is_item = (codes[slots] != absent).to(vectors.dtype)  # (slots, batch)
            share = is_item / is_item.sum(0).clamp(min=1)
            items = torch.stack([by_slot[slot] for slot in slots])  # (slots, batch, dim)
            found.append((items * share[:, :, None]).sum(0))
        return torch.cat(found, dim=1)
