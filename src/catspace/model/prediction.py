"""The outputs of a network, for any number of rows."""

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import torch
from joblib import effective_n_jobs
from torch import Tensor
from torch.nn import functional

from catspace.model.network import EntityNetwork

# Rows in one forward pass, and fewer where a layer is very wide.
_BLOCK_ROWS = 8192
_BLOCK_VALUES = 1 << 26
_ROW_MULTIPLE = 32


class _ThreadCount:
    """Gives torch its number of threads back when the last of several users has ended."""

    def __init__(self) -> None:
        self._lock, self._n_inside, self._threads = threading.Lock(), 0, 1

    def __enter__(self) -> None:
        with self._lock:
            if self._n_inside == 0:
                self._threads = torch.get_num_threads()
            self._n_inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._n_inside -= 1
            if self._n_inside == 0:
                torch.set_num_threads(self._threads)


keep_thread_count = _ThreadCount()


class _Workers:
    """Threads that stay, since starting one takes longer than predicting a row.

    Work is done on them and not by the caller, whose thread keeps its settings: torch counts its
    threads for each thread apart.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)  # threads do not survive a fork

    def run(self, tasks: Sequence[Callable[[], None]]) -> None:
        """Do all tasks, each on a thread with one thread for torch; raise what they raise."""
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(os.cpu_count(), "catspace")
            pool = self._pool
        with keep_thread_count:
            futures = [pool.submit(_use_one_thread, task) for task in tasks]
            for future in futures:
                future.result()

    def _forget(self) -> None:
        self._lock, self._pool = threading.Lock(), None


def _use_one_thread(task: Callable[[], None]) -> None:
    torch.set_num_threads(1)
    with torch.inference_mode(), torch.autocast("cpu", enabled=False):
        task()


_workers = _Workers()


def predict(
    network: EntityNetwork,
    codes: Tensor,
    numbers: Tensor,
    device: torch.device,
    *,
    n_jobs: int | None = 1,
) -> np.ndarray:
    """Return the outputs of a network for any number of rows; shape (n_samples, n_outputs).

    What a row gets does not depend on the rows beside it, to the last bit: blocks are padded to
    a multiple of `_ROW_MULTIPLE`, since matrix products treat a remainder of rows differently.
    Several blocks are computed at the same time, by one thread each.
    """
    is_on_cpu = device.type == "cpu"
    if not is_on_cpu:
        network = network.to(device)
    n_samples = len(numbers)
    outputs = np.empty((n_samples, network.architecture.n_outputs), dtype=np.float32)

    n_most = min(_BLOCK_ROWS, _BLOCK_VALUES // network.widest)
    block_rows = max(_ROW_MULTIPLE, n_most // _ROW_MULTIPLE * _ROW_MULTIPLE)

    def fill(begins: Iterable[int]) -> None:
        for begin in begins:
            end = min(begin + block_rows, n_samples)
            padding = -(end - begin) % _ROW_MULTIPLE
            block_codes = functional.pad(codes[:, begin:end], (0, padding))
            block_numbers = functional.pad(numbers[begin:end], (0, 0, 0, padding))
            output = network(block_codes.to(device), block_numbers.to(device))
            outputs[begin:end] = output[: end - begin].cpu().numpy()

    blocks = range(0, n_samples, block_rows)
    n_workers = 1
    if is_on_cpu and len(blocks) > 1:
        n_workers = min(effective_n_jobs(n_jobs), len(blocks))
    shares = [blocks[i::n_workers] for i in range(n_workers)]
    _workers.run([partial(fill, share) for share in shares])
    if not is_on_cpu:
        network.cpu()  # where it rests, so that it can be saved and pickled
    return outputs
