import io
import json

import numpy as np
import pytest
from rich.console import Console

from catspace.paper import figures, reproduce, space
from catspace.paper.tables import frame_records, frame_table

SMALL = {"hidden_layer_sizes": (32,), "max_epochs": 3, "n_networks": 2}


@pytest.fixture
def ask(monkeypatch, tmp_path):
    """Run an experiment with small networks on a small table."""
    monkeypatch.setattr(reproduce, "_GENERATED_ROWS", 4_000)
    monkeypatch.setattr(reproduce, "_GENERATED_STORES", 30)
    monkeypatch.setattr(space, "_STORE_DIMS", (2, 5))
    trainings = {
        name: ({**parameters, **SMALL}, unseen)
        for name, (parameters, unseen) in space.TRAININGS.items()
    }
    monkeypatch.setattr(space, "TRAININGS", trainings)
    network = {**figures.PAPER_NETWORK, **SMALL}
    monkeypatch.setattr(figures, "PAPER_NETWORK", network)

    def run(experiment):
        console = Console(file=io.StringIO(), width=60)
        reproduce.reproduce(experiment, data=None, rows=2_000, out=tmp_path, console=console)
        (tmp_path / "printed.txt").write_text(console.file.getvalue())
        return json.loads((tmp_path / f"{experiment}.json").read_text())

    return run


def test_the_map_is_looked_for_by_every_network_of_every_training(ask, tmp_path):
    records = ask("map")
    assert len(records) == 2 * len(space.TRAININGS)
    for record in records:
        assert 0 <= record["score"] <= 1
        assert 0 < record["p_value"] <= 1
        assert record["spread"] > 0
    text = (tmp_path / "map.md").read_text()
    assert "| catspace's defaults | 2 |" in text
    assert "Data: GENERATED (make_sales); 2,000 rows to learn from; seed 0." in text
    assert text in (tmp_path / "printed.txt").read_text()  # no row is broken to fit the console


def test_the_map_is_summed_up_over_networks():
    records = [
        {"training": "a", "score": score, "p_value": p, "spread": 0.5}
        for score, p in [(0.2, 0.5), (0.4, 0.04), (0.9, 0.01)]
    ]
    row = space.summarise_map(records).iloc[0]
    assert row["score"] == pytest.approx(0.5)
    assert (row["worst"], row["best"], row["median_p"]) == (0.2, 0.9, 0.04)
    assert row["significant"] == 2


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
    assert frame_table(space.summarise_schoenberg(answers)).splitlines() == [
        "| kernel | lambda | store, observed | state, by the model |",
        "|---|---|---|---|",
        "| exp(-λ d) | 0.1 | -0.372 (10) | 0.5 |",
    ]


def test_rows_of_contexts_that_no_store_is_missing_from_are_found():
    X = space.pd.DataFrame(
        {"store": [1, 2, 3, 1, 2, 3, 3], "day": [1, 1, 1, 2, 2, 4, 4], "state": list("aabaabb")}
    )
    found = space._in_contexts_of_all_stores(X)
    assert found.tolist() == [True, True, True, False, False, False, False]


def test_distances_in_shared_contexts_meet_the_papers_condition_and_others_may_not():
    random = np.random.default_rng(0)
    sales = np.exp(random.normal(size=(40, 12)))
    day, store = (index.ravel() for index in np.indices(sales.shape))
    X = space.pd.DataFrame({"store": store, "day": day, "state": "a"})

    def smallest(kept):
        observed = space._observe(X[kept], sales.ravel()[kept], np.log)
        found = space.analysis.schoenberg(observed, lambdas=[0.1]).iloc[0]
        assert found["kernel"] == "exp(-λ d)"
        return found["smallest"]

    everywhere = np.ones(len(X), dtype=bool)
    assert space._in_contexts_of_all_stores(X).all()
    assert smallest(everywhere) > 0
    assert smallest(random.random(len(X)) < 0.4) < 0  # pairs meet on days of their own


def test_frames_become_markdown():
    frame = space.pd.DataFrame({"name": ["a|b"], "value": [0.123456], "count": [7]})
    assert frame_table(frame).splitlines() == [
        "| name | value | count |",
        "|---|---|---|",
        "| a\\|b | 0.1235 | 7 |",
    ]


def test_records_of_a_frame_keep_small_numbers_and_come_back_as_the_same_table():
    frame = space.pd.DataFrame(
        {"p": [6.074123e-13, np.nan], "n": [3, 4], "holds": [True, False], "name": ["a", "b"]}
    )
    records = json.loads(json.dumps(frame_records(frame), allow_nan=False))
    assert records[0]["p"] == 6.074123e-13
    assert records[1]["p"] is None
    assert frame_table(space.pd.DataFrame(records)) == frame_table(frame)
