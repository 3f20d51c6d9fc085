"""The code and the links of README and docs."""

import re
from pathlib import Path

import matplotlib as mpl
import pytest

mpl.use("Agg")
from matplotlib import pyplot as plt

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page):
    return re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)


@pytest.mark.parametrize("block", blocks(README), ids=range(len(blocks(README))))
def test_the_readmes_code_runs_as_it_stands(block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    imports = "from catspace import EmbeddingRegressor\n"
    exec(compile(imports + block, "README.md", "exec"), {})


@pytest.mark.parametrize("name", ["analysis.md", "export.md"])
def test_the_code_of_a_page_runs_from_top_to_bottom(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile("\n".join(blocks(ROOT / "docs" / name)), name, "exec"), {})
    plt.close("all")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for link in re.findall(r"\]\((?!http)([^)#]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / link).exists(), link
