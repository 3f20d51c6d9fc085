import datetime
import decimal
import uuid

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from scipy import sparse

from catspace.data.reading import read_table, read_vector
from catspace.data.statistics import learn_encoder
from catspace.exceptions import InputError, InputTypeError
from catspace.storage.blocks import read_any

COLUMNS = {
    "store": [3, 1, 2, 3],
    "state": ["HE", None, "BY", "HE"],
    "open": [True, False, None, True],
    "price": [1.5, None, 2.5, 100.0],
}


def encode(source):
    table = read_any(source)
    return learn_encoder(table, categorical_features=[0]).encode(table)


def sources(tmp_path):
    arrow = pa.table(COLUMNS)
    csv, parquet = tmp_path / "t.csv", tmp_path / "t.parquet"
    csv.write_text("store,state,open,price\n3,HE,true,1.5\n1,,false,\n2,BY,,2.5\n3,HE,true,100.0\n")
    pa.parquet.write_table(arrow, parquet)
    yield "polars", pl.DataFrame(COLUMNS)
    yield "polars lazy", pl.LazyFrame(COLUMNS)
    yield "pandas", pd.DataFrame(COLUMNS)
    yield "pandas nullable", pd.DataFrame(COLUMNS).convert_dtypes()
    yield "pandas of Arrow", arrow.to_pandas(types_mapper=pd.ArrowDtype)
    yield "Arrow", arrow
    yield "dict", COLUMNS
    yield "list of rows", list(map(list, zip(*COLUMNS.values(), strict=True)))
    yield "object array", pd.DataFrame(COLUMNS, dtype=object).to_numpy()
    yield "CSV", csv
    yield "CSV by text", str(csv)
    yield "Parquet", parquet


def test_every_source_of_a_table_gives_the_same_codes_and_numbers(tmp_path):
    expected = encode(pa.table(COLUMNS))
    for name, source in sources(tmp_path):
        encoded = encode(source)
        np.testing.assert_array_equal(encoded.codes, expected.codes, err_msg=name)
        np.testing.assert_array_equal(encoded.numbers, expected.numbers, err_msg=name)


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(["a", None, "b"]),
        pd.Series(["a", np.nan, "b"], dtype=object),
        pd.Series(["a", pd.NA, "b"], dtype="string"),
        pd.Series(["a", None, "b"], dtype="category"),
        pl.Series(["a", None, "b"]),
        pl.Series(["a", None, "b"], dtype=pl.Categorical),
        pl.Series(["a", None, "b"], dtype=pl.Enum(["b", "unused", "a"])),
    ],
    ids=lambda column: f"{type(column).__module__.split('.')[0]}-{column.dtype}",
)
def test_every_text_dtype_gives_the_same_codes(column):
    frame = pd.DataFrame if isinstance(column, pd.Series) else pl.DataFrame
    assert encode(frame({"x": column})).codes.tolist() == [[3, 0, 4]]


@pytest.mark.parametrize(
    "missing", [None, float("nan"), np.nan, pd.NA, pd.NaT, np.datetime64("NaT")], ids=repr
)
def test_every_kind_of_missing_is_the_same_missing(missing):
    column = pd.Series(["a", missing, 1], dtype=object)
    assert encode(pd.DataFrame({"x": column})).codes[0, 1] == 0


def test_numbers_that_are_nan_or_null_are_missing_alike():
    for column in ([1.0, None], [1.0, float("nan")]):
        encoded = learn_encoder(read_table(pl.DataFrame({"x": column})))
        assert encoded.scalings["x"].has_missing


def test_a_column_of_mixed_objects_keeps_numbers_and_text_apart():
    column = np.array([1, "1", 1.0, decimal.Decimal(1), True, None, "b"], dtype=object)
    codes = encode(column.reshape(-1, 1)).codes[0]
    assert codes[0] == codes[2] == codes[3] == codes[4]
    assert codes[1] not in (codes[0], codes[6])
    assert codes[5] == 0


def test_dates_datetimes_and_timestamps_of_one_day_are_one_category():
    days = [datetime.date(2015, 7, 31), datetime.datetime(2015, 7, 31), pd.Timestamp("2015-07-31")]
    codes = encode(np.array([[day] for day in days], dtype=object)).codes[0]
    assert len(set(codes)) == 1


def test_intervals_and_uuids_become_categories_by_their_text():
    cut = pd.DataFrame({"x": pd.cut([1, 5, 9], bins=[0, 4, 10])})
    assert encode(cut).codes.tolist() == [[3, 4, 4]]
    ids = pd.DataFrame({"x": [uuid.UUID(int=1), uuid.UUID(int=2), uuid.UUID(int=1)]})
    assert encode(ids).codes.tolist() == [[3, 4, 3]]


def test_an_array_of_text_is_categorical_column_by_column():
    encoded = encode(np.array([["a", "x"], ["b", "x"]]))
    assert encoded.codes.tolist() == [[3, 4], [3, 3]]


def test_a_column_of_records_says_so():
    for column in (pa.array([{"a": 1}, {"a": 2}]), pd.Series([{"a": 1}, "b"])):
        with pytest.raises(InputError, match=r"^Column 'tags' holds structs or dicts"):
            read_table({"tags": column})


@pytest.mark.parametrize("shape", [(), (3,), (2, 2, 2)])
def test_arrays_that_are_not_two_dimensional_say_so(shape):
    with pytest.raises(InputError, match=rf"^Expected 2D array, got {len(shape)}D array instead"):
        read_table(np.zeros(shape))


def test_duplicated_column_names_say_so():
    frame = pd.DataFrame([[1, 2]], columns=["a", "a"])
    with pytest.raises(InputError, match=r"^Column names must be unique.*\['a'\]"):
        read_table(frame)


def test_ragged_rows_say_so():
    with pytest.raises(InputError, match=r"rows of the table differ in length"):
        read_table([[1, 2], [3]])


def test_something_that_is_not_a_table_says_so():
    with pytest.raises(InputTypeError, match=r"A table is needed.*got int"):
        read_table(3)


def test_sparse_matrices_are_refused_in_every_format():
    for kind in (sparse.csr_matrix, sparse.dok_matrix, sparse.coo_array):
        with pytest.raises(InputTypeError, match=r"^Sparse data was passed"):
            read_table(kind(np.eye(3)))


def test_a_file_that_is_not_there_says_so():
    with pytest.raises(InputError, match=r"^There is no file 'nowhere.csv'"):
        read_any("nowhere.csv")


def test_a_ragged_csv_says_which_file(tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text("a,b\n1,2\n3\n")
    with pytest.raises(InputError, match=r"bad.csv' cannot be read: .*Expected 2 columns"):
        read_any(path)


def test_a_vector_can_be_a_list_a_series_or_an_arrow_array():
    for source in ([1, 2], pd.Series([1, 2]), pl.Series([1, 2]), pa.array([1, 2]), (1, 2)):
        assert read_vector(source, "target").tolist() == [1, 2]


def test_taking_rows_of_a_mixed_column_keeps_their_values():
    column = np.array([[1], ["a"], [None], [2]], dtype=object)
    taken = read_table(column).take(np.array([3, 1]))
    whole = learn_encoder(read_table(column))
    np.testing.assert_array_equal(
        whole.encode(taken).codes, whole.encode(read_table(column)).codes[:, [3, 1]]
    )


def test_dicts_may_hold_mixed_and_missing_values():
    codes = encode({"x": ["a", 1, None, float("nan")]}).codes[0]
    assert codes.tolist() == [4, 3, 0, 0]
    with pytest.raises(InputError, match=r"^The columns differ in length: \[1, 2\]"):
        read_table({"a": [1], "b": [1, 2]})
    with pytest.raises(InputError, match=r"^Column 'a' must be a list of values; got 'x'"):
        read_table({"a": "x"})


def test_arrow_text_and_pandas_na_are_fine_in_a_vector():
    assert read_vector(pa.array(["a", None]), "target").tolist() == ["a", None]
    assert read_vector(pd.Series(["a", pd.NA], dtype="string"), "target")[1] is None


def test_text_that_is_not_unicode_and_numbers_without_end_are_categories_all_the_same():
    for values in (["\ud800", "a"], [10**400, "a"]):
        codes = encode(np.array(values, dtype=object).reshape(-1, 1)).codes
        assert len(set(codes[0])) == 2


def test_arrow_layouts_that_are_rare_hold_the_same_categories():
    plain = pa.array([b"aa", b"bb", b"aa"])
    expected = learn_encoder(read_table(pa.table({"x": plain}))).encode(
        read_table(pa.table({"x": plain}))
    )
    layouts = [
        plain.cast(pa.binary_view()),
        plain.cast(pa.binary(2)),
        pc.run_end_encode(plain),
    ]
    for values in layouts:
        table = read_table({"x": values})
        np.testing.assert_array_equal(
            learn_encoder(table).encode(table).codes, expected.codes, str(values.type)
        )


def test_integers_of_128_bits_are_the_integers_they_are():
    column = pl.Series("x", [1, 2, None], dtype=pl.Int128)
    wide, narrow = read_table(pl.DataFrame([column])), read_table({"x": [1, 2, None]})
    encoder = learn_encoder(narrow, categorical_features=["x"])
    np.testing.assert_array_equal(encoder.encode(wide).codes, encoder.encode(narrow).codes)
