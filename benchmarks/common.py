"""What the benchmarks share: the paper's splits, and tables printed as Markdown."""

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import mean_absolute_percentage_error as mape

from catspace import load_rossmann
from catspace.paper.protocol import PAPER_DIMS, split_rows

__all__ = [
    "DATA",
    "PAPER_DIMS",
    "mape",
    "print_table",
    "rossmann_split",
    "sources_of",
    "timed",
    "training_rows",
]

DATA = Path(os.environ.get("CATSPACE_DATA", Path(__file__).parents[2] / "shared" / "data"))


def rossmann_split(
    kind: str, *, rows: int = 200_000, seed: int = 0
) -> tuple[pd.DataFrame, pd.DataFrame, np.ndarray, np.ndarray]:
    """Return X, X_test, y, y_test: 90/10 by time or shuffled, then a sample of the 90."""
    data = load_rossmann(DATA, backend="pandas")
    train, test = split_rows(len(data.y), kind, rows=rows, seed=seed)
    X = data.X
    return X.iloc[train], X.iloc[test], data.y[train], data.y[test]


def training_rows(n: int, *, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows that the time split and the shuffled split do not test on."""
    cut = int(0.9 * n)
    return np.arange(cut), np.random.default_rng(seed).permutation(n)[:cut]


@contextmanager
def sources_of(revision: str) -> Iterator[Path]:
    """Yield the folder of the sources of another commit, for a process's PYTHONPATH."""
    root = Path(__file__).resolve().parents[1]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "checkout"
        git = ["git", "-C", str(root), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", place, revision], check=True)
        try:
            yield place / "src"
        finally:
            subprocess.run([*git, "remove", "--force", place], check=True)


def timed(action: Callable[[], Any]) -> tuple[Any, float]:
    """Return the result of an action and the seconds that it took."""
    start = time.perf_counter()
    result = action()
    return result, time.perf_counter() - start


def print_table(header: list[str], rows: Iterable[Iterable[object]]) -> None:
    """Print a Markdown table."""
    print("| " + " | ".join(header) + " |")
    print("|" + "---|" * len(header))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |", flush=True)
