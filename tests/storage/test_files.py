"""Files as people have them: separators, encodings, and types that change on the way down."""

import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from catspace.exceptions import CatspaceWarning, InputError
from catspace.storage import files
from catspace.storage.files import find_files, find_separator, open_file, read_file
from catspace.storage.streams import open_text

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


@pytest.mark.parametrize("as_text", [False, True])
@pytest.mark.parametrize(("end", "encoding"), [(b"\xc3", "cp1252"), (b"\x81", "latin-1")])
def test_the_last_byte_counts_for_the_encoding_too(tmp_path, as_text, end, encoding):
    path = tmp_path / "cut.csv"
    path.write_bytes(b"a,b\n1,x" + end)
    with pytest.warns(CatspaceWarning, match=f"is not UTF-8 text; it was read as {encoding}"):
        table = read_file(path, as_text=as_text)
    assert table["b"].to_pylist() == [(b"x" + end).decode(encoding)]


def test_text_that_is_utf_8_is_decoded_by_the_reader_alone(tmp_path, monkeypatch):
    monkeypatch.delattr("catspace.storage.files._is_encoded_as")
    path = tmp_path / "utf8.csv"
    path.write_text("ort\nKöln\n", encoding="utf-8")
    assert read_file(path).to_pydict() == {"ort": ["Köln"]}


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
        ("8", "007", "007"),
    ],
)
def test_a_column_takes_the_type_that_all_its_values_have(tmp_path, top, late, expected):
    path = tmp_path / "long.csv"
    path.write_text("a,b\n" + f"{top},1\n" * MEGABYTE_OF_ONES + f"{late},1\n")
    column = read_file(path)["a"]
    assert column[-1].as_py() == expected
    assert str(column[0].as_py()) in (top, f"{top}.0", "None")


@pytest.mark.parametrize(
    ("top", "late", "type_"),
    [
        ("1", "2.5", pa.float64()),
        ("1", "a", pa.string()),
        ("", "7", pa.int64()),
        ("1", "true", pa.bool_()),
        ("1", "12345678901234567890", pa.uint64()),
        ("12:30", "12:30:00.5", pa.time64("us")),
        ("2014-01-01", "2014-01-01 12:00", pa.timestamp("s")),
        ("2014-01-01 12:00", "2014-01-01T12:00Z", pa.string()),
        ('""', "7", pa.int64()),
        ('""', "a", pa.string()),
    ],
)
def test_a_file_in_blocks_has_the_types_of_the_whole_file(tmp_path, monkeypatch, top, late, type_):
    monkeypatch.setattr("catspace.storage.files._BLOCK_BYTES", 4096)
    path = tmp_path / "long.csv"
    path.write_text("a,b\n" + f"{top},1\n" * 5_000 + f"{late},1\n")
    file = open_file(path)
    blocks = list(file.blocks(100_000))
    assert len(blocks) > 1
    assert {block.schema.field("a").type for block in blocks} == {file.schema.field("a").type}
    assert file.schema == read_file(path).schema
    assert file.schema.field("a").type == type_
    assert sum(map(len, blocks)) == 5_000 + 1


def test_a_csv_file_with_names_alone_has_columns_and_no_rows(tmp_path):
    path = tmp_path / "names.csv"
    path.write_text("a,b\n")
    assert open_file(path).schema.names == ["a", "b"]
    assert sum(map(len, open_file(path).blocks(10))) == 0


def test_columns_of_a_csv_file_can_be_read_as_text(tmp_path):
    path = tmp_path / "ids.csv"
    path.write_text("id,n\n007,1\n,2\n")
    (block,) = open_file(path).as_text(["id"]).blocks(10)
    assert block.to_pydict() == {"id": ["007", None], "n": [1, 2]}


def test_columns_of_one_name_are_told_apart_by_their_place(tmp_path):
    path = tmp_path / "twice.csv"
    path.write_text("a,a\n1,x\n")
    (block,) = open_file(path).blocks(10)
    assert [column.to_pylist() for column in block.columns] == [[1], ["x"]]


def test_names_are_found_below_empty_lines_and_in_quotes(tmp_path):
    path = tmp_path / "names.csv"
    path.write_text('\n\n"a, ""b""",c\n1,x\n')
    assert read_file(path).to_pydict() == {'a, "b"': [1], "c": ["x"]}


def test_a_parquet_file_in_blocks_comes_without_the_index_of_pandas(tmp_path):
    frame = pd.DataFrame({"a": [1, 2, 3]}, index=pd.Index([5, 6, 7], name="row"))
    frame.to_parquet(tmp_path / "a.parquet")
    blocks = list(open_file(tmp_path / "a.parquet").blocks(2))
    assert [block.to_pydict() for block in blocks] == [{"a": [1, 2]}, {"a": [3]}]


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


def test_hidden_files_of_a_folder_are_left_alone(tmp_path):
    for name in ("b.csv", "a.parquet", ".a.parquet", "notes.md"):
        (tmp_path / name).touch()
    assert [path.name for path in find_files(tmp_path)] == ["a.parquet", "b.csv"]


def damage_row_group(path):
    """Overwrite the last bytes of the data, just before the footer."""
    content = bytearray(path.read_bytes())
    footer = int.from_bytes(content[-8:-4], "little") + 8
    content[len(content) - footer - 4000 : len(content) - footer] = b"\xff" * 4000
    path.write_bytes(content)


@pytest.mark.parametrize("read", [read_file, lambda path: list(open_file(path).blocks(100))])
def test_a_damaged_row_group_says_so(tmp_path, read):
    path = tmp_path / "damaged.parquet"
    table = pa.table({"a": [f"text {i}" for i in range(10_000)]})
    pyarrow.parquet.write_table(table, path, row_group_size=2_000)
    assert open_file(path).schema.names == ["a"]
    damage_row_group(path)
    with pytest.raises(InputError, match=r"damaged.parquet' cannot be read"):
        read(path)


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
@pytest.mark.parametrize("read", [read_file, open_file, lambda path: open_file(path, as_text=True)])
def test_a_file_without_a_byte_says_so(tmp_path, name, read):
    (tmp_path / name).touch()
    with pytest.raises(InputError, match=rf"{name}' is empty: there is not one byte in it\."):
        read(tmp_path / name)


def test_a_broken_parquet_file_says_so(tmp_path):
    path = tmp_path / "broken.parquet"
    path.write_bytes(b"PAR1 but not really PAR1")
    with pytest.raises(InputError, match=r"broken.parquet' cannot be read"):
        read_file(path)


def test_text_of_a_parquet_file_that_is_not_utf_8_is_a_sentence(tmp_path):
    good = pa.array(["\u00e9a", "b"])
    _, offsets, letters = good.buffers()
    bad = pa.StringArray.from_buffers(2, offsets, pa.py_buffer(b"\xff\xfe" + letters[2:4]))
    pyarrow.parquet.write_table(pa.table({"town": bad, "y": [1, 2]}), tmp_path / "t.parquet")
    for read in (
        lambda: read_file(tmp_path / "t.parquet"),
        lambda: list(open_file(tmp_path / "t.parquet").blocks(10)),
    ):
        with pytest.raises(
            InputError, match=r"Column 'town' of '.*t.parquet' cannot be read: .*UTF"
        ):
            read()


def test_a_stream_is_closed_by_its_reader_alone_which_may_still_be_reading_ahead(
    tmp_path, monkeypatch
):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n")
    given, opened = [], []
    open_csv = pyarrow.csv.open_csv

    def remember(stream, **options):
        given.append(stream)
        return open_csv(stream, **options)

    def open_and_remember(file):
        opened.append(open_text(file))
        return opened[-1]

    monkeypatch.setattr(pyarrow.csv, "open_csv", remember)
    monkeypatch.setattr(files, "open_text", open_and_remember)
    assert open_file(path).read().to_pylist() == [{"a": 1, "b": 2}]
    # Closed by us while a thread reads ahead, its number would be that of the next file, and the
    # thread would take bytes out of that.
    assert given
    assert not any(stream.closed for stream in given)
    assert all(stream.closed for stream in opened if all(stream is not one for one in given))
