"""Tables in files: what their columns are, and what happens when the files disagree or change."""

import datetime
import os

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

from catspace.exceptions import InputError
from catspace.storage.blocks import FileBlocks, check_block, is_source, open_blocks
from catspace.storage.files import open_file

DAY = datetime.date(2020, 1, 1)


@pytest.fixture
def write(tmp_path):
    """Write tables to files a, b, … of a folder, and return the folder."""

    def to_files(*tables, ending="parquet"):
        for letter, table in zip("abcdef", tables, strict=False):
            if ending == "parquet":
                pq.write_table(pa.table(table), tmp_path / f"{letter}.parquet")
            else:
                (tmp_path / f"{letter}.csv").write_text(table)
        return tmp_path

    return to_files


def rows(source, n=100):
    """Return all rows as tuples."""
    found = []
    for table in open_blocks(source).blocks(n):
        columns = [column.parts[0][1].to_pylist() for column in table.columns]
        found.extend(zip(*columns, strict=True))
    return found


def message_of(action):
    with pytest.raises(InputError) as caught:
        action()
    return str(caught.value)


def test_a_path_a_pattern_a_folder_and_a_dataset_are_the_same_table(write):
    folder = write({"a": [1, 2], "b": ["x", None]}, {"a": [3], "b": ["y"]})
    expected = [(1, "x"), (2, None), (3, "y")]
    dataset = pa.dataset.dataset(folder)
    for source in (folder, str(folder), f"{folder}/*.parquet", dataset):
        assert is_source(source)
        assert rows(source) == expected
        assert rows(source, n=1) == expected
    assert rows(folder / "a.parquet") == expected[:2]
    assert not is_source(pa.table({"a": [1]}))


def test_a_dataset_in_memory_and_one_of_nested_folders_are_tables_too(tmp_path):
    table = pa.table({"a": [1, 2, 3], "year": [2013, 2014, 2014]})
    assert rows(pa.dataset.dataset(table)) == [(1, 2013), (2, 2014), (3, 2014)]
    pq.write_to_dataset(table, tmp_path, partition_cols=["year"])
    assert rows(pa.dataset.dataset(tmp_path, partitioning="hive")) == [
        (1, 2013),
        (2, 2014),
        (3, 2014),
    ]


def test_blocks_have_about_as_many_rows_as_asked_for(tmp_path):
    table = pa.table({"a": np.arange(1000)})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=10)
    for source in (tmp_path, pa.dataset.dataset(tmp_path)):
        sizes = [block.n_rows for block in open_blocks(source).blocks(300)]
        assert sum(sizes) == 1000
        assert all(300 <= size < 310 for size in sizes[:-1])


def test_row_groups_with_categories_of_their_own_fit_together(tmp_path):
    words = [f"word {i % 37}" for i in range(1000)]
    table = pa.table({"a": pa.array(words).dictionary_encode()})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=10)
    for source in (tmp_path, pa.dataset.dataset(tmp_path)):
        for n in (7, 300):
            assert rows(source, n) == [(word,) for word in words]


def test_the_first_file_gives_the_order_of_columns(write):
    folder = write({"a": [1], "b": ["x"]}, {"b": ["y"], "a": [2]})
    assert open_blocks(folder).columns.names == ["a", "b"]
    assert rows(folder) == [(1, "x"), (2, "y")]


def test_files_without_rows_are_skipped(write):
    empty = pa.schema([("a", pa.int64())]).empty_table()
    assert rows(write(empty, {"a": [1]}, empty)) == [(1,)]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (pa.array([1], pa.int8()), pa.array([2], pa.int64()), "int8"),
        (pa.array([1]), pa.array([2.5]), "double"),
        (pa.nulls(1), pa.array(["x"]), "string"),
        (pa.array(["x"]), pa.array(["y"]).dictionary_encode(), "string"),
        (pa.array([DAY]), pa.array([DAY]).cast(pa.timestamp("us")), "date32[day]"),
    ],
)
def test_types_that_mean_the_same_fit_together(write, first, second, expected):
    folder = write({"a": first}, {"a": second})
    assert str(open_blocks(folder).columns.columns[0].type) == expected
    assert len(rows(folder)) == 2


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ([1], ["x"], ("integers", "text")),
        ([True], [1], ("booleans", "integers")),
        ([1.5], [DAY], ("numbers", "dates")),
    ],
)
def test_types_that_do_not_fit_together_are_told_with_file_and_column(write, first, second, words):
    folder = write({"a": [1], "b": first}, {"a": [1], "b": second})
    assert message_of(lambda: open_blocks(folder)) == (
        f"Column 'b' holds {words[0]} in '{folder}/a.parquet' and {words[1]} in "
        f"'{folder}/b.parquet'.\nHint: write the files with the same types."
    )


def test_a_column_that_one_file_lacks_is_told(write):
    folder = write({"a": [1], "b": [1]}, {"a": [1]})
    expected = f"'{folder}/b.parquet' has no column 'b', and '{folder}/a.parquet' has one."
    assert message_of(lambda: open_blocks(folder)).startswith(expected)
    folder = write({"a": [1]}, {"a": [1], "b": [1]})
    expected = f"'{folder}/a.parquet' has no column 'b', and '{folder}/b.parquet' has one."
    assert message_of(lambda: open_blocks(folder)).startswith(expected)


def test_a_column_of_csv_files_that_would_be_two_things_is_text(write):
    folder = write("id,n\n1,1\n", "id,n\nA7,2.5\n", "id,n\n,\n", ending="csv")
    assert rows(folder) == [("1", 1), ("A7", 2.5), (None, None)]


@pytest.mark.parametrize(
    ("first", "second", "type_"),
    [
        ("1", "2.5", "double"),
        ("0", "true", "bool"),
        ("1", "007", "string"),
        ("2014-01-31", "2014-01-31 12:00", "timestamp[s]"),
        ("2014-01-31 12:00", "2014-01-31 12:00Z", "string"),
        ("12:30", "12:30:00.5", "time64[us]"),
        ('"NA"', "5", "int64"),
        ('"NA"', "HE", "string"),
        ("NA", "HE", "string"),
    ],
)
def test_csv_files_of_one_table_are_read_as_one_file_with_all_of_their_cells(
    write, tmp_path, first, second, type_
):
    folder = write(f"a,b\n{first},x\n", f"b,a\ny,{second}\n", ending="csv")
    found = open_blocks(folder)
    assert str(found.columns.columns[0].type) == type_
    assert [str(block.columns[0].type) for block in found.blocks(1)] == [type_] * 2
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "all.csv").write_text(f"a,b\n{first},x\n{second},y\n")
    assert rows(folder) == rows(tmp_path / "one")


def test_clock_times_of_csv_and_parquet_files_fit_together(write):
    write("t\n12:30\n", ending="csv")
    folder = write({"t": pa.array([datetime.time(8)], pa.time64("us"))})
    assert sorted(rows(folder)) == [(datetime.time(8),), (datetime.time(12, 30),)]


def test_csv_beside_parquet_is_read_as_what_parquet_says_where_it_can_be(write):
    write("id\n7\n", ending="csv")
    folder = write({"id": ["A"]})
    assert sorted(rows(folder)) == [("7",), ("A",)]


def test_equal_names_of_columns_are_told(write):
    folder = write("a,a\n1,2\n", ending="csv")
    assert message_of(lambda: open_blocks(folder)).startswith("Column names must be unique")


def test_a_damaged_dataset_says_so(write):
    folder = write({"a": [1]})
    dataset = pa.dataset.dataset(folder)
    (folder / "a.parquet").write_bytes(b"PAR1 no longer PAR1")
    source = open_blocks(dataset)  # which stamps the file as it is now
    message = message_of(lambda: list(source.blocks(10)))
    assert message.startswith("The dataset cannot be read: ")
    assert "a.parquet" in message


def add(folder):
    pd.DataFrame({"a": [1]}).to_parquet(folder / "c.parquet")


def remove(folder):
    (folder / "b.parquet").unlink()


def touch(folder):
    os.utime(folder / "b.parquet", ns=(0, 0))


@pytest.mark.parametrize(
    ("change", "name", "what"),
    [(add, "c", "is new"), (remove, "b", "is gone"), (touch, "b", "was written to")],
)
def test_a_folder_that_changes_is_noticed(write, change, name, what):
    folder = write({"a": [1]}, {"a": [2]})
    source = open_blocks(folder)
    source.check_unchanged()
    change(folder)
    assert message_of(source.check_unchanged) == (
        f"The files of '{folder}' changed while they were read: '{folder}/{name}.parquet' {what}.\n"
        "Hint: try again when nobody writes to them."
    )


def test_a_file_that_vanishes_while_it_is_read_is_told_as_a_change(write):
    folder = write({"a": [1]}, {"a": [2]})
    source = open_blocks(folder)
    blocks = source.blocks(1)
    next(blocks)
    remove(folder)
    assert "changed while they were read" in message_of(lambda: list(blocks))


def test_a_dataset_that_changes_is_noticed(write):
    folder = write({"a": [1]}, {"a": [2]})
    source = open_blocks(pa.dataset.dataset(folder))
    source.check_unchanged()
    remove(folder)
    message = (
        f"The files of the dataset changed while they were read: '{folder}/b.parquet' is gone."
    )
    assert message_of(source.check_unchanged).startswith(message)


def test_what_is_not_there_says_so(tmp_path):
    assert message_of(lambda: open_blocks(tmp_path / "x.csv")).startswith("There is no file '")
    assert message_of(lambda: open_blocks(f"{tmp_path}/*.csv")).startswith("There is no file '")
    assert message_of(lambda: open_blocks(tmp_path)).startswith("The folder '")


def test_a_block_with_other_columns_than_the_rest_of_its_table_is_refused():
    expected = pa.schema({"a": pa.int64(), "b": pa.string()})
    check_block(pa.schema({"b": pa.large_string(), "a": pa.float32(), "c": pa.bool_()}), expected)
    check_block(pa.schema({"a": pa.null(), "b": pa.dictionary(pa.int8(), pa.string())}), expected)
    with pytest.raises(InputError, match="no column 'b'"):
        check_block(pa.schema({"a": pa.int64()}), expected)
    with pytest.raises(InputError, match=r"'a' holds integers in one part .* text in another"):
        check_block(pa.schema({"a": pa.string(), "b": pa.string()}), expected)


def test_a_model_that_knows_the_columns_need_not_find_their_types(write, monkeypatch):
    monkeypatch.delattr("catspace.storage.files.add_shapes")
    folder = write("id,n,more\n7,1,x\n", "n,more,id\nNA,y,A7\n", ending="csv")
    source = FileBlocks(folder, kinds={"id": {"text"}, "n": {"number"}})
    assert source.columns.names == ["id", "n"]
    pairs = list(source.pairs(10))
    assert [cells.to_pydict() for cells, _ in pairs] == [
        {"id": ["7"], "n": ["1"], "more": ["x"]},
        {"id": ["A7"], "n": [None], "more": ["y"]},
    ]
    assert [[c.parts[0][1].to_pylist() for c in table.columns] for _, table in pairs] == [
        [["7"], [1]],
        [["A7"], [None]],
    ]


def test_columns_that_a_model_does_not_know_may_hold_anything(write):
    folder = write({"a": [1], "tags": [["x"]]}, {"a": [2], "tags": [["y"]]})
    source = FileBlocks(folder, kinds={"a": {"number"}})
    assert [table.names for table in source.blocks(10)] == [["a"], ["a"]]


def test_files_of_a_model_that_differ_in_their_columns_are_told(write):
    folder = write("a,b\n1,2\n", "a\n1\n", ending="csv")
    message = message_of(lambda: FileBlocks(folder, kinds={"a": {"number"}}))
    assert message.startswith(f"'{folder}/b.csv' has no column 'b', and '{folder}/a.csv' has one.")
    (folder / "b.csv").unlink()
    (folder / "a.csv").write_text("a,b,b\n1,2,3\n")
    message = message_of(lambda: FileBlocks(folder, kinds={"a": {"number"}}))
    assert message.startswith("Column names must be unique")


def test_columns_can_be_left_out(write):
    files = FileBlocks(write({"a": [1], "b": ["x"]}, {"b": ["y"], "a": [2]})).without(["a"])
    assert files.schema.names == files.columns.names == ["b"]
    assert [block.names for block in files.blocks(10)] == [["b"], ["b"]]


def test_pieces_of_a_file_hold_each_row_group_once(tmp_path):
    pq.write_table(pa.table({"a": range(95)}), tmp_path / "a.parquet", row_group_size=10)
    file = open_file(tmp_path / "a.parquet")
    pieces = file.pieces(30)
    found = [[row for b in piece.blocks(7) for row in b["a"].to_pylist()] for piece in pieces]
    assert [len(rows) for rows in found] == [30, 30, 30, 5]
    assert [row for rows in found for row in rows] == list(range(95))
    (tmp_path / "a.csv").write_text("a\n1\n2\n")
    csv = open_file(tmp_path / "a.csv")
    assert csv.pieces(1) == [csv]
