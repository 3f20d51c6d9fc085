import numpy as np
import pytest

from catspace import make_sales
from catspace.exceptions import InputError
from catspace.paper.protocol import (
    FEATURE_TYPES,
    PAPER_DIMS,
    PUBLISHED,
    describe_features,
    make_problem,
    scores,
    split_rows,
)


@pytest.fixture(scope="module")
def sales():
    return make_sales(3_000, n_stores=20, backend="pandas")


def test_the_time_split_tests_on_the_last_tenth():
    train, test = split_rows(1_000, "time", rows=500, seed=0)
    assert test.tolist() == list(range(900, 1_000))
    assert train.max() < 900


def test_the_shuffled_split_tests_on_a_random_tenth():
    train, test = split_rows(1_000, "shuffled", rows=900, seed=0)
    assert len(test) == 100
    assert 400 < np.mean(test) < 600
    assert sorted([*train, *test]) == list(range(1_000))


def test_no_row_is_drawn_twice():
    train, _ = split_rows(1_000, "time", rows=800, seed=3)
    assert len(set(train.tolist())) == 800


def test_the_seed_fixes_the_split():
    for kind in ("time", "shuffled"):
        first, again = (split_rows(500, kind, rows=100, seed=7) for _ in range(2))
        other = split_rows(500, kind, rows=100, seed=8)
        assert first[0].tolist() == again[0].tolist()
        assert first[0].tolist() != other[0].tolist()


def test_more_rows_than_there_are_is_a_sentence():
    message = "901 training rows were asked for, and the training part of the data has 900."
    with pytest.raises(InputError, match=f"^{message}"):
        split_rows(1_000, "time", rows=901, seed=0)


def test_validation_rows_are_the_latest_where_the_test_is_the_future(sales):
    problem = make_problem(sales, "generated", "time", rows=2_000, seed=0)
    assert problem.validation.sum() == 200
    assert problem.train[problem.validation].min() > problem.train[~problem.validation].max()


def test_validation_rows_are_random_where_the_test_is(sales):
    problem = make_problem(sales, "generated", "shuffled", rows=2_000, seed=0)
    assert problem.validation.sum() == 200
    held_back = problem.train[problem.validation]
    assert 1_000 < held_back.mean() < 2_000


def test_codes_come_from_the_training_rows_alone(sales):
    problem = make_problem(sales, "generated", "time", rows=1_500, seed=0)
    for i, name in enumerate(sales.X.columns):
        known = sorted(set(problem.frames.train[name]))
        expected = [known.index(v) if v in known else -1 for v in problem.frames.test[name]]
        assert problem.codes.test[:, i].tolist() == expected


def test_the_table_of_features_tells_what_the_data_holds(sales):
    rows = {name: (kind, n, dim) for name, kind, n, dim in describe_features(sales)}
    assert rows["store"] == ("nominal", 20, 10)
    assert rows["state"] == ("nominal", 12, 6)
    assert rows["year"] == ("ordinal", 3, 2)
    assert set(rows) == set(sales.X.columns)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scores_are_those_of_their_definitions_to_the_last_bit(dtype):
    random = np.random.default_rng(0)
    y = np.exp(random.normal(8.7, 0.4, size=80_001)).round()
    predicted = (y * np.exp(random.normal(0, 0.1, size=len(y)))).astype(dtype)
    errors = (y - predicted) / y
    assert scores(y, predicted) == {
        "mape": np.mean(np.abs(errors)),
        "rmspe": np.sqrt(np.mean(errors**2)),
    }


def test_the_published_numbers_are_sixteen():
    assert len(PUBLISHED) == 16
    assert sum(PAPER_DIMS.values()) == 41
    assert set(FEATURE_TYPES) == set(PAPER_DIMS)
