import datetime as dt

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score, mean_absolute_error

from catspace import EmbeddingClassifier, EmbeddingEncoder, EmbeddingRegressor, load
from catspace.analysis import importance
from catspace.exceptions import InputError, InputTypeError, ParameterError


class Permutations:
    """The rows and orders that `importance` draws, for a naive reference."""

    def __init__(self, n_rows, n_drawn, random_state=0):
        self.random = np.random.default_rng(random_state)
        self.n_rows, self.n_drawn = n_rows, n_drawn

    def rows(self):
        if self.n_drawn == self.n_rows:
            return np.arange(self.n_rows)
        return np.sort(self.random.choice(self.n_rows, self.n_drawn, replace=False))

    def order(self):
        return self.random.permutation(self.n_drawn)


def naive(model, X, y, units, loss, *, n_repeats, n_drawn, random_state=0):
    """Shuffle columns of the table itself, and predict each table from the start."""
    draw = Permutations(len(X), n_drawn, random_state)
    rises = {name: [] for name in units}
    for _ in range(n_repeats):
        rows = draw.rows()
        table, true = X.iloc[rows].reset_index(drop=True), np.asarray(y)[rows]
        before = loss(true, model.predict(table))
        for name, columns in units.items():
            order, shuffled = draw.order(), table.copy()
            for column in columns:
                shuffled[column] = table[column].iloc[order].reset_index(drop=True)
            rises[name].append(loss(true, model.predict(shuffled)) - before)
    return {name: (np.mean(values), np.std(values)) for name, values in rises.items()}


@pytest.fixture(scope="module")
def visits():
    """Return a table with a column of each kind, and a model of it."""
    random = np.random.default_rng(0)
    n = 400
    day = [dt.date(2024, 1, 1) + dt.timedelta(days=int(d)) for d in random.integers(0, 300, n)]
    town = random.choice(["Aachen", "Bonn", "Celle"], size=n)
    price = np.where(random.random(n) < 0.1, np.nan, random.normal(10, 2, n))
    y = (
        10
        + 3.0 * (town == "Bonn")
        + 2.0 * np.array([d.month > 6 for d in day])
        + 0.5 * (np.nan_to_num(price, nan=14) - 10)
    )
    X = pd.DataFrame({"town": town, "day": day, "price": price, "noise": random.normal(size=n)})
    model = EmbeddingRegressor(
        date_parts=["month", "day_of_week"], n_networks=2, max_epochs=15, smooth=0, random_state=0
    )
    return X, y, model.fit(X, y)


def test_importance_is_its_naive_definition(visits):
    X, y, model = visits
    found = importance(model, X, y, n_repeats=3).set_index("column")
    units = {name: [name] for name in ("town", "price", "noise", "day")}
    # The columns in the order in which they are shuffled: embedded ones first.
    units = {name: units[name] for name in ("town", "day", "price", "noise")}
    expected = naive(model, X, y, units, mean_absolute_error, n_repeats=3, n_drawn=400)
    for name, (mean, std) in expected.items():
        assert found["importance"][name] == pytest.approx(mean, abs=1e-6)
        assert found["std"][name] == pytest.approx(std, abs=1e-6)
    assert found["baseline"].iloc[0] == pytest.approx(-mean_absolute_error(y, model.predict(X)))
    assert found["importance"].is_monotonic_decreasing
    assert set(found.index[:3]) == {"town", "day", "price"}


def test_rows_are_drawn_anew_for_each_repeat_where_fewer_are_asked_for(visits):
    X, y, model = visits
    found = importance(model, X, y, columns=["town"], n_repeats=4, max_samples=0.25)
    units = {"town": ["town"]}
    expected = naive(model, X, y, units, mean_absolute_error, n_repeats=4, n_drawn=100)
    assert found["importance"][0] == pytest.approx(expected["town"][0], abs=1e-6)
    assert found["std"][0] == pytest.approx(expected["town"][1], abs=1e-6)


def test_columns_of_a_group_are_shuffled_together_and_count_as_one(visits):
    X, y, model = visits
    groups = {"where and when": ["town", "day"]}
    found = importance(model, X, y, groups=groups, n_repeats=2).set_index("column")
    assert sorted(found.index) == ["noise", "price", "where and when"]
    units = {"price": ["price"], "noise": ["noise"], "where and when": ["town", "day"]}
    expected = naive(model, X, y, units, mean_absolute_error, n_repeats=2, n_drawn=400)
    for name, (mean, _) in expected.items():
        assert found["importance"][name] == pytest.approx(mean, abs=1e-6)


def test_two_columns_that_say_the_same_matter_together_more_than_the_sum_of_each():
    random = np.random.default_rng(0)
    town = random.choice(list("abcdef"), size=600)
    X = pd.DataFrame({"town": town, "again": town})
    y = np.searchsorted(list("abcdef"), town).astype(float)
    model = EmbeddingRegressor(max_epochs=10, smooth=0, random_state=0).fit(X, y)
    apart = importance(model, X, y)["importance"].sum()
    together = importance(model, X, y, groups={"both": ["town", "again"]})["importance"][0]
    assert together > apart / 2


def test_any_of_scikit_learns_scores_can_be_asked_for(visits):
    X, y, model = visits
    found = importance(model, X, y, columns=["town"], scoring="r2", n_repeats=1)
    assert found["baseline"][0] == pytest.approx(model.score(X, y))

    def largest_error(estimator, encoded, true):
        return -np.abs(estimator.predict(encoded) - true).max()

    found = importance(model, X, y, columns=["town"], scoring=largest_error, n_repeats=1)
    assert found["baseline"][0] == pytest.approx(-np.abs(model.predict(X) - y).max())


def test_classes_are_judged_by_their_probabilities(shops):
    X, y = shops
    labels = np.where(y > np.median(y), "high", "low")
    model = EmbeddingClassifier(max_epochs=10, smooth=0, random_state=0).fit(X, labels)
    shares = model.predict_proba(X)
    own = shares[np.arange(len(y)), np.searchsorted(model.classes_, labels)]
    found = importance(model, X, labels)
    assert found["baseline"][0] == pytest.approx(np.log(own).mean())
    assert found["column"][0] == "town"
    for scoring in ("neg_log_loss", "roc_auc", "accuracy"):
        scored = importance(model, X, labels, scoring=scoring, n_repeats=1)
        assert scored["column"][0] == "town"
    assert scored["baseline"][0] == accuracy_score(labels, model.predict(X))


def test_rows_of_weight_zero_do_not_count(visits):
    X, y, model = visits
    weight = np.repeat([1.0, 0.0], 200)
    wrong = np.where(weight > 0, y, -1e6)
    found = importance(model, X, wrong, sample_weight=weight, n_repeats=1)
    expected = -mean_absolute_error(y[:200], model.predict(X.iloc[:200]))
    assert found["baseline"][0] == pytest.approx(expected)


def test_tables_of_every_library_files_and_restored_models_give_the_same(
    visits, make_table, tmp_path
):
    X, y, _ = visits
    whole = {name: X[name].tolist() for name in ("town", "day", "noise")}
    whole["price"] = [None if value != value else value for value in X["price"]]
    whole["sales"] = y.tolist()
    table = make_table(whole)
    model = EmbeddingRegressor(date_parts=["month"], max_epochs=2, smooth=0, random_state=0)
    model.fit(table, "sales").save(tmp_path / "m.catspace")
    pd.DataFrame(whole).to_csv(tmp_path / "t.csv", index=False)
    found = importance(model, table, n_repeats=2)
    assert type(found) is type(table)
    listed = [to_lists(found)]
    listed.append(to_lists(importance(model, tmp_path / "t.csv", n_repeats=2)))
    listed.append(to_lists(importance(load(tmp_path / "m.catspace"), table, "sales", n_repeats=2)))
    assert listed[0] == listed[1] == listed[2]


def to_lists(frame):
    names = getattr(frame, "column_names", None) or list(frame.columns)
    return {name: np.asarray(frame[name]).tolist() for name in names}


def test_what_cannot_be_asked_is_said(visits):
    X, y, model = visits
    with pytest.raises(InputError, match=r"The table has 1 row, and nothing that its values could"):
        importance(model, X[:1], y[:1])
    with pytest.raises(InputError, match=r"The target is 7.0 in all 400 rows, so that no column"):
        importance(model, X, np.full(400, 7.0))
    with pytest.raises(InputError, match="The table has 400 rows and the target 399"):
        importance(model, X, y[1:])
    with pytest.raises(InputError, match="The target is needed beside the table"):
        importance(model, X)
    with pytest.raises(ParameterError, match=r"columns names 'Town'.* Did you mean 'town'"):
        importance(model, X, y, columns=["Town"])
    with pytest.raises(ParameterError, match=r"groups names 'day_month', which is not a column"):
        importance(model, X, y, groups={"a": ["day_month"]})
    with pytest.raises(ParameterError, match=r"columns must be a list of names .* got 'town'"):
        importance(model, X, y, columns="town")
    with pytest.raises(ParameterError, match="columns is empty"):
        importance(model, X, y, columns=[])
    with pytest.raises(ParameterError, match="groups has a group 'price', and a column of that"):
        importance(model, X, y, groups={"price": ["town"]})
    with pytest.raises(ParameterError, match=r"scoring must be the name .* mean 'accuracy'"):
        importance(model, X, y, scoring="acuracy")
    with pytest.raises(ParameterError, match="n_repeats must be a positive int; got 0"):
        importance(model, X, y, n_repeats=0)
    with pytest.raises(ParameterError, match="max_samples must be a number above 0"):
        importance(model, X, y, max_samples=-0.5)


def test_vectors_alone_cannot_be_asked(visits):
    X, y, model = visits
    with pytest.raises(InputTypeError, match=r"(?s)model that predicts is needed; got Embeddings"):
        importance(model.embeddings_, X, y)
    encoder = EmbeddingEncoder(max_epochs=1, smooth=0, random_state=0).fit(X[["town"]], y)
    with pytest.raises(InputTypeError, match="got EmbeddingEncoder"):
        importance(encoder, X[["town"]], y)
