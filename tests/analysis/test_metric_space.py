import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform
from threadpoolctl import threadpool_info

from catspace.analysis import (
    check_metric,
    compare_distances,
    distortion,
    mds,
    merge_redundant,
    schoenberg,
)
from catspace.exceptions import InputError
from tests.analysis.helpers import make_embedding, matrix


def points(n=30, dim=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, dim))


def test_distances_of_points_are_a_metric():
    found = check_metric(matrix(squareform(pdist(points()))), tolerance=1e-9).set_index("axiom")
    assert found["holds"].all()
    assert (found["violations"] == 0).all()


def test_each_axiom_can_fail():
    d = np.array([[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 5.0], [1.0, 1.0, 0.0, 1.0], [1, 5, 1, 0]])
    d[2, 0] = 1.5
    found = check_metric(matrix(d, ["a", "b", "c", "d"])).set_index("axiom")
    assert not found["holds"].any()
    assert found.loc["identity", "example"] == "['a', 'b']"
    assert found.loc["symmetry", "worst"] == 0.5
    assert found.loc["triangle", "worst"] == 4  # 5 against 0 + 1, by way of a
    assert found.loc["triangle", "example"] in ("['b', 'a', 'd']", "['d', 'a', 'b']")


def test_triangles_are_counted_as_a_triple_loop_counts_them():
    d = squareform(np.random.default_rng(0).uniform(size=28))
    n = len(d)
    expected = sum(
        d[p, r] > d[p, q] + d[q, r] + 1e-9
        for p in range(n)
        for r in range(p + 1, n)
        for q in range(n)
        if q not in (p, r)
    )
    assert check_metric(matrix(d)).set_index("axiom").loc["triangle", "violations"] == expected


def test_categories_that_coincide_are_merged_along_chains():
    d = np.ones((4, 4)) - np.eye(4)
    d[0, 2] = d[2, 0] = d[2, 3] = d[3, 2] = 0
    found = merge_redundant(matrix(d, ["a", "b", "c", "d"]))
    assert found["merged_into"].tolist() == ["a", "b", "a", "a"]


def test_each_category_is_merged_into_the_first_that_a_chain_leads_to():
    random = np.random.default_rng(0)
    d = squareform(random.choice([0.0, 1.0, np.nan], size=435, p=[0.05, 0.9, 0.05]))
    leader = list(range(30))
    for _ in range(30):  # as far as any chain can lead
        leader = [min(leader[j] for j in range(30) if j == i or d[i, j] == 0) for i in range(30)]
    found = merge_redundant(matrix(d))
    assert found["merged_into"].tolist() == [f"c{i:05d}" for i in leader]
    assert 1 < len(set(leader)) < 29


def test_euclidean_distances_meet_schoenbergs_condition():
    found = schoenberg(matrix(squareform(pdist(points(12)))))
    assert found["positive"].all()
    assert len(found) == 10


def test_a_star_cannot_be_laid_out_without_distortion():
    # Four leaves, each 1 from the centre and 2 from each other: only a star has such distances.
    d = 2 * (np.ones((5, 5)) - np.eye(5))
    d[0, 1:] = d[1:, 0] = 1
    found = schoenberg(matrix(d), lambdas=[0.01, 0.1, 1]).set_index(["kernel", "lambda"])
    assert not found.loc[("exp(-λ d²)", 0.1), "positive"]
    value = np.linalg.eigvalsh(np.exp(-0.1 * (d / d[np.triu_indices(5, 1)].mean()) ** 2))[0]
    assert found.loc[("exp(-λ d²)", 0.1), "smallest"] == pytest.approx(value)


def test_eigenvalues_are_found_on_one_thread(monkeypatch):
    threads = []

    def watched(values):
        threads.extend(
            pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"
        )
        return np.linalg.eigh(values)[0]

    monkeypatch.setattr(np.linalg, "eigvalsh", watched)
    schoenberg(matrix(squareform(pdist(points(12)))), lambdas=[1])
    assert set(threads) == {1}


def test_mean_absolute_differences_always_pass_the_papers_kernel():
    # They are distances in L1, which is of negative type.
    found = schoenberg(matrix(squareform(pdist(points(40, 7), "cityblock"))))
    assert found.set_index("kernel").loc["exp(-λ d)", "positive"].all()


def test_distances_that_are_the_learned_ones_lie_on_a_line():
    vectors = points(50)
    source = make_embedding(vectors)
    d = squareform(pdist(source["place"].vectors.astype(float)))
    found = compare_distances(source, "place", matrix(2 * d), n_pairs=400)
    assert len(found) == 400
    assert found["pearson"].iloc[0] == pytest.approx(1)
    assert found["spearman"].iloc[0] == pytest.approx(1)
    assert found["slope"].iloc[0] == pytest.approx(0.5)
    np.testing.assert_allclose(found["fitted"], found["embedding"])
    assert (found["lower"] <= found["upper"]).all()


def test_mds_finds_points_again():
    vectors = points(25, 2)
    source = make_embedding(vectors)
    d = squareform(pdist(source["place"].vectors.astype(float)))
    found = mds(matrix(d), source=source)
    assert found["stress"].iloc[0] < 0.05
    assert found["learned_stress"].iloc[0] == pytest.approx(0, abs=1e-6)
    assert found["procrustes"].iloc[0] < 0.05


def test_mds_lays_out_a_space_that_is_not_euclidean():
    # The corners of a square, each at 1 from its neighbours and at 2 from the opposite one: in no
    # Euclidean space can both ways around be straight.
    d = [[0, 1, 2, 1], [1, 0, 1, 2], [2, 1, 0, 1], [1, 2, 1, 0]]
    found = mds(matrix(d), n_components=4)
    layout = found[["x0", "x1", "x2", "x3"]].to_numpy()
    assert np.isfinite(layout).all()
    apart, wanted = pdist(layout), squareform(np.array(d))
    scale = (apart @ wanted) / (apart @ apart)
    expected = np.sqrt(np.square(scale * apart - wanted).sum() / np.square(wanted).sum())
    assert found["stress"].iloc[0] == pytest.approx(expected)
    assert expected > 0.1


def test_mds_has_as_many_components_as_are_asked_for():
    found = mds(matrix([[0, 1, 2], [1, 0, 1], [2, 1, 0]]), n_components=5)
    layout = found[[f"x{i}" for i in range(5)]].to_numpy()
    np.testing.assert_allclose(pdist(layout), [1, 2, 1])
    assert not layout[:, 3:].any()


def test_distortion_is_stretch_times_shrink():
    source = make_embedding([[0.0], [1.0], [3.0]])
    d = [[0, 1, 1], [1, 0, 1], [1, 1, 0]]  # learned: 1, 3, 2
    found = distortion(source, "place", matrix(d)).iloc[0]
    assert found["stretch"] == pytest.approx(3 / 2)
    assert found["shrink"] == pytest.approx(2 / 1)
    assert found["distortion"] == pytest.approx(3)
    assert found["average"] == pytest.approx((2 + 1.5 + 1) / 3)


def test_distances_that_do_not_answer_the_question_are_a_sentence():
    unknown = matrix([[0, np.nan], [np.nan, 0]], ["a", "b"])
    for call in (schoenberg, mds):
        with pytest.raises(
            InputError, match=r"1 distances are not known, such as \[\('a', 'b'\)\]"
        ):
            call(unknown)
    with pytest.raises(InputError, match=r"^All categories of column 'place' coincide"):
        schoenberg(matrix(np.zeros((3, 3))))
