"""Runs the cells of the paper's tables, one after another, and keeps each as it is finished."""

import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from catspace.datasets import SalesData
from catspace.estimators import EmbeddingRegressor, load
from catspace.exceptions import InputError, did_you_mean
from catspace.paper.fitting import Task
from catspace.paper.methods import METHODS
from catspace.paper.protocol import (
    ENCODINGS,
    PUBLISHED,
    SPLITS,
    Features,
    make_problem,
    scores,
)
from catspace.paper.records import Record, prepare_folder, versions, write_json


@dataclass(frozen=True)
class Cell:
    """One number of the tables: a method on a split, raw or with entity embeddings."""

    split: str
    method: str
    encoding: str

    @property
    def needs_vectors(self) -> bool:
        """Whether the vectors of the paper's network are its input."""
        return METHODS[self.method].inputs[self.encoding] == "vectors"


class Listener(Protocol):
    """Is called with what happens."""

    def started(self, cell: Cell) -> None:
        """Show that a cell is being computed."""

    def progressed(self, share: float) -> None:
        """Show the share of the running cell that is done."""

    def finished(self, record: Record) -> None:
        """Show a number, just computed or kept from an earlier run."""


def choose_cells(splits: Sequence[str] = SPLITS, only: Iterable[str] = ()) -> list[Cell]:
    """Return the cells to run, in an order in which what a cell needs comes before it.

    Parameters
    ----------
    splits : sequence of str
    only : iterable of str
        Methods (``"knn"``) or methods with an encoding (``"knn:ee"``); by default all.

    Examples
    --------
    >>> [cell.encoding for cell in choose_cells(["time"], ["knn"])]
    ['raw', 'ee']
    """
    wanted: set[tuple[str, str]] = set()
    for name in only:
        method, _, encoding = name.partition(":")
        if method not in METHODS:
            raise InputError(
                f"There is no method {method!r}; there are {', '.join(METHODS)}."
                f"{did_you_mean(method, METHODS)}"
            )
        encodings = METHODS[method].inputs
        if encoding and encoding not in encodings:
            raise InputError(f"{method!r} is not run with {encoding!r}, only {list(encodings)}.")
        wanted |= {(method, e) for e in ([encoding] if encoding else encodings)}
    return [
        Cell(split, name, encoding)
        for split in splits
        for name, method in METHODS.items()
        for encoding in ENCODINGS
        if encoding in method.inputs and (not wanted or (name, encoding) in wanted)
    ]


class Reproduction:
    """The paper's protocol on one data set, with the numbers that are known so far.

    Parameters
    ----------
    data : SalesData
    name : str
        Of the data.
    out : Path
        Folder of ``results.json`` and of the trained networks. Cells that are found there, of
        the same data, rows, seed and parameters, are not computed again.
    rows, seed : int
    """

    def __init__(self, data: SalesData, name: str, out: Path, *, rows: int, seed: int) -> None:
        self.name, self.out, self.rows, self.seed = name, out, rows, seed
        # Fails at once where there are too few rows, before any file is touched.
        self.problems = {
            split: make_problem(data, name, split, rows=rows, seed=seed) for split in SPLITS
        }
        self._vectors: dict[str, Features] = {}
        prepare_folder(out)
        self._records = {_key(record): record for record in read_results(out)}

    def run(self, cells: Sequence[Cell], listener: Listener) -> list[Record]:
        """Compute the cells that are not known yet, and return the records of all of them."""
        needed = dict.fromkeys(cells)
        for cell in cells:
            if cell.needs_vectors and not self._model_path(cell.split).exists():
                needed[Cell(cell.split, "network", "ee")] = None
        order = {cell: i for i, cell in enumerate(choose_cells())}
        for cell in sorted(needed, key=lambda cell: order[cell]):
            record = self._known(cell)
            if record is None:
                listener.started(cell)
                record = self._compute(cell, listener)
                self._records[_key(record)] = record
                write_json(self.out / "results.json", list(self._records.values()))
            listener.finished(record)
        return [record for cell in cells if (record := self._known(cell)) is not None]

    def _known(self, cell: Cell) -> Record | None:
        record = self._records.get(_key(self._identity(cell)))
        is_source = cell == Cell(cell.split, "network", "ee")
        if record is not None and is_source and not self._model_path(cell.split).exists():
            return None
        return record

    def _identity(self, cell: Cell) -> Record:
        """Return what must agree for a number to be the same number."""
        return {
            "data": self.name,
            "split": cell.split,
            "method": cell.method,
            "encoding": cell.encoding,
            "rows": self.rows,
            "test_rows": len(self.problems[cell.split].test),
            "seed": self.seed,
            "parameters": _plain(METHODS[cell.method].parameters[cell.encoding]),
        }

    def _compute(self, cell: Cell, listener: Listener) -> Record:
        problem, method = self.problems[cell.split], METHODS[cell.method]
        source = method.inputs[cell.encoding]
        features = self._embedded(cell.split) if source == "vectors" else getattr(problem, source)
        task = Task(
            problem, cell.encoding, features, method.parameters[cell.encoding], listener.progressed
        )
        start = time.perf_counter()
        fitted = method.fit(task)
        fit_end = time.perf_counter()
        predicted = fitted.predict(listener.progressed)
        predict_end = time.perf_counter()
        if (cell.method, cell.encoding) == ("network", "ee") and fitted.model is not None:
            path = self._model_path(cell.split)
            path.parent.mkdir(exist_ok=True)
            fitted.model.save(path)
            self._vectors.pop(cell.split, None)
        found = scores(problem.y_test, predicted)
        published = PUBLISHED.get((cell.split, cell.method, cell.encoding))
        return {
            **self._identity(cell),
            "chosen": _plain(fitted.chosen),
            **found,
            "paper_mape": published,
            "difference": None if published is None else found["mape"] - published,
            "fit_seconds": fit_end - start,
            "predict_seconds": predict_end - fit_end,
            "versions": versions(),
        }

    def _embedded(self, split: str) -> Features:
        """Return the rows as vectors of the first of the paper's networks."""
        if split not in self._vectors:
            model: EmbeddingRegressor = load(self._model_path(split))
            frames = self.problems[split].frames
            self._vectors[split] = Features(
                model.transform(frames.train), model.transform(frames.test)
            )
        return self._vectors[split]

    def _model_path(self, split: str) -> Path:
        return self.out / "models" / f"{self.name}-{split}-{self.rows}-{self.seed}.catspace"


def read_results(out: Path) -> list[Record]:
    """Return the records that a folder holds; an empty list where there are none."""
    path = out / "results.json"
    if not path.exists():
        return []
    try:
        records = json.loads(path.read_text(encoding="utf-8"))
        for record in records:
            _key(record)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError(
            f"{str(path)!r} is not a list of results.",
            hint="move it away, or choose another --out.",
        ) from None
    return list(records)


def _key(record: Record) -> str:
    names = ("data", "split", "method", "encoding", "rows", "test_rows", "seed", "parameters")
    return json.dumps({name: record[name] for name in names}, sort_keys=True)


def _plain(value: Any) -> Any:
    """Return parameters as JSON gives them back."""
    return json.loads(json.dumps(value))
