"""The estimators: one fitted object predicts, transforms, and hands out its vectors."""

from pathlib import Path
from typing import Any, TypeVar, overload

from catspace.estimators.classifier import EmbeddingClassifier
from catspace.estimators.encoder import EmbeddingEncoder
from catspace.estimators.regressor import EmbeddingRegressor
from catspace.exceptions import ModelFileError
from catspace.storage.document import read_model, refusing

__all__ = ["EmbeddingClassifier", "EmbeddingEncoder", "EmbeddingRegressor", "load"]

_E = TypeVar("_E", EmbeddingRegressor, EmbeddingClassifier, EmbeddingEncoder)
_ESTIMATORS = (EmbeddingRegressor, EmbeddingClassifier, EmbeddingEncoder)


@overload
def load(path: str | Path) -> EmbeddingRegressor | EmbeddingClassifier | EmbeddingEncoder: ...


@overload
def load(path: str | Path, kind: type[_E]) -> _E: ...


def load(path: str | Path, kind: type[Any] | None = None) -> Any:
    """Return the estimator that was saved to a file.

    Parameters
    ----------
    path : str or Path
    kind : type, optional
        Which estimator is expected: ``load(path, EmbeddingRegressor)`` is one, for the editor too,
        and another one in the file is an error.

    Returns
    -------
    EmbeddingRegressor, EmbeddingClassifier or EmbeddingEncoder
        Predicts the same as the one that was saved, to the last bit.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> import catspace
    >>> X = pd.DataFrame({"town": ["Aachen", "Bonn"] * 50})
    >>> model = catspace.EmbeddingRegressor(random_state=0).fit(X, [1.0, 2.0] * 50)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/towns.catspace")
    ...     again = catspace.load(f"{folder}/towns.catspace")
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """
    document, arrays = read_model(path)
    kinds = {kind.__name__: kind for kind in _ESTIMATORS}
    found = kinds[document["estimator"]]
    if kind is not None and not issubclass(found, kind):
        raise ModelFileError(f"{str(path)!r} holds an {found.__name__}, no {kind.__name__}.")
    with refusing(path):
        return found.restore(document, arrays)
