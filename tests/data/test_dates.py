import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from catspace import EmbeddingRegressor, load
from catspace.data.dates import DATE_PARTS, find_date_formats, read_dates, take_part
from catspace.data.reading import read_table
from catspace.data.statistics import ColumnStatistics, learn_encoder
from catspace.exceptions import InputError, ParameterError

DAYS = [dt.date(2023, 12, 31), dt.date(2024, 2, 29), None, dt.date(2024, 12, 30)]
MOMENTS = [dt.datetime(2024, 1, 1, 6), dt.datetime(2024, 1, 2, 12, 30), None]
SETTINGS = {"max_epochs": 3, "smooth": 0, "random_state": 0}

NAIVE = {
    "year": lambda day: day.year,
    "quarter": lambda day: (day.month + 2) // 3,
    "month": lambda day: day.month,
    "week": lambda day: day.isocalendar().week,
    "day": lambda day: day.day,
    "day_of_week": lambda day: day.isoweekday(),
    "day_of_year": lambda day: int(day.strftime("%j")),
    "hour": lambda day: getattr(day, "hour", 0),
    "date": lambda day: dt.date(day.year, day.month, day.day),
    "elapsed": lambda day: (pd.Timestamp(day) - pd.Timestamp(1970, 1, 1)) / pd.Timedelta(days=1),
}  # fmt: skip


def values(column):
    return column.parts[0][1].to_pylist()


def column_of(table, name="day"):
    return read_table(table)[name]


@pytest.mark.parametrize("part", DATE_PARTS)
@pytest.mark.parametrize("dates", [DAYS, MOMENTS])
def test_each_part_is_what_the_calendar_says(make_table, part, dates):
    made = take_part(read_dates(column_of(make_table({"day": dates}))), part)
    assert made.name == f"day_{part}"
    expected = [None if day is None else NAIVE[part](day) for day in dates]
    assert values(made) == expected


def test_parts_are_those_of_the_local_time_and_elapsed_time_is_one_for_all_zones():
    moment = pd.Timestamp("2024-01-01 23:30", tz="UTC")
    utc, berlin = (
        read_dates(column_of(pd.DataFrame({"day": [moment.tz_convert(zone)]})))
        for zone in ("UTC", "Europe/Berlin")
    )
    assert [values(take_part(c, "date"))[0].day for c in (utc, berlin)] == [1, 2]
    assert [values(take_part(c, "hour"))[0] for c in (utc, berlin)] == [23, 0]
    assert values(take_part(utc, "elapsed")) == values(take_part(berlin, "elapsed"))


def test_elapsed_days_count_from_the_first_day_of_training_and_go_on_past_the_last():
    table = read_table({"day": DAYS})
    encoder = learn_encoder(table, date_parts=["elapsed"])
    assert encoder.dates.first_days == {"day": (DAYS[0] - dt.date(1970, 1, 1)).days}
    days = values(encoder.origins["day_elapsed"].read(table))
    assert days == [0.0, 60.0, None, 365.0]
    later = read_table({"day": [dt.date(2025, 12, 30)]})
    assert values(encoder.origins["day_elapsed"].read(later)) == [730.0]
    assert encoder.encode(later).numbers[0, 0] > encoder.encode(table).numbers[:, 0].max()


def test_blocks_in_any_order_know_the_first_day_of_all():
    random = np.random.default_rng(0)
    days = [dt.date(2024, 1, 1) + dt.timedelta(days=int(d)) for d in random.permutation(90)]
    table = read_table({"day": days})
    whole = learn_encoder(table, date_parts=["elapsed", "month"])
    from catspace.data.roles import Roles

    roles = Roles.of(table, date_parts=["elapsed", "month"])
    blocks = [ColumnStatistics(table, roles, sample_rows=90, seed=i) for i in range(3)]
    for i, block in enumerate(blocks):
        block.add(table.take(np.arange(30 * i, 30 * i + 30)))
    blocks[2].merge(blocks[0])
    blocks[2].merge(blocks[1])
    merged = blocks[2].encoder()
    assert merged.dates == whole.dates
    np.testing.assert_array_equal(merged.encode(table).numbers, whole.encode(table).numbers)
    assert blocks[2].numbers.min() == 0


def test_a_trend_is_learned_along_elapsed_days():
    days = [dt.date(2024, 1, 1) + dt.timedelta(days=i) for i in range(400)]
    X, y = pd.DataFrame({"day": days}), np.arange(400.0)
    model = EmbeddingRegressor(date_parts=["elapsed"], max_epochs=60, smooth=0, random_state=0)
    predicted = model.fit(X, y).predict(X)
    assert np.corrcoef(predicted, y)[0, 1] > 0.99
    assert model.feature_names_in_.tolist() == ["day"]
    assert model.get_feature_names_out().tolist() == ["day_elapsed"]


def test_the_whole_day_is_a_category_of_its_own():
    X = {"day": [*DAYS[:2], *DAYS[:2]] * 10}
    y = [1.0, 5.0] * 20
    model = EmbeddingRegressor(date_parts=["date"], max_epochs=20, smooth=0, random_state=0)
    model.fit(X, y)
    assert [day.date() for day in model.embeddings_["day_date"].categories] == DAYS[:2]
    assert model.embeddings_["day_date"].nearest(DAYS[0])["distance"][0] > 0


FORMS = [
    "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%Y-%m-%d", "%Y/%m/%d", "%d-%b-%Y", "%B %d, %Y",
    "%d %b %Y", "%d.%m.%y %H:%M", "%Y-%m-%dT%H:%M:%S", "%m/%d/%y",
]  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_the_form_of_dates_is_found_and_read_back(form):
    days = pd.date_range("2014-01-25 00:00", periods=30, freq="37h")
    texts = days.strftime(form).tolist()
    assert find_date_formats(texts) == [form]
    read = read_dates(column_of({"day": [*texts, None]}), form)
    floored = days.floor("min") if "%H" in form else days.normalize()
    expected = [pd.Timestamp(day) for day in floored]
    if "%S" in form:
        expected = list(days)
    assert [v if v is None else pd.Timestamp(v) for v in values(read)] == [*expected, None]


@pytest.mark.parametrize(
    "words",
    [["31.02.2014"], ["2014-13-01"], ["1.2.2014", "2014-02-01"], ["1.2.3"], ["soon"], ["12:30"]],
)
def test_words_that_are_no_dates_have_no_form(words):
    assert find_date_formats(words) == []


def test_what_could_be_two_forms_is_known_to_be(make_table):
    assert find_date_formats(["01/02/2014", "03/04/2014"]) == ["%d/%m/%Y", "%m/%d/%Y"]


@pytest.fixture
def written():
    """Return a table whose dates are text, and the same with dates."""
    random = np.random.default_rng(0)
    days = [dt.date(2024, 1, 1) + dt.timedelta(days=int(d)) for d in random.integers(0, 300, 80)]
    text = [day.strftime("%d.%m.%Y") for day in days]
    return {"day": text, "x": random.normal(size=80)}, {"day": days, "x": np.zeros(80)}


def test_text_that_is_dates_gives_the_model_of_the_dates(make_table, written, tmp_path):
    text, dates = written
    dates["x"] = text["x"]
    y = np.array([day.month for day in dates["day"]], dtype=float)
    parts = {"date_parts": ["month", "elapsed"], **SETTINGS}
    expected = EmbeddingRegressor(**parts).fit(make_table(dates), y)
    model = EmbeddingRegressor(date_formats={"day": "%d.%m.%Y"}, **parts).fit(make_table(text), y)
    predicted = expected.predict(make_table(dates))
    np.testing.assert_array_equal(model.predict(make_table(text)), predicted)
    # Dates themselves are understood too; so are files, before and after saving.
    np.testing.assert_array_equal(model.predict(make_table(dates)), predicted)
    model.save(tmp_path / "m.catspace")
    restored = load(tmp_path / "m.catspace")
    assert restored.fitted_.learned.encoder.dates == model.fitted_.learned.encoder.dates
    pl.DataFrame(text).write_csv(tmp_path / "t.csv")
    np.testing.assert_array_equal(restored.predict(tmp_path / "t.csv"), predicted)
    assert restored.date_formats == {"day": "%d.%m.%Y"}


def test_files_and_memory_learn_the_same_from_text_that_is_dates(written, tmp_path):
    text, _ = written
    frame = pd.DataFrame(text).assign(y=np.arange(80.0))
    frame.to_csv(tmp_path / "t.csv", index=False)
    model = EmbeddingRegressor(
        date_formats={"day": "%d.%m.%Y"}, date_parts=["month", "elapsed", "date"], **SETTINGS
    )
    streamed = model.fit(tmp_path / "t.csv", "y").predict(tmp_path / "t.csv")
    frame = pd.read_csv(tmp_path / "t.csv")
    np.testing.assert_array_equal(model.fit(frame, "y").predict(frame), streamed)


def test_a_model_that_knows_dates_reads_them_as_a_csv_file_has_them():
    days = read_dates(column_of({"day": ["2024-02-29", None]}))
    assert values(days) == [dt.date(2024, 2, 29), None]
    moments = read_dates(column_of({"day": ["2024-02-29 12:30", "2024-03-01"]}))
    assert values(moments) == [dt.datetime(2024, 2, 29, 12, 30), dt.datetime(2024, 3, 1)]
    with pytest.raises(InputError, match="'day' held dates in fit and holds text now"):
        read_dates(column_of({"day": ["29.2.2024"]}))


def test_nonsense_among_dates_is_named(written):
    text, _ = written
    odd = {**text, "day": [*text["day"][:-2], "soon", "31.02.2024"]}
    model = EmbeddingRegressor(
        date_formats={"day": "%d.%m.%Y"}, date_parts=["month", "elapsed"], **SETTINGS
    )
    message = (
        r"Column 'day' holds \['soon', '31.02.2024'\], which is no date of the form '%d.%m.%Y'"
    )
    with pytest.raises(InputError, match=message):
        model.fit(odd, np.arange(80.0))
    model.fit(text, np.arange(80.0))
    with pytest.raises(InputError, match=message):
        model.predict(odd)


def test_dates_that_are_all_equal_or_all_missing_are_no_trouble():
    for days in ([DAYS[0]] * 20, [None] * 20):
        X = pl.DataFrame({"day": days, "x": np.arange(20.0)}, schema_overrides={"day": pl.Date})
        model = EmbeddingRegressor(date_parts=["year", "elapsed", "date"], **SETTINGS)
        assert np.isfinite(model.fit(X, np.arange(20.0)).predict(X)).all()


def test_wrong_forms_are_refused_in_a_sentence():
    X, y = {"day": ["1.2.2014"] * 5}, np.arange(5.0)

    def fit(formats):
        return EmbeddingRegressor(date_formats=formats, date_parts=["year"], **SETTINGS).fit(X, y)

    with pytest.raises(ParameterError, match=r"date_formats names 'Day', .* Did you mean 'day'"):
        fit({"Day": "%d.%m.%Y"})
    with pytest.raises(ParameterError, match=r"must give 'day' a form such as .*; got 'd.m.Y'"):
        fit({"day": "d.m.Y"})
    with pytest.raises(ParameterError, match="date_formats must be a dict of column to the form"):
        fit("%d.%m.%Y")
    with pytest.raises(InputError, match=r"^Column 'day' holds dates\.\nHint: date_parts="):
        EmbeddingRegressor(date_formats={"day": "%d.%m.%Y"}).fit(X, y)


@pytest.fixture
def in_berlin():
    """Return a table of instants in the zone of Berlin, and a target that follows their hour."""
    random = np.random.default_rng(0)
    minutes = random.integers(0, 60 * 24 * 60, 300)
    when = pd.Timestamp("2024-01-05", tz="UTC") + pd.to_timedelta(minutes, unit="min")
    frame = pd.DataFrame({"when": when.tz_convert("Europe/Berlin")})
    return frame, frame["when"].dt.hour.to_numpy(float)


OF_HOURS = {"date_parts": ["hour", "elapsed"], **SETTINGS}


def test_the_same_instants_in_another_zone_have_the_hours_that_fit_met(in_berlin, tmp_path):
    frame, y = in_berlin
    model = EmbeddingRegressor(**OF_HOURS).fit(frame, y)
    expected = model.predict(frame)
    model.save(tmp_path / "m.catspace")
    frame.to_csv(tmp_path / "t.csv", index=False)  # whose instants are read as those of UTC
    frame.to_parquet(tmp_path / "t.parquet")
    elsewhere = [frame["when"].dt.tz_convert(zone) for zone in ("UTC", "Asia/Tokyo", "-03:00")]
    objects = pd.Series([one.to_pydatetime() for one in frame["when"]], dtype=object)
    text = [one.isoformat() for one in frame["when"]]  # as records of JSON have it
    tables = [pd.DataFrame({"when": when}) for when in (*elsewhere, objects, text)]
    tables += [pl.from_pandas(tables[1]), tmp_path / "t.csv", tmp_path / "t.parquet"]
    for one in (model, load(tmp_path / "m.catspace")):
        for table in tables:
            np.testing.assert_array_equal(one.predict(table), expected)


def test_times_with_and_without_a_zone_are_not_taken_for_each_other(in_berlin):
    frame, y = in_berlin
    local = pd.DataFrame({"when": frame["when"].dt.tz_localize(None)})
    zoned = EmbeddingRegressor(**OF_HOURS).fit(frame, y)
    with pytest.raises(
        InputError,
        match="'when' held times of the zone Europe/Berlin in fit and holds times without a zone "
        r"now.\nHint: say of which zone they are \(in pandas: dt.tz_localize\)",
    ):
        zoned.predict(local)
    plain = EmbeddingRegressor(**OF_HOURS).fit(local, y)
    with pytest.raises(
        InputError,
        match="held times without a zone in fit and holds times of the zone Europe/Berlin now",
    ):
        plain.predict(frame)
    with pytest.raises(InputError, match="held times of the zone Europe/Berlin in fit"):
        zoned.partial_fit(local, y)
    # What says no hour, and no time at all, has no zone
    nothing = pd.DataFrame({"when": pd.Series([pd.NaT] * 3)})
    numbers = pd.DataFrame({"when": [np.nan] * 3})  # as pandas reads a column without any cell
    days = pd.DataFrame({"when": [dt.date(2024, 1, 6)] * 3})
    for model in (zoned, plain):
        assert np.isfinite(model.predict(nothing)).all()
        np.testing.assert_array_equal(model.predict(numbers), model.predict(nothing))
        assert np.isfinite(model.predict(days)).all()


@pytest.mark.parametrize("zone", ["UTC+2", "Foo/Bar", "+25:00"])
def test_a_zone_that_nobody_knows_is_named(in_berlin, zone):
    frame, y = in_berlin
    instants = pa.array(range(300), pa.timestamp("us", zone))
    lost = pa.table({"when": instants})
    sentence = f"^Column 'when' holds times of the zone {zone!r}, which is not known here".replace(
        "+", r"\+"
    )
    with pytest.raises(InputError, match=sentence):
        EmbeddingRegressor(**OF_HOURS).fit(lost, y)
    with pytest.raises(InputError, match=sentence):
        EmbeddingRegressor(**OF_HOURS).fit(frame, y).predict(lost)


def test_times_finer_than_a_microsecond_have_their_hour():
    late = [-1, 3_600_000_000_000 * 5 - 1, 3_600_000_000_000 * 5]  # the first before 1970
    table = pa.table({"day": pa.array(late, pa.timestamp("ns"))})
    assert values(take_part(read_dates(column_of(table)), "hour")) == [23, 4, 5]
