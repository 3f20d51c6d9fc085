"""The estimator of numbers."""

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score

from catspace.estimators.base import EmbeddingEstimator
from catspace.estimators.parameters import declares_parameters
from catspace.estimators.shared import NumberParameters, PredictorParameters


@declares_parameters
class EmbeddingRegressor(
    RegressorMixin,  # type: ignore[misc]
    NumberParameters,
    PredictorParameters,
    EmbeddingEstimator,
):
    """Predict numbers from categories and numbers with entity embeddings.

    Each category of each categorical column gets a vector, learned together with a neural network
    that predicts the target. The fitted object predicts (`predict`), hands the vectors to any
    other method as features (`transform`), and shows what it learned (`embeddings_`).

    It is at its best where columns have many categories. On a handful of purely numeric columns
    gradient boosting is hard to beat.

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
    EmbeddingClassifier : The same for classes.
    EmbeddingEncoder : The same as a transformer only.
    sklearn.preprocessing.TargetEncoder : One number for each category instead of a vector.

    Examples
    --------
    >>> from catspace import EmbeddingRegressor, make_sales
    >>> sales = make_sales(n_rows=2_000, n_stores=20, random_state=0)
    >>> model = EmbeddingRegressor(target_transform="log", random_state=0)
    >>> model.fit(sales.X, sales.y).predict(sales.X).shape
    (2000,)
    >>> model.embeddings_["state"]
    Embedding('state': 12 categories in 6 dimensions)
    """

    def predict(self, X: Any) -> np.ndarray:
        """Return the predicted numbers; networks are averaged on the scale they learned on.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        float64 array of shape (n_samples,) or (n_samples, n_outputs)
            Where ``quantile`` is a list, a column for each, which never fall from left to right.
        """
        return self.predict_encoded(self.encode(X))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R² of the predictions.

        Where several quantiles are predicted, it is that of the one closest to the median.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), optional
        """
        predicted = self.predict(X)
        points = self.fitted_.points(predicted)
        return float(r2_score(y, points, sample_weight=sample_weight))

    def _target_kind(self) -> str:
        return "continuous"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
