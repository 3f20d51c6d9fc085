"""The network that figures and metric look at, trained as the paper says."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from catspace.estimators import EmbeddingRegressor, load
from catspace.paper.fitting import fit_network
from catspace.paper.methods import PAPER_NETWORK
from catspace.paper.printing import bar
from catspace.paper.protocol import PAPER_DIMS, TEST_SHARE
from catspace.paper.records import prepare_folder
from catspace.paper.request import Request

# Paper: store vectors of dimension 50, trained on all of the first 90 % of the rows.
STORE_DIM = 50


@dataclass(frozen=True)
class Subject:
    """A trained network, the rows that it learned from, and a sentence on them."""

    model: EmbeddingRegressor
    X: Any
    y: np.ndarray
    origin: str


def train_subject(request: Request) -> Subject:
    """Train the paper's network on the first 90 % of the rows, or take the one that is there."""
    data, seed = request.sales, request.seed
    n_train = int((1 - TEST_SHARE) * len(data.y))
    X, y = data.X.astype("category").iloc[:n_train], data.y[:n_train]
    prepare_folder(request.out)
    path = request.out / "models" / f"{request.name}-figures-{n_train}-{seed}.catspace"
    with bar(request.console, "training for the figures") as progress:
        if path.exists():
            model = load(path)
        else:
            dims = {**PAPER_DIMS, "store": min(STORE_DIM, X["store"].nunique() - 1)}
            parameters = {**PAPER_NETWORK, "embedding_dim": dims, "n_networks": 1}
            model = fit_network(X, y, parameters, seed=seed, progress=progress)
            path.parent.mkdir(exist_ok=True)
            model.save(path)
    kind = "GENERATED data (make_sales)" if request.data is None else "the real Rossmann data"
    origin = (
        f"Data: {kind}, the first 90 % of the rows ({n_train:,}). The paper's network, store "
        f"dimension {model.embeddings_['store'].dim}, seed {seed}."
    )
    return Subject(model, X, y, origin)
