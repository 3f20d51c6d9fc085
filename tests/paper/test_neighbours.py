import numpy as np
from sklearn.neighbors import KNeighborsRegressor
from sklearn.preprocessing import OneHotEncoder

from catspace.paper.neighbours import HammingNeighbours


def one_hot(codes, queries):
    encoder = OneHotEncoder(sparse_output=False, handle_unknown="ignore").fit(codes)
    return encoder.transform(codes), encoder.transform(queries)


def test_distances_are_those_of_one_hot_rows_with_p_1():
    random = np.random.default_rng(0)
    codes, queries = random.integers(0, 4, (300, 5)), random.integers(0, 4, (40, 5))
    model = HammingNeighbours(10).fit(codes, np.zeros(300))
    X, Q = one_hot(codes, queries)
    reference = KNeighborsRegressor(10, p=1, algorithm="brute").fit(X, np.zeros(300))
    expected, _ = reference.kneighbors(Q)
    for query, row in zip(queries, expected, strict=True):
        distances, found = model.kneighbors(query)
        np.testing.assert_array_equal(distances, row)
        np.testing.assert_array_equal(2 * (codes[found] != query).sum(axis=1), distances)


def test_predictions_are_scikit_learns_where_all_rows_are_neighbours():
    # With every row a neighbour there are no ties to break.
    random = np.random.default_rng(1)
    codes, queries = random.integers(0, 3, (30, 4)), random.integers(0, 3, (50, 4))
    y = random.normal(size=30)
    X, Q = one_hot(codes, queries)
    reference = KNeighborsRegressor(30, p=1, weights="distance", algorithm="brute").fit(X, y)
    predicted = HammingNeighbours(30).fit(codes, y).predict(queries)
    np.testing.assert_allclose(predicted, reference.predict(Q))


def test_of_rows_equally_far_the_first_are_taken():
    codes = np.array([[1, 1], [1, 2], [1, 3], [1, 4]])
    _, found = HammingNeighbours(2).fit(codes, np.arange(4.0)).kneighbors(np.array([1, 9]))
    assert found.tolist() == [0, 1]


def test_fewer_rows_than_neighbours_are_all_taken():
    model = HammingNeighbours(10).fit(np.array([[1], [2]]), np.array([0.0, 1.0]))
    assert model.predict(np.array([[2]])).tolist() == [1.0]
