"""The record of the real run, and the pages that are made from it."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest

from catspace.paper.kaggle import ENTRIES
from catspace.paper.map import map_table, summarise_map
from catspace.paper.metric import summarise_schoenberg
from catspace.paper.printing import frame_table, markdown
from catspace.paper.protocol import PUBLISHED
from catspace.paper.study import study_table

DOCS = Path(__file__).parents[2] / "docs"


def record_of(name):
    return json.loads((DOCS / "reproduction" / name).read_text(encoding="utf-8"))


def page(name):
    return (DOCS / name).read_text(encoding="utf-8")


def tables_in(text):
    return re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE)


def tables_of_the_metric():
    answers = record_of("metric.json")
    return [
        *(frame_table(pd.DataFrame(rows)) for rows in answers.values()),
        frame_table(summarise_schoenberg(answers)),
    ]


def tables_of_the_map():
    records = [record_of("map.json"), record_of("generated/map.json")]
    return [table for found in records for table in tables_in(map_table(found))]


def tables_of_the_studies():
    studies = [study_table(record_of(f"{name}.json")) for name in ("activations", "dimensions")]
    bins = page("reproduction/discretize.md")
    return [table for text in (*studies, bins) for table in tables_in(text)]


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


@pytest.mark.parametrize(
    ("name", "records"),
    [
        ("metric-space.md", [tables_of_the_metric]),
        ("map.md", [tables_of_the_map, tables_of_the_metric]),
        ("studies.md", [tables_of_the_studies]),
        ("reproduction/metric.md", [tables_of_the_metric]),
    ],
)
def test_every_table_of_a_page_is_one_of_the_records(name, records):
    made = [table for tables in records for table in tables()]
    shown = tables_in(page(name))
    assert len(shown) > 2
    for table in shown:
        assert table in made, table


@pytest.mark.parametrize("folder", ["", "generated/"])
def test_the_page_shows_the_whole_record_of_the_map(folder):
    text = map_table(record_of(f"{folder}map.json"))
    assert text in page("map.md")
    assert text == page(f"reproduction/{folder}map.md")


@pytest.mark.parametrize("name", ["activations", "dimensions"])
def test_the_page_shows_the_whole_record_of_a_study(name):
    text = study_table(record_of(f"{name}.json"))
    assert text in page("studies.md")
    assert text == page(f"reproduction/{name}.md")


def test_the_figures_and_the_record_of_the_metric_are_of_the_same_network():
    found = record_of("metric.json")["Learned and metric distance, store"][0]
    caption = f"Pearson {found['pearson']:.3f}, Spearman {found['spearman']:.3f}"
    assert caption in page("reproduction/figures/figures.md")


def test_the_map_appears_with_the_defaults_and_not_without_the_store():
    found = summarise_map(record_of("map.json")).set_index("training")["significant"]
    assert found["catspace's defaults"] == 10
    assert found["catspace's defaults, without the store"] < 5


def test_the_papers_kernel_fails_only_where_pairs_have_contexts_of_their_own():
    answers = record_of("metric.json")
    for title, fails in {
        "store, by the model": False,
        "store, observed": True,
        "store, observed where all stores are": False,
        "state, by the model": False,
    }.items():
        rows = answers[f"Schoenberg's condition, {title}"]
        negative = sum(row["negative"] for row in rows if row["kernel"] == "exp(-λ d)")
        assert (negative > 0) == fails


def test_the_sentences_about_the_metric_space_have_the_numbers_of_the_record():
    answers = record_of("metric.json")
    observed = answers["Observed distance and the model's, store"][0]
    rest = answers["Parts of the learned distance, store"][2]
    slope = answers["Metric distance for each unit of learned distance, store"][0]
    seconds = answers["Seconds for all of the above"][0]["seconds"]
    text = " ".join(page("metric-space.md").split())
    for number in (
        f"the {answers['Contexts in which all stores are'][0]['contexts']} contexts count",
        f"correlate with {observed['pearson']:.3f} (Spearman {observed['spearman']:.3f})",
        f"below d / {slope['most']:.3f}",
        f"make up {100 * rest['share_of_squares']:.0f} % of the squared distances",
        f"the analysis of this page {seconds:.0f} s",
    ):
        assert number in text


def test_the_sentences_about_the_map_have_the_numbers_of_the_record():
    found = summarise_map(record_of("map.json")).set_index("training")
    own, papers = (found.loc[name] for name in ("catspace's defaults", "the paper's network"))
    text = " ".join(page("map.md").split())
    assert f"on average {own['score']:.2f} and {papers['score']:.2f} of the map" in text
    assert (own["significant"], papers["significant"]) == (10, 9)
    assert found["significant"].sum() == 10 + 9 + 1  # one of the twenty without the store
