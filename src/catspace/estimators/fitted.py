"""What is fitted: all that an estimator knows when fit has ended."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.special import softmax

from catspace.data.encoding import Encoded
from catspace.data.groups import first_of
from catspace.data.lists import columns_of
from catspace.data.target import ClassTarget
from catspace.embeddings import Embeddings
from catspace.model.architecture import Architecture
from catspace.model.network import EntityNetwork
from catspace.model.pairs import PairMeans
from catspace.model.plan import network_prefixes
from catspace.model.prediction import predict
from catspace.model.recipe import Recipe
from catspace.model.settings import plain_torch
from catspace.model.turns import Epoch
from catspace.preparation.learning import Learned
from catspace.storage import model_file
from catspace.storage.document import check_array


@dataclass(frozen=True, eq=False)
class Fitted:
    """A table that was learned, and the networks that were trained on it.

    It encodes a table, gives the outputs of its networks, and is saved and restored. Estimators
    hold it and add scikit-learn's manners; ONNX, the report, the cluster and the commands use it.

    Attributes
    ----------
    learned : Learned
        Schema, encoder, target, and the kind of frame to hand out.
    networks : tuple of EntityNetwork
        Modules of torch, in the mode for prediction.
    history : tuple of Epoch
        Of all networks.
    recipe : Recipe or None
        How they were trained; None in files of catspace 0.1.
    """

    learned: Learned
    networks: tuple[EntityNetwork, ...]
    history: tuple[Epoch, ...]
    recipe: Recipe | None = None

    @cached_property
    def embeddings(self) -> Embeddings:
        """The vectors of the first network."""
        return self._embeddings_of(self.networks[0])

    def network_embeddings(self) -> list[Embeddings]:
        """Return the vectors of each network."""
        return [self._embeddings_of(network) for network in self.networks]

    @property
    def n_epochs(self) -> int:
        """The epochs that the longest training took."""
        return max(epoch.epoch for epoch in self.history)

    @property
    def best_epochs(self) -> list[int]:
        """The epoch whose weights each network carries: the best judged one, or the last."""
        best: dict[int, Epoch] = {}
        for epoch in self.history:
            before = best.setdefault(epoch.network, epoch).validation_loss
            loss = epoch.validation_loss
            if loss is None or before is None or loss < before:
                best[epoch.network] = epoch
        return [epoch.epoch for _, epoch in sorted(best.items())]

    def encode(self, X: Any, **options: Any) -> Encoded:
        """Return a table as the networks read it; the options are those of `Learned.encode`."""
        return self.learned.encode(X, **options)

    def outputs(
        self, encoded: Encoded, *, device: torch.device | None = None, n_jobs: int | None = 1
    ) -> list[np.ndarray]:
        """Return the outputs of each network; float32 arrays of shape (n_samples, n_outputs)."""
        codes, numbers = torch.from_numpy(encoded.codes), torch.from_numpy(encoded.numbers)
        device = torch.device("cpu") if device is None else device
        return [
            predict(network, codes, numbers, device, n_jobs=n_jobs) for network in self.networks
        ]

    def answer(self, encoded: Encoded, **options: Any) -> np.ndarray:
        """Return predicted numbers, or the probability of each class; the networks' average.

        The options are those of `outputs`.

        Returns
        -------
        float64 array of shape (n_samples,), (n_samples, n_outputs) or (n_samples, n_classes)
        """
        return self._average(self.outputs(encoded, **options))

    def answers(self, encoded: Encoded, **options: Any) -> tuple[np.ndarray, list[np.ndarray]]:
        """Return what `answer` does, and beside it what each network says alone."""
        outputs = self.outputs(encoded, **options)
        return self._average(outputs), [self._average([output]) for output in outputs]

    def points(self, answers: np.ndarray) -> np.ndarray:
        """Return of answers to score: the middle one where several quantiles are predicted."""
        target = self.learned.target
        return answers if isinstance(target, ClassTarget) else target.points(answers)

    def _average(self, outputs: Sequence[np.ndarray]) -> np.ndarray:
        # Numbers are averaged on the scale that the networks learned on.
        target = self.learned.target
        if isinstance(target, ClassTarget):
            shares = [softmax(output.astype(np.float64), axis=1) for output in outputs]
            return np.asarray(np.mean(shares, axis=0))
        return target.decode(np.asarray(np.mean(outputs, axis=0, dtype=np.float64)))

    def feature_tables(self, networks: str = "first") -> list[list[np.ndarray]]:
        """Return the vectors that are features: for each network a table for each column.

        Parameters
        ----------
        networks : {"first", "all"}
        """
        used = [self.embeddings] if networks == "first" else self.network_embeddings()
        return [[embedding.table for embedding in one.values()] for one in used]

    def features(self, encoded: Encoded, networks: str = "first") -> np.ndarray:
        """Return the vectors of the categories, and the numbers beside them.

        Parameters
        ----------
        encoded : Encoded
        networks : {"first", "all"}
            Whose vectors.

        Returns
        -------
        float32 array of shape (n_samples, sum of dimensions + numbers)
        """
        slots = self.learned.encoder.slots
        return join_features(encoded, self.feature_tables(networks), slots)

    def feature_names(
        self, called: Mapping[str, str] | None = None, networks: str = "first"
    ) -> list[str]:
        """Return the names of the features, of columns that may be called otherwise by now."""
        called = called or {}
        n_networks = None if networks == "first" else len(self.networks)
        names = [
            f"{prefix}{called.get(column, column)}_{i}"
            for prefix in network_prefixes(n_networks)
            for column, embedding in self.embeddings.items()
            for i in range(embedding.dim)
        ]
        for column, scaling in self.learned.encoder.scalings.items():
            name = called.get(column, column)
            names += [name, f"{name}_missing"][: scaling.width]
        return names

    def save(self, path: str | Path, **document: Any) -> None:
        """Write a model file: what is fitted, and what else belongs into its document."""
        learned, arrays = self.learned.to_state()
        encoder = self.learned.encoder
        first = first_of([*encoder.vocabularies], encoder.groups)
        for i, (column, embedding) in enumerate(self.embeddings.items()):
            if first[column] == column:
                arrays[f"embedding.{i}"] = embedding.table
        for i, network in enumerate(self.networks):
            for name, weight in network.state_dict().items():
                arrays[f"network.{i}.{name}"] = weight.cpu().numpy()
        pairs = self.networks[0].pairs  # all networks are told the same
        if pairs is not None:
            arrays["pairs.keys"] = pairs.keys.cpu().numpy()
            arrays["pairs.values"] = pairs.values[:-1].cpu().numpy()
            if pairs.prior is not None:
                arrays["pairs.prior"] = pairs.prior
        shape = asdict(self.networks[0].architecture)
        for name in ("table_of", "lists"):
            if not shape[name]:  # as in files that know nothing of it
                del shape[name]
        fitted = {
            **learned,
            "architecture": {"n_rows": shape.pop("n_codes"), **shape},
            "pairs": [] if pairs is None else [list(pair) for pair in pairs.pairs],
            "n_networks": len(self.networks),
            "history": [asdict(epoch) for epoch in self.history],
            "best_epoch": self.best_epochs[0],
            "recipe": None if self.recipe is None else self.recipe.to_state(),
        }
        model_file.write(path, {**document, **fitted}, arrays)

    @classmethod
    def restore(cls, document: Mapping[str, Any], arrays: Mapping[str, Any]) -> "Fitted":
        """Return what `save` took apart."""
        shape: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in document["architecture"].items()
        }
        architecture = Architecture(n_codes=shape.pop("n_rows"), **shape)
        networks = _restore_networks(
            architecture,
            document["n_networks"],
            arrays,
            _restore_pairs(document.get("pairs", []), architecture, arrays),
        )
        return cls(
            Learned.from_state(document, arrays),
            networks,
            tuple(Epoch(**epoch) for epoch in document["history"]),
            Recipe.from_state(document["recipe"]) if document.get("recipe") else None,
        )

    def _embeddings_of(self, network: EntityNetwork) -> Embeddings:
        smooth = () if self.recipe is None else self.recipe.smooth
        tables = network.input.vectors()
        return Embeddings.of(self.learned.encoder, tables, self.learned.backend, smooth)


def join_features(
    encoded: Encoded, tables: Sequence[Sequence[np.ndarray]], slots: Sequence[int]
) -> np.ndarray:
    """Return the vectors of a table's categories side by side, and its numbers beside them.

    Parameters
    ----------
    encoded : Encoded
    tables : sequence of sequences of arrays of shape (n_codes, dim)
        For each network those of each column.
    slots : sequence of int
        The items of the longest list of each column, 0 where it holds single values. Of lists the
        mean of the items' vectors is taken, which is zero where there are none.

    Returns
    -------
    float32 array of shape (n_samples, sum of dimensions + numbers)
    """
    n_dims = sum(table.shape[1] for of_network in tables for table in of_network)
    shape = len(encoded.numbers), n_dims + encoded.numbers.shape[1]
    features = np.empty(shape, dtype=np.float32)
    columns, start = np.array(columns_of(slots), dtype=int), 0
    for of_network in tables:
        for column, (table, longest) in enumerate(zip(of_network, slots, strict=True)):
            vectors = features[:, start : start + table.shape[1]]
            if longest:
                vectors[:] = _mean_of_items(encoded.codes[columns == column], table)
            else:
                vectors[:] = table[encoded.codes[column]]
            start += table.shape[1]
    features[:, start:] = encoded.numbers
    return features


def _mean_of_items(codes: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Return the mean vector of each row's items; codes of shape (slots, n_samples)."""
    with_absent = np.append(table, np.zeros_like(table[:1]), axis=0)
    total = np.zeros((codes.shape[1], table.shape[1]), dtype=np.float32)
    for slot in codes:
        total += with_absent[slot]
    n_items = (codes < len(table)).sum(axis=0)
    return np.asarray(total / np.maximum(n_items, 1).astype(np.float32)[:, None])


def _restore_pairs(
    pairs: Sequence[Sequence[int]], architecture: Architecture, arrays: Mapping[str, Any]
) -> PairMeans | None:
    if not pairs:
        return None
    found = [(first, second) for first, second in pairs]
    with plain_torch():
        return PairMeans(
            found,
            architecture.n_codes,
            np.array(arrays["pairs.keys"]),
            np.array(arrays["pairs.values"]),
            np.array(arrays["pairs.prior"]) if "pairs.prior" in arrays else None,
        )


def _restore_networks(
    architecture: Architecture,
    n_networks: int,
    arrays: Mapping[str, Any],
    pairs: PairMeans | None,
) -> tuple[EntityNetwork, ...]:
    # A sketch has the shapes of the weights, and takes no memory.
    sketch = EntityNetwork(architecture, device=torch.device("meta")).state_dict()
    networks = []
    for i in range(n_networks):
        weights = {
            name: check_array(arrays, f"network.{i}.{name}", np.float32, tuple(weight.shape))
            for name, weight in sketch.items()
        }
        with plain_torch():
            network = EntityNetwork(architecture, pairs=pairs)
            network.load_state_dict(
                {name: torch.from_numpy(np.array(weight)) for name, weight in weights.items()}
            )
        networks.append(network.eval())
    return tuple(networks)
