"""The outputs of a network, for any number of rows."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
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


def _use_one_thread() -> None:
    torch.set_num_threads(1)


def predict(
    network: EntityNetwork,
    codes: Tensor,
    numbers: Tensor,
    device: torch.device,
    *,
    n_jobs: int = 1,
) -> np.ndarray:
    """Return the outputs of a network for any number of rows; shape (n_samples, n_outputs).

    What a row gets does not depend on the rows beside it, to the last bit: blocks are padded to
    a multiple of `_ROW_MULTIPLE`, since matrix products treat a remainder of rows differently.
    Several blocks are computed at the same time, by one thread each.
    """
    network = network.to(device)
    n_samples = len(numbers)
    outputs = np.empty((n_samples, network.architecture.n_outputs), dtype=np.float32)

    n_most = min(_BLOCK_ROWS, _BLOCK_VALUES // network.widest)
    block_rows = max(_ROW_MULTIPLE, n_most // _ROW_MULTIPLE * _ROW_MULTIPLE)

    def fill(begin: int) -> None:
        end = min(begin + block_rows, n_samples)
        padding = -(end - begin) % _ROW_MULTIPLE
        block_codes = functional.pad(codes[:, begin:end], (0, padding))
        block_numbers = functional.pad(numbers[begin:end], (0, 0, 0, padding))
        with torch.inference_mode():
            output = network(block_codes.to(device), block_numbers.to(device))
        outputs[begin:end] = output[: end - begin].cpu().numpy()

    blocks = range(0, n_samples, block_rows)
    n_workers = max(1, min(n_jobs, len(blocks))) if device.type == "cpu" else 1
    with keep_thread_count, ThreadPoolExecutor(n_workers, initializer=_use_one_thread) as pool:
        list(pool.map(fill, blocks))
    network.cpu()  # where it rests, so that it can be saved and pickled
    return outputs
