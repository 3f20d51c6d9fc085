"""What `catspace reproduce` was asked for, and the data that it works on."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from rich.console import Console

from catspace.datasets import SalesData, load_rossmann, make_sales
from catspace.paper.protocol import ROWS, Problem, make_problem
from catspace.paper.runner import Cell

# Generated data: large enough for the embeddings to matter, small enough for a few minutes.
_GENERATED_STORES, _GENERATED_ROWS, _GENERATED_TRAINING = 80, 16_000, 6_000


@dataclass(frozen=True)
class Request:
    """The parameters of `reproduce`, checked; each experiment takes of them what it needs."""

    data: Path | None
    splits: Sequence[str]
    cells: Sequence[Cell]
    rows: int | None
    seed: int
    out: Path
    figures: bool
    report: bool
    console: Console

    @property
    def name(self) -> str:
        """The name of the data in records and file names."""
        return "generated" if self.data is None else "rossmann"

    @property
    def n_train(self) -> int:
        """The number of training rows."""
        if self.rows is not None:
            return self.rows
        return _GENERATED_TRAINING if self.data is None else ROWS

    @cached_property
    def sales(self) -> SalesData:
        """The data, read or generated at first use."""
        if self.data is not None:
            return load_rossmann(self.data, backend="pandas")
        return make_sales(
            _GENERATED_ROWS, n_stores=_GENERATED_STORES, random_state=self.seed, backend="pandas"
        )

    def problem(self, split: str) -> Problem:
        """Split the data into rows to learn from and rows to be judged by."""
        return make_problem(self.sales, self.name, split, rows=self.n_train, seed=self.seed)
