"""Rows in folds, each of which is to learn nothing from its own rows."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold, check_cv

from catspace.data.target import ClassTarget, Target
from catspace.exceptions import InputError, ParameterError, shorten
from catspace.validation import is_integer

# For each fold the rows of the others and its own, by their places in the table.
Splits = Sequence[tuple[np.ndarray, np.ndarray]]


def check_folds(cv: Any) -> None:
    """Raise where `cv` is nothing that rows can be split by."""
    is_number = is_integer(cv) and cv >= 2
    is_splits = isinstance(cv, Iterable) and not isinstance(cv, (str, bytes, Mapping))
    is_splitter = hasattr(cv, "split") and not isinstance(cv, (str, bytes))
    if cv is not None and not (is_number or is_splits or is_splitter):
        raise ParameterError(
            "cv must be None, an int of at least 2, a splitter of scikit-learn or an iterable of "
            f"(train, test) positions; got {cv!r}."
        )


@dataclass(frozen=True)
class Fold:
    """Some rows, and others to learn from; positions among the rows that are present."""

    own: np.ndarray
    others: np.ndarray


@dataclass(frozen=True)
class Table:
    """What rows are split by."""

    X: Any  # as the user gave it
    y: np.ndarray  # the target of all rows
    present: np.ndarray  # positions of the rows whose weight is not zero

    def split(self, cv: Any, target: Target, seed: int) -> list[Fold]:
        """Return folds of the rows that are present, each of which is in one of them.

        Parameters
        ----------
        cv : int, splitter or iterable
        target : Target
            What the target was understood as: classes are spread evenly over an int's folds.
        seed : int
            Shuffles the rows for an int.
        """
        splits = self._by_number(cv, target, seed) if is_integer(cv) else self._by_splitter(cv)
        self._check(splits, cv)
        return list(self._to_folds(splits, cv))

    def _by_number(self, cv: int, target: Target, seed: int) -> Splits:
        present = self.present
        if cv > len(present):
            raise InputError(
                f"cv={cv} makes more folds than there are rows: n_samples={len(present)}."
            )
        splitter, codes = KFold, None
        if isinstance(target, ClassTarget):
            splitter, codes = StratifiedKFold, target.encode(self.y[present])
            counts = np.bincount(codes)
            if counts.min() < cv:
                label = target.classes.tolist()[int(counts.argmin())]
                raise InputError(
                    f"cv={cv} puts rows of every class into each fold, and the class {label!r} has "
                    f"{counts.min()}.",
                    hint=f"lower cv, or pass cv=KFold({cv}, shuffle=True), which asks for no "
                    "classes.",
                )
        splits = splitter(int(cv), shuffle=True, random_state=seed).split(present, codes)
        return [(present[others], present[own]) for others, own in splits]

    def _by_splitter(self, cv: Any) -> Splits:
        n_samples = len(self.y)
        X = self.X if hasattr(self.X, "shape") else np.empty((n_samples, 1))
        try:
            return [
                (_positions(others, n_samples), _positions(own, n_samples))
                for others, own in check_cv(cv).split(X, self.y)
            ]
        except (TypeError, ValueError) as error:
            raise InputError(f"{show_folds(cv)} does not split the table: {error}") from None

    def _check(self, splits: Splits, cv: Any) -> None:
        """Raise where a row is in no fold, or in several."""
        n_folds = np.zeros(len(self.y), dtype=int)
        for _, own in splits:
            np.add.at(n_folds, own, 1)
        wrong = self.present[n_folds[self.present] != 1]
        if len(wrong):
            raise InputError(
                f"{show_folds(cv)} must put each row into one fold; row {wrong[0]} is in "
                f"{n_folds[wrong[0]] or 'none'} ({len(wrong)} such rows in all).",
                hint="KFold, StratifiedKFold and GroupKFold do so.",
            )

    def _to_folds(self, splits: Splits, cv: Any) -> Iterator[Fold]:
        """Yield the folds that have rows; those must have others to learn from."""
        place = np.full(len(self.y), -1)
        place[self.present] = np.arange(len(self.present))
        for split in splits:
            others, own = (rows[rows >= 0] for rows in (place[part] for part in split))
            if len(both := np.intersect1d(others, own)):
                raise InputError(
                    f"{show_folds(cv)} lets rows learn from themselves: "
                    f"{shorten(self.present[both].tolist())} are in a fold and among its others."
                )
            if not len(own):
                continue
            if not len(others):
                raise InputError(f"{show_folds(cv)} leaves a fold no other rows to learn from.")
            yield Fold(own, others)


def show_folds(cv: Any) -> str:
    """Return the parameter for a message; lists of positions are long."""
    return f"cv={cv!r}" if is_integer(cv) or hasattr(cv, "split") else f"cv ({type(cv).__name__})"


def _positions(rows: Any, n_samples: int) -> np.ndarray:
    """Return positions of rows, which may be given as a mask."""
    found = np.asarray(rows)
    if found.dtype == bool and found.shape == (n_samples,):
        return np.flatnonzero(found)
    if found.ndim != 1 or (found.dtype.kind not in "iu" and found.size):
        raise ValueError("(train, test) must be positions of rows.")
    if found.size and not (found.min() >= 0 and found.max() < n_samples):
        raise ValueError(f"positions must be from 0 to {n_samples - 1}.")
    return found.astype(np.intp)
