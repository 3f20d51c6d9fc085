"""How many dimensions for an embedding? The paper left the question open."""

from typing import Any

from catspace.paper.protocol import PAPER_DIMS
from catspace.paper.records import Record
from catspace.paper.request import Request
from catspace.paper.study import run_study

VARIANTS: dict[str, dict[str, Any]] = {
    **{
        f'embedding_dim="{rule}"': {"embedding_dim": rule}
        for rule in ("half", "fastai", "sqrt", "fourth_root")
    },
    "the paper's dimensions": {"embedding_dim": PAPER_DIMS},
    **{
        f"store in {dim}, the rest as in the paper": {"embedding_dim": {**PAPER_DIMS, "store": dim}}
        for dim in (1, 2, 5, 20, 50, 100)
    },
}


def run(request: Request) -> list[Record]:
    """Compare dimensions, and write ``dimensions.json`` and ``dimensions.md``."""
    return run_study(request, "dimensions", VARIANTS)
