"""How much a category's vector may say: as much as its rows have shown.

A category with two rows and one with two thousand are draws from one distribution, whose centre is
what is known of a category that was never seen. While a network trains,

- a row's category is replaced by *unseen* now and then, the oftener the fewer rows the category
  has. So the vector of *unseen* is learned, and the network learns to do without the rare ones;
- a row whose category has n rows pays (smooth / n)² · |v - unseen|² for its vector v. So few rows
  leave a vector close to *unseen*, and many hardly feel it.

`smooth` is a number of rows: those of a category whose evidence is worth as much as what is known
without it. Of a category whose vector was given, that vector is known without them: it is drawn to
where it started, and the rows that it was learned from count where it would be forgotten.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from catspace.data.vocabulary import UNSEEN
from catspace.model.starts import Starts
from catspace.preparation.rows import Rows

# Of n rows of a category so many forget it in an epoch: one, and the more the rarer it is. One is
# enough to learn what is known without it; forgetting more of frequent ones cost accuracy.
_FORGOTTEN, _FORGOTTEN_OF_RARE = 1.0, 32.0  # the second divided by n
# But no row forgets its category oftener than this.
_MOST_FORGETTING = 0.5
# The largest ratio of smooth to rows: a stronger pull would do no more than this one does.
_LARGEST_RATIO = 1000.0


@dataclass(frozen=True)
class Pull:
    """What draws the vectors of a batch towards what is known without their rows."""

    rates: Tensor  # float of shape (batch, n_columns): of each row's vectors
    column_of: Tensor  # int of shape (sum of dims,): the column of each component
    # Float of shape (batch, sum of dims): where given vectors started, NaN where that is *unseen*
    start: Tensor | None = None

    def away(self, vectors: Tensor, unseen: Tensor) -> Tensor:
        """Return how far vectors are from where they are drawn; both (batch, sum of dims).

        Parameters
        ----------
        vectors : tensor of shape (batch, sum of dims)
        unseen : tensor of shape (sum of dims,)
            The vector of *unseen* in the table of each slot.
        """
        away = vectors - unseen
        if self.start is None:
            return away
        return torch.where(self.start.isnan(), away, vectors - self.start)

    def added(self, gradient: Tensor, away: Tensor, n_samples: int) -> Tensor:
        """Return the gradient of vectors with what draws them; all (batch, sum of dims).

        The loss is the mean over so many rows: those of the batch of which these are some.
        """
        rates = self.rates.index_select(1, self.column_of)
        return torch.addcmul(gradient, rates, away, value=1 / n_samples)


class Evidence:
    """The rows of each category, and what follows from them in training.

    Parameters
    ----------
    n_rows : sequence of tensors of shape (n_codes,)
        For each column the rows of each code, or the sum of their weights.
    widths : sequence of int
        Of the vectors of each column.
    smooth : sequence of float
        For each column; 0 leaves its vectors alone.
    device : torch.device
    starts : mapping of int to Start, optional
        Of the columns whose vectors were given.
    forgets : bool
        Whether rows forget their categories, so that *unseen* is learned; otherwise it stays.
    """

    def __init__(
        self,
        n_rows: Sequence[Tensor],
        widths: Sequence[int],
        smooth: Sequence[float],
        device: torch.device,
        starts: Starts | None = None,
        *,
        forgets: bool = True,
    ) -> None:
        starts = starts or {}
        # The codes of all columns one after the other, so that a batch looks its own up at once.
        sizes = torch.tensor([len(rows) for rows in n_rows])
        first = sizes.cumsum(0) - sizes
        self._first = first.to(device, torch.int32)[:, None]
        rows = torch.cat([one.double() for one in n_rows])
        rows_before = None
        if starts:
            rows_before = torch.zeros_like(rows)
            for i, start in starts.items():
                place = slice(int(first[i]), int(first[i] + sizes[i]))
                rows_before[place] = torch.from_numpy(start.n_rows).to(rows)
        strengths = torch.tensor(smooth, dtype=torch.float64).to(rows.device)
        pulls, chances = _rates(
            rows, strengths.repeat_interleave(sizes.to(rows.device)), rows_before
        )
        self._pulls = pulls.to(device, torch.float32)
        self._chances = chances.to(device, torch.float32) if forgets else None
        columns = torch.arange(len(widths))
        self._column_of = columns.repeat_interleave(torch.tensor(widths)).to(device)
        # For each given column where its components begin, its first vectors, and which were given
        ends = torch.tensor(widths).cumsum(0).tolist()
        self._starts = {
            i: (
                ends[i] - widths[i],
                torch.from_numpy(start.vectors).to(device),
                torch.from_numpy(start.is_given).to(device),
            )
            for i, start in starts.items()
        }

    def apply(self, rows: Rows, generator: torch.Generator) -> Rows:
        """Return the rows, of which some have forgotten categories, with the rates of the pull."""
        codes = rows.codes
        positions = (codes + self._first).view(-1)
        rates = self._pulls.index_select(0, positions).view(codes.shape)
        if rows.weight is not None:
            rates = rates * rows.weight
        if self._chances is not None:
            drawn = torch.rand(
                codes.shape, generator=generator, device=codes.device, dtype=torch.float32
            )
            chances = self._chances.index_select(0, positions).view(codes.shape)
            codes = codes.masked_fill(drawn < chances, UNSEEN)
        return replace(rows, codes=codes, rates=rates.T.contiguous())

    def pull(self, batch: Rows) -> Pull:
        """Return what draws the vectors of a batch towards what is known without their rows."""
        assert batch.rates is not None  # a batch of rows that `apply` gave
        return Pull(batch.rates, self._column_of, self._start_of(batch) if self._starts else None)

    def _start_of(self, batch: Rows) -> Tensor:
        """Return where the given vectors of a batch started; shape (batch, sum of dims)."""
        start = torch.full(
            (len(batch), len(self._column_of)),
            torch.nan,
            device=batch.codes.device,
            dtype=torch.float32,
        )
        for i, (first, vectors, is_given) in self._starts.items():
            codes, width = batch.codes[i].long(), vectors.shape[1]
            known = is_given[codes][:, None]
            start[:, first : first + width].copy_(vectors[codes].where(known, torch.nan))
        return start


def _rates(rows: Tensor, smooth: Tensor, rows_before: Tensor | None) -> tuple[Tensor, Tensor]:
    """Return the gradient's factor of the pull, and the chance to be forgotten, of each code.

    Rows that a vector was learned from before it was given are no evidence of what it should be
    here, but the category is as little rare as they are few.
    """
    is_met = (rows > 0) & (smooth > 0)
    ratio = torch.where(is_met, smooth / rows, 0.0).clamp(max=_LARGEST_RATIO)
    rows = rows if rows_before is None else rows + rows_before
    chance = torch.where(is_met, (_FORGOTTEN + _FORGOTTEN_OF_RARE / rows) / rows, 0.0)
    return 2 * ratio.square(), chance.clamp(max=_MOST_FORGETTING)
