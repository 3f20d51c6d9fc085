"""How well a model does on a file, and which columns that rests on."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table as Grid

from catspace.analysis import importance
from catspace.commands.fit import with_known_target
from catspace.commands.predict import read_blocks
from catspace.commands.scores import Comparison, Examples, compare, show_numbers
from catspace.data.encoding import Encoded
from catspace.data.reading import read_vector
from catspace.data.table import Table
from catspace.exceptions import InputError, did_you_mean
from catspace.names import visible
from catspace.storage.blocks import read_all, read_any
from catspace.storage.files import standard_input
from catspace.terminal import PlainConsole
from catspace.validation import check_seed

Record = dict[str, Any]
_WIDEST_BAR = 24


def score_source(
    model: Any,
    source: str,
    target: str | None = None,
    boosting: str | None = None,
    *,
    console: PlainConsole,
) -> tuple[Comparison, int]:
    """Return the scores of a model on files of any size, and the number of their rows.

    Parameters
    ----------
    model : fitted EmbeddingRegressor or EmbeddingClassifier
    source : str
        A file, a pattern, a folder, or ``-`` for CSV from standard input.
    target : str, optional
        The column that was predicted; by default the one that the model was fitted on.
    boosting : str, optional
        A table that gradient boosting and the constant learn from.
    console : PlainConsole
    """
    target = _check_target(model, target)
    new = _read_examples(model, source, target, console)
    training = None if boosting is None else _read_examples(model, boosting, target, console)
    return compare(model, training, new), len(new.y)


def find_importance(
    model: Any,
    source: str,
    target: str | None,
    groups: Sequence[Sequence[str]],
    *,
    n_repeats: int,
    seed: int,
    console: PlainConsole,
) -> list[Record]:
    """Return how much each column matters on the rows of a file, most important first."""
    check_seed("--seed", seed)
    target = _check_target(model, target)
    table = with_known_target(read_whole(model, source, target), target, console)
    found = importance(
        model,
        table,
        target,
        groups={" + ".join(names): names for names in groups},
        n_repeats=n_repeats,
        random_state=seed,
    )
    names = ("column", "importance", "std", "baseline")
    columns = [np.asarray(found[name]).tolist() for name in names]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def importance_grid(found: list[Record], model: Any) -> Grid:
    """Return the importances for the terminal."""
    score = "log loss" if hasattr(model, "classes_") else "mean absolute error"
    importances = [record["importance"] for record in found]
    shown = show_numbers([*importances, *(record["std"] for record in found)])
    (loss,) = show_numbers([-found[0]["baseline"]])
    grid = Grid("column", title=f"How much the {score} of {loss} grows when a column is shuffled")
    for name in ("importance", "±"):
        grid.add_column(name, justify="right")
    grid.add_column("")
    largest = max(*importances, np.finfo(float).tiny)
    for i, record in enumerate(found):
        bar = "█" * round(_WIDEST_BAR * max(0.0, record["importance"] / largest))
        grid.add_row(visible(record["column"]), shown[i], shown[len(found) + i], bar)
    return grid


def read_rows(model: Any, source: str, target: str, console: PlainConsole) -> Table:
    """Return the rows of files whose target is known, as the model reads them; whole."""
    table = with_known_target(read_whole(model, source, target), target, console)
    if not table.n_rows:
        raise InputError(f"{source!r} has no rows with a target.")
    return table


def _check_target(model: Any, target: str | None) -> str:
    if not hasattr(model, "predict"):
        raise InputError(f"The model is an {type(model).__name__}, which predicts nothing.")
    return name_target(model, target)


def name_target(model: Any, target: str | None) -> str:
    """Return the name of the column that a model learns to predict."""
    name = target or model.fitted_.learned.schema.target
    if name is None:
        raise InputError(
            "The model does not know the name of its target.", hint="--target names its column."
        )
    if name in model.fitted_.learned.schema.names:
        raise InputError(f"--target names {str(name)!r}, which is a column that the model reads.")
    return str(name)


def _read_examples(model: Any, source: str, target: str, console: PlainConsole) -> Examples:
    """Return the rows of files as the model reads them, block by block."""
    codes, numbers, targets = [], [], []
    for _, block in read_blocks(source, model.fitted_.learned.kinds(target)):
        _require(block, target, source)
        known = with_known_target(block, target, console)
        table, column = known.pop(target)
        if not table.n_rows:
            continue
        encoded = model.encode(table)
        codes.append(encoded.codes)
        numbers.append(encoded.numbers)
        targets.append(read_vector(column, "target"))
    if not targets:
        raise InputError(f"{source!r} has no rows with a target.")
    encoded = Encoded(np.concatenate(codes, axis=1), np.concatenate(numbers))
    return Examples(encoded, np.concatenate(targets))


def read_whole(model: Any, source: str, target: str) -> Table:
    """Return all rows of files, as the model reads them."""
    kinds = model.fitted_.learned.kinds(target)
    if source == "-":
        with standard_input() as path:
            table = read_any(path, kinds)
    else:
        table = read_all(source, kinds)
    _require(table, target, source)
    return table


def _require(table: Table, target: str, source: str | Path) -> None:
    if target not in table.names:
        raise InputError(
            f"{str(source)!r} has no column {target!r}, which is the target."
            f"{did_you_mean(target, table.names)}",
            hint="--target names the column that holds it.",
        )
