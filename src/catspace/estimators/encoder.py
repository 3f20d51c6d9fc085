"""The estimator as a transformer only."""

from typing import Literal

from catspace.estimators.attributes import ClassAttributes
from catspace.estimators.base import EmbeddingEstimator
from catspace.estimators.parameters import declares_parameters, parameter
from catspace.estimators.shared import ClassParameters, NumberParameters
from catspace.validation import check_option


@declares_parameters
class EmbeddingEncoder(NumberParameters, ClassParameters, ClassAttributes, EmbeddingEstimator):
    """Turn categories into vectors, as a transformer in front of any other method.

    What it learns depends on the target, like `sklearn.preprocessing.TargetEncoder`.

    The vectors have seen the targets of the rows they were trained on. A method that is fitted on
    the same rows can lean on them too much; judge the pipeline as a whole, on rows held back.

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
    EmbeddingRegressor, EmbeddingClassifier : The same, which predict as well.
    sklearn.preprocessing.TargetEncoder : One number for each category instead of a vector.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> from sklearn.pipeline import make_pipeline
    >>> from catspace import EmbeddingEncoder, make_sales
    >>> sales = make_sales(n_rows=2_000, n_stores=20, random_state=0)
    >>> pipeline = make_pipeline(EmbeddingEncoder(random_state=0), KNeighborsRegressor())
    >>> pipeline.fit(sales.X, sales.y).predict(sales.X).shape
    (2000,)
    """

    target_type: Literal["auto", "continuous", "class"] = parameter(
        default="auto",
        text="""
        Whether the target is a number or a class. "auto": fractions, and integers with more than
        20 different values, are numbers; all else are classes.
        """,
    )

    def _target_kind(self) -> str:
        return check_option("target_type", self.target_type, ("auto", "continuous", "class"))
