"""Several quantiles in one model."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import mean_absolute_error, mean_pinball_loss, r2_score

import catspace
from catspace import EmbeddingEncoder, EmbeddingRegressor, analysis, make_report
from catspace.exceptions import InputError, ParameterError

QUANTILES = [0.1, 0.5, 0.9]
SMALL = {"loss": "quantile", "hidden_layer_sizes": (32, 16), "random_state": 0, "n_jobs": 1}


def draw(n, seed):
    """Return routes, some far less regular than others, and a target above 1."""
    random = np.random.default_rng(seed)
    route = random.integers(4, size=n)
    X = pd.DataFrame({"route": [f"R{r}" for r in route], "parcels": random.uniform(0, 1, size=n)})
    y = 1 + np.exp(1 + 0.5 * X["parcels"] + (0.1 + 0.2 * route) * random.normal(size=n))
    return X, y.to_numpy()


def true_quantiles(X):
    """Return what `draw` has drawn from, naively: one normal distribution for each row."""
    normal = {0.1: -1.2815515655446004, 0.5: 0.0, 0.9: 1.2815515655446004}
    route = X["route"].str[1:].astype(int)
    return np.column_stack(
        [1 + np.exp(1 + 0.5 * X["parcels"] + (0.1 + 0.2 * route) * normal[q]) for q in QUANTILES]
    )


@pytest.fixture(scope="module")
def data():
    return draw(4_000, 0)


@pytest.fixture(scope="module")
def model(data):
    return EmbeddingRegressor(quantile=QUANTILES, target_transform="log", **SMALL).fit(*data)


def test_each_column_is_close_to_the_true_quantile(model):
    X, y = draw(4_000, 1)
    predicted, truth = model.predict(X), true_quantiles(X)
    assert predicted.shape == (4_000, 3)
    for i, quantile in enumerate(QUANTILES):
        assert np.mean(y <= predicted[:, i]) == pytest.approx(quantile, abs=0.03)
        assert mean_absolute_error(truth[:, i], predicted[:, i]) < 0.25
        mine, best = (mean_pinball_loss(y, one[:, i], alpha=quantile) for one in (predicted, truth))
        assert mine < 1.03 * best


@pytest.mark.parametrize("transform", [None, "log", "log1p", "paper"])
@pytest.mark.parametrize("n_networks", [1, 3])
def test_columns_never_cross_even_after_hardly_any_training(data, transform, n_networks):
    X, y = data
    model = EmbeddingRegressor(
        quantile=[0.05, 0.1, 0.45, 0.5, 0.55, 0.9],
        target_transform=transform,
        n_networks=n_networks,
        max_epochs=1,
        smooth=0,
        **SMALL,
    ).fit(X[:300], y[:300])
    strange = pd.DataFrame({"route": ["R0", None, "new"], "parcels": [1e9, -1e9, np.nan]})
    for table in (X, strange):
        assert (np.diff(model.predict(table), axis=1) >= 0).all()
        for network in model.predict_networks(model.encode(table))[1]:
            assert (np.diff(network, axis=1) >= 0).all()


def test_a_list_of_one_is_a_column_of_what_the_number_gives(data):
    X, y = data
    listed, number = (
        EmbeddingRegressor(quantile=q, smooth=8, **SMALL).fit(X, y).predict(X) for q in ([0.8], 0.8)
    )
    assert listed.shape == (len(X), 1)
    assert number.shape == (len(X),)
    np.testing.assert_array_equal(listed[:, 0], number)


def test_weights_move_all_quantiles():
    X = pd.DataFrame({"g": ["a"] * 400})
    y = np.tile(np.linspace(0, 1, 100), 4)
    high = EmbeddingRegressor(quantile=QUANTILES, **SMALL).fit(X, y, sample_weight=y**4)
    plain = EmbeddingRegressor(quantile=QUANTILES, **SMALL).fit(X, y)
    assert plain.predict(X[:1])[0] == pytest.approx([0.1, 0.5, 0.9], abs=0.07)
    # The share of the weights below x is x to the power of five.
    assert high.predict(X[:1])[0] == pytest.approx(np.power(QUANTILES, 0.2), abs=0.07)


def learnt_by_heart(n, seed):
    """Return rows of many categories with few rows each, which networks learn by heart."""
    random = np.random.default_rng(seed)
    X = pd.DataFrame({"id": random.integers(400, size=n).astype(str)})
    X["kind"] = random.choice(["a", "b"], size=n)
    return X, 3 * (X["kind"] == "a") + random.normal(size=n)


def test_rows_that_are_held_back_say_where_the_quantiles_are():
    X, y = learnt_by_heart(3_000, 0)
    X_new, y_new = learnt_by_heart(3_000, 1)
    settings = {"quantile": QUANTILES, "smooth": 0, "max_epochs": 15, **SMALL}

    def coverage(model):
        low, _, high = model.predict(X_new).T
        return np.mean((low <= y_new) & (y_new <= high))

    raw = EmbeddingRegressor(**settings).fit(X, y)
    held_back = EmbeddingRegressor(early_stopping=True, **settings).fit(X, y)
    judged = EmbeddingRegressor(**settings).fit(X, y, X_val=X_new[:1_000], y_val=y_new[:1_000])
    assert coverage(raw) < 0.75
    assert coverage(held_back) == pytest.approx(0.8, abs=0.04)
    assert coverage(judged) == pytest.approx(0.8, abs=0.04)
    assert (np.diff(held_back.fitted_.learned.target.shifts) >= 0).all()
    assert raw.fitted_.learned.target.shifts == ()


def test_a_path_and_a_frame_give_the_same_model(data, tmp_path):
    X, y = data
    X.assign(time=y).to_parquet(tmp_path / "rows.parquet")
    settings = {"quantile": QUANTILES, "max_epochs": 2, **SMALL}
    by_frame = EmbeddingRegressor(**settings).fit(X, y)
    by_path = EmbeddingRegressor(**settings).fit(str(tmp_path / "rows.parquet"), "time")
    np.testing.assert_array_equal(by_frame.predict(X), by_path.predict(X))
    held_back = EmbeddingRegressor(early_stopping=True, **settings)
    held_back.fit(str(tmp_path / "rows.parquet"), "time")
    assert len(held_back.fitted_.learned.target.shifts) == 3


def test_save_then_load_predicts_the_same(data, tmp_path):
    X, y = data
    model = EmbeddingRegressor(
        quantile=np.array(QUANTILES), early_stopping=True, max_epochs=2, n_networks=2, **SMALL
    ).fit(X, y)
    model.save(tmp_path / "times.catspace")
    again = catspace.load(tmp_path / "times.catspace", EmbeddingRegressor)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.quantile == QUANTILES
    assert again.fitted_.recipe.quantile == (0.1, 0.5, 0.9)
    assert clone(again).fit(X, y).predict(X).shape == (len(X), 3)


def test_scores_are_those_of_the_quantile_closest_to_the_median(model):
    X, y = draw(1_000, 2)
    middle = model.predict(X)[:, 1]
    assert model.score(X, y) == r2_score(y, middle)
    found = analysis.importance(model, X, y)
    assert found["baseline"][0] == pytest.approx(-mean_absolute_error(y, middle))
    named = analysis.importance(model, X, y, scoring="r2")
    assert named["baseline"][0] == pytest.approx(r2_score(y, middle))
    lower = EmbeddingRegressor(quantile=[0.1, 0.4], max_epochs=1, **SMALL).fit(X, y)
    assert lower.score(X, y) == r2_score(y, lower.predict(X)[:, 1])


def test_effects_are_told_of_every_quantile(model):
    X, _ = draw(500, 3)
    found = analysis.effect(model, X, "route")
    assert found["output"].tolist() == np.repeat(QUANTILES, 4).tolist()
    spread = found["prediction"][8:].to_numpy() - found["prediction"][:4].to_numpy()
    assert (np.diff(spread) > 0).all()  # each route is less regular than the one before


def test_the_page_shows_the_middle_and_says_how_many_rows_lie_between(model):
    X, y = draw(500, 3)
    page = make_report(model, X, y).html
    low, _, high = model.predict(X).T
    inside = np.mean((low <= y) & (y <= high))
    assert "The model predicts the quantiles 0.1, 0.5, 0.9." in page
    assert f"{inside:.1%} of these rows lie between the quantiles 0.1 and 0.9" in page


def test_an_encoder_learns_from_several_quantiles(data):
    X, y = data
    encoder = EmbeddingEncoder(quantile=QUANTILES, max_epochs=1, **SMALL).fit(X, y)
    assert encoder.n_outputs_ == 3
    assert len(encoder.transform(X)) == len(X)


@pytest.mark.parametrize(
    ("quantile", "sentence"),
    [
        ([0.9, 0.1], r"quantile must be a list that rises, each once; got \[0.9, 0.1\]"),
        ([0.5, 0.5], r"quantile must be a list that rises, each once; got \[0.5, 0.5\]"),
        ([0.0, 0.5], "each quantile must be a number above 0 and below 1; got 0.0"),
        ([0.5, 1], "each quantile must be a number above 0 and below 1; got 1"),
        ([], r"quantile must be a number, or a list of at least one; got \[\]"),
        (["low"], "each quantile must be a number above 0 and below 1; got 'low'"),
        ("median", "quantile must be a number above 0 and below 1; got 'median'"),
        ([0.1, float("nan")], "each quantile must be a number above 0 and below 1; got nan"),
        ([[0.1, 0.2]], r"each quantile must be a number above 0 and below 1; got \[0.1, 0.2\]"),
        ({0.1: 1}, "quantile must be a number above 0 and below 1; got {0.1: 1}"),
    ],
)
def test_quantiles_that_make_no_sense_are_refused(data, quantile, sentence):
    with pytest.raises(ParameterError, match=sentence):
        EmbeddingRegressor(loss="quantile", quantile=quantile).fit(*data)


def test_unsorted_quantiles_are_given_back_in_order():
    with pytest.raises(ParameterError, match=r"Hint: quantile=\[0.1, 0.5\]"):
        EmbeddingRegressor(loss="quantile", quantile=(0.5, 0.1, 0.5)).fit([["a"], ["b"]], [1, 2])


@pytest.mark.parametrize("loss", ["auto", "squared_error", "huber"])
def test_several_quantiles_need_the_loss_of_quantiles(data, loss):
    sentence = rf"quantile=\[0.1, 0.9\] asks for several quantiles, and the loss is '{loss}'."
    with pytest.raises(ParameterError, match=sentence):
        EmbeddingRegressor(loss=loss, quantile=[0.1, 0.9]).fit(*data)


def test_several_quantiles_of_several_numbers_are_refused(data):
    X, y = data
    with pytest.raises(InputError, match="quantiles of one number, and the target has 2 columns"):
        EmbeddingRegressor(loss="quantile", quantile=QUANTILES).fit(X, np.column_stack([y, y]))
