"""From files to a model: what the columns are, training, and scores beside plain baselines."""

import shlex
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from rich.table import Table as Grid

from catspace.commands.scores import Comparison, compare
from catspace.data.reading import read_table, read_vector
from catspace.data.roles import expand_dates
from catspace.data.statistics import learn_encoder
from catspace.data.table import Table, describe
from catspace.data.target_statistics import TargetStatistics, learn_target
from catspace.data.vocabulary import MISSING
from catspace.estimators import EmbeddingClassifier, EmbeddingRegressor
from catspace.exceptions import CatspaceWarning, InputError, did_you_mean
from catspace.model.sizes import embedding_dims
from catspace.names import visible
from catspace.storage.blocks import FileBlocks, share_shapes
from catspace.storage.files import find_files, open_file, read_file, standard_input
from catspace.terminal import PlainConsole
from catspace.validation import check_int, check_real, check_seed

TASKS = ("regression", "classification")
_FEW_INTEGERS = 2_000
_FIRST_ROWS = 100_000  # to see what the columns are, where the table is too large to read


@dataclass(frozen=True)
class Request:
    """What the user asks to be fitted."""

    source: str  # a file, a pattern, a folder, or - for CSV from standard input
    target: str
    categorical: Sequence[str] = ()
    drop: Sequence[str] = ()
    date_parts: Sequence[str] = ()
    task: str | None = None
    log: bool = False
    n_networks: int = 1
    seed: int = 0
    validation: float = 0.1  # share of the rows to hold back

    def __post_init__(self) -> None:
        if self.task is not None and self.task not in TASKS:
            raise InputError(f'--task must be "regression" or "classification"; got {self.task!r}.')
        if self.log and self.task == "classification":
            raise InputError("--log learns the logarithm of numbers, and classes have none.")
        check_int("--networks", self.n_networks)
        check_seed("--seed", self.seed)
        check_real("--validation", self.validation, at_least=0, below=1)

    def check(self, columns: Sequence[str]) -> None:
        """Raise where an option names something that is not a column."""
        named = {"--target": [self.target], "--drop": self.drop, "--categorical": self.categorical}
        for option, names in named.items():
            for name in names:
                if name not in columns:
                    raise InputError(
                        f"{option} names {name!r}, which is not a column."
                        f"{did_you_mean(name, columns)}",
                        hint=f"the columns are: {', '.join(map(visible, columns))}.",
                    )

    @property
    def roles(self) -> dict[str, Any]:
        """What decides how columns are used, as the estimators and `learn_encoder` take it."""
        categorical = list(self.categorical) or "from_dtype"
        return {"categorical_features": categorical, "date_parts": list(self.date_parts) or None}

    def make_model(self, y: np.ndarray) -> EmbeddingRegressor | EmbeddingClassifier:
        """Return the estimator for a target, of which some rows are enough."""
        settings: dict[str, Any] = {
            **self.roles,
            "n_networks": self.n_networks,
            "random_state": self.seed,
            "verbose": 1,
        }
        if self._is_class(y):
            return EmbeddingClassifier(**settings)
        return EmbeddingRegressor(target_transform=self.transform, **settings)

    @property
    def transform(self) -> Literal["log"] | None:
        """What is learned of a target of numbers, in place of itself."""
        return "log" if self.log else None

    def _is_class(self, y: np.ndarray) -> bool:
        task = "regression" if self.log else self.task
        if task == "regression" and y.dtype.kind not in "iuf" and len(y):
            option = "--log" if self.log else "--task"
            raise InputError(
                f"The target {self.target!r} holds {y.dtype} values such as {y[0]!r}, and a "
                f"regression needs numbers.",
                hint=f"leave out {option}, or choose another --target.",
            )
        if task is not None:
            return task == "classification"
        statistics = TargetStatistics("auto")
        statistics.add(y, None, 0)
        return statistics.is_class


@dataclass(frozen=True)
class Fitting:
    """What came out of a fit, and what is needed to see how well it does."""

    model: EmbeddingRegressor | EmbeddingClassifier
    whole: Table  # all rows, target included
    target: str
    used: np.ndarray  # the rows that the model was trained on
    held_back: np.ndarray  # the others
    seconds: float

    @property
    def training(self) -> Table:
        """The rows that the model was trained on, target included."""
        return self.whole.take(self.used)

    def score(self, *, seed: int) -> Comparison:
        """Return how the model does on the rows that it has not seen."""
        if not len(self.held_back):
            return Comparison()
        table, column = self.whole.pop(self.target)
        y = read_vector(column, "target")
        return compare(self.model, table, y, self.used, self.held_back, seed=seed)


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


def fit_files(request: Request, *, console: PlainConsole) -> Fitting:
    """Fit a model to files, telling the user what happens."""
    arrow = read_source(request.source)
    request.check(arrow.column_names)
    whole = read_table(arrow.drop_columns(list(request.drop)))
    whole = _with_known_target(whole, request.target, console)
    table, column = whole.pop(request.target)
    y = read_vector(column, "target")
    model = request.make_model(y)
    _introduce(table, request, f"{table.n_rows:,} rows", console)
    if table.n_rows:  # all of it, so that what is wrong does not depend on the rows held back
        is_class = isinstance(model, EmbeddingClassifier)
        learn_target(y, "class" if is_class else "continuous", request.transform)

    order = np.random.default_rng(request.seed).permutation(table.n_rows)
    n_held_back = min(round(request.validation * table.n_rows), max(0, table.n_rows - 1))
    held_back, used = np.sort(order[:n_held_back]), np.sort(order[n_held_back:])
    start = time.perf_counter()
    model.fit(whole.take(used), request.target)
    seconds = time.perf_counter() - start
    return Fitting(model, whole, request.target, used, held_back, seconds)


def fit_on_cluster(
    request: Request, *, address: str, num_workers: int, console: PlainConsole
) -> EmbeddingRegressor | EmbeddingClassifier:
    """Fit a model to files on a Ray cluster; they are never read here as a whole."""
    from catspace import distributed
    from catspace.distributed.cluster import connect

    files = FileBlocks(request.source)
    request.check(files.columns.names)
    files = files.without(request.drop)
    first = next(files.blocks(_FIRST_ROWS), None)
    if first is None:
        raise InputError(f"{request.source!r} has no rows.")
    table, column = first.pop(request.target)
    model = request.make_model(read_vector(column, "target"))
    _introduce(table, request, f"the first {table.n_rows:,} rows", console)
    connect(address)
    # Networks apart from each other need not wait for each other.
    parallel = "networks" if request.n_networks >= num_workers > 1 else "rows"
    return distributed.fit(model, files, request.target, num_workers=num_workers, parallel=parallel)


def _with_known_target(table: Table, target: str, console: PlainConsole) -> Table:
    values = read_vector(table.pop(target)[1], "target")
    is_known = np.array([value is not None and value == value for value in values])
    if is_known.all():
        return table
    console.print(f"{(~is_known).sum():,} rows without {visible(target)} are left out.")
    return table.take(np.flatnonzero(is_known))


def _introduce(table: Table, request: Request, rows: str, console: PlainConsole) -> None:
    """Tell how the columns are understood."""
    console.print(_describe(table, request.roles))
    console.print(f"{rows}, to predict {visible(request.target)}")
    _hint_at_categories(table, request.categorical, console)


def _describe(table: Table, roles: Mapping[str, Any]) -> Grid:
    """Return how each column is understood."""
    with warnings.catch_warnings():  # the fit says them of the rows that it takes
        warnings.simplefilter("ignore", CatspaceWarning)
        encoder = learn_encoder(table, **roles)
    table = expand_dates(table, encoder.dates, encoder.date_parts)
    dims = embedding_dims("auto", encoder.n_values)
    grid = Grid("column", "holds", "is used as", "values", "missing", "dimension")
    for column in table.columns:
        if column.name in encoder.vocabularies:
            vocabulary = encoder.vocabularies[column.name]
            used_as, dim = "category", str(dims[column.name])
            n_values, n_missing = vocabulary.n_categories, vocabulary.counts[MISSING]
        else:
            values = column.to_numbers()
            missing = np.isnan(values)
            used_as, dim = "number", ""
            n_values, n_missing = len(np.unique(values[~missing])), missing.sum()
        cells = (describe(column.type), used_as, f"{n_values:,}", f"{n_missing:,}", dim)
        grid.add_row(visible(column.name), *cells)
    return grid


def _hint_at_categories(table: Table, categorical: Sequence[str], console: PlainConsole) -> None:
    """Tell of columns of few different integers, which may be categories as well as counts."""
    names = [
        column.name
        for column in table.columns
        if column.name not in categorical
        and describe(column.type) == "integers"
        and len(np.unique(column.to_numbers())) <= _FEW_INTEGERS
    ]
    if names:
        listed = shlex.quote(",".join(names))
        console.print(
            f"Hint: these columns hold few different integers and are used as numbers. If they "
            f"are categories, say so: --categorical {visible(listed)}",
            highlight=False,
            soft_wrap=True,  # so that it can be copied
        )
