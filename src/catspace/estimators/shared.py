"""The parameters that estimators have in common."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from catspace.estimators.parameters import declares_parameters, parameter

Auto = Literal["auto"]
Activation = Literal["identity", "relu", "silu", "gelu", "tanh", "logistic"]
DatePart = Literal[
    "year",
    "quarter",
    "month",
    "week",
    "day",
    "day_of_week",
    "day_of_year",
    "hour",
    "date",
    "elapsed",
]


@declares_parameters
class SharedParameters:
    """Those of every estimator."""

    embedding_dim: (
        int | Mapping[str, int] | Literal["auto", "half", "fastai", "sqrt", "fourth_root", "max"]
    ) = parameter(
        default="auto",
        text="""
        The dimension of the vectors: one number for all columns, a number for each, or a rule by
        name (see `catspace.model.sizes.embedding_dims`). "auto" is "half", the rule that did best
        on validation rows: half of the categories, at most 50. Always between 1 and the number of
        categories less one.
        """,
    )
    categorical_features: Literal["from_dtype"] | Sequence[str] | Sequence[int] | Sequence[bool] = (
        parameter(
            default="from_dtype",
            text="""
            Which of the columns that could be numbers as well as categories (numbers, booleans,
            dates) are categories: by name, position or mask; all others of them are numbers.
            Text and category columns are always embedded. "from_dtype": booleans are categories,
            and numbers are numbers, since ids and counts look alike; integers that look like ids
            draw a warning.
            """,
        )
    )
    date_parts: Sequence[DatePart] | None = parameter(
        default=None,
        text="""
        Replaces each column of dates by these parts, each a categorical column: "year",
        "quarter", "month", "week", "day", "day_of_week" (Monday is 1), "day_of_year", "hour", and
        "date", the whole day. "elapsed" is a number, days since the first day of training: a
        trend goes on along it, while a year that fit has not met is unseen. Hours and days are
        those of the zone that the column had in fit, whichever it has later.
        """,
    )
    date_formats: Mapping[str, str] | None = parameter(
        default=None,
        text="""
        Columns of text that are dates, and how these are written, as Python's `strptime` has it:
        ``{"day": "%d.%m.%Y"}``. They are columns of dates then.
        """,
    )
    list_separators: Mapping[str, str] | None = parameter(
        default=None,
        text="""
        Columns of text that are lists of categories, and what stands between the items:
        ``{"genres": "|"}`` for ``Comedy|Drama``, which a CSV file cannot say otherwise. Nothing
        between two of them is no item. Columns that hold lists need not be named: a row has the
        mean of the vectors of its items, and an empty list the zero vector.
        """,
        is_named=False,
    )
    discretize: Mapping[str, int | Literal["quantile", "tree"]] | None = parameter(
        default=None,
        text="""
        Columns of numbers to cut into ordered bins, each with a vector of its own: a number of
        bins of equal size, "quantile" (20 of them) or "tree" (where a decision tree on that
        column would cut). ``{"distance": 20}`` helps where the target jumps or turns with a
        number; elsewhere the number itself knows more.
        """,
    )
    min_frequency: int | float = parameter(
        default=1,
        text="""
        Categories with fewer rows (a float: a smaller share of them) have one vector in common.
        """,
    )
    max_categories: int | Mapping[str, int] | None = parameter(
        default=None,
        text="""
        The most vectors that a column, or each column, may have: those of its most frequent
        categories, and the one that all others have in common. As in scikit-learn, that one
        counts; missing and unseen values, which have vectors of their own, do not.
        """,
    )
    hash_buckets: Mapping[str, int] | None = parameter(
        default=None,
        text="""
        Columns to embed by the hash of their values, and into how many buckets: for ids that are
        too many to keep, ``{"user_id": 1_000_000}``. Values that share a bucket share its vector,
        so that a value which fit has not met may get one that it has; `embeddings_` knows them
        as "bucket 17". The hash is the same on every machine.
        """,
    )
    shared_vectors: Sequence[Sequence[str]] | None = parameter(
        default=None,
        text="""
        Groups of columns that have one vocabulary and one table of vectors, because they hold the
        same things: ``[["home", "away"]]`` for teams, origin and destination, buyer and seller.
        A category's rows are those of all columns of its group together.
        """,
    )
    smooth: float | Mapping[str, float | Auto] | Auto = parameter(
        default="auto",
        text="""
        How many rows a category needs before its vector says more than that of *unseen*, which
        is what is known without its rows; for all columns, or for each. Vectors of categories
        with fewer rows stay close to *unseen*. More is better where the target is noisy, 0 leaves
        every vector to its own rows, as in the paper. "auto" takes what does best in short
        trainings on rows that are held back (``smooth_``). A number costs no time.
        """,
    )
    initial_vectors: Mapping[str, Any] | None = parameter(
        default=None,
        text="""
        Vectors that columns start from, so that what was learned on a large table serves a small
        one: ``{"store": model}`` takes those of a fitted model (or its ``embeddings_``) for the
        column of the same name. Also an `Embedding`, a frame (one column of categories, and
        numbers), or the path of a file: word2vec's text, Parquet, CSV or a model. Categories
        without one start at the given vector of *unseen*, or at the mean of the given. Few rows
        leave a vector close to where it started. A model file keeps the vectors and not this.
        """,
        is_kept=False,
    )
    frozen_columns: Sequence[str] | None = parameter(
        default=None,
        text="""
        Columns with ``initial_vectors`` whose vectors stay as they are given, those of missing,
        rare and unseen values among them; a category without one has that of *unseen*.
        """,
    )
    handle_unknown: Literal["mean", "error"] = parameter(
        default="mean",
        text="""
        What a category that fit has not met gets: the vector of *unseen*, which is learned with
        the others (with ``smooth=0`` their average), or an error.
        """,
    )
    input_encoding: Literal["embedding", "onehot"] = parameter(
        default="embedding",
        text="""
        "onehot" is the paper's twin: the categories go one-hot into the first hidden layer.
        """,
    )
    hidden_layer_sizes: Sequence[int] | Auto = parameter(
        default="auto",
        text="""
        The widths of the hidden layers. Here and below, "auto" follows the number of training
        rows; see `catspace.model.recipe.defaults_for`.
        """,
    )
    activation: Activation = parameter(default="relu", text="Of the hidden layers.")
    embedding_activation: Activation = parameter(
        default="identity", text="Applied to the vectors before the first hidden layer."
    )
    dropout: float | Auto = parameter(
        default="auto",
        text="""
        Share of hidden units that are switched off in each step. With "auto", the fewer rows the
        more, and more where ``smooth`` finds much noise beside many columns of numbers.
        """,
    )
    n_networks: int = parameter(
        default=1, text="Networks to train and average. `embeddings_` are those of the first."
    )
    max_epochs: int | Auto = parameter(
        default="auto",
        text="""
        How often a network sees each row, unless it is stopped early. With "auto", and where
        ``smooth`` tries networks on rows that are held back, half as often if that will do.
        """,
    )
    batch_size: int | Auto = parameter(default="auto", text="Rows in one step.")
    learning_rate: float | Auto = parameter(
        default="auto", text="The highest rate of the schedule."
    )
    weight_decay: float | Auto = parameter(
        default="auto",
        text="""
        The decoupled decay of the dense layers ("adamw"), or the penalty on all weights ("adam").
        """,
    )
    optimizer: Literal["adamw", "adam"] = parameter(
        default="adamw", text='What moves the weights; the paper has "adam".'
    )
    schedule: Literal["cosine", "constant"] = parameter(
        default="cosine",
        text='"cosine" warms up over a tenth of the steps, then falls to zero.',
    )
    initialization: Literal["normal", "uniform"] = parameter(
        default="normal", text='"uniform" is what Keras did for the paper.'
    )
    early_stopping: bool = parameter(
        default=False,
        text="""
        Holds back ``validation_fraction`` of the rows, stops after ``n_iter_no_change`` epochs
        without a better validation loss, and keeps the best epoch.
        """,
    )
    validation_fraction: float = parameter(
        default=0.1, text="The share of the rows that ``early_stopping`` holds back."
    )
    n_iter_no_change: int = parameter(
        default=10, text="How many epochs without a better validation loss end the training."
    )
    random_state: int | np.random.RandomState | None = parameter(
        default=None,
        text="""
        An int gives the same predictions to the last bit, whatever ``n_jobs`` is.
        """,
    )
    n_jobs: int | None = parameter(
        default=-1,
        text="""
        Threads; -1 takes all cores. Networks are trained side by side, one thread each. Where
        there are more threads than that, each network has two for its large batches.
        """,
    )
    device: str = parameter(
        default="auto", text='"cpu", "cuda", …; "auto" takes a GPU where there is one.'
    )
    verbose: int = parameter(
        default=0,
        text="""
        1 shows progress; 2 also the memory that training needs, and which embeddings are so large
        that a step updates only the rows of its batch.
        """,
    )


@declares_parameters
class PredictorParameters:
    """Those of estimators that predict."""

    pairs: Sequence[tuple[str, str]] | Auto | None = parameter(
        default="auto",
        text="""
        Pairs of categorical columns for which the networks are told what the target did where two
        categories met (its mean over other rows), such as ``[("month", "day")]``. "auto" looks for
        pairs that say more than their columns do, and tells of them where that does better on rows
        that are held back; it does so where ``smooth`` holds rows back as well, in tables of
        up to 100,000 rows: in more of them networks find pairs by themselves. Where there is much
        noise, it tells of single columns; such a column is named twice, ``("shop", "shop")``. None
        tells of none, and none is told, not even a given one, where rows that are held back cannot
        tell what was learned from chance. What was found is ``pairs_``.
        """,
    )


@declares_parameters
class NumberParameters:
    """Those of estimators that learn numbers."""

    loss: (
        Literal["auto", "squared_error", "absolute_error", "huber", "quantile", "poisson"]
        | Callable[[Any, Any], Any]
    ) = parameter(
        default="auto",
        text="""
        What is minimised, on the scale of ``target_transform``. "huber" is squared up to a
        quarter of the target's standard deviation, and absolute beyond. "auto" is "squared_error",
        and "huber" where the target is transformed: it stays close to the median, which is the
        same on either scale, while the exponential of a mean of logarithms is not the mean. On
        Rossmann it also forecasts better (docs/defaults.md). "poisson" is for counts, and for
        rates (counts by exposure, with the exposure as ``sample_weight``): the network learns the
        logarithm of their mean. A function of outputs and target, torch tensors of shape
        (n_samples, n_outputs), that returns the loss of each row is minimised itself, on the scale
        that networks learn on: a target has a mean of 0 and a standard deviation of 1 there, after
        ``target_transform``. A model file keeps what was learned with it, and not the function.
        """,
    )
    quantile: float | Sequence[float] = parameter(
        default=0.5,
        text="""
        For ``loss="quantile"``: one, or several that rise, such as ``[0.1, 0.5, 0.9]``. Several are
        learned by one network, and predictions have a column for each.
        """,
    )
    target_transform: Literal["log", "log1p", "paper"] | None = parameter(
        default=None,
        text="""
        "log" is right for positive targets that span orders of magnitude. "paper" is
        log(y) / log(y_max) under a sigmoid output.
        """,
    )


@declares_parameters
class ClassParameters:
    """Those of estimators that learn classes."""

    class_weight: Mapping[object, float] | Literal["balanced"] | None = parameter(
        default=None,
        text="""
        Weights of the classes, as everywhere in scikit-learn: "balanced" gives every class the
        same weight in all, whatever its number of rows.
        """,
    )
