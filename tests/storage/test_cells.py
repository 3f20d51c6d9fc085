import datetime

import numpy as np
import pyarrow as pa
import pytest

from catspace.data.reading import read_table
from catspace.data.vocabulary import Vocabulary
from catspace.exceptions import CatspaceWarning, InputError
from catspace.storage.cells import parse_column
from catspace.storage.files import find_files, read_file, stream_file


def values(column):
    """Return the values of a column in order, whatever its parts."""
    found = [None] * column.n_rows
    for where, part in column.parts:
        rows = range(column.n_rows) if where is None else where
        for row, value in zip(rows, part.to_pylist(), strict=True):
            found[row] = value
    return found


def parse(cells, *kinds):
    return values(parse_column("x", pa.array(cells, pa.string()), kinds))


def test_numbers_are_read_as_numbers():
    assert parse(["1", "2", "", "1"], "number") == [1, 2, None, 1]
    assert parse(["1", "2.5", "NA"], "number") == [1.0, 2.5, None]
    assert parse(["true", "False", None], "number") == [1.0, 0.0, None]


def test_large_integers_keep_every_digit():
    assert parse(["1234567890123456789"], "number") == [1234567890123456789]


def test_what_is_not_a_number_stays_text():
    assert parse(["1", "two", ""], "number") == [1.0, "two", None]


def test_text_stays_text_even_if_it_looks_like_a_number():
    assert parse(["1", "a", "null"], "text") == ["1", "a", None]


def test_dates_are_read_as_dates():
    assert parse(["2014-01-31", "soon"], "time") == [datetime.datetime(2014, 1, 31), "soon"]


@pytest.mark.parametrize(
    "cells",
    [["3", "1", "2", "", "1"], ["1.5", "2", "NA", "1.5", "9"], ["x", "y", "", "NA", "x"]],
)
def test_cells_get_the_codes_that_the_whole_file_gives_them(tmp_path, cells):
    path = tmp_path / "cells.csv"
    path.write_text("x,y\n" + "\n".join(f"{cell},0" for cell in cells) + "\n")
    column = read_table(read_file(path)).columns[0]
    vocabulary = Vocabulary.fit(column)
    (block,) = stream_file(path)
    streamed = parse_column("x", block["x"].combine_chunks(), vocabulary.values)
    np.testing.assert_array_equal(vocabulary.encode(streamed), vocabulary.encode(column))


def test_a_file_comes_in_blocks_that_make_up_the_whole(tmp_path):
    path = tmp_path / "long.csv"
    path.write_text("a,b\n" + "".join(f"{i},x{i}\n" for i in range(1_500_000)))
    blocks = list(stream_file(path))
    assert len(blocks) > 1
    whole = pa.concat_tables(blocks)
    assert whole.num_rows == 1_500_000
    assert whole["b"][-1].as_py() == "x1499999"


def test_parquet_comes_in_blocks_too(tmp_path):
    path = tmp_path / "t.parquet"
    pa.parquet.write_table(pa.table({"a": range(250)}), path)
    assert [block.num_rows for block in stream_file(path, rows=100)] == [100, 100, 50]


def test_latin_1_far_down_a_file_is_noticed_when_streaming(tmp_path):
    path = tmp_path / "late.csv"
    path.write_bytes(b"a,b\n" + b"x,1\n" * 200_000 + "K\xf6ln,1\n".encode("latin-1"))
    with pytest.warns(CatspaceWarning, match=r"late.csv' is not UTF-8 text; it was read as cp1252"):
        *_, last = stream_file(path)
    assert last["a"][-1].as_py() == "Köln"


def test_patterns_and_folders_stand_for_their_files(tmp_path):
    for name in ("b.csv", "a.csv", "c.parquet", "notes.md"):
        (tmp_path / name).touch()
    assert [p.name for p in find_files(tmp_path)] == ["a.csv", "b.csv", "c.parquet"]
    assert [p.name for p in find_files(f"{tmp_path}/*.csv")] == ["a.csv", "b.csv"]
    with pytest.raises(InputError, match=r"^There is no file '.*d\*.csv'"):
        find_files(f"{tmp_path}/d*.csv")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"holds no CSV or Parquet file"):
        find_files(tmp_path / "empty")
