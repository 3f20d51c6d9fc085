"""What there is to train, before the first row is read: networks, their recipe and their seeds."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from catspace.model.memory import MemoryNeed, estimate_memory
from catspace.model.network import Architecture
from catspace.model.optimizer import sparse_tables
from catspace.model.training import Recipe


@dataclass(frozen=True)
class Job:
    """Everything that a training needs to know but the rows.

    Attributes
    ----------
    architecture : Architecture
    recipe : Recipe
    seeds : sequence of int
        One for each network.
    columns : sequence of str
        The names of the embedded columns.
    device : torch.device
    """

    architecture: Architecture
    recipe: Recipe
    seeds: Sequence[int]
    columns: Sequence[str]
    device: torch.device

    @property
    def sparse(self) -> list[int]:
        """Which embeddings are so large that a step updates only the rows of its batch."""
        return sparse_tables(
            self.architecture,
            optimizer=self.recipe.optimizer,
            weight_decay=self.recipe.weight_decay,
            device=self.device,
        )

    def memory(
        self, row_bytes: int, *, has_validation: bool, n_networks: int | None = None
    ) -> MemoryNeed:
        """Return the memory that it takes to train all networks, or so many, in one process."""
        return estimate_memory(
            self.architecture,
            sparse=self.sparse,
            n_networks=len(self.seeds) if n_networks is None else n_networks,
            has_validation=has_validation,
            row_bytes=row_bytes,
            device=self.device,
        )

    def describe_updates(self) -> str:
        """Say which embeddings are updated row by row."""
        tables = list(zip(self.columns, self.architecture.table_shapes, strict=True))
        named = [
            f"{name} ({rows:,} x {width})"
            for name, (rows, width) in (tables[i] for i in self.sparse)
        ]
        if not named:
            return "Every step updates all weights."
        return f"A step updates only the rows of its batch in: {', '.join(named)}."
