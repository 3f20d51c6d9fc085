"""What goes into CSV files: nothing that a spreadsheet runs, and nothing that it cannot hold."""

import datetime as dt
import json
import re
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from catspace.storage.sinks import write_table
from catspace.storage.spreadsheets import for_spreadsheets, without_formulas

FORMULAS = [
    "=1+1",
    '=HYPERLINK("http://x","y")',
    "+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "\n=1",
    "＝1+1",  # noqa: RUF001
    "-5 to 0",
    "--",
    "=",
    "+49 30 1234",
]
HARMLESS = ["", "a=1", "-", "+", "-5", "+3.25", "-1,5", "-1.234,5", "-1e-5", "-3%", "-inf", "+.5"]


def harmless(texts):
    return without_formulas(pa.chunked_array([pa.array(texts, pa.string())])).to_pylist()


def test_an_apostrophe_goes_before_what_a_spreadsheet_would_run():
    assert harmless(FORMULAS) == [f"'{text}" for text in FORMULAS]


def test_numbers_missing_cells_and_other_text_stay_as_they_are():
    assert harmless([*HARMLESS, None]) == [*HARMLESS, None]


@given(st.lists(st.text(alphabet="'=-+@5a\t"), unique=True, max_size=20))
def test_two_texts_never_become_one_and_can_be_read_back(texts):
    written = harmless(texts)
    assert len(set(written)) == len(texts)
    # Numbers with a sign are never written with an apostrophe, so "'-5" was "-5" for nobody.
    back = [text[1:] if re.match(r"'+[=+\-@\t]", text) else text for text in written]
    assert back == texts


def test_names_of_columns_are_made_harmless_too(tmp_path):
    write_table(pa.table({"=1+1": ["=2"], "town": ["a"], "-5": [-5]}), tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == '"\'=1+1","town","-5"\n"\'=2","a",-5\n'


@pytest.mark.parametrize(
    "type_", [pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.binary_view()]
)
def test_every_kind_of_text_is_made_harmless(type_):
    column = pa.array(["=1", None, "b"]).cast(type_)
    table = for_spreadsheets(pa.table({"x": column}))
    assert table["x"].to_pylist() == ["'=1", None, "b"]


def test_categories_are_made_harmless():
    table = for_spreadsheets(pa.table({"x": pa.array(["=1", "b"]).dictionary_encode()}))
    assert table["x"].to_pylist() == ["'=1", "b"]


def test_what_has_no_form_in_csv_is_written_as_json(tmp_path):
    day = dt.date(2026, 1, 31)
    nested = {
        "list": [[1, 2], None, []],
        "record": [{"a": "Köln", "day": day}, {"a": "=1", "day": None}, None],
        "deep": [[{"x": [Decimal("1.5")]}], None, [{"x": None}]],
        "bytes": [b"=1", b"\xff", None],
    }
    write_table(pa.table(nested), tmp_path / "t.csv")
    found = pd.read_csv(tmp_path / "t.csv", keep_default_na=False)
    assert [json.loads(cell) if cell else None for cell in found["list"]] == nested["list"]
    assert json.loads(found["record"][0]) == {"a": "Köln", "day": "2026-01-31"}
    assert json.loads(found["deep"][0]) == [{"x": ["1.5"]}]
    assert found["bytes"].tolist() == ["'=1", "\\xff", ""]


def test_every_type_that_arrow_has_can_be_written(tmp_path):
    import uuid

    columns = {
        "interval": pa.array([(1, 2, 3)], pa.month_day_nano_interval()),
        "map": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())),
        "duration": pa.array([dt.timedelta(days=1)]),
        "zoned": pa.array([dt.datetime(2026, 1, 1)], pa.timestamp("us", "Europe/Berlin")),
        "decimal": pa.array([Decimal("-1.50")]),
        "half": pa.array([1.5], pa.float16()),
        "nothing": pa.nulls(1),
        "uuid": pa.array([uuid.UUID(int=1).bytes], pa.uuid()),
        "truth": pa.array([True]),
        "fixed": pa.array([[1, 2]], pa.list_(pa.int64(), 2)),
    }
    write_table(pa.table(columns), tmp_path / "t.csv")
    header, row = (tmp_path / "t.csv").read_text().splitlines()
    assert header == ",".join(f'"{name}"' for name in columns)
    assert ',-1.50,1.5,,"00000000-0000-0000-0000-000000000001",true,"[1, 2]"' in row
