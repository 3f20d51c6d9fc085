"""What the target did where two categories met, told to a network as numbers.

That month and day together are a date, or that one manager refuses one role, a network has to find
for itself, and finds slowly: it would need a vector for each pair. For some pairs of columns, the
target's mean over the rows that have both categories is told to it instead.

A row is never told of its own target. Rows are spread over folds, and each learns from what the
other folds have seen of its pairs, as scikit-learn's `TargetEncoder` does it for single columns;
otherwise a network would read the target of rare pairs off the numbers that are made of it. In each
epoch the folds are others, so that a network cannot learn by heart what one draw of them says. New
rows are told what all rows have seen. Zero stands for nothing known.

A pair of a column with itself is that column: what the target did for each of its categories.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from catspace.preparation.rows import Change, Rows

# The positions of two embedded columns, or of one column twice.
Pair = tuple[int, int]

_FOLDS = 5
# Rows with the mean of all rows that are added to those of a pair.
_PRIOR_ROWS = 2.0


class PairMeans(nn.Module):
    """Gives rows the numbers of their pairs.

    Its arrays are the same for all networks of a model, and are kept with the model once.

    Parameters
    ----------
    pairs : sequence of Pair
    n_codes : sequence of int
        Of each embedded column.
    keys : int array of shape (n_keys,)
        The pairs of codes that were met, as `pair_keys` numbers them; rising.
    values : float array of shape (n_keys, n_values)
        What is told of each.
    prior : float array of shape (n_values,), optional
        The mean of each goal over all rows that they were learned from, where it is known.
    """

    def __init__(
        self,
        pairs: Sequence[Pair],
        n_codes: Sequence[int],
        keys: np.ndarray,
        values: np.ndarray,
        prior: np.ndarray | None = None,
    ) -> None:
        super().__init__()
        self.prior = prior
        self.pairs, self.n_codes = tuple(pairs), tuple(n_codes)
        self.keys: Tensor
        self.values: Tensor
        self.register_buffer("keys", torch.from_numpy(keys), persistent=False)
        told = np.asarray(values, dtype=np.float32)
        # One more row at the end: of pairs that were not met.
        told = np.concatenate([told, np.zeros((1, told.shape[1]), dtype=np.float32)])
        self.register_buffer("values", torch.from_numpy(told), persistent=False)

    @property
    def width(self) -> int:
        """How many numbers a row is told."""
        return len(self.pairs) * self.values.shape[1]

    def forward(self, codes: Tensor) -> Tensor:
        """Map codes (columns, batch) to numbers (batch, width)."""
        told = self.values[self._places(codes)]  # (n_pairs, batch, n_values)
        return told.transpose(0, 1).reshape(codes.shape[1], -1)

    def met(self, codes: Tensor) -> Tensor:
        """Map codes (columns, batch) to whether a pair was met (n_pairs, batch)."""
        return self._places(codes) < len(self.keys)

    def _places(self, codes: Tensor) -> Tensor:
        """Map codes (columns, batch) to rows of ``values`` (n_pairs, batch)."""
        wanted = pair_keys(codes, self.pairs, self.n_codes)  # (n_pairs, batch)
        if not len(self.keys):
            return torch.zeros_like(wanted)
        places = torch.searchsorted(self.keys, wanted).clamp_(max=len(self.keys) - 1)
        places[self.keys[places] != wanted] = len(self.keys)
        return places

    def renumbered(self, origins: Sequence[np.ndarray]) -> "PairMeans":
        """Return what is told when the codes of each column have new numbers.

        Parameters
        ----------
        origins : sequence of int arrays of shape (n_codes,)
            The code that each code was before. Codes that come from a special one are new, unless
            they are that one: nothing is told of them.
        """
        n_codes = [len(origin) for origin in origins]
        now = [_inverse(origin, n) for origin, n in zip(origins, self.n_codes, strict=True)]
        starts = np.cumsum([0, *(self.n_codes[a] * self.n_codes[b] for a, b in self.pairs)])
        keys = self.keys.cpu().numpy()
        pair = np.searchsorted(starts, keys, side="right") - 1
        moved = np.empty_like(keys)
        start = 0
        for i, (a, b) in enumerate(self.pairs):
            first, second = np.divmod(keys[pair == i] - starts[i], self.n_codes[b])
            moved[pair == i] = start + now[a][first] * n_codes[b] + now[b][second]
            start += n_codes[a] * n_codes[b]
        # Codes keep their order within a kind of values, but kinds may have come in between.
        order = np.argsort(moved)
        values = self.values[:-1].cpu().numpy()[order]
        return PairMeans(self.pairs, n_codes, moved[order], values, self.prior)


class LearnedPairs(NamedTuple):
    """What was learned of pairs."""

    means: PairMeans  # for new rows
    told: Tensor  # float of shape (n_samples, width): for the rows themselves, by others


def pair_keys(codes: Tensor, pairs: Sequence[Pair], n_codes: Sequence[int]) -> Tensor:
    """Return a number for each pair of codes of each row; int64 of shape (n_pairs, n_samples).

    Examples
    --------
    >>> pair_keys(torch.tensor([[0, 1], [2, 0]]), [(0, 1), (1, 1)], [2, 3]).tolist()
    [[2, 3], [14, 6]]
    """
    first, second = (list(positions) for positions in zip(*pairs, strict=True))
    factors = torch.tensor([n_codes[i] for i in second], device=codes.device)[:, None]
    starts = np.cumsum([0, *(n_codes[a] * n_codes[b] for a, b in pairs)])[:-1]
    offsets = torch.from_numpy(starts).to(codes.device)[:, None]
    return codes[first].long() * factors + codes[second] + offsets


class PairSums:
    """What rows say of pairs of their categories: to each other, and to new rows.

    Parameters
    ----------
    rows : Rows
    pairs : sequence of Pair
    n_codes : sequence of int
        Of each embedded column.
    goals : float array of shape (n_samples, n_values)
        What `goals_of` returns for the rows.
    prior : float array of shape (n_values,), optional
        What is known of a goal without any pair; by default its mean over the rows.
    """

    def __init__(
        self,
        rows: Rows,
        pairs: Sequence[Pair],
        n_codes: Sequence[int],
        goals: np.ndarray,
        *,
        prior: np.ndarray | None = None,
    ) -> None:
        self._pairs, self._n_codes = pairs, n_codes
        self._keys, place = np.unique(
            pair_keys(rows.codes.cpu(), pairs, n_codes).numpy(), return_inverse=True
        )
        self._place = place.reshape(len(pairs), -1)
        weight = np.ones(len(rows)) if rows.weight is None else rows.weight.cpu().double().numpy()
        # What is added up: the weight of rows, and each goal
        self._parts = (weight, *(weight * goal for goal in goals.T))
        self._prior = np.average(goals, axis=0, weights=weight) if prior is None else prior
        self._is_share = rows.target.dtype == torch.int64

    def tell(self, fold: np.ndarray) -> Tensor:
        """Return what rows are told by those of the other folds; float32 (n_samples, width).

        Parameters
        ----------
        fold : int array of shape (n_samples,)
        """
        by_fold = self._sum_by(self._place * _FOLDS + fold, len(self._keys) * _FOLDS)
        by_fold = by_fold.reshape(len(self._keys), _FOLDS, -1)  # (n_keys, folds, 1 + n_values)
        of_others = (by_fold.sum(axis=1, keepdims=True) - by_fold)[self._place, fold]
        told = _tell(of_others, self._prior, is_share=self._is_share).astype(np.float32)
        return torch.from_numpy(told.transpose(1, 0, 2).reshape(len(fold), -1))

    def means(self) -> PairMeans:
        """Return what new rows are told."""
        told = _tell(
            self._sum_by(self._place, len(self._keys)), self._prior, is_share=self._is_share
        )
        return PairMeans(self._pairs, self._n_codes, self._keys, told, self._prior)

    def _sum_by(self, place: np.ndarray, n_places: int) -> np.ndarray:
        """Return sums over the rows at each place, which has shape (n_pairs, n_samples)."""
        sums = [
            np.bincount(place.ravel(), np.broadcast_to(part, place.shape).ravel(), n_places)
            for part in self._parts
        ]
        return np.stack(sums, axis=-1)  # (n_places, 1 + n_values)


@dataclass(frozen=True)
class ToldRows:
    """Rows in memory that tell each other of pairs, in each epoch by other folds."""

    rows: Rows  # as they are; networks look up what they are not told
    sums: PairSums

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def n_bytes(self) -> int:
        """The memory that the rows take."""
        return self.rows.n_bytes

    def to(self, device: torch.device) -> "ToldRows":
        """Return the same rows, whose batches come on a device."""
        return replace(self, rows=self.rows.to(device))

    def shuffled(
        self, n_batches: int, generator: torch.Generator, change: Change | None = None
    ) -> Iterator[Rows]:
        """Yield the batches of one epoch, of even size; the generator draws folds and an order."""
        fold = torch.randint(_FOLDS, (len(self),), generator=generator).numpy()
        told = self.sums.tell(fold).to(self.rows.numbers.device)
        rows = replace(self.rows, numbers=torch.cat([self.rows.numbers, told], dim=1))
        return rows.shuffled(n_batches, generator, change)

    def in_order(self, n_rows: int) -> Iterator[Rows]:
        """Yield all rows as they are, so many at a time."""
        return self.rows.in_order(n_rows)

    def count_codes(self, n_codes: Sequence[int]) -> list[Tensor]:
        """Return how often each code occurs in each column; tensors of shape (n_codes,)."""
        return self.rows.count_codes(n_codes)


def learn_pairs(
    rows: Rows,
    pairs: Sequence[Pair],
    n_codes: Sequence[int],
    goals: np.ndarray,
    seed: int,
    *,
    prior: np.ndarray | None = None,
) -> LearnedPairs:
    """Return what rows say of pairs of their categories, to each other in one draw of folds.

    Parameters
    ----------
    rows, pairs, n_codes, goals, prior
        As in `PairSums`.
    seed : int
        Spreads the rows over folds.
    """
    sums = PairSums(rows, pairs, n_codes, goals, prior=prior)
    told = sums.tell(draw_folds(len(rows), seed))
    return LearnedPairs(sums.means(), told.to(rows.numbers.device))


def draw_folds(n_samples: int, seed: int) -> np.ndarray:
    """Return the fold of each row; int of shape (n_samples,)."""
    return np.random.RandomState(seed).randint(_FOLDS, size=n_samples)


def learn_more_pairs(known: PairMeans, rows: Rows, goals: np.ndarray, seed: int) -> LearnedPairs:
    """Return what is known of pairs together with what more rows say of those not met before.

    Of pairs that were met before, all rows are told what was known of them: networks have learned
    what these numbers mean.

    Parameters
    ----------
    known : PairMeans
        With the numbers of codes that the rows have.
    rows, goals, seed
        As in `learn_pairs`.
    """
    found = learn_pairs(rows, known.pairs, known.n_codes, goals, seed, prior=known.prior)
    codes = rows.codes
    met = known.met(codes).T.repeat_interleave(known.values.shape[1], dim=1)  # (n_samples, width)
    told = torch.where(met, known(codes), found.told)
    old, new = known.keys.numpy(), found.means.keys.numpy()
    is_new = ~np.isin(new, old)
    keys = np.concatenate([old, new[is_new]])
    order = np.argsort(keys)
    values = np.concatenate([known.values[:-1].numpy(), found.means.values[:-1].numpy()[is_new]])
    means = PairMeans(known.pairs, known.n_codes, keys[order], values[order], found.means.prior)
    return LearnedPairs(means, told)


def _inverse(origin: np.ndarray, n_before: int) -> np.ndarray:
    """Return the code that each code of before has now; shape (n_before,)."""
    now = np.full(n_before, -1, dtype=np.int64)
    # Backwards, so that of several codes that come from a special one that one itself counts.
    now[origin[::-1]] = np.arange(len(origin))[::-1]
    return now


def goals_of(rows: Rows, n_outputs: int) -> np.ndarray:
    """Return what pairs take means of: the target, or for each class whether a row has it.

    Two classes need one number, since one is what the other is not.

    Returns
    -------
    float64 array of shape (n_samples, n_values)
    """
    target = rows.target.cpu().numpy()
    if target.dtype != np.int64:
        return target.astype(np.float64)
    return np.asarray(np.eye(n_outputs)[target][:, int(n_outputs == 2) :])


def _tell(sums: np.ndarray, prior: np.ndarray, *, is_share: bool) -> np.ndarray:
    """Return means, or log-odds of shares, less what they are without a pair.

    Parameters
    ----------
    sums : float array of shape (…, 1 + n_values)
        The weight of rows, and the sum of each goal over them.
    prior : float array of shape (n_values,)
        The mean of each goal over all rows.
    is_share : bool
    """
    mean = (sums[..., 1:] + _PRIOR_ROWS * prior) / (sums[..., :1] + _PRIOR_ROWS)
    if not is_share:
        return np.asarray(mean - prior)
    tiny = 1e-6
    mean, prior = (np.clip(share, tiny, 1 - tiny) for share in (mean, prior))
    return np.asarray(np.log(mean / (1 - mean)) - np.log(prior / (1 - prior)))
