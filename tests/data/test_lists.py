"""Columns of lists, and the codes that are made of them."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from catspace.data.lists import ListColumn, fill_slots, insert_missing, split_lists
from catspace.data.reading import read_table
from catspace.data.roles import Roles
from catspace.data.statistics import ColumnStatistics
from catspace.exceptions import InputError

LISTS = st.lists(st.none() | st.lists(st.none() | st.sampled_from("abcd"), max_size=5), max_size=12)


def to_lists(column):
    """Return the lists of a column, naively; one missing item is a missing list too."""
    assert isinstance(column, ListColumn)
    ((_, items),) = column.items.parts
    ends = np.cumsum(column.lengths)
    return [
        items[end - length : end].to_pylist()
        for end, length in zip(ends.tolist(), column.lengths.tolist(), strict=True)
    ]


@given(LISTS)
def test_whatever_library_has_the_lists_they_are_the_same(lists):
    expected = [[None] if one is None else one for one in lists]
    arrow = pa.table({"tags": pa.array(lists, pa.list_(pa.string()))})
    views = pa.table({"tags": pa.array(lists, pa.list_view(pa.string()))})
    sliced = pa.table({"tags": pa.array([["z"], *lists], pa.large_list(pa.string()))})[1:]
    polars = pl.DataFrame({"tags": lists}, schema={"tags": pl.List(pl.String)})
    for table in (arrow, views, sliced, polars):
        assert to_lists(read_table(table)["tags"]) == expected
    if any(one is not None for one in lists):
        for table in (pd.DataFrame({"tags": lists}), {"tags": lists}):
            assert to_lists(read_table(table)["tags"]) == expected


@given(LISTS, st.randoms(use_true_random=False))
def test_some_of_the_rows_have_their_own_items(lists, random):
    column = read_table(pa.table({"tags": pa.array(lists, pa.list_(pa.string()))}))["tags"]
    rows = random.sample(range(len(lists)), len(lists) // 2)
    taken = column.take(np.array(rows, dtype=int))
    assert to_lists(taken) == [to_lists(column)[row] for row in rows]


def test_a_missing_list_is_a_missing_item():
    items, lengths = insert_missing(
        pa.array(["a", "b"]), np.array([0, 2, 0]), np.array([True, False, False])
    )
    assert items.to_pylist() == [None, "a", "b"]
    assert lengths.tolist() == [1, 2, 0]


@given(LISTS)
def test_slots_hold_the_codes_of_a_list_in_their_order(lists):
    column = read_table(pa.table({"tags": pa.array(lists, pa.list_(pa.string()))}))["tags"]
    of_items = {None: 0, "a": 3, "b": 4, "c": 5, "d": 6}
    flat = [of_items[item] for one in to_lists(column) for item in one]
    slots = fill_slots(column, np.array(flat, dtype=np.int32), 6, absent=7)
    for row, one in enumerate(to_lists(column)):
        expected = sorted(of_items[item] for item in one)
        assert slots[:, row].tolist() == expected + [7] * (6 - len(expected))


def test_text_is_split_as_python_splits_it():
    cells = ["a|b", "a", "", None, "|", "b||a|", "ä|日本"]
    table = split_lists(read_table(pa.table({"tags": cells})), {"tags": "|"})
    naive = [[None] if one is None else [s for s in one.split("|") if s] for one in cells]
    assert to_lists(table["tags"]) == naive


def test_blocks_of_lists_merge_into_the_whole():
    lists = [["a", "b"], None, [], ["b", "b", "c"], ["a"], [None]]
    tables = [
        read_table(pa.table({"tags": pa.array(part, pa.list_(pa.string()))}))
        for part in (lists, lists[:2], lists[2:])
    ]
    roles = Roles.of(tables[0])
    whole, first, second = (ColumnStatistics(table, roles, sample_rows=9) for table in tables)
    for statistics, table in zip((whole, first, second), tables, strict=True):
        statistics.add(table)
    second.merge(first)
    for encoder in (whole.encoder(), second.encoder()):
        assert encoder.lists == {"tags": 3}
        assert encoder.vocabularies["tags"].categories == ["a", "b", "c"]
        assert encoder.vocabularies["tags"].counts.tolist() == [2, 0, 0, 2, 3, 1]
        assert encoder.encode(tables[0]).codes.tolist() == [
            [3, 0, 6, 4, 3, 0],
            [4, 6, 6, 4, 6, 6],
            [6, 6, 6, 5, 6, 6],
        ]


def test_codes_of_columns_come_before_the_further_items_of_lists():
    table = read_table({"tags": [["x", "y"], []], "town": ["Bonn", "Ulm"], "more": [["u"], ["u"]]})
    statistics = ColumnStatistics(table, Roles.of(table), sample_rows=9)
    statistics.add(table)
    encoder = statistics.encoder()
    assert encoder.encode(table).codes.tolist() == [[3, 5], [3, 4], [3, 3], [4, 5]]
    assert encoder.n_codes == (6, 5, 5, 6)
    assert {name: place.codes for name, place in encoder.places.items()} == {
        "tags": (0, 3),
        "town": (1,),
        "more": (2,),
    }
    assert encoder.repeat(np.array([3, 4])).tolist() == [[3, 4], [3, 4], [3, 4], [5, 5]]


def test_lists_are_no_numbers_and_no_single_values():
    column = read_table({"tags": [[1, 2], [3]]})["tags"]
    with pytest.raises(InputError, match="'tags' holds lists where numbers are needed"):
        column.to_numbers()
    with pytest.raises(InputError, match="'tags' holds lists where each row has one value"):
        _ = column.factors
