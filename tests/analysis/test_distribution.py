import numpy as np
import pytest
from scipy import stats
from sklearn.cross_decomposition import CCA

from catspace.analysis import components, mardia, normality, subspace_correlation
from catspace.analysis.distribution import mardia_statistics
from catspace.exceptions import InputError, InputTypeError
from tests.analysis.helpers import make_embedding


def naive_mardia(vectors):
    """Work Mardia's (1970) statistics out by two loops, as the paper's authors do."""
    centred = vectors - vectors.mean(axis=0)
    inverse = np.linalg.inv(centred.T @ centred / len(vectors))
    n, skewness, kurtosis = len(vectors), 0.0, 0.0
    for i in range(n):
        for j in range(n):
            skewness += (centred[i] @ inverse @ centred[j]) ** 3
        kurtosis += (centred[i] @ inverse @ centred[i]) ** 2
    return skewness / n**2, kurtosis / n


@pytest.mark.parametrize("seed", [0, 1])
def test_mardia_is_its_definition(seed):
    vectors = np.random.default_rng(seed).gamma(2.0, size=(50, 4))
    skewness, kurtosis, n_dims = mardia_statistics(vectors)
    expected = naive_mardia(vectors)
    assert (skewness, kurtosis) == pytest.approx(expected)
    assert n_dims == 4


def test_mardia_in_one_dimension_is_skewness_squared_and_kurtosis():
    values = np.random.default_rng(0).exponential(size=200)
    skewness, kurtosis, _ = mardia_statistics(values[:, None])
    assert skewness == pytest.approx(stats.skew(values) ** 2)
    assert kurtosis == pytest.approx(stats.kurtosis(values, fisher=False))


def test_mardia_does_not_care_how_the_space_is_turned_or_stretched():
    random = np.random.default_rng(0)
    vectors, matrix = random.gamma(2.0, size=(80, 3)), random.normal(size=(3, 3))
    assert mardia_statistics(vectors @ matrix)[:2] == pytest.approx(mardia_statistics(vectors)[:2])


def test_normal_vectors_pass_and_skewed_ones_do_not():
    random = np.random.default_rng(0)
    normal = mardia(make_embedding(random.normal(size=(500, 5))), "place").set_index("test")
    skewed = mardia(make_embedding(random.gamma(1.0, size=(500, 5))), "place").set_index("test")
    assert (normal["p_value"] > 0.01).all()
    assert (skewed["p_value"] < 1e-6).all()
    assert normal.loc["skewness", "degrees"] == 35
    assert normal.loc["kurtosis", "expected"] == 35


def test_directions_without_any_variance_are_left_out():
    random = np.random.default_rng(0)
    flat = np.column_stack([random.normal(size=(100, 2)), np.zeros(100)])
    assert mardia_statistics(flat)[2] == 2


def test_normality_is_scipys_test_along_each_component():
    source = make_embedding(np.random.default_rng(0).normal(size=(100, 6)) * [9, 4, 3, 2, 1, 1])
    table = normality(source, "place")
    positions = components(source, "place")
    for i in range(4):
        along = positions[f"component {i + 1}"]
        k2, p_value = stats.normaltest(along)
        assert table["k2"][i] == pytest.approx(k2)
        assert table["p_value"][i] == pytest.approx(p_value)
        assert table["standard_deviation"][i] == pytest.approx(along.std(ddof=0))
    assert table["variance_share"].is_monotonic_decreasing
    assert table["variance_share"].sum() < 1


def test_columns_that_move_together_are_correlated(model, sales):
    found = subspace_correlation(model, sales.X).set_index(["column_a", "column_b"])
    assert len(found) == 21
    # A store lies in one state, so its vector fixes the state's.
    assert found.loc[("store", "state"), "canonical"] > 0.9
    assert found.loc[("promo", "state"), "canonical"] < 0.3
    assert (found["mean"] <= found["largest"]).all()
    assert (found["largest"] <= found["canonical"] + 1e-9).all()


def test_the_canonical_correlation_is_scikit_learns(model, sales):
    found = subspace_correlation(model, sales.X).set_index(["column_a", "column_b"])
    columns = {
        name: model.embeddings_[name]
        .table[[model.embeddings_[name].vocabulary.code(v, name) for v in sales.X[name]]]
        .astype(float)
        for name in ("day_of_week", "promo")
    }
    a, b = CCA(1).fit_transform(columns["day_of_week"], columns["promo"])
    expected = abs(np.corrcoef(a[:, 0], b[:, 0])[0, 1])
    assert found.loc[("day_of_week", "promo"), "canonical"] == pytest.approx(expected, abs=1e-3)


def test_what_cannot_be_tested_is_a_sentence(model, sales):
    few = make_embedding(np.eye(5))
    with pytest.raises(InputError, match=r"has 5 categories, and this needs at least 8"):
        normality(few, "place")
    with pytest.raises(InputError, match=r"^All vectors of column 'place' are equal"):
        mardia(make_embedding(np.ones((9, 2))), "place")
    with pytest.raises(InputTypeError, match=r"^A fitted estimator is needed; got Embeddings"):
        subspace_correlation(model.embeddings_, sales.X)
