import numpy as np
import pytest
from scipy import stats
from scipy.spatial import procrustes
from scipy.spatial.distance import pdist
from sklearn.decomposition import PCA
from sklearn.manifold import trustworthiness

from catspace.analysis import compare_with_map, project, target_along
from catspace.analysis.projection import perplexity_for
from catspace.datasets import STATE_CENTRES
from catspace.exceptions import InputError
from tests.analysis.helpers import make_embedding


def noise(n=40, dim=6, seed=0):
    return np.random.default_rng(seed).normal(size=(n, dim))


def test_pca_is_scikit_learns_up_to_signs():
    source = make_embedding(noise())
    found = project(source, "place")
    expected = PCA(2).fit_transform(source["place"].vectors.astype(float))
    np.testing.assert_allclose(np.abs(found[["x", "y"]]), np.abs(expected), atol=1e-6)
    score = trustworthiness(source["place"].vectors, expected, n_neighbors=5)
    assert found["trustworthiness"].iloc[0] == pytest.approx(score)


@pytest.mark.parametrize("method", ["pca", "tsne", "mds"])
def test_a_plane_inside_the_space_is_found(method):
    corners = np.random.default_rng(1).uniform(size=(60, 2)) @ np.eye(2, 5)
    found = project(make_embedding(corners), "place", method=method)
    assert found["trustworthiness"].iloc[0] > 0.95
    assert len(found) == 60


@pytest.mark.parametrize("n", [4, 12, 200])
def test_tsne_fits_few_and_many_categories(n):
    found = project(make_embedding(noise(n)), "place", method="tsne")
    assert np.isfinite(found[["x", "y"]].to_numpy()).all()


def test_perplexity_grows_with_the_categories_up_to_the_usual():
    assert [perplexity_for(n) for n in (4, 12, 60, 120, 12_000)] == [1, 3, 15, 30, 30]


def test_the_map_itself_is_recognised_however_it_is_turned():
    names = list(STATE_CENTRES)
    degrees = np.array(list(STATE_CENTRES.values()))
    plane = np.column_stack(
        [degrees[:, 1] * np.cos(np.radians(degrees[:, 0].mean())), degrees[:, 0]]
    )
    angle = 2.0
    turned = plane @ [[np.cos(angle), np.sin(angle)], [np.sin(angle), -np.cos(angle)]]
    found = compare_with_map(make_embedding(3 * turned + 7, names), "place", STATE_CENTRES)
    assert found["score"].iloc[0] == pytest.approx(1)
    assert found["p_value"].iloc[0] == pytest.approx(1 / 10_001)
    np.testing.assert_allclose(found[["x", "y"]], found[["map_x", "map_y"]], atol=1e-2)


def test_the_score_is_one_minus_scipys_procrustes_disparity():
    names = list(STATE_CENTRES)
    source = make_embedding(noise(12), names)
    found = compare_with_map(source, "place", STATE_CENTRES, n_permutations=999)
    plane = project(source, "place")[["x", "y"]].to_numpy()
    disparity = procrustes(found[["map_x", "map_y"]].to_numpy(), plane)[2]
    assert found["score"].iloc[0] == pytest.approx(1 - disparity)


def test_p_values_of_random_layouts_are_uniform():
    names = list(STATE_CENTRES)
    p = [
        compare_with_map(
            make_embedding(noise(12, 2, seed), names), "place", STATE_CENTRES, n_permutations=199
        )["p_value"].iloc[0]
        for seed in range(40)
    ]
    assert stats.kstest(p, "uniform").pvalue > 0.01


def test_kilometres_are_kilometres():
    names = list(STATE_CENTRES)
    found = compare_with_map(make_embedding(noise(12), names), "place", STATE_CENTRES)
    place = found.set_index("category")
    berlin, hamburg = (place.loc[name, ["map_x", "map_y"]].astype(float) for name in ("BE", "HH"))
    assert np.linalg.norm(berlin - hamburg) == pytest.approx(255, abs=15)


def test_the_target_follows_the_direction_that_was_built_for_it(sales):
    effect = dict(zip(range(1, 31), sales.truth.store_effect, strict=True))
    stores = list(effect)
    vectors = np.column_stack([[10 * effect[s] for s in stores], noise(30, 1)[:, 0]])
    source = make_embedding(vectors, stores, column="store")
    found = target_along(source, "store", sales.X, np.log(sales.y))
    by_direction = found.groupby("direction")
    assert abs(by_direction["pearson"].first()["component 1"]) > 0.9
    assert by_direction.size().tolist() == [30] * 4
    first = found[found["direction"] == "component 1"]
    assert first["spearman"].iloc[0] == pytest.approx(
        stats.spearmanr(first["position"], first["target"]).statistic
    )
    mean = np.log(sales.y)[sales.X["store"] == 12].mean()
    assert first.set_index("category").loc[12, "target"] == pytest.approx(mean)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: project(make_embedding(noise(3)), "place"), "needs at least 4"),
        (lambda: project(make_embedding(np.ones((5, 2))), "place"), "^All vectors of column"),
        (
            lambda: project(make_embedding(noise()), "place", method="umap"),
            "^method must be one of",
        ),
        (
            lambda: project(make_embedding(noise(3_001)), "place", method="mds"),
            "^MDS keeps all distances, and 3,001 categories have too many",
        ),
        (
            lambda: compare_with_map(make_embedding(noise(5)), "place", {"c00000": (1, 2)}),
            r"^The map has no coordinates of \['c00001'",
        ),
        (
            lambda: target_along(make_embedding(noise(5)), "place", {"place": ["c00000"]}, [1, 2]),
            "^The table has 1 rows and the target 2",
        ),
        (
            lambda: target_along(make_embedding(noise(5)), "place", {"a": [1]}, [1]),
            "^The table has no column 'place'",
        ),
    ],
)
def test_what_cannot_be_drawn_is_a_sentence(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_mds_lays_out_vectors_of_one_dimension():
    source = make_embedding([[0.0], [1.0], [3.0], [7.0]])
    found = project(source, "place", method="mds")
    apart = pdist(found[["x", "y"]].to_numpy())
    np.testing.assert_allclose(apart, [1, 3, 7, 2, 6, 4], rtol=0.05)
