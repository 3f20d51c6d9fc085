import warnings
from datetime import date, datetime, time, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from catspace.data.reading import read_table
from catspace.data.vocabulary import (
    MISSING,
    N_SPECIAL,
    RARE,
    UNSEEN,
    ValueCounts,
    Vocabulary,
    category_array,
)
from catspace.exceptions import CatspaceWarning, InputError, UnknownCategoryError


def column(values, name="x"):
    return read_table(pl.DataFrame({name: values}, strict=False)).columns[0]


def objects(values):
    array = np.empty((len(values), 1), dtype=object)
    array[:, 0] = values
    return read_table(array).columns[0]


def naive_codes(fitted, new):
    """Look each value up in a dict, one row at a time."""
    is_missing = [value is None or value != value for value in fitted]
    known = {value for value, gone in zip(fitted, is_missing, strict=True) if not gone}
    numbers = sorted(value for value in known if not isinstance(value, str))
    texts = sorted(value for value in known if isinstance(value, str))
    code = {value: N_SPECIAL + i for i, value in enumerate([*numbers, *texts])}
    return [MISSING if v is None or v != v else code.get(v, UNSEEN) for v in new]


values = st.one_of(
    st.none(),
    st.integers(-5, 5),
    st.sampled_from([float("nan"), -0.0, 0.5, 1.0, 2.5, -3.0]),
    st.booleans(),
    st.sampled_from(["", "1", "a", "b", "é", "1.0"]),
)


@given(st.lists(values, min_size=1), st.lists(values, min_size=1))
def test_codes_are_those_of_a_dict_lookup(fitted, new):
    vocabulary = Vocabulary.fit(objects(fitted))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CatspaceWarning)
        assert vocabulary.encode(objects(new)).tolist() == naive_codes(fitted, new)


@given(st.lists(st.one_of(st.none(), st.text()), min_size=1))
def test_categories_and_codes_are_a_round_trip(texts):
    vocabulary = Vocabulary.fit(column(pl.Series(texts, dtype=pl.String)))
    codes = vocabulary.encode(column(pl.Series(texts, dtype=pl.String)))
    back = [None if code == MISSING else vocabulary.categories[code - N_SPECIAL] for code in codes]
    assert back == texts


@given(st.lists(st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)), min_size=1))
def test_large_integers_are_kept_apart(numbers):
    data = column(pl.Series(numbers, dtype=pl.Int64))
    assert Vocabulary.fit(data).n_categories == len({n for n in numbers if n is not None})


def test_integers_past_63_bits_are_kept_apart():
    hashes = pl.Series([2**64 - 1, 2**64 - 2, 1], dtype=pl.UInt64)
    vocabulary = Vocabulary.fit(column(hashes))
    assert vocabulary.categories == [1, 2**64 - 2, 2**64 - 1]
    assert vocabulary.encode(column(pl.Series([1, 7]))).tolist() == [N_SPECIAL, UNSEEN]


def assert_same_vocabulary(first, second):
    first, second = first.to_state(), second.to_state()
    assert first.keys() == second.keys()
    for name, array in first.items():
        if isinstance(array, pa.Array):
            assert array.equals(second[name]), name  # the type too
        else:
            np.testing.assert_array_equal(array, second[name])


def count(blocks):
    counts = ValueCounts()
    for block in blocks:
        counts.add(block)
    return counts


@given(st.lists(st.lists(values), min_size=1), st.integers(1, 3), st.integers(0, 3), st.data())
def test_blocks_of_a_column_give_the_vocabulary_of_the_whole(blocks, min_frequency, n_first, data):
    whole = Vocabulary.fit(objects([value for block in blocks for value in block]), min_frequency)
    columns = [objects(block) for block in data.draw(st.permutations(blocks))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("catspace.data.vocabulary._SMALLEST_MERGE", 2)
        counts = count(columns[:n_first])
        counts.merge(count(columns[n_first:]))
    assert_same_vocabulary(counts.vocabulary(min_frequency), whole)


@pytest.mark.parametrize(
    "blocks",
    [
        [["b", "a"], [None, "c", "a"]],
        [[1.0, 2.0, None], [2.5], [None, None]],
        [[2**64 - 1], [1, 7], [1]],
        [[True], [False, None]],
        [[date(2020, 1, 1)], [date(2013, 1, 1), None]],
        [[b"x"], [b"a", b"x"]],
    ],
    ids=["text", "numbers", "unsigned", "booleans", "dates", "bytes"],
)
def test_each_kind_of_value_can_be_counted_in_blocks(blocks):
    dtype = pl.UInt64 if blocks[0] == [2**64 - 1] else None
    blocks = [pl.Series(block, dtype=dtype or pl.Series(blocks[0]).dtype) for block in blocks]
    counts = count(map(column, blocks))
    assert_same_vocabulary(counts.vocabulary(), Vocabulary.fit(column(pl.concat(blocks))))


def test_a_few_values_are_found_among_many():
    vocabulary = Vocabulary.fit(column([f"id {i:03d}" for i in range(500)]))
    some = pa.DictionaryArray.from_arrays([0, 1, 2, 3, None], ["id 007", "id 499", "x", "id 007"])
    codes = vocabulary.encode(read_table({"x": some}).columns[0])
    assert codes.tolist() == [N_SPECIAL + 7, N_SPECIAL + 499, UNSEEN, N_SPECIAL + 7, MISSING]


@pytest.mark.parametrize("n_asked", [1, 4, 6, 500, 5_000])
@pytest.mark.parametrize(
    "known",
    [
        [f"id {i:03d}" for i in range(1_000)],
        [*range(-500, 500)],
        [i / 8 for i in range(1_000)],
        [f"{i}".encode() for i in range(1_000)],
        [datetime(2020, 1, 1) + timedelta(hours=i) for i in range(1_000)],
        [timedelta(seconds=i) for i in range(-500, 500)],
        [time(i // 60, i % 60) for i in range(1_000)],
        [False, True],
    ],
    ids=lambda known: type(known[0]).__name__,
)
def test_values_are_found_however_many_are_asked_for(known, n_asked):
    """Few are searched for one by one, many by a table of hashes: both are what a dict finds."""
    random = np.random.default_rng(0)
    learned, asked = known[::2], [known[i] for i in random.integers(0, len(known), n_asked)]
    vocabulary = Vocabulary.fit(objects(learned))
    code = {value: N_SPECIAL + i for i, value in enumerate(sorted(learned))}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CatspaceWarning)
        found = vocabulary.encode(objects(asked))
    assert found.tolist() == [code.get(value, UNSEEN) for value in asked]


def test_a_row_of_a_table_brings_its_categories_along_and_not_their_codes():
    vocabulary = Vocabulary.fit(column([*"abcd"]))
    row = pd.Series(pd.Categorical([*"zdcba"], categories=[*"zdcba"]))[3:4]
    (found,) = read_table(row.to_frame("x")).columns
    assert vocabulary.encode(found).tolist() == [N_SPECIAL + 1]


def test_missing_rare_and_unseen_use_different_rows():
    vocabulary = Vocabulary.fit(column(["a", "a", "b", None]), min_frequency=2)
    assert vocabulary.encode(column(["a", "b", "c", None])).tolist() == [
        N_SPECIAL,
        RARE,
        UNSEEN,
        MISSING,
    ]
    assert vocabulary.counts.tolist() == [1, 1, 0, 2]
    assert vocabulary.categories == ["a"]


def test_one_and_one_point_zero_are_one_category_and_the_text_is_another():
    vocabulary = Vocabulary.fit(column([1, 2]))
    assert vocabulary.encode(column([1.0, 2.0])).tolist() == [3, 4]
    assert vocabulary.encode(column([1.5])).tolist() == [UNSEEN]
    assert vocabulary.encode(column([True])).tolist() == [3]
    with pytest.warns(CatspaceWarning):
        assert vocabulary.encode(column(["1"])).tolist() == [UNSEEN]


def test_numbers_that_became_text_draw_one_warning_that_says_so():
    vocabulary = Vocabulary.fit(column([1, 2], name="store"))
    with pytest.warns(CatspaceWarning) as caught:
        vocabulary.encode(column(["1", "2", "3"], name="store"))
    assert [str(warning.message) for warning in caught] == [
        "Column 'store' held numbers in fit and holds text now, so its values count as unseen.\n"
        "Hint: convert the column to numbers first."
    ]


def test_codes_depend_neither_on_row_order_nor_on_unused_categories():
    expected = Vocabulary.fit(column(["b", "a", "c"])).categories
    assert Vocabulary.fit(column(["c", "b", "a"])).categories == expected
    dtype = pd.CategoricalDtype(["zzz", "c", "b", "a"], ordered=True)
    frame = pd.DataFrame({"x": pd.Categorical(["a", "b", "c"], dtype=dtype)})
    assert Vocabulary.fit(read_table(frame).columns[0]).categories == expected


def test_an_all_missing_column_has_no_categories_and_still_encodes():
    vocabulary = Vocabulary.fit(read_table(pa.table({"x": pa.nulls(2)})).columns[0])
    assert vocabulary.n_categories == 0
    assert vocabulary.encode(column(["a", None])).tolist() == [UNSEEN, MISSING]


def test_negative_zero_is_zero():
    vocabulary = Vocabulary.fit(column([0.0, 0.5]))
    assert vocabulary.encode(column([-0.0])).tolist() == [N_SPECIAL]


def test_asking_for_a_category_that_is_not_there_suggests_one_that_is():
    vocabulary = Vocabulary.fit(column(["Hessen", "Bayern"]))
    assert vocabulary.code("Bayern", "state") == N_SPECIAL
    assert vocabulary.code(None, "state") == MISSING
    with pytest.raises(UnknownCategoryError, match=r"no category 'hesen'. Did you mean 'Hessen'?"):
        vocabulary.code("hesen", "state")
    numbers = Vocabulary.fit(column([12, 13]))
    with pytest.raises(UnknownCategoryError, match=r"no category '12'. Did you mean 12?"):
        numbers.code("12", "store")


def test_state_is_a_round_trip():
    vocabulary = Vocabulary.fit(objects([1, "a", None, "b", "b"]), min_frequency=2)
    again = Vocabulary.from_state(vocabulary.to_state())
    assert again.categories == vocabulary.categories
    np.testing.assert_array_equal(
        again.encode(objects(["b", 1, 5, None])), vocabulary.encode(objects(["b", 1, 5, None]))
    )


def test_minus_one_is_not_the_largest_unsigned_integer():
    vocabulary = Vocabulary.fit(column(pl.Series([2**64 - 1, 0], dtype=pl.UInt64)))
    assert vocabulary.encode(column(pl.Series([-1, 0]))).tolist() == [UNSEEN, N_SPECIAL]


def test_large_integers_beside_fractions_are_refused_and_not_merged():
    for values in ([2**53, 2**53 + 1, 0.5], [2**53 + 1, "x", 0.5], [10**17 + 1, 1e17]):
        with pytest.raises(InputError, match=r"^Column 'x0' holds integers past 2"):
            Vocabulary.fit(objects(values))
    assert Vocabulary.fit(objects([2**53, 0.5])).categories == [0.5, 2.0**53]


def test_categories_are_an_array_as_they_are_or_text_where_types_differ():
    assert category_array([3, 1, 2], [2, 0, 0]).to_pylist() == [2, 3, 3]
    assert category_array(["a", 1, 2**70]).to_pylist() == ["a", "1", str(2**70)]
    assert category_array(["a"], []).to_pylist() == []


def naive_own_rows(values, min_frequency, max_categories):
    """Return the values with a row of their own: the most frequent, first in order among equals."""
    counts = {value: values.count(value) for value in values}
    enough = [value for value in counts if counts[value] >= min_frequency]
    numbers = [value for value in enough if not isinstance(value, str)]
    texts = [value for value in enough if isinstance(value, str)]
    in_order = [*sorted(numbers), *sorted(texts)]
    if len(in_order) + (len(in_order) < len(counts)) <= max_categories:
        return in_order
    # The row that the others have in common is one of those that are allowed.
    most = sorted(in_order, key=lambda value: -counts[value])[: max_categories - 1]
    return [value for value in in_order if value in most]


@given(
    st.lists(st.sampled_from([1, 2, 3, "a", "b", "c"]), min_size=1),
    st.integers(1, 3),
    st.integers(1, 4),
)
def test_the_most_frequent_values_have_a_row_of_their_own(data, min_frequency, max_categories):
    vocabulary = Vocabulary.fit(objects(data), min_frequency, max_categories)
    kept = naive_own_rows(data, min_frequency, max_categories)
    assert vocabulary.categories == kept
    expected = [N_SPECIAL + kept.index(value) if value in kept else RARE for value in data]
    assert vocabulary.encode(objects(data)).tolist() == expected
    assert vocabulary.counts[RARE] == expected.count(RARE)


def test_of_equally_frequent_values_the_first_in_order_are_kept():
    for order in (["d", "a", "c", "b"], ["b", "c", "a", "d"]):
        assert Vocabulary.fit(column([*order, "d"]), max_categories=3).categories == ["a", "d"]
