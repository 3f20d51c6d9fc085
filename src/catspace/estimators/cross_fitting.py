"""Cross-fitted vectors: those of each row are learned from rows of other folds."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from joblib import effective_n_jobs

from catspace.data.encoding import Encoded
from catspace.data.labels import check_weights
from catspace.data.reading import read_vector
from catspace.estimators import folds
from catspace.estimators.fitted import Fitted, join_features
from catspace.estimators.fitting import Finished
from catspace.exceptions import InputError
from catspace.model.memory import available_memory
from catspace.model.network import EntityNetwork
from catspace.model.plan import TrainingPlan
from catspace.model.progress import TrainingProgress
from catspace.model.relearning import MeanVectors, Part, relearn_vectors
from catspace.model.settings import plain_torch
from catspace.model.turns import Epoch
from catspace.preparation.prepare import Given, Prepared, count_held_back
from catspace.preparation.rows import Rows
from catspace.preparation.tables import OneBlock, is_read_in_blocks
from catspace.storage.blocks import read_any


class CrossFitting:
    """What follows a fit where vectors are cross-fitted.

    Parameters
    ----------
    given : Given
        A table in memory.
    parameters : mapping of str to object
        Of the estimator, checked.
    """

    def __init__(self, given: Given, parameters: Mapping[str, Any]) -> None:
        self._given, self._parameters = given, parameters
        self._n_jobs = int(effective_n_jobs(parameters["n_jobs"]))
        if is_read_in_blocks(*given):
            raise InputError(
                f"{folds.show_folds(parameters['cv'])} needs the whole table in memory, and files "
                "are read block by block.",
                hint="pass the table itself (pandas.read_parquet), or leave cv at None.",
            )

    def prepare(self, plan: TrainingPlan, prepared: Prepared) -> None:
        """Split the rows into folds, and see that there is room to learn from them."""
        assert isinstance(prepared.table, OneBlock)
        X, y, sample_weight = self._given
        self._table, target, weight = prepared.table.labels.pop(read_any(X))
        self._present = np.arange(self._table.n_rows)
        if sample_weight is not None:
            weights = check_weights(sample_weight if weight is None else weight, self._table.n_rows)
            self._present = np.flatnonzero(weights)
        table = folds.Table(
            X, read_vector(y if target is None else target, "target"), self._present
        )
        self._folds = table.split(self._parameters["cv"], prepared.learned.target, plan.seeds[0])
        need = plan.memory(
            prepared.rows.n_bytes,
            has_validation=bool(self._parameters["early_stopping"]),
            # Those that learned from all rows are there meanwhile.
            n_networks=len(plan.seeds) + min(self._n_jobs, len(self._folds) * len(plan.seeds)),
        )
        need.check(available_memory(plan.device), plan.columns)

    def run(self, finished: Finished) -> tuple[Fitted, np.ndarray]:
        """Learn the vectors of each fold from the others.

        Returns
        -------
        fitted : Fitted
            Its vectors are the mean of those of the folds.
        features : float32 array of shape (n_samples, sum of dimensions + numbers)
            Each row's are from the fold that it is in; rows of weight zero are in none.
        """
        fitted, prepared = finished.fitted, finished.prepared
        assert isinstance(prepared.table, OneBlock)
        encoded = fitted.learned.encoder.encode(self._table)
        networks = self._parameters["networks"]
        if not len(encoded.codes):  # numbers alone are the same in all folds
            return fitted, fitted.features(encoded, networks)
        found: list[tuple[np.ndarray, np.ndarray]] = []
        names = _name(len(self._folds), len(fitted.networks))
        with plain_torch(), TrainingProgress(names, int(self._parameters["verbose"])) as progress:
            rows = prepared.encoding.encode(prepared.table.block)
            parts = self._parts(rows, finished.plan.seeds[0])
            mean = MeanVectors(fitted.networks)

            def listen(epoch: Epoch) -> bool:
                progress(epoch)
                return False

            relearned = relearn_vectors(
                fitted.networks, finished.plan, parts, n_jobs=self._n_jobs, listener=listen
            )
            for fold, of_fold in zip(self._folds, relearned, strict=True):
                mean.add(of_fold)
                own = self._present[fold.own]
                found.append((own, _features(encoded, own, of_fold, networks)))
            fitted = replace(fitted, networks=mean.networks())
        features = fitted.features(encoded, networks)
        for own, of_rows in found:
            features[own] = of_rows
        return fitted, features

    def _parts(self, rows: Rows, seed: int) -> list[Part]:
        """Return what each fold learns from; early stopping holds some of it back."""
        random, parts = np.random.RandomState(seed), []
        for fold in self._folds:
            others, judging = fold.others, None
            if self._parameters["early_stopping"]:
                n_held_back = count_held_back(self._parameters, len(others))
                order = random.permutation(others)
                others = order[n_held_back:]
                judging = rows.take(torch.from_numpy(order[:n_held_back]))
            parts.append(Part(rows.take(torch.from_numpy(others)), judging))
        return parts


def _features(
    encoded: Encoded, chosen: np.ndarray, networks: Sequence[EntityNetwork], which: str
) -> np.ndarray:
    """Return the features of some rows, by networks of their own."""
    some = Encoded(encoded.codes[:, chosen], encoded.numbers[chosen])
    used = networks[:1] if which == "first" else networks
    tables = [network.input.vectors() for network in used]
    return join_features(some, tables, used[0].architecture.slots)


def _name(n_folds: int, n_networks: int) -> list[str]:
    """Return what the trainings are called."""
    of_folds = [f"fold {i + 1} of {n_folds}" for i in range(n_folds)]
    if n_networks == 1:
        return of_folds
    return [f"{fold}, network {i + 1}" for fold in of_folds for i in range(n_networks)]
