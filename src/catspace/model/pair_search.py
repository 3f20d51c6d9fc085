"""Which pairs of columns say most about the target, and which columns by themselves."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import torch

from catspace.model.pairs import Pair, PairSums, draw_folds, goals_of
from catspace.preparation.rows import Rows

# The most numbers that a network is told of pairs, and of columns; several outputs have one each
# for every pair, and more outputs than this are told of none.
_MOST_NUMBERS = 16
# Pairs are looked for among so many columns at most, those with the most to say, in so many rows;
# in fewer where there are several outputs, since all that rows may be told is held at once.
_MOST_COLUMNS, _SEARCHED_ROWS = 16, 50_000
# A pair is worth a number where it explains this many times what chance would, and this share of
# what is left without it. The first must explain more: where it does not, columns act alone.
_TIMES_CHANCE, _WORTH_TELLING, _WORTH_LOOKING = 10.0, 0.0005, 0.005
# What a fit has said already leaves squares of this size.
_ROUNDING = 1e-9


def choose_pairs(
    rows: Rows, n_codes: Sequence[int], n_outputs: int, seed: int, lists: Sequence[int] = ()
) -> tuple[Pair, ...]:
    """Return the pairs of columns that say most beyond their columns and the pairs before them.

    Each column and each pair is a number of its own, told by other rows. On top of all columns,
    pairs are added to a least-squares fit one by one, always the one that explains most. Columns
    of lists, of which ``lists`` has the longest, have no one category to meet another.

    Where there are such pairs, the columns that say something by themselves come before them, each
    as a pair of it with itself: what a pair says is beyond what these do.
    """
    columns = _without_lists(n_codes, lists)
    if len(columns) < 2 or n_outputs > _MOST_NUMBERS:
        return ()
    search = _Search(rows, n_codes, n_outputs, seed)
    alone = [(i, i) for i in columns]
    singles, left = search.tell(alone), search.left
    centred = singles - singles.mean(axis=0)
    strongest = np.argsort(-_explained(left, centred))[:_MOST_COLUMNS]
    speaking = _add_one_by_one(alone, centred, left)
    basis, _ = np.linalg.qr(np.column_stack([np.ones(len(left)), singles.reshape(len(left), -1)]))
    left = left - basis @ (basis.T @ left)
    candidates = list(combinations([columns[i] for i in sorted(strongest.tolist())], 2))
    told = np.concatenate([search.tell([pair]) for pair in candidates], axis=1)
    told -= np.einsum("nk,kpv->npv", basis, np.einsum("nk,npv->kpv", basis, told))
    pairs = _add_one_by_one(candidates, told, left)
    return (*speaking, *pairs) if pairs else ()


def choose_columns(
    rows: Rows, n_codes: Sequence[int], n_outputs: int, seed: int, lists: Sequence[int] = ()
) -> tuple[Pair, ...]:
    """Return the columns that say most by themselves, each as a pair of it with itself.

    They are added to a least-squares fit one by one, as in `choose_pairs`.
    """
    candidates = [(i, i) for i in _without_lists(n_codes, lists)]
    if not candidates or n_outputs > _MOST_NUMBERS:
        return ()
    search = _Search(rows, n_codes, n_outputs, seed)
    told = search.tell(candidates)
    return _add_one_by_one(candidates, told - told.mean(axis=0), search.left)


def _without_lists(n_codes: Sequence[int], lists: Sequence[int]) -> list[int]:
    return [i for i in range(len(n_codes)) if not lists or not lists[i]]


class _Search:
    """Some rows of a table, and what other rows tell of pairs in them."""

    def __init__(self, rows: Rows, n_codes: Sequence[int], n_outputs: int, seed: int) -> None:
        n_searched = _SEARCHED_ROWS // max(1, n_outputs - 1)  # two classes are one number
        chosen = np.random.RandomState(seed).permutation(len(rows))[:n_searched]
        self._rows = rows.take(torch.from_numpy(chosen).to(rows.target.device))
        self._n_codes, self._seed = n_codes, seed
        self._goals = goals_of(self._rows, n_outputs)
        self.left = self._goals - self._goals.mean(axis=0)  # what is to be explained

    def tell(self, pairs: Sequence[Pair]) -> np.ndarray:
        """Return the numbers of pairs; float64 of shape (n_samples, n_pairs, n_values)."""
        sums = PairSums(self._rows, pairs, self._n_codes, self._goals)
        told = sums.tell(draw_folds(len(self._rows), self._seed)).double().numpy()
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
    while len(found) < _MOST_NUMBERS // n_values:
        explained = _explained(left, told)
        best = int(np.argmax(explained))
        share = explained[best] / (np.square(left).sum() or 1.0)
        enough = _WORTH_TELLING if found else _WORTH_LOOKING
        if share <= max(_TIMES_CHANCE * n_values / len(left), enough):
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
