"""How far it scales: each figure is a ratio within one run, since machines differ.

`python benchmarks/scale.py` prints all of them, `python benchmarks/scale.py step memory` some.
"""

import argparse
import tempfile
from pathlib import Path

import scale_cluster
import scale_costs
import scale_exchange
import scale_step
import scale_stream
import torch

SMALL, LARGE = 5_000_000, 20_000_000  # rows
VALUES, DISTINCT = 10_000_000, 1_000_000
BENCHMARKS = {
    "step": lambda folder, scale: scale_step.print_steps(),
    "accuracy": lambda folder, scale: scale_step.print_accuracy(),
    "vocabulary": lambda folder, scale: scale_stream.print_vocabulary(
        round(VALUES * scale), round(DISTINCT * scale)
    ),
    "memory": lambda folder, scale: scale_stream.print_memory(
        folder, round(SMALL * scale), round(LARGE * scale)
    ),
    "speed": lambda folder, scale: scale_stream.print_speed(folder, round(SMALL * scale)),
    "costs": lambda folder, scale: scale_costs.print_costs(folder, round(SMALL * scale)),
    "exchange": lambda folder, scale: scale_exchange.print_exchange(),
    "cluster": lambda folder, scale: scale_cluster.print_speed(folder, round(SMALL * scale / 2)),
    "kill": lambda folder, scale: scale_cluster.print_kill(folder, round(SMALL * scale / 5)),
}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"any of {', '.join(BENCHMARKS)}")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the rows, for a trial")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.names or BENCHMARKS:
            BENCHMARKS[name](Path(folder), arguments.scale)
