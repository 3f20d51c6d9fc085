"""The cost model of docs/scaling.md, beside what is measured."""

import argparse
import json
import math
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import torch
from common import print_table
from scale_stream import sales_model, sales_table, seconds_of_an_epoch

from catspace.model.architecture import Architecture
from catspace.model.memory import estimate_memory
from catspace.model.optimizer import sparse_tables
from catspace.model.recipe import Recipe, defaults_for
from catspace.model.training import train_networks
from catspace.preparation.rows import Rows

DIM, CPU = 16, torch.device("cpu")


def _peak() -> int:
    status = Path("/proc/self/status").read_text()
    return 1024 * int(re.search(r"VmHWM:\s+(\d+)", status)[1])


def _train(n_categories: int) -> int:
    """Train for two epochs, and return the bytes that this should have taken."""
    architecture = Architecture((n_categories,), (DIM,), (0,), 1, (256, 128))
    generator = torch.Generator().manual_seed(0)
    codes = torch.randint(n_categories, (1, 4096), generator=generator).int()
    rows = Rows(codes, torch.zeros(4096, 1), torch.zeros(4096, 1))
    recipe = Recipe("squared_error", 2, 1024, 0.01, 0.0)
    train_networks(architecture, rows, recipe, [0])
    sparse = sparse_tables(architecture, optimizer="adamw", weight_decay=0.0, device=CPU)
    return estimate_memory(
        architecture,
        sparse=sparse,
        n_networks=1,
        has_validation=False,
        row_bytes=rows.n_bytes,
        device=CPU,
    ).total


def measure_memory(n_categories: int) -> None:
    _train(1000)  # what torch takes for itself
    before = _peak()
    print(json.dumps([_train(n_categories), _peak() - before]))


def print_costs(folder: Path, most_rows: int) -> None:
    print(f"\n### Memory of training by categories, dimension {DIM}\n")
    rows = []
    for n in (100_000, 1_000_000, 10_000_000, 30_000_000):
        command = [sys.executable, __file__, str(n)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        predicted, measured = json.loads(done.stdout.splitlines()[-1])
        gigabytes = [f"{b / 1e9:.3f}" for b in (predicted, measured)]
        rows.append([f"{n:,}", *gigabytes, f"{measured / predicted:.2f}"])
    print_table(["categories", "predicted GB", "measured GB", "ratio"], rows)

    print("\n### Time of an epoch by rows, one network, one thread, streamed, no dropout\n")
    small, medium = most_rows // 100, most_rows // 10
    # Small and large batches of one table tell what a step and a row cost; the model foretells the
    # epochs of other tables from that.
    tried = [256, 4096]
    steps = [math.ceil(medium / batch) for batch in tried]
    seconds = [_seconds_of_an_epoch(folder, medium, batch, repeats=5) for batch in tried]
    of_step, of_row = np.linalg.solve(np.column_stack([steps, [medium, medium]]), seconds)
    rows = []
    for n, repeats in ((small, 5), (medium, 5), (most_rows, 1)):
        batch = defaults_for(n).batch_size
        predicted = math.ceil(n / batch) * of_step + n * of_row
        took = _seconds_of_an_epoch(folder, n, batch, repeats=repeats)
        rows.append(
            [f"{n:,}", str(batch), f"{predicted:.2f}", f"{took:.2f}", f"{took / predicted:.2f}"]
        )
    print_table(["rows", "batch", "predicted s", "measured s", "ratio"], rows)
    print(
        f"\n{of_step * 1e3:.2f} ms for a step and {of_row * 1e6:.2f} µs for a row, from {medium:,} "
        f"rows in batches of {tried[0]} and {tried[1]}."
    )


def _seconds_of_an_epoch(folder: Path, n_rows: int, batch: int, *, repeats: int) -> float:
    path = sales_table(folder, n_rows)
    # Small tables get dropout by default, which is one more thing to compute.
    settings = {"batch_size": batch, "max_epochs": 3, "dropout": 0.0}
    fits = [sales_model(**settings).fit(path, "sales") for _ in range(repeats)]
    return float(np.median([seconds_of_an_epoch(fit) for fit in fits]))


if __name__ == "__main__":  # one training, for `print_costs`
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("categories", type=int)
    measure_memory(parser.parse_args().categories)
