"""An estimator's parameters and what was learned of its table -> the networks to train."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import torch

from catspace.data.groups import Groups, read_groups, spread
from catspace.exceptions import InputError, ParameterError
from catspace.model.architecture import Architecture
from catspace.model.device import make_device
from catspace.model.memory import MemoryNeed, estimate_memory
from catspace.model.optimizer import sparse_tables
from catspace.model.pairs import Pair, PairMeans, PairSums, ToldRows, draw_folds, goals_of
from catspace.model.pieces import cut_numbers
from catspace.model.recipe import (
    Recipe,
    check_smooth,
    defaults_for,
    dropout_of_noise,
    make_recipe,
    resolve,
)
from catspace.model.shape import make_architecture
from catspace.model.starts import Starts, frozen_tables, given_dims, make_starts
from catspace.preparation.given import GivenVectors, check_frozen
from catspace.preparation.learning import Learned
from catspace.preparation.rows import RowSource, sample_rows
from catspace.validation import check_column_names, check_int

_CATEGORICAL = "a categorical column"
_PAIR_BINS = 8  # pieces into which the range of what a pair tells is cut
_MOST_NETWORKS = 10_000  # before a seed for each of them is drawn

# More epochs, where small networks show that there is much left to learn: on validation parts of
# Rossmann, salaries and bike rides a third more took 2 to 6 % off the error.
_LONGER = 1.3


class Lengths(NamedTuple):
    """A training in fewer epochs, and in more."""

    shorter: Recipe
    longer: Recipe


@dataclass(frozen=True)
class TrainingPlan:
    """Everything that a training needs to know but the rows."""

    architecture: Architecture
    recipe: Recipe
    seeds: Sequence[int]  # one for each network
    columns: Sequence[str]  # the names of the embedded columns
    edges: Sequence[np.ndarray]  # where the range of each number is cut
    device: torch.device
    # Positions of the embedded columns whose smoothing is still to be found from the rows
    unsettled: tuple[int, ...] = ()
    # The same in fewer epochs and in more, where the rows may still ask for either
    lengths: "Lengths | None" = None
    # Dropout where rows say that the target is mostly noise; None where nobody asks them
    noisy_dropout: float | None = None
    # Whether the rows may say which pairs of columns networks are told of
    tries_pairs: bool = False
    pairs: tuple[Pair, ...] = ()  # of which they shall be told
    pair_means: PairMeans | None = None  # what they are told
    starts: Starts = field(default_factory=dict)  # of the vectors that are given

    def smoothed(self, smooth: float) -> "TrainingPlan":
        """Return the plan with one smoothing for all columns that are unsettled."""
        values = list(self.recipe.smooth)
        for i in self.unsettled:
            values[i] = smooth
        recipe = replace(self.recipe, smooth=tuple(values))
        return self.settled(recipe, self.architecture.dropout)

    def settled(self, recipe: Recipe, dropout: float) -> "TrainingPlan":
        """Return the plan with what was found, and with nothing left to find."""
        plan = replace(self, recipe=recipe, unsettled=(), lengths=None, noisy_dropout=None)
        return plan.with_dropout(dropout)

    def with_dropout(self, dropout: float) -> "TrainingPlan":
        """Return the plan with networks of another dropout."""
        return replace(self, architecture=replace(self.architecture, dropout=dropout))

    def tell_pairs(self, rows: RowSource) -> tuple["TrainingPlan", RowSource]:
        """Return the plan with what rows tell about its pairs, and the rows, which tell each other.

        Where there are no pairs, both are returned as they are. Otherwise rows are in memory then.
        """
        if not self.pairs:
            return self, rows
        rows = sample_rows(rows, len(rows), np.random.RandomState())
        shape = self.architecture
        sums = PairSums(rows, self.pairs, shape.n_codes, goals_of(rows, shape.n_outputs))
        told = sums.tell(draw_folds(len(rows), self.seeds[0]))  # as in any epoch
        edges = cut_numbers(told.numpy(), _PAIR_BINS)
        n_bins = (*shape.n_bins, *(max(0, len(cuts) - 1) for cuts in edges))
        plan = replace(
            self,
            architecture=replace(shape, n_bins=n_bins),
            edges=[*self.edges, *edges],
            pair_means=sums.means(),
        )
        return plan, ToldRows(rows, sums)

    @property
    def sparse(self) -> list[int]:
        """Which embeddings are so large that a step updates only the rows of its batch."""
        large = sparse_tables(
            self.architecture,
            optimizer=self.recipe.optimizer,
            weight_decay=self.recipe.weight_decay,
            device=self.device,
        )
        return [i for i in large if i not in frozen_tables(self.starts)]

    def memory(
        self, row_bytes: int, *, has_validation: bool, n_networks: int | None = None
    ) -> MemoryNeed:
        """Return the memory that it takes to train all networks, or so many, in one process."""
        return estimate_memory(
            self.architecture,
            sparse=self.sparse,
            frozen=frozen_tables(self.starts),
            n_networks=len(self.seeds) if n_networks is None else n_networks,
            has_validation=has_validation,
            row_bytes=row_bytes,
            device=self.device,
        )

    def describe_smoothing(self) -> str:
        """Say how strongly the vectors of each column are drawn towards *unseen*."""
        values = dict(zip(self.columns, self.recipe.smooth, strict=True))
        if not any(values.values()):
            return "No vector is smoothed."
        if len(set(values.values())) == 1:
            return f"Vectors are smoothed by {next(iter(values.values())):g} rows."
        shown = ", ".join(f"{name} {value:g}" for name, value in values.items())
        return f"Vectors are smoothed by rows: {shown}."

    def describe_pairs(self) -> str:
        """Say of which pairs of columns networks are told."""
        named = (" and ".join(dict.fromkeys(self.columns[i] for i in pair)) for pair in self.pairs)
        return f"Networks are told what the target did for: {', '.join(named)}."

    def describe_updates(self) -> str:
        """Say which embeddings are updated row by row."""
        names = [self.columns[i] for i in self.architecture.first_columns]
        tables = list(zip(names, self.architecture.table_shapes, strict=True))
        named = [
            f"{name} ({rows:,} x {width})"
            for name, (rows, width) in (tables[i] for i in self.sparse)
        ]
        if not named:
            return "Every step updates all weights."
        return f"A step updates only the rows of its batch in: {', '.join(named)}."


def make_plan(
    parameters: Mapping[str, Any],
    learned: Learned,
    numbers: np.ndarray,
    n_samples: int,
    random: np.random.RandomState,
    given: Mapping[str, GivenVectors] | None = None,
) -> TrainingPlan:
    """Return what there is to train, for a table with so many rows.

    Parameters
    ----------
    parameters : mapping of str to object
        Of the estimator.
    learned : Learned
    numbers : float array of shape (n_sampled, n_numbers)
        Those of all rows or of a sample, as networks read them.
    n_samples : int
        The rows to train on.
    random : RandomState
        Draws the seeds.
    given : mapping of column to GivenVectors, optional
        What `initial_vectors` holds.
    """
    encoder, target, given = learned.encoder, learned.target, given or {}
    parameters = spread_settings(parameters, encoder.groups)
    edges = cut_numbers(numbers, defaults_for(n_samples).n_bins)
    architecture = make_architecture(
        parameters,
        n_samples=n_samples,
        n_codes=[vocabulary.n_codes for vocabulary in encoder.vocabularies.values()],
        n_values=encoder.n_values,
        n_bins=[max(0, len(cuts) - 1) for cuts in edges],
        n_outputs=target.n_outputs,
        output_activation=target.output_activation,
        given=given,
        table_of=encoder.table_of,
        lists=encoder.slots if encoder.lists else (),
    )
    n_networks = _check_networks(parameters["n_networks"])
    names = encoder.vocabularies, architecture.dims, encoder.number_names
    _refuse_equal_names(*names, network_prefixes(None))
    if "networks" in parameters:  # an estimator whose features may be those of all networks
        _refuse_equal_names(*names, network_prefixes(n_networks))
    smooth = list(check_smooth(parameters["smooth"], encoder.vocabularies).values())

    def recipe_of(changed: Mapping[str, Any]) -> Recipe:
        found = make_recipe(
            {**parameters, **changed},
            n_samples=n_samples,
            is_classification=learned.is_classification,
        )
        return replace(found, smooth=tuple(value or 0.0 for value in smooth))

    recipe, lengths = recipe_of({}), None
    if resolve(parameters["max_epochs"], None) is None:
        lengths = Lengths(
            shorter=recipe_of({"max_epochs": max(1, recipe.epochs // 2)}),
            longer=recipe_of({"max_epochs": round(_LONGER * recipe.epochs)}),
        )
    noisy_dropout = None
    if resolve(parameters["dropout"], None) is None:
        noisy_dropout = dropout_of_noise(architecture.dropout, len(edges))
    seeds = random.randint(np.iinfo(np.int32).max, size=n_networks).tolist()
    device = make_device(parameters["device"])
    unsettled = tuple(i for i, value in enumerate(smooth) if value is None)
    columns = list(encoder.vocabularies)
    tries_pairs, pairs = read_pairs(parameters.get("pairs"), columns, encoder.lists)
    return TrainingPlan(
        architecture,
        recipe,
        seeds,
        columns,
        edges,
        device,
        unsettled,
        lengths,
        noisy_dropout,
        tries_pairs=tries_pairs,
        pairs=pairs,
        starts=make_starts(parameters.get("frozen_columns"), given, encoder),
    )


def spread_settings(parameters: Mapping[str, Any], groups: Groups) -> dict[str, Any]:
    """Return parameters whose settings by column are the same for columns that share vectors."""
    by_column = {
        name: spread(name, parameters[name], groups)
        for name in ("embedding_dim", "smooth")
        if isinstance(parameters[name], Mapping)
    }
    return {**parameters, **by_column}


def check_parameters(
    parameters: Mapping[str, Any],
    *,
    is_classification: bool,
    given: Mapping[str, GivenVectors] | None = None,
) -> None:
    """Raise what would be raised when the table has been read, which may take hours."""
    parameters = spread_settings(parameters, read_groups(parameters.get("shared_vectors")))
    given_dims(parameters["embedding_dim"], given or {})
    check_frozen(parameters.get("frozen_columns"), given or {})
    if isinstance(parameters["embedding_dim"], Mapping):  # names columns, which are not known yet
        parameters = {**parameters, "embedding_dim": "auto"}
    make_recipe(parameters, n_samples=1, is_classification=is_classification)
    make_architecture(
        parameters,
        n_samples=1,
        n_codes=(),
        n_values={},
        n_bins=(),
        n_outputs=1,
        output_activation="identity",
        given=given or {},
    )
    check_smooth(parameters["smooth"])
    read_pairs(parameters.get("pairs"))
    _check_networks(parameters["n_networks"])
    make_device(parameters["device"])


def read_pairs(
    pairs: Any, columns: Sequence[str] | None = None, lists: Collection[str] = ()
) -> tuple[bool, tuple[Pair, ...]]:
    """Return whether the rows are to say of which pairs networks are told, and the given ones.

    Parameters
    ----------
    pairs : object
        An estimator's `pairs`: "auto", None, or pairs of names.
    columns : sequence of str, optional
        The embedded columns; without them only the form is checked.
    lists : collection of str
        Those that hold lists.
    """
    if pairs is None or (isinstance(pairs, str) and pairs == "auto"):
        return pairs is not None, ()
    form = ParameterError(
        f'pairs must be "auto", None, or a list of pairs of names of columns; got {pairs!r}.'
    )
    if isinstance(pairs, str) or not isinstance(pairs, Sequence):
        raise form
    given = list(pairs)
    for pair in given:
        is_pair = isinstance(pair, (tuple, list)) and len(pair) == 2
        if not is_pair or not all(isinstance(name, str) for name in pair):
            raise form
    if columns is None:
        return False, ()
    check_column_names("pairs", [name for pair in given for name in pair], columns, _CATEGORICAL)
    for name in (name for pair in given for name in pair if name in lists):
        raise ParameterError(
            f"pairs names {name!r}, which holds lists: a row has no one category of it.",
            hint="leave the pair out.",
        )
    places = {name: place for place, name in enumerate(columns)}
    found = [tuple(sorted(places[name] for name in pair)) for pair in given]
    if len({*found}) < len(found):
        raise ParameterError(f"pairs must name each pair once; got {pairs!r}.")
    return False, tuple((first, second) for first, second in found)


def _check_networks(n_networks: Any) -> int:
    """Return a number of networks that a computer can have in memory."""
    count = check_int("n_networks", n_networks)
    if count > _MOST_NETWORKS:
        raise ParameterError(f"n_networks must be at most {_MOST_NETWORKS:,}; got {n_networks}.")
    return count


def network_prefixes(n_networks: int | None) -> list[str]:
    """Return how names of components begin: nothing for one network, else the network's number.

    Examples
    --------
    >>> network_prefixes(None), network_prefixes(2)
    ([''], ['network0_', 'network1_'])
    """
    return [""] if n_networks is None else [f"network{i}_" for i in range(n_networks)]


def _refuse_equal_names(
    columns: Iterable[str],
    dims: Iterable[int],
    number_names: Iterable[str],
    prefixes: Sequence[str],
) -> None:
    """Raise where a component of one column would have the name of another column."""
    names = set(number_names)
    for column, dim in zip(columns, dims, strict=True):
        for name in (f"{prefix}{column}_{i}" for prefix in prefixes for i in range(dim)):
            if name in names:
                raise InputError(
                    f"The vectors of {column!r} have a component {name!r}, and so is another "
                    "feature called.",
                    hint="rename one of the two columns.",
                )
            names.add(name)
