"""What a fitted estimator tells about itself: the attributes that end in an underscore."""

from dataclasses import asdict
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from catspace.data.target import ClassTarget
from catspace.embeddings import Embeddings
from catspace.estimators.fitted import Fitted
from catspace.model.network import EntityNetwork
from catspace.model.recipe import Recipe


class FittedAttributes:
    """Reads all attributes out of ``fitted_``; before fit there is none of them."""

    fitted_: Fitted

    @property
    def embeddings_(self) -> Embeddings:
        """Mapping of column to its vectors, categories and counts."""
        return self._get_fitted("embeddings_").embeddings

    @property
    def networks_(self) -> list[EntityNetwork]:
        """The networks, torch modules that map codes and numbers of `encode` to outputs."""
        return list(self._get_fitted("networks_").networks)

    @property
    def history_(self) -> list[dict[str, Any]]:
        """What is known of each epoch of each network: losses, rate, seconds.

        ``stopped`` says whether ``on_epoch`` ended the training of the network there.
        """
        return [asdict(epoch) for epoch in self._get_fitted("history_").history]

    @property
    def n_iter_(self) -> int:
        """The epochs that the longest training took."""
        return self._get_fitted("n_iter_").n_epochs

    @property
    def best_epoch_(self) -> list[int]:
        """The epoch whose weights each network carries."""
        return self._get_fitted("best_epoch_").best_epochs

    @property
    def batch_size_(self) -> int:
        """The rows in one step."""
        return self._get_recipe("batch_size_").batch_size

    @property
    def learning_rate_(self) -> float:
        """The highest rate of the schedule."""
        return self._get_recipe("learning_rate_").learning_rate

    @property
    def embedding_dims_(self) -> dict[str, int]:
        """The dimension of the vectors of each column."""
        embeddings = self._get_fitted("embedding_dims_").embeddings
        return {column: embedding.dim for column, embedding in embeddings.items()}

    @property
    def smooth_(self) -> dict[str, float]:
        """The smoothing of each embedded column, in rows; what ``smooth="auto"`` found."""
        fitted = self._get_fitted("smooth_")
        return {column: embedding.smooth for column, embedding in fitted.embeddings.items()}

    @property
    def pairs_(self) -> list[tuple[str, str]]:
        """The pairs of columns of which the networks are told; what ``pairs="auto"`` found."""
        fitted = self._get_fitted("pairs_")
        columns, means = list(fitted.learned.encoder.vocabularies), fitted.networks[0].pairs
        pairs = () if means is None else means.pairs
        return [(columns[first], columns[second]) for first, second in pairs]

    @property
    def target_type_(self) -> str:
        """What the target is: "continuous", "binary" or "multiclass"."""
        target = self._get_fitted("target_type_").learned.target
        if not isinstance(target, ClassTarget):
            return "continuous"
        return "binary" if target.n_outputs == 2 else "multiclass"

    @property
    def n_outputs_(self) -> int:
        """How many numbers are predicted for a row; for classes one."""
        target = self._get_fitted("n_outputs_").learned.target
        return 1 if isinstance(target, ClassTarget) else target.n_outputs

    @property
    def n_features_in_(self) -> int:
        """The number of columns of fit."""
        return len(self._get_fitted("n_features_in_").learned.schema.names)

    @property
    def feature_names_in_(self) -> np.ndarray:
        """The names of the columns of fit, where it had names."""
        schema = self._get_fitted("feature_names_in_").learned.schema
        if not schema.named:
            raise AttributeError("feature_names_in_: the table of fit had no names.")
        return np.array(schema.names, dtype=object)

    def _get_fitted(self, name: str) -> Fitted:
        if not hasattr(self, "fitted_"):
            # Also an AttributeError, so that hasattr says no.
            raise NotFittedError(f"This {type(self).__name__} is not fitted yet: no {name}.")
        return self.fitted_

    def _get_recipe(self, name: str) -> Recipe:
        recipe = self._get_fitted(name).recipe
        if recipe is None:
            raise AttributeError(f"{name}: a file of catspace 0.1 does not say.")
        return recipe


class ClassAttributes(FittedAttributes):
    """Those of estimators that learn classes."""

    @property
    def classes_(self) -> np.ndarray:
        """The labels, sorted, where the target is one of several classes."""
        target = self._get_fitted("classes_").learned.target
        if not isinstance(target, ClassTarget):
            raise AttributeError("classes_: the target is a number.")
        return target.classes
