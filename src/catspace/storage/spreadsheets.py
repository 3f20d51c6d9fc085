"""Tables for CSV files: cells that every reader takes, and that no spreadsheet runs.

A spreadsheet takes a cell that begins with ``=``, ``+``, ``-``, ``@``, a tab or the end of a line
for a formula, and a formula can send the other cells elsewhere. So an apostrophe goes before text
that begins like this, in cells and in names of columns. Numbers stay what they are, in columns of
text too. An apostrophe also goes before text that begins with apostrophes and then like this, so
that two texts never become one: to read such a file back as it was, take one apostrophe away from
each cell that an apostrophe and such a beginning stand in.
"""

import json
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from catspace.data.kinds import is_text

# Also as some keyboards in East Asia write them.
_FORMULA = "^'*[=+\\-@\t\r\n＝＋－＠]"  # noqa: RUF001
_NUMBER = "^[+-](([0-9]+[.,]?)*([.,]?[0-9]+)([eE][+-]?[0-9]+)?%?|(?i:inf|infinity|nan))?$"


def for_spreadsheets(table: pa.Table) -> pa.Table:
    """Return a table as it goes into a CSV file."""
    names = without_formulas(pa.chunked_array([pa.array(table.column_names, pa.string())]))
    columns = [_as_cells(column) for column in table.columns]
    return pa.Table.from_arrays(columns, names=names.to_pylist())


def without_formulas(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return texts that no spreadsheet takes for formulas: an apostrophe goes before."""
    is_formula = pc.and_(
        pc.match_substring_regex(texts, _FORMULA),
        pc.invert(pc.match_substring_regex(texts, _NUMBER)),
    )
    if not pc.any(is_formula).as_py():
        return texts
    return pc.if_else(is_formula, pc.binary_join_element_wise("'", texts, ""), texts)


def _as_cells(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column of numbers or times as it is, and all others as harmless text."""
    type_ = column.type
    if pa.types.is_dictionary(type_):
        return _as_cells(column.cast(type_.value_type))
    is_number = pa.types.is_primitive(type_) and not pa.types.is_interval(type_)
    if is_number or pa.types.is_decimal(type_) or pa.types.is_null(type_):
        return column
    if is_text(type_):
        return without_formulas(column.cast(pa.string()))
    texts = [None if value is None else _as_text(value) for value in column.to_pylist()]
    return without_formulas(pa.chunked_array([pa.array(texts, pa.string())]))


def _as_text(value: Any) -> str:
    """Return a value for which CSV has no form: lists and records as JSON, bytes as letters."""
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="backslashreplace")
    if isinstance(value, (list, dict)):
        return json.dumps(value, ensure_ascii=False, default=_as_text)
    return str(value)
