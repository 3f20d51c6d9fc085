"""The time of a training step by the number of categories, and what sparse updates cost."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from common import mape, print_table, rossmann_split, timed
from torch import nn

from catspace import EmbeddingRegressor
from catspace.model import optimizer as optimizer_module
from catspace.model.architecture import Architecture
from catspace.model.network import EntityNetwork
from catspace.model.optimizer import make_optimizers

FEW, MANY = 10**3, 10**7  # categories
BATCH, DIM, HIDDEN = 1024, 16, (256, 128)


def step_of_catspace(n_categories: int) -> Callable[[], None]:
    """Return a training step of a network as catspace makes and moves it."""
    architecture = Architecture(
        n_codes=(n_categories + 3,),
        dims=(DIM,),
        n_bins=(),
        n_outputs=1,
        hidden_layer_sizes=HIDDEN,
    )
    network = EntityNetwork(architecture)
    network.initialize("normal", torch.Generator().manual_seed(0))
    optimizers = make_optimizers(network, optimizer="adamw", weight_decay=1e-2)
    numbers = torch.empty(BATCH, 0)

    def move() -> None:
        for optimizer in optimizers:
            optimizer.step(1e-3)

    return _make_step(
        n_categories, lambda codes: network(codes[None], numbers), network.zero_grad, move
    )


def step_of_torch(n_categories: int) -> Callable[[], None]:
    """Return a training step of the same network by torch.nn.Embedding and torch.optim.Adam."""
    first, second = HIDDEN
    network = nn.Sequential(
        nn.Embedding(n_categories + 3, DIM),
        nn.Linear(DIM, first),
        nn.ReLU(),
        nn.Linear(first, second),
        nn.ReLU(),
        nn.Linear(second, 1),
    )
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
    return _make_step(n_categories, network, optimizer.zero_grad, optimizer.step)


def _make_step(
    n_categories: int,
    network: Callable[[torch.Tensor], torch.Tensor],
    zero_grad: Callable[[], None],
    move: Callable[[], Any],
) -> Callable[[], None]:
    generator = torch.Generator().manual_seed(0)

    def step() -> None:
        codes = torch.randint(3, n_categories + 3, (BATCH,), generator=generator).int()
        target = torch.randn(BATCH, 1, generator=generator)
        zero_grad()
        (network(codes) - target).square().mean().backward()
        move()

    return step


def compare_steps(
    make: Callable[[int], Callable[[], None]], *, rounds: int, steps: int
) -> np.ndarray:
    """Return the seconds of a step with few and with many categories; shape (rounds, 2)."""
    both = [make(FEW), make(MANY)]
    for step in both:
        for _ in range(2):  # the moments are made at the first one
            step()
    found = np.empty((rounds, 2))
    for i in range(rounds):  # in turns, so that a busy machine is busy for both
        for j, step in enumerate(both):
            found[i, j] = timed(lambda step=step: [step() for _ in range(steps)])[1] / steps
    return found


def print_steps() -> None:
    print(f"\n### A training step, 10⁷ categories against 10³ (batch {BATCH}, dimension {DIM})\n")
    rows = []
    for name, make, rounds, steps in (
        ("catspace", step_of_catspace, 30, 20),
        ("torch.nn.Embedding + Adam", step_of_torch, 5, 2),
    ):
        seconds = compare_steps(make, rounds=rounds, steps=steps)
        few, many = np.median(seconds, axis=0) * 1e3
        low, ratio, high = np.quantile(seconds[:, 1] / seconds[:, 0], [0.1, 0.5, 0.9])
        rows.append(
            [name, f"{few:.2f}", f"{many:.2f}", f"{ratio:.2f} x", f"{low:.2f} to {high:.2f}"]
        )
    print_table(["", "10³: ms", "10⁷: ms", "ratio (median)", "10 % to 90 % of rounds"], rows)
    print("\nTarget of catspace: at most 1.3 x.")


@contextlib.contextmanager
def sparse_from(n_elements: float) -> Iterator[None]:
    """Let tables of this size on be updated row by row."""
    before = optimizer_module.SPARSE_FROM
    optimizer_module.SPARSE_FROM = n_elements
    try:
        yield
    finally:
        optimizer_module.SPARSE_FROM = before


def print_accuracy(*, n_rows: int = 200_000, n_seeds: int = 5) -> None:
    print(f"\n### MAPE on Rossmann, {n_rows:,} training rows, shuffled split, {n_seeds} seeds\n")
    ways = {"dense": float("inf"), "sparse, forced": 1}
    errors: dict[str, list[float]] = {way: [] for way in ways}
    for seed in range(n_seeds):
        X, X_test, y, y_test = rossmann_split("shuffled", rows=n_rows, seed=seed)
        for way, limit in ways.items():
            model = EmbeddingRegressor(target_transform="log", random_state=seed)
            with sparse_from(limit):
                model.fit(X, y)
            errors[way].append(mape(y_test, model.predict(X_test)))
    print_table(
        ["updates", "mean", "standard deviation", *(f"seed {seed}" for seed in range(n_seeds))],
        [
            [way, f"{np.mean(found):.4f}", f"{np.std(found):.4f}", *(f"{e:.4f}" for e in found)]
            for way, found in errors.items()
        ],
    )
    difference = np.subtract(errors["sparse, forced"], errors["dense"])
    print(
        f"\nSparse less dense, seed by seed: {difference.mean():+.5f}, "
        f"standard error {difference.std() / np.sqrt(max(1, n_seeds - 1)):.5f}."
    )
