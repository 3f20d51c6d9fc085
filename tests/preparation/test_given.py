"""Vectors that a user has, in whatever form, become one: rows that a column's table starts from."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from catspace import EmbeddingRegressor
from catspace.data.reading import read_table
from catspace.data.statistics import learn_encoder
from catspace.data.vocabulary import MISSING, N_SPECIAL, RARE, UNSEEN
from catspace.exceptions import CatspaceWarning, InputError, ParameterError
from catspace.preparation.given import check_frozen, read_given


@pytest.fixture(scope="module")
def towns():
    """Return a fitted model of towns and of numbers of shops."""
    X = pd.DataFrame({"town": ["Aachen", "Bonn", "Celle", None] * 50, "shop": [3, 7, 12, 7] * 50})
    model = EmbeddingRegressor(
        categorical_features=["shop"], max_epochs=2, random_state=0, embedding_dim=2
    )
    return model.fit(X, [1.0, 1.1, 3.0, 2.0] * 50)


def vocabulary_of(values, **options):
    options.setdefault("categorical_features", ["c"])
    return learn_encoder(read_table({"c": values}), **options).vocabularies["c"]


def vectors_for(source, values, column="c"):
    """Return the vectors where categories start, in their order."""
    given = read_given({column: source})[column]
    return given.table[given.find(vocabulary_of(values))[N_SPECIAL:]]


def test_an_embedding_embeddings_a_model_and_its_file_give_the_same(towns, tmp_path):
    town = towns.embeddings_["town"]
    towns.save(tmp_path / "towns.catspace")
    expected = np.stack([town.vector("Bonn"), town.vector("Celle"), town.table[UNSEEN]])
    sources = [town, towns, towns.embeddings_, tmp_path / "towns.catspace"]
    for source in sources:
        found = vectors_for(source, ["Celle", "Zell", "Bonn"], column="town")
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("column", ["town", "shop"])
@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_frame_that_an_embedding_gave_has_its_vectors_and_counts(towns, column, make):
    embedding = towns.embeddings_[column]
    frame = make(embedding.to_arrow().to_pydict())
    given = read_given({column: frame})[column]
    assert given.dim == 2
    rows = given.find(embedding.vocabulary)[N_SPECIAL:]
    np.testing.assert_array_equal(given.table[rows], embedding.vectors)
    np.testing.assert_array_equal(given.counts[rows], embedding.counts)
    np.testing.assert_allclose(given.table[UNSEEN], embedding.vectors.mean(axis=0), rtol=1e-6)


def test_a_frame_with_special_rows_says_what_missing_and_unseen_are(towns):
    embedding = towns.embeddings_["town"]
    given = read_given({"c": embedding.to_frame(include_special=True)})["c"]
    np.testing.assert_array_equal(given.table, embedding.table)
    rows = given.find(vocabulary_of(["Bonn", None]))
    assert rows.tolist() == [MISSING, UNSEEN, UNSEEN, N_SPECIAL + 1]  # no value was rare there


def test_files_of_tables_are_read_as_frames(towns, tmp_path):
    shop = towns.embeddings_["shop"]
    shop.to_parquet(tmp_path / "shop.parquet")
    shop.to_frame().to_csv(tmp_path / "shop.csv", index=False)
    for name in ("shop.parquet", "shop.csv"):
        np.testing.assert_allclose(vectors_for(tmp_path / name, [3, 7, 12]), shop.vectors)


def test_words_of_a_file_are_the_categories_as_they_are_written(towns, tmp_path):
    shop = towns.embeddings_["shop"]
    shop.to_word2vec(tmp_path / "shop.txt")
    np.testing.assert_array_equal(
        vectors_for(str(tmp_path / "shop.txt"), [12, 3]), shop.vectors[::2]
    )
    (tmp_path / "v.txt").write_text("2 1\nNew_York 4\nBonn 2\n")
    assert vectors_for(tmp_path / "v.txt", ["Aachen", "Bonn", "New York"]).tolist() == [
        [3],
        [2],
        [4],
    ]


def test_categories_are_found_by_name_else_they_are_what_is_no_number():
    expected = [[1.0], [2.0]]
    by_column = pd.DataFrame({"c": [5, 6], "x": [1.0, 2.0]})
    assert vectors_for(by_column, [5, 6]).tolist() == expected
    by_type = pd.DataFrame({"x": [1, 2], "who": ["a", "b"]})
    assert vectors_for(by_type, ["a", "b"]).tolist() == expected
    # Without a column called category, a count is a number like any other.
    assert read_given({"c": pd.DataFrame({"who": ["a"], "count": [3], "x": [1]})})["c"].dim == 2


def test_numbers_are_the_same_category_in_any_type_and_text_is_another():
    frame = pd.DataFrame({"category": [1.0, 2.0], "x": [1.0, 2.0]})
    assert vectors_for(frame, np.array([1, 2], dtype=np.int16)).tolist() == [[1], [2]]
    with pytest.warns(CatspaceWarning, match=r"has a vector for none of the 2 categories of col"):
        found = vectors_for(frame, ["1", "2"])
    assert found.tolist() == [[1.5], [1.5]]


def test_a_missing_category_is_that_of_missing_values():
    frame = pd.DataFrame({"category": ["a", None, "b"], "x": [1.0, 5.0, 2.0]})
    given = read_given({"c": frame})["c"]
    assert given.table[given.find(vocabulary_of(["a", None]))[MISSING]] == 5


def test_what_was_rare_there_has_no_vector_of_its_own():
    X = pd.DataFrame({"c": ["a"] * 30 + ["b"] * 30 + ["x", "y"]})
    settings = {"min_frequency": 5, "max_epochs": 1, "random_state": 0}
    model = EmbeddingRegressor(**settings).fit(X, np.arange(62.0))
    rows = read_given({"c": model})["c"].find(vocabulary_of(["a", "x"]))
    assert rows.tolist() == [UNSEEN, RARE, UNSEEN, N_SPECIAL, UNSEEN]


def test_buckets_start_from_buckets_of_a_model_that_has_as_many():
    values = [f"user {i}" for i in range(40)]
    X = pd.DataFrame({"c": values * 3})
    settings = {"hash_buckets": {"c": 16}, "max_epochs": 1, "random_state": 0}
    model = EmbeddingRegressor(**settings).fit(X, np.arange(120.0))
    here = vocabulary_of(values[:5], hash_buckets={"c": 16})
    given = read_given({"c": model})["c"]
    table = model.embeddings_["c"]
    expected = [table.vector(name) for name in here.categories]
    np.testing.assert_array_equal(given.table[given.find(here)[N_SPECIAL:]], expected)
    # Values start from the buckets that they fall into.
    found = given.table[given.find(vocabulary_of(values[:5]))[N_SPECIAL:]]
    np.testing.assert_array_equal(found, [table.vector(name) for name in sorted(values[:5])])
    for source in (model, pd.DataFrame({"category": values[:5], "x": 1.0})):
        with pytest.raises(ParameterError, match=r"'c', whose values are hashed into 8 buckets"):
            read_given({"c": source})["c"].find(vocabulary_of(values, hash_buckets={"c": 8}))


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        ({"category": ["a", "b", "a"], "x": [1.0, 2, 3]}, r"same category: \['a'\]"),
        ({"category": ["a", None, None], "x": [1.0, 2, 3]}, r"same category: \[None\]"),
        ({"category": [1, 2, 1.0], "x": [1.0, 2, 3]}, r"same category: \[1\]"),
        ({"category": ["a", "b"], "x": [1.0, None]}, r"no finite numbers, in 1 of its 2 vectors"),
        ({"category": ["a", "b"], "x": [1.0, 1e300]}, r"no finite numbers, in 1 of its 2 vectors"),
        ({"category": ["a", "b"]}, r"holds no vectors: a column of numbers is needed"),
        ({"category": ["a"], "count": [1], "evidence": [0.5]}, r"holds no vectors"),
        ({"category": [], "x": []}, r"holds no vectors"),
        ({"category": [None], "x": [1.0]}, r"holds no categories"),
        ({"category": ["a"], "x": [1.0], "note": ["?"]}, r"holds 'note' beside the categories in"),
        ({"a": [1], "x": [1.0]}, r"is a frame with 0 columns that are no numbers"),
        ({"a": ["a"], "b": ["b"], "x": [1.0]}, r"is a frame with 2 columns that are no numbers"),
    ],
)
def test_a_frame_that_cannot_be_vectors_is_a_sentence(frame, said):
    with pytest.raises(InputError, match=r"^initial_vectors\['c'\] .*" + said):
        read_given({"c": pd.DataFrame(frame)})


def test_an_embedding_is_checked_like_any_other_source(towns):
    town = towns.embeddings_["town"]
    doubles = replace(town, table=town.table.astype(np.float64))
    assert read_given({"c": doubles})["c"].table.dtype == np.float32
    broken = replace(town, table=np.where(np.arange(2) == 1, np.nan, town.table))
    with pytest.raises(InputError, match=r"^initial_vectors\['c'\] holds values that are no fin"):
        read_given({"c": broken})


@pytest.mark.parametrize("line", ["b nan", "b inf", "b -inf", "b 1e300"])
def test_a_file_of_vectors_that_are_not_finite_is_a_sentence(tmp_path, line):
    (tmp_path / "v.txt").write_text(f"2 1\na 1\n{line}\n")
    with pytest.raises(InputError, match=r"no finite numbers, in 1 of its 2 vectors"):
        read_given({"c": tmp_path / "v.txt"})


def test_so_is_one_that_has_a_word_twice(tmp_path):
    (tmp_path / "v.txt").write_text("3 1\na 1\nb 2\na 3\n")
    with pytest.raises(InputError, match=r"several vectors to the same category: \['a'\]"):
        read_given({"c": tmp_path / "v.txt"})


@pytest.mark.parametrize("wrong", ["towns", 3, [1], Path("x")])
def test_initial_vectors_are_by_column(wrong):
    said = r"^initial_vectors must be a dict of column to vectors, or None; got "
    with pytest.raises(ParameterError, match=said):
        read_given(wrong)


def test_what_is_no_source_of_vectors_is_a_sentence(towns):
    with pytest.raises(ParameterError, match=r"must be an Embedding, a fitted model, .* got int\."):
        read_given({"c": 3})
    with pytest.raises(ParameterError, match=r"is an EmbeddingRegressor that is not fitted yet"):
        read_given({"c": EmbeddingRegressor()})
    with pytest.raises(ParameterError, match=r"\['Town'\]: There is no embedding of a column"):
        read_given({"Town": towns})


def test_only_columns_with_given_vectors_can_be_frozen(towns):
    given = read_given({"town": towns})
    assert check_frozen(None, given) == []
    assert check_frozen(("town",), given) == ["town"]
    for wrong in ("town", {"town": True}, 3, [3]):
        with pytest.raises(ParameterError, match=r"^frozen_columns must be a list of names"):
            check_frozen(wrong, given)
    with pytest.raises(ParameterError, match=r"^frozen_columns names 'shop', which has no initial"):
        check_frozen(["town", "shop"], given)
