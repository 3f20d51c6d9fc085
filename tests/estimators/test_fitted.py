"""What is fitted: one object, and the attributes that are read out of it."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.exceptions import NotFittedError

import catspace
from catspace import EmbeddingClassifier, EmbeddingEncoder, EmbeddingRegressor, load
from catspace.data.encoding import Encoded
from catspace.estimators.fitted import Fitted
from catspace.exceptions import ModelFileError
from catspace.model.turns import Epoch
from catspace.storage import model_file

FAST = {"max_epochs": 3, "batch_size": 50, "random_state": 0}


@pytest.fixture(scope="module")
def regressor(shops):
    X, y = shops
    return EmbeddingRegressor(n_networks=2, learning_rate=0.003, **FAST).fit(X, y)


@pytest.fixture(scope="module")
def classifier(shops):
    X, y = shops
    labels = np.array(["low", "middle", "high"])[np.digitize(y, [1, 4])]
    return EmbeddingClassifier(n_networks=2, **FAST).fit(X, labels)


def test_attributes_say_what_auto_chose_and_what_happened(regressor, classifier, shops):
    assert regressor.n_iter_ == 3
    assert regressor.best_epoch_ == [3, 3]
    assert (regressor.batch_size_, regressor.learning_rate_) == (50, 0.003)
    assert regressor.embedding_dims_ == {"town": 2, "weekday": 4}
    assert (regressor.target_type_, regressor.n_outputs_) == ("continuous", 1)
    assert (classifier.target_type_, classifier.n_outputs_) == ("multiclass", 1)
    X, y = shops
    encoder = EmbeddingEncoder(**FAST)
    assert encoder.fit(X, y > 2).target_type_ == "binary"
    assert encoder.classes_.tolist() == [False, True]
    assert encoder.fit(X, np.column_stack([y, y])).n_outputs_ == 2
    assert not hasattr(encoder, "classes_")


def test_before_fit_there_is_no_attribute():
    model = EmbeddingRegressor()
    for name in ("embeddings_", "history_", "n_features_in_", "classes_", "batch_size_"):
        assert not hasattr(model, name)
    with pytest.raises(NotFittedError, match=r"^This EmbeddingRegressor is not fitted yet"):
        model.embeddings_  # noqa: B018


def test_a_table_without_names_has_no_names_of_features(shops):
    X, y = shops
    model = EmbeddingRegressor(**FAST).fit(X[["price"]].to_numpy(), y)
    assert not hasattr(model, "feature_names_in_")
    assert model.n_features_in_ == 1


@pytest.mark.parametrize(
    ("losses", "best"), [([None, None], 2), ([3.0, 1.0, 2.0], 2), ([1.0, 1.0], 1), ([2.0], 1)]
)
def test_the_best_epoch_is_the_first_with_the_lowest_loss_or_the_last(regressor, losses, best):
    history = [Epoch(0, i + 1, 0.0, loss, 0.1, 1.0) for i, loss in enumerate(losses)]
    learned, networks = regressor.fitted_.learned, regressor.fitted_.networks
    assert Fitted(learned, networks, tuple(history)).best_epochs == [best]


def test_what_is_fitted_cannot_be_changed(regressor):
    with pytest.raises(FrozenInstanceError):
        regressor.fitted_.networks = ()


def test_an_encoded_table_is_answered_like_the_table(regressor, classifier, shops):
    X, _ = shops
    encoded = regressor.encode(X)
    assert encoded.codes.shape == (2, len(X))
    np.testing.assert_array_equal(regressor.predict_encoded(encoded), regressor.predict(X))
    np.testing.assert_array_equal(
        classifier.predict_encoded(classifier.encode(X)), classifier.predict_proba(X)
    )


def test_codes_can_be_exchanged_before_the_networks_are_asked(regressor, shops):
    X, _ = shops
    encoded = regressor.encode(X)
    codes = encoded.codes.copy()
    codes[0] = regressor.embeddings_["town"].vocabulary.code("Bonn", "town")
    asked = regressor.predict_encoded(Encoded(codes, encoded.numbers))
    np.testing.assert_array_equal(asked, regressor.predict(X.assign(town="Bonn")))


def test_probabilities_are_the_mean_over_the_networks(classifier, shops):
    X, _ = shops
    outputs = classifier.fitted_.outputs(classifier.encode(X))
    expected = np.mean([softmax(output.astype(float), axis=1) for output in outputs], axis=0)
    np.testing.assert_allclose(classifier.predict_proba(X), expected)
    np.testing.assert_allclose(classifier.predict_log_proba(X), np.log(expected))


def test_a_file_without_a_recipe_loads_and_says_so(regressor, shops, tmp_path):
    X, _ = shops
    regressor.save(tmp_path / "new.catspace")
    document, arrays = model_file.read(tmp_path / "new.catspace")
    del document["recipe"]
    model_file.write(tmp_path / "old.catspace", document, arrays)
    again = catspace.load(tmp_path / "old.catspace")
    np.testing.assert_array_equal(again.predict(X), regressor.predict(X))
    assert again.best_epoch_ == regressor.best_epoch_
    with pytest.raises(AttributeError, match=r"^batch_size_: a file of catspace 0.1 does not say"):
        again.batch_size_  # noqa: B018


@pytest.mark.parametrize("encoding", ["embedding", "onehot"])
def test_a_file_with_empty_bins_predicts_what_it_did(shops, tmp_path, encoding):
    X, y = shops
    X = X.assign(is_open=np.arange(len(X)) % 2)
    model = EmbeddingRegressor(input_encoding=encoding, **FAST).fit(X, y)
    model.save(tmp_path / "new.catspace")
    document, arrays = model_file.read(tmp_path / "new.catspace")
    # As format 1 had it: sixteen bins for each number, and weights also for those that are empty
    document["format_version"], shape = 1, document["architecture"]
    n_bins = shape["n_bins"]
    assert n_bins == [16, 0]
    shape |= {"n_numbers": 2, "n_bins": 16}
    for name in ("lower", "slope"):
        key = f"network.0.numbers.{name}"
        arrays[key] = np.stack([arrays[key], np.zeros(16, dtype="f4")])
    key = "network.0.layers.0.weight" if encoding == "embedding" else "network.0.input.numbers"
    empty = np.ones((len(arrays[key]), 16), dtype="f4")
    arrays[key] = np.concatenate([arrays[key], empty], axis=1)
    model_file.write(tmp_path / "old.catspace", document, arrays)
    again = catspace.load(tmp_path / "old.catspace")
    np.testing.assert_allclose(again.predict(X), model.predict(X), rtol=1e-5)


def test_a_file_of_another_estimator_than_expected_is_refused(tmp_path, shops):
    X, y = shops
    path = tmp_path / "m.catspace"
    EmbeddingRegressor(max_epochs=1, smooth=0, random_state=0).fit(X, y).save(path)
    assert isinstance(load(path, EmbeddingRegressor), EmbeddingRegressor)
    with pytest.raises(ModelFileError, match="holds an EmbeddingRegressor, no EmbeddingClassifier"):
        load(path, EmbeddingClassifier)
