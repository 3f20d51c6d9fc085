"""The estimator of classes."""

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from catspace.estimators.attributes import ClassAttributes
from catspace.estimators.base import EmbeddingEstimator
from catspace.estimators.parameters import declares_parameters
from catspace.estimators.shared import ClassParameters, PredictorParameters


@declares_parameters
class EmbeddingClassifier(
    ClassifierMixin,  # type: ignore[misc]
    ClassParameters,
    PredictorParameters,
    ClassAttributes,
    EmbeddingEstimator,
):
    """Predict classes from categories and numbers with entity embeddings.

    Each category of each categorical column gets a vector, learned together with a neural network
    that predicts the class by cross-entropy. Two classes or many; labels may be text.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}
    fitted_ : Fitted
        All of it in one object.

    See Also
    --------
    EmbeddingRegressor : The same for numbers.
    EmbeddingEncoder : The same as a transformer only.

    Examples
    --------
    >>> from catspace import EmbeddingClassifier
    >>> X = {"colour": ["red", "blue", "red", "blue"] * 10}
    >>> y = ["hot", "cold", "hot", "cold"] * 10
    >>> EmbeddingClassifier(random_state=0).fit(X, y).predict({"colour": ["red", "blue"]})
    array(['hot', 'cold'], dtype='<U4')
    """

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class, averaged over the networks.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        float64 array of shape (n_samples, n_classes)
            Columns in the order of ``classes_``.
        """
        return self.predict_encoded(self.encode(X))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithm of the probability of each class.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        float64 array of shape (n_samples, n_classes)
        """
        with np.errstate(divide="ignore"):  # a probability may be too small for a number
            return np.asarray(np.log(self.predict_proba(X)))

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable class of each row.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def _target_kind(self) -> str:
        return "class"
