"""Files as people have them: separators, encodings, and types that change on the way down."""

import pyarrow as pa
import pyarrow.parquet
import pytest

from catspace.data.files import find_separator, read_file
from catspace.exceptions import CatspaceWarning, InputError

MEGABYTE_OF_ONES = 600_000  # lines; Arrow guesses types from the first megabyte


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_the_separator_is_found(tmp_path, separator):
    path = tmp_path / "sales.csv"
    path.write_text(f"store{separator}state\n1{separator}HE\n2{separator}BY\n")
    assert read_file(path).to_pydict() == {"store": [1, 2], "state": ["HE", "BY"]}


def test_commas_inside_cells_do_not_hide_a_semicolon():
    assert find_separator("a;b\n1,5;2,5\n3,5;4,5\n") == ";"


def test_quoted_separators_do_not_count():
    assert find_separator('a,b\n"x;y;z",1\n"u;v;w",2\n') == ","


def test_a_single_column_needs_no_separator(tmp_path):
    path = tmp_path / "one.csv"
    path.write_text("store\n1\n2\n")
    assert read_file(path).to_pydict() == {"store": [1, 2]}


def test_a_byte_order_mark_is_not_part_of_the_first_name(tmp_path):
    path = tmp_path / "bom.csv"
    path.write_text("store,state\n1,HE\n", encoding="utf-8-sig")
    assert read_file(path).column_names == ["store", "state"]


@pytest.mark.parametrize("text", ["ort,n\nKöln,1\n", "straße,n\nA,1\n"])
def test_latin_1_is_read_as_text_with_a_word(tmp_path, text):
    path = tmp_path / "latin.csv"
    path.write_text(text, encoding="latin-1")
    with pytest.warns(CatspaceWarning, match=r"latin.csv' is not UTF-8 text; it was read as cp125"):
        table = read_file(path)
    name, value = text.split("\n")[0].split(",")[0], text.split("\n")[1].split(",")[0]
    assert table.to_pydict() == {name: [value], "n": [1]}


def test_utf_16_is_read(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text("ort,n\nKöln,1\n", encoding="utf-16")
    assert read_file(path).to_pydict() == {"ort": ["Köln"], "n": [1]}


@pytest.mark.parametrize(
    ("top", "late", "expected"),
    [
        ("1", "2.5", 2.5),
        ("1", "a", "a"),
        ("", "7", 7),
        ("", "x", "x"),
        ("2014-01-01", "soon", "soon"),
    ],
)
def test_a_column_takes_the_type_that_all_its_values_have(tmp_path, top, late, expected):
    path = tmp_path / "long.csv"
    path.write_text("a,b\n" + f"{top},1\n" * MEGABYTE_OF_ONES + f"{late},1\n")
    column = read_file(path)["a"]
    assert column[-1].as_py() == expected
    assert str(column[0].as_py()) in (top, f"{top}.0", "None")


def test_a_line_break_inside_quotes_is_part_of_the_cell(tmp_path):
    path = tmp_path / "lines.csv"
    path.write_text('a,b\n"x\ny",1\n')
    assert read_file(path).to_pydict() == {"a": ["x\ny"], "b": [1]}


def test_a_home_folder_is_found(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    pyarrow.parquet.write_table(pa.table({"a": [1]}), tmp_path / "mine.parquet")
    assert read_file("~/mine.parquet").to_pydict() == {"a": [1]}


def test_a_folder_is_not_a_file(tmp_path):
    with pytest.raises(InputError, match=r"is a folder; a CSV or Parquet file is needed"):
        read_file(tmp_path)


def test_a_broken_parquet_file_says_so(tmp_path):
    path = tmp_path / "broken.parquet"
    path.write_bytes(b"PAR1 but not really PAR1")
    with pytest.raises(InputError, match=r"broken.parquet' cannot be read"):
        read_file(path)
