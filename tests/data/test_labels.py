"""Targets and weights beside a table."""

import numpy as np
import pandas as pd
import pytest

from catspace.data.labels import Block, Labels, check_weights
from catspace.data.reading import read_table
from catspace.data.schema import Schema
from catspace.exceptions import InputError

TABLE = read_table(
    pd.DataFrame({"town": ["a", "b", "c"], "sales": [1.0, 2.0, 3.0], "w": [1, 0, 2]})
)


@pytest.mark.parametrize(
    ("weight", "sentence"),
    [
        ([1, -2, 1], r"^Negative values in data passed to sample_weight: -2 in row 1\."),
        ([1, 2], r"^sample_weight.shape == \(2,\), expected \(3,\)"),
        ([[1], [2], [3]], r"^Sample weights must be 1D array or scalar; got 2D\."),
        ([1, np.nan, 1], r"^sample_weight contains NaN or infinity\."),
        (["a", "b", "c"], r"^sample_weight must hold numbers\."),
    ],
)
def test_weights_that_cannot_be_used_say_why(weight, sentence):
    with pytest.raises(InputError, match=sentence):
        check_weights(weight, 3)


def test_a_single_weight_is_that_of_every_row():
    np.testing.assert_array_equal(check_weights(2.0, 3), [2, 2, 2])


def test_a_negative_weight_is_told_by_its_row_in_the_whole_table():
    with pytest.raises(InputError, match=r"-1 in row 101\."):
        check_weights([1, -1], 2, first_row=100)
    with pytest.raises(InputError, match=r"sample_weight: -1\.$"):
        check_weights([1, -1], 2, first_row=None)


def test_labels_are_no_features_and_rows_of_weight_zero_are_absent():
    block = Labels("sales", "w").split(TABLE, 0)
    assert block.table.names == ["town"]
    assert block.table["town"].parts[0][1].to_pylist() == ["a", "c"]
    assert block.y.tolist() == [1.0, 3.0]
    assert block.weight.tolist() == [1.0, 2.0]


def test_features_that_a_model_knows_are_chosen_by_name():
    labels = Labels("sales", schema=Schema(("town",), named=True))
    assert labels.features(TABLE).names == ["town"]


def test_a_target_of_another_length_says_so():
    with pytest.raises(InputError, match=r"the table has 3 rows and the target 2\.$"):
        Block.of(TABLE, [1, 2])
    with pytest.raises(InputError, match=r"the table has 3 rows and the target is one value\.$"):
        Block.of(TABLE, 5)
