"""How the columns of a table are understood, for people to see before a training starts."""

import shlex
import warnings

import numpy as np
from rich.table import Table as Grid

from catspace.data.encoding import TableEncoder
from catspace.data.statistics import learn_encoder
from catspace.data.table import Column, Table, describe
from catspace.data.vocabulary import MISSING
from catspace.estimators.base import EmbeddingEstimator
from catspace.exceptions import CatspaceWarning
from catspace.model.sizes import embedding_dims
from catspace.names import visible
from catspace.preparation.learning import Learned
from catspace.terminal import PlainConsole

_FEW_INTEGERS = 2_000
_FEW_WHOLE = 100  # of numbers that are whole, beside missing ones: they may be measured as well


def introduce(
    learned: Learned | None,
    table: Table,
    rows: str,
    target: str,
    console: PlainConsole,
    model: EmbeddingEstimator | None = None,
) -> None:
    """Tell how the columns are understood.

    Parameters
    ----------
    learned : Learned or None
        What a fit has learned of them; None where it has not begun.
    table : Table
        The rows that were learned from, or some of them; it may hold the target.
    rows : str
        How many there are, in words.
    target : str
    console : PlainConsole
    model : estimator, optional
        Whose parameters say what the columns are, where a fit has not begun.
    """
    if learned is not None:
        encoder = learned.encoder
    else:
        with warnings.catch_warnings():  # the fit says them of the rows that it takes
            warnings.simplefilter("ignore", CatspaceWarning)
            names = ("categorical_features", "date_parts", "date_formats", "list_separators")
            encoder = learn_encoder(table, **{name: getattr(model, name) for name in names})
    console.print(_describe(encoder, table))
    console.print(f"{rows}, to predict {visible(target)}")
    _hint_at_categories(encoder, table, console)


def _describe(encoder: TableEncoder, table: Table) -> Grid:
    """Return how each column is understood."""
    dims, origins = embedding_dims("auto", encoder.n_values), encoder.origins
    grid = Grid("column", "holds", "is used as", "values", "missing", "dimension")
    order = {name: i for i, name in enumerate(table.names)}
    for name in sorted(origins, key=lambda name: order[origins[name].raw]):
        column = table[origins[name].raw]
        holds = "dates" if name in encoder.dates.made else describe(column.type)
        holds = "lists" if name in encoder.lists else holds
        if name in encoder.vocabularies:
            vocabulary = encoder.vocabularies[name]
            used_as, dim = "category", str(dims[name])
            n_values, n_missing = vocabulary.n_categories, vocabulary.counts[MISSING]
        else:
            values = origins[name].read(table).to_numbers()
            missing = np.isnan(values)
            used_as, dim = "number", ""
            n_values, n_missing = len(np.unique(values[~missing])), missing.sum()
        cells = (holds, used_as, f"{n_values:,}", f"{n_missing:,}", dim)
        grid.add_row(visible(name), *cells)
    return grid


def _hint_at_categories(encoder: TableEncoder, table: Table, console: PlainConsole) -> None:
    """Tell of columns of few different integers, which may be categories as well as counts."""
    names = [
        name
        for name in encoder.scalings
        if name in table.names and _holds_few_integers(table[name])
    ]
    if names:
        listed = shlex.quote(",".join(names))
        console.print(
            f"Hint: these columns hold few different integers and are used as numbers. If they "
            f"are categories, say so: --categorical {visible(listed)}",
            highlight=False,
            soft_wrap=True,  # so that it can be copied
        )


def _holds_few_integers(column: Column) -> bool:
    """Whether a column holds few different integers; with missing ones they may be fractions."""
    if describe(column.type) not in ("integers", "numbers"):
        return False
    values = column.to_numbers()
    present = values[~np.isnan(values)]
    n_values = len(np.unique(present))
    if describe(column.type) == "integers":
        return n_values <= _FEW_INTEGERS
    is_whole = len(present) < len(values) and bool((present % 1 == 0).all())
    return is_whole and n_values <= _FEW_WHOLE
