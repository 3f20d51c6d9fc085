"""Fitting and scoring on a Ray cluster, or on one machine with Ray.

``ray.init()`` starts Ray on this machine, ``ray.init(address=…)`` joins a cluster; nothing else
differs. Needs the extra: ``pip install "catspace[ray]"``.
"""

try:
    import ray.data
    import ray.train.torch  # noqa: F401
except ImportError as error:
    raise ImportError(
        f'catspace.distributed needs Ray ({error}). Install it with: pip install "catspace[ray]"'
    ) from None

from catspace.distributed.fitting import fit
from catspace.distributed.predicting import predict, transform

__all__ = ["fit", "predict", "transform"]
