import datetime
import warnings

import numpy as np
import pandas as pd
import pytest

from catspace.data.encoding import TableEncoder
from catspace.data.reading import read_table
from catspace.data.scaling import Scaling
from catspace.data.statistics import learn_encoder
from catspace.exceptions import CatspaceWarning, InputError, ParameterError, UnknownCategoryError


def fit(columns, **settings):
    return learn_encoder(read_table(pd.DataFrame(columns)), **settings)


MIXED = {
    "text": ["a", "b"],
    "category": pd.Categorical([1, 2]),
    "flag": [True, False],
    "integer": [1, 2],
    "number": [0.5, 1.5],
}


def test_text_category_and_boolean_columns_are_embedded_and_numbers_are_not():
    encoder = fit(MIXED)
    assert list(encoder.vocabularies) == ["text", "category", "flag"]
    assert list(encoder.scalings) == ["integer", "number"]


@pytest.mark.parametrize(
    "named", [["integer"], [3], [-2], np.array([False, False, False, True, False])], ids=repr
)
def test_integers_are_embedded_when_named_by_name_position_or_mask(named):
    encoder = fit(MIXED, categorical_features=named)
    assert list(encoder.vocabularies) == ["text", "category", "integer"]


@pytest.mark.parametrize("named", [[], ["integer"], [False] * 5])
def test_a_list_of_columns_is_the_last_word_on_booleans(named):
    encoder = fit(MIXED, categorical_features=named)
    assert "flag" in encoder.scalings
    assert "flag" in fit(MIXED, categorical_features=[*named, "flag"][-1:]).vocabularies


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (["Text"], r"names 'Text', which is not a column\. Did you mean 'text'\?"),
        ([7], r"holds 7, and the table has 5 columns\."),
        ([True], r"is a mask of 1 values for 5 columns\."),
        ("text", r"got 'text'\.\nHint: categorical_features=\['text'\] names one column\."),
        ([1.5], r"got 1\.5 in it\."),
    ],
)
def test_categorical_features_that_mean_nothing_say_so(value, sentence):
    with pytest.raises(ParameterError, match=f"categorical_features.*{sentence}"):
        fit(MIXED, categorical_features=value)


@pytest.mark.parametrize("value", [0, -1, 1.5, "2", None])
def test_a_min_frequency_that_means_nothing_says_so(value):
    with pytest.raises(ParameterError, match=r"^min_frequency must be a count of at least 1"):
        fit(MIXED, min_frequency=value)


def test_min_frequency_can_be_a_share_of_the_rows():
    columns = {"x": ["a"] * 8 + ["b", "c"]}
    assert fit(columns, min_frequency=0.2).vocabularies["x"].categories == ["a"]
    assert fit(columns, min_frequency=0.1).vocabularies["x"].n_categories == 3


def test_max_categories_is_for_all_columns_or_for_some():
    columns = {"x": ["a", "b", "b", "c", "c"], "y": ["d", "e", "f", "f", "f"]}
    both = fit(columns, max_categories={"x": 3, "y": 3}).vocabularies
    assert [both[name].categories for name in "xy"] == [["a", "b", "c"], ["d", "e", "f"]]
    columns = {"x": [*columns["x"], "d"], "y": [*columns["y"], "g"]}
    both = fit(columns, max_categories=3).vocabularies
    assert [both[name].categories for name in "xy"] == [["b", "c"], ["d", "f"]]
    one = fit(columns, max_categories={"y": 2}).vocabularies
    assert [one[name].categories for name in "xy"] == [["a", "b", "c", "d"], ["f"]]


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (0, r"^max_categories must be a positive int, a dict of column to int, or None; got 0\."),
        (True, r"or None; got True\.$"),
        (2.5, r"or None; got 2\.5\.$"),
        ({"text": 0}, r"^max_categories\['text'\] must be a positive int; got 0\."),
        ({"Text": 3}, r"names 'Text', which is not a categorical column\. Did you mean 'text'\?"),
        ({"number": 3}, r"names 'number', which is not a categorical column\.$"),
    ],
)
def test_a_max_categories_that_means_nothing_says_so(value, sentence):
    with pytest.raises(ParameterError, match=sentence):
        fit(MIXED, max_categories=value)


def test_columns_named_in_hash_buckets_are_embedded_by_bucket():
    encoder = fit({**MIXED, "integer": [7, 8]}, hash_buckets={"integer": 10**9, "text": 1})
    assert list(encoder.vocabularies) == ["text", "category", "flag", "integer"]
    assert encoder.vocabularies["text"].categories == ["bucket 0"]
    assert encoder.vocabularies["integer"].n_categories == 2
    new = read_table(pd.DataFrame({**MIXED, "text": ["c", None], "integer": [8.0, 9.0]}))
    codes = dict(zip(encoder.vocabularies, encoder.encode(new).codes.tolist(), strict=True))
    assert codes["text"] == [3, 0]
    assert codes["integer"] == [encoder.vocabularies["integer"].code(8, "integer"), 2]


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (100, r"^hash_buckets must be a dict of column to the number of its buckets, or None; got"),
        ({"text": 0}, r"^hash_buckets\['text'\] must be a positive int; got 0\."),
        ({"text": 1e6}, r"^hash_buckets\['text'\] must be a positive int; got 1000000\.0\."),
        ({"Text": 3}, r"names 'Text', which is not a column\. Did you mean 'text'\?"),
    ],
)
def test_hash_buckets_that_mean_nothing_say_so(value, sentence):
    with pytest.raises(ParameterError, match=sentence):
        fit(MIXED, hash_buckets=value)


def test_hashing_one_id_does_not_hide_another():
    with pytest.warns(CatspaceWarning, match=r"'shop_id' holds integers that look like identifier"):
        fit({"user_id": [1, 2, 3], "shop_id": [17, 4, 90]}, hash_buckets={"user_id": 10})


def test_an_integer_column_that_looks_like_an_id_draws_a_hint():
    stores = np.tile(np.arange(1, 201), 10)
    numbered = np.random.default_rng(0).integers(10_000, 10_300, size=3_000)
    for columns in (
        {"store": stores},
        {"customer_id": [17, 4, 4, 90]},
        {"Kunde": [17, 4, 4, 90]},
        {"Kunde": [17.0, 4.0, 4.0, 90.0, None]},
        {"who": numbered},
    ):
        with pytest.warns(CatspaceWarning, match=r"look like identifiers.*used as a number"):
            fit(columns)


@pytest.mark.parametrize("name", ["age", "video", "amount", "no_rooms"])
def test_an_integer_column_that_is_a_count_draws_none(name):
    ages = np.random.default_rng(0).integers(18, 90, size=500)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit({name: ages})


def test_scaling_is_the_robust_standard_score_bent_at_three():
    values = np.random.default_rng(0).lognormal(size=1000)
    scaling = Scaling.fit(values)
    low, median, high = np.quantile(values, [0.25, 0.5, 0.75])
    z = (values - median) / ((high - low) / 1.349)
    expected = z / np.sqrt(1 + (z / 3) ** 2)
    np.testing.assert_allclose(scaling.apply(values)[:, 0], expected, rtol=1e-5, atol=1e-6)
    assert np.abs(scaling.apply(np.array([1e30, -1e30]))).max() <= 3


def test_a_rare_flag_is_no_further_from_the_rest_than_a_common_one():
    rare, common = np.zeros(1000), np.zeros(1000)
    rare[:10], common[:240] = 1, 1
    for flag in (rare, common):
        scaling = Scaling.fit(flag)
        assert (scaling.centre, scaling.scale) == (0.0, 1.0)
    counts = np.array([0.0] * 90 + [3.0, 4.0] * 5)
    assert Scaling.fit(counts).scale == pytest.approx(np.sqrt(12.5))  # of those that are not 0
    assert Scaling.fit(np.full(9, 5.0)).scale == 1.0


def test_missing_numbers_get_the_median_and_an_indicator():
    scaling = Scaling.fit(np.array([1.0, 2.0, 3.0, np.nan]))
    np.testing.assert_array_equal(scaling.apply(np.array([2.0, np.nan])), [[0, 0], [0, 1]])


def test_numbers_missing_only_at_predict_get_the_median():
    np.testing.assert_array_equal(Scaling.fit(np.arange(5.0)).apply(np.array([np.nan])), [[0]])


@pytest.mark.parametrize("values", [[4.0] * 5, [np.nan] * 5, [0.0] * 9 + [1.0]])
def test_columns_with_hardly_any_spread_scale_to_finite_numbers(values):
    assert np.isfinite(Scaling.fit(np.array(values)).apply(np.array(values))).all()


def test_infinity_in_a_column_says_where():
    with pytest.raises(InputError, match=r"^Column 'x' holds infinity, first in row 1\."):
        fit({"x": [1.0, np.inf]})


def test_dates_are_refused_until_they_are_asked_for():
    days = {"day": [datetime.date(2015, 7, 31), datetime.date(2016, 2, 29)]}
    with pytest.raises(InputError, match=r"^Column 'day' holds dates\.\nHint: date_parts="):
        fit(days)
    encoder = fit(days, date_parts=["year", "day_of_week"])
    assert encoder.vocabularies["day_year"].categories == [2015, 2016]
    assert encoder.vocabularies["day_day_of_week"].categories == [1, 5]
    assert fit(days, categorical_features=["day"]).vocabularies["day"].n_categories == 2


def test_a_part_of_a_date_that_there_is_not_says_which_there_are():
    with pytest.raises(ParameterError, match=r"holds 'years'; it takes year.*Did you mean 'year'?"):
        fit({"x": [1.0]}, date_parts=["years"])


def test_unseen_categories_raise_when_asked_to():
    encoder = fit({"State": ["HE", "BY"]})
    new = read_table(pd.DataFrame({"State": ["XX", "HE", "YY"]}))
    assert encoder.encode(new).codes.tolist() == [[2, 4, 2]]
    with pytest.raises(UnknownCategoryError) as caught:
        encoder.encode(new, handle_unknown="error")
    assert str(caught.value) == (
        "Column 'State' holds 2 categories not seen in fit: ['XX', 'YY'].\n"
        'Hint: handle_unknown="mean" gives them the vector of unseen categories.'
    )


def test_text_where_fit_had_numbers_says_so():
    encoder = fit({"price": [1.0, 2.0]})
    with pytest.raises(InputError, match=r"^Column 'price' held numbers in fit and holds text now"):
        encoder.encode(read_table(pd.DataFrame({"price": ["cheap", "dear"]})))


def test_state_is_a_round_trip():
    table = read_table(pd.DataFrame({**MIXED, "number": [0.5, None]}))
    encoder = learn_encoder(table, hash_buckets={"category": 5})
    again = TableEncoder.from_state(*encoder.to_state())
    assert again.vocabularies["category"].n_buckets == 5
    assert again.vocabularies["category"].kinds == ("number",)
    assert again.number_names == encoder.number_names == ["integer", "number", "number_missing"]
    np.testing.assert_array_equal(again.encode(table).codes, encoder.encode(table).codes)
    np.testing.assert_array_equal(again.encode(table).numbers, encoder.encode(table).numbers)
