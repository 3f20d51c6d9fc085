"""Silent surprises draw a warning that says what to do; what is meant draws none."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

from catspace import EmbeddingEncoder
from catspace.data.reading import read_table
from catspace.data.statistics import learn_encoder
from catspace.data.target_statistics import learn_target
from catspace.exceptions import CatspaceWarning


def fit(table, **options):
    return learn_encoder(read_table(table), **options)


def silently(action):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return action()


DAYS = pd.date_range("2014-01-01", periods=30)


@pytest.mark.parametrize(
    "form",
    ["%d.%m.%Y", "%m/%d/%Y", "%Y-%m-%d", "%Y/%m/%d", "%d-%b-%Y", "%B %d, %Y", "%d.%m.%y %H:%M",
     "%Y-%m-%dT%H:%M:%SZ"],
)  # fmt: skip
def test_text_that_looks_like_dates_names_date_parts(form):
    texts = DAYS.strftime(form).tolist()
    with pytest.warns(CatspaceWarning, match=r"(?s)'day' holds text that looks like dates.*date_p"):
        fit({"day": [*texts, None]})
    silently(lambda: fit({"day": texts}, categorical_features=["day"]))


@pytest.mark.parametrize(
    "values",
    [
        [f"{i}.{i}.{i}.1" for i in range(9)],
        [f"A-{i}-2014" for i in range(9)],
        [f"{i:05d}" for i in range(9)],
        [f"0{i}/2014" for i in range(9)],
        ["2014-01-01", "2014-01-02"],
        [*DAYS.strftime("%Y-%m-%d"), "unknown"],
    ],
)
def test_text_that_is_no_date_draws_no_hint(values):
    silently(lambda: fit({"x": values}))


def test_a_column_whose_values_are_all_unseen_is_named():
    encoder = fit({"town": list("abcde"), "x": [1.0, 2, 3, 4, 5]})
    new = read_table({"town": ["A", "B", None, "C"], "x": [1.0, 2, 3, 4]})
    with pytest.warns(CatspaceWarning, match=r"^None of the values of column 'town' was met in f"):
        encoder.encode(new)
    for known in (["A", "B", "c"], ["A"], ["A", "B"], [None, None, None]):
        table = read_table({"town": known, "x": [1.0] * len(known)})
        silently(lambda table=table: encoder.encode(table))


def test_singles_after_doubles_are_named_as_such():
    frame = pl.DataFrame({"x": [0.1, 0.2, 0.3]})
    encoder = fit(frame, categorical_features=["x"])
    with pytest.warns(
        CatspaceWarning, match=r"(?s)^None of the values.*float32 now and was float6"
    ):
        encoder.encode(read_table(frame.cast(pl.Float32)))


def test_identifiers_on_small_tables_and_with_missing_values_draw_the_hint():
    shops = np.tile(np.arange(1, 31), 3)
    with_missing = np.where(np.arange(90) == 7, np.nan, shops)
    for columns in (
        {"shop": shops},
        {"shop": with_missing},
        {"shop_id": [17.0, 4.0, 90.0, np.nan]},
    ):
        with pytest.warns(CatspaceWarning, match=r"holds integers that look like identifiers"):
            fit(columns)


def test_counts_and_fractions_draw_no_hint():
    random = np.random.default_rng(0)
    for values in (random.poisson(3, 300), random.normal(size=90), np.arange(1.0, 31.0)):
        silently(lambda values=values: fit({"x": values}))
        silently(lambda values=values: fit({"x": [*values.astype(float), np.nan]}))


def test_ratings_as_fractions_that_are_taken_for_classes_draw_a_warning():
    ratings = np.tile([1.0, 2.0, 3.0, 4.0, 5.0], 4)
    with pytest.warns(
        CatspaceWarning, match=r"(?s)holds 5 different whole numbers, from 1 to 5.*c"
    ):
        assert learn_target(ratings, "auto").n_outputs == 5
    for kind in ("class", "continuous"):
        silently(lambda kind=kind: learn_target(ratings, kind))
    for labels in (ratings.astype(int), [0.0, 1.0, 1.0], ["a", "b"]):
        silently(lambda labels=labels: learn_target(labels, "auto"))
    model = EmbeddingEncoder(target_type="continuous", max_epochs=1, smooth=0)
    assert silently(lambda: model.fit({"x": list("abcde") * 4}, ratings)).n_outputs_ == 1
