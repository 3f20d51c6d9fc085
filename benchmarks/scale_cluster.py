"""Two Ray workers against one process with one thread, and what a killed worker costs."""

import os
import re
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
from common import print_table
from scale_stream import sales_model, sales_table, seconds_of_an_epoch

REPEATS, EPOCHS = 3, 3
BATCH = 4096  # what batch_size="auto" means from twelve million rows on
CASES = [  # parallel, networks, batch, figure to reach
    ("rows", 1, BATCH, 1.5),
    ("rows", 1, 4 * BATCH, 1.5),  # a quarter of the exchanges
    ("networks", 2, BATCH, 1.8),
]


def _start() -> None:
    import ray

    # Ray Train looks at its workers every two seconds otherwise, and the epochs here are short.
    os.environ.setdefault("RAY_TRAIN_HEALTH_CHECK_INTERVAL_S", "0.1")
    if not ray.is_initialized():
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)


def print_speed(folder: Path, n_rows: int) -> None:
    _start()
    from catspace import distributed

    path = sales_table(folder, n_rows)
    seconds, losses = np.empty((len(CASES), REPEATS, 2)), {}
    for repeat in range(REPEATS):  # in turns, so that a busy machine is busy for all
        for case, (parallel, n_networks, batch, _) in enumerate(CASES):
            settings = {"n_networks": n_networks, "batch_size": batch, "max_epochs": EPOCHS}
            alone = sales_model(**settings).fit(path, "sales")
            together = sales_model(**settings)
            distributed.fit(together, path, "sales", num_workers=2, parallel=parallel)
            fits = alone, together
            seconds[case, repeat] = [seconds_of_an_epoch(fit) for fit in fits]
            losses[case] = ", ".join(f"{fit.history_[-1]['loss']:.4f}" for fit in fits)
    rows = []
    for case, (parallel, n_networks, batch, wanted) in enumerate(CASES):
        speed = n_networks * n_rows / np.median(seconds[case], axis=0)
        ratio = seconds[case, :, 0] / seconds[case, :, 1]
        rows.append(
            [
                f'parallel="{parallel}", batch {batch:,}',
                *(f"{s:,.0f}" for s in speed),
                f"{np.median(ratio):.2f} x ({ratio.min():.2f} to {ratio.max():.2f})",
                f"{wanted} x",
                losses[case],
            ]
        )
    print(f"\n### Rows per second of training, {n_rows:,} rows, {REPEATS} times\n")
    print_table(["", "one process", "two Ray workers", "ratio", "at least", "losses"], rows)


def print_kill(folder: Path, n_rows: int) -> None:
    _start()
    from catspace import distributed
    from catspace.estimators import fitting
    from catspace.model.progress import TrainingProgress

    path, processes, started = sales_table(folder, n_rows), list[int](), time.perf_counter()
    print(f"\n### A worker is killed, {n_rows:,} rows, 4 epochs\n")

    def say(what: str) -> None:
        print(f"{time.perf_counter() - started:6.1f} s  {what}", flush=True)

    class Progress(TrainingProgress):
        def tell(self, sentence: str) -> None:
            if found := re.search(r"process (\d+)", sentence):
                processes.append(int(found[1]))
            say(sentence)

    seen = list[int]()

    def on_epoch(epoch: Any) -> None:
        seen.append(epoch["epoch"])
        say(f"epoch {epoch['epoch']} of 4: loss {epoch['loss']:.6f}")
        if len(seen) == 2:
            say(f"kill -9 {processes[-1]}")
            os.kill(processes[-1], signal.SIGKILL)

    undisturbed = sales_model(max_epochs=4, batch_size=BATCH)
    distributed.fit(undisturbed, path, "sales", num_workers=2)
    fitting.TrainingProgress, before = Progress, fitting.TrainingProgress  # type: ignore[misc]
    started = time.perf_counter()
    killed = sales_model(max_epochs=4, batch_size=BATCH)
    distributed.fit(killed, path, "sales", num_workers=2, on_epoch=on_epoch)
    fitting.TrainingProgress = before  # type: ignore[misc]
    last, alone = killed.history_[-1]["loss"], undisturbed.history_[-1]["loss"]
    print(f"\nEpochs that were told of: {len(seen)}, of which {len(seen) - 4} twice.")
    print(f"Loss at the end: {last:.6f}, and {alone:.6f} when nobody is killed.")
