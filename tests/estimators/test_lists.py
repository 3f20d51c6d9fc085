"""Columns of lists as a user meets them: genres, tags, baskets."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

import catspace
from catspace import (
    EmbeddingClassifier,
    EmbeddingEncoder,
    EmbeddingRegressor,
    make_sales,
    to_onnx,
)
from catspace.analysis import effect, explain_direction, importance, nearest, target_along
from catspace.data.vocabulary import MISSING, N_SPECIAL, UNSEEN
from catspace.exceptions import (
    InputError,
    ModelFileError,
    ParameterError,
    UnknownCategoryError,
)
from tests.storage.crafting import run_campaign, sign, take_apart

ESTIMATORS = [EmbeddingRegressor, EmbeddingClassifier, EmbeddingEncoder]
GENRES = ["Action", "Comedy", "Drama", "Horror", "War"]
SHORT = {"max_epochs": 3, "smooth": 2.0, "pairs": None, "random_state": 0, "n_jobs": 1}


def draw(n=240, seed=0):
    """Return films: what they are worth is the mean of their genres; some have none, some null."""
    random = np.random.default_rng(seed)
    worth = dict(zip(GENRES, [2.0, -1.0, 0.5, -2.0, 1.0], strict=True))
    genres = [
        random.choice(GENRES, size=random.integers(0, 4), replace=False).tolist() for _ in range(n)
    ]
    y = np.array([np.mean([worth[one] for one in row]) if row else 0.0 for row in genres])
    for i in range(0, n, 20):
        genres[i] = None
    studio = [f"s{i}" for i in random.integers(4, size=n)]
    X = pd.DataFrame({"studio": studio, "genres": genres, "year": random.normal(size=n)})
    return X, y + random.normal(scale=0.1, size=n)


@pytest.fixture(scope="module")
def films():
    return draw()


@pytest.fixture(scope="module")
def model(films):
    return EmbeddingRegressor(**SHORT).fit(*films)


def options_of(kind):
    return {k: v for k, v in SHORT.items() if k != "pairs" or kind is not EmbeddingEncoder}


def target_for(kind, y):
    return np.where(y > 0, "good", "bad") if kind is EmbeddingClassifier else y


def answer(model, X):
    if isinstance(model, EmbeddingClassifier):
        return model.predict_proba(X)
    return model.transform(X) if isinstance(model, EmbeddingEncoder) else model.predict(X)


def mean_of_items(embedding, items):
    """The vector of a list, written down naively."""
    if items is None:
        return embedding.table[MISSING]
    vectors = [embedding.vector(item) for item in items]
    return np.mean(vectors, axis=0) if vectors else np.zeros(embedding.dim)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_pandas_polars_arrow_tuples_and_sets_give_the_same_bits(films, kind):
    X, y = films
    y = target_for(kind, y)
    expected = answer(kind(**options_of(kind)).fit(X, y), X)
    columns = {name: X[name].tolist() for name in X}
    tuples = X.assign(genres=[None if row is None else tuple(row) for row in X["genres"]])
    sets = X.assign(genres=[np.nan if row is None else {*row} for row in X["genres"]])
    arrays = X.assign(genres=[None if row is None else np.array(row) for row in X["genres"]])
    large = pa.table(columns).set_column(
        1, "genres", pa.array(columns["genres"], pa.large_list(pa.large_string()))
    )
    for table in (pl.DataFrame(columns), pa.table(columns), large, tuples, sets, arrays):
        got = kind(**options_of(kind)).fit(table, y)
        assert np.array_equal(answer(got, table), expected)
        assert np.array_equal(answer(got, X), expected)


def test_lists_of_a_fixed_length_are_lists(films):
    _, y = films
    pairs = [[GENRES[i % 5], GENRES[(i * 3 + 1) % 5]] for i in range(len(y))]
    fixed = pa.table({"genres": pa.array(pairs, pa.list_(pa.string(), 2))})
    plain = pa.table({"genres": pa.array(pairs)})
    got = [EmbeddingRegressor(**SHORT).fit(X, y).predict(X) for X in (fixed, plain)]
    assert np.array_equal(*got)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_files_give_the_same_model(films, kind, tmp_path):
    X, y = films
    y = target_for(kind, y)
    columns = {**{name: X[name].tolist() for name in X}, "worth": y}
    pq.write_table(pa.table(columns), tmp_path / "films.parquet")
    known = kind(**options_of(kind)).fit(X, y)
    lists = kind(**options_of(kind)).fit(str(tmp_path / "films.parquet"), "worth")
    assert np.array_equal(answer(lists, X), answer(known, X))
    assert np.array_equal(answer(lists, str(tmp_path / "films.parquet")), answer(known, X))

    # A cell of a CSV file cannot tell an empty list from a missing one.
    X = X[[row is None or len(row) > 0 for row in X["genres"]]]
    text = X.assign(genres=[None if row is None else "|".join(row) for row in X["genres"]])
    text.assign(worth=y[X.index]).to_csv(tmp_path / "films.csv", index=False)
    options = {**options_of(kind), "list_separators": {"genres": "|"}}
    known = kind(**options).fit(X, y[X.index])
    for table, target in ((str(tmp_path / "films.csv"), "worth"), (text, y[X.index])):
        split = kind(**options).fit(table, target)
        assert np.array_equal(answer(split, text), answer(known, X))
        assert np.array_equal(answer(split, str(tmp_path / "films.csv")), answer(known, X))


def test_text_is_split_and_what_is_between_two_separators_is_no_item(films):
    _, y = films
    text = pd.DataFrame({"tags": ["a, b", ", a, , b, ", "", None] * 60})
    lists = pd.DataFrame({"tags": [["a", "b"], ["a", "b"], [], None] * 60})
    split = EmbeddingRegressor(**SHORT, list_separators={"tags": ", "}).fit(text, y)
    assert np.array_equal(
        split.predict(text), EmbeddingRegressor(**SHORT).fit(lists, y).predict(lists)
    )
    as_category = text.astype("category")
    assert np.array_equal(split.predict(as_category), split.predict(text))


def test_a_forward_pass_is_what_numpy_computes(films, model):
    X, _ = films
    network, encoder = model.networks_[0], model.fitted_.learned.encoder
    studio, genres = model.embeddings_["studio"], model.embeddings_["genres"]
    numbers = network.numbers(torch.from_numpy(model.encode(X).numbers)).numpy()
    x = np.column_stack(
        [
            [studio.vector(one) for one in X["studio"]],
            [mean_of_items(genres, row) for row in X["genres"]],
            numbers,
        ]
    ).astype(np.float64)
    *hidden, last = network.dense_layers
    for layer in hidden:
        x = np.maximum(x @ layer.weight.detach().numpy().T + layer.bias.detach().numpy(), 0)
    x = x @ last.weight.detach().numpy().T + last.bias.detach().numpy()
    assert encoder.lists == {"genres": 3}
    assert np.allclose(model.fitted_.learned.target.decode(x), model.predict(X), atol=1e-5)


@pytest.mark.parametrize("activation", ["identity", "tanh"])
def test_transform_gives_the_mean_of_the_items(films, activation):
    X, y = films
    model = EmbeddingRegressor(**SHORT, embedding_activation=activation).fit(X, y)
    names = model.get_feature_names_out().tolist()
    place = [names.index(f"genres_{i}") for i in range(model.embeddings_["genres"].dim)]
    expected = [mean_of_items(model.embeddings_["genres"], row) for row in X["genres"]]
    assert np.allclose(model.transform(X)[:, place], expected, atol=1e-6)
    assert len(names) == model.transform(X).shape[1]


def test_the_order_of_items_does_not_matter_to_the_last_bit(films, model):
    X, y = films
    turned = X.assign(genres=[None if row is None else row[::-1] for row in X["genres"]])
    assert np.array_equal(model.predict(turned), model.predict(X))
    assert np.array_equal(EmbeddingRegressor(**SHORT).fit(turned, y).predict(X), model.predict(X))


def test_empty_missing_and_unseen_are_three_things(model):
    genres = model.embeddings_["genres"]
    rows = [{"studio": "s1", "year": 0.0, "genres": one} for one in ([], None, [None], ["New"])]
    features = model.transform(rows)
    names = model.get_feature_names_out().tolist()
    first = names.index("genres_0")
    empty, missing, of_missing, unseen = features[:, first : first + genres.dim]
    assert not empty.any()
    assert np.array_equal(missing, genres.table[MISSING])
    assert np.array_equal(of_missing, missing)
    assert np.array_equal(unseen, genres.table[UNSEEN])
    assert len(np.unique(model.predict(rows))) == 3


def test_repeated_items_weigh_as_often_as_they_stand(model):
    genres = model.embeddings_["genres"]
    rows = [{"studio": "s1", "year": 0.0, "genres": ["War", "War", "Drama"]}]
    expected = (2 * genres.vector("War") + genres.vector("Drama")) / 3
    first = model.get_feature_names_out().tolist().index("genres_0")
    assert np.allclose(model.transform(rows)[0, first : first + genres.dim], expected, atol=1e-6)


def test_a_step_moves_the_vectors_of_the_items_of_its_batch_alone(model):
    network, encoder = model.networks_[0], model.fitted_.learned.encoder
    rows = [{"studio": "s1", "year": 0.0, "genres": ["War", "Drama"]}]
    encoded = model.encode(rows)
    network.zero_grad()
    network(torch.from_numpy(encoded.codes), torch.from_numpy(encoded.numbers)).sum().backward()
    gradient = network.input.tables[1].grad.numpy().copy()
    network.zero_grad()
    vocabulary = encoder.vocabularies["genres"]
    codes = [vocabulary.code(one, "genres") for one in ("Drama", "War")]
    assert sorted(np.flatnonzero(gradient.any(axis=1))) == codes
    assert np.array_equal(gradient[codes[0]], gradient[codes[1]])


def test_an_empty_list_moves_no_vector(model):
    network = model.networks_[0]
    encoded = model.encode([{"studio": "s1", "year": 0.0, "genres": []}])
    network.zero_grad()
    network(torch.from_numpy(encoded.codes), torch.from_numpy(encoded.numbers)).sum().backward()
    assert not network.input.tables[1].grad.any()
    network.zero_grad()


def test_items_are_counted(films, model):
    X, _ = films
    items = X["genres"].explode()
    genres = model.embeddings_["genres"]
    assert genres.categories == GENRES
    assert genres.counts.tolist() == [(items == one).sum() for one in GENRES]
    assert genres.vocabulary.counts[MISSING] == sum(row is None for row in X["genres"])


def test_rare_items_share_a_vector(films):
    X, y = films
    X = X.copy()
    X.at[1, "genres"] = ["Musical", "War"]
    few = EmbeddingRegressor(**SHORT, min_frequency=2).fit(X, y)
    assert few.embeddings_["genres"].categories == GENRES
    fewer = EmbeddingRegressor(**SHORT, max_categories={"genres": 3}).fit(X, y)
    counts = X["genres"].explode().value_counts()
    assert fewer.embeddings_["genres"].categories == sorted(counts.index[:2])


def test_unknown_items_are_an_error_where_that_is_asked_for(films):
    X, y = films
    model = EmbeddingRegressor(**SHORT, handle_unknown="error").fit(X, y)
    new = X[1:3].assign(genres=[["War", "Opera"], ["Noir"]])
    with pytest.raises(UnknownCategoryError, match=r"'genres' holds 2 cat.*\['Opera', 'Noir'\]"):
        model.predict(new)
    assert np.isfinite(model.predict(X)).all()


def test_a_row_of_weight_zero_counts_as_absent(films):
    X, y = films
    weight = np.ones(len(y))
    weight[:40] = 0
    weighed = EmbeddingRegressor(**SHORT).fit(X, y, sample_weight=weight)
    kept = EmbeddingRegressor(**SHORT).fit(X[40:], y[40:], sample_weight=weight[40:])
    assert np.array_equal(weighed.predict(X), kept.predict(X))


def test_weights_of_rows_count_for_their_items(films):
    X, y = films
    heavy = np.where([row is not None and "War" in row for row in X["genres"]], 50.0, 1.0)
    shifted = y + np.where(heavy > 1, 3.0, 0.0)
    options = {**SHORT, "max_epochs": 30}
    light = EmbeddingRegressor(**options).fit(X, shifted)
    weighed = EmbeddingRegressor(**options).fit(X, shifted, sample_weight=heavy)
    is_war = heavy > 1
    errors = [np.abs(one.predict(X) - shifted)[is_war].mean() for one in (light, weighed)]
    assert errors[1] < errors[0]


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_save_then_load_answers_the_same(films, kind, tmp_path):
    X, y = films
    text = X.assign(genres=[None if row is None else "|".join(row) for row in X["genres"]])
    options = {**options_of(kind), "list_separators": {"genres": "|"}}
    model = kind(**options).fit(text, target_for(kind, y))
    model.save(tmp_path / "model.catspace")
    loaded = catspace.load(tmp_path / "model.catspace")
    assert np.array_equal(answer(loaded, text), answer(model, text))
    assert np.array_equal(answer(loaded, X), answer(model, X))  # lists are lists
    assert loaded.list_separators == {"genres": "|"}


def test_a_model_without_lists_does_not_name_them(tmp_path):
    sales = make_sales(n_rows=100, n_stores=5, random_state=0)
    EmbeddingRegressor(**SHORT).fit(sales.X, sales.y).save(tmp_path / "model.catspace")
    document, _ = take_apart(tmp_path / "model.catspace")
    assert "list" not in json.dumps(document)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda d: d["encoder"]["lists"]["genres"].update(longest=101), "longest"),
        (lambda d: d["encoder"]["lists"]["genres"].update(longest=2), "architecture.lists"),
        (lambda d: d["encoder"]["lists"]["genres"].update(separator=""), "separators of one"),
        (lambda d: d["encoder"]["lists"].update(year={"longest": 3, "separator": None}), "lists"),
        (lambda d: d["architecture"].update(lists=[0, 10**9]), "architecture.lists"),
        (lambda d: d["architecture"].pop("lists"), "architecture.lists"),
        (lambda d: d["encoder"].pop("lists"), "architecture.lists"),
        (lambda d: d["architecture"].update(lists=[3, 3]), "architecture.lists"),
    ],
)
def test_a_crafted_file_is_refused(model, tmp_path, change, match):
    model.save(tmp_path / "model.catspace")
    document, tensors = take_apart(tmp_path / "model.catspace")
    change(document)
    (tmp_path / "crafted.catspace").write_bytes(sign(document, tensors))
    with pytest.raises(ModelFileError, match=match):
        catspace.load(tmp_path / "crafted.catspace")


def test_crafted_files_raise_nothing_raw(films, model, tmp_path):
    model.save(tmp_path / "model.catspace")
    counts, raw = run_campaign(
        tmp_path / "model.catspace", films[0][:20], n_cases=150, seed=3, folder=tmp_path
    )
    assert raw == []
    assert counts["refused"] > 50


def test_importance_shuffles_whole_lists(films, model):
    X, y = films
    found = importance(model, X, y, n_repeats=2, random_state=0)
    assert set(found["column"]) == {"studio", "genres", "year"}
    random = np.random.default_rng(0)
    errors = np.abs(model.predict(X) - y).mean()
    falls = {name: [] for name in X}
    for _ in range(2):
        for name in X:
            order = random.permutation(len(X))
            shuffled = X.assign(**{name: X[name].iloc[order].tolist()})
            falls[name].append(np.abs(model.predict(shuffled) - y).mean() - errors)
    got = dict(zip(found["column"], found["importance"], strict=True))
    assert got == pytest.approx({name: np.mean(fall) for name, fall in falls.items()}, abs=1e-6)


def test_the_effect_of_an_item_is_that_of_a_list_of_it_alone(films, model):
    X, _ = films
    found = effect(model, X, "genres")
    assert found["value"].tolist()[:5] == GENRES
    for item, prediction in zip(found["value"][:5], found["prediction"][:5], strict=True):
        alone = model.predict(X.assign(genres=[[item]] * len(X))).mean()
        assert prediction == pytest.approx(alone, abs=1e-5)
    assert found["count"].tolist()[:5] == model.embeddings_["genres"].counts.tolist()


def test_the_items_have_neighbours_and_a_map(films, model, tmp_path):
    X, y = films
    found = nearest(model, "genres", "War", k=4)
    assert set(found["category"]) == set(GENRES) - {"War"}
    model.report(X, y, path=tmp_path / "report.html")
    assert "Horror" in (tmp_path / "report.html").read_text()
    with pytest.raises(
        InputError, match=r"'genres' holds lists, so that a row has no one category"
    ):
        target_along(model, "genres", X, y)
    # Of other columns, those of lists have no groups that could explain a direction.
    explained = explain_direction(model, "studio", "s0", "s1", X)
    assert explained["column"].tolist() == ["year"]


def test_onnx_says_that_it_has_no_lists(model):
    with pytest.raises(InputError, match="Column 'genres' holds lists, and an input of the ONNX"):
        to_onnx(model)


def test_pairs_leave_lists_out(films):
    X, y = films
    with pytest.raises(ParameterError, match="pairs names 'genres', which holds lists"):
        EmbeddingRegressor(**{**SHORT, "pairs": [("studio", "genres")]}).fit(X, y)
    told = X.assign(day=["Mon", "Tue", "Wed"] * 80)
    model = EmbeddingRegressor(**{**SHORT, "pairs": [("studio", "day")]}).fit(told, y)
    changed = told.assign(genres=[["War"]] * len(told))
    codes = model.encode(told).codes, model.encode(changed).codes
    means = model.networks_[0].pairs
    assert torch.equal(*(means(torch.from_numpy(one)) for one in codes))
    assert np.isfinite(model.predict(told)).all()


def test_pairs_are_found_among_the_other_columns():
    random = np.random.default_rng(0)
    a, b = random.integers(4, size=(2, 1500))
    X = pd.DataFrame({"a": a.astype(str), "tags": [["x"]] * 1500, "b": b.astype(str)})
    y = np.random.default_rng(1).normal(size=(4, 4))[a, b] * 3
    model = EmbeddingRegressor(max_epochs=2, random_state=0).fit(X, y)
    assert model.pairs_ in ([("a", "b")], [])
    assert model.smooth_.keys() == {"a", "tags", "b"}


def test_given_vectors_are_those_of_the_items(films):
    X, y = films
    given = pd.DataFrame({"genre": GENRES, "v0": np.arange(5.0), "v1": -np.arange(5.0)})
    options = {**SHORT, "initial_vectors": {"genres": given}}
    frozen = EmbeddingRegressor(**options, frozen_columns=["genres"]).fit(X, y)
    assert np.array_equal(frozen.embeddings_["genres"].vectors, given[["v0", "v1"]])
    moved = EmbeddingRegressor(**options).fit(X, y).embeddings_["genres"].vectors
    assert not np.array_equal(moved, given[["v0", "v1"]])
    assert np.abs(moved - given[["v0", "v1"]].to_numpy()).max() < 0.5
    lists = given.assign(genre=[[one] for one in GENRES])
    with pytest.raises(InputError, match=r"'genre.*' holds lists where each row has one value"):
        EmbeddingRegressor(**SHORT, initial_vectors={"genres": lists}).fit(X, y)


def test_new_items_get_vectors_and_a_longer_list_leaves_the_model_as_it_was(films):
    X, y = films
    model = EmbeddingRegressor(**SHORT).fit(X, y)
    before = model.predict(X)
    long = X[:30].assign(genres=[GENRES[:4]] * 30)
    with pytest.raises(InputError, match="a list of 4 items, and the longest in fit had 3"):
        model.partial_fit(long, y[:30])
    assert np.array_equal(model.predict(X), before)
    model.partial_fit(X[:30].assign(genres=[["Noir", "War"]] * 30), y[:30])
    assert model.embeddings_["genres"].categories == sorted([*GENRES, "Noir"])
    counted = X["genres"].explode().value_counts()
    assert model.embeddings_["genres"].counts.tolist() == [
        counted.get(one, 0) + 30 * (one in ("Noir", "War")) for one in sorted([*GENRES, "Noir"])
    ]


def test_cross_fitting_gives_means_of_the_vectors_of_the_folds(films):
    X, y = films
    encoder = EmbeddingEncoder(max_epochs=3, smooth=2.0, random_state=0, cv=3)
    features = encoder.fit_transform(X, y)
    is_empty = np.array([row == [] for row in X["genres"]])
    place = [i for i, one in enumerate(encoder.get_feature_names_out()) if "genres" in one]
    assert not features[is_empty][:, place].any()
    assert features[~is_empty][:, place].any(axis=1).all()
    expected = [mean_of_items(encoder.embeddings_["genres"], row) for row in X["genres"]]
    assert np.allclose(encoder.transform(X)[:, place], expected, atol=1e-6)


def test_hashed_items_have_the_vectors_of_their_buckets(films):
    X, y = films
    model = EmbeddingRegressor(**SHORT, hash_buckets={"genres": 1000}).fit(X, y)
    genres = model.embeddings_["genres"]
    assert len(genres) == 5
    first = model.get_feature_names_out().tolist().index("genres_0")
    row = X[1:2].assign(genres=[["War", "Drama"]])
    expected = np.mean([genres.table[genres.codes([one])[0]] for one in ("War", "Drama")], axis=0)
    assert np.allclose(model.transform(row)[0, first : first + genres.dim], expected, atol=1e-6)


def test_lists_of_numbers_dates_and_of_several_types_are_lists_of_categories(films):
    _, y = films
    day = pd.Timestamp("2024-02-29")
    for items in ([1, 2, 3], [1, "1", 2], [True, None], [day, pd.Timestamp("2025")]):
        X = pd.DataFrame({"tags": [items, items[:1], []] * 80})
        tags = EmbeddingRegressor(**SHORT).fit(X, y).embeddings_["tags"]
        counts = {one: 160 if i == 0 else 80 for i, one in enumerate(items) if one is not None}
        assert dict(zip(tags.categories, tags.counts.tolist(), strict=True)) == counts
        assert tags.vocabulary.counts[MISSING] == 80 * (None in items)


def test_large_tables_move_only_the_rows_of_the_batch(films, monkeypatch):
    X, y = films
    dense = EmbeddingRegressor(**SHORT).fit(X, y)
    monkeypatch.setattr("catspace.model.optimizer.SPARSE_FROM", 0)
    sparse = EmbeddingRegressor(**SHORT).fit(X, y)
    assert np.isfinite(sparse.predict(X)).all()
    assert np.corrcoef(sparse.predict(X), dense.predict(X))[0, 1] > 0.9


FIRST = draw(n=40)[0]


@pytest.mark.parametrize(
    ("change", "options", "match"),
    [
        ([["War"], "Drama"] * 20, {}, "'genres' holds lists beside single values: .'Drama'"),
        ([[["War"]]] * 40, {}, "'genres' holds lists whose items are no single values"),
        ([[{"a": 1}]] * 40, {}, "'genres' holds lists whose items are no single values"),
        ([{"a": 1}] * 40, {}, "'genres' holds structs or dicts, and a category is one value"),
        ([[str(i) for i in range(101)]] * 40, {}, "a list of 101 items, and at most 100 are"),
        (None, {"input_encoding": "onehot"}, '"onehot" has one row of weights .* .genres. holds'),
        (None, {"shared_vectors": [["studio", "genres"]]}, "names 'genres', which holds lists"),
        (None, {"discretize": {"genres": 3}}, "names 'genres', which does not hold numbers"),
        (None, {"list_separators": {"genre": "|"}}, "names 'genre', which is not a column"),
        (None, {"list_separators": {"studio": ""}}, "'studio' a text of one character at least"),
        (None, {"list_separators": {"studio": 1}}, "'studio' a text of one character at least"),
        (None, {"list_separators": {"year": "|"}}, "names 'year', which holds numbers and no tex"),
        (None, {"list_separators": "|"}, "list_separators must be a dict of column to what stan"),
    ],
)
def test_what_cannot_be_is_a_sentence(change, options, match):
    X = FIRST if change is None else FIRST.assign(genres=change)
    with pytest.raises((InputError, ParameterError), match=match):
        EmbeddingRegressor(**SHORT, **options).fit(X, np.arange(40.0))


def test_a_target_of_lists_is_a_sentence():
    with pytest.raises(InputError, match="The target 'genres' holds lists, and must be one value"):
        EmbeddingRegressor(**SHORT).fit(FIRST, "genres")


def test_a_column_must_stay_what_it_was_in_fit(films, model):
    X, _ = films
    with pytest.raises(InputError, match="'genres' held lists in fit and holds text now"):
        model.predict(X.assign(genres="War"))
    with pytest.raises(InputError, match="'studio' held single values in fit and holds lists now"):
        model.predict(X.assign(studio=[["s1"]] * len(X)))
    with pytest.raises(InputError, match="'year' held single values in fit and holds lists now"):
        model.predict(X.assign(year=[[1.0]] * len(X)))
    with pytest.raises(InputError, match="a list of 5 items, and the longest in fit had 3"):
        model.predict(X.assign(genres=[GENRES] * len(X)))
    missing = model.predict(X.assign(genres=None))  # which has no type to know it by
    assert np.array_equal(missing[::20], model.predict(X)[::20])


def test_lists_without_any_item_can_be_learned(films):
    _, y = films
    X = pd.DataFrame({"tags": [[]] * len(y), "day": ["Mon", "Tue"] * (len(y) // 2)})
    model = EmbeddingRegressor(**SHORT).fit(X, y)
    assert model.fitted_.learned.encoder.lists == {"tags": 1}
    assert len(model.embeddings_["tags"]) == 0
    assert np.isfinite(model.predict(X)).all()
    assert model.encode(X).codes[0].tolist() == [N_SPECIAL] * len(y)
