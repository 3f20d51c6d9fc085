"""``initial_vectors`` and ``frozen_columns`` as a user meets them."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

import catspace
from catspace import EmbeddingClassifier, EmbeddingEncoder, EmbeddingRegressor, make_sales
from catspace.data.vocabulary import UNSEEN
from catspace.exceptions import CatspaceWarning, ParameterError

ESTIMATORS = [EmbeddingRegressor, EmbeddingClassifier, EmbeddingEncoder]
SHORT = {"max_epochs": 2, "random_state": 0}


@pytest.fixture(scope="module")
def large():
    """Return a model of many rows, which knows all stores but the last three."""
    sales = make_sales(1_000, n_stores=20, random_state=0, backend="pandas")
    known = sales.X["store"].astype(int) <= 17
    settings = {"target_transform": "log", "smooth": 2, "max_epochs": 5, "random_state": 0}
    return EmbeddingRegressor(**settings).fit(sales.X[known], sales.y[known])


@pytest.fixture(scope="module")
def small():
    sales = make_sales(1_000, n_stores=20, random_state=0, backend="pandas")
    return sales.X.iloc[::3], sales.y[::3]


def fit(small, kind=EmbeddingRegressor, **parameters):
    X, y = small
    y = np.where(y > np.median(y), "high", "low") if kind is EmbeddingClassifier else y
    return kind(**{**SHORT, **parameters}).fit(X, y)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_frozen_vectors_are_those_that_were_given(large, small, kind):
    model = fit(small, kind, initial_vectors={"store": large}, frozen_columns=["store"])
    given, found = large.embeddings_["store"], model.embeddings_["store"]
    assert model.embedding_dims_["store"] == given.dim
    for store in found.categories:
        expected = given.vector(store) if store <= 17 else given.table[UNSEEN]
        np.testing.assert_array_equal(found.vector(store), expected)
    np.testing.assert_array_equal(found.table[:3], given.table[:3])
    free = fit(small, kind)
    assert (model.embeddings_["month"].vectors != free.embeddings_["month"].table[0]).any()


def test_vectors_that_are_not_frozen_start_there_and_move(large, small):
    model = fit(small, initial_vectors={"store": large}, smooth=1, learning_rate=1e-5)
    given, found = large.embeddings_["store"], model.embeddings_["store"]
    moved = [np.abs(found.vector(one) - given.vector(one)).max() for one in range(1, 18)]
    assert 0 < max(moved) < 1e-3


def test_the_more_smoothing_the_closer_vectors_stay_to_where_they_started(large, small):
    def distance(smooth):
        model = fit(small, initial_vectors={"store": large}, smooth=smooth, max_epochs=10)
        given, found = large.embeddings_["store"], model.embeddings_["store"]
        return np.mean([np.linalg.norm(found.vector(i) - given.vector(i)) for i in range(1, 18)])

    assert distance(500) < 0.2 * distance(0)


def test_what_a_large_table_taught_helps_a_small_one():
    random = np.random.default_rng(0)
    level = random.normal(size=80)

    def draw(n):
        store, day = random.integers(80, size=n), random.integers(7, size=n)
        X = pd.DataFrame({"store": store.astype(str), "day": day.astype(str)})
        return X, level[store] + 0.3 * day + random.normal(scale=0.3, size=n)

    settings = {"smooth": 4, "random_state": 0}
    teacher, small, (X, y) = (
        EmbeddingRegressor(**settings).fit(*draw(3_000)),
        draw(160),
        draw(2_000),
    )

    def error(**parameters):
        model = EmbeddingRegressor(**settings, **parameters).fit(*small)
        return np.mean(np.abs(model.predict(X) - y))

    without = error()
    assert error(initial_vectors={"store": teacher}) < 0.9 * without
    assert error(initial_vectors={"store": teacher}, frozen_columns=["store"]) < 0.9 * without


def test_all_embeddings_of_a_model_may_be_given_at_once(large, small):
    columns = list(large.embeddings_)
    model = fit(small, initial_vectors=large.embeddings_, frozen_columns=columns)
    for column in columns:
        given, found = large.embeddings_[column], model.embeddings_[column]
        np.testing.assert_array_equal(found.vector(found.categories[0]), given.vectors[0])


def test_several_networks_start_from_the_same_vectors(large, small):
    model = fit(
        small, initial_vectors={"store": large}, frozen_columns=["store"], n_networks=2, n_jobs=2
    )
    one, two = (embeddings["store"].table for embeddings in model.network_embeddings())
    np.testing.assert_array_equal(one, two)
    assert (model.networks_[0].layers[0].weight != model.networks_[1].layers[0].weight).any()


def test_given_vectors_do_not_depend_on_where_the_rows_are(large, small, tmp_path):
    X, y = small
    table = pa.Table.from_pandas(X.assign(sales=y), preserve_index=False)
    pq.write_table(table, tmp_path / "small.parquet")
    settings = {"initial_vectors": {"store": large}, "categorical_features": [*X], **SHORT}
    memory = EmbeddingRegressor(**settings).fit(X, y)
    files = EmbeddingRegressor(**settings).fit(tmp_path / "small.parquet", "sales")
    np.testing.assert_array_equal(memory.predict(X), files.predict(X))


def test_they_take_part_in_the_trials_of_the_smoothing(large):
    sales = make_sales(2_000, n_stores=20, random_state=1, backend="pandas")
    for frozen in (None, ["store"]):
        model = EmbeddingRegressor(
            initial_vectors={"store": large}, frozen_columns=frozen, **SHORT
        ).fit(sales.X, sales.y)
        assert model.smooth_["store"] > 0
        assert model.embedding_dims_["store"] == large.embedding_dims_["store"] > 8


def test_early_stopping_keeps_what_was_given_for_stores_that_only_judge(large, small):
    X, y = small
    settings = {"initial_vectors": {"store": large}, "early_stopping": True, **SHORT}
    rows = pd.concat([X[X["store"] == 1].iloc[:1], X[X["store"].isin([2, 3])]])
    # One row of store 1: in training with it, or held back with it.
    for seed in range(8):
        model = EmbeddingRegressor(**{**settings, "random_state": seed})
        model.fit(rows, y[: len(rows)])
        found, given = model.embeddings_["store"], large.embeddings_["store"]
        assert np.linalg.norm(found.vector(1) - given.vector(1)) < 0.2


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_parameters_survive_clone_and_pipelines(large, small, kind):
    given = {"store": large.embeddings_["store"]}
    model = kind(initial_vectors=given, frozen_columns=["store"], **SHORT)
    again = clone(model)
    assert again.get_params()["frozen_columns"] == ["store"]
    expected = fit(small, kind, initial_vectors=given, frozen_columns=["store"])
    X, y = small
    y = np.where(y > np.median(y), "high", "low") if kind is EmbeddingClassifier else y
    np.testing.assert_array_equal(again.fit(X, y).transform(X), expected.transform(X))
    assert "initial_vectors" in repr(model)


def test_a_cloned_pipeline_has_the_vectors_of_the_fitted_model(large, small):
    encoder = EmbeddingEncoder(initial_vectors={"store": large}, **SHORT)
    pipeline = clone(make_pipeline(encoder, Ridge())).fit(*small)
    assert pipeline.predict(small[0]).shape == (334,)
    pipeline.set_params(embeddingencoder__initial_vectors=None).fit(*small)


def test_a_model_file_keeps_the_vectors_and_not_where_they_came_from(large, small, tmp_path):
    frame = large.embeddings_["store"].to_frame()
    model = fit(small, initial_vectors={"store": frame}, frozen_columns=["store"])
    model.save(tmp_path / "small.catspace")
    again = catspace.load(tmp_path / "small.catspace")
    np.testing.assert_array_equal(again.predict(small[0]), model.predict(small[0]))
    assert again.initial_vectors is None
    with pytest.raises(ParameterError, match=r"'store', which has no initial_vectors"):
        again.fit(*small)


def test_a_dimension_must_be_that_of_the_vectors(large, small):
    dim, given = large.embedding_dims_["store"], {"store": large}
    said = rf"^initial_vectors gives 'store' vectors of {dim} dimensions, and embedding_dim says 3"
    for wrong in (3, {"store": 3}):
        with pytest.raises(ParameterError, match=said):
            fit(small, initial_vectors=given, embedding_dim=wrong)
    for right in (dim, {"store": dim, "month": 2}, {"month": 2}, "half", "auto"):
        model = fit(small, initial_vectors=given, embedding_dim=right)
        assert model.embedding_dims_["store"] == dim


def test_vectors_may_have_more_dimensions_than_the_column_has_categories(small):
    frame = pd.DataFrame({"category": [0, 1], **{f"v{i}": [0.1 * i, 1.0] for i in range(9)}})
    assert fit(small, initial_vectors={"promo": frame}).embedding_dims_["promo"] == 9


def test_a_column_that_is_not_there_is_refused(large, small):
    said = r"^initial_vectors names 'state_', which is not a categorical column. Did you mean 'sta"
    embedding = large.embeddings_["state"]
    with pytest.raises(ParameterError, match=said):
        fit(small, initial_vectors={"state_": embedding})


@pytest.mark.parametrize(
    "parameters", [{"input_encoding": "onehot"}, {"embedding_activation": "tanh"}]
)
def test_what_would_change_given_vectors_is_refused(large, small, parameters):
    with pytest.raises(ParameterError, match=r"^initial_vectors are what the first hidden layer"):
        fit(small, initial_vectors={"store": large}, **parameters)


def test_no_category_in_common_draws_a_warning(small):
    frame = pd.DataFrame({"category": ["a", "b"], "x": [0.0, 1.0]})
    with pytest.warns(CatspaceWarning, match=r"none of the 20 categories of column 'store'"):
        fit(small, initial_vectors={"store": frame})


def test_a_fit_without_given_vectors_has_the_bits_that_it_had(small):
    # Nothing is drawn and nothing is computed otherwise where the parameters are not used.
    plain, empty = fit(small), fit(small, initial_vectors={}, frozen_columns=[])
    np.testing.assert_array_equal(plain.predict(small[0]), empty.predict(small[0]))


@pytest.mark.parametrize("is_loaded", [False, True])
def test_an_update_leaves_frozen_vectors_alone_and_moves_the_others(
    large, small, tmp_path, is_loaded
):
    model = fit(small, initial_vectors={"store": large}, frozen_columns=["store"], smooth=2)
    if is_loaded:
        model.save(tmp_path / "m.catspace")
        model = catspace.load(tmp_path / "m.catspace")
    stores, states = model.embeddings_["store"].table, model.embeddings_["state"].table
    model.partial_fit(small[0][:60], small[1][:60] * 3)
    np.testing.assert_array_equal(model.embeddings_["store"].table, stores)
    assert not np.array_equal(model.embeddings_["state"].table, states)


def test_vectors_of_folds_start_where_they_are_given(large, small):
    encoder = EmbeddingEncoder(
        **SHORT, initial_vectors={"store": large}, frozen_columns=["store"], cv=3
    )
    found = encoder.fit(*small).embeddings_["store"]
    np.testing.assert_allclose(found.vector(3), large.embeddings_["store"].vector(3), rtol=1e-6)
