"""``smooth`` as a user meets it: parameters, fitted attributes, bad input, every way to fit."""

import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import catspace
from catspace import EmbeddingClassifier, EmbeddingEncoder, EmbeddingRegressor
from catspace.exceptions import ParameterError

SHORT = {"max_epochs": 2, "random_state": 0}


@pytest.fixture
def visits():
    """Return visits to shops, most of which have few, beside a column with few values."""
    random = np.random.default_rng(0)
    n = 2_500
    shop = random.zipf(1.3, size=n) % 600
    X = pd.DataFrame({"shop": shop.astype(str), "day": random.choice(list("abcde"), size=n)})
    y = random.normal(size=600)[shop] + random.normal(size=n)
    return X, y


@pytest.mark.parametrize("smooth", [-1, "much", float("nan"), float("inf"), None, True, [1]])
def test_a_smoothing_that_means_nothing_is_refused(visits, smooth):
    with pytest.raises(ParameterError, match=r'^smooth must be "auto", a number of at least 0, or'):
        EmbeddingRegressor(smooth=smooth).fit(*visits)


@pytest.mark.parametrize("smooth", [-1, "much", None])
def test_so_is_one_of_a_single_column(visits, smooth):
    with pytest.raises(ParameterError, match=r'^smooth must be "auto", a number of at least 0, or'):
        EmbeddingRegressor(smooth={"shop": smooth}).fit(*visits)


def test_a_smoothing_of_a_column_that_is_not_there_is_refused_before_rows_are_read(visits):
    said = r"^smooth names 'shops', which is not a categorical column. Did you mean 'shop'\?"
    with pytest.raises(ParameterError, match=said):
        EmbeddingRegressor(smooth={"shops": 3}).fit(*visits)


def test_a_number_is_for_all_columns_and_a_dict_for_those_that_it_names(visits):
    assert EmbeddingRegressor(smooth=3, **SHORT).fit(*visits).smooth_ == {"shop": 3, "day": 3}
    by_column = EmbeddingRegressor(smooth={"shop": 7, "day": 0}, **SHORT).fit(*visits)
    assert by_column.smooth_ == {"shop": 7, "day": 0}
    rest = EmbeddingRegressor(smooth={"day": 0}, **SHORT).fit(*visits).smooth_
    assert rest["day"] == 0
    assert rest["shop"] > 0


@pytest.mark.parametrize("kind", [EmbeddingRegressor, EmbeddingClassifier, EmbeddingEncoder])
def test_auto_is_the_default_of_every_estimator_and_tells_what_it_found(visits, kind):
    X, y = visits
    y = np.where(y > 0, "high", "low") if kind is EmbeddingClassifier else y
    model = kind(**SHORT).fit(X, y)
    assert set(model.smooth_) == {"shop", "day"}
    assert all(value > 0 for value in model.smooth_.values())


def test_rare_categories_predict_like_unseen_ones_and_frequent_ones_do_not(visits):
    X, y = visits
    model = EmbeddingRegressor(smooth=20, random_state=0).fit(X, y)
    counts = X["shop"].value_counts()
    unseen = model.predict(pd.DataFrame({"shop": ["new"], "day": ["a"]}))[0]

    def moved(names):
        asked = pd.DataFrame({"shop": names, "day": "a"})
        return np.abs(model.predict(asked) - unseen).mean()

    rare, frequent = counts.index[counts == 1], counts.index[:10]
    assert moved(rare) < 0.3 * moved(frequent)


def test_memory_and_files_find_the_same_smoothing_and_the_same_bits(visits, tmp_path):
    X, y = visits
    pq.write_table(pa.table({**X, "y": y}), tmp_path / "visits.parquet")
    in_memory = EmbeddingRegressor(**SHORT).fit(X, y)
    by_path = EmbeddingRegressor(**SHORT).fit(tmp_path / "visits.parquet", "y")
    assert in_memory.smooth_ == by_path.smooth_
    np.testing.assert_array_equal(in_memory.predict(X), by_path.predict(X))


def test_the_same_seed_gives_the_same_bits_whatever_the_number_of_jobs(visits):
    X, y = visits
    one, two = (EmbeddingRegressor(n_jobs=n, **SHORT).fit(X, y).predict(X) for n in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_a_saved_model_knows_its_smoothing_and_its_evidence(visits, tmp_path):
    model = EmbeddingRegressor(smooth={"shop": 5, "day": 0}, **SHORT).fit(*visits)
    model.save(tmp_path / "m.catspace")
    loaded = catspace.load(tmp_path / "m.catspace")
    vectors = catspace.Embeddings.load(tmp_path / "m.catspace")
    assert loaded.smooth_ == model.smooth_ == {"shop": 5, "day": 0}
    for column in model.embeddings_:
        evidence = model.embeddings_[column].evidence
        np.testing.assert_array_equal(loaded.embeddings_[column].evidence, evidence)
        np.testing.assert_array_equal(vectors[column].evidence, evidence)


def test_several_outputs_one_hot_input_and_large_tables_are_smoothed_too(visits, monkeypatch):
    X, y = visits
    several = EmbeddingRegressor(smooth=5, **SHORT).fit(X, np.stack([y, -y], axis=1))
    assert several.predict(X[:3]).shape == (3, 2)
    one_hot = EmbeddingRegressor(smooth=5, input_encoding="onehot", **SHORT).fit(X, y)
    assert np.isfinite(one_hot.predict(X)).all()
    monkeypatch.setattr("catspace.model.optimizer.SPARSE_FROM", 1)
    by_row = EmbeddingRegressor(smooth=5, **SHORT).fit(X, y)
    counts, table = by_row.embeddings_["shop"].counts, by_row.embeddings_["shop"]
    away = np.linalg.norm(table.vectors - table.table[2], axis=1)
    assert away[counts == 1].mean() < away[counts > 50].mean()


# --- tables that leave little to learn


def fit_quietly(kind, X, y, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message="A constant does as well")
        return kind(max_epochs=6, random_state=0).fit(X, y, **options)


@pytest.mark.parametrize(
    ("n_columns", "n_categories", "noise", "is_smoothed"),
    [(2, 400, 0.1, False), (3, 400, 0.8, True)],
    ids=["clean", "noisy"],
)
def test_nothing_is_smoothed_where_few_rows_tell_all(n_columns, n_categories, noise, is_smoothed):
    random, n = np.random.default_rng(0), 4_000
    ids = random.integers(0, n_categories, (2 * n, n_columns))
    effects = random.normal(size=(n_columns, n_categories))
    y = sum(effects[i, ids[:, i]] for i in range(n_columns)) + random.normal(
        scale=noise, size=2 * n
    )
    X = pd.DataFrame({f"id {i}": ids[:, i].astype(str) for i in range(n_columns)})
    found = EmbeddingRegressor(random_state=0).fit(X[:n], y[:n])
    assert all((value > 0) == is_smoothed for value in found.smooth_.values())
    other = EmbeddingRegressor(smooth=0 if is_smoothed else 2, random_state=0).fit(X[:n], y[:n])
    errors = [np.mean((model.predict(X[n:]) - y[n:]) ** 2) for model in (found, other)]
    assert errors[0] < errors[1]


def test_every_category_may_be_different():
    random = np.random.default_rng(0)
    X = {"id": [f"row {i}" for i in range(2_500)]}
    y = random.normal(size=2_500)
    model = fit_quietly(EmbeddingRegressor, X, y)
    # Nothing can be known of a row but what is known of all.
    assert np.abs(model.predict({"id": ["row 7", "new"]}) - y.mean()).max() < y.std()


def test_there_may_be_one_category():
    y = np.random.default_rng(0).normal(size=2_500)
    model = fit_quietly(EmbeddingRegressor, {"all": ["same"] * 2_500}, y)
    assert np.isfinite(model.predict({"all": ["same", "new", None]})).all()


@pytest.mark.parametrize("scale", [1e-300, 1e-12, 0.01, 1e12])
def test_weights_may_make_the_rows_of_a_category_any_fraction(visits, scale):
    X, y = visits
    weight = scale * np.random.default_rng(0).random(len(y)) ** 8
    model = fit_quietly(EmbeddingRegressor, X, y, sample_weight=weight)
    assert np.isfinite(model.predict(X)).all()


def test_the_weight_of_all_rows_does_not_matter_but_that_of_some_does(visits):
    X, y = visits
    plain, heavy = (
        EmbeddingRegressor(smooth=5, **SHORT).fit(X, y, np.full(len(y), w)).predict(X)
        for w in (1.0, 64.0)
    )
    np.testing.assert_allclose(plain, heavy, rtol=1e-4)


def test_a_class_may_be_missing_among_the_rows_that_are_held_back_or_among_the_others():
    random = np.random.default_rng(0)
    X = {"shop": random.integers(0, 50, size=2_500).astype(str)}
    for n_rare in (1, 2):
        y = np.array(["often"] * (2_500 - n_rare) + ["rare"] * n_rare)
        model = fit_quietly(EmbeddingClassifier, X, y)
        assert model.classes_.tolist() == ["often", "rare"]
        assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize(("dropout", "expected"), [("auto", 0.3), (0.1, 0.1)])
def test_many_numbers_and_much_noise_have_dropout_unless_it_is_given(dropout, expected):
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.normal(size=(2_500, 80)).astype("f4")).add_prefix("number_")
    X["shop"] = random.choice(["a", "b", "c"], size=len(X))
    y = X[["number_0", "number_1"]].sum(axis=1).to_numpy() + 1.5 * random.normal(size=len(X))
    model = EmbeddingRegressor(dropout=dropout, max_epochs=10, random_state=0).fit(X, y)
    assert model.fitted_.networks[0].architecture.dropout == expected


@pytest.mark.parametrize("n_rows", [300, 2_200])
def test_rows_that_weigh_nothing_choose_nothing(n_rows):
    X = pd.DataFrame({"town": [f"t{i % 20}" for i in range(n_rows)]})
    y = (np.arange(n_rows) < 3).astype(int)
    settings = {"max_epochs": 2, "random_state": 0}
    classifier = EmbeddingClassifier(class_weight={0: 0, 1: 1}, **settings).fit(X, y)
    assert np.isfinite(classifier.predict_proba(X)).all()
    assert classifier.smooth_ == {"town": 8.0}
    tiny = np.where(y == 1, 1.0, 1e-60)  # nothing, as networks count
    assert np.isfinite(EmbeddingRegressor(**settings).fit(X, y, tiny).predict(X)).all()
