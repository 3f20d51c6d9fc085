"""What deep-learning users take over: when to stop, networks and vectors as torch's modules."""

import numpy as np
import pandas as pd
import pytest
import torch

import catspace
from catspace import EmbeddingClassifier, EmbeddingRegressor, Embeddings, make_report, to_onnx
from catspace.exceptions import NothingLearnedWarning

SMALL = {"hidden_layer_sizes": (32, 16), "smooth": 4.0, "random_state": 0}


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "town": random.choice(["Aachen", "Bonn", None], size=640),
            "shop": random.choice([f"S{i}" for i in range(9)], size=640),
            "size": random.normal(size=640),
        }
    )
    y = np.where(X["town"] == "Bonn", 2.0, 0.0) + X["size"] + random.normal(size=640)
    return X, y.to_numpy()


def test_a_callback_that_returns_true_ends_its_network_and_keeps_what_it_learned(rows, tmp_path):
    X, y = rows
    model = EmbeddingRegressor(max_epochs=6, schedule="constant", **SMALL)
    model.fit(X, y, on_epoch=lambda epoch: epoch["epoch"] == 3)
    assert [epoch["stopped"] for epoch in model.history_] == [False, False, True]
    assert (model.n_iter_, model.best_epoch_) == (3, [3])
    # With a constant rate, and decay stated as such, it is the network of three epochs.
    shorter = EmbeddingRegressor(
        max_epochs=3, schedule="constant", weight_decay=model.fitted_.recipe.weight_decay, **SMALL
    ).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), shorter.predict(X))
    model.save(tmp_path / "stopped.catspace")
    assert catspace.load(tmp_path / "stopped.catspace").history_ == model.history_


def test_after_a_stop_the_best_judged_epoch_is_kept_as_after_early_stopping(rows):
    X, y = rows
    settings = {"max_epochs": 12, "learning_rate": 0.05, **SMALL}
    model = EmbeddingRegressor(**settings)
    judges = {"X_val": X[:100], "y_val": -y[:100]}
    with pytest.warns(NothingLearnedWarning):  # about the opposite of what judges it
        model.fit(X, y, **judges, on_epoch=lambda epoch: epoch["epoch"] == 5)
    losses = [epoch["validation_loss"] for epoch in model.history_]
    assert len(losses) == 5
    assert model.best_epoch_ == [1 + int(np.argmin(losses))]
    assert model.best_epoch_[0] < 5


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_each_network_stops_by_itself_whatever_the_number_of_threads(rows, n_jobs):
    X, y = rows
    model = EmbeddingRegressor(n_networks=3, max_epochs=5, n_jobs=n_jobs, **SMALL)
    model.fit(X, y, on_epoch=lambda epoch: np.bool_(epoch["epoch"] == 2 + epoch["network"]))
    last = {epoch["network"]: epoch["epoch"] for epoch in model.history_ if epoch["stopped"]}
    assert last == {0: 2, 1: 3, 2: 4}
    assert len(model.history_) == 2 + 3 + 4
    alone = EmbeddingRegressor(n_networks=3, max_epochs=5, n_jobs=1, **SMALL)
    alone.fit(X, y, on_epoch=lambda epoch: epoch["epoch"] == 2 + epoch["network"])
    np.testing.assert_array_equal(model.predict(X), alone.predict(X))


@pytest.mark.parametrize("answer", [None, 1, "stop", [True], False])
def test_only_true_ends_a_training(rows, answer):
    X, y = rows
    model = EmbeddingRegressor(max_epochs=2, **SMALL).fit(X, y, on_epoch=lambda epoch: answer)
    assert [epoch["stopped"] for epoch in model.history_] == [False, False]


@pytest.mark.parametrize("transform", [None, "log"])
def test_a_network_takes_what_encode_gives(rows, transform, tmp_path):
    X, y = rows
    model = EmbeddingRegressor(target_transform=transform, max_epochs=2, **SMALL)
    model.fit(X, np.exp(y))
    model.save(tmp_path / "model.catspace")
    for one in (model, catspace.load(tmp_path / "model.catspace")):
        encoded = one.encode(X)
        network = one.networks_[0]
        assert isinstance(network, torch.nn.Module)
        assert not network.training
        with torch.no_grad():
            outputs = network(torch.from_numpy(encoded.codes), torch.from_numpy(encoded.numbers))
        assert outputs.shape == (len(X), 1)
        predicted = one.fitted_.learned.target.decode(outputs.numpy())
        np.testing.assert_allclose(predicted, one.predict_encoded(encoded), rtol=1e-5)


def test_a_network_of_classes_gives_logits(rows):
    X, y = rows
    model = EmbeddingClassifier(max_epochs=2, **SMALL).fit(X, y > 1)
    encoded = model.encode(X)
    outputs = model.networks_[0](torch.from_numpy(encoded.codes), torch.from_numpy(encoded.numbers))
    shares = torch.softmax(outputs, dim=1).detach().numpy()
    np.testing.assert_allclose(shares, model.predict_encoded(encoded), rtol=1e-4, atol=1e-6)


def test_vectors_are_a_layer_of_torch_with_its_vocabulary_beside_it(rows):
    X, y = rows
    model = EmbeddingRegressor(max_epochs=2, **SMALL).fit(X, y)
    town, values = model.embeddings_["town"], ["Bonn", None, "Jena", "Aachen"]
    codes = town.codes(values)
    missing, unseen = 0, 2
    positions = [3 + town.categories.index("Bonn"), 3 + town.categories.index("Aachen")]
    assert codes.tolist() == [positions[0], missing, unseen, positions[1]]
    layer = town.to_torch()
    assert isinstance(layer, torch.nn.Embedding)
    assert not layer.weight.requires_grad
    vectors = layer(torch.from_numpy(codes)).numpy()
    np.testing.assert_array_equal(vectors, town.table[codes])
    np.testing.assert_array_equal(vectors[0], town.vector("Bonn"))
    np.testing.assert_array_equal(model.encode(X).codes[0], town.codes(X["town"]))


def test_a_layer_that_is_not_frozen_learns_and_leaves_the_model_alone(rows):
    X, y = rows
    model = EmbeddingRegressor(max_epochs=2, **SMALL).fit(X, y)
    before, town = model.predict(X), model.embeddings_["town"]
    layer = town.to_torch(frozen=False)
    layer(torch.from_numpy(town.codes(X["town"]))).sum().backward()
    with torch.no_grad():
        layer.weight -= layer.weight.grad
    assert not np.array_equal(layer.weight.detach().numpy(), town.table)
    np.testing.assert_array_equal(model.predict(X), before)


def test_vectors_of_a_file_are_a_layer_too(rows, tmp_path):
    X, y = rows
    model = EmbeddingRegressor(max_epochs=1, **SMALL).fit(X, y)
    model.save(tmp_path / "model.catspace")
    found = Embeddings.load(tmp_path / "model.catspace")["shop"].to_torch()
    assert torch.equal(found.weight, model.embeddings_["shop"].to_torch().weight)


def test_graph_and_page_of_a_model_with_a_loss_of_its_own_that_was_stopped(rows):
    X, y = rows
    X = X.drop(columns="town")
    model = EmbeddingRegressor(
        loss=lambda outputs, target: (outputs - target).abs().mean(dim=1), max_epochs=4, **SMALL
    ).fit(X, y, on_epoch=lambda epoch: epoch["epoch"] == 2)
    assert [output.name for output in to_onnx(model).graph.output] == ["prediction"]
    assert "<!doctype html>" in make_report(model, X, y).html[:100]
