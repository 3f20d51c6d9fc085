from itertools import combinations

import numpy as np
import pytest
from scipy.spatial import procrustes

from catspace import EmbeddingRegressor
from catspace.analysis import stability
from catspace.analysis.stability import find_all_neighbours
from catspace.exceptions import InputError, InputTypeError
from tests.analysis.helpers import make_embedding


def test_stability_is_the_naive_overlap_of_neighbours(model):
    found = stability(model, "store", k=5).set_index("category")
    first, second = (embeddings["store"] for embeddings in model.network_embeddings())
    for store in (1, 7, 30):
        one, other = (set(e.nearest(store, k=5)["category"]) for e in (first, second))
        assert found.loc[store, "overlap"] == len(one & other) / 5
    disparity = procrustes(first.vectors.astype(float), second.vectors.astype(float))[2]
    assert found["procrustes"].iloc[0] == pytest.approx(disparity)
    assert found["chance"].iloc[0] == pytest.approx(5 / 29)


def test_networks_that_learned_the_same_agree_more_than_chance(model):
    found = stability(model, "store", k=5)
    assert found["overlap"].mean() > 2 * found["chance"].iloc[0]


def test_several_models_are_compared_network_by_network(sales, model):
    other = EmbeddingRegressor(target_transform="log", random_state=1).fit(sales.X, sales.y)
    found = stability([model, other], "state", k=3)
    networks = [*model.network_embeddings(), *other.network_embeddings()]
    neighbours = [
        {s: set(n["state"].nearest(s, k=3)["category"]) for s in n["state"].categories}
        for n in networks
    ]
    expected = [
        np.mean([len(a[s] & b[s]) / 3 for a, b in combinations(neighbours, 2)])
        for s in networks[0]["state"].categories
    ]
    np.testing.assert_allclose(found["overlap"], expected)


@pytest.mark.parametrize("dim", [2, 40])
def test_no_category_is_its_own_neighbour_however_many_have_its_vector(dim):
    places = np.random.default_rng(0).normal(size=(4, dim))
    embedding = make_embedding(np.repeat(places, 8, axis=0))["place"]
    neighbours, distances, agreement = find_all_neighbours([embedding], 5)
    assert (neighbours // 8 == np.arange(32)[:, None] // 8).all()  # of the eight in one place
    assert all(i not in row and len(set(row)) == 5 for i, row in enumerate(neighbours.tolist()))
    np.testing.assert_allclose(distances, 0, atol=1e-6)
    assert agreement is None


def test_all_neighbours_are_those_of_a_naive_search_and_networks_agree_on_them():
    random = np.random.default_rng(0)
    first, second, third = (make_embedding(random.normal(size=(50, 6)))["place"] for _ in range(3))
    neighbours, distances, agreement = find_all_neighbours([first, second, third], 4)
    for i in range(50):
        nearest = [np.linalg.norm(e.vectors - e.vectors[i], axis=1) for e in (first, second, third)]
        orders = [np.argsort(apart)[1:5].tolist() for apart in nearest]
        assert neighbours[i].tolist() == orders[0]
        np.testing.assert_allclose(distances[i], np.sort(nearest[0])[1:5], rtol=1e-5)
        expected = [((j in orders[1]) + (j in orders[2])) / 2 for j in orders[0]]
        assert agreement[i].tolist() == expected


def test_one_network_has_nothing_to_agree_with(sales):
    single = EmbeddingRegressor(max_epochs=1, random_state=0).fit(sales.X, sales.y)
    with pytest.raises(InputError, match=r"^Stability compares networks, and there is only one"):
        stability(single, "store")
    with pytest.raises(InputError, match=r"^Column 'promo' has 2 categories, and this needs"):
        stability([single, single], "promo")
    with pytest.raises(InputTypeError, match=r"^Fitted estimators are needed"):
        stability("model.catspace", "store")
