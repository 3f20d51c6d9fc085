"""Tables of every kind of column, made by Hypothesis: what must be equal, whatever they hold."""

import io
import warnings
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import catspace
from catspace import EmbeddingClassifier, EmbeddingRegressor
from catspace.data.reading import read_table
from catspace.data.statistics import learn_encoder
from catspace.data.vocabulary import MISSING, UNSEEN
from catspace.exceptions import CatspaceWarning
from catspace.storage.blocks import read_any

FAST = {"max_epochs": 1, "random_state": 0, "smooth": 0, "hidden_layer_sizes": (4,), "n_jobs": 1}
QUICK = settings(max_examples=60, deadline=None, derandomize=True, database=None)
SLOW = settings(QUICK, max_examples=12)

_TEXT = st.one_of(
    st.sampled_from(["", " ", "NA", "nan", "007", "1", "1.0", "1_000", "True", "a", "a ", 'a"b,c']),
    st.text(st.characters(codec="utf-8", exclude_characters="\r\n\x00"), max_size=4),
)
_TIMES = st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1))
VALUES = {
    pa.string(): _TEXT,
    pa.large_string(): _TEXT,
    pa.dictionary(pa.int32(), pa.string()): _TEXT,
    pa.bool_(): st.booleans(),
    pa.int8(): st.integers(-128, 127),
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.uint64(): st.integers(0, 2**64 - 1),
    pa.float32(): st.floats(allow_nan=False, allow_infinity=False, width=32),
    pa.float64(): st.floats(allow_nan=False, allow_infinity=False),
    pa.decimal128(12, 2): st.decimals(-(10**9), 10**9, places=2),
    pa.date32(): st.dates(date(1900, 1, 1), date(2100, 1, 1)),
    pa.timestamp("us"): _TIMES,
    pa.timestamp("us", "UTC"): _TIMES.map(lambda moment: moment.replace(tzinfo=UTC)),
    pa.time64("us"): st.times(),
    pa.duration("us"): st.timedeltas(timedelta(-(10**4)), timedelta(10**4)),
    pa.large_binary(): st.binary(max_size=3),
}
NO_CSV = {pa.large_binary(), pa.duration("us"), pa.decimal128(12, 2)}  # which a CSV has no form for


@st.composite
def tables(draw, types=tuple(VALUES)):
    """Draw an Arrow table of one to three columns, with missing values and repetitions."""
    n_rows = draw(st.integers(2, 12))
    columns = {}
    for i in range(draw(st.integers(1, 3))):
        type_ = draw(st.sampled_from(types))
        few = draw(st.lists(st.one_of(st.none(), VALUES[type_]), min_size=1, max_size=4))
        chosen = draw(st.lists(st.sampled_from(few), min_size=n_rows, max_size=n_rows))
        columns[f"c{i}"] = pa.array(chosen, type_)
    return pa.table(columns)


def learn(table):
    table = read_table(table)
    return learn_encoder(table, categorical_features=table.names), table


def csv_of(table):
    decoded = [
        column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column
        for column in table.columns
    ]
    sink = io.BytesIO()
    pyarrow.csv.write_csv(pa.table(decoded, names=table.column_names), sink)
    return sink.getvalue()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tables")


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CatspaceWarning)  # tables of nothing but chance have many
        yield


@QUICK
@given(tables())
def test_pandas_polars_and_arrow_are_the_same_table(table):
    encoder, read = learn(table)
    expected = encoder.encode(read).codes
    for other in (table.to_pandas(types_mapper=pd.ArrowDtype), pl.from_arrow(table)):
        again, read = learn(other)
        np.testing.assert_array_equal(again.encode(read).codes, expected)
        np.testing.assert_array_equal(encoder.encode(read).codes, expected)


@QUICK
@given(tables())
def test_categories_that_go_in_are_those_that_come_out(table):
    encoder, read = learn(table)
    codes = encoder.encode(read).codes
    for column, vocabulary, row in zip(
        table.columns, encoder.vocabularies.values(), codes, strict=True
    ):
        values = [_plain(value) for value in column.to_pylist()]
        categories = [_plain(value) for value in vocabulary.categories]
        assert set(categories) == {value for value in values if value is not None}
        assert len(categories) == len(set(categories))
        found = [None if code == MISSING else categories[code - 3] for code in row]
        assert found == values


def _plain(value):
    """Return a value as it compares: instants without their zone, dates as their midnight."""
    if isinstance(value, datetime):
        return value.replace(tzinfo=None)
    if isinstance(value, date):
        return datetime.combine(value, time())
    return float(value) if isinstance(value, Decimal) else value


@QUICK
@given(tables())
def test_a_row_alone_has_the_codes_that_it_has_in_a_batch(table):
    encoder, read = learn(table)
    codes = encoder.encode(read).codes
    alone = [encoder.encode(read_table(table.slice(i, 1))).codes for i in range(len(table))]
    np.testing.assert_array_equal(np.concatenate(alone, axis=1), codes)


@QUICK
@given(tables())
def test_a_parquet_file_means_what_its_table_means(folder, table):
    path = folder / "table.parquet"
    pyarrow.parquet.write_table(table, path)
    encoder, read = learn(table)
    expected = encoder.encode(read).codes
    np.testing.assert_array_equal(encoder.encode(read_any(path)).codes, expected)
    again, read = learn(read_any(path))
    np.testing.assert_array_equal(again.encode(read).codes, expected)


@QUICK
@given(tables(tuple(type_ for type_ in VALUES if type_ not in NO_CSV)))
def test_a_csv_file_means_the_same_in_fit_and_afterwards(folder, table):
    path = folder / "table.csv"
    table = table.append_column("row", pa.array(range(len(table))))  # or missing is an empty line
    path.write_bytes(csv_of(table))
    encoder, read = learn(read_any(path))
    expected = encoder.encode(read).codes
    assert UNSEEN not in expected
    with_kinds = read_any(path, kinds=encoder.kinds)
    np.testing.assert_array_equal(encoder.encode(with_kinds).codes, expected)
    # What the table tells apart, the file tells apart.
    memory, columns = learn(table)
    for mine, theirs in zip(memory.encode(columns).codes, expected, strict=True):
        assert len({*zip(mine, theirs, strict=True)}) == len(set(mine)) == len(set(theirs))


@SLOW
@given(tables())
def test_models_predict_the_same_alone_from_a_file_and_when_loaded(folder, table):
    names = table.column_names
    model = EmbeddingRegressor(categorical_features=names, **FAST)
    model.fit(table, np.arange(len(table), dtype=float))
    expected = model.predict(table)
    assert np.isfinite(expected).all()
    alone = [model.predict(table.slice(i, 1)) for i in range(len(table))]
    np.testing.assert_array_equal(np.concatenate(alone), expected)
    pyarrow.parquet.write_table(table, folder / "model.parquet")
    np.testing.assert_array_equal(model.predict(folder / "model.parquet"), expected)
    model.save(folder / "m.catspace")
    loaded = catspace.load(folder / "m.catspace")
    np.testing.assert_array_equal(loaded.predict(table), expected)
    for column, embedding in model.embeddings_.items():
        assert loaded.embeddings_[column].categories == embedding.categories
        np.testing.assert_array_equal(loaded.embeddings_[column].table, embedding.table)


@SLOW
@given(
    st.lists(st.one_of(st.integers(-5, 5), st.just(7)) | st.none(), min_size=4, max_size=12).filter(
        lambda labels: len({*labels} - {None}) > 1
    ),
    st.sampled_from([int, float, str, bool, bytes]),
)
def test_classes_that_go_in_are_those_that_come_out(folder, labels, kind):
    labels = np.array(
        [kind(str(label).encode() if kind is bytes else label or 0) for label in labels]
    )
    X = {"x": [f"{i % 3}" for i in range(len(labels))]}
    model = EmbeddingClassifier(**FAST).fit(X, labels)
    np.testing.assert_array_equal(model.classes_, np.unique(labels))
    model.save(folder / "c.catspace")
    loaded = catspace.load(folder / "c.catspace")
    assert loaded.classes_.dtype == model.classes_.dtype
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
