"""From files to a model: what the columns are, training, and scores beside plain baselines."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table as Grid
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import (
    accuracy_score,
    log_loss,
    mean_absolute_error,
    mean_absolute_percentage_error,
    r2_score,
)

from catspace.data.reading import read_table, read_vector
from catspace.data.statistics import learn_encoder
from catspace.data.table import Table, describe
from catspace.data.vocabulary import MISSING
from catspace.estimators import EmbeddingClassifier, EmbeddingRegressor
from catspace.exceptions import InputError, did_you_mean
from catspace.model.sizes import embedding_dims
from catspace.storage.blocks import FileBlocks, share_shapes
from catspace.storage.files import find_files, open_file, read_file, standard_input

TASKS = ("regression", "classification")
_MOST_CLASSES = 20  # of an integer target, where the user does not say what it is
_MOST_HGB_CATEGORIES = 255
_FEW_INTEGERS = 2_000
_FIRST_ROWS = 100_000  # to see what the columns are, where the table is too large to read


@dataclass(frozen=True)
class Fitting:
    """What came out of a fit: the model, and how it does on rows that it has not seen.

    Attributes
    ----------
    model : EmbeddingRegressor or EmbeddingClassifier
    scores : dict of method to dict of score to float
        Empty where no rows were held back.
    table : Table
        The rows that the model was trained on, target included.
    n_validation : int
        How many rows were held back.
    seconds : float
    """

    model: EmbeddingRegressor | EmbeddingClassifier
    scores: dict[str, dict[str, float]]
    table: Table
    n_validation: int
    seconds: float


def read_source(source: str) -> pa.Table:
    """Read a file, a pattern, a folder, or CSV from standard input, whole."""
    if source == "-":
        with standard_input() as path:
            return read_file(path)
    files = share_shapes([open_file(path) for path in find_files(source)])
    try:
        return pa.concat_tables([file.read() for file in files], promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise InputError(f"The files of {source!r} do not fit together: {error}") from None


def fit_files(
    source: str,
    target: str,
    *,
    categorical: Sequence[str] = (),
    drop: Sequence[str] = (),
    task: str | None = None,
    log: bool = False,
    n_networks: int = 1,
    validation: float = 0.1,
    seed: int = 0,
    console: Console,
    verbose: bool = True,
) -> Fitting:
    """Fit a model to files, telling the user what happens."""
    arrow = read_source(source)
    _check_columns(arrow.column_names, [target], "--target")
    _check_columns(arrow.column_names, drop, "--drop")
    _check_columns(arrow.column_names, categorical, "--categorical")
    whole = _with_known_target(read_table(arrow.drop_columns(list(drop))), target, console)
    table, column = whole.pop(target)
    y = read_vector(column, "target")
    task = _choose_task(task, y, target)
    y = y if task == "classification" else y.astype(float)
    console.print(_describe(table, categorical), f"{table.n_rows:,} rows, to predict {target}")
    _hint_at_categories(table, categorical, console)

    random = np.random.default_rng(seed)
    order = random.permutation(table.n_rows)
    n_validation = round(validation * table.n_rows)
    held_back, used = np.sort(order[:n_validation]), np.sort(order[n_validation:])
    model = _make_model(
        task,
        log=log,
        categorical_features=list(categorical) or "from_dtype",
        n_networks=n_networks,
        random_state=seed,
        verbose=int(verbose),
    )
    start = time.perf_counter()
    training = whole.take(used)
    model.fit(training, target)
    seconds = time.perf_counter() - start
    scores = {}
    if n_validation:
        scores = _compare(model, table, y, used, held_back, log=log, seed=seed)
    return Fitting(model, scores, training, n_validation, seconds)


def fit_on_cluster(
    source: str,
    target: str,
    *,
    address: str,
    num_workers: int,
    categorical: Sequence[str] = (),
    drop: Sequence[str] = (),
    task: str | None = None,
    log: bool = False,
    n_networks: int = 1,
    seed: int = 0,
    console: Console,
) -> EmbeddingRegressor | EmbeddingClassifier:
    """Fit a model to files on a Ray cluster; they are never read here as a whole."""
    from catspace import distributed
    from catspace.distributed.cluster import connect

    every = FileBlocks(source).columns.names
    _check_columns(every, [target], "--target")
    _check_columns(every, drop, "--drop")
    _check_columns(every, categorical, "--categorical")
    files = FileBlocks(source, drop=drop)
    first = next(files.blocks(_FIRST_ROWS), None)
    if first is None:
        raise InputError(f"{source!r} has no rows.")
    table, column = first.pop(target)
    task = _choose_task(task, read_vector(column, "target"), target)
    console.print(
        _describe(table, categorical), f"the first {table.n_rows:,} rows, to predict {target}"
    )
    _hint_at_categories(table, categorical, console)
    model = _make_model(
        task,
        log=log,
        categorical_features=list(categorical) or "from_dtype",
        n_networks=n_networks,
        random_state=seed,
        verbose=1,
    )
    connect(address)
    # Networks apart from each other need not wait for each other.
    parallel = "networks" if n_networks >= num_workers > 1 else "rows"
    return distributed.fit(model, files, target, num_workers=num_workers, parallel=parallel)


def _make_model(
    task: str, *, log: bool, **settings: Any
) -> EmbeddingRegressor | EmbeddingClassifier:
    if task == "regression":
        return EmbeddingRegressor(target_transform="log" if log else None, **settings)
    return EmbeddingClassifier(**settings)


def _with_known_target(table: Table, target: str, console: Console) -> Table:
    values = read_vector(table.pop(target)[1], "target")
    is_known = np.array([value is not None and value == value for value in values])
    if is_known.all():
        return table
    console.print(f"{(~is_known).sum():,} rows without {target} are left out.")
    return table.take(np.flatnonzero(is_known))


def score_grid(fitting: Fitting) -> Grid:
    """Return the scores for the terminal."""
    names = list(next(iter(fitting.scores.values())))
    grid = Grid("method", *names, title=f"On {fitting.n_validation:,} rows that were held back")
    for method, scores in fitting.scores.items():
        style = "bold" if method == "catspace" else ""
        grid.add_row(method, *(f"{scores[name]:.4f}" for name in names), style=style)
    return grid


def _describe(table: Table, categorical: Sequence[str]) -> Grid:
    """Return how each column is understood."""
    encoder = learn_encoder(table, categorical_features=list(categorical) or "from_dtype")
    dims = embedding_dims("auto", encoder.n_values)
    grid = Grid("column", "holds", "is used as", "values", "missing", "dimension")
    for column in table.columns:
        if column.name in encoder.vocabularies:
            vocabulary = encoder.vocabularies[column.name]
            grid.add_row(
                column.name,
                describe(column.type),
                "category",
                f"{vocabulary.n_categories:,}",
                f"{vocabulary.counts[MISSING]:,}",
                str(dims[column.name]),
            )
        else:
            values = column.to_numbers()
            missing = np.isnan(values)
            n_values = len(np.unique(values[~missing]))
            grid.add_row(
                column.name,
                describe(column.type),
                "number",
                f"{n_values:,}",
                f"{missing.sum():,}",
                "",
            )
    return grid


def _hint_at_categories(table: Table, categorical: Sequence[str], console: Console) -> None:
    """Tell of columns of few different integers, which may be categories as well as counts."""
    names = [
        column.name
        for column in table.columns
        if column.name not in categorical
        and describe(column.type) == "integers"
        and len(np.unique(column.to_numbers())) <= _FEW_INTEGERS
    ]
    if names:
        listed = ",".join(names)
        console.print(
            f"Hint: these columns hold few different integers and are used as numbers. If they "
            f"are categories, say so: --categorical {listed}",
            highlight=False,
            soft_wrap=True,  # so that it can be copied
        )


def _compare(
    model: Any,
    table: Table,
    y: np.ndarray,
    used: np.ndarray,
    held_back: np.ndarray,
    *,
    log: bool,
    seed: int,
) -> dict[str, dict[str, float]]:
    """Score the model, a constant, and scikit-learn's gradient boosting on the same rows."""
    encoded = model.encode(table)
    features = np.column_stack([*encoded.codes, encoded.numbers]).astype(np.float64)
    n_codes = model.fitted_.learned.encoder.n_codes
    # It takes at most 255 categories; columns with more go in as integers.
    native = [i for i, n in enumerate(n_codes) if n <= _MOST_HGB_CATEGORIES]
    X, X_new = features[used], features[held_back]
    if isinstance(model, EmbeddingClassifier):
        boosting = HistGradientBoostingClassifier(categorical_features=native, random_state=seed)
        constant = DummyClassifier(strategy="prior")
        found = {"catspace": model.predict_proba(table.take(held_back))}
        for name, other in (("gradient boosting", boosting), ("majority", constant)):
            found[name] = other.fit(X, y[used]).predict_proba(X_new)
        labels = model.classes_
        return {
            name: {
                "accuracy": float(accuracy_score(y[held_back], labels[p.argmax(axis=1)])),
                "log loss": float(log_loss(y[held_back], p, labels=labels)),
            }
            for name, p in found.items()
        }
    forward, back = (np.log, np.exp) if log else (np.asarray, np.asarray)
    boosting = HistGradientBoostingRegressor(categorical_features=native, random_state=seed)
    found = {"catspace": model.predict(table.take(held_back))}
    for name, other in (("gradient boosting", boosting), ("mean", DummyRegressor())):
        found[name] = back(other.fit(X, forward(y[used])).predict(X_new))
    true = y[held_back]
    scores = {
        name: {
            "R²": float(r2_score(true, predicted)),
            "mean absolute error": float(mean_absolute_error(true, predicted)),
        }
        for name, predicted in found.items()
    }
    if (true != 0).all():
        for name, predicted in found.items():
            scores[name]["MAPE"] = float(mean_absolute_percentage_error(true, predicted))
    return scores


def _choose_task(task: str | None, y: np.ndarray, target: str) -> str:
    if task is not None and task not in TASKS:
        raise InputError(f'--task must be "regression" or "classification"; got {task!r}.')
    is_number = y.dtype.kind in "iuf"
    if task == "regression" and not is_number:
        raise InputError(
            f"The target {target!r} holds {y.dtype} values such as {y[0]!r}, and a regression "
            f"needs numbers.",
            hint="leave out --task, or choose another --target.",
        )
    if task is not None:
        return task
    is_whole = is_number and (y == np.round(y.astype(float))).all()
    if not is_number or (is_whole and len(np.unique(y)) <= _MOST_CLASSES):
        return "classification"
    return "regression"


def _check_columns(known: Sequence[str], names: Sequence[str], option: str) -> None:
    for name in names:
        if name not in known:
            raise InputError(
                f"{option} names {name!r}, which is not a column.{did_you_mean(name, known)}",
                hint=f"the columns are: {', '.join(known)}.",
            )
