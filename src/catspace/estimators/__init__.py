"""The estimators: one fitted object predicts, transforms, and hands out its vectors."""

from catspace.estimators.three import (
    EmbeddingClassifier,
    EmbeddingEncoder,
    EmbeddingRegressor,
    load,
)

__all__ = ["EmbeddingClassifier", "EmbeddingEncoder", "EmbeddingRegressor", "load"]
