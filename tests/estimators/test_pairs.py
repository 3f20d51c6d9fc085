"""Networks that are told about pairs of categories, from the estimators' side."""

import numpy as np
import pandas as pd
import pytest

import catspace
from catspace import EmbeddingClassifier, EmbeddingRegressor
from catspace.exceptions import ModelFileError, ParameterError
from catspace.model import trials
from catspace.storage import model_file

QUICK = {"max_epochs": 2, "smooth": 4, "random_state": 0}


@pytest.fixture(scope="module")
def trips():
    """Late trips: what counts is the date, that is month and day together; and the carrier."""
    random = np.random.default_rng(0)
    n = 3_000
    month, day = random.integers(1, 13, n), random.integers(1, 29, n)
    carrier = random.choice(list("ABCDE"), n)
    bad_day = random.random((13, 29)) < 0.3
    y = 2.0 * bad_day[month, day] + 0.3 * (carrier == "A") + random.normal(scale=0.5, size=n)
    X = pd.DataFrame({"carrier": carrier, "month": month.astype(str), "day": day.astype(str)})
    return X, y


def test_auto_finds_the_date_and_does_better_with_it(trips):
    X, y = trips
    told = EmbeddingRegressor(random_state=0).fit(X[:2500], y[:2500])
    alone = EmbeddingRegressor(random_state=0, pairs=None).fit(X[:2500], y[:2500])
    assert told.pairs_[-1] == ("month", "day")  # after the columns by themselves
    assert all(first == second for first, second in told.pairs_[:-1])
    assert alone.pairs_ == []
    errors = [np.mean((model.predict(X[2500:]) - y[2500:]) ** 2) for model in (told, alone)]
    assert errors[0] < errors[1]


def test_weak_effects_of_rare_categories_are_told_and_predicted_as_well_as_they_can_be():
    """Twenty rows of a shop say little each, and a vector for it would learn them by heart.

    What can be known is the mean of a shop, drawn towards that of all shops: the best there is for
    effects and noise that are normal, with what draws it known here from how they were made.
    """
    random = np.random.default_rng(0)
    n, n_shops, effect, noise = 8_000, 400, 0.35, 1.0
    shop = random.integers(0, n_shops, 2 * n)
    y = random.normal(scale=effect, size=n_shops)[shop] + random.normal(scale=noise, size=2 * n)
    X = pd.DataFrame({"shop": shop.astype(str)})
    model = EmbeddingRegressor(random_state=0).fit(X[:n], y[:n])
    assert model.pairs_ == [("shop", "shop")]
    met, mean = np.bincount(shop[:n], minlength=n_shops), y[:n].mean()
    sums = np.bincount(shop[:n], y[:n] - mean, minlength=n_shops)
    best = mean + sums / (met + (noise / effect) ** 2)
    errors = [np.mean((y[n:] - p) ** 2) for p in (model.predict(X[n:]), best[shop[n:]], mean)]
    assert errors[0] < 1.01 * errors[1] < errors[2]


def test_what_was_found_can_be_asked_for_single_columns_too(trips, tmp_path):
    X, y = trips
    pairs = [("carrier", "carrier"), ("month", "day")]
    model = EmbeddingRegressor(pairs=pairs, **QUICK).fit(X, y)
    assert model.pairs_ == pairs
    model.save(tmp_path / "a.catspace")
    loaded = catspace.load(tmp_path / "a.catspace")
    assert loaded.pairs_ == pairs
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    model.partial_fit(X[:50].assign(carrier="new"), y[:50])
    assert model.pairs_ == pairs
    assert np.isfinite(model.predict(X)).all()


def test_nothing_is_tried_where_smoothing_is_a_number(trips, monkeypatch):
    monkeypatch.setattr(trials, "choose_pairs", lambda *_: pytest.fail("looked for pairs"))
    X, y = trips
    assert EmbeddingRegressor(**QUICK).fit(X, y).pairs_ == []


@pytest.mark.parametrize("options", [{}, {"input_encoding": "onehot"}, {"n_networks": 2}])
def test_pairs_that_are_named_are_told_of_and_kept_in_the_model_file(trips, tmp_path, options):
    X, y = trips
    pairs = [("day", "month"), ("carrier", "day")]
    model = EmbeddingRegressor(pairs=pairs, **QUICK, **options).fit(X, y)
    assert model.pairs_ == [("month", "day"), ("carrier", "day")]
    model.save(tmp_path / "a.catspace")
    loaded = catspace.load(tmp_path / "a.catspace")
    assert loaded.pairs_ == model.pairs_
    assert loaded.get_params()["pairs"] == pairs
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    one_by_one = [model.predict(X[i : i + 1])[0] for i in range(20)]
    np.testing.assert_array_equal(one_by_one, model.predict(X)[:20])


def test_pairs_are_named_at_verbose_two(trips, capsys):
    EmbeddingRegressor(pairs=[("month", "day")], verbose=2, **QUICK).fit(*trips)
    sentence = "Networks are told what the target did for: month and day."
    assert sentence in capsys.readouterr().err


def test_memory_and_files_are_told_the_same(trips, tmp_path):
    X, y = trips
    X.assign(y=y).to_parquet(tmp_path / "trips.parquet")
    options = {**QUICK, "pairs": [("month", "day")]}
    by_path = EmbeddingRegressor(**options).fit(tmp_path / "trips.parquet", "y")
    in_memory = EmbeddingRegressor(**options).fit(X, y)
    np.testing.assert_array_equal(by_path.predict(X), in_memory.predict(X))


def test_classes_weights_early_stopping_and_unseen_categories_work_with_pairs(trips):
    X, y = trips
    labels = np.array(["early", "late", "very late"])[np.digitize(y, [0.5, 1.5])]
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y))
    model = EmbeddingClassifier(pairs=[("month", "day")], early_stopping=True, **QUICK)
    model.fit(X, labels, weight)
    assert model.pairs_ == [("month", "day")]
    new = X[:5].assign(day=["31", None, "1", "x", "2"])
    shares = model.predict_proba(new)
    assert np.isfinite(shares).all()
    np.testing.assert_allclose(shares.sum(1), 1)


@pytest.mark.parametrize("kind", ["numbers", "classes"])
def test_the_onnx_graph_looks_pairs_up_too(trips, kind):
    onnxruntime = pytest.importorskip("onnxruntime")
    X, y = trips
    estimator = EmbeddingRegressor if kind == "numbers" else EmbeddingClassifier
    target = y if kind == "numbers" else y > 1
    pairs = [("month", "day"), ("carrier", "month"), ("carrier", "carrier")]
    model = estimator(pairs=pairs, n_networks=2, **QUICK)
    model.fit(X, target)
    new = pd.concat([X[:200], X[:1].assign(day="31")])
    session = onnxruntime.InferenceSession(catspace.to_onnx(model).SerializeToString())
    inputs = {name: new[[name]].to_numpy(dtype=object) for name in X}
    expected = model.predict(new) if kind == "numbers" else model.predict_proba(new)
    np.testing.assert_allclose(session.run(None, inputs)[-1].squeeze(), expected, atol=1e-5)


@pytest.mark.parametrize(
    "pairs",
    ["all", 3, {"a": "b"}, [("month",)], [("month", 1)], ["month"], {("month", "day")}, iter([])],
)
def test_pairs_that_are_none_are_refused(trips, pairs):
    with pytest.raises(ParameterError, match='pairs must be "auto", None, or a list of pairs'):
        EmbeddingRegressor(pairs=pairs).fit(*trips)


def test_pairs_of_unknown_columns_and_pairs_that_stand_there_twice_are_refused(trips):
    with pytest.raises(ParameterError, match=r"'mnth', which is not a categorical column.*'month'"):
        EmbeddingRegressor(pairs=[("mnth", "day")]).fit(*trips)
    for pairs in ([("day", "day"), ("day", "day")], [("day", "month"), ("month", "day")]):
        with pytest.raises(ParameterError, match="pairs must name each pair once"):
            EmbeddingRegressor(pairs=pairs).fit(*trips)


@pytest.mark.parametrize(
    "change",
    [
        {"pairs.keys": lambda keys: keys[::-1].copy()},
        {"pairs.keys": lambda keys: keys + 2**40},
        {"pairs.keys": lambda keys: keys.astype("f8")},
        {"pairs.values": lambda values: values[:-1]},
        {"pairs.values": lambda values: values * np.nan},
        {"pairs.values": None},
    ],
)
def test_a_model_file_whose_pairs_make_no_sense_is_refused(trips, tmp_path, change):
    X, y = trips
    EmbeddingRegressor(pairs=[("month", "day")], **QUICK).fit(X, y).save(tmp_path / "a.catspace")
    document, arrays = model_file.read(tmp_path / "a.catspace")
    ((name, made),) = change.items()
    if made is None:
        del arrays[name]
    else:
        arrays[name] = made(arrays[name])
    model_file.write(tmp_path / "b.catspace", document, arrays)
    with pytest.raises(ModelFileError, match="holds no model that catspace could have written"):
        catspace.load(tmp_path / "b.catspace")
