"""What the three estimators share: fitting, transforming, saving and loading."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from catspace.data.encoding import Encoded, TableEncoder
from catspace.data.schema import Schema
from catspace.data.target import (
    ClassTarget,
    RegressionTarget,
    target_from_state,
)
from catspace.embeddings import Embeddings
from catspace.exceptions import InputError, InterruptedWarning, ParameterError, shorten, warn
from catspace.model.memory import available_memory, show_bytes
from catspace.model.network import Architecture, EntityNetwork
from catspace.model.plan import Job
from catspace.model.progress import TrainingProgress
from catspace.model.recipe import defaults_for
from catspace.model.settings import make_architecture, make_device, make_recipe
from catspace.model.training import Epoch, Trained, predict, train_networks
from catspace.preparation.material import Material, Reader, read_features
from catspace.storage import model_file
from catspace.validation import check_int, check_option


class EmbeddingEstimator(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """The common base; a subclass adds its parameters, what its target is, and how it predicts."""

    # Set by the __init__ of each estimator.
    embedding_dim: Any
    categorical_features: Any
    date_parts: Any
    discretize: Any
    min_frequency: Any
    max_categories: Any
    hash_buckets: Any
    handle_unknown: Any
    n_networks: Any
    early_stopping: Any
    validation_fraction: Any
    random_state: Any
    n_jobs: Any
    device: Any
    verbose: Any

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        on_epoch: Callable[[Mapping[str, Any]], None] | None = None,
    ) -> Self:
        """Learn vectors and network from a table and a target.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            pandas, polars, Arrow, or a 2-d array; or CSV or Parquet files, which need not fit in
            memory: a path, a pattern (``"sales/*.parquet"``), a folder, or a
            `pyarrow.dataset.Dataset`. See Notes.
        y : array-like of shape (n_rows,), or str
            The target, or the name of the column of ``X`` that holds it.
        sample_weight : array-like of shape (n_rows,), or str, optional
            Or the name of the column of ``X``. A row of weight zero counts as absent.
        X_val, y_val : table and array-like, or files and str, optional
            Rows to judge each epoch by: the best one is kept. With ``early_stopping=True`` they
            take the place of rows held back from ``X``; give rows of the future for a forecast.
        on_epoch : callable, optional
            Called after each epoch of each network with what ``history_`` keeps of it, and with
            ``max_epochs``: for a progress display or a log of your own. The call comes from the
            thread that trained the epoch.

        Returns
        -------
        self

        Notes
        -----
        Files whose target is given by name are read twice, block by block. The first time
        vocabularies and scales are learned: exactly, but for quantiles of columns of numbers,
        which come from 200,000 rows drawn at random where there are more. The second time the
        rows are encoded and written to a temporary file (in ``TMPDIR``; some bytes for each
        value), which each epoch reads in an order of its own, and which is gone afterwards. A
        table of up to 200,000 rows gives the same model as in memory, bit for bit, unless rows
        are held back for ``early_stopping``.
        """
        self._check_parameters()
        random = check_random_state(self.random_state)
        with ExitStack() as stack:  # closes what was cached on disk
            reader = Reader(
                type(self).__name__,
                self._target_kind(),
                self.get_params(deep=False),
                random,
                stack,
            )
            material = reader.read(X, y, sample_weight, X_val, y_val)
            return self._learn(material, random, on_epoch)

    def _check_parameters(self) -> None:
        """Raise what would be raised after the table has been read, which may take hours."""
        parameters = self.get_params(deep=False)
        if isinstance(self.embedding_dim, Mapping):  # names columns, which are not known yet
            parameters["embedding_dim"] = "auto"
        is_classification = self._target_kind() == "class"
        make_recipe(parameters, defaults_for(1), n_rows=1, is_classification=is_classification)
        make_architecture(
            parameters,
            defaults_for(1),
            n_rows={},
            n_categories={},
            n_numbers=1,
            n_outputs=1,
            output_activation="identity",
        )
        check_option("handle_unknown", self.handle_unknown, ("mean", "error"))
        check_int("n_networks", self.n_networks)
        make_device(self.device)
        if not isinstance(self.early_stopping, (bool, np.bool_)):
            raise ParameterError(
                f"early_stopping must be True or False; got {self.early_stopping!r}."
            )

    def _learn(
        self,
        material: Material,
        random: np.random.RandomState,
        on_epoch: Callable[[Mapping[str, Any]], None] | None,
    ) -> Self:
        """Train the networks, and keep what came out."""
        job = self._plan(material.encoder, material.target, len(material.rows), random)
        need = job.memory(material.rows.n_bytes, has_validation=material.validation is not None)
        need.check(available_memory(job.device), job.columns)
        with TrainingProgress(len(job.seeds), job.recipe.epochs, int(self.verbose)) as progress:
            progress.tell(f"Training needs about {show_bytes(need.total)} of memory.")
            progress.tell(job.describe_updates())

            def listener(epoch: Epoch) -> None:
                progress(epoch)
                if on_epoch is not None:
                    on_epoch({**asdict(epoch), "max_epochs": job.recipe.epochs})

            trained = train_networks(
                job.architecture,
                material.rows,
                job.recipe,
                job.seeds,
                validation=material.validation,
                device=job.device,
                n_jobs=effective_n_jobs(self.n_jobs),
                listener=listener,
            )
        counts = material.rows.count_codes(job.architecture.n_rows)
        return self._keep(
            trained, counts, material.schema, material.encoder, material.target, material.backend
        )

    def _plan(
        self,
        encoder: TableEncoder,
        target: RegressionTarget | ClassTarget,
        n_rows: int,
        random: np.random.RandomState,
    ) -> Job:
        """Return what there is to train, for a table with so many rows."""
        parameters, defaults = self.get_params(deep=False), defaults_for(n_rows)
        vocabularies = encoder.vocabularies
        architecture = make_architecture(
            parameters,
            defaults,
            n_rows={name: vocabulary.n_rows for name, vocabulary in vocabularies.items()},
            n_categories={name: vocabulary.n_values for name, vocabulary in vocabularies.items()},
            n_numbers=len(encoder.number_names),
            n_outputs=target.n_outputs,
            output_activation=target.output_activation,
        )
        _refuse_equal_names(vocabularies, architecture.dims, encoder.number_names)
        recipe = make_recipe(
            parameters,
            defaults,
            n_rows=n_rows,
            is_classification=isinstance(target, ClassTarget),
        )
        n_networks = check_int("n_networks", self.n_networks)
        seeds = random.randint(np.iinfo(np.int32).max, size=n_networks).tolist()
        return Job(architecture, recipe, seeds, list(vocabularies), make_device(self.device))

    def _keep(
        self,
        trained: list[Trained],
        counts: Sequence[torch.Tensor],
        schema: Schema,
        encoder: TableEncoder,
        target: RegressionTarget | ClassTarget,
        backend: str,
    ) -> Self:
        """Become the estimator that was trained, from rows with so many of each code."""
        for result in trained:
            result.network.fill_untrained_rows(counts)
        self._set_fitted(schema, encoder, target, [result.network for result in trained], backend)
        self.history_ = [asdict(epoch) for result in trained for epoch in result.history]
        self.best_epoch_ = trained[0].best_epoch
        _warn_if_interrupted(trained)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the embedded features: the vectors of each row's categories, and its numbers.

        Numbers come as the network sees them, scaled robustly, with an indicator beside those
        that were missing in fit.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)

        Returns
        -------
        float32 array of shape (n_rows, sum of dimensions + numbers)
        """
        encoded = self._encode(X)
        tables = [embedding.table for embedding in self.embeddings_.values()]
        width = sum(table.shape[1] for table in tables) + encoded.numbers.shape[1]
        features = np.empty((len(encoded.numbers), width), dtype=np.float32)
        start = 0
        for codes, table in zip(encoded.codes, tables, strict=True):
            features[:, start : start + table.shape[1]] = table[codes]
            start += table.shape[1]
        features[:, start:] = encoded.numbers
        return features

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of what `transform` gives: ``store_0``, ``store_1``, ….

        Parameters
        ----------
        input_features : array-like of str, optional
            Only for compatibility: must be the names of the columns of fit.
        """
        check_is_fitted(self)
        given = list(self._schema.names if input_features is None else input_features)
        if len(given) != len(self._schema.names):
            raise InputError(
                f"input_features should have length equal to number of features "
                f"({len(self._schema.names)}), got {len(given)}."
            )
        if self._schema.named and given != list(self._schema.names):
            raise InputError(
                f"input_features is not equal to feature_names_in_ ({shorten(self._schema.names)})."
            )
        called = dict(zip(self._schema.names, given, strict=True))
        names = [
            f"{called.get(column, column)}_{i}"
            for column, embedding in self.embeddings_.items()
            for i in range(embedding.dim)
        ]
        for column, scaling in self._encoder.scalings.items():
            name = called.get(column, column)
            names += [name, f"{name}_missing"] if scaling.has_missing else [name]
        return np.array(names, dtype=object)

    def column_kinds(self) -> dict[str, set[str]]:
        """Return what each column held in fit: "number", "text", "time" and so on.

        A column of several kinds of Python objects has several.
        """
        check_is_fitted(self)
        encoder = self._encoder
        kinds: dict[str, set[str]] = {name: {"number"} for name in self._schema.names}
        for name, vocabulary in encoder.vocabularies.items():
            if name in kinds and name not in encoder.bins:
                kinds[name] = set(vocabulary.kinds)
        return kinds | {name: {"time"} for name in encoder.dates}

    def network_embeddings(self) -> list[Embeddings]:
        """Return the embeddings of each network; the first are ``embeddings_``.

        Networks that differ only in their seed find different spaces: what they agree on is what
        the data says (`catspace.analysis.stability`).
        """
        check_is_fitted(self)
        return [
            Embeddings.of(self._encoder.vocabularies, network.input.vectors(), self._backend)
            for network in self.networks_
        ]

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
        encoder, arrays = self._encoder.to_state()
        target, target_arrays = self._target.to_state()
        for i, embedding in enumerate(self.embeddings_.values()):
            arrays[f"embedding.{i}"] = embedding.table
        for i, network in enumerate(self.networks_):
            for name, weight in network.state_dict().items():
                arrays[f"network.{i}.{name}"] = weight.cpu().numpy()
        document = {
            "estimator": type(self).__name__,
            "parameters": {k: _pack(k, v) for k, v in self.get_params(deep=False).items()},
            "schema": asdict(self._schema),
            "encoder": encoder,
            "target": target,
            "architecture": asdict(self.networks_[0].architecture),
            "n_networks": len(self.networks_),
            "history": self.history_,
            "best_epoch": self.best_epoch_,
            "backend": self._backend,
        }
        model_file.write(path, document, {**arrays, **target_arrays})

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "networks_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = []  # vectors are float32, whatever comes in
        return tags

    def _set_fitted(
        self,
        schema: Schema,
        encoder: TableEncoder,
        target: RegressionTarget | ClassTarget,
        networks: list[EntityNetwork],
        backend: str,
    ) -> None:
        self._schema, self._encoder, self._target = schema, encoder, target
        self._backend = backend
        self.networks_ = networks
        tables = networks[0].input.vectors()
        self.embeddings_ = Embeddings.of(encoder.vocabularies, tables, backend)
        self.n_features_in_ = len(schema.names)
        if schema.named:
            self.feature_names_in_ = np.array(schema.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        if isinstance(target, ClassTarget):
            self.classes_ = target.classes
        elif hasattr(self, "classes_"):
            del self.classes_

    def _target_kind(self) -> str:
        """Return "continuous", "class", or "auto" where the target itself is to say."""
        raise NotImplementedError

    def _encode(self, X: Any) -> Encoded:
        check_is_fitted(self)
        check_option("handle_unknown", self.handle_unknown, ("mean", "error"))
        table = read_features(self._schema, X, type(self).__name__)
        return self._encoder.encode(table, handle_unknown=self.handle_unknown)

    def _outputs(self, X: Any) -> list[np.ndarray]:
        """Return the outputs of each network; arrays of shape (n_rows, n_outputs)."""
        encoded, device = self._encode(X), make_device(self.device)
        codes, numbers = torch.from_numpy(encoded.codes), torch.from_numpy(encoded.numbers)
        n_jobs = effective_n_jobs(self.n_jobs)
        return [
            predict(network, codes, numbers, device, n_jobs=n_jobs) for network in self.networks_
        ]

    @classmethod
    def _restore(cls, document: Mapping[str, Any], arrays: Mapping[str, Any]) -> Self:
        """Return the fitted estimator that `save` took apart."""
        model = cls(**{name: _unpack(v) for name, v in document["parameters"].items()})
        shape: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in document["architecture"].items()
        }
        networks = []
        for i in range(document["n_networks"]):
            network = EntityNetwork(Architecture(**shape))
            prefix = f"network.{i}."
            network.load_state_dict(
                {
                    name.removeprefix(prefix): torch.from_numpy(np.array(array))
                    for name, array in arrays.items()
                    if name.startswith(prefix)
                }
            )
            networks.append(network)
        model._set_fitted(
            Schema(**{**document["schema"], "names": tuple(document["schema"]["names"])}),
            TableEncoder.from_state(document["encoder"], arrays),
            target_from_state(document["target"], arrays),
            networks,
            document["backend"],
        )
        model.history_ = document["history"]
        model.best_epoch_ = document["best_epoch"]
        return model


def store_parameters(estimator: BaseEstimator, arguments: Mapping[str, Any]) -> None:
    """Set each constructor argument as an attribute of the same name, and nothing else."""
    for name, value in arguments.items():
        if name not in ("self", "__class__"):
            setattr(estimator, name, value)


def _refuse_equal_names(
    columns: Iterable[str], dims: Iterable[int], number_names: Iterable[str]
) -> None:
    """Raise where a component of one column would have the name of another column."""
    names = set(number_names)
    for column, dim in zip(columns, dims, strict=True):
        for name in (f"{column}_{i}" for i in range(dim)):
            if name in names:
                raise InputError(
                    f"The vectors of {column!r} have a component {name!r}, and so is another "
                    "feature called.",
                    hint="rename one of the two columns.",
                )
            names.add(name)


def _warn_if_interrupted(trained: list[Trained]) -> None:
    if any(result.interrupted for result in trained):
        epochs = ", ".join(str(result.best_epoch) for result in trained)
        warn(
            f"Training was interrupted. The model keeps {len(trained)} "
            f"{'network' if len(trained) == 1 else 'networks'} with the best weights so far, "
            f"after epoch {epochs}.",
            InterruptedWarning,
        )


def _pack(name: str, value: Any) -> Any:
    """Return a parameter as JSON can hold it, so that `_unpack` gives the same again."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, torch.device):
        return str(value)
    if isinstance(value, np.random.RandomState):
        return None  # its state has moved on; a loaded model draws anew
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Mapping):
        pairs = [[_pack(name, key), _pack(name, item)] for key, item in value.items()]
        return {"dict": pairs}
    if isinstance(value, tuple):
        return {"tuple": [_pack(name, item) for item in value]}
    if isinstance(value, Iterable):
        return [_pack(name, item) for item in value]
    raise InputError(f"The parameter {name}={value!r} cannot be kept in a model file.")


def _unpack(value: Any) -> Any:
    if isinstance(value, dict):
        ((kind, items),) = value.items()
        if kind == "tuple":
            return tuple(_unpack(item) for item in items)
        return {_unpack(key): _unpack(item) for key, item in items}
    return [_unpack(item) for item in value] if isinstance(value, list) else value
