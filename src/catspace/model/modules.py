"""What was learned, as modules of torch for networks of the user's own."""

import numpy as np
import torch
from torch import nn


def make_embedding(table: np.ndarray, *, frozen: bool) -> nn.Embedding:
    """Return vectors as a module that maps codes to them; it has a copy of its own.

    Examples
    --------
    >>> layer = make_embedding(np.eye(3, dtype=np.float32), frozen=True)
    >>> layer(torch.tensor([2, 0])).tolist(), layer.weight.requires_grad
    ([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]], False)
    """
    vectors = torch.from_numpy(np.array(table))
    layer: nn.Embedding = nn.Embedding.from_pretrained(  # type: ignore[no-untyped-call]
        vectors, freeze=frozen
    )
    return layer
