"""From files to a model: what the columns are, training, and scores beside plain baselines."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from catspace.commands.dates import choose_parts, find_formats, read_as_dates
from catspace.commands.holding import Split, split_at_random, split_by_date
from catspace.commands.introduction import introduce
from catspace.commands.scores import Comparison, Examples, compare
from catspace.commands.settings import check_names
from catspace.data.dates import check_date_formats, check_date_parts
from catspace.data.encoding import Encoded
from catspace.data.reading import read_table, read_vector
from catspace.data.table import Table
from catspace.data.target import transform_of
from catspace.data.target_statistics import TargetStatistics, learn_target
from catspace.estimators import EmbeddingClassifier, EmbeddingRegressor
from catspace.exceptions import InputError, did_you_mean, shorten, warn
from catspace.names import visible
from catspace.preparation.prepare import Prepared
from catspace.preparation.rows import RowSource
from catspace.storage.blocks import FileBlocks, share_shapes
from catspace.storage.files import find_files, open_file, read_file, standard_input
from catspace.terminal import PlainConsole
from catspace.validation import check_int, check_real, check_seed

TASKS = ("regression", "classification")
_FIRST_ROWS = 100_000  # to see what the columns are, where the table is too large to read


@dataclass(frozen=True)
class Request:
    """What the user asks to be fitted."""

    source: str  # a file, a pattern, a folder, or - for CSV from standard input
    target: str
    categorical: Sequence[str] = ()
    drop: Sequence[str] = ()
    # What dates are taken apart into; none for dates that are refused, None for what is usual
    dates: Sequence[str] | None = None
    task: str | None = None
    log: bool = False
    n_networks: int = 1
    seed: int = 0
    validation: float = 0.1  # share of the rows to hold back
    validate_by: str | None = None  # the column of dates whose latest rows are held back
    early_stopping: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)  # more parameters of the estimator

    def __post_init__(self) -> None:
        if self.task is not None and self.task not in TASKS:
            raise InputError(f'--task must be "regression" or "classification"; got {self.task!r}.')
        if self.log and self.task == "classification":
            raise InputError("--log learns the logarithm of numbers, and classes have none.")
        if self.log and "target_transform" in self.settings:
            raise InputError("--log and --set target_transform both say what is learned.")
        check_int("--networks", self.n_networks)
        check_seed("--seed", self.seed)
        check_real("--validation", self.validation, at_least=0, below=1)
        check_date_parts(self.dates)
        if self.validate_by is not None and self.validation == 0:
            raise InputError(
                "--validate-by says which rows are held back, and --validation 0 holds back none.",
                hint="--validation 0.1 holds back a tenth.",
            )
        known = {**EmbeddingRegressor().get_params(), **EmbeddingClassifier().get_params()}
        check_names(self.settings, list(known), "the estimators")

    def check(self, columns: Sequence[str]) -> None:
        """Raise where an option names something that is not a column."""
        named = {
            "--target": [self.target],
            "--drop": self.drop,
            "--categorical": self.categorical,
            "--validate-by": [] if self.validate_by is None else [self.validate_by],
        }
        for option, names in named.items():
            for name in names:
                if name not in columns:
                    raise InputError(
                        f"{option} names {name!r}, which is not a column."
                        f"{did_you_mean(name, columns)}",
                        hint=f"the columns are: {', '.join(map(visible, columns))}.",
                    )
        if self.target in self.drop:
            raise InputError(f"--drop leaves out {self.target!r}, which is the --target.")

    def make_model(
        self, table: Table, y: np.ndarray, formats: Mapping[str, str]
    ) -> EmbeddingRegressor | EmbeddingClassifier:
        """Return the estimator for a table and its target, of which some rows are enough."""
        parts = self.dates
        if parts is None:
            parts = choose_parts(table, formats)
        settings: dict[str, Any] = {
            "categorical_features": list(self.categorical) or "from_dtype",
            "date_parts": list(parts) or None,
            "date_formats": dict(formats) or None,
            "n_networks": self.n_networks,
            "random_state": self.seed,
            "early_stopping": self.early_stopping,
            "verbose": 1,
            **self.settings,
        }
        if self._is_class(y):
            check_names(self.settings, list(EmbeddingClassifier().get_params()), "a classification")
            return EmbeddingClassifier(**settings)
        check_names(self.settings, list(EmbeddingRegressor().get_params()), "a regression")
        return EmbeddingRegressor(**{"target_transform": self.transform, **settings})

    @property
    def transform(self) -> Literal["log"] | None:
        """What is learned of a target of numbers, in place of itself."""
        return "log" if self.log else None

    def find_formats(self, table: Table) -> dict[str, str]:
        """Return how dates are written in the columns of text that are dates."""
        said = self.settings.get("date_formats") or {}
        check_date_formats(said, table)
        found = find_formats(table, [*self.categorical, *said])
        if found and self.dates is not None and not self.dates:
            name = next(iter(found))
            raise InputError(
                f"Column {name!r} holds dates, and --dates none refuses them.",
                hint=f"--drop {name} leaves it out, --categorical {name} takes each as a category, "
                "and without --dates none they are taken apart.",
            )
        return {**found, **said}

    def _is_class(self, y: np.ndarray) -> bool:
        # Classes have one loss, and whoever names another one has numbers.
        is_regression = self.log or (self.task is None and "loss" in self.settings)
        task = "regression" if is_regression else self.task
        if task == "regression" and y.dtype.kind not in "iuf" and len(y):
            option = "--log" if self.log else "--task" if self.task else "--set loss"
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
    split: Split
    rows: Sequence[RowSource]  # what the model was trained on, and what it was judged by
    seconds: float

    @property
    def training(self) -> Table:
        """The rows that the model was trained on, target included."""
        return self.whole.take(self.split.used)

    @cached_property
    def held_back(self) -> Table:
        """The rows that the model has not seen, target included."""
        return self.whole.take(self.split.held_back)

    def score(self, *, seed: int) -> Comparison:
        """Return how the model does on the rows that it has not seen."""
        if not self.held_back.n_rows:
            return Comparison()
        table, column = self.held_back.pop(self.target)
        try:
            new = Examples(self.model.encode(table), read_vector(column, "target"))
        except Exception as error:  # rows that were held back may hold what fit would have refused
            reason = str(error).strip().partition("\n")[0] or type(error).__name__
            return Comparison(notes=[f"There are no scores: {reason}"])
        return compare(self.model, self._examples(), new, seed=seed)

    def _examples(self) -> Examples:
        """Return the training rows as they were encoded for the training."""
        blocks = [block for source in self.rows for block in source.in_order(len(source))]
        target = self.model.fitted_.learned.target
        encoded = Encoded(
            np.concatenate([block.codes.numpy() for block in blocks], axis=1),
            np.concatenate([block.numbers.numpy() for block in blocks]),
        )
        y = np.concatenate([block.target.numpy() for block in blocks])
        return Examples(encoded, target.restore(y))


def read_source(source: str) -> pa.Table:
    """Read a file, a pattern, a folder, or CSV from standard input, whole."""
    if source == "-":
        with standard_input() as path:
            return read_file(path)
    files = share_shapes([open_file(path) for path in find_files(source)])
    _tell_of_gaps(source, [file.schema.names for file in files])
    try:
        return pa.concat_tables([file.read() for file in files], promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise InputError(f"The files of {source!r} do not fit together: {error}") from None


def _tell_of_gaps(source: str, names: Sequence[Sequence[str]]) -> None:
    """Warn where some of the files lack a column of the others, which may just be spelt otherwise.

    Two columns of one name in a file are refused, by that name.
    """
    for of_file in names:
        read_table(pa.schema([(name, pa.null()) for name in of_file]).empty_table())
    everything = dict.fromkeys(name for of_file in names for name in of_file)
    lacking = [name for name in everything if any(name not in of_file for of_file in names)]
    if lacking:
        warn(
            f"Not all files of {source!r} have the columns {shorten(lacking)}: in the others their "
            "values are missing.",
            hint="names must be spelt alike in all files of a table.",
        )


def fit_files(request: Request, *, console: PlainConsole) -> Fitting:
    """Fit a model to files, telling the user what happens."""
    arrow = read_source(request.source)
    request.check(arrow.column_names)
    everything = with_known_target(read_table(arrow), request.target, console)
    kept = [name for name in everything.names if name not in request.drop]
    whole = everything.select(kept)
    table, column = whole.pop(request.target)
    y, formats = read_vector(column, "target"), request.find_formats(table)
    model = request.make_model(table, y, formats)
    model.start_fit()  # which checks the parameters
    if table.n_rows:  # all of it, so that what is wrong does not depend on the rows held back
        is_class = isinstance(model, EmbeddingClassifier)
        learn_target(y, "class" if is_class else "continuous", transform_of(model.get_params()))
    split, judges = _split(request, everything, formats, model)
    if split.since is not None:
        console.print(
            f"{len(split.held_back):,} rows are held back: the latest, from {split.since} on."
        )
    training = whole.take(split.used if judges is None else judges.used)
    rows: list[RowSource] = []

    def on_prepared(prepared: Prepared) -> None:
        rows.extend(r for r in (prepared.rows, prepared.validation) if r is not None)
        introduce(prepared.learned, training, f"{table.n_rows:,} rows", request.target, console)

    start = time.perf_counter()
    model.fit(
        training,
        request.target,
        X_val=None if judges is None else whole.take(judges.held_back),
        y_val=None if judges is None else request.target,
        on_prepared=on_prepared,
    )
    seconds = time.perf_counter() - start
    return Fitting(model, whole, request.target, split, rows, seconds)


def _split(
    request: Request, everything: Table, formats: dict[str, str], model: Any
) -> tuple[Split, Split | None]:
    """Return the rows for the scores, and those that epochs are judged by where dates decide."""
    if request.validate_by is None:
        return split_at_random(everything.n_rows, request.validation, request.seed), None
    column = everything[request.validate_by]
    if request.validate_by in request.drop:
        formats = {**formats, **find_formats(everything.select([request.validate_by]))}
    dates = read_as_dates(column, formats)
    if dates is None:
        raise InputError(
            f"--validate-by names {request.validate_by!r}, which holds no dates.",
            hint="leave out --validate-by to hold back rows at random.",
        )
    split = split_by_date(dates, np.arange(everything.n_rows), request.validation)
    if not model.early_stopping:
        return split, None
    # What the scores come from judges no epoch: the latest of the others do.
    return split, split_by_date(dates, split.used, model.validation_fraction)


def fit_on_cluster(
    request: Request,
    *,
    address: str,
    num_workers: int,
    storage: str | None,
    console: PlainConsole,
) -> EmbeddingRegressor | EmbeddingClassifier:
    """Fit a model to files on a Ray cluster; they are never read here as a whole."""
    from catspace import distributed
    from catspace.distributed.cluster import connect

    if request.validate_by is not None:
        raise InputError("--validate-by holds back rows for scores, and --ray has none.")
    files = FileBlocks(request.source)
    request.check(files.columns.names)
    files = files.without(request.drop)
    first = next(files.blocks(_FIRST_ROWS), None)
    if first is None:
        raise InputError(f"{request.source!r} has no rows.")
    table, column = first.pop(request.target)
    model = request.make_model(table, read_vector(column, "target"), request.find_formats(table))
    rows = f"the first {table.n_rows:,} rows"
    introduce(None, table, rows, request.target, console, model)
    connect(address)
    # Networks apart from each other need not wait for each other.
    parallel = "networks" if request.n_networks >= num_workers > 1 else "rows"
    return distributed.fit(
        model,
        files,
        request.target,
        num_workers=num_workers,
        parallel=parallel,
        storage_path=storage,
    )


def with_known_target(table: Table, target: str, console: PlainConsole) -> Table:
    """Return the rows whose target is known, and tell of the others."""
    values = read_vector(table.pop(target)[1], "target")
    is_known = np.array([value is not None and value == value for value in values], dtype=bool)
    if is_known.all():
        return table
    n_unknown = int((~is_known).sum())
    words = "row without {} is" if n_unknown == 1 else "rows without {} are"
    console.print(f"{n_unknown:,} {words.format(visible(target))} left out.")
    return table.take(np.flatnonzero(is_known))
