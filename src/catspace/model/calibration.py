"""Quantiles that networks have learned, moved to where rows that were held back say they are.

A network that has learned some of its rows by heart finds them closer to its median than new rows
are, so that too few new rows lie between its quantiles. Rows that it has not learned from tell by
how much.
"""

from collections.abc import Sequence

import numpy as np
import torch
from sklearn.isotonic import isotonic_regression

from catspace.model.network import EntityNetwork
from catspace.model.prediction import predict
from catspace.preparation.rows import RowSource

# With fewer rows a quantile of them is less certain than what the networks say.
_FEWEST_ROWS = 100
_BLOCK_ROWS = 1 << 16


def find_shifts(
    networks: Sequence[EntityNetwork],
    rows: RowSource,
    quantiles: Sequence[float],
    device: torch.device,
) -> tuple[float, ...]:
    """Return what to add to each output, so that its share of the rows lies below it.

    What is added never falls from one quantile to the next, so that outputs which rise still do.
    Where rows would have quantiles closer together, they stay as far apart as they are.

    Parameters
    ----------
    networks : sequence of EntityNetwork
        Whose outputs are averaged.
    rows : RowSource
        That were held back.
    quantiles : sequence of float
        Rising; one for each output.
    device : torch.device

    Returns
    -------
    tuple of float
        On the scale of the outputs; empty where there are too few rows to tell.
    """
    if len(rows) < _FEWEST_ROWS:
        return ()
    above, weights = list[np.ndarray](), list[np.ndarray]()
    for block in rows.in_order(_BLOCK_ROWS):
        codes, numbers = block.codes.cpu(), block.numbers.cpu()
        outputs = [predict(network, codes, numbers, device) for network in networks]
        above.append(block.target.cpu().numpy() - np.mean(outputs, axis=0, dtype=np.float64))
        weights.append(np.ones(len(block)) if block.weight is None else block.weight.cpu().numpy())
    weight = np.concatenate(weights)
    shifts = [
        np.quantile(missed, quantile, weights=weight, method="inverted_cdf")
        for quantile, missed in zip(quantiles, np.concatenate(above).T, strict=True)
    ]
    return tuple(isotonic_regression(np.array(shifts)).tolist())
