"""How well predictions do: the scores of each task, and any of scikit-learn's on encoded rows."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.metrics import (
    d2_tweedie_score,
    get_scorer,
    get_scorer_names,
    mean_absolute_error,
    mean_absolute_percentage_error,
    r2_score,
    root_mean_squared_error,
)

from catspace.data.encoding import Encoded
from catspace.exceptions import InputError, ParameterError, did_you_mean, shorten

# Of encoded rows, their target and their weights; more is better.
Score = Callable[[Encoded, np.ndarray, np.ndarray | None], float]


def score_numbers(
    true: np.ndarray,
    predicted: np.ndarray,
    weight: np.ndarray | None = None,
    *,
    is_count: bool = False,
) -> dict[str, float]:
    """Return the scores of predicted numbers, by name.

    Parameters
    ----------
    true, predicted : float64 arrays of shape (n_samples,) or (n_samples, n_outputs)
    weight : float64 array of shape (n_samples,), optional
    is_count : bool
        Whether they are counts, of which D² tells the share of the Poisson deviance that is
        explained.

    Returns
    -------
    dict of str to float
        Those that say something: where the target is constant there is no variance to explain,
        and zeros have no percentages.

    Examples
    --------
    >>> score_numbers(np.array([1.0, 3.0]), np.array([2.0, 3.0]))["mean absolute error"]
    0.5
    """
    scores = {
        "mean absolute error": float(mean_absolute_error(true, predicted, sample_weight=weight)),
        "root mean squared error": float(
            root_mean_squared_error(true, predicted, sample_weight=weight)
        ),
    }
    if np.ptp(true, axis=0).all():
        scores = {"R²": float(r2_score(true, predicted, sample_weight=weight)), **scores}
        if is_count and true.size == len(true) and (predicted > 0).all():
            scores["D²"] = float(
                d2_tweedie_score(true.ravel(), predicted.ravel(), sample_weight=weight, power=1)
            )
    if (true != 0).all():
        scores["MAPE"] = float(
            mean_absolute_percentage_error(true, predicted, sample_weight=weight)
        )
    return scores


def score_classes(
    true: np.ndarray, shares: np.ndarray, classes: np.ndarray, weight: np.ndarray | None = None
) -> dict[str, float]:
    """Return the scores of probabilities, by name.

    Parameters
    ----------
    true : array of shape (n_samples,)
        Labels; one that is no class counts as missed.
    shares : float64 array of shape (n_samples, n_classes)
    classes : array of shape (n_classes,)
        The labels of the columns of ``shares``, sorted.
    weight : float64 array of shape (n_samples,), optional

    Examples
    --------
    >>> labels, shares = np.array(["a", "b"]), np.array([[0.5, 0.5], [1.0, 0.0]])
    >>> score_classes(np.array(["a", "a"]), shares, labels)["accuracy"]
    1.0
    """
    try:
        position = np.minimum(np.searchsorted(classes, true), len(classes) - 1)
    except TypeError:  # text and numbers have no order
        raise InputError(
            f"The target holds {true[:1].tolist()[0]!r}, and the classes of the model are others: "
            f"{shorten(classes.tolist())}."
        ) from None
    is_known = np.asarray(classes[position] == true)
    share = np.where(is_known, shares[np.arange(len(true)), position], 0.0)
    # As scikit-learn's log_loss, which refuses a single class and classes that fit has not met.
    smallest = np.finfo(shares.dtype).eps
    return {
        "accuracy": float(
            np.average((shares.argmax(axis=1) == position) & is_known, weights=weight)
        ),
        "log loss": float(np.average(-np.log(np.clip(share, smallest, 1.0)), weights=weight)),
    }


def make_score(model: Any, scoring: Any = None) -> Score:
    """Return what judges a model on encoded rows; more is better.

    Where several quantiles are predicted, the one that is closest to the median is judged.

    Parameters
    ----------
    model : fitted EmbeddingRegressor or EmbeddingClassifier
    scoring : str or callable, optional
        The name of one of scikit-learn's scorers, or a scorer. By default the mean absolute error
        of numbers, in their own unit, and the log loss of classes.
    """
    if scoring is None:
        return lambda encoded, y, weight: -_default_loss(model, encoded, y, weight)
    if isinstance(scoring, str):
        try:
            scoring = get_scorer(scoring)
        except ValueError:
            raise ParameterError(
                f"scoring must be the name of one of scikit-learn's scorers; got {scoring!r}."
                f"{did_you_mean(scoring, get_scorer_names())}",
                hint="sklearn.metrics.get_scorer_names() lists them.",
            ) from None
    if not callable(scoring):
        raise ParameterError(f"scoring must be a name or a scorer; got {scoring!r}.")
    asked = (_AskedForClasses if hasattr(model, "classes_") else _Asked)(model)

    def judge(encoded: Encoded, y: np.ndarray, weight: np.ndarray | None) -> float:
        options = {} if weight is None else {"sample_weight": weight}
        return float(scoring(asked, encoded, y, **options))

    return judge


def _default_loss(model: Any, encoded: Encoded, y: np.ndarray, weight: np.ndarray | None) -> float:
    answer = model.predict_encoded(encoded)
    if hasattr(model, "classes_"):
        return score_classes(y, answer, model.classes_, weight)["log loss"]
    points = model.fitted_.points(answer)
    return float(mean_absolute_error(y, points, sample_weight=weight))


class _Asked:
    """A model as scorers know it, asked about rows that are encoded already."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def predict(self, encoded: Encoded) -> np.ndarray:
        return np.asarray(self._model.fitted_.points(self._model.predict_encoded(encoded)))

    def __sklearn_tags__(self) -> Any:
        return self._model.__sklearn_tags__()

    def __sklearn_is_fitted__(self) -> bool:
        return True


class _AskedForClasses(_Asked):
    @property
    def classes_(self) -> np.ndarray:
        return np.asarray(self._model.classes_)

    def predict_proba(self, encoded: Encoded) -> np.ndarray:
        return np.asarray(self._model.predict_encoded(encoded))

    def predict(self, encoded: Encoded) -> np.ndarray:
        return np.asarray(self.classes_[self.predict_proba(encoded).argmax(axis=1)])
