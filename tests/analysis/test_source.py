import numpy as np
import pandas as pd
import polars as pl
import pytest

from catspace import EmbeddingRegressor
from catspace.analysis.source import (
    category_frame,
    centred_components,
    frame_of,
    get_embedding,
    get_network_embeddings,
    read_target,
    refuse_equal_vectors,
)
from catspace.data.reading import read_table
from catspace.exceptions import InputError, InputTypeError, UnknownCategoryError
from tests.analysis.helpers import make_embedding

TABLE = read_table({"town": ["Bonn", "Celle", "Bonn"]})


def noise(n, dim, seed=0):
    return np.random.default_rng(seed).normal(size=(n, dim)).astype(np.float32)


def test_an_embedding_is_found_in_all_that_holds_one(model, tmp_path):
    model.save(tmp_path / "m.catspace")
    expected = model.embeddings_["state"]
    sources = [model, model.embeddings_, tmp_path / "m.catspace", str(tmp_path / "m.catspace")]
    for source in sources:
        np.testing.assert_array_equal(get_embedding(source, "state").table, expected.table)
    assert get_embedding(expected) is expected


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda model: get_embedding(model),
            InputError,
            r"^Which column\? The embedded ones are: store, day_of_week",
        ),
        (
            lambda model: get_embedding(model, "sate"),
            UnknownCategoryError,
            r"^There is no embedding of a column 'sate'. Did you mean 'state'\?",
        ),
        (
            lambda model: get_embedding(model, "promo", at_least=3),
            InputError,
            r"^Column 'promo' has 2 categories, and this needs at least 3.$",
        ),
        (
            lambda model: get_embedding(EmbeddingRegressor(), "state"),
            InputTypeError,
            r"^A fitted estimator, its embeddings or a model file is needed; got EmbeddingReg",
        ),
        (
            lambda model: get_network_embeddings(model.embeddings_, "state"),
            InputTypeError,
            r"^Fitted estimators are needed, with their networks; got Embeddings",
        ),
    ],
)
def test_what_holds_no_embedding_is_a_sentence(model, call, error, message):
    with pytest.raises(error, match=message):
        call(model)


def test_networks_of_several_models_stand_in_a_row(model):
    found = get_network_embeddings([model, model], "state")
    tables = [embeddings["state"].table for embeddings in model.network_embeddings()] * 2
    for embedding, table in zip(found, tables, strict=True):
        np.testing.assert_array_equal(embedding.table, table)


def test_networks_of_different_categories_cannot_be_compared(model, sales):
    few = sales.X["state"] != "BY"
    other = EmbeddingRegressor(max_epochs=1, random_state=0).fit(sales.X[few], sales.y[few])
    with pytest.raises(InputError, match=r"^The models do not have the same categories of column"):
        get_network_embeddings([model, other], "state")


def test_one_number_stands_in_every_row_of_a_frame():
    found = frame_of("pandas", {"name": ["a", "b"], "score": 0.5, "rank": np.int64(3)})
    expected = pd.DataFrame({"name": ["a", "b"], "score": [0.5, 0.5], "rank": [3, 3]})
    pd.testing.assert_frame_equal(found, expected, check_dtype=False)


def test_a_frame_is_of_the_kind_that_was_asked_for():
    found = frame_of("polars", {"x": np.arange(6).reshape(3, 2)[:, 1]})
    assert isinstance(found, pl.DataFrame)
    assert found["x"].to_list() == [1, 3, 5]


def test_a_frame_of_categories_has_counts_in_the_order_asked_for_and_names_its_column():
    embedding = make_embedding(noise(3, 2), ["a", "b", "c"], counts=[5, 7, 9])["place"]
    whole = category_frame(embedding, {"x": [1, 2, 3]})
    assert whole.to_numpy().tolist() == [
        ["a", 5, 1, "place"],
        ["b", 7, 2, "place"],
        ["c", 9, 3, "place"],
    ]
    some = category_frame(embedding, {"x": [1, 2]}, np.array([2, 0]))
    assert some.to_numpy().tolist() == [["c", 9, 1, "place"], ["a", 5, 2, "place"]]


@pytest.mark.parametrize(
    ("y", "expected"),
    [
        ([1, 2, 3], [1, 2, 3]),
        ([True, False, True], [1, 0, 1]),
        ([1.5, None, 2], [1.5, np.nan, 2]),
        (pd.Series([1, None, 3], dtype="Int64"), [1, np.nan, 3]),
        (pl.Series([1, None, 3]), [1, np.nan, 3]),
    ],
)
def test_a_target_is_numbers_with_nan_where_it_is_missing(y, expected):
    found = read_target(y, TABLE)
    assert found.dtype == float
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    "y",
    [
        ["low", "high", "low"],
        np.array(["low", "high", "low"]),
        np.array(["2024-01-01"] * 3, dtype="datetime64[D]"),
        np.zeros((3, 2)),
        np.float64(3),
    ],
)
def test_a_target_that_is_not_a_number_for_each_row_is_a_sentence(y):
    with pytest.raises(InputError, match=r"^The target must be one number for each row\.$"):
        read_target(y, TABLE)


def test_a_target_of_another_length_is_a_sentence():
    with pytest.raises(InputError, match=r"^The table has 3 rows and the target 2\.$"):
        read_target([1, 2], TABLE)


@pytest.mark.parametrize("shape", [(40, 6), (4, 9)])
def test_components_are_those_of_the_covariance_with_the_largest_loading_positive(shape):
    vectors = noise(*shape)
    positions, shares = centred_components(vectors, 3)
    centred = vectors.astype(float) - vectors.astype(float).mean(axis=0)
    variances, directions = np.linalg.eigh(centred.T @ centred)
    for i in range(3):
        loading = directions[:, -1 - i]
        loading = loading * np.sign(loading[np.abs(loading).argmax()])
        np.testing.assert_allclose(positions[:, i], centred @ loading, atol=1e-9)
        assert shares[i] == pytest.approx(variances[-1 - i] / variances.sum())


@pytest.mark.parametrize("shape", [(9, 1), (2, 9)])
def test_components_that_a_space_does_not_have_are_zero(shape):
    positions, shares = centred_components(noise(*shape), 3)
    assert positions.shape == (shape[0], 3)
    assert np.ptp(positions[:, 0]) > 0
    np.testing.assert_allclose(positions[:, 1:], 0, atol=1e-7)
    np.testing.assert_allclose(shares, [1, 0, 0], atol=1e-12)


def test_vectors_in_one_place_have_no_components_and_are_refused():
    positions, shares = centred_components(np.full((5, 3), 0.1, dtype=np.float32), 2)
    assert not positions.any()
    assert not shares.any()
    embeddings = make_embedding(np.ones((5, 3)))
    with pytest.raises(InputError, match=r"^All vectors of column 'place' are equal"):
        refuse_equal_vectors(embeddings["place"])
    refuse_equal_vectors(make_embedding(np.ones((1, 3)))["place"])  # one is no pair
