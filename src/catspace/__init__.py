"""Entity embeddings of categorical variables, as scikit-learn estimators.

The names below are imported when they are first used: ``import catspace`` loads neither torch nor
matplotlib nor pandas.
"""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from catspace import analysis
    from catspace import distributed as distributed
    from catspace import plots as plots
    from catspace.datasets import load_rossmann, make_sales
    from catspace.embeddings import Embedding, Embeddings
    from catspace.estimators import (
        EmbeddingClassifier,
        EmbeddingEncoder,
        EmbeddingRegressor,
        load,
    )
    from catspace.export.onnx import to_onnx as to_onnx
    from catspace.export.report import make_report, write_report

__version__ = version("catspace")

_HOME_OF = {
    "Embedding": "catspace.embeddings",
    "EmbeddingClassifier": "catspace.estimators",
    "EmbeddingEncoder": "catspace.estimators",
    "EmbeddingRegressor": "catspace.estimators",
    "Embeddings": "catspace.embeddings",
    "load": "catspace.estimators",
    "load_rossmann": "catspace.datasets",
    "make_report": "catspace.export.report",
    "make_sales": "catspace.datasets",
    "to_onnx": "catspace.export.onnx",
    "write_report": "catspace.export.report",
}

_MODULES = ("analysis", "distributed", "plots")

# What a base install has. The others need their extras, and are there by name: catspace.plots.
__all__ = [
    "Embedding",
    "EmbeddingClassifier",
    "EmbeddingEncoder",
    "EmbeddingRegressor",
    "Embeddings",
    "analysis",
    "load",
    "load_rossmann",
    "make_report",
    "make_sales",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(import_module(_HOME_OF[name]), name)
    if name in _MODULES:
        return import_module(f"catspace.{name}")
    raise AttributeError(f"module 'catspace' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME_OF, *_MODULES})
