import json

import numpy as np
import pandas as pd
import pytest

from catspace import EmbeddingClassifier, EmbeddingEncoder, EmbeddingRegressor, analysis
from catspace.exceptions import InputError
from catspace.export.report import space
from catspace.export.report.summary import NO_ROWS, NOT_HELD_BACK, summarise


@pytest.fixture(scope="module")
def document(model, sales):
    return summarise(model, sales.X, sales.y, target_name="Sales")


def column_of(document, name):
    return next(column for column in document["columns"] if column["name"] == name)


def colour_of(column, name):
    return next(colour for colour in column["colours"] if colour["name"] == name)


def test_the_document_is_json_without_nan(document):
    json.dumps(document, allow_nan=False)


def test_every_embedded_column_has_a_section_in_the_order_of_the_model(document, model):
    assert [column["name"] for column in document["columns"]] == list(model.embeddings_)


def test_facts_count_rows_columns_categories_and_networks(document, model, sales):
    facts = dict(document["facts"])
    assert facts["rows in training"] == len(sales.X)
    assert facts["categorical columns"] == 7
    assert facts["categories"] == sum(sales.X[name].nunique() for name in sales.X)
    assert facts["networks"] == 2


def test_the_mean_target_of_each_category_is_that_of_its_rows(document, sales):
    state = column_of(document, "state")
    expected = pd.Series(sales.y).groupby(sales.X["state"].astype(str).to_numpy()).mean()
    found = colour_of(state, "target")["values"]
    assert found == pytest.approx(expected[state["categories"]].tolist(), rel=1e-4)


def test_a_column_that_the_category_fixes_colours_its_map(document, sales):
    store = column_of(document, "store")
    state = colour_of(store, "state")
    found = [state["labels"][group] for group in state["groups"]]
    of_store = sales.X.astype(str).groupby("store")["state"].first()
    assert found == [of_store[name] for name in store["categories"]]


def test_a_column_that_varies_within_the_category_does_not_colour_its_map(document):
    names = [colour["name"] for colour in column_of(document, "store")["colours"]]
    assert "day_of_week" not in names


def test_neighbours_are_those_of_the_analysis_with_the_agreement_of_the_networks(document, model):
    state = column_of(document, "state")
    names = state["categories"]
    expected = analysis.nearest(model, "state", "BY", k=4, with_agreement=True)
    i = names.index("BY")
    assert [names[j] for j in state["neighbours"]["index"][i]] == list(expected["category"])
    assert state["neighbours"]["distance"][i] == pytest.approx(list(expected["distance"]), rel=1e-3)
    assert state["neighbours"]["agreement"][i] == pytest.approx(list(expected["agreement"]))


def test_a_dozen_categories_list_four_neighbours_and_many_list_ten(document):
    assert len(column_of(document, "state")["neighbours"]["index"][0]) == 4
    assert len(column_of(document, "store")["neighbours"]["index"][0]) == 10
    assert len(column_of(document, "promo")["neighbours"]["index"][0]) == 1


def test_layouts_are_those_of_the_analysis(document, model):
    for method in ("pca", "tsne"):
        expected = analysis.project(model, "month", method=method)
        found = column_of(document, "month")["layouts"][method]
        # The signs of components are fixed, so that even those agree.
        assert found["x"] == pytest.approx(list(expected["x"]), rel=1e-3, abs=1e-3)
        assert found["trustworthiness"] == pytest.approx(expected["trustworthiness"][0], rel=1e-4)


def test_correlation_along_the_main_direction_is_that_of_the_analysis(document, model, sales):
    along = analysis.target_along(model, "store", sales.X, sales.y, n_random=0)
    expected = along.loc[along["direction"] == "component 1", "pearson"].iloc[0]
    assert column_of(document, "store")["along"]["pearson"] == pytest.approx(expected, rel=1e-4)


def test_distances_are_compared_on_the_scale_that_the_model_learned_on(document, model, sales):
    metric = analysis.model_distance(model, sales.X, "state", n_contexts=100, transform=np.log)
    expected = analysis.compare_distances(model, "state", metric)["pearson"].iloc[0]
    found = column_of(document, "state")["distances"]["pearson"]
    assert found == pytest.approx(expected, rel=1e-4)


def test_a_small_column_has_a_heat_map_of_its_distances(document, model):
    vectors = model.embeddings_["state"].vectors
    expected = np.linalg.norm(vectors[0] - vectors[1])
    found = column_of(document, "state")["heat_map"]
    assert found[0][1] == pytest.approx(expected, rel=1e-4)
    assert found[0][0] == 0


def test_a_column_with_too_few_categories_for_a_map_says_so(document):
    promo = column_of(document, "promo")
    assert "layouts" not in promo
    assert promo["left_out"] == ["So few categories need no map."]


def test_learning_curves_hold_each_epoch_of_each_network(document, model):
    assert len(document["history"]) == 2
    second = sorted({epoch["network"] for epoch in model.history_})[1]
    losses = [epoch["loss"] for epoch in model.history_ if epoch["network"] == second]
    curve = document["history"][1]
    assert curve["epoch"] == list(range(1, len(model.history_) // 2 + 1))
    assert curve["loss"] == pytest.approx(losses, rel=1e-4)


def test_without_a_table_the_maps_are_there_and_the_target_is_not(model):
    store = column_of(summarise(model), "store")
    assert len(store["layouts"]["pca"]["x"]) == 30
    assert "colours" not in store
    assert "distances" not in store


def test_the_target_may_be_a_column_of_the_table_and_is_remembered(shops):
    X, y = shops
    table = X.assign(sold=y)
    model = EmbeddingRegressor(max_epochs=1, random_state=0).fit(table, "sold")
    by_memory = summarise(model, table)
    assert by_memory["target"] == "sold"
    assert (
        by_memory == summarise(model, table, "sold") == summarise(model, X, y, target_name="sold")
    )


def test_two_classes_are_shown_as_the_share_of_the_second(shops):
    X, y = shops
    labels = np.where(y > np.median(y), "high", "low")
    model = EmbeddingClassifier(max_epochs=1, random_state=0).fit(X, labels)
    document = summarise(model, X, labels, target_name="level")
    assert document["target_labels"] == ["share of low"]
    town = column_of(document, "town")
    expected = pd.Series(labels == "low").groupby(X["town"].to_numpy()).mean()
    assert colour_of(town, "target")["values"] == pytest.approx(list(expected), rel=1e-4)


def test_many_classes_are_shown_as_the_most_frequent(shops):
    X, y = shops
    labels = np.digitize(y, np.quantile(y, [0.33, 0.66]))
    model = EmbeddingClassifier(max_epochs=1, random_state=0).fit(X, labels)
    town = column_of(summarise(model, X, labels), "town")
    found = colour_of(town, "target")
    expected = pd.Series(labels).groupby(X["town"].to_numpy()).agg(lambda one: one.mode()[0])
    assert [found["labels"][group] for group in found["groups"]] == [str(one) for one in expected]


def test_numbers_that_were_cut_and_dates_have_maps_with_their_target(shops):
    X, y = shops
    X = X.assign(when=pd.date_range("2024-01-01", periods=len(X), freq="D"))
    model = EmbeddingRegressor(
        max_epochs=1, discretize={"price": 6}, date_parts=["month"], random_state=0
    ).fit(X, y)
    document = summarise(model, X, y)
    month = column_of(document, "when_month")
    expected = pd.Series(y).groupby(X["when"].dt.month.to_numpy()).mean()
    assert colour_of(month, "target")["values"] == pytest.approx(list(expected), rel=1e-4)
    price = colour_of(column_of(document, "price"), "target")["values"]
    assert len(price) == 6
    assert price[0] < price[-1]  # the target rises with the price


def test_each_category_says_how_much_evidence_it_has():
    X = pd.DataFrame({"id": ["a"] * 60 + ["b"] * 3 + ["c"]})
    model = EmbeddingRegressor(smooth=3, max_epochs=1, random_state=0).fit(X, np.arange(64.0))
    column = column_of(summarise(model), "id")
    assert column["smooth"] == 3
    assert column["evidence"] == pytest.approx([3600 / 3609, 1 / 2, 1 / 10], rel=1e-3)


def test_of_very_many_categories_the_most_frequent_are_shown(monkeypatch):
    random = np.random.default_rng(0)
    names = random.zipf(1.3, size=3_000) % 200
    model = EmbeddingRegressor(max_epochs=1, categorical_features=["id"], random_state=0)
    X, y = pd.DataFrame({"id": names}), names / 7.0
    model.fit(X, y)
    monkeypatch.setattr(space, "MOST_SHOWN", 50)
    column = column_of(summarise(model, X, y), "id")
    counts = pd.Series(names).value_counts()
    assert column["n_categories"] == len(counts)
    assert sorted(column["counts"]) == sorted(counts.to_numpy()[:50])
    for name, count in zip(column["categories"], column["counts"], strict=True):
        assert counts[int(name)] == count
    means = colour_of(column, "target")["values"]
    expected = [int(name) / 7.0 for name in column["categories"]]
    assert means == pytest.approx(expected, rel=1e-4)
    assert column["left_out"][0].startswith("The 50 most frequent of")


def test_an_encoder_has_a_report_without_predictions(shops):
    X, y = shops
    encoder = EmbeddingEncoder(max_epochs=1, random_state=0).fit(X, y)
    town = column_of(summarise(encoder, X, y), "town")
    assert "layouts" in town
    assert "distances" not in town


def test_a_column_of_one_category_has_no_map(shops):
    X, y = shops
    model = EmbeddingRegressor(max_epochs=1, random_state=0).fit(X.assign(same="x"), y)
    same = column_of(summarise(model), "same")
    assert same["left_out"] == ["One category alone has no neighbours, so there is no map."]


def test_a_table_without_target_is_answered_with_a_sentence(model, sales):
    with pytest.raises(InputError, match="The target is needed beside the table"):
        summarise(model, sales.X)
    with pytest.raises(InputError, match="target was given without its table"):
        summarise(model, y=sales.y)
    with pytest.raises(InputError, match="has 6000 rows and the target 5999"):
        summarise(model, sales.X, sales.y[:-1])


def test_a_hashed_column_is_shown_by_its_buckets(shops):
    X, y = shops
    model = EmbeddingRegressor(hash_buckets={"town": 1000}, max_epochs=1, random_state=0).fit(X, y)
    town = column_of(summarise(model, X, y), "town")
    assert town["categories"] == model.embeddings_["town"].categories
    assert sum(town["counts"]) == len(X)
    assert town["left_out"] == []
    distances = analysis.model_distance(model, X, "town", n_contexts=100).to_frame()
    np.testing.assert_allclose(
        town["distances"]["metric"], sorted(distances["distance"]), rtol=1e-4
    )


@pytest.fixture(scope="module")
def judged(model, sales):
    """Return the document of a model and rows that it was not trained on."""
    used = np.arange(len(sales.X)) < 4_000
    new = sales.X[~used], sales.y[~used]
    document = summarise(
        model, sales.X[used], sales.y[used], X_val=new[0], y_val=new[1], target_name="Sales"
    )
    return document, *new


def test_scores_are_those_of_the_rows_held_back_beside_the_mean_of_the_others(judged, model, sales):
    document, X_new, y_new = judged
    quality = document["quality"]
    error = np.abs(model.predict(X_new) - y_new)
    assert quality["n_rows"] == 2_000
    assert quality["is_new"]
    assert quality["mean_error"] == pytest.approx(error.mean(), rel=1e-4)
    table = quality["scores"]
    found = {row[0]: dict(zip(table["names"], row[1:], strict=True)) for row in table["rows"]}
    assert found["catspace"]["mean absolute error"] == pytest.approx(error.mean(), rel=1e-4)
    constant = np.abs(sales.y[:4_000].mean() - y_new).mean()
    assert found["mean"]["mean absolute error"] == pytest.approx(constant, rel=1e-4)
    (output,) = quality["outputs"]
    assert output["half_within"] == pytest.approx(np.median(error), rel=1e-4)
    assert document["notes"] == []


def test_columns_are_ranked_by_the_analysis_and_what_hardly_matters_is_marked(judged, model):
    document, X_new, y_new = judged
    expected = analysis.importance(model, X_new, y_new, n_repeats=3)
    assert [one["column"] for one in document["ranking"]] == list(expected["column"])
    for one, row in zip(document["ranking"], expected.itertuples(), strict=True):
        assert one["importance"] == pytest.approx(row.importance, rel=1e-3)
        top = expected["importance"].max()
        assert one["hardly"] == (row.importance <= max(0.01 * top, 2 * row.std))


def test_the_worst_categories_are_those_of_a_naive_table(judged, model):
    document, X_new, y_new = judged
    off = pd.Series(model.predict(X_new) - y_new)
    by = off.groupby(X_new["store"].astype(str).to_numpy())
    size, error, bias = (
        by.size(),
        off.abs().groupby(X_new["store"].astype(str).to_numpy()).mean(),
        by.mean(),
    )
    expected = error[size >= 5].sort_values(ascending=False)[:10]
    found = column_of(document, "store")["errors"]["worst"]
    assert [one["name"] for one in found] == list(expected.index)
    assert [one["error"] for one in found] == pytest.approx(list(expected), rel=1e-4)
    assert [one["bias"] for one in found] == pytest.approx(list(bias[expected.index]), rel=1e-4)


def test_missing_rare_and_unseen_rows_are_lines_of_their_own(shops):
    X, y = shops
    X = X.assign(town=X["town"].where(np.arange(len(X)) % 10 > 0))
    model = EmbeddingRegressor(max_epochs=1, min_frequency=140, random_state=0).fit(X, y)
    new = X.assign(town=X["town"].where(np.arange(len(X)) % 7 > 0, "Ulm"))
    town = column_of(summarise(model, X, y, X_val=new, y_val=y), "town")
    off = pd.Series(np.abs(model.predict(new) - y))
    known = dict.fromkeys(model.embeddings_["town"].categories, "known") | {"Ulm": "(unseen)"}
    kind = new["town"].map(known).fillna("(rare)").mask(new["town"].isna(), "(missing)")
    expected = off.groupby(kind.to_numpy()).agg(["size", "mean"])
    assert town["n_missing"] == X["town"].isna().sum()
    found = {one["name"]: one for one in town["errors"]["special"]}
    assert set(found) == {"(missing)", "(rare)", "(unseen)"} & set(expected.index)
    for name, one in found.items():
        assert one["count"] == expected.loc[name, "size"]
        assert one["error"] == pytest.approx(expected.loc[name, "mean"], rel=1e-4)


def test_effects_of_numbers_are_those_of_the_analysis(shops):
    X, y = shops
    model = EmbeddingRegressor(max_epochs=2, random_state=0).fit(X, y)
    (found,) = summarise(model, X, y)["effects"]
    expected = analysis.effect(model, X, "price", n_contexts=200)
    assert found["name"] == "price"
    (curve,) = found["curves"]
    assert curve["value"] == pytest.approx(list(expected["value"]), rel=1e-4)
    assert curve["prediction"] == pytest.approx(list(expected["prediction"]), rel=1e-4)
    assert curve["missing"] is None


def test_errors_over_time_are_those_of_each_period(shops):
    X, y = shops
    days = pd.date_range("2024-01-01", periods=300, freq="D")
    X = X.assign(when=np.repeat(days, 2))
    model = EmbeddingRegressor(max_epochs=1, date_parts=["month"], random_state=0).fit(X, y)
    (time,) = summarise(model, X, y)["quality"]["times"]
    over = (model.predict(X) - y).reshape(-1, 2).mean(axis=1)  # of each day
    period = np.minimum(np.arange(300) * 40 // 300, 39)
    expected = pd.Series(over).groupby(period).mean()
    assert time["column"] == "when"
    assert sum(time["counts"]) == len(X)
    assert len(time["dates"]) == 40
    assert time["dates"][0] == "2024-01-04"
    assert time["bias"] == pytest.approx(list(expected), rel=1e-3, abs=1e-6)


def test_dates_that_are_all_equal_have_no_course_over_time(shops):
    X, y = shops
    X = X.assign(when=pd.Timestamp("2024-05-05"))
    model = EmbeddingRegressor(max_epochs=1, date_parts=["month"], random_state=0).fit(X, y)
    assert summarise(model, X, y)["quality"]["times"] == []


@pytest.mark.parametrize("n_classes", [2, 3])
def test_confusion_and_calibration_are_counted(shops, n_classes):
    X, y = shops
    labels = np.array(["low", "middle", "high"])[
        np.digitize(y, np.quantile(y, np.linspace(0, 1, n_classes + 1)[1:-1]))
    ]
    model = EmbeddingClassifier(max_epochs=2, random_state=0).fit(X, labels)
    quality = summarise(model, X, labels)["quality"]
    shares, predicted = model.predict_proba(X), model.predict(X)
    assert quality["mean_error"] == pytest.approx((predicted != labels).mean(), rel=1e-4)
    expected = pd.crosstab(labels, predicted).reindex(
        index=model.classes_, columns=model.classes_, fill_value=0
    )
    assert quality["confusion"]["counts"] == expected.to_numpy().tolist()
    said = shares[:, 1] if n_classes == 2 else shares.max(axis=1)
    happened = labels == model.classes_[1] if n_classes == 2 else predicted == labels
    bins = np.minimum((10 * said).astype(int), 9)
    by_bin = pd.DataFrame({"said": said, "happened": happened}).groupby(bins).mean()
    assert quality["calibration"]["said"] == pytest.approx(list(by_bin["said"]), rel=1e-4)
    assert quality["calibration"]["happened"] == pytest.approx(list(by_bin["happened"]), rel=1e-4)


def test_several_targets_have_a_picture_and_a_colour_each(shops):
    X, y = shops
    targets = np.column_stack([y, -y])
    model = EmbeddingRegressor(max_epochs=1, random_state=0).fit(X, targets)
    document = summarise(model, X, targets, target_name="level")
    assert document["target_labels"] == ["mean level 1", "mean level 2"]
    assert [output["name"] for output in document["quality"]["outputs"]] == ["level 1", "level 2"]
    town = column_of(document, "town")
    first, second = [one["values"] for one in town["colours"] if one["name"] == "target"]
    assert first == pytest.approx([-value for value in second], rel=1e-4)
    error = np.abs(model.predict(X) - targets).mean()
    assert document["quality"]["mean_error"] == pytest.approx(error, rel=1e-4)
    assert len(document["effects"][0]["curves"]) == 2


def test_the_page_says_what_is_missing_and_what_flatters(model, sales, shops):
    assert summarise(model)["notes"] == [NO_ROWS]
    assert summarise(model, sales.X, sales.y)["notes"] == [NOT_HELD_BACK]
    X, y = shops
    encoder = EmbeddingEncoder(max_epochs=1, random_state=0).fit(X, y)
    (note,) = summarise(encoder, X, y)["notes"]
    assert note.startswith("An EmbeddingEncoder makes vectors and does not predict")


def test_a_constant_target_and_a_single_row_are_sentences_in_the_page(shops):
    X, y = shops
    model = EmbeddingRegressor(max_epochs=1, random_state=0).fit(X, y)
    for rows, target in ((X, np.ones(len(X))), (X[:1], y[:1])):
        document = summarise(model, rows, target)
        assert document["ranking"] == []
        assert any("Which columns matter cannot be told" in note for note in document["notes"])
        assert document["quality"]["n_rows"] == len(rows)
        json.dumps(document, allow_nan=False)


def test_vectors_are_handed_out_with_names_that_no_spreadsheet_runs():
    X = pd.DataFrame({"=cmd": ["=1+1", "a", "b"] * 20})
    model = EmbeddingRegressor(max_epochs=1, random_state=0).fit(X, np.arange(60.0))
    column = column_of(summarise(model), "=cmd")
    assert column["cells"] == ["'=1+1", "a", "b"]
    assert column["cell_name"] == "'=cmd"
    np.testing.assert_allclose(column["vectors"], model.embeddings_["=cmd"].vectors, rtol=1e-4)


def test_a_dozen_points_get_no_histogram_and_many_do(document):
    assert "density" not in column_of(document, "month")
    assert "density" in column_of(document, "store")
