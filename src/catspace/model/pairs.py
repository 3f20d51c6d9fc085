"""What the target did where two categories met, told to a network as numbers.

That month and day together are a date, or that one manager refuses one role, a network has to find
for itself, and finds slowly: it would need a vector for each pair. For some pairs of columns, the
target's mean over the rows that have both categories is told to it instead.

A row is never told of its own target. Rows are spread over folds, and each learns from what the
other folds have seen of its pairs, as scikit-learn's `TargetEncoder` does it for single columns;
otherwise a network would read the target of rare pairs off the numbers that are made of it. New
rows are told what all rows have seen. Zero stands for nothing known.

A pair of a column with itself is that column: what the target did for each of its categories.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from catspace.preparation.rows import Rows

# The positions of two embedded columns, or of one column twice.
Pair = tuple[int, int]

_FOLDS = 5
# Rows with the mean of all rows that are added to those of a pair.
_PRIOR_ROWS = 2.0
# The most numbers that a network is told; several outputs have one each for every pair.
_MOST_NUMBERS = 16
# Pairs are looked for among so many columns at most, those with the most to say, in so many rows.
_MOST_COLUMNS, _SEARCHED_ROWS = 16, 50_000
# A pair is worth a number where it explains this many times what chance would, and this share of
# what is left without it.
_TIMES_CHANCE, _WORTH_TELLING = 10.0, 0.005
# What a fit has said already leaves squares of this size.
_ROUNDING = 1e-9


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


def learn_pairs(
    rows: Rows,
    pairs: Sequence[Pair],
    n_codes: Sequence[int],
    goals: np.ndarray,
    seed: int,
    *,
    prior: np.ndarray | None = None,
) -> LearnedPairs:
    """Return what rows say of pairs of their categories.

    Parameters
    ----------
    rows : Rows
    pairs : sequence of Pair
    n_codes : sequence of int
        Of each embedded column.
    goals : float array of shape (n_samples, n_values)
        What `goals_of` returns for the rows.
    seed : int
        Spreads the rows over folds.
    prior : float array of shape (n_values,), optional
        What is known of a goal without any pair; by default its mean over the rows.
    """
    keys, place = np.unique(
        pair_keys(rows.codes.cpu(), pairs, n_codes).numpy(), return_inverse=True
    )
    place = place.reshape(len(pairs), -1)
    fold = np.random.RandomState(seed).randint(_FOLDS, size=len(rows))
    weight = np.ones(len(rows)) if rows.weight is None else rows.weight.cpu().double().numpy()
    # The weight of the rows of each key and fold, and the sum of each goal over them
    parts = [
        _sum_by(place * _FOLDS + fold, values, len(keys) * _FOLDS).reshape(-1, _FOLDS)
        for values in (weight, *(weight * goal for goal in goals.T))
    ]
    by_fold = np.stack(parts, axis=-1)  # (n_keys, folds, 1 + n_values)
    every = by_fold.sum(axis=1)
    if prior is None:
        prior = np.average(goals, axis=0, weights=weight)
    is_share = rows.target.dtype == torch.int64
    of_others = (every[:, None] - by_fold)[place, fold]  # (n_pairs, n_samples, 1 + n_values)
    told = _tell(of_others, prior, is_share=is_share).astype(np.float32)
    means = PairMeans(pairs, n_codes, keys, _tell(every, prior, is_share=is_share), prior)
    return LearnedPairs(
        means, torch.from_numpy(told.transpose(1, 0, 2).reshape(len(rows), -1)).to(rows.numbers)
    )


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


def choose_pairs(
    rows: Rows, n_codes: Sequence[int], n_outputs: int, seed: int, lists: Sequence[int] = ()
) -> tuple[Pair, ...]:
    """Return the pairs of columns that say most beyond their columns and the pairs before them.

    Each column and each pair is a number of its own, told by other rows. On top of all columns,
    pairs are added to a least-squares fit one by one, always the one that explains most. Columns
    of lists, of which ``lists`` has the longest, have no one category to meet another.
    """
    columns = _without_lists(n_codes, lists)
    if len(columns) < 2:
        return ()
    search = _Search(rows, n_codes, n_outputs, seed)
    singles = search.tell([(i, i) for i in columns])
    left = search.left
    strongest = np.argsort(-_explained(left, singles - singles.mean(axis=0)))[:_MOST_COLUMNS]
    basis, _ = np.linalg.qr(np.column_stack([np.ones(len(left)), singles.reshape(len(left), -1)]))
    left = left - basis @ (basis.T @ left)
    candidates = list(combinations([columns[i] for i in sorted(strongest.tolist())], 2))
    told = np.concatenate([search.tell([pair]) for pair in candidates], axis=1)
    told -= np.einsum("nk,kpv->npv", basis, np.einsum("nk,npv->kpv", basis, told))
    return _add_one_by_one(candidates, told, left)


def choose_columns(
    rows: Rows, n_codes: Sequence[int], n_outputs: int, seed: int, lists: Sequence[int] = ()
) -> tuple[Pair, ...]:
    """Return the columns that say most by themselves, each as a pair of it with itself.

    They are added to a least-squares fit one by one, as in `choose_pairs`.
    """
    candidates = [(i, i) for i in _without_lists(n_codes, lists)]
    if not candidates:
        return ()
    search = _Search(rows, n_codes, n_outputs, seed)
    told = search.tell(candidates)
    return _add_one_by_one(candidates, told - told.mean(axis=0), search.left)


def _without_lists(n_codes: Sequence[int], lists: Sequence[int]) -> list[int]:
    return [i for i in range(len(n_codes)) if not lists or not lists[i]]


class _Search:
    """Some rows of a table, and what other rows tell of pairs in them."""

    def __init__(self, rows: Rows, n_codes: Sequence[int], n_outputs: int, seed: int) -> None:
        chosen = np.random.RandomState(seed).permutation(len(rows))[:_SEARCHED_ROWS]
        self._rows = rows.take(torch.from_numpy(chosen).to(rows.target.device))
        self._n_codes, self._seed = n_codes, seed
        self._goals = goals_of(self._rows, n_outputs)
        self.left = self._goals - self._goals.mean(axis=0)  # what is to be explained

    def tell(self, pairs: Sequence[Pair]) -> np.ndarray:
        """Return the numbers of pairs; float64 of shape (n_samples, n_pairs, n_values)."""
        found = learn_pairs(self._rows, pairs, self._n_codes, self._goals, self._seed)
        told = found.told.cpu().double().numpy()
        return np.asarray(told.reshape(len(self._rows), len(pairs), -1))


def _add_one_by_one(
    candidates: Sequence[Pair], told: np.ndarray, left: np.ndarray
) -> tuple[Pair, ...]:
    """Return the candidates that a least-squares fit is made of, the one first that explains most.

    Parameters
    ----------
    candidates : sequence of Pair
    told : float array of shape (n_samples, n_candidates, n_values)
        Without what is in the fit already, the mean at least.
    left : float array of shape (n_samples, n_values)
        What that leaves of the goals.
    """
    found, n_values = list[Pair](), left.shape[1]
    while len(found) < max(1, _MOST_NUMBERS // n_values):
        explained = _explained(left, told)
        best = int(np.argmax(explained))
        share = explained[best] / (np.square(left).sum() or 1.0)
        if share <= max(_TIMES_CHANCE * n_values / len(left), _WORTH_TELLING):
            break
        found.append(candidates[best])
        for value in range(n_values):
            direction = told[:, best, value] / (np.linalg.norm(told[:, best, value]) or 1.0)
            left = left - np.outer(direction, direction @ left)
            told = told - direction[:, None, None] * np.einsum("n,npv->pv", direction, told)
    return tuple(found)


def _explained(left: np.ndarray, told: np.ndarray) -> np.ndarray:
    """Return how much of the squares that are left each number explains; shape (n_pairs,)."""
    squares = np.einsum("npv,npv->pv", told, told)
    products = np.einsum("nv,npv->pv", left, told)
    is_new = squares > _ROUNDING * len(left)
    return np.asarray(np.where(is_new, products**2 / np.where(is_new, squares, 1.0), 0.0).sum(1))


def _sum_by(place: np.ndarray, values: np.ndarray, n_places: int) -> np.ndarray:
    """Return the sum of the values of rows at each place; place has shape (n_pairs, n_samples)."""
    repeated = np.broadcast_to(values, place.shape).ravel()
    return np.bincount(place.ravel(), weights=repeated, minlength=n_places)


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
