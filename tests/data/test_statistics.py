"""Statistics of blocks against those of the whole table."""

import numpy as np
import pandas as pd
import pytest

from catspace.data.reading import read_table
from catspace.data.roles import Roles
from catspace.data.statistics import ColumnStatistics, RowSample, learn_encoder
from catspace.data.target import ClassTarget, RegressionTarget
from catspace.data.target_statistics import TargetStatistics, learn_target
from catspace.exceptions import InputError, ParameterError


def sample_of(values, n_most, *, n_blocks=7, seed=0):
    sample = RowSample(n_most, seed=seed)
    for block in np.array_split(values, n_blocks):
        sample.add(block[:, None], block)
    return sample


def test_a_sample_that_holds_all_rows_keeps_their_order():
    numbers, target = sample_of(np.arange(100), 100).columns
    assert target.tolist() == list(range(100))
    np.testing.assert_array_equal(numbers[:, 0], target)


def test_a_sample_has_its_size_and_each_row_at_most_once():
    numbers, target = sample_of(np.arange(1000), 100).columns
    assert len(set(target.tolist())) == len(target) == 100
    np.testing.assert_array_equal(numbers[:, 0], target)


def test_a_sample_depends_on_its_seed_and_not_on_the_blocks():
    one, other = (sample_of(np.arange(1000), 100, n_blocks=n).columns[1] for n in (1, 50))
    np.testing.assert_array_equal(one, other)
    assert sample_of(np.arange(1000), 100, seed=1).columns[1].tolist() != one.tolist()


def test_a_sample_of_nothing_is_empty():
    assert RowSample(10).columns == ()


@pytest.mark.parametrize("is_merged", [False, True])
def test_each_row_is_as_likely_as_any_other_to_be_in_the_sample(is_merged):
    met = np.zeros(50)
    for seed in range(1000):
        sample = sample_of(np.arange(50) if not is_merged else np.arange(20), 10, seed=seed)
        if is_merged:  # parts of different sizes
            sample.merge(sample_of(np.arange(20, 50), 10, seed=1000 + seed))
        met[sample.columns[1]] += 1
    # Each is binomial with 1000 draws of 1/5: a standard deviation of 12.6.
    assert met.sum() == 10_000
    assert abs(met - 200).max() < 5 * 12.6


def blocks_of(y, n_blocks=5):
    return np.array_split(np.asarray(y), n_blocks)


def count(y, kind, transform=None, *, weight=None, n_blocks=5, is_merged=False):
    """Learn a target block by block; merged: each block apart."""
    whole, first_row = TargetStatistics(kind, transform), 0
    weights = [None] * n_blocks if weight is None else np.array_split(weight, n_blocks)
    for block, block_weight in zip(blocks_of(y, n_blocks), weights, strict=True):
        if is_merged:
            part = TargetStatistics(kind, transform)
            part.add(block, block_weight, first_row)
            whole.merge(part)
        else:
            whole.add(block, block_weight, first_row)
        first_row += len(block)
    return whole


@pytest.mark.parametrize("is_merged", [False, True])
@pytest.mark.parametrize("transform", [None, "log", "log1p", "paper"])
def test_the_scale_of_a_target_in_blocks_is_that_of_the_whole(transform, is_merged):
    y = 1 + np.random.default_rng(0).lognormal(3, 2, size=999)
    target = count(y, "continuous", transform, is_merged=is_merged).target()
    expected = learn_target(y, transform=transform)
    assert target.is_vector
    assert target.transform == transform
    np.testing.assert_allclose(target.centre, expected.centre, rtol=1e-12)
    np.testing.assert_allclose(target.scale, expected.scale, rtol=1e-12)


def test_a_constant_target_far_from_zero_has_no_spread():
    assert count(np.full(100, 1e9 + 0.1), "continuous").target().scale == [0.0]


@pytest.mark.parametrize("is_merged", [False, True])
@pytest.mark.parametrize(
    "labels",
    [["b", "a", "c", "é"], [3, 1, 2, 7], [1.0, 0.0, 5.0, 2.0], [True, False, True, True]],
)
def test_classes_and_their_weights_in_blocks_are_those_of_the_whole(labels, is_merged):
    random = np.random.default_rng(0)
    y = np.array(labels, dtype=object if isinstance(labels[0], str) else None)
    y, weight = random.choice(y, size=200), random.random(200)
    found = count(y, "class", weight=weight, is_merged=is_merged)
    classes = np.unique(y)
    assert found.target().classes.tolist() == classes.tolist()
    assert found.target().classes.dtype == classes.dtype
    balanced = found.class_weights("balanced")
    expected = {label: len(y) / len(classes) / (y == label).sum() for label in classes}
    np.testing.assert_allclose(balanced, [expected[label] for label in classes])
    assert found.mean_weight() == pytest.approx(weight.mean())
    by_row = np.array([expected[label] for label in y])
    assert found.mean_weight(balanced) == pytest.approx((by_row * weight).mean())
    given = {classes[0]: 3.0}
    assert found.class_weights(given).tolist() == [3.0] + [1.0] * (len(classes) - 1)


@pytest.mark.parametrize("is_merged", [False, True])
@pytest.mark.parametrize(
    ("y", "kind"),
    [
        (np.arange(100) % 20, ClassTarget),
        (np.arange(100) % 21, RegressionTarget),
        (np.r_[np.ones(99), 0.5], RegressionTarget),
        (np.r_[0.5, np.ones(99)], RegressionTarget),
        (np.array([f"{i % 50}" for i in range(100)], dtype=object), ClassTarget),
        (np.arange(100) % 2 == 0, ClassTarget),
    ],
    ids=["20 integers", "21 integers", "late fraction", "early fraction", "text", "booleans"],
)
def test_where_nobody_says_the_target_itself_tells_what_it_is(y, kind, is_merged):
    assert isinstance(count(y, "auto", is_merged=is_merged).target(), kind)


@pytest.mark.parametrize(
    ("y", "kind", "transform", "sentence"),
    [
        (
            [1.0, np.nan, 2.0, 3.0, np.nan],
            "continuous",
            None,
            r"^Input y contains NaN, first in row 1 \(2 in all\)\.\nHint: drop the rows",
        ),
        ([1.0, 2.0, np.inf], "continuous", None, r"^Input y contains infinity, first in row 2 \(1"),
        (["a", None, "b"], "class", None, r"^Input y contains NaN, first in row 1 \(1 in all\)"),
        (
            [1.0, -3.0, 2.0, -4.0],
            "continuous",
            "log",
            r"^target_transform='log' needs a target above 0; got -3 in row 1 \(2 such rows\)",
        ),
        (
            [1.0, 2.0, 0.25],
            "class",
            None,
            r"^Unknown label type: continuous\. The target holds 0.2",
        ),
        (["a", "b"], "continuous", None, r"^The target must hold numbers; got 'a' first\."),
        (
            ["a", 1, "b"],
            "class",
            None,
            r"^Unknown label type: unknown\. .* several: int, str\.\nHint",
        ),
    ],
)
@pytest.mark.parametrize("is_merged", [False, True])
def test_a_target_that_cannot_be_used_says_why_with_the_number_of_rows(
    y, kind, transform, sentence, is_merged
):
    y = np.array(y, dtype=object if isinstance(y[0], str) else float)
    with pytest.raises(InputError, match=sentence):
        count(y, kind, transform, n_blocks=2, is_merged=is_merged).target()


def test_a_transform_that_is_not_there_says_so():
    with pytest.raises(ParameterError, match=r"^target_transform must be None, "):
        TargetStatistics("continuous", "ln")


def make_table(n=500):
    random = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "town": random.choice(["Aachen", "Bonn", None], size=n),
            "shop": random.integers(1, 400, size=n),
            "price": random.normal(10, 2, size=n),
            "stock": np.where(random.random(n) < 0.02, np.nan, random.integers(0, 9, size=n)),
            "day": pd.date_range("2020", periods=n),
        }
    )


def learn(frame, *, sample_rows, is_merged):
    columns = read_table(frame[:0])
    roles = Roles.of(columns, **SETTINGS)
    whole = ColumnStatistics(columns, roles, sample_rows=sample_rows)
    for i, rows in enumerate(np.array_split(np.arange(len(frame)), 4)):
        part = whole
        if is_merged:
            part = ColumnStatistics(columns, roles, sample_rows=sample_rows, seed=i)
        part.add(read_table(frame.iloc[rows]), first_row=rows[0])
        if is_merged:
            whole.merge(part)
    return whole


SETTINGS = {"categorical_features": ["shop"], "date_parts": ["month", "day_of_week"]}


@pytest.mark.parametrize("is_merged", [False, True])
@pytest.mark.parametrize("min_frequency", [1, 2, 0.01])
def test_an_encoder_learned_in_blocks_is_that_of_the_whole(is_merged, min_frequency):
    frame = make_table()
    table = read_table(frame)
    statistics = learn(frame, sample_rows=500, is_merged=is_merged)
    expected = learn_encoder(table, min_frequency=min_frequency, **SETTINGS)
    (document, arrays), (expected_document, expected_arrays) = (
        encoder.to_state() for encoder in (statistics.encoder(min_frequency), expected)
    )
    assert document == expected_document
    assert list(arrays) == list(expected_arrays)
    for name, array in arrays.items():
        if isinstance(array, np.ndarray):
            np.testing.assert_array_equal(array, expected_arrays[name])
        else:
            assert array.equals(expected_arrays[name])


def test_scales_come_from_a_sample_and_missing_values_from_all_rows():
    frame = make_table(20_000)
    frame["stock"] = 1.0
    frame.loc[7_000, "stock"] = np.nan
    statistics = learn(frame, sample_rows=2_000, is_merged=False)
    encoder = statistics.encoder()
    assert encoder.scalings["stock"].has_missing
    assert not encoder.scalings["price"].has_missing
    expected = learn_encoder(read_table(frame), **SETTINGS)
    # The standard error of a median of 2,000 rows is 1.25 * 2 / sqrt(2000).
    centre = encoder.scalings["price"].centre
    assert 0 < abs(centre - expected.scalings["price"].centre) < 5 * 0.056
    assert encoder.vocabularies["shop"].categories == expected.vocabularies["shop"].categories


def test_infinity_is_told_by_its_row_in_the_whole_table():
    frame = make_table()
    frame.loc[333, "price"] = np.inf
    with pytest.raises(InputError, match=r"^Column 'price' holds infinity, first in row 333\."):
        learn(frame, sample_rows=100, is_merged=False)
