"""The memory that training will need, the memory that there is, and a sentence if it is too little.

Without it a table that does not fit ends in the kernel's killer, which says nothing.
"""

import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import torch

from catspace.exceptions import NotEnoughMemoryError
from catspace.model.architecture import Architecture

_FLOAT = 4  # bytes
_MOVING = 3  # copies of a table that only its steps need: a gradient and two moments
# For each row of a table, while those that training never met are filled before a validation:
# counts, their shares, a mask, positions.
_FILLING = 8 + 4 + 4 + 1 + 8
_PROC, _CGROUPS = Path("/proc"), Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class MemoryNeed:
    """The bytes that training will need beside what is in memory already."""

    architecture: Architecture
    n_networks: int
    # For the embedding of each column: weights, gradients, moments and the best weights so far
    tables: tuple[int, ...]
    layers: int  # the same for all other weights
    rows: int  # the rows in the order of an epoch

    @property
    def total(self) -> int:
        """All of it."""
        return sum(self.tables) + self.layers + self.rows

    def check(self, available: int | None, columns: Sequence[str]) -> None:
        """Raise where so much memory is not available, and say what to change.

        Parameters
        ----------
        available : int or None
            None is not known, and passes.
        columns : sequence of str
            The names of the embedded columns.
        """
        if available is None or self.total <= available:
            return
        largest = max((self.rows, self.layers, *self.tables))
        if largest in self.tables:
            i = self.tables.index(largest)
            rows, width = self.architecture.table_shapes[i]
            name = columns[self.architecture.first_columns[i]]
            what = f"the embedding of {name!r} ({rows:,} x {width})"
            change = f"lower embedding_dim for {name!r}"
            if self.architecture.input_encoding == "onehot":
                change = 'input_encoding="embedding" needs less'
            change += ", or keep fewer of its vectors with max_categories or hash_buckets"
        elif largest == self.layers:
            what, change = "the hidden layers", "lower hidden_layer_sizes"
        else:
            what, change = "the rows", "fit fewer of them"
        if self.n_networks > 1:
            what += f" in {self.n_networks} networks"
            change += f"; or lower n_networks={self.n_networks}"
        raise NotEnoughMemoryError(
            f"Training needs about {show_bytes(self.total)} of memory and {show_bytes(available)} "
            f"are available; {show_bytes(largest)} of it are for {what}.",
            hint=f"{change}.",
        )


def estimate_memory(
    architecture: Architecture,
    *,
    sparse: Collection[int],
    frozen: Collection[int] = (),
    n_networks: int,
    has_validation: bool,
    row_bytes: int,
    device: torch.device,
) -> MemoryNeed:
    """Return the memory that training will need; where tables dominate, to within some per cent.

    All networks are in memory from the first epoch to the last, however many train at a time,
    since they take turns.

    Parameters
    ----------
    architecture : Architecture
    sparse : collection of int
        The tables that are updated row by row, and so have no gradient as large as themselves.
    frozen : collection of int
        The tables that are not updated, and so have neither gradient nor moments.
    n_networks : int
    has_validation : bool
        Whether the best weights are kept beside those that are learned.
    row_bytes : int
        What the rows of an epoch take.
    device : torch.device
    """
    n_copies = 3 + has_validation  # the weights, two moments, and the best weights
    filling = _FILLING if has_validation else 0
    tables = tuple(
        n_networks
        * rows
        * (width * _FLOAT * (n_copies + (i not in sparse) - _MOVING * (i in frozen)) + filling)
        for i, (rows, width) in enumerate(architecture.table_shapes)
    )
    layers = n_networks * (n_copies + 1) * _FLOAT * _count_layer_weights(architecture)
    # The next order is made while the last one is still there; a GPU has the rows themselves too.
    n_orders = 2 * n_networks + (device.type != "cpu")
    return MemoryNeed(architecture, n_networks, tables, layers, n_orders * row_bytes)


def available_memory(device: torch.device) -> int | None:
    """Return the bytes that are free on a device, or None where nothing is known."""
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        # What torch keeps for itself, and would give to us.
        return free + torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    rooms = [_machine_room(), *_cgroup_rooms()]
    return min((room for room in rooms if room is not None), default=None)


def show_bytes(n_bytes: int) -> str:
    """Return a size for people.

    Examples
    --------
    >>> show_bytes(2_612_000_000), show_bytes(48_000_000), show_bytes(12)
    ('2.6 GB', '48 MB', '1 MB')
    """
    return f"{n_bytes / 1e9:.1f} GB" if n_bytes >= 1e9 else f"{max(1, round(n_bytes / 1e6))} MB"


def _count_layer_weights(architecture: Architecture) -> int:
    n_numbers = len(architecture.n_bins) + sum(architecture.n_bins)
    sizes = [*architecture.hidden_layer_sizes, architecture.n_outputs]
    if architecture.input_encoding == "onehot":
        widths = [n_numbers, *sizes]  # the rest of the first layer is in the tables
    else:
        widths = [sum(architecture.dims) + n_numbers, *sizes]
    return sum((n_in + 1) * n_out for n_in, n_out in pairwise(widths))


def _machine_room(proc: Path = _PROC) -> int | None:
    """Return what the machine has free, with what it can swap out; else all that it has."""
    try:
        lines = (proc / "meminfo").read_text().splitlines()
        found = {line.split(":")[0]: int(line.split()[1]) * 1024 for line in lines}
        return found["MemAvailable"] + found.get("SwapFree", 0)
    except (OSError, KeyError, IndexError, ValueError):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _cgroup_rooms(proc: Path = _PROC, cgroups: Path = _CGROUPS) -> Iterator[int]:
    """Yield what is left in each control group that this process is in, as containers set them."""
    try:
        lines = (proc / "self" / "cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":  # version 2
            root, names = cgroups, ("memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            root = cgroups / "memory"
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        else:
            continue
        folder = root / path.lstrip("/")
        # A limit further up holds as well; inside a container the path may not exist.
        for place in (folder, *folder.parents):
            if place.is_relative_to(root) and (room := _group_room(place, *names)) is not None:
                yield room


def _group_room(folder: Path, limit: str, usage: str, reclaimable: str) -> int | None:
    try:
        most = int((folder / limit).read_text())  # "max" where there is none
        used = int((folder / usage).read_text())
        stat = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
    except (OSError, ValueError):
        return None
    # Files that were read stay in memory until it is needed for something else.
    return max(0, most - used + int(stat.get(reclaimable, 0)))
