import pickle
import threading

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from sklearn.metrics import mean_absolute_percentage_error, r2_score

import catspace
from catspace import EmbeddingClassifier, EmbeddingEncoder, EmbeddingRegressor, make_sales
from catspace.exceptions import CatspaceWarning, UnknownCategoryError


def split(shops, at=450):
    X, y = shops
    return X[:at], X[at:], y[:at], y[at:]


# --- what it learns


def test_the_regressor_learns_categories_and_numbers_together(shops):
    X, X_test, y, y_test = split(shops)
    model = EmbeddingRegressor(random_state=0).fit(X, y)
    assert model.score(X_test, y_test) > 0.97


def test_categories_with_the_same_effect_get_neighbouring_vectors(shops):
    X, y = shops
    embedding = EmbeddingRegressor(random_state=0).fit(X, y).embeddings_["town"]
    assert embedding.nearest("Celle", k=1)["category"].tolist() == ["Dresden"]
    assert embedding.counts.tolist() == X["town"].value_counts().sort_index().tolist()


def test_the_embedding_finds_the_truth_of_generated_sales():
    sales = make_sales(n_rows=30_000, n_stores=60, random_state=0)
    model = EmbeddingRegressor(target_transform="log", random_state=0).fit(sales.X, sales.y)
    vectors = model.embeddings_["store"].vectors
    centred = vectors - vectors.mean(axis=0)
    first = np.linalg.svd(centred, full_matrices=False)[0][:, 0]
    assert abs(np.corrcoef(first, sales.truth.store_effect)[0, 1]) > 0.9


def test_a_log_target_is_predicted_on_its_own_scale():
    sales = make_sales(n_rows=20_000, n_stores=30, random_state=0)
    model = EmbeddingRegressor(target_transform="log", random_state=0)
    model.fit(sales.X[:18_000], sales.y[:18_000])
    error = mean_absolute_percentage_error(sales.y[18_000:], model.predict(sales.X[18_000:]))
    assert error < 0.12


def test_the_classifier_learns_text_labels_and_probabilities_that_sum_to_one(shops):
    X, X_test, y, y_test = split(shops)
    labels, labels_test = (np.digitize(v, [1.0, 3.0]) for v in (y, y_test))
    names = np.array(["low", "middle", "high"])
    model = EmbeddingClassifier(random_state=0).fit(X, names[labels])
    assert model.classes_.tolist() == ["high", "low", "middle"]
    probabilities = model.predict_proba(X_test)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert (model.classes_[probabilities.argmax(axis=1)] == model.predict(X_test)).all()
    assert model.score(X_test, names[labels_test]) > 0.85


def test_several_outputs_are_predicted_together(shops):
    X, X_test, y, y_test = split(shops)
    model = EmbeddingRegressor(random_state=0).fit(X, np.column_stack([y, -2 * y]))
    predicted = model.predict(X_test)
    assert predicted.shape == (len(X_test), 2)
    assert r2_score(-2 * y_test, predicted[:, 1]) > 0.95


@pytest.mark.parametrize(("quantile", "low", "high"), [(0.1, 0.0, 0.25), (0.9, 0.75, 1.0)])
def test_a_quantile_lies_above_its_share_of_the_rows(quantile, low, high):
    random = np.random.default_rng(0)
    X = pd.DataFrame({"g": random.choice(["a", "b"], size=2000)})
    y = random.normal(size=2000) * np.where(X["g"] == "a", 1, 3)
    model = EmbeddingRegressor(loss="quantile", quantile=quantile, random_state=0).fit(X, y)
    assert low <= (y <= model.predict(X)).mean() <= high


def test_sample_weight_pulls_the_prediction():
    X = pd.DataFrame({"g": ["a"] * 100})
    y = np.array([0.0] * 50 + [10.0] * 50)
    heavy = np.where(y > 0, 9.0, 1.0)
    model = EmbeddingRegressor(random_state=0).fit(X, y, sample_weight=heavy)
    assert model.predict(X[:1])[0] == pytest.approx(9.0, abs=0.5)


def test_rows_of_weight_zero_are_as_good_as_absent(shops):
    X, y = shops
    weight = np.ones(len(y))
    weight[:100] = 0
    poisoned = y.copy()
    poisoned[:100] = 1e6
    some = EmbeddingRegressor(random_state=0, max_epochs=2).fit(X, poisoned, sample_weight=weight)
    none = EmbeddingRegressor(random_state=0, max_epochs=2).fit(X[100:], y[100:])
    np.testing.assert_array_equal(some.predict(X), none.predict(X))


def test_class_weight_moves_the_probabilities():
    X = pd.DataFrame({"g": ["a"] * 200})
    y = np.array([0] * 160 + [1] * 40)
    plain = EmbeddingClassifier(random_state=0).fit(X, y)
    balanced = EmbeddingClassifier(class_weight="balanced", random_state=0).fit(X, y)
    assert plain.predict_proba(X[:1])[0, 1] == pytest.approx(0.2, abs=0.05)
    assert balanced.predict_proba(X[:1])[0, 1] == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize(
    ("y", "n_outputs"),
    [(["x", "y"] * 20, 2), ([0, 1, 2, 1] * 10, 3), (list(range(40)), 1), ([0.5, 1.5] * 20, 1)],
)
def test_the_encoder_tells_numbers_from_classes(y, n_outputs):
    X = pd.DataFrame({"g": ["a", "b"] * 20})
    model = EmbeddingEncoder(max_epochs=1, random_state=0).fit(X, y)
    assert model.networks_[0].architecture.n_outputs == n_outputs


# --- what it takes


def test_pandas_polars_arrow_and_files_give_the_same_model(make_table, tmp_path):
    random = np.random.default_rng(0)
    columns = {
        "store": random.integers(1, 9, size=200).tolist(),
        "town": random.choice(["a", "b", "ü"], size=200).tolist(),
        "price": random.normal(size=200).tolist(),
    }
    y = random.normal(size=200)
    model = EmbeddingRegressor(categorical_features=["store"], max_epochs=2, random_state=0)
    expected = model.fit(pd.DataFrame(columns), y).predict(pd.DataFrame(columns))
    table = make_table(columns)
    np.testing.assert_array_equal(model.fit(table, y).predict(table), expected)
    path = tmp_path / "table.csv"
    pd.DataFrame(columns).to_csv(path, index=False)
    np.testing.assert_array_equal(model.predict(path), expected)


def test_the_target_can_be_a_column_of_the_table_by_name(shops, tmp_path):
    X, y = shops
    frame = X.assign(sales=y)
    frame.to_parquet(tmp_path / "shops.parquet")
    # Parquet keeps integers, but not that they were categories.
    model = EmbeddingRegressor(categorical_features=["weekday"], max_epochs=1, random_state=0)
    expected = model.fit(X, y).predict(X)
    for source in (frame, tmp_path / "shops.parquet"):
        np.testing.assert_array_equal(model.fit(source, "sales").predict(X), expected)
    np.testing.assert_array_equal(model.predict(tmp_path / "shops.parquet"), expected)


def test_unseen_and_missing_categories_are_fine_and_differ(shops):
    X, y = shops
    X = X.assign(town=X["town"].where(X.index % 10 > 0))
    model = EmbeddingRegressor(max_epochs=3, random_state=0).fit(X, y)
    new = X[:2].assign(town=["Nowhere", None])
    assert np.isfinite(model.predict(new)).all()
    vectors = model.transform(new)[:, : model.embeddings_["town"].dim]
    embedding = model.embeddings_["town"]
    np.testing.assert_array_equal(vectors[0], embedding.table[2])
    np.testing.assert_array_equal(vectors[1], embedding.vector(None))
    assert (vectors[0] != vectors[1]).any()
    model.set_params(handle_unknown="error")
    with pytest.raises(UnknownCategoryError, match=r"not seen in fit: \['Nowhere'\]"):
        model.predict(new)


def test_without_smoothing_an_unseen_category_gets_the_average_vector(shops):
    X, y = shops
    model = EmbeddingRegressor(max_epochs=3, random_state=0, smooth=0).fit(X, y)
    embedding = model.embeddings_["town"]
    vectors = model.transform(X[:1].assign(town=["Nowhere"]))[:, : embedding.dim]
    weights = embedding.vocabulary.counts / len(X)
    np.testing.assert_allclose(vectors[0], weights @ embedding.table, rtol=1e-4, atol=1e-6)


def test_rare_categories_share_a_vector(shops):
    X, y = shops
    X = X.assign(town=X["town"].where(X.index > 1, "Hamlet"))
    model = EmbeddingRegressor(min_frequency=5, max_epochs=2, random_state=0).fit(X, y)
    assert "Hamlet" not in model.embeddings_["town"].categories
    dim = model.embeddings_["town"].dim
    hamlet, unseen = model.transform(X[:2].assign(town=["Hamlet", "Nowhere"]))[:, :dim]
    np.testing.assert_array_equal(hamlet, model.embeddings_["town"].table[1])
    assert (hamlet != unseen).any()


def test_relabelling_categories_only_permutes_vectors(shops):
    X, y = shops
    renamed = {"Aachen": "d", "Bonn": "c", "Celle": "b", "Dresden": "a"}
    first = EmbeddingRegressor(random_state=0).fit(X, y)
    second = EmbeddingRegressor(random_state=0).fit(X.assign(town=X["town"].map(renamed)), y)
    for town in renamed:
        a = first.embeddings_["town"].nearest(town, k=1)["category"][0]
        b = second.embeddings_["town"].nearest(renamed[town], k=1)["category"][0]
        assert renamed[a] == b


def test_dates_are_expanded_when_asked():
    days = pd.date_range("2020-01-01", periods=700)
    X = pd.DataFrame({"day": days})
    y = (days.day_of_week >= 5).astype(float)
    model = EmbeddingRegressor(date_parts=["day_of_week"], random_state=0).fit(X, y)
    assert list(model.embeddings_) == ["day_day_of_week"]
    assert model.score(X, y) > 0.95


def test_a_column_that_was_integer_and_is_text_now_draws_one_warning(shops):
    X, y = shops
    model = EmbeddingRegressor(max_epochs=1, random_state=0).fit(X, y)
    with pytest.warns(CatspaceWarning, match=r"^Column 'weekday' held numbers in fit and holds t"):
        model.predict(X.assign(weekday=X["weekday"].astype(str)))


# --- networks, training


def test_several_networks_are_averaged_and_the_first_gives_the_vectors(shops):
    X, y = shops
    model = EmbeddingRegressor(n_networks=3, max_epochs=2, random_state=0).fit(X, y)
    encoded = model.encode(X)
    codes, numbers = torch.from_numpy(encoded.codes), torch.from_numpy(encoded.numbers)
    with torch.no_grad():
        outputs = [network(codes, numbers).double().numpy() for network in model.networks_]
    expected = model.fitted_.learned.target.decode(np.mean(outputs, axis=0))
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-5)
    first = model.networks_[0].input.vectors()[0]
    np.testing.assert_array_equal(model.embeddings_["town"].table, first)


def test_the_same_seed_gives_the_same_bits_on_any_number_of_jobs(shops):
    X, y = shops
    one, two, other = (
        EmbeddingRegressor(n_networks=2, n_jobs=jobs, max_epochs=2, random_state=seed)
        .fit(X, y)
        .predict(X)
        for jobs, seed in ((1, 0), (2, 0), (2, 1))
    )
    np.testing.assert_array_equal(one, two)
    assert (one != other).any()


@pytest.mark.parametrize("kind", [EmbeddingRegressor, EmbeddingClassifier, EmbeddingEncoder])
def test_max_categories_leaves_vectors_to_the_most_frequent(shops, kind):
    X, y = shops
    model = kind(max_categories={"town": 3}, max_epochs=1, random_state=0).fit(X, y > 2)
    most = X["town"].value_counts().index[:2]
    assert model.embeddings_["town"].categories == sorted(most)
    assert len(model.embeddings_["weekday"]) == 7
    vectors = model.transform(X)[:, : model.embeddings_["town"].dim]
    rare = vectors[~X["town"].isin(most)]
    assert (rare == rare[0]).all()


def test_hashed_ids_are_learned_saved_and_asked_for_by_value(tmp_path):
    random = np.random.default_rng(0)
    effect = random.normal(size=50)
    user = random.integers(0, 50, size=2000)
    X = pd.DataFrame({"user": user + 10**12})
    y = effect[user]
    model = EmbeddingRegressor(hash_buckets={"user": 100_000}, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.95
    embedding = model.embeddings_["user"]
    assert len(embedding) == 50
    assert embedding.categories[0].startswith("bucket ")
    one = X[:1].to_numpy()[0, 0]
    np.testing.assert_array_equal(embedding.vector(one), model.transform(X[:1])[0])
    closest = embedding.nearest(one, k=1)["category"][0]
    assert np.abs(embedding.vector(closest) - embedding.vector(one)).max() < 0.2

    model.save(tmp_path / "m.catspace")
    loaded = catspace.load(tmp_path / "m.catspace")
    new = pd.DataFrame({"user": [one, 3, None]})
    np.testing.assert_array_equal(loaded.predict(new), model.predict(new))
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.embeddings_["user"].nearest(one)["category"][0] == closest
    again = catspace.Embeddings.load(tmp_path / "m.catspace")["user"]
    np.testing.assert_array_equal(again.vector(one), embedding.vector(one))


def test_hashed_text_of_numbers_from_a_file_is_the_number_that_fit_met(tmp_path):
    from catspace.commands.predict import score_files

    X = pd.DataFrame({"user": [11, 22, 33, 44] * 10})
    model = EmbeddingRegressor(hash_buckets={"user": 1000}, max_epochs=1, random_state=0)
    model.fit(X, np.arange(40.0))
    X.to_csv(tmp_path / "new.csv", index=False)
    score_files(model, str(tmp_path / "new.csv"), str(tmp_path / "out.csv"))
    found = pd.read_csv(tmp_path / "out.csv")["prediction"]
    np.testing.assert_allclose(found, model.predict(X))


def test_the_papers_network_can_be_expressed(shops):
    X, y = shops
    model = EmbeddingRegressor(
        embedding_dim={"town": 3, "weekday": 6},
        hidden_layer_sizes=(1000, 500),
        target_transform="paper",
        loss="absolute_error",
        initialization="uniform",
        optimizer="adam",
        schedule="constant",
        learning_rate=1e-3,
        batch_size=128,
        max_epochs=10,
        dropout=0,
        n_networks=5,
        random_state=0,
    ).fit(X[["town", "weekday"]], y - y.min() + 2)
    network = model.networks_[0]
    assert [layer.out_features for layer in network.dense_layers] == [1000, 500, 1]
    assert network.architecture.output_activation == "logistic"
    assert len(model.networks_) == 5
    assert {epoch["learning_rate"] for epoch in model.history_} == {1e-3}
    assert len(model.history_) == 50


def test_the_one_hot_twin_learns_too(shops):
    X, X_test, y, y_test = split(shops)
    model = EmbeddingRegressor(input_encoding="onehot", random_state=0).fit(X, y)
    assert model.score(X_test, y_test) > 0.95


def test_early_stopping_holds_rows_back_and_keeps_the_best_epoch(shops):
    X, y = shops
    model = EmbeddingRegressor(early_stopping=True, max_epochs=8, random_state=0).fit(X, y)
    losses = [epoch["validation_loss"] for epoch in model.history_]
    assert model.best_epoch_ == [1 + int(np.argmin(losses))]


def test_validation_rows_can_be_given(shops):
    X, X_val, y, y_val = split(shops)
    model = EmbeddingRegressor(max_epochs=3, random_state=0)
    model.fit(X, y, X_val=X_val, y_val=y_val)
    assert all(epoch["validation_loss"] > 0 for epoch in model.history_)


def test_an_interruption_keeps_a_usable_model_and_says_so(shops, monkeypatch):
    X, y = shops

    first_epoch = threading.Event()

    def interrupted_wait(futures):
        first_epoch.wait()
        raise KeyboardInterrupt

    def watch(self, epoch):
        first_epoch.set()

    monkeypatch.setattr("catspace.model.turns.wait", interrupted_wait)
    monkeypatch.setattr("catspace.model.progress.TrainingProgress.__call__", watch)
    endless = EmbeddingRegressor(max_epochs=10**6, n_networks=3, smooth=8, random_state=0)
    with pytest.warns(CatspaceWarning, match=r"^Training was interrupted\. The model keeps"):
        model = endless.fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    # A network that was not trained at all must not enter the average.
    assert len(model.networks_) == len({epoch["network"] for epoch in model.history_})


def test_an_interruption_before_the_first_epoch_ends_is_passed_on(shops, monkeypatch):
    X, y = shops

    def interrupted_wait(futures):
        raise KeyboardInterrupt

    monkeypatch.setattr("catspace.model.turns.wait", interrupted_wait)
    endless = {"batch_size": 1, "hidden_layer_sizes": (2000, 2000)}  # an epoch of many seconds
    with pytest.raises(KeyboardInterrupt):
        EmbeddingRegressor(random_state=0, **endless).fit(X, y)


# --- keeping it


@pytest.mark.parametrize(
    ("kind", "target"),
    [
        (EmbeddingRegressor, lambda y: y),
        (EmbeddingRegressor, lambda y: np.column_stack([y, y])),
        (EmbeddingClassifier, lambda y: np.where(y > 2, "high", "low")),
        (EmbeddingClassifier, lambda y: np.digitize(y, [1, 3])),
        (EmbeddingEncoder, lambda y: y > 2),
    ],
)
def test_save_then_load_gives_the_same_to_the_last_bit(shops, tmp_path, kind, target):
    X, y = shops
    model = kind(n_networks=2, hidden_layer_sizes=(8,), max_epochs=2, random_state=0)
    model.fit(X, target(y))
    model.save(tmp_path / "model.catspace")
    loaded = catspace.load(tmp_path / "model.catspace")
    assert type(loaded) is kind
    assert loaded.get_params()["n_networks"] == 2
    assert loaded.history_ == model.history_
    assert loaded.feature_names_in_.tolist() == list(X.columns)
    new = X.assign(town=X["town"].where(X.index % 3 > 0, "Nowhere"))
    np.testing.assert_array_equal(loaded.transform(new), model.transform(new))
    if hasattr(model, "predict"):
        np.testing.assert_array_equal(loaded.predict(new), model.predict(new))
        assert loaded.predict(new).dtype == model.predict(new).dtype


def test_a_loaded_model_can_be_saved_pickled_and_fitted_again(shops, tmp_path):
    X, y = shops
    path = tmp_path / "model.catspace"
    EmbeddingRegressor(max_epochs=1, random_state=0).fit(X, y).save(path)
    loaded = catspace.load(path)
    loaded.save(path)
    again = pickle.loads(pickle.dumps(catspace.load(path)))
    np.testing.assert_array_equal(again.predict(X), loaded.predict(X))
    np.testing.assert_array_equal(again.fit(X, y).predict(X), loaded.predict(X))


def test_frames_handed_out_are_of_the_kind_that_was_fitted():
    X = pl.DataFrame({"town": ["a", "b", "a", "c"] * 10})
    model = EmbeddingRegressor(max_epochs=1, random_state=0).fit(X, np.arange(40.0))
    assert isinstance(model.embeddings_["town"].nearest("a"), pl.DataFrame)


@pytest.mark.parametrize(
    "parameters",
    [
        {"class_weight": {0: 1.0, 1: 5.0}},
        {"class_weight": dict(zip(np.array([0, 1]), np.array([1.0, 2.0]), strict=True))},
        {"categorical_features": {"price"}},
        {"categorical_features": pd.Index(["price"])},
        {"hidden_layer_sizes": (8, 4), "embedding_dim": {"town": 2}},
        {"max_categories": {"town": 2}, "hash_buckets": {"weekday": 100}},
        {"device": torch.device("cpu")},
    ],
)
def test_parameters_survive_a_model_file_and_a_refit(shops, tmp_path, parameters):
    X, y = shops
    model = EmbeddingClassifier(max_epochs=1, random_state=0, **parameters).fit(X, (y > 2) * 1)
    model.save(tmp_path / "m.catspace")
    loaded = catspace.load(tmp_path / "m.catspace")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    refitted = loaded.fit(X, (y > 2) * 1)
    np.testing.assert_array_equal(refitted.predict_proba(X), model.predict_proba(X))


def test_the_target_by_name_may_stay_in_the_table(shops):
    X, y = shops
    frame = X.assign(sales=y)
    model = EmbeddingRegressor(max_epochs=1, random_state=0)
    model.fit(frame[:500], "sales", X_val=frame[500:], y_val="sales")
    np.testing.assert_array_equal(model.predict(frame), model.predict(X))


def test_validation_rows_can_be_a_file_with_more_columns(shops, tmp_path):
    X, y = shops
    frame = X.assign(weekday=X["weekday"].astype(int), sales=y)
    frame[500:].assign(remark="-").to_parquet(tmp_path / "val.parquet")
    model = EmbeddingRegressor(max_epochs=2, random_state=0, categorical_features=["weekday"])
    by_file = model.fit(frame[:500], "sales", X_val=tmp_path / "val.parquet", y_val="sales")
    losses = [epoch["validation_loss"] for epoch in by_file.history_]
    by_frame = model.fit(frame[:500], "sales", X_val=frame[500:], y_val="sales")
    assert losses == [epoch["validation_loss"] for epoch in by_frame.history_]


def test_names_given_from_outside_name_the_vectors_of_an_array():
    X = np.array([["a", 1.0], ["b", 2.0]] * 10, dtype=object)
    model = EmbeddingEncoder(max_epochs=1, random_state=0).fit(X, np.arange(20) * 1.5)
    assert model.get_feature_names_out().tolist() == ["x0_0", "x1"]
    assert model.get_feature_names_out(["town", "price"]).tolist() == ["town_0", "price"]


def test_an_encoder_that_learns_numbers_after_classes_forgets_the_classes(shops):
    X, y = shops
    model = EmbeddingEncoder(max_epochs=1, random_state=0).fit(X, y > 2)
    assert model.classes_.tolist() == [False, True]
    assert not hasattr(model.fit(X, y), "classes_")


def test_on_epoch_is_told_what_history_keeps(shops):
    X, y = shops
    told = []
    model = EmbeddingRegressor(n_networks=2, max_epochs=3, random_state=0)
    model.fit(X, y, on_epoch=told.append)
    assert len(told) == 6
    assert all(epoch["max_epochs"] == 3 for epoch in told)
    order = sorted(told, key=lambda epoch: (epoch["network"], epoch["epoch"]))
    assert order == model.history_
