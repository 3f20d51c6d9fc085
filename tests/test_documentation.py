"""What the site promises, as far as it can be seen without building it (`make docs`)."""

import ast
import importlib
import importlib.util
import inspect
import re
import sys
from pathlib import Path

import pytest

import catspace
from catspace import analysis, exceptions, plots

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
EXAMPLES = sorted((ROOT / "examples").glob("*/plot_*.py"))
# Errors and warnings that take a machine without memory, or a person, to come by.
WITHOUT_EXAMPLE = {
    "CatspaceWarning", "InterruptedWarning", "NothingLearnedWarning", "NotEnoughMemoryError",
}  # fmt: skip


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def documented():
    """Return the names in the reference, each with its module."""
    names, module = set(), ""
    for line in (DOCS / "api.md").read_text(encoding="utf-8").splitlines():
        if line.startswith(".. currentmodule::"):
            module = line.split()[-1]
        elif re.fullmatch(r"   [\w.]+", line):
            names.add(f"{module}.{line.strip()}")
    return names


# What is there by name, and what needs an extra and so is not in __all__.
NAMES = {*catspace.__all__, "distributed", "plots", "to_onnx"}


def public():
    """Return every public name, each with the module that it is imported from."""
    names = {f"catspace.{name}" for name in NAMES if not inspect.ismodule(getattr(catspace, name))}
    names |= {f"catspace.analysis.{name}" for name in analysis.__all__}
    names |= {f"catspace.plots.{name}" for name in dir(plots) if name.startswith("plot_")}
    names |= {f"catspace.distributed.{name}" for name in ("fit", "predict", "transform")}
    names |= {
        f"catspace.exceptions.{name}"
        for name, member in vars(exceptions).items()
        if inspect.isclass(member) and member.__module__ == exceptions.__name__
    }
    return names | {"catspace.datasets.SalesData", "catspace.datasets.SalesTruth"}


def test_every_public_name_is_in_the_reference_and_nothing_else_is():
    assert documented() == public(), "docs/api.md lists the public names, in groups"


def test_the_modules_whose_names_are_listed_are_all_there_are():
    modules = {name for name in NAMES if inspect.ismodule(getattr(catspace, name))}
    assert modules == {"analysis", "distributed", "plots"}


def shown_by_themselves():
    """Return the names whose docstring has an example.

    Pictures are shown by the gallery and by docs/analysis.md, a cluster by docs/scaling.md.
    """
    for name in sorted(documented()):
        module, _, member = name.rpartition(".")
        elsewhere = module in ("catspace.plots", "catspace.distributed")
        if not elsewhere and member not in WITHOUT_EXAMPLE:
            yield name


@pytest.mark.parametrize("name", list(shown_by_themselves()))
def test_a_name_of_the_reference_shows_an_example(name):
    module, _, member = name.rpartition(".")
    assert ">>>" in inspect.getdoc(getattr(importlib.import_module(module), member))


def test_every_page_is_in_one_table_of_contents():
    listed = []
    for page in DOCS.glob("*.md"):
        for toctree in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text("utf-8"), re.DOTALL):
            lines = [line for line in toctree.splitlines() if line and not line.startswith(":")]
            patterns = [re.sub(r".*<(.+)>", r"\1", line) for line in lines]
            listed += [path for p in patterns for path in DOCS.glob(f"{p}.md")]
    pages = {*DOCS.glob("*.md"), *DOCS.glob("reproduction/**/*.md")} - {DOCS / "index.md"}
    assert sorted(listed) == sorted(pages)


def test_there_are_examples_of_every_kind():
    assert len(EXAMPLES) >= 10
    assert {path.parent.name for path in EXAMPLES} == {"vectors", "prediction", "production"}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_begins_with_a_title_and_names_what_exists(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    title, underline = ast.get_docstring(tree).splitlines()[:2]
    assert underline == "=" * len(title)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "catspace":
            assert {alias.name for alias in node.names} <= NAMES
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module = {"analysis": analysis, "plots": plots}.get(node.value.id)
            assert module is None or hasattr(module, node.attr), f"{node.value.id}.{node.attr}"


def test_links_of_the_repository_lead_to_pages_of_the_site():
    links = load(DOCS / "_ext" / "repository_links.py")
    text = "[a](../SECURITY.md#how-to-report) [b](docs/trust.md) [c](../examples/cluster.py)"
    assert links.lead_to_pages(text) == (
        "[a](security.md#how-to-report) [b](trust.md) [c](../examples/cluster.py)"
    )
    for file, page in links.PAGES.items():
        assert (ROOT / file).exists()
        assert (DOCS / page).exists()
    assert links.with_title("### Shuffled", "reproduction/results").startswith("# Record: results")
    assert links.with_title("# Figures", "reproduction/figures/figures") == "# Figures"


def test_docstrings_of_scikit_learn_ask_for_nothing_that_is_not_here():
    module = load(DOCS / "_ext" / "inherited_docstrings.py")
    line = "See :ref:`the guide <user_guide>` and :ref:`accuracy_score`: :math:`R^2`."
    assert module.in_plain_words(line) == "See the guide and accuracy_score: ``R^2``."


def test_the_check_of_the_site_finds_requests_and_links_without_an_end(tmp_path):
    check = load(DOCS / "check_site.py")
    (tmp_path / "_static").mkdir()
    (tmp_path / "index.html").write_text(
        '<link rel="canonical" href="https://here.example/"><img src="_static/a.png">'
        '<a href="https://there.example/">a link is no request</a><a href="other.html#part">x</a>'
        '<a href="#top" id="top">top</a>'
    )
    (tmp_path / "other.html").write_text('<h1 id="part">Part</h1>')
    assert check.find_faults(tmp_path) == []
    (tmp_path / "other.html").write_text('<script src="https://cdn.example/a.js"></script>')
    (tmp_path / "_static" / "a.css").write_text("@import url('//fonts.example/a.css');")
    assert sorted(check.find_faults(tmp_path)) == [
        "_static/a.css asks //fonts.example/a.css",
        "index.html leads to other.html#part, which is not there",
        "other.html asks https://cdn.example/a.js",
    ]
