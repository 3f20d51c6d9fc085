"""The rules for cells of CSV files: the same with and without a model, whatever the blocks are."""

import datetime
from datetime import date, time
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catspace import EmbeddingRegressor
from catspace.commands.predict import score_files
from catspace.data.dates import read_dates, take_part
from catspace.data.statistics import learn_encoder
from catspace.data.table import Column
from catspace.data.vocabulary import MISSING, UNSEEN, Vocabulary
from catspace.exceptions import CatspaceWarning, InputError
from catspace.storage.blocks import open_blocks, read_any
from catspace.storage.cells import parse_column, read_column
from catspace.storage.files import find_files, open_file, read_file
from catspace.storage.shapes import Shape, add_shapes, find_type

MIDNIGHT, NOON = datetime.datetime(2014, 1, 31), datetime.datetime(2014, 1, 31, 12)
INSTANT = NOON.replace(tzinfo=datetime.UTC)
LAST = datetime.datetime(9999, 12, 31)


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


def decide(cells, cuts=()):
    """Return the type of a column whose cells come in blocks; None is missing without quotes."""
    array, bounds, shapes = pa.array(cells, pa.string()), [0, *sorted(cuts), len(cells)], Shape(0)
    for begin, end in pairwise(bounds):
        shapes = add_shapes(shapes, array[begin:end])
    return find_type(shapes)


def read(cells):
    """Return the type and the values of a column, read without a model."""
    type_ = decide(cells)
    return str(type_), read_column(pa.array(cells, pa.string()), type_).to_pylist()


# --- what a column is


@pytest.mark.parametrize(
    ("cells", "type_", "expected"),
    [
        (["1", "-2", None], "int64", [1, -2, None]),
        ([" 1", "2\t"], "int64", [1, 2]),
        (["0", "1"], "int64", [0, 1]),
        (["-0", "9223372036854775807"], "int64", [0, 2**63 - 1]),
        (["1", "9223372036854775808"], "uint64", [1, 2**63]),
        (["12345678901234567890"], "uint64", [12345678901234567890]),
        (["true", "FALSE", " True"], "bool", [True, False, True]),
        (["1", "0", "false"], "bool", [True, False, False]),
        (["2014-01-31", " 2014-02-01"], "date32[day]", [date(2014, 1, 31), date(2014, 2, 1)]),
        (["12:30", "23:59:59"], "time32[s]", [time(12, 30), time(23, 59, 59)]),
        (["12:30", "12:30:15.5"], "time64[us]", [time(12, 30), time(12, 30, 15, 500_000)]),
        (["2014-01-31", "2014-01-31 12:00"], "timestamp[s]", [MIDNIGHT, NOON]),
        (["2014-01-31T12:00:00.5"], "timestamp[us]", [NOON.replace(microsecond=500_000)]),
        (["9999-12-31", "2014-01-31 12:00:00.0"], "timestamp[us]", [LAST, NOON]),
        (["2014-01-31 12:00:00.123456000"], "timestamp[us]", [NOON.replace(microsecond=123_456)]),
        (["2014-01-31T12Z", "2014-01-31T14:00+02:00"], "timestamp[s, tz=UTC]", [INSTANT] * 2),
        (["1", "2.5", ".5", "1.", "+5", "1e5", " 7 "], "double", [1, 2.5, 0.5, 1, 5, 1e5, 7]),
        (["inf", "-Infinity", "1e400"], "double", [np.inf, -np.inf, np.inf]),
        ([None, None], "null", [None, None]),
        ([], "null", []),
    ],
)  # fmt: skip
def test_a_column_is_the_first_thing_that_all_of_its_cells_are(cells, type_, expected):
    assert read(cells) == (type_, expected)


@pytest.mark.parametrize(
    "cells",
    [
        ["007", "8"],
        ["01067"],
        ["-007", "1.5"],
        ["0x1F"],
        ["1_000"],
        ["18446744073709551616"],
        ["9223372036854775808", "-1"],
        ["9007199254740993", "0.5"],
        ["12345678901234567890", "0.5"],
        ["true", "2"],
        ["tRue"],
        ["2014-02-30"],
        ["0000-00-00", "2014-01-31"],
        ["12:30", "24:00"],
        ["12:30", "12"],
        ["12:30:15.1234567"],
        ["2014-01-31 12:00", "2014-01-31T12:00Z"],
        ["2014-01-31", "2014-01-31T12:00Z"],
        ["2014-01-31", "12:30"],
        ["1,5"],
        ["1", "x"],
        [" HE", "HE "],
    ],
)
def test_what_fits_nothing_else_is_text_as_it_stands(cells):
    assert read(cells) == ("string", cells)


@pytest.mark.parametrize("word", ["", "NA", "nan", "<NA>", " NA ", " ", "NAN"])
def test_a_quoted_missing_word_is_text_in_text_and_missing_in_everything_else(word):
    assert read(["x", word]) == ("string", ["x", word])
    assert read([word, None]) == ("string", [word, None])
    for cell in ("5", "2.5", "true", "2014-01-31", "12:30", "2014-01-31T12:00Z"):
        assert read([cell, word])[1][1] is None
        assert decide([cell, word]) == decide([cell])


CELLS = [
    "0", "1", "-0", "-5", " 7 ", "007", "+5", "+007", "9007199254740993", "9223372036854775808",
    "-9223372036854775809", "18446744073709551616", "1.5", "1.", "1e5", "1E400", "-inf", "NAN",
    "nan", "0.0", "00.5", "1e20", "0x174876E800", "1_000", "true", " False", "tRue", "2014-01-31",
    "0000-00-00", "9999-12-31", "12", "12:30", "12:30:15", "12:30:15.5", "24:00",
    "2014-01-31 12:00", "2014-01-31T12:00:00.5", "1969-12-31 23:59:59.1234560",
    "2014-01-31T12:00Z", "2014-01-31T12:00:00.1234560+0200", "", " NA", "None", "HE", " HE", None,
]  # fmt: skip
# A few different cells, so that columns of everything are not all that is tried.
columns = st.lists(st.sampled_from(CELLS), min_size=1, max_size=4).flatmap(
    lambda few: st.lists(st.sampled_from(few), min_size=1, max_size=12)
)


@settings(max_examples=200, deadline=None)
@given(columns, st.lists(st.integers(0, 12), max_size=4))
def test_where_blocks_end_does_not_matter(cells, cuts):
    cuts = [cut for cut in cuts if cut <= len(cells)]
    assert decide(cells, cuts) == decide(cells)


@settings(max_examples=200, deadline=None)
@given(columns)
def test_a_model_reads_each_cell_of_its_training_file_as_fit_did(cells):
    array = pa.array(cells, pa.string())
    column = Column("x", ((None, read_column(array, decide(cells))),), len(cells))
    vocabulary = Vocabulary.fit(column)
    expected = vocabulary.encode(column)
    assert UNSEEN not in expected
    np.testing.assert_array_equal(
        vocabulary.encode(parse_column("x", array, vocabulary.kinds)), expected
    )
    alone = [
        vocabulary.encode(parse_column("x", array[i : i + 1], vocabulary.kinds))
        for i in range(len(cells))
    ]
    np.testing.assert_array_equal(np.concatenate(alone), expected)
    if vocabulary.kinds == ("number",):
        parsed = parse_column("x", array, ["number"])
        np.testing.assert_array_equal(parsed.to_numbers(), column.to_numbers())


# --- as what a model knows


def test_numbers_are_read_as_numbers():
    assert parse(["1", "2", "", "1"], "number") == [1, 2, None, 1]
    assert parse(["1", "2.5", "NA"], "number") == [1.0, 2.5, None]
    assert parse(["true", "False", None], "number") == [1.0, 0.0, None]
    assert parse(["true", "2", "2.5"], "number") == [1.0, 2, 2.5]


def test_large_integers_keep_every_digit():
    assert parse(["1234567890123456789"], "number") == [1234567890123456789]
    cells = ["1234567890123456789", "12345678901234567890", "2.5"]
    assert parse(cells, "number") == [1234567890123456789, 12345678901234567890, 2.5]
    assert parse(["123456789012345678901234"], "number") == [123456789012345678901234.0]


def test_an_identifier_among_numbers_stays_text():
    assert parse(["1", "007", ""], "number") == [1, "007", None]


@pytest.mark.parametrize("word", ["two", "0x1F", "1_000", "2014-01-31"])
def test_what_is_not_a_number_stays_text(word):
    column = parse_column("x", pa.array(["1", word, ""]), ["number"])
    assert values(column) == [1.0, word, None]
    with pytest.raises(InputError, match=f"held numbers in fit and holds text now: \\['{word}'"):
        column.to_numbers()


def test_text_stays_text_even_if_it_looks_like_something_else():
    cells = ["1", "007", " a ", "null", "", None, "2014-01-31"]
    assert parse(cells, "text") == cells


def test_dates_are_read_as_dates():
    assert parse(["2014-01-31", "soon"], "time") == [MIDNIGHT, "soon"]
    assert parse(["2014-01-31", "NA"], "time") == [date(2014, 1, 31), None]


@pytest.mark.parametrize("zone", ["", "Z"])
def test_times_finer_than_a_microsecond_stay_apart_or_are_refused(zone):
    cells = [f"2014-01-31 12:00:00.00000000{i}{zone}" for i in range(1, 4)]
    array = pa.array([*cells, f"2014-01-31 12:00{zone}"])
    assert str(decide(array.to_pylist())).startswith("timestamp[ns")
    for column in (
        Column("x", ((None, read_column(array, decide(array.to_pylist()))),), 4),
        parse_column("x", array, ["time"]),
    ):
        part = take_part(read_dates(column), "day")
        assert len(part.factors[0][2]) == 1
        with pytest.raises(InputError, match=r"^Column 'x' holds times that are finer than a micr"):
            Vocabulary.fit(column)


def test_points_in_time_with_and_without_a_zone_are_one_part():
    cells = ["2014-01-31 12:00", "2014-01-31T14:00+02:00", "", "2014-01-31 12:00:00.1234560"]
    column = parse_column("x", pa.array(cells), ["time"])
    assert len(column.parts) == 1
    assert values(column) == [NOON, NOON, None, NOON.replace(microsecond=123_456)]


def test_clock_times_are_read_as_clock_times():
    assert parse(["12:30", " 12:30:15 ", "", "25:00"], "clock") == [
        time(12, 30), time(12, 30, 15), None, "25:00",
    ]  # fmt: skip


def test_several_kinds_are_tried_and_text_takes_what_is_left():
    cells = ["1", "HE", "NA", None, "12:30", "2014-01-31"]
    assert parse(cells, "number", "text") == [1, "HE", "NA", None, "12:30", "2014-01-31"]
    assert parse(cells, "number", "clock")[4:] == [time(12, 30), "2014-01-31"]


@pytest.mark.parametrize("kinds", [["duration"], ["bytes"], []])
def test_what_no_csv_file_has_a_form_for_stays_text(kinds):
    assert parse(["1", "NA", None], *kinds) == ["1", "NA", None]


@pytest.mark.parametrize("kind", ["number", "time", "clock", "text"])
def test_a_block_without_values_is_a_column_without_values(kind):
    for cells in ([None, None], []):
        column = parse_column("x", pa.array(cells, pa.string()), [kind])
        assert (column.n_rows, values(column)) == (len(cells), cells)


def test_text_past_two_gigabytes_in_a_column_would_be_read_alike():
    for kind, cells in (
        ("number", ["1", "x"]),
        ("time", ["2014-01-31", "x"]),
        ("clock", ["12:30", "x"]),
    ):
        plain, large = (
            parse_column("x", pa.array(cells, type_), [kind])
            for type_ in (pa.string(), pa.large_string())
        )
        assert values(large) == values(plain)


# --- from the file to the model


# The cells of each column, separated by bars; one between bars is an empty one.
EVERY_KIND = {
    "word": 'HE|"NA"|NA|""|| HE|BY|BY',
    "code": '007|7|01067||"7"|x|7|007',
    "id": "12345678901234567890|12345678901234567891|1|2|3|4|5|6",
    "endless": "123456789012345678901|123456789012345678902|1|2|3|4|5|6",
    "store": '1| 2|"3"|NA|"NA"|""|2|1',
    "price": '1|2.5|+5|1e2|"nan"||.5|-0.0',
    "open": 'true|0|1|FALSE|""||True|False',
    "day": '2014-01-31|"2014-02-01"||"NA"| 2014-01-31|2014-01-31|2014-03-01|NA',
    "clock": '12:30|12:30:15||""|08:00|08:00:00|23:59|12:30',
    "exact": '12:30:15.5|12:30:15||""|08:00|08:00:00|23:59|12:30',
    "when": '2014-01-31 12:00|2014-01-31||""|2014-01-31T12|2014-02-01 00:00:00.5|NA|NA',
    "instant": '2014-01-31T12:00Z|2014-01-31T14:00+02:00||""|2014-01-31T12:00:00.5Z|NA|NA|NA',
    "zones": '2014-01-31T12:00Z|2014-01-31 12:00||"NA"|NA|NA|NA|NA',
    "mixed": '1|true|2014-01-31|12:30|0x1F|1_000|NA|"NA"',
    "nothing": "|NA|null|nan|||None|<NA>",
}
TYPES = {
    "word": "string", "code": "string", "id": "uint64", "endless": "string", "store": "int64",
    "price": "double", "open": "bool", "day": "date32[day]", "clock": "time32[s]",
    "exact": "time64[us]", "when": "timestamp[us]", "instant": "timestamp[us, tz=UTC]",
    "zones": "string", "mixed": "string", "nothing": "null",
}  # fmt: skip


@pytest.fixture
def everything(tmp_path):
    """Write a CSV file with every kind of cell, and a target."""
    names = [*EVERY_KIND, "y"]
    rows = zip(*(cells.split("|") for cells in EVERY_KIND.values()), "01234567", strict=True)
    lines = [",".join(names), *(",".join(row) for row in rows)]
    (tmp_path / "all.csv").write_text("\n".join(lines) + "\n")
    return tmp_path / "all.csv"


def encode_blocks(encoder, source):
    return np.concatenate([encoder.encode(table).codes for table in source.blocks(1)], axis=1)


def test_a_file_with_every_kind_of_cell_has_the_types_of_the_rules(everything):
    table = read_file(everything)
    assert {field.name: str(field.type) for field in table.schema} == TYPES | {"y": "int64"}
    assert table["word"].to_pylist() == ["HE", "NA", None, "", None, " HE", "BY", "BY"]
    assert table["store"].to_pylist() == [1, 2, 3, None, None, None, 2, 1]
    assert table["nothing"].null_count == 8


def test_a_file_with_every_kind_of_cell_has_the_same_codes_for_a_model(everything, monkeypatch):
    table, _ = read_any(everything).pop("y")
    encoder = learn_encoder(table, categorical_features=table.names)
    encoded = encoder.encode(table)
    assert not (encoded.codes == UNSEEN).any()
    assert (encoded.codes[table.names.index("nothing")] == MISSING).all()
    whole = read_any(everything, kinds=encoder.kinds)
    np.testing.assert_array_equal(encoder.encode(whole).codes, encoded.codes)
    assert values(whole.columns[-1]) == list("01234567")  # not known, so it is text
    for n_bytes in (200, 1 << 22):
        monkeypatch.setattr("catspace.storage.files._BLOCK_BYTES", n_bytes)
        source = open_blocks(everything, encoder.kinds)
        assert source.columns.names == list(EVERY_KIND)
        np.testing.assert_array_equal(encode_blocks(encoder, source), encoded.codes)
        np.testing.assert_array_equal(
            encode_blocks(encoder, open_blocks(everything)), encoded.codes
        )


def test_fit_predict_and_the_command_read_a_file_alike(everything, tmp_path):
    model = EmbeddingRegressor(categorical_features=list(EVERY_KIND), max_epochs=2, random_state=0)
    model.fit(str(everything), "y")
    expected = model.predict(read_any(everything))
    np.testing.assert_array_equal(model.predict(str(everything)), expected)
    score_files(model, str(everything), str(tmp_path / "out.parquet"))
    out = pd.read_parquet(tmp_path / "out.parquet")
    np.testing.assert_array_equal(out["prediction"], expected)
    # A file of one row cannot tell what its columns are; the model knows.
    lines = everything.read_text().splitlines()
    for i in range(8):
        (tmp_path / "row.csv").write_text("\n".join([lines[0], lines[1 + i]]) + "\n")
        found = model.predict(tmp_path / "row.csv")
        np.testing.assert_array_equal(found, expected[i : i + 1])
        score_files(model, str(tmp_path / "row.csv"), str(tmp_path / "row.parquet"))
        one = pd.read_parquet(tmp_path / "row.parquet")
        np.testing.assert_array_equal(one["prediction"], expected[i : i + 1])


def test_the_command_writes_cells_that_are_read_again_as_what_they_were(everything, tmp_path):
    model = EmbeddingRegressor(categorical_features=list(EVERY_KIND), max_epochs=1, random_state=0)
    model.fit(str(everything), "y")
    score_files(model, str(everything), str(tmp_path / "out.csv"))
    cells, again = (
        open_file(path, as_text=True).read() for path in (everything, tmp_path / "out.csv")
    )
    assert again.drop_columns("prediction").to_pydict() == cells.to_pydict()
    assert cells["code"].to_pylist()[:4] == ["007", "7", "01067", None]


@pytest.mark.parametrize(
    "cells",
    [["3", "1", "2", "", "1"], ["1.5", "2", "NA", "1.5", "9"], ["x", "y", "", "NA", "x"]],
)
def test_cells_get_the_codes_that_the_whole_file_gives_them(tmp_path, cells):
    path = tmp_path / "cells.csv"
    path.write_text("x,y\n" + "\n".join(f"{cell},0" for cell in cells) + "\n")
    column = read_any(path).columns[0]
    vocabulary = Vocabulary.fit(column)
    (block,) = open_blocks(path, {"x": vocabulary.kinds}).blocks(10)
    np.testing.assert_array_equal(vocabulary.encode(block.columns[0]), vocabulary.encode(column))


def test_a_file_comes_in_blocks_that_make_up_the_whole(tmp_path):
    path = tmp_path / "long.csv"
    path.write_text("a,b\n" + "".join(f"{i},x{i}\n" for i in range(1_500_000)))
    blocks = list(open_file(path, as_text=True).blocks(100_000))
    assert len(blocks) > 1
    whole = pa.concat_tables(blocks)
    assert whole.num_rows == 1_500_000
    assert whole["b"][-1].as_py() == "x1499999"


def test_parquet_comes_in_blocks_too(tmp_path):
    path = tmp_path / "t.parquet"
    pa.parquet.write_table(pa.table({"a": range(250)}), path)
    source = open_blocks(path, {"a": ["text"]})  # which it knows better
    assert [block.n_rows for block in source.blocks(100)] == [100, 100, 50]
    assert source.columns.columns[0].type == pa.int64()
    assert read_any(path, {"a": ["text"]}).columns[0].type == pa.int64()


@pytest.mark.parametrize("as_text", [False, True])
def test_latin_1_far_down_a_file_is_noticed_when_streaming(tmp_path, as_text):
    path = tmp_path / "late.csv"
    path.write_bytes(b"a,b\n" + b"x,1\n" * 200_000 + "K\xf6ln,1\n".encode("latin-1"))
    with pytest.warns(CatspaceWarning, match=r"late.csv' is not UTF-8 text; it was read as cp1252"):
        file = open_file(path, as_text=as_text)
    *_, last = file.blocks(100_000)
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
