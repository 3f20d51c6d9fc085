import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import pdist, squareform

from catspace import EmbeddingClassifier
from catspace.analysis import (
    DistanceMatrix,
    check_metric,
    compare_distances,
    distortion,
    mds,
    merge_redundant,
    model_distance,
    observed_distance,
    schoenberg,
)
from catspace.exceptions import InputError, InputTypeError
from tests.analysis.helpers import make_embedding


def matrix(values, names=None):
    values = np.asarray(values, dtype=float)
    names = names or [f"c{i:05d}" for i in range(len(values))]
    return DistanceMatrix("place", names, values, np.ones(values.shape, dtype=int), "pandas")


def points(n=30, dim=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, dim))


def test_the_observed_distance_is_worked_out_by_hand():
    X = pd.DataFrame(
        {
            "shop": ["a", "b", "a", "b", "c", "a", "d"],
            "day": [1, 1, 2, 2, 2, 3, 9],
        }
    )
    y = [10.0, 13.0, 20.0, 21.0, 30.0, 99.0, 5.0]
    found = observed_distance(X, y, "shop")
    assert found.categories == ["a", "b", "c", "d"]
    assert found.values[0, 1] == 2  # (3 + 1) / 2
    assert found.values[0, 2] == 10
    assert found.values[1, 2] == 9
    assert np.isnan(found.values[0, 3])  # they never met
    assert found.contexts[0, 1] == 2
    assert (np.diag(found.values) == 0).all()


def test_several_rows_of_a_context_count_by_their_mean():
    X = {"shop": ["a", "a", "b"], "day": [1, 1, 1]}
    assert observed_distance(X, [1.0, 3.0, 7.0], "shop").values[0, 1] == 5


def test_columns_that_the_category_fixes_can_be_ignored():
    X = {"shop": ["a", "b"], "town": ["x", "y"], "day": [1, 1]}
    assert np.isnan(observed_distance(X, [1.0, 2.0], "shop").values[0, 1])
    assert observed_distance(X, [1.0, 2.0], "shop", ignore=["town"]).values[0, 1] == 1


def test_the_models_distance_is_its_naive_definition(model, sales):
    found = model_distance(model, sales.X, "state", n_contexts=20, transform=np.log)
    rows = np.sort(np.random.default_rng(0).choice(len(sales.X), size=20, replace=False))
    contexts = sales.X.iloc[rows]
    f = {s: np.log(model.predict(contexts.assign(state=s))) for s in found.categories}
    for i, p in enumerate(found.categories):
        for j, q in enumerate(found.categories):
            assert found.values[i, j] == pytest.approx(np.abs(f[p] - f[q]).mean(), abs=1e-6)


def test_a_classifier_is_asked_for_its_probabilities(shops):
    X, y = shops
    labels = np.where(y > np.median(y), "high", "low")
    classifier = EmbeddingClassifier(random_state=0).fit(X, labels)
    found = model_distance(classifier, X, "town", n_contexts=50)
    rows = np.sort(np.random.default_rng(0).choice(len(X), size=50, replace=False))
    p, q = (classifier.predict_proba(X.iloc[rows].assign(town=t)) for t in found.categories[:2])
    assert found.values[0, 1] == pytest.approx(np.abs(p - q).sum(axis=1).mean(), abs=1e-6)


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


def test_distortion_is_stretch_times_shrink():
    source = make_embedding([[0.0], [1.0], [3.0]])
    d = [[0, 1, 1], [1, 0, 1], [1, 1, 0]]  # learned: 1, 3, 2
    found = distortion(source, "place", matrix(d)).iloc[0]
    assert found["stretch"] == pytest.approx(3 / 2)
    assert found["shrink"] == pytest.approx(2 / 1)
    assert found["distortion"] == pytest.approx(3)
    assert found["average"] == pytest.approx((2 + 1.5 + 1) / 3)


def test_a_matrix_is_a_frame_of_pairs():
    found = matrix([[0, 1, np.nan], [1, 0, 2], [np.nan, 2, 0]], ["a", "b", "c"]).to_frame()
    assert found["category_a"].tolist() == ["a", "a", "b"]
    assert found["category_b"].tolist() == ["b", "c", "c"]
    assert found["distance"].tolist()[::2] == [1, 2]
    assert np.isnan(found["distance"][1])


def test_what_cannot_be_measured_is_a_sentence(model, sales):
    unknown = matrix([[0, np.nan], [np.nan, 0]], ["a", "b"])
    for call in (schoenberg, mds):
        with pytest.raises(
            InputError, match=r"1 distances are not known, such as \[\('a', 'b'\)\]"
        ):
            call(unknown)
    with pytest.raises(InputTypeError, match=r"^A fitted model that predicts is needed"):
        model_distance(model.embeddings_, sales.X, "state")
    with pytest.raises(InputError, match=r"^The table has no column 'sate'. Did you mean 'state'"):
        observed_distance(sales.X, sales.y, "sate")
    many = {"id": np.arange(20_001), "day": np.zeros(20_001)}
    with pytest.raises(InputError, match=r"^All distances between 20,001 categories do not fit"):
        observed_distance(many, np.zeros(20_001), "id")
    with pytest.raises(InputError, match=r"^All categories of column 'place' coincide"):
        schoenberg(matrix(np.zeros((3, 3))))
