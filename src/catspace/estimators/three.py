"""The estimators: one fitted object predicts, transforms, and hands out its vectors."""

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin

from catspace.estimators.base import EmbeddingEstimator, store_parameters
from catspace.exceptions import ModelFileError
from catspace.storage import model_file
from catspace.validation import check_option


class EmbeddingRegressor(RegressorMixin, EmbeddingEstimator):  # type: ignore[misc]
    """Predict numbers from categories and numbers with entity embeddings.

    Each category of each categorical column gets a vector, learned together with a neural network
    that predicts the target. The fitted object predicts (`predict`), hands the vectors to any
    other method as features (`transform`), and shows what it learned (`embeddings_`).

    It is at its best where columns have many categories. On a handful of purely numeric columns
    gradient boosting is hard to beat.

    Parameters
    ----------
    embedding_dim : str, int or dict of column to int, default="auto"
        The dimension of the vectors: a rule by name ("half", "fastai", "sqrt", "fourth_root",
        "max"), one number for all columns, or a number for each. "auto" is the rule that did best
        on validation rows, see `catspace.model.sizes.embedding_dims`. Always between 1 and the
        number of categories less one.
    categorical_features : "from_dtype" or array-like of str, int or bool, default="from_dtype"
        Columns to embed, by name, position or mask, besides those whose dtype says so: text,
        category, Enum and boolean columns are always embedded. Integers are numbers unless named
        here, since ids and counts look alike; one that looks like an id draws a warning.
    date_parts : list of str, optional
        Replaces each column of dates by these parts, each a categorical column: "year",
        "quarter", "month", "week", "day", "day_of_week", "hour".
    discretize : dict, optional
        Columns of numbers to cut into ordered bins, each with a vector of its own: a number of
        bins of equal size, "quantile" (20 of them) or "tree" (where a decision tree on that
        column would cut). ``{"distance": 20}`` helps where the target jumps or turns with a
        number; elsewhere the number itself knows more.
    min_frequency : int or float, default=1
        Categories with fewer rows (a float: a smaller share of them) have one vector in common.
    max_categories : int or dict of column to int, optional
        At most so many categories of a column have a vector of their own, the most frequent ones;
        the others have one in common, as with ``min_frequency``.
    hash_buckets : dict of column to int, optional
        Columns to embed by the hash of their values, and into how many buckets: for ids that are
        too many to keep, ``{"user_id": 1_000_000}``. Values that share a bucket share its vector,
        so that a value which fit has not met may get one that it has; `embeddings_` knows them
        as "bucket 17". The hash is the same on every machine.
    handle_unknown : {"mean", "error"}, default="mean"
        What a category that fit has not met gets: the average vector, or an error.
    input_encoding : {"embedding", "onehot"}, default="embedding"
        "onehot" is the paper's twin: the categories go one-hot into the first hidden layer.
    hidden_layer_sizes : tuple of int, default="auto"
        Here and below, "auto" follows the number of training rows; see
        `catspace.model.recipe.defaults_for`.
    activation : {"relu", "silu", "gelu", "tanh", "logistic", "identity"}, default="relu"
        Of the hidden layers.
    embedding_activation : str, default="identity"
        Applied to the vectors before the first hidden layer.
    dropout : float, default="auto"
        Share of hidden units that are switched off in each step.
    loss : {"auto", "squared_error", "absolute_error", "huber", "quantile"}, default="auto"
        What is minimised, on the scale of ``target_transform``. "huber" is squared up to a
        quarter of the target's standard deviation, and absolute beyond. "auto" is "squared_error",
        and "huber" where the target is transformed: it stays close to the median, which is the
        same on either scale, while the exponential of a mean of logarithms is not the mean. On
        Rossmann it also forecasts better (docs/defaults.md).
    quantile : float, default=0.5
        For ``loss="quantile"``.
    target_transform : {None, "log", "log1p", "paper"}, default=None
        "log" is right for positive targets that span orders of magnitude. "paper" is
        log(y) / log(y_max) under a sigmoid output.
    n_networks : int, default=1
        Networks to train and average. `embeddings_` are those of the first.
    max_epochs, batch_size : int, default="auto"
    learning_rate, weight_decay : float, default="auto"
        The peak rate, and the decoupled decay of the dense layers.
    optimizer : {"adamw", "adam"}, default="adamw"
    schedule : {"cosine", "constant"}, default="cosine"
        "cosine" warms up over a tenth of the steps, then falls to zero.
    initialization : {"normal", "uniform"}, default="normal"
        "uniform" is what Keras did for the paper.
    early_stopping : bool, default=False
        Holds back ``validation_fraction`` of the rows, stops after ``n_iter_no_change`` epochs
        without a better validation loss, and keeps the best epoch.
    validation_fraction : float, default=0.1
    n_iter_no_change : int, default=10
    random_state : int, RandomState or None, default=None
        An int gives the same predictions to the last bit, whatever ``n_jobs`` is.
    n_jobs : int, default=-1
        Networks trained at the same time, one thread each; -1 takes all cores.
    device : str, default="auto"
        "cpu", "cuda", …; "auto" takes a GPU where there is one.
    verbose : int, default=0
        1 shows progress; 2 also the memory that training needs, and which embeddings are so large
        that a step updates only the rows of its batch.

    Attributes
    ----------
    embeddings_ : Embeddings
        Mapping of column to its vectors, categories and counts.
    networks_ : list of torch.nn.Module
    history_ : list of dict
        One for each epoch of each network: network, epoch, loss, validation_loss,
        learning_rate, seconds.
    best_epoch_ : int
        The epoch whose weights the first network carries.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only where the table had names.

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

    def __init__(
        self,
        *,
        embedding_dim: Any = "auto",
        categorical_features: Any = "from_dtype",
        date_parts: Any = None,
        discretize: Any = None,
        min_frequency: Any = 1,
        max_categories: Any = None,
        hash_buckets: Any = None,
        handle_unknown: str = "mean",
        input_encoding: str = "embedding",
        hidden_layer_sizes: Any = "auto",
        activation: str = "relu",
        embedding_activation: str = "identity",
        dropout: Any = "auto",
        loss: str = "auto",
        quantile: float = 0.5,
        target_transform: str | None = None,
        n_networks: int = 1,
        max_epochs: Any = "auto",
        batch_size: Any = "auto",
        learning_rate: Any = "auto",
        weight_decay: Any = "auto",
        optimizer: str = "adamw",
        schedule: str = "cosine",
        initialization: str = "normal",
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        random_state: Any = None,
        n_jobs: int | None = -1,
        device: str = "auto",
        verbose: int = 0,
    ) -> None:
        store_parameters(self, locals())

    def predict(self, X: Any) -> np.ndarray:
        """Return the predicted numbers; networks are averaged on the scale they learned on.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)

        Returns
        -------
        float64 array of shape (n_rows,) or (n_rows, n_outputs)
        """
        outputs = self._outputs(X)
        return self._target.decode(np.asarray(np.mean(outputs, axis=0, dtype=np.float64)))

    def _target_kind(self) -> str:
        return "continuous"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class EmbeddingClassifier(ClassifierMixin, EmbeddingEstimator):  # type: ignore[misc]
    """Predict classes from categories and numbers with entity embeddings.

    Parameters are those of `EmbeddingRegressor`, but for ``loss``, ``quantile`` and
    ``target_transform``: a classifier learns by cross-entropy.

    Parameters
    ----------
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, as everywhere in scikit-learn.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels, sorted. The other attributes are those of `EmbeddingRegressor`.

    Examples
    --------
    >>> from catspace import EmbeddingClassifier
    >>> X = {"colour": ["red", "blue", "red", "blue"] * 10}
    >>> y = ["hot", "cold", "hot", "cold"] * 10
    >>> EmbeddingClassifier(random_state=0).fit(X, y).predict({"colour": ["red", "blue"]})
    array(['hot', 'cold'], dtype='<U4')
    """

    def __init__(
        self,
        *,
        embedding_dim: Any = "auto",
        categorical_features: Any = "from_dtype",
        date_parts: Any = None,
        discretize: Any = None,
        min_frequency: Any = 1,
        max_categories: Any = None,
        hash_buckets: Any = None,
        handle_unknown: str = "mean",
        input_encoding: str = "embedding",
        hidden_layer_sizes: Any = "auto",
        activation: str = "relu",
        embedding_activation: str = "identity",
        dropout: Any = "auto",
        class_weight: Any = None,
        n_networks: int = 1,
        max_epochs: Any = "auto",
        batch_size: Any = "auto",
        learning_rate: Any = "auto",
        weight_decay: Any = "auto",
        optimizer: str = "adamw",
        schedule: str = "cosine",
        initialization: str = "normal",
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        random_state: Any = None,
        n_jobs: int | None = -1,
        device: str = "auto",
        verbose: int = 0,
    ) -> None:
        store_parameters(self, locals())

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class, averaged over the networks.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)

        Returns
        -------
        float64 array of shape (n_rows, n_classes)
            Columns in the order of ``classes_``.
        """
        probabilities = [_softmax(output.astype(np.float64)) for output in self._outputs(X)]
        return np.asarray(np.mean(probabilities, axis=0))

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable class of each row.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)

        Returns
        -------
        array of shape (n_rows,)
        """
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def _target_kind(self) -> str:
        return "class"


class EmbeddingEncoder(EmbeddingEstimator):
    """Turn categories into vectors, as a transformer in front of any other method.

    What it learns depends on the target, like `sklearn.preprocessing.TargetEncoder`. Parameters
    are those of `EmbeddingRegressor` and `EmbeddingClassifier` together.

    The vectors have seen the targets of the rows they were trained on. A method that is fitted on
    the same rows can lean on them too much; judge the pipeline as a whole, on rows held back.

    Parameters
    ----------
    target_type : {"auto", "continuous", "class"}, default="auto"
        Whether the target is a number or a class. "auto": fractions, and integers with more than
        20 different values, are numbers; all else are classes.

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

    def __init__(
        self,
        *,
        embedding_dim: Any = "auto",
        categorical_features: Any = "from_dtype",
        date_parts: Any = None,
        discretize: Any = None,
        min_frequency: Any = 1,
        max_categories: Any = None,
        hash_buckets: Any = None,
        handle_unknown: str = "mean",
        target_type: str = "auto",
        input_encoding: str = "embedding",
        hidden_layer_sizes: Any = "auto",
        activation: str = "relu",
        embedding_activation: str = "identity",
        dropout: Any = "auto",
        loss: str = "auto",
        quantile: float = 0.5,
        target_transform: str | None = None,
        class_weight: Any = None,
        n_networks: int = 1,
        max_epochs: Any = "auto",
        batch_size: Any = "auto",
        learning_rate: Any = "auto",
        weight_decay: Any = "auto",
        optimizer: str = "adamw",
        schedule: str = "cosine",
        initialization: str = "normal",
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        random_state: Any = None,
        n_jobs: int | None = -1,
        device: str = "auto",
        verbose: int = 0,
    ) -> None:
        store_parameters(self, locals())

    def _target_kind(self) -> str:
        return check_option("target_type", self.target_type, ("auto", "continuous", "class"))


def load(path: str | Path) -> Any:
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
    kinds = {
        kind.__name__: kind for kind in (EmbeddingRegressor, EmbeddingClassifier, EmbeddingEncoder)
    }
    if document["estimator"] not in kinds:
        raise ModelFileError(f"{str(path)!r} holds a {document['estimator']}, which is not known.")
    return kinds[document["estimator"]]._restore(document, arrays)


def _softmax(logits: np.ndarray) -> np.ndarray:
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))
