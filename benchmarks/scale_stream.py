"""Tables larger than memory: peak memory by rows, speed beside memory, and vocabularies."""

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from common import print_table, timed

from catspace import EmbeddingRegressor, make_sales
from catspace.data.reading import read_table
from catspace.data.vocabulary import ValueCounts

FEATURES = ("store", "day_of_week", "promo", "year", "month", "day", "state")
ROWS_AT_ONCE = 500_000
REPEATS = 3


def write_sales(path: Path, n_rows: int) -> None:
    """Write a table of sales with seven features, a row group at a time."""
    writer = None
    for seed, begin in enumerate(range(0, n_rows, ROWS_AT_ONCE)):
        n = min(ROWS_AT_ONCE, n_rows - begin)
        sales = make_sales(n, random_state=seed, backend="pyarrow")
        columns = {
            name: column.combine_chunks().dictionary_decode()
            if pa.types.is_dictionary(column.type)
            else column
            for name, column in zip(sales.X.column_names, sales.X.columns, strict=True)
        }
        table = pa.table({**columns, "sales": sales.y})
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()


def sales_table(folder: Path, n_rows: int) -> Path:
    """Return where a table is, which is written when it is asked for first."""
    path = folder / f"{n_rows}.parquet"
    if not path.exists():
        write_sales(path, n_rows)
    return path


def sales_model(**parameters: Any) -> EmbeddingRegressor:
    return EmbeddingRegressor(
        categorical_features=list(FEATURES),
        target_transform="log",
        random_state=0,
        n_jobs=1,
        **parameters,
    )


def seconds_of_an_epoch(model: EmbeddingRegressor) -> float:
    """Return the time between the ends of the first and the last epoch, for one epoch."""
    ends = [epoch["seconds"] for epoch in model.history_ if epoch["network"] == 0]
    return (ends[-1] - ends[0]) / (len(ends) - 1)


def fit(path: str, how: str) -> None:
    """Fit one network for one epoch, in this process, and print what it took."""
    model = sales_model(max_epochs=1)
    start = time.perf_counter()
    model.fit(path if how == "streamed" else pq.read_table(path), "sales")
    seconds = time.perf_counter() - start
    print(
        json.dumps(
            {
                "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,  # KB -> GB
                "seconds": seconds,
                "epoch": model.history_[-1]["seconds"],
                "loss": model.history_[-1]["loss"],
            }
        )
    )


def fit_apart(path: Path, how: str) -> dict[str, float]:
    """Fit in a process of its own, so that its peak of memory is that of the fit."""
    command = [sys.executable, __file__, "--fit", str(path), "--how", how]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def print_memory(folder: Path, small: int, large: int) -> None:
    rows = []
    for n in (small, large):
        found = fit_apart(sales_table(folder, n), "streamed")
        rows.append((f"{n:,}", found["peak"], found["seconds"], found["loss"]))
    print("\n### Peak memory of fitting a Parquet table of seven columns by its path, one epoch\n")
    print_table(
        ["rows", "peak GB", "seconds", "loss"],
        [[n, f"{peak:.2f}", f"{s:.0f}", f"{loss:.4f}"] for n, peak, s, loss in rows],
    )
    print(f"\nratio of the peaks: {rows[1][1] / rows[0][1]:.2f} (at most 1.20)")


def print_speed(folder: Path, n_rows: int) -> None:
    path = sales_table(folder, n_rows)
    found: dict[str, list[dict[str, float]]] = {"streamed": [], "in memory": []}
    for _ in range(REPEATS):  # in turns, so that a busy machine is busy for both
        for how, results in found.items():
            results.append(fit_apart(path, how))
    print(f"\n### Rows per second of one network, one epoch, {n_rows:,} rows, {REPEATS} times\n")
    speeds = {
        how: {what: n_rows / np.array([r[what] for r in rs]) for what in ("epoch", "seconds")}
        for how, rs in found.items()
    }
    print_table(
        ["", "training, median", "slowest", "fastest", "whole fit, median", "peak GB", "loss"],
        [
            [
                how,
                *(f"{f(speed['epoch']):,.0f}" for f in (np.median, np.min, np.max)),
                f"{np.median(speed['seconds']):,.0f}",
                f"{max(r['peak'] for r in found[how]):.2f}",
                f"{found[how][0]['loss']:.4f}",
            ]
            for how, speed in speeds.items()
        ],
    )
    for what, name in (("epoch", "training"), ("seconds", "the whole fit")):
        ratio = np.median(speeds["streamed"][what] / speeds["in memory"][what])
        print(f"\nstreamed against in memory, {name}: {ratio:.2f} (at least 0.80)")


def print_vocabulary(n_values: int, n_distinct: int) -> None:
    import polars as pl

    random = np.random.default_rng(0)
    words = pa.array([f"user {i:07d}" for i in random.permutation(n_distinct)])
    series = pl.Series("user", words.take(pa.array(random.integers(n_distinct, size=n_values))))
    column = read_table(series.to_frame()).columns[0]
    rows = []
    for _ in range(REPEATS):
        _, by_polars = timed(lambda: series.cast(pl.Categorical))
        _, by_us = timed(lambda: ValueCounts().learn(column))
        rows.append((by_polars, by_us, by_us / by_polars))
    by_polars, by_us, ratio = np.median(rows, axis=0)
    print(f"\n### Vocabulary and codes of {n_values:,} texts, {n_distinct:,} distinct, median\n")
    print_table(
        ["polars' cast to Categorical", "catspace", "ratio (at most 1.50)"],
        [[f"{by_polars:.2f} s", f"{by_us:.2f} s", f"{ratio:.2f}"]],
    )


if __name__ == "__main__":  # one fit, for `fit_apart`
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fit", required=True)
    parser.add_argument("--how", choices=["streamed", "in memory"], required=True)
    arguments = parser.parse_args()
    fit(arguments.fit, arguments.how)
