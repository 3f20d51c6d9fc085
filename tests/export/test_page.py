import json
import re
import sys

import pytest

from catspace.exceptions import CatspaceError
from catspace.export.report import write_report
from catspace.export.report.page import render

EMPTY = {
    "title": "A page",
    "target": "y",
    "target_labels": ["mean y"],
    "facts": [],
    "notes": [],
    "scores": None,
    "quality": None,
    "ranking": [],
    "effects": [],
    "history": [],
    "numbers": [],
    "columns": [],
    "version": "0",
}


def data_in(page):
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    return json.loads(found.group(1))


def test_the_data_comes_out_of_the_page_as_it_went_in():
    document = {**EMPTY, "target": "</script><script>alert(1)</script> & \u2028 \u202e 💥 <!--"}
    assert data_in(render(document)) == document


def test_the_title_cannot_become_markup():
    page = render({**EMPTY, "title": "<img src=x onerror=alert(1)>"})
    assert "<title>&lt;img src=x onerror=alert(1)&gt;</title>" in page
    assert "<img" not in page.split("<script")[0]


def test_the_page_forbids_itself_every_request():
    page = render(EMPTY)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page).group(1)
    assert policy.startswith("default-src 'none';")
    assert "unsafe-inline'; img" in policy  # of styles only
    assert "'unsafe-inline'" not in re.search(r"script-src ([^;]*)", policy).group(1)
    assert not re.search(r'<(script|link|img|iframe)[^>]+(src|href)="', page.split("<script>")[0])


def test_a_model_file_and_its_table_make_a_page(model, sales, tmp_path):
    model.save(tmp_path / "m.catspace")
    steps = []
    write_report(
        str(tmp_path / "m.catspace"), tmp_path / "page.html", sales.X, sales.y, on_step=steps.append
    )
    found = data_in((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert [column["name"] for column in found["columns"]] == steps == list(model.embeddings_)


def test_the_same_model_gives_the_same_page(model, tmp_path):
    for name in ("a", "b"):
        write_report(model, tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_folder_that_is_not_there_is_answered_with_a_sentence(model, tmp_path):
    with pytest.raises(CatspaceError, match="cannot be written: No such file or directory"):
        write_report(model, tmp_path / "nowhere" / "page.html")


def test_without_plotly_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    with pytest.raises(CatspaceError, match=r'pip install "catspace\[report\]"'):
        render(EMPTY)
