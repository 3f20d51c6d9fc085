import pytest
from hypothesis import given
from hypothesis import strategies as st

from catspace.exceptions import ParameterError
from catspace.model.sizes import embedding_dims

RULES = ["auto", "half", "fastai", "sqrt", "fourth_root", "max"]


@given(st.sampled_from([*RULES, 1, 7, 10_000]), st.integers(0, 10**7))
def test_every_dimension_lies_within_the_papers_bounds(rule, m):
    (dim,) = embedding_dims(rule, {"x": m}).values()
    assert 1 <= dim <= max(1, m - 1)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("half", [50, 16, 4, 1]),
        ("fastai", [81, 11, 5, 1]),
        ("sqrt", [33, 6, 3, 1]),
        ("fourth_root", [6, 2, 2, 1]),
        ("max", [1114, 30, 6, 1]),
        (10, [10, 10, 6, 1]),
    ],
)
def test_rules_by_name_and_by_number(rule, expected):
    sizes = {"store": 1115, "day": 31, "weekday": 7, "promo": 2}
    assert list(embedding_dims(rule, sizes).values()) == expected


def test_a_dict_rules_its_columns_and_the_default_the_others():
    auto = embedding_dims("auto", {"store": 1115, "day": 31})
    assert embedding_dims({"store": 7}, {"store": 1115, "day": 31}) == {**auto, "store": 7}


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (-3, r'must be "auto", a positive int, or a dict of column to int; got -3\.'),
        (True, r"got True\."),
        (2.5, r"got 2\.5\."),
        ("sqrtt", r"got 'sqrtt'\. Did you mean 'sqrt'\?"),
        ({"state": 4}, r"names 'state', which is not a categorical column\. Did you mean 'State'"),
        ({"State": 0}, r"got 0\."),
    ],
)
def test_dimensions_that_mean_nothing_say_so(value, sentence):
    with pytest.raises(ParameterError, match=sentence):
        embedding_dims(value, {"State": 12})
