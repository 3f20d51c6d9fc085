"""The estimators: one fitted object predicts, transforms, and hands out its vectors."""

from pathlib import Path

from catspace.estimators.classifier import EmbeddingClassifier
from catspace.estimators.encoder import EmbeddingEncoder
from catspace.estimators.regressor import EmbeddingRegressor
from catspace.exceptions import ModelFileError
from catspace.storage import model_file

__all__ = ["EmbeddingClassifier", "EmbeddingEncoder", "EmbeddingRegressor", "load"]


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
    document, arrays = model_file.read(path)
    kinds = (EmbeddingRegressor, EmbeddingClassifier, EmbeddingEncoder)
    for kind in kinds:
        if kind.__name__ == document["estimator"]:
            return kind.restore(document, arrays)
    raise ModelFileError(f"{str(path)!r} holds a {document['estimator']}, which is not known.")
