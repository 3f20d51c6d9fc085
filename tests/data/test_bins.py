import numpy as np
import pytest

from catspace import EmbeddingClassifier, EmbeddingRegressor, load
from catspace.data.bins import Bins
from catspace.data.reading import read_table
from catspace.exceptions import InputError, ParameterError


@pytest.fixture(scope="module")
def wave():
    """Return a number whose effect turns many times, and a column beside it."""
    random = np.random.default_rng(0)
    x = random.uniform(0, 10, size=2_000)
    X = {"x": x, "town": random.choice(["a", "b"], size=2_000)}
    return X, np.sign(np.sin(3 * x)) + random.normal(0, 0.1, size=2_000)


def test_quantile_bins_hold_about_as_many_values():
    values = np.random.default_rng(0).exponential(size=1_000)
    bins = Bins.at_quantiles(values, 8)
    counts = np.bincount(np.searchsorted(bins.edges, values, side="right"))
    assert len(counts) == 8
    assert counts.min() >= 120


def test_repeated_values_make_fewer_bins():
    bins = Bins.at_quantiles(np.array([0.0] * 90 + [1.0] * 10), 10)
    assert len(bins.labels) == 2


def test_labels_are_in_the_order_of_the_numbers():
    bins = Bins(tuple(float(i) for i in range(1, 13)))
    assert bins.labels == sorted(bins.labels)
    assert bins.labels[0] == "00: below 1"
    assert bins.labels[1] == "01: 1 to 2"
    assert bins.labels[-1] == "12: from 12"


def test_a_bin_holds_its_lower_edge_and_missing_stays_missing():
    column = read_table({"x": [0.5, 1.0, 1.5, None, -9.0, 99.0]}).columns[0]
    binned = Bins((1.0, 2.0)).apply(column)
    names = ["0: below 1", "1: 1 to 2", "1: 1 to 2", None, "0: below 1", "2: from 2"]
    assert binned.parts[0][1].to_pylist() == names


@pytest.mark.parametrize("rule", [12, "quantile", "tree"])
def test_a_discretized_number_is_an_embedding(wave, rule):
    X, y = wave
    model = EmbeddingRegressor(discretize={"x": rule}, max_epochs=1).fit(X, y)
    assert list(model.embeddings_) == ["x", "town"]
    assert model.embeddings_["x"].categories == model.fitted_.learned.encoder.bins["x"].labels


def test_bins_where_the_target_jumps_help_a_small_network(wave):
    X, y = wave
    settings = {"hidden_layer_sizes": (16,), "random_state": 0}
    plain = EmbeddingRegressor(**settings).fit(X, y)
    binned = EmbeddingRegressor(discretize={"x": "tree"}, **settings).fit(X, y)
    assert binned.score(X, y) > plain.score(X, y)


def test_a_tree_cuts_where_the_target_jumps(wave):
    X, y = wave
    model = EmbeddingRegressor(discretize={"x": "tree"}, max_epochs=1).fit(X, y)
    edges = np.array(model.fitted_.learned.encoder.bins["x"].edges)
    jumps = np.arange(1, 10) * np.pi / 3
    jumps = jumps[jumps < 10]
    assert all(np.abs(edges - jump).min() < 0.05 for jump in jumps)


def test_a_classifier_can_cut_by_a_tree(wave):
    X, y = wave
    labels = np.where(y > 0, "up", "down")
    model = EmbeddingClassifier(discretize={"x": "tree"}, random_state=0).fit(X, labels)
    assert model.score(X, labels) > 0.95


def test_a_saved_model_cuts_the_same(wave, tmp_path):
    X, y = wave
    model = EmbeddingRegressor(discretize={"x": 12}, max_epochs=2, random_state=0).fit(X, y)
    model.save(tmp_path / "m.catspace")
    again = load(tmp_path / "m.catspace")
    new = {"x": [-5.0, 3.3, 99.0, None], "town": ["a", "b", "a", "b"]}
    np.testing.assert_array_equal(again.predict(new), model.predict(new))


@pytest.mark.parametrize(
    ("discretize", "error", "message"),
    [
        ({"y": 5}, ParameterError, "discretize names 'y', which is not a column"),
        ({"x": 1}, ParameterError, "discretize must give 'x' an int of at least 2"),
        ({"x": 10**9}, ParameterError, "discretize must give 'x' at most 100,000 bins; got 10"),
        ({"x": "kmeans"}, ParameterError, 'an int of at least 2, "quantile" or "tree"; got'),
        (["x"], ParameterError, "discretize must be a dict of column to a number of bins"),
        ({"town": 5}, InputError, "discretize names 'town', which does not hold numbers"),
    ],
)
def test_what_cannot_be_cut_is_a_sentence(wave, discretize, error, message):
    X, y = wave
    with pytest.raises(error, match=message):
        EmbeddingRegressor(discretize=discretize).fit(X, y)
