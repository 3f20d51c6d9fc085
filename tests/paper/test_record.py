"""The record of the real run, and the pages that are made from it."""

import json
from pathlib import Path

import pytest

from catspace.paper.competition import ENTRIES
from catspace.paper.protocol import PUBLISHED
from catspace.paper.tables import markdown

DOCS = Path(__file__).parents[2] / "docs"


def record_of(name):
    return json.loads((DOCS / "reproduction" / name).read_text(encoding="utf-8"))


def page(name):
    return (DOCS / name).read_text(encoding="utf-8")


def test_the_page_shows_the_tables_of_the_record():
    assert markdown(record_of("results.json")) in page("reproduction.md")


def test_every_cell_of_the_papers_tables_is_in_the_record():
    found = {(r["split"], r["method"], r["encoding"]): r for r in record_of("results.json")}
    for cell, published in PUBLISHED.items():
        assert found[cell]["data"] == "rossmann"
        assert found[cell]["paper_mape"] == published
        assert found[cell]["rows"] == 200_000


@pytest.mark.parametrize("split", ["shuffled", "time"])
@pytest.mark.parametrize("method", ["knn", "tree", "random_forest", "xgboost"])
def test_vectors_make_every_other_method_better(split, method):
    found = {(r["split"], r["method"], r["encoding"]): r["mape"] for r in record_of("results.json")}
    assert found[split, method, "ee"] < found[split, method, "raw"]


def test_the_page_shows_the_competition_of_the_record():
    for (name, entry), record in zip(ENTRIES.items(), record_of("kaggle.json"), strict=True):
        parameters = record["parameters"]
        assert (tuple(parameters["views"]), parameters["n_networks"]) == entry
        scores = f"{record['rmspe']:.4f} | {record['mape']:.4f} | {record['fit_seconds']:.0f}"
        assert f"| {name} | {scores} |" in page("reproduction.md")


def test_the_readme_shows_the_competition_of_the_record():
    one, *_, average = record_of("kaggle.json")
    text = " ".join((DOCS.parent / "README.md").read_text(encoding="utf-8").split())
    said = f"ten networks come to an RMSPE of {average['rmspe']:.4f}, one to {one['rmspe']:.4f}."
    assert said in text
