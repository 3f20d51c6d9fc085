"""The estimators: one fitted object predicts, transforms, and hands out its vectors."""

from pathlib import Path

from catspace.estimators.classifier import EmbeddingClassifier
from catspace.estimators.encoder import EmbeddingEncoder
from catspace.estimators.regressor import EmbeddingRegressor
from catspace.storage.document import read_model, refusing

__all__ = ["EmbeddingClassifier", "EmbeddingEncoder", "EmbeddingRegressor", "load"]

_ESTIMATORS = (EmbeddingRegressor, EmbeddingClassifier, EmbeddingEncoder)


def load(path: str | Path) -> EmbeddingRegressor | EmbeddingClassifier | EmbeddingEncoder:
    """Return the estimator that was saved to a file.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    EmbeddingRegressor, EmbeddingClassifier or EmbeddingEncoder
        Predicts the same as the one that was saved, to the last bit.
    """
    document, arrays = read_model(path)
    kinds = {kind.__name__: kind for kind in _ESTIMATORS}
    with refusing(path):
        return kinds[document["estimator"]].restore(document, arrays)
