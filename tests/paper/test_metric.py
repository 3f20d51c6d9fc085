import json

import numpy as np
import pandas as pd
import pytest

from catspace import analysis
from catspace.paper import metric
from catspace.paper.printing import frame_table


def test_every_question_about_the_metric_space_has_an_answer(ask):
    answers = ask("metric")
    axioms = {row["axiom"]: row for row in answers["Axioms of a metric, state, by the model"]}
    assert axioms["triangle"]["holds"]  # as it must for a mean of absolute differences
    kernel = [
        row
        for row in answers["Schoenberg's condition, store, by the model"]
        if row["kernel"] == "exp(-λ d)"
    ]
    assert all(row["positive"] for row in kernel)
    assert [row["dim"] for row in answers["Distortion by dimension, store"]] == [2, 5]
    parts = {row["components"]: row for row in answers["Parts of the learned distance, store"]}
    assert parts["1 to 29"]["share_of_squares"] == pytest.approx(1)
    assert parts["1"]["share_of_squares"] + parts["2 to 29"]["share_of_squares"] == pytest.approx(1)
    slope = answers["Metric distance for each unit of learned distance, store"][0]
    assert slope["least"] < slope["median"] < slope["most"]
    meaning = answers["What goes along with the components, store"]
    assert {"component 1", "component 4"} < set(meaning[0])
    assert [row["way"] for row in answers["Ways into the plane and the map, state"]] == [
        "pca",
        "mds",
        "tsne",
    ]
    assert [row["way"] for row in answers["MDS, store"]] == ["2 dimensions", "10 dimensions"]
    merged = answers["Stores left when those within a tolerance are merged"]
    assert merged[0]["stores"] == 30
    assert np.all(np.diff([row["stores"] for row in merged]) <= 0)


def test_eigenvalues_of_several_distances_stand_side_by_side():
    row = {"kernel": "exp(-λ d)", "lambda": 0.1, "smallest": -0.37226, "negative": 10}
    answers = {
        "Mardia's tests, store": [],
        "Schoenberg's condition, store, observed": [row],
        "Schoenberg's condition, state, by the model": [{**row, "smallest": 0.5, "negative": 0}],
    }
    assert frame_table(metric.summarise_schoenberg(answers)).splitlines() == [
        "| kernel | lambda | store, observed | state, by the model |",
        "|---|---|---|---|",
        "| exp(-λ d) | 0.1 | -0.372 (10) | 0.5 |",
    ]


def test_rows_of_contexts_that_no_store_is_missing_from_are_found():
    X = pd.DataFrame(
        {"store": [1, 2, 3, 1, 2, 3, 3], "day": [1, 1, 1, 2, 2, 4, 4], "state": list("aabaabb")}
    )
    found = metric._in_contexts_of_all_stores(X)
    assert found.tolist() == [True, True, True, False, False, False, False]


def test_distances_in_shared_contexts_meet_the_papers_condition_and_others_may_not():
    random = np.random.default_rng(0)
    sales = np.exp(random.normal(size=(40, 12)))
    day, store = (index.ravel() for index in np.indices(sales.shape))
    X = pd.DataFrame({"store": store, "day": day, "state": "a"})

    def smallest(kept):
        observed = metric._observe(X[kept], sales.ravel()[kept], np.log)
        found = analysis.schoenberg(observed, lambdas=[0.1]).iloc[0]
        assert found["kernel"] == "exp(-λ d)"
        return found["smallest"]

    everywhere = np.ones(len(X), dtype=bool)
    assert metric._in_contexts_of_all_stores(X).all()
    assert smallest(everywhere) > 0
    assert smallest(random.random(len(X)) < 0.4) < 0  # pairs meet on days of their own


def test_records_of_a_frame_keep_small_numbers_and_come_back_as_the_same_table():
    frame = pd.DataFrame(
        {"p": [6.074123e-13, np.nan], "n": [3, 4], "holds": [True, False], "name": ["a", "b"]}
    )
    records = json.loads(json.dumps(metric.frame_records(frame), allow_nan=False))
    assert records[0]["p"] == 6.074123e-13
    assert records[1]["p"] is None
    assert frame_table(pd.DataFrame(records)) == frame_table(frame)
