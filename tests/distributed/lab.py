"""A cluster of several nodes on this machine, each with one CPU, any of which can be lost.

It belongs to a process of its own: a process can be part of one cluster only.
"""

import logging
import os
import random
import subprocess
import sys
import threading
from collections.abc import Collection, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import ray
from ray.cluster_utils import Cluster

from catspace import EmbeddingRegressor, make_sales

N = 1_500
# So that a lost node is known to be lost after a second or two, and not after half a minute.
_HEALTH = {
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 500,
    "health_check_timeout_ms": 1_000,
    "health_check_failure_threshold": 3,
}
_MEMORY = 80 << 20  # of each node, for objects


class Lab:
    """A node for this process, which stays, and so many others."""

    def __init__(self, n_others: int) -> None:
        # Ray Train looks at its workers every two seconds otherwise, and epochs here are short.
        os.environ["RAY_TRAIN_HEALTH_CHECK_INTERVAL_S"] = "0.1"
        head = {"num_cpus": 1, "include_dashboard": False, "_system_config": _HEALTH}
        self._cluster = Cluster(True, head_node_args={**head, "object_store_memory": _MEMORY})
        ray._common.utils.reset_ray_address()  # or others would join it who ask for a Ray
        self._others: list[Any] = []
        for _ in range(n_others):
            self.add()
        ray.init(self._cluster.address, log_to_driver=False, logging_level=logging.ERROR)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        ray.shutdown()
        self._cluster.shutdown()

    def add(self) -> None:
        """Add a node, and wait until it is there."""
        self._others.append(self._cluster.add_node(num_cpus=1, object_store_memory=_MEMORY))

    def lose(self, dice: random.Random | None = None) -> None:
        """Kill all processes of a node: the last one, or any."""
        place = -1 if dice is None else dice.randrange(len(self._others))
        self._cluster.remove_node(self._others.pop(place), allow_graceful=False)

    def lose_one_of(self, node_ids: Collection[str]) -> None:
        """Kill all processes of the first node that is among these."""
        lost = next(node for node in self._others if node.node_id in node_ids)
        self._others.remove(lost)
        self._cluster.remove_node(lost, allow_graceful=False)

    def start_blind(self, folders: Sequence[Path]) -> "subprocess.Popen[bytes]":
        """Start a node that sees other folders in the place of these."""
        start = [
            *(f"mount -t tmpfs none '{folder}'" for folder in folders),
            f"exec '{sys.executable}' -m ray.scripts.scripts start --block --num-cpus=1 "
            f"--address={self._cluster.address} --object-store-memory={_MEMORY}",
        ]
        quiet = subprocess.DEVNULL
        node = subprocess.Popen(
            ["unshare", "-m", "sh", "-c", " && ".join(start)], stdout=quiet, stderr=quiet
        )
        n_before = len(ray.nodes())
        while node.poll() is None and len(ray.nodes()) == n_before:
            threading.Event().wait(0.2)
        return node


def can_unshare() -> bool:
    """Whether this process may start one that sees other folders."""
    try:
        done = subprocess.run(
            ["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"],
            check=False,
            capture_output=True,
        )
    except OSError:
        return False
    return done.returncode == 0


def write_table(folder: Path) -> Any:
    """Write a table as three files; return it as a frame."""
    folder.mkdir(exist_ok=True)
    data = make_sales(N, n_stores=20, random_state=0, backend="pandas")
    table = data.X.astype(str).assign(price=np.arange(N) % 97, sales=data.y)
    for i in range(3):
        part = table.iloc[i * N // 3 : (i + 1) * N // 3]
        part.to_parquet(folder / f"{i}.parquet", row_group_size=100)
    return table


def regressor(**parameters: Any) -> EmbeddingRegressor:
    """Return a small model that always learns the same."""
    settings = {"target_transform": "log", "batch_size": 32, "max_epochs": 5, "random_state": 0}
    return EmbeddingRegressor(n_networks=2, **{**settings, **parameters})
