"""The code and the links of README and docs."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import matplotlib as mpl
import pytest

mpl.use("Agg")
from matplotlib import pyplot as plt

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
README = ROOT / "README.md"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.glob("*.md"))]
# Pages whose blocks are steps: each one goes on where the last has ended.
STEPS = [
    *("analysis.md", "certainty.md", "columns.md", "export.md", "hooks.md", "importance.md"),
    *("index.md", "updating.md"),
]


def blocks(page, language="python"):
    pattern = rf"^```{language}\n(.*?)^```"
    return re.findall(pattern, page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def run(code, name, names=None):
    exec(compile(code, name, "exec"), {} if names is None else names)
    plt.close("all")


@pytest.mark.parametrize("block", blocks(README), ids=range(len(blocks(README))))
def test_the_readmes_code_runs_as_it_stands(block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(block, "README.md")


@pytest.mark.parametrize("name", STEPS)
def test_the_code_of_a_page_runs_from_top_to_bottom(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # What needs shap has a test of its own; mapie is no dependency, not even of the tests.
    elsewhere = ("import shap", "from mapie")
    code = [block for block in blocks(DOCS / name) if not any(one in block for one in elsewhere)]
    run("\n".join(code), name)


def test_what_the_start_page_says_can_be_done_as_it_stands(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in blocks(DOCS / "start.md", "(?:python|sh)"):
        commands = [line for line in block.splitlines() if line.startswith("catspace ")]
        for command in commands:
            subprocess.run(
                [sys.executable, "-m", *shlex.split(command, comments=True)],
                check=True,
                capture_output=True,
            )
        if not commands and not block.startswith("python -m venv"):
            run(block, "start.md", names)
    shown = capsys.readouterr().out
    (table,) = [text for text in blocks(DOCS / "start.md", "text") if "day_of_week" in text]
    assert table in shown, "the rows that the page shows are those that it makes"
    assert float(re.search(r"R² on the latest rows: ([\d.]+)", shown)[1]) > 0.7
    assert "<!doctype html>" in Path("sales.html").read_text(encoding="utf-8")[:100]
    assert Path("predicted.csv").read_text().splitlines()[0].endswith('"sales","prediction"')


def test_the_embeddings_that_a_page_shows_are_those_that_it_makes(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run("\n".join(blocks(DOCS / "columns.md")), "columns.md")
    assert capsys.readouterr().out == "".join(blocks(DOCS / "columns.md", "text"))


def places_of(link, page):
    """Return where a link may lead; pages of the gallery are made of scripts by `make docs`."""
    if page.parent == DOCS and link.startswith("gallery/"):
        script = ROOT / "examples" / Path(link).relative_to("gallery")
        return [script.with_suffix(".py"), script.with_name("GALLERY_HEADER.rst")]
    return [page.parent / link]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for link in re.findall(r"\]\((?!http)([^)#]+)", page.read_text(encoding="utf-8")):
        assert any(place.exists() for place in places_of(link, page)), link


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_to_a_part_of_a_page_lead_to_a_heading(page):
    for name, part in re.findall(
        r"\]\((?!http)([^)#]*\.md)?#([^)]+)\)", page.read_text(encoding="utf-8")
    ):
        target = page.parent / name if name else page
        headings = re.findall(r"^#+ (.+)$", target.read_text(encoding="utf-8"), flags=re.MULTILINE)
        anchors = {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in headings}
        assert part in anchors, f"{name}#{part}"
