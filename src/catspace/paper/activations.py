"""Which activation after the embedding? The paper left the question open."""

from catspace.paper.records import Record
from catspace.paper.request import Request
from catspace.paper.study import run_study

VARIANTS = {
    f'embedding_activation="{name}"': {"embedding_activation": name}
    for name in ("identity", "relu", "silu", "gelu", "tanh", "logistic")
}


def run(request: Request) -> list[Record]:
    """Compare activations, and write ``activations.json`` and ``activations.md``."""
    return run_study(request, "activations", VARIANTS)
