"""What the three estimators share: parameters, fitting, transforming, saving."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from catspace.data.encoding import Encoded
from catspace.embeddings import Embeddings
from catspace.estimators.attributes import FittedAttributes
from catspace.estimators.fitted import Fitted
from catspace.estimators.fitting import Fit, OnEpoch, check_use
from catspace.estimators.parameters import pack_parameter, unpack_parameter
from catspace.estimators.shared import SharedParameters
from catspace.estimators.updating import update
from catspace.exceptions import InputError, shorten
from catspace.model.device import make_device
from catspace.model.settings import plain_torch
from catspace.preparation.prepare import Given, Prepared
from catspace.validation import check_column_names


class EmbeddingEstimator(
    SharedParameters,
    FittedAttributes,
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """The common base; a subclass adds its parameters, what its target is, and how it predicts."""

    def fit(
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
    ) -> Self:
        """Learn vectors and network from a table and a target.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            pandas, polars, Arrow, or a 2-d array; or CSV or Parquet files, which need not fit in
            memory: a path, a pattern (``"sales/*.parquet"``), a folder, or a
            `pyarrow.dataset.Dataset`. See Notes.
        y : array-like of shape (n_samples,), or str
            The target, or the name of the column of ``X`` that holds it.
        sample_weight : array-like of shape (n_samples,), or str, optional
            Or the name of the column of ``X``. A row of weight zero counts as absent.
        X_val, y_val : table and array-like, or files and str, optional
            Rows to judge each epoch by: the best one is kept. With ``early_stopping=True`` they
            take the place of rows held back from ``X``; give rows of the future for a forecast.
        sample_weight_val : array-like of shape (n_val_samples,), or str, optional
            Their weights, or the name of the column of ``X_val``.
        on_epoch : callable, optional
            Called after each epoch of each network with what ``history_`` keeps of it: for a
            progress display or a log of your own. The call comes from the thread that trained the
            epoch. Where it returns True, the training of that network ends there, and keeps what
            it would keep after early stopping: its best judged epoch, or else this one, which
            ``history_`` marks as ``stopped``. The other networks go on. What a network learns
            depends on the answers about itself alone, so that a callback which looks at nothing
            else gives the same model, whatever ``n_jobs`` is.
        on_prepared : callable, optional
            Called once before training, with what was learned of the table and the rows as the
            networks read them: to show how the columns are understood.

        Returns
        -------
        self

        Notes
        -----
        Files whose target is given by name are read block by block. The first time vocabularies
        and scales are learned: exactly, but for quantiles of columns of numbers, which come from
        200,000 rows drawn at random where there are more. The second time the rows are encoded
        and written to a temporary file (in ``TMPDIR``; some bytes for each value), which each
        epoch reads in an order of its own, and which is gone afterwards. Before that, a CSV file
        is read once more, since the types of its columns are found from all of its cells; and so
        is any file where ``discretize`` looks for bins. A table of up to 200,000 rows gives the
        same model as in memory, bit for bit; where rows are held back for ``early_stopping``, one
        of up to 100,000.
        """
        given, judges = Given(X, y, sample_weight), Given(X_val, y_val, sample_weight_val)
        self.fitted_ = self._learn(given, judges, on_epoch=on_epoch, on_prepared=on_prepared)
        return self

    def _learn(
        self,
        given: Given,
        judges: Given,
        *,
        on_epoch: OnEpoch | None,
        on_prepared: Callable[[Prepared], None] | None,
    ) -> Fitted:
        """Return what fit learns."""
        job = self.start_fit()
        return job.run(given, judges, on_epoch=on_epoch, on_prepared=on_prepared).fitted

    def partial_fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, on_epoch: OnEpoch | None = None
    ) -> Self:
        """Go on learning from new rows: the model is of Monday, and on Tuesday there is a new shop.

        Categories that are new get vectors of their own, which start at *unseen* and are learned
        first. Whatever rests on rows of before moves by the share of its rows that are new, so that
        it is not forgotten. Scales, bins and the classes of the target stay what they were in fit.
        Only the new rows are read, in about 200 steps; many rows take as many epochs as in a fit.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Or files, as in `fit`; with the columns of fit, which hold what they held there.
        y : array-like of shape (n_samples,), or str
            The target, or the name of the column of ``X`` that holds it. Of classes, those of fit.
        sample_weight : array-like of shape (n_samples,), or str, optional
            As in `fit`; weights are compared with each other, not with those of earlier rows.
        on_epoch : callable, optional
            As in `fit`. Epochs are counted on from those of fit, in ``history_`` too.

        Returns
        -------
        self

        Notes
        -----
        It can be called as often as there are new rows, after `fit` and after `catspace.load`.
        Where it fails, and after Ctrl-C, the model is as it was before.

        Parameters stay as they are. Those that shape the networks, and ``smooth``, count in fit
        alone; vectors of ``frozen_columns`` stay as they are. ``early_stopping`` holds back no rows
        of an update, since new rows are few. A value with fewer new rows than ``min_frequency`` (a
        share: of all rows until now) is rare, also one that was rare before, since rows of rare
        values are counted together. Categories that have a vector keep it; where they are as many
        as ``max_categories``, new ones are rare. With ``hash_buckets`` what is new are buckets, and
        with ``discretize`` and ``date_parts`` bins and parts that no row was in. "balanced" weighs
        the classes by the new rows.

        Rows are meant to be new. What networks are told of pairs that were met before (``pairs_``)
        is what rows until now have said, and rows that were among them are told of themselves.

        There is no ``warm_start``: a second call of `fit` is a model of its rows alone.

        Examples
        --------
        >>> from catspace import EmbeddingRegressor, make_sales
        >>> sales = make_sales(n_rows=2_000, n_stores=20, random_state=0, backend="pandas")
        >>> is_new = sales.X["store"] == 20
        >>> model = EmbeddingRegressor(target_transform="log", smooth=4, random_state=0)
        >>> model = model.fit(sales.X[~is_new], sales.y[~is_new])
        >>> model.embeddings_["store"]
        Embedding('store': 19 categories in 10 dimensions)
        >>> model.partial_fit(sales.X[is_new], sales.y[is_new]).embeddings_["store"]
        Embedding('store': 20 categories in 10 dimensions)
        """
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(
                f"partial_fit goes on from a model that is fitted, and this {type(self).__name__} "
                "is not.\nHint: call fit with the first rows, or load a model that was saved."
            )
        parameters = self.get_params(deep=False)
        # What vectors started from is in them by now, and is not known any more after `load`.
        started = {"initial_vectors": None, "frozen_columns": None}
        job = Fit(type(self).__name__, {**parameters, **started}, self._target_kind())
        with plain_torch():
            self.fitted_ = update(
                job,
                self.fitted_,
                Given(X, y, sample_weight),
                frozen=self.frozen_columns or (),
                n_jobs=effective_n_jobs(self.n_jobs),
                on_epoch=on_epoch,
            )
        return self

    def start_fit(self) -> Fit:
        """Return a fit with the parameters that the estimator has now, which are checked."""
        return Fit(type(self).__name__, self.get_params(deep=False), self._target_kind())

    def encode(self, X: Any) -> Encoded:
        """Return a table as the networks read it.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        Encoded
            ``codes``, int32 of shape (n_embedded, n_samples), the rows of ``embeddings_``' tables,
            and after them those of the further items of lists; and ``numbers``, float32 of shape
            (n_samples, n_numbers).
        """
        check_is_fitted(self)
        check_use(vars(self))
        return self.fitted_.encode(
            X, handle_unknown=self.handle_unknown, estimator=type(self).__name__
        )

    def predict_encoded(self, encoded: Encoded) -> np.ndarray:
        """Return predicted numbers, or the probability of each class, of an encoded table."""
        check_is_fitted(self)
        check_use(vars(self))
        return self.fitted_.answer(encoded, device=make_device(self.device), n_jobs=self.n_jobs)

    def predict_networks(self, encoded: Encoded) -> tuple[np.ndarray, list[np.ndarray]]:
        """Return what `predict_encoded` does, and beside it what each network says alone."""
        check_is_fitted(self)
        check_use(vars(self))
        return self.fitted_.answers(encoded, device=make_device(self.device), n_jobs=self.n_jobs)

    def transform(self, X: Any) -> np.ndarray:
        """Return the embedded features: the vectors of each row's categories, and its numbers.

        Numbers come as the network sees them, scaled robustly, with an indicator beside those
        that were missing in fit.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        float32 array of shape (n_samples, sum of dimensions + numbers)
        """
        encoded = self.encode(X)
        return self.fitted_.features(encoded, self.feature_networks)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of what `transform` gives: ``store_0``, ``store_1``, ….

        Parameters
        ----------
        input_features : array-like of str, optional
            Only for compatibility: must be the names of the columns of fit.
        """
        check_is_fitted(self)
        schema = self.fitted_.learned.schema
        given = list(schema.names if input_features is None else input_features)
        if len(given) != len(schema.names):
            raise InputError(
                f"input_features should have length equal to number of features "
                f"({len(schema.names)}), got {len(given)}."
            )
        if schema.named and given != list(schema.names):
            raise InputError(
                f"input_features is not equal to feature_names_in_ ({shorten(schema.names)})."
            )
        called = dict(zip(schema.names, given, strict=True))
        names = self.fitted_.feature_names(called, self.feature_networks)
        return np.array(names, dtype=object)

    @property
    def feature_networks(self) -> str:
        """The networks whose vectors `transform` gives: "first" or "all"."""
        return "first"

    def network_embeddings(self) -> list[Embeddings]:
        """Return the embeddings of each network; the first are ``embeddings_``.

        Networks that differ only in their seed find different spaces: what they agree on is what
        the data says (`catspace.analysis.stability`).
        """
        check_is_fitted(self)
        return self.fitted_.network_embeddings()

    def save(self, path: str | Path) -> None:
        """Write the fitted model to a file that `catspace.load` reads.

        The file holds arrays and JSON and no code. It appears under its name only when it is
        complete.

        Parameters
        ----------
        path : str or Path
            By convention with the ending ``.catspace``.
        """
        check_is_fitted(self)
        left_out = {one.name for one in fields(self) if not one.metadata["is_kept"]}
        named = {one.name for one in fields(self) if one.metadata["is_named"]}
        parameters = {
            name: None if name in left_out else pack_parameter(name, value)
            for name, value in self.get_params(deep=False).items()
            if value is not None or name in named
        }
        self.fitted_.save(path, estimator=type(self).__name__, parameters=parameters)

    def report(
        self,
        X: Any = None,
        y: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        path: str | Path | None = None,
        title: str | None = None,
        target_name: str | None = None,
        scores: Mapping[str, Mapping[str, float]] | None = None,
    ) -> Any:
        """Return what the model learned as a page, which notebooks show under the cell.

        Parameters
        ----------
        X : table or path, optional
            The training table: for colours by the target, and distances.
        y : array-like of shape (n_rows,) or str, optional
            Its target, or the name of its column.
        X_val, y_val : table or path, and array-like or str, optional
            Rows that the model was not trained on: how good it is, which columns matter and where
            it fails is shown on these, or on ``X`` where there are none.
        path : str or Path, optional
            Where to write the page as well: one HTML file that opens offline in any browser.
        title, target_name, scores
            As in `catspace.write_report`.

        Returns
        -------
        Report
            ``save(path)`` writes it later. A notebook that shows it keeps all of it: about 5 MB.

        Examples
        --------
        >>> from catspace import EmbeddingRegressor, make_sales
        >>> sales = make_sales(n_rows=500, n_stores=5, random_state=0)
        >>> model = EmbeddingRegressor(max_epochs=1, random_state=0).fit(sales.X, sales.y)
        >>> model.report().title
        'What the model learned about the target'
        """
        from catspace.export.report import make_report  # the one call into a room above

        check_is_fitted(self)
        page = make_report(
            self,
            X,
            y,
            X_val=X_val,
            y_val=y_val,
            title=title,
            target_name=target_name,
            scores=scores,
        )
        if path is not None:
            page.save(path)
        return page

    def _html_repr(self) -> str:
        """Return what notebooks show: scikit-learn's diagram and, once fitted, the columns."""
        diagram = str(super()._html_repr())
        if not self.__sklearn_is_fitted__():
            return diagram
        numbers = len(self.fitted_.learned.encoder.scalings)
        n_networks = len(self.fitted_.networks)
        beside = f", {numbers} columns of numbers" if numbers else ""
        networks = f"{n_networks} network{'s' if n_networks > 1 else ''}"
        return diagram + self.embeddings_.describe(
            f"{networks} after {self.n_iter_} epochs{beside}"
        )

    @classmethod
    def restore(cls, document: Mapping[str, Any], arrays: Mapping[str, Any]) -> Self:
        """Return the fitted estimator that `save` took apart."""
        parameters = {name: unpack_parameter(v) for name, v in document["parameters"].items()}
        check_column_names("parameters", parameters, cls().get_params(), "one of the estimator")
        model = cls(**parameters)
        check_use(model.get_params(deep=False))
        model.fitted_ = Fitted.restore(document, arrays)
        return model

    def __sklearn_clone__(self) -> Self:
        """Return an unfitted copy; a model that gives vectors stays fitted, and is shared."""
        copy: Self = super().__sklearn_clone__()
        copy.initial_vectors = self.initial_vectors
        return copy

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "fitted_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = []  # vectors are float32, whatever comes in
        return tags

    def _target_kind(self) -> str:
        """Return "continuous", "class", or "auto" where the target itself is to say."""
        raise NotImplementedError
