import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from catspace.data.target import target_from_state
from catspace.data.target_statistics import learn_target
from catspace.exceptions import InputError, ParameterError

positive = st.lists(st.floats(0.01, 1e6), min_size=1, max_size=30)


@pytest.mark.parametrize("transform", [None, "log", "log1p", "paper"])
@given(y=positive)
def test_decoding_undoes_encoding(transform, y):
    y = np.array(y) + (transform == "paper")
    target = learn_target(y, transform=transform)
    # The network's side is float32, so small values lose digits beside large ones.
    tolerance = 1e-6 * max(y) if transform is None else 0
    np.testing.assert_allclose(target.decode(target.encode(y)), y, rtol=1e-4, atol=tolerance)


def test_a_log_target_is_standardised():
    y = np.random.default_rng(0).lognormal(size=500)
    encoded = learn_target(y, transform="log").encode(y)
    assert abs(encoded.mean()) < 1e-5
    assert abs(encoded.std() - 1) < 1e-5


def test_the_papers_target_is_log_over_log_of_the_largest():
    y = np.array([10.0, 100.0, 1000.0])
    target = learn_target(y, transform="paper")
    np.testing.assert_allclose(target.encode(y)[:, 0], np.log(y) / np.log(1000), rtol=1e-6)
    assert target.output_activation == "logistic"


def test_a_constant_target_comes_back_as_it_is():
    target = learn_target([5.0, 5.0])
    np.testing.assert_array_equal(target.decode(np.zeros((2, 1))), [5.0, 5.0])


def test_several_outputs_keep_their_columns():
    y = np.array([[1.0, 10.0], [3.0, 30.0]])
    target = learn_target(y)
    np.testing.assert_allclose(target.decode(target.encode(y)), y)


def test_predictions_that_overflow_stay_finite():
    target = learn_target([1.0, 10.0], transform="log")
    assert np.isfinite(target.decode(np.array([[1e9]]))).all()


@pytest.mark.parametrize(
    ("y", "transform", "sentence"),
    [
        ([1.0, np.nan], None, r"^Input y contains NaN, first in row 1 \(1 in all\)\.\nHint: drop"),
        ([np.inf, 1.0], None, r"^Input y contains infinity, first in row 0"),
        (["a", "b"], None, r"^The target must hold numbers; got .*'a'.* first\.\nHint: Embedding"),
        ([1.0, -2.0], "log", r"needs a target above 0; got -2 in row 1 \(1 such rows\)"),
        ([0.0], "log", r'or use "log1p", which takes zeros'),
        ([0.5], "paper", r"needs a target of at least 1; got 0.5 in row 0"),
        ([-1.0], "log1p", r"needs a target above -1; got -1 in row 0"),
    ],
)
def test_targets_that_cannot_be_used_say_why(y, transform, sentence):
    with pytest.raises(InputError, match=sentence):
        learn_target(y, transform=transform)


def test_a_transform_that_there_is_not_suggests_one():
    with pytest.raises(ParameterError, match=r"got 'logp'. Did you mean 'log1p'?"):
        learn_target([1.0], transform="logp")


def test_class_labels_of_any_type_round_trip_through_state():
    for labels in (["b", "a", "b"], [3, 1, 3], [True, False, True], [1.0, 2.0, 1.0]):
        y = np.array(labels)
        target = learn_target(y, "class")
        document, arrays = target.to_state()
        again = target_from_state(document, arrays)
        np.testing.assert_array_equal(again.decode(again.encode(y)), y)
        assert again.classes.dtype == target.classes.dtype


def test_a_class_that_fit_has_not_met_says_so():
    with pytest.raises(InputError, match=r"class .*'c'.*, which fit has not met"):
        learn_target(["a", "b"], "class").encode(np.array(["c"]))


def test_a_text_for_nearly_every_row_is_no_class():
    amounts = [f"{i},20 €" for i in range(100)]
    with pytest.raises(
        InputError, match=r"^The target holds 100 different texts in 100 rows, such"
    ):
        learn_target(amounts, "class")
    with pytest.raises(InputError, match=r"write them as numbers, such as 5387\.20"):
        learn_target(amounts, "auto")


@pytest.mark.parametrize(
    "labels", [["a", "b"], [f"c{i}" for i in range(20)], [f"c{i // 2}" for i in range(100)]]
)
def test_few_rows_of_each_class_are_enough(labels):
    assert set(learn_target(labels, "class").classes) == set(labels)
