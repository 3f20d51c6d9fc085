"""The estimator as a transformer only."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import numpy as np
from sklearn.model_selection import BaseCrossValidator

from catspace.estimators.attributes import ClassAttributes
from catspace.estimators.base import EmbeddingEstimator
from catspace.estimators.cross_fitting import CrossFitting
from catspace.estimators.fitted import Fitted
from catspace.estimators.fitting import Fit, OnEpoch
from catspace.estimators.folds import check_folds
from catspace.estimators.parameters import declares_parameters, parameter
from catspace.estimators.shared import ClassParameters, NumberParameters
from catspace.exceptions import InputError
from catspace.preparation.prepare import Given, Prepared
from catspace.validation import check_option


@declares_parameters
class EmbeddingEncoder(NumberParameters, ClassParameters, ClassAttributes, EmbeddingEstimator):
    """Turn categories into vectors, as a transformer in front of any other method.

    What it learns depends on the target, like `sklearn.preprocessing.TargetEncoder`.

    The vectors have seen the targets of the rows they were trained on. A method that is fitted on
    the same rows leans on them too much. With ``cv=5``, `fit_transform`, which pipelines call when
    they are fitted, gives each row vectors that were learned from other rows (cross fitting).

    .. note::
        With ``cv``, ``fit(X, y).transform(X)`` does not equal ``fit_transform(X, y)``: the second
        is for the method that is fitted next, on the same rows, and the first for all other rows.
        Without ``cv`` the two are equal.

    First everything is learned from all rows. Then the vectors of each fold are learned anew from
    the rows of the other folds, under the dense layers that all rows have taught, so that they lie
    in one space: a row's target is in its own vectors by nothing but its share in the layers, and
    in *unseen*, which a category without a row in other folds has as its vector. What `transform`
    gives is the mean of the vectors of the folds, which is more like what the next method was
    fitted on than vectors of all rows are. docs/features.md says when to use which.

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

    cv: int | BaseCrossValidator | Iterable[tuple[Sequence[int], Sequence[int]]] | None = parameter(
        default=None,
        text="""
        Determines the splitting strategy of the cross fitting: None learns vectors once, from all
        rows. An int is a number of folds, shuffled, with the same share of each class in all of
        them where the target is one; or a splitter of scikit-learn, or an iterable of
        (train, test) positions, that puts each row into one fold. Each fold is trained for
        half of the epochs of the whole fit, and the table must be in memory.
        """,
    )
    networks: Literal["first", "all"] = parameter(
        default="first",
        text="""
        Whose vectors are the features: those of the first network, called ``store_0``, or with
        "all" those of every network side by side, ``network0_store_0``, ``network1_store_0``, ….
        """,
    )

    def fit_transform(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
        on_epoch: OnEpoch | None = None,
        on_prepared: Callable[[Prepared], None] | None = None,
    ) -> np.ndarray:
        """Fit, and return the features of the same rows; cross-fitted where ``cv`` says so.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), or str
        sample_weight : array-like of shape (n_samples,), or str, optional
            A row of weight zero counts as absent, and has the vectors that `transform` gives.
        X_val, y_val, sample_weight_val
            As in `fit`; not together with ``cv``.
        on_epoch, on_prepared : callable, optional
            As in `fit`; of folds they are not told.

        Returns
        -------
        float32 array of shape (n_samples, sum of dimensions + numbers)
        """
        given, judges = Given(X, y, sample_weight), Given(X_val, y_val, sample_weight_val)
        if self.cv is None:
            self.fitted_ = self._learn(given, judges, on_epoch=on_epoch, on_prepared=on_prepared)
            return self.fitted_.features(self.encode(X), self.feature_networks)
        self.fitted_, features = self._cross_fit(
            given, judges, on_epoch=on_epoch, on_prepared=on_prepared
        )
        return features

    @property
    def feature_networks(self) -> str:
        """The networks whose vectors `transform` gives: "first" or "all"."""
        return self.networks

    def start_fit(self) -> Fit:
        """Return a fit with the parameters that the estimator has now, which are checked."""
        check_folds(self.cv)
        return super().start_fit()

    def _learn(self, given: Given, judges: Given, **listeners: Any) -> Fitted:
        if self.cv is None:
            return super()._learn(given, judges, **listeners)
        return self._cross_fit(given, judges, **listeners)[0]

    def _cross_fit(
        self, given: Given, judges: Given, **listeners: Any
    ) -> tuple[Fitted, np.ndarray]:
        """Return what is learned, and features of each row that know nothing of its target."""
        job = self.start_fit()
        if judges.X is not None:
            raise InputError(
                "There is no X_val where cv splits the rows into folds.",
                hint="early_stopping=True holds rows back in each fold.",
            )
        crossing = CrossFitting(given, self.get_params(deep=False))
        return crossing.run(job.run(given, judges, **listeners, on_planned=crossing.prepare))

    def _target_kind(self) -> str:
        return check_option("target_type", self.target_type, ("auto", "continuous", "class"))
