"""What lockstep costs two processes, without Ray: the exchange of gradients alone."""

import json
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
import torch.distributed
import torch.multiprocessing
from common import print_table

from catspace.model.architecture import Architecture
from catspace.model.recipe import Recipe
from catspace.model.team import Alone, Processes
from catspace.model.training import Training
from catspace.preparation.rows import Rows

# The seven columns of the paper, with the dimensions and layers that are catspace's defaults.
SHAPE = Architecture((1118, 10, 5, 6, 15, 34, 15), (50, 4, 1, 2, 6, 16, 6), (), 1, (256, 128))
N_ROWS, BATCH, ROUNDS = 300_000, 4096, 21

TEAMS = {
    "apart, nothing is exchanged": (Alone, BATCH // 2),
    "averaged after each batch": (Processes, BATCH),
}


def _run_member(rank: int, folder: str) -> None:
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2
    )
    generator = torch.Generator().manual_seed(rank)
    n = N_ROWS // 2
    codes = [torch.randint(size, (n,), generator=generator) for size in SHAPE.n_rows]
    rows = Rows(torch.stack(codes).int(), torch.empty(n, 0), torch.randn(n, 1, generator=generator))
    trainings = [
        Training(
            0,
            SHAPE,
            rows,
            Recipe("huber", ROUNDS, batch, learning_rate=0.01, weight_decay=0.01),
            0,
            validation=None,
            device=torch.device("cpu"),
            team=team(),
        )
        for team, batch in TEAMS.values()
    ]
    speeds = np.empty((ROUNDS, len(trainings)))
    for i in range(ROUNDS):  # in turns, so that a busy machine is busy for all
        for j, training in enumerate(trainings):
            torch.distributed.barrier()
            start = time.perf_counter()
            training.run_epoch()
            torch.distributed.barrier()
            speeds[i, j] = N_ROWS / (time.perf_counter() - start)
    if rank == 0:
        Path(folder, "speeds.json").write_text(json.dumps(speeds[1:].tolist()))
    torch.distributed.destroy_process_group()


def print_exchange() -> None:
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(_run_member, (folder,), nprocs=2)
        speeds = np.array(json.loads(Path(folder, "speeds.json").read_text()))
    ratios = np.percentile(speeds / speeds[:, :1], [10, 50, 90], axis=0)
    print(f"\n### Two processes without Ray, batch {BATCH}, {len(speeds)} rounds\n")
    print_table(
        ["gradients", "rows per second, median", "of apart", "10 % to 90 % of rounds"],
        [
            [name, f"{np.median(speed):,.0f}", f"{ratio:.2f}", f"{low:.2f} to {high:.2f}"]
            for name, speed, (low, ratio, high) in zip(TEAMS, speeds.T, ratios.T, strict=True)
        ],
    )
