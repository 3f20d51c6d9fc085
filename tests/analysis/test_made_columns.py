"""Columns that are made of others: parts of dates, bins of numbers, buckets of values.

Whatever takes a table takes the user's own, and says of it what it says of the table that the
embedded columns would make by hand.
"""

import numpy as np
import pandas as pd
import pytest

from catspace import EmbeddingRegressor, Embeddings
from catspace.analysis import (
    compare_distances,
    explain_direction,
    model_distance,
    subspace_correlation,
    target_along,
)
from catspace.embeddings import Embedding
from catspace.exceptions import InputError

MADE = ["day_month", "day_day_of_week", "price"]


@pytest.fixture(scope="module")
def visits():
    random = np.random.default_rng(0)
    n = 800
    day = pd.Timestamp("2023-01-01") + pd.to_timedelta(random.integers(0, 730, size=n), "D")
    town = random.choice(["Aachen", "Bonn", "Celle", "Dresden", "Essen"], size=n)
    price = random.gamma(3.0, 4.0, size=n)
    X = pd.DataFrame({"day": day, "town": town, "price": price, "size": random.normal(size=n)})
    y = day.month + 2.0 * (day.day_of_week >= 5) + np.abs(price - 12) + 3.0 * (town == "Celle")
    return X, y.to_numpy() + random.normal(0, 0.1, size=n)


@pytest.fixture(scope="module")
def made(visits):
    X, y = visits
    return EmbeddingRegressor(
        date_parts=["month", "day_of_week"],
        discretize={"price": 6},
        hash_buckets={"town": 1_000},
        max_epochs=5,
        random_state=0,
    ).fit(X, y)


@pytest.fixture(scope="module")
def by_hand(visits, made):
    """Return the table as the vocabularies know it, and embeddings that know no other."""
    X, _ = visits
    edges = made.embeddings_["price"].origin.bins.edges
    labels = made.embeddings_["price"].categories
    table = X.drop(columns="day").assign(
        day_month=X["day"].dt.month,
        day_day_of_week=X["day"].dt.day_of_week + 1,
        price=[labels[sum(price >= edge for edge in edges)] for price in X["price"]],
    )
    plain = {
        name: Embedding(name, each.vocabulary, each.table, each.backend)
        for name, each in made.embeddings_.items()
    }
    return table, Embeddings(plain)


@pytest.mark.parametrize("column", [*MADE, "town"])
def test_codes_are_those_that_the_network_reads(visits, made, column):
    X, _ = visits
    place = list(made.embeddings_).index(column)
    embedding = made.embeddings_[column]
    np.testing.assert_array_equal(embedding.codes_in(X), made.encode(X).codes[place])
    kept = embedding.select(np.arange(2))
    expected = np.where(embedding.codes_in(X) < 5, embedding.codes_in(X), 2)  # all else: unseen
    np.testing.assert_array_equal(kept.codes_in(X), expected)


@pytest.mark.parametrize("column", MADE)
def test_the_target_along_a_direction_is_that_of_the_table_by_hand(visits, made, by_hand, column):
    (X, y), (table, plain) = visits, by_hand
    found = target_along(made, column, X, y)
    pd.testing.assert_frame_equal(found, target_along(plain, column, table, y))
    first = found[found["direction"] == "component 1"].set_index("category")["target"]
    naive = pd.Series(y).groupby(table[column].to_numpy()).mean()
    np.testing.assert_allclose(first[naive.index], naive)


def test_a_model_file_knows_what_its_columns_are_made_of(visits, made, tmp_path):
    X, y = visits
    made.save(tmp_path / "m.catspace")
    for column in MADE:
        pd.testing.assert_frame_equal(
            target_along(tmp_path / "m.catspace", column, X, y), target_along(made, column, X, y)
        )


@pytest.mark.parametrize("column", MADE)
def test_a_direction_is_explained_by_all_but_what_the_column_is_made_of(
    visits, made, by_hand, column
):
    (X, _), (table, plain) = visits, by_hand
    a, b = made.embeddings_[column].categories[:2]
    found = explain_direction(made, column, a, b, X).set_index("column")["explained"]
    assert set(found.index) == set(X.columns) - {"price" if column == "price" else "day"}
    expected = explain_direction(plain, column, a, b, table).set_index("column")["explained"]
    for other in ("town", "size"):
        assert found[other] == pytest.approx(expected[other])


def test_spaces_are_correlated_as_the_features_that_transform_gives(visits, made):
    X, _ = visits
    features = pd.DataFrame(made.transform(X), columns=made.get_feature_names_out())
    found = subspace_correlation(made, X).set_index(["column_a", "column_b"])
    assert len(found) == 6
    blocks = {
        name: [f"{name}_{i}" for i in range(embedding.dim)]
        for name, embedding in made.embeddings_.items()
    }
    everything = features.astype(float).corr().abs()
    for a, b in found.index:
        naive = everything.loc[blocks[a], blocks[b]].to_numpy()
        assert found.loc[(a, b), "mean"] == pytest.approx(naive.mean(), rel=1e-4)
        assert found.loc[(a, b), "largest"] == pytest.approx(naive.max(), rel=1e-4)


def naive_distance(model, contexts, tables):
    """Return mean absolute differences of what a model predicts for changed contexts."""
    outputs = [model.predict(table[contexts.columns]) for table in tables]
    return np.array([[np.abs(p - q).mean() for q in outputs] for p in outputs])


def date_in(month, like):
    """Return the first date of a month that is the same day of the week as another date."""
    days = pd.date_range(f"2023-{month:02d}-01", periods=7)
    return days[days.day_of_week == like.day_of_week][0]


@pytest.fixture(scope="module")
def contexts(visits):
    X, _ = visits
    rows = np.sort(np.random.default_rng(0).choice(len(X), size=30, replace=False))
    return X.iloc[rows]


def test_the_models_distance_between_months_is_its_naive_definition(visits, made, contexts):
    found = model_distance(made, visits[0], "day_month", n_contexts=30)
    assert found.categories == list(range(1, 13))
    tables = [
        contexts.assign(day=[date_in(month, day) for day in contexts["day"]])
        for month in found.categories
    ]
    expected = naive_distance(made, contexts, tables)
    np.testing.assert_allclose(found.values, expected, rtol=1e-6, atol=1e-9)


def test_the_models_distance_between_bins_is_its_naive_definition(visits, made, contexts):
    found = model_distance(made, visits[0], "price", n_contexts=30)
    edges = made.embeddings_["price"].origin.bins.edges
    inside = [edges[0] - 1, *edges]  # the lower edge belongs to a bin
    expected = naive_distance(made, contexts, [contexts.assign(price=price) for price in inside])
    np.testing.assert_allclose(found.values, expected, rtol=1e-6, atol=1e-9)


def test_the_models_distance_between_buckets_is_that_of_their_values(visits, made, contexts):
    found = model_distance(made, visits[0], "town", n_contexts=30)
    vocabulary = made.embeddings_["town"].vocabulary
    towns = sorted(set(visits[0]["town"]), key=lambda town: vocabulary.code(town, "town"))
    assert len(found) == len(towns)  # no two of them share a bucket
    expected = naive_distance(made, contexts, [contexts.assign(town=town) for town in towns])
    np.testing.assert_allclose(found.values, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("column", [*MADE, "town"])
def test_the_models_distances_are_set_against_the_learned_ones(visits, made, column):
    distances = model_distance(made, visits[0], column, n_contexts=10)
    found = compare_distances(made, column, distances)
    a, b = np.triu_indices(len(distances), k=1)
    vectors = made.embeddings_[column].vectors
    np.testing.assert_allclose(found["metric"], distances.values[a, b])
    np.testing.assert_allclose(
        found["embedding"], np.linalg.norm(vectors[a] - vectors[b], axis=1), rtol=1e-5
    )


@pytest.mark.parametrize(
    "ask",
    [
        lambda model, X, y: target_along(model, "day_month", X, y),
        lambda model, X, y: explain_direction(model, "day_month", 1, 2, X),
        lambda model, X, y: subspace_correlation(model, X),
    ],
)
def test_a_table_without_the_dates_is_answered_with_a_sentence(visits, made, ask):
    X, y = visits
    renamed = X.rename(columns={"day": "days"})
    with pytest.raises(InputError, match=r"^The table has no column 'day'. Did you mean 'days'\?$"):
        ask(made, renamed, y)
    # A part alone could be counted from 0 or from 1.
    with pytest.raises(InputError, match=r"^The table has no column 'day'"):
        ask(made, X.assign(day_month=X["day"].dt.month).drop(columns="day"), y)
