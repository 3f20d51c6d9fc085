import io
import json

import pytest
from rich.console import Console

from catspace import make_sales
from catspace.paper import activations, dimensions, request, study
from catspace.paper.protocol import make_problem, scores
from catspace.paper.reproduce import reproduce


@pytest.fixture
def small(monkeypatch):
    variants = {
        "wide": {"embedding_dim": 4, "max_epochs": 1},
        "narrow": {"embedding_dim": 1, "max_epochs": 1},
    }
    monkeypatch.setattr(dimensions, "VARIANTS", variants)
    monkeypatch.setattr(study, "_BASE", {"target_transform": "log", "n_networks": 1})
    monkeypatch.setattr(request, "_GENERATED_ROWS", 2_000)
    monkeypatch.setattr(request, "_GENERATED_STORES", 20)
    monkeypatch.setattr(request, "_GENERATED_TRAINING", 1_000)


@pytest.mark.usefixtures("small")
def test_a_study_is_judged_by_training_rows_that_were_held_back():
    sales = make_sales(2_000, n_stores=20, backend="pandas")
    problem = make_problem(sales, "generated", "time", rows=1_000, seed=0)
    record, _ = study.compare_variants(
        "dimensions", dimensions.VARIANTS, problem, progress=lambda share: None
    )
    assert (record["rows"], record["judged_by"]) == (900, 100)

    from catspace import EmbeddingRegressor

    held_back = problem.validation
    model = EmbeddingRegressor(**record["parameters"], smooth=0, random_state=0)
    model.fit(problem.frames.train[~held_back], problem.y_train[~held_back])
    predicted = model.predict(problem.frames.train[held_back])
    found = scores(problem.y_train[held_back], predicted)
    assert {name: record[name] for name in ("mape", "rmspe")} == found


@pytest.mark.usefixtures("small")
def test_a_study_is_a_command_that_writes_its_table(tmp_path):
    console = Console(file=io.StringIO(), width=140)
    records = reproduce("dimensions", data=None, out=tmp_path, console=console)
    assert len(records) == 4
    assert json.loads((tmp_path / "dimensions.json").read_text()) == records
    text = (tmp_path / "dimensions.md").read_text()
    assert "| variant | validation MAPE, shuffled | validation MAPE, time | fit s |" in text
    assert f"| narrow | {records[1]['mape']:.4f} | {records[3]['mape']:.4f} |" in text
    assert "GENERATED (make_sales)" in text


def test_the_studies_cover_every_activation():
    from catspace.model.layers import ACTIVATIONS

    assert len(activations.VARIANTS) == len(ACTIVATIONS)
