"""Entity embeddings of categorical variables, as scikit-learn estimators.

The names below are imported when they are first used: ``import catspace`` loads neither torch nor
matplotlib nor pandas.
"""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from catspace import analysis, distributed, plots
    from catspace.datasets import load_rossmann, make_sales
    from catspace.embeddings import Embedding, Embeddings
    from catspace.estimators import (
        EmbeddingClassifier,
        EmbeddingEncoder,
        EmbeddingRegressor,
        load,
    )
    from catspace.export.onnx import to_onnx
    from catspace.export.report import write_report

__version__ = version("catspace")

_HOME_OF = {
    "Embedding": "catspace.embeddings",
    "EmbeddingClassifier": "catspace.estimators",
    "EmbeddingEncoder": "catspace.estimators",
    "EmbeddingRegressor": "catspace.estimators",
    "Embeddings": "catspace.embeddings",
    "load": "catspace.estimators",
    "load_rossmann": "catspace.datasets",
    "make_sales": "catspace.datasets",
    "to_onnx": "catspace.export.onnx",
    "write_report": "catspace.export.report",
}

_MODULES = ("analysis", "distributed", "plots")

__all__ = [
    "Embedding",
    "EmbeddingClassifier",
    "EmbeddingEncoder",
    "EmbeddingRegressor",
    "Embeddings",
    "analysis",
    "distributed",
    "load",
    "load_rossmann",
    "make_sales",
    "plots",
    "to_onnx",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(import_module(_HOME_OF[name]), name)
    if name in _MODULES:
        return import_module(f"catspace.{name}")
    raise AttributeError(f"module 'catspace' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
