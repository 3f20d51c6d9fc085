"""What networks that are trained need to go on learning: room for new categories, and a plan."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from catspace.model.device import make_device
from catspace.model.known import Known
from catspace.model.network import EntityNetwork
from catspace.model.pairs import PairMeans, goals_of, learn_more_pairs
from catspace.model.plan import TrainingPlan
from catspace.model.recipe import Recipe, defaults_for, make_recipe, resolve
from catspace.preparation.learning import Learned
from catspace.preparation.rows import RowSource, sample_rows

# About so many steps find the place of a new vector; where there are many rows, more are taken.
_STEPS = 200


@dataclass(frozen=True)
class Update:
    """Networks that are to go on learning, from more rows."""

    networks: Sequence[EntityNetwork]  # as they are before; they stay so
    learned: Learned  # what is known of all rows, the new ones included
    # For each embedded column the row that each row was before; see `Growth`
    origins: Sequence[np.ndarray]
    rows: RowSource  # the new ones

    def plan(
        self, parameters: Mapping[str, Any], known: Recipe | None, random: np.random.RandomState
    ) -> TrainingPlan:
        """Return what there is to train.

        Parameters
        ----------
        parameters : mapping of str to object
            Of the estimator, as they are now.
        known : Recipe, optional
            How the networks were trained; files of catspace 0.1 do not say it.
        random : RandomState
            Draws the seeds.
        """
        n_codes = tuple(len(origin) for origin in self.origins)
        device = make_device(parameters["device"])
        if device.type not in ("cpu", "cuda"):  # which have gradients of single rows
            device = torch.device("cpu")
        return TrainingPlan(
            replace(self.networks[0].architecture, n_codes=n_codes),
            update_recipe(
                parameters,
                known,
                n_samples=len(self.rows),
                n_all=self.learned.n_known,
                is_classification=self.learned.is_classification,
            ),
            random.randint(np.iinfo(np.int32).max, size=len(self.networks)).tolist(),
            list(self.learned.encoder.vocabularies),
            (),
            device,
        )

    def begin(self, seed: int, frozen: Collection[str] = ()) -> tuple[list[Known], RowSource]:
        """Return copies of the networks with rows for all codes, and what they learn from.

        Where the networks are told of pairs, that are the rows in memory, each told of its pairs.

        Parameters
        ----------
        seed : int
            Spreads the rows over folds, which tell each other of pairs.
        frozen : collection of str
            Columns whose tables stay as they are.
        """
        rows, pairs = self.rows, self.networks[0].pairs
        if pairs is not None:
            told_by = pairs.renumbered(self.origins)
            kept = sample_rows(rows, len(rows), np.random.RandomState())
            goals = goals_of(kept, self.networks[0].architecture.n_outputs)
            pairs, told = learn_more_pairs(told_by, kept, goals, seed)
            rows = replace(kept, numbers=torch.cat([kept.numbers, told], dim=1))
        vocabularies = self.learned.encoder.vocabularies.values()
        n_codes = tuple(one.n_codes for one in vocabularies)
        shape = replace(self.networks[0].architecture, n_codes=n_codes)
        new = shape.add_up(self.rows.count_codes(shape.slot_codes))
        known = [
            torch.from_numpy(one.counts) - count
            for one, count in zip(vocabularies, new, strict=True)
        ]
        # Files of numbers alone that do not say how many rows there were: as many as are new.
        n_known = self.learned.n_known - len(self.rows) or len(self.rows)
        grown = [
            Known(grow_network(network, self.origins, pairs), known, n_known)
            for network in self.networks
        ]
        columns = list(self.learned.encoder.vocabularies)
        for one in grown:
            for name in frozen:
                table = one.network.architecture.tables[columns.index(name)]
                one.network.input.tables[table].requires_grad_(False)
        return grown, rows


def grow_network(
    network: EntityNetwork, origins: Sequence[np.ndarray], pairs: PairMeans | None = None
) -> EntityNetwork:
    """Return a copy of a network whose tables have rows for more codes.

    Parameters
    ----------
    network : EntityNetwork
    origins : sequence of int arrays of shape (n_codes,)
        For each column the row that each row was before: a new one starts as *unseen* is.
    pairs : PairMeans, optional
        What it is told about pairs of the new codes.
    """
    n_codes = tuple(len(origin) for origin in origins)
    grown = EntityNetwork(replace(network.architecture, n_codes=n_codes), pairs=pairs)
    weights = network.state_dict()
    for i, column in enumerate(network.architecture.first_columns):
        name = f"input.tables.{i}"
        weights[name] = weights[name][torch.from_numpy(origins[column])]
    grown.load_state_dict(weights)
    return grown


def update_recipe(
    parameters: Mapping[str, Any],
    known: Recipe | None,
    *,
    n_samples: int,
    n_all: int,
    is_classification: bool,
) -> Recipe:
    """Return how networks go on learning from new rows.

    What is minimised, and how strongly vectors are drawn towards *unseen*, stays as it was in fit.
    Epochs and rate are those of a fit on the new rows. Their batches are as large as in a fit on
    all rows, unless that were too few steps to find the place of a new vector. Nothing decays:
    towards zero is away from what is known.

    Parameters
    ----------
    parameters : mapping of str to object
        Of the estimator, as they are now.
    known : Recipe, optional
        Of fit.
    n_samples, n_all : int
        The new rows, and all of them.
    is_classification : bool
    """
    recipe = make_recipe(parameters, n_samples=n_samples, is_classification=is_classification)
    batch_size = recipe.batch_size
    if resolve(parameters["batch_size"], None) is None:
        wanted = 2 ** round(math.log2(max(1, n_samples * recipe.epochs / _STEPS)))
        batch_size = min(wanted, defaults_for(n_all).batch_size)
    recipe = replace(recipe, batch_size=batch_size, weight_decay=0.0, patience=None)
    if known is None:
        return recipe
    return replace(recipe, loss=known.loss, quantile=known.quantile, smooth=known.smooth)
