import datetime as dt

import numpy as np
import pandas as pd
import pytest

from catspace import EmbeddingClassifier, EmbeddingRegressor, load
from catspace.analysis import effect
from catspace.exceptions import InputError, ParameterError

SETTINGS = {"max_epochs": 10, "smooth": 0, "random_state": 0}


@pytest.fixture(scope="module")
def visits():
    random = np.random.default_rng(0)
    n = 400
    day = [dt.date(2024, 1, 1) + dt.timedelta(days=int(d)) for d in random.integers(0, 300, n)]
    town = random.choice(["Aachen", "Bonn", None], size=n)
    price = np.where(random.random(n) < 0.1, np.nan, random.integers(5, 30, n))
    y = (
        (town == "Bonn") * 3.0
        + np.nan_to_num(price, nan=40) * np.where(town == "Bonn", 0.2, 0.05)
        + np.array([d.month for d in day])
    )
    X = pd.DataFrame({"town": town, "day": day, "price": price})
    model = EmbeddingRegressor(date_parts=["month", "day_of_week"], n_networks=3, **SETTINGS)
    return X, y, model.fit(X, y)


def drawn(X, n):
    return X.iloc[np.sort(np.random.default_rng(0).choice(len(X), size=n, replace=False))]


def ask(model, contexts, column, value):
    """Predict rows in which one column has been set, from the start."""
    changed = contexts.copy()
    changed[column] = pd.Series([value] * len(changed), changed.index, dtype=contexts[column].dtype)
    return model.predict(changed)


@pytest.mark.parametrize("column", ["town", "price", "day"])
def test_the_effect_is_its_naive_definition(visits, column):
    X, _, model = visits
    found = effect(model, X, column, n_contexts=30, grid_resolution=5)
    contexts = drawn(X, 30)
    asked = np.stack([ask(model, contexts, column, value) for value in found["value"]], axis=1)
    np.testing.assert_allclose(found["prediction"], asked.mean(axis=0), rtol=1e-6)
    around = asked - asked.mean(axis=1, keepdims=True)
    low, high = asked.mean() + np.quantile(around, [0.1, 0.9], axis=0)
    np.testing.assert_allclose(found["low"], low, rtol=1e-6)
    np.testing.assert_allclose(found["high"], high, rtol=1e-6)


def test_the_spread_over_networks_is_that_of_their_own_effects(visits):
    X, _, model = visits
    found = effect(model, X, "town", n_contexts=30)
    contexts, curves = drawn(X, 30), []
    whole = model.fitted_
    for network in whole.networks:
        alone = EmbeddingRegressor(**model.get_params())
        alone.fitted_ = type(whole)(whole.learned, (network,), whole.history, whole.recipe)
        curves.append([ask(alone, contexts, "town", value).mean() for value in found["value"]])
    np.testing.assert_allclose(found["std_networks"], np.std(curves, axis=0), rtol=1e-5)


def test_one_network_has_no_spread(shops):
    X, y = shops
    model = EmbeddingRegressor(**SETTINGS).fit(X, y)
    assert effect(model, X, "town")["std_networks"].isna().all()


def test_numbers_are_tried_at_their_quantiles_and_where_they_are_missing(visits):
    X, _, model = visits
    found = effect(model, X, "price", grid_resolution=4)
    present = np.sort(X["price"].dropna())
    at = np.linspace(0, len(present) - 1, 4).round().astype(int)
    assert found["value"].tolist()[:-1] == present[at].tolist()
    assert np.isnan(found["value"].iloc[-1])
    assert found["count"].sum() == len(X)
    assert found["count"].iloc[-1] == X["price"].isna().sum()


def test_fewer_different_numbers_than_asked_for_are_each_tried_once():
    X = pd.DataFrame({"rooms": [1, 1, 1, 2, 2, 3] * 20, "size": np.arange(120.0)})
    model = EmbeddingRegressor(**SETTINGS).fit(X, X["rooms"] * 1.0)
    found = effect(model, X, "rooms")
    assert found["value"].tolist() == [1, 2, 3]
    assert found["count"].sum() == 120
    assert found["prediction"].is_monotonic_increasing


def test_categories_come_with_their_rows_and_missing_as_one_of_them(visits):
    X, _, model = visits
    found = effect(model, X, "town")
    assert found["value"].tolist()[:2] == ["Aachen", "Bonn"]
    assert found["value"].isna().tolist() == [False, False, True]
    counts = X["town"].value_counts()
    assert found["count"].tolist() == [counts["Aachen"], counts["Bonn"], X["town"].isna().sum()]


def test_parts_of_dates_can_be_asked_for_one_by_one(visits):
    X, _, model = visits
    found = effect(model, X, "day_month", n_contexts=50)
    assert found["value"].tolist() == list(range(1, 11))
    assert found["prediction"].iloc[-1] > found["prediction"].iloc[0] + 4


def test_a_row_differs_where_another_column_changes_the_effect(visits):
    X, _, model = visits
    prices = effect(model, X, "price")
    months = effect(model, X, "day_month")
    width = {
        "price": (prices["high"] - prices["low"]).max() / np.ptp(prices["prediction"]),
        "month": (months["high"] - months["low"]).max() / np.ptp(months["prediction"]),
    }
    assert width["price"] > width["month"]  # the price matters in Bonn more than elsewhere


def test_of_two_classes_it_is_the_probability_of_the_second(shops):
    X, y = shops
    model = EmbeddingClassifier(**SETTINGS).fit(X, np.where(y > np.median(y), "yes", "no"))
    found = effect(model, X, "town", n_contexts=40)
    expected = [
        model.predict_proba(drawn(X, 40).assign(town=town))[:, 1].mean() for town in found["value"]
    ]
    np.testing.assert_allclose(found["prediction"], expected, rtol=1e-6)
    assert "output" not in found


def test_of_several_classes_each_has_its_own_effect(shops):
    X, y = shops
    thirds = np.array(["low", "mid", "top"])[np.searchsorted(np.quantile(y, [0.33, 0.67]), y)]
    model = EmbeddingClassifier(**SETTINGS).fit(X, thirds)
    found = effect(model, X, "town", n_contexts=40)
    assert found["output"].tolist() == ["low"] * 4 + ["mid"] * 4 + ["top"] * 4
    assert found["value"].tolist() == sorted(set(X["town"])) * 3
    np.testing.assert_allclose(found.groupby("value")["prediction"].sum(), 1.0)


def test_bins_are_tried_as_categories(shops):
    X, y = shops
    model = EmbeddingRegressor(discretize={"price": 4}, **SETTINGS).fit(X, y)
    found = effect(model, X, "price")
    assert found["value"].tolist() == model.embeddings_["price"].categories
    assert found["count"].sum() == len(X)


def test_tables_of_every_library_and_restored_models_give_the_same(make_table, tmp_path):
    random = np.random.default_rng(0)
    whole = {
        "town": random.choice(["a", "b"], size=60).tolist(),
        "size": random.normal(size=60).tolist(),
    }
    table, y = make_table(whole), np.arange(60.0)
    model = EmbeddingRegressor(max_epochs=2, smooth=0, random_state=0).fit(table, y)
    model.save(tmp_path / "m.catspace")
    pd.DataFrame(whole).to_csv(tmp_path / "t.csv", index=False)
    found = effect(model, table, "size")
    assert type(found) is type(table)
    expected = np.asarray(found["prediction"]).tolist()
    assert len(expected) == 20
    for one, X in ((model, tmp_path / "t.csv"), (load(tmp_path / "m.catspace"), table)):
        assert np.asarray(effect(one, X, "size")["prediction"]).tolist() == expected


def test_what_cannot_be_asked_is_said(visits):
    X, _, model = visits
    with pytest.raises(InputError, match=r"(?s)no column 'Price'. Did you mean 'price'.*town, .*"):
        effect(model, X, "Price")
    with pytest.raises(InputError, match="'price' has 1 value here, so that nothing changes"):
        effect(model, X.assign(price=7.0), "price")
    with pytest.raises(InputError, match="'price' is missing in all rows"):
        effect(model, X.assign(price=np.nan), "price")
    with pytest.raises(ParameterError, match="n_contexts must be a positive int; got 0"):
        effect(model, X, "price", n_contexts=0)
    with pytest.raises(InputError, match="grid_resolution must be at least 2; got 1"):
        effect(model, X, "price", grid_resolution=1)
