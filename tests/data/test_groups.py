"""Columns that share one vocabulary."""

import numpy as np
import pandas as pd
import pytest

from catspace.data.encoding import TableEncoder
from catspace.data.groups import first_of, read_groups, spread, tables_of
from catspace.data.reading import read_table
from catspace.data.roles import Roles
from catspace.data.statistics import ColumnStatistics, learn_encoder
from catspace.data.vocabulary import MISSING, RARE, UNSEEN
from catspace.exceptions import InputError, ParameterError

GAMES = pd.DataFrame(
    {
        "home": ["Ajax", "Bonn", None, "Ajax"],
        "day": ["Mon", "Tue", "Mon", "Mon"],
        "away": ["Bonn", "Celle", "Ajax", "Ajax"],
    }
)
TEAMS = [["home", "away"]]


def encoder_of(table, **options):
    return learn_encoder(read_table(table), **{"shared_vectors": TEAMS, **options})


def test_columns_that_share_have_one_vocabulary_that_counts_both():
    encoder = encoder_of(GAMES)
    home, away = encoder.vocabularies["home"], encoder.vocabularies["away"]
    assert home is away
    assert home.categories == ["Ajax", "Bonn", "Celle"]
    assert home.counts.tolist() == [1, 0, 0, 4, 2, 1]
    assert encoder.table_of == (0, 1, 0)
    codes = encoder.encode(read_table(GAMES)).codes
    assert codes.tolist() == [[3, 4, MISSING, 3], [3, 4, 3, 3], [4, 5, 3, 3]]


def test_a_category_that_one_of_the_columns_met_is_seen_in_the_other():
    table = pd.DataFrame({"home": ["Celle", "Zell"], "day": ["Mon", "Mon"], "away": ["Bonn", "x"]})
    codes = encoder_of(GAMES).encode(read_table(table)).codes
    assert codes[0].tolist() == [5, UNSEEN]
    assert codes[2].tolist() == [4, UNSEEN]


def test_frequencies_are_of_both_columns_together():
    encoder = encoder_of(GAMES, min_frequency=2)
    assert encoder.vocabularies["home"].categories == ["Ajax", "Bonn"]
    assert encoder.vocabularies["home"].counts[RARE] == 1
    for most in (2, {"home": 2}, {"away": 2, "home": 2}):
        kept = encoder_of(GAMES, max_categories=most).vocabularies["away"]
        assert kept.categories == ["Ajax"]


def test_parts_of_a_table_merge_into_the_whole():
    table = read_table(GAMES)
    roles = Roles.of(table, shared_vectors=TEAMS)
    parts = [ColumnStatistics(table, roles, sample_rows=9, seed=i) for i in range(2)]
    parts[0].add(table.take(np.array([0, 1])))
    parts[1].add(table.take(np.array([2, 3])))
    parts[0].merge(parts[1])
    whole, merged = encoder_of(GAMES), parts[0].encoder()
    for name, vocabulary in whole.vocabularies.items():
        assert merged.vocabularies[name].categories == vocabulary.categories
        assert merged.vocabularies[name].counts.tolist() == vocabulary.counts.tolist()
    # Asked again, nothing is counted twice.
    assert parts[0].encoder().vocabularies["home"].counts.tolist() == [1, 0, 0, 4, 2, 1]


def test_what_is_saved_is_restored_and_holds_each_vocabulary_once():
    document, arrays = encoder_of(GAMES).to_state()
    assert {name.split(".")[1] for name in arrays} == {"0", "1"}
    again = TableEncoder.from_state(document, arrays)
    assert again.vocabularies["home"] is again.vocabularies["away"]
    assert again.table_of == (0, 1, 0)


def test_buckets_can_be_shared():
    encoder = encoder_of(GAMES, hash_buckets={"home": 100, "away": 100})
    assert encoder.vocabularies["home"].n_categories == 3
    with pytest.raises(ParameterError, match=r"^hash_buckets gives 'home' 100 and 'away' none, wh"):
        encoder_of(GAMES, hash_buckets={"home": 100})


def test_a_column_of_nothing_but_missing_values_shares_what_the_other_knows():
    table = GAMES.assign(home=None)
    vocabulary = encoder_of(table).vocabularies["home"]
    assert vocabulary.categories == ["Ajax", "Bonn", "Celle"]
    assert vocabulary.counts[MISSING] == 4


@pytest.mark.parametrize(
    ("shared", "said"),
    [
        ("home", r"^shared_vectors must be a list of lists of names of columns, or None; got 'h"),
        (["home", "away"], r"^shared_vectors must be a list of lists of names"),
        ({"home": "away"}, r"^shared_vectors must be a list of lists of names"),
        ([["home", 3]], r"^shared_vectors must be a list of lists of names"),
        ([["home"]], r"^shared_vectors has a group of 1, \['home'\], and two columns at least"),
        ([[]], r"^shared_vectors has a group of 0"),
        ([["home", "home"]], r"^shared_vectors names 'home' twice, and a column has one table"),
        ([["home", "away"], ["day", "home"]], r"^shared_vectors names 'home' twice"),
        ([["home", "aways"]], r"names 'aways', which is not a categorical column. Did you mean"),
        ([["home", "goals"]], r"names 'goals', which is not a categorical column"),
    ],
)
def test_groups_that_mean_nothing_are_a_sentence(shared, said):
    with pytest.raises(ParameterError, match=said):
        encoder_of(GAMES.assign(goals=[1.5, 2, 3, 4]), shared_vectors=shared)


def test_text_and_numbers_share_nothing():
    table = GAMES.assign(day=[1, 2, 3, 4])
    said = r"^Column 'home' holds text and column 'day' numbers, and they are to share their vec"
    with pytest.raises(InputError, match=said):
        encoder_of(table, categorical_features=["day"], shared_vectors=[["home", "day"]])


def test_what_is_cut_into_bins_has_vectors_of_its_own():
    roles = {"shared_vectors": [["day", "goals"]], "discretize": {"goals": 2}}
    with pytest.raises(ParameterError, match=r"'goals', which is cut into bins of its own"):
        Roles.of(read_table(GAMES.assign(goals=[1.5, 2, 3, 4])), **roles)


def test_what_is_said_of_one_column_is_said_of_all_that_share():
    groups = read_groups((("a", "b"), ["c", "d", "e"]))
    assert spread("smooth", {"b": 2, "x": 1}, groups) == {"b": 2, "x": 1, "a": 2}
    assert spread("smooth", {"c": 2, "d": 2.0}, groups) == {"c": 2, "d": 2, "e": 2}
    with pytest.raises(ParameterError, match=r"^smooth says of 'c' something else than of 'e', a"):
        spread("smooth", {"c": 2, "e": 3}, groups)


def test_tables_are_numbered_by_their_first_columns():
    columns, groups = ["x", "b", "d", "a", "y", "c"], (("a", "b"), ("c", "d"))
    assert tables_of(columns, groups) == (0, 1, 2, 1, 3, 2)
    assert first_of(columns, groups) == {"x": "x", "b": "b", "d": "d", "a": "b", "y": "y", "c": "d"}
