"""What a project has beside its code: workflows, citation, packages, the example that serves."""

import ast
import re
import tomllib
from pathlib import Path

import pytest
import yaml

from tests.release import contents

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
MAKEFILE = (ROOT / "Makefile").read_text()
TARGETS = set(re.findall(r"^([a-z-]+):", MAKEFILE, flags=re.MULTILINE))


def read(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_runs_what_can_be_run_here_too(path):
    workflow = read(path)
    for job in workflow["jobs"].values():
        assert job["runs-on"]
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step)
            for target in re.findall(r"make ([a-z-]+)", step.get("run", "")):
                assert target in TARGETS
    assert workflow["permissions"] == {"contents": "read"}


def test_the_tests_run_on_every_python_that_is_promised_and_on_the_lowest_versions():
    jobs = read(ROOT / ".github" / "workflows" / "tests.yml")["jobs"]
    pythons = jobs["tests"]["strategy"]["matrix"]["python"]
    assert PROJECT["requires-python"] == f">={pythons[0]}"
    tried = [c.rpartition(" ")[2] for c in PROJECT["classifiers"] if ":: 3." in c]
    assert set(tried) <= set(pythons)
    assert jobs["lowest"]["steps"][-1]["run"].startswith("make test-lowest")


def test_a_release_is_published_without_a_token():
    jobs = read(ROOT / ".github" / "workflows" / "release.yml")["jobs"]
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert "password" not in (ROOT / ".github" / "workflows" / "release.yml").read_text()
    assert any(
        step.get("run", "").startswith("make release-check") for step in jobs["build"]["steps"]
    )


@pytest.mark.parametrize(
    "path", sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("[!c]*.yml")), ids=lambda p: p.stem
)
def test_an_issue_form_asks_for_something(path):
    form = read(path)
    assert form["name"]
    assert any(field.get("validations", {}).get("required") for field in form["body"])


def test_the_citation_names_the_paper_and_this_version():
    citation = read(ROOT / "CITATION.cff")
    assert citation["version"] == PROJECT["version"]
    assert citation["license"] == PROJECT["license"]
    paper = citation["preferred-citation"]
    assert paper["title"] == "Entity Embeddings of Categorical Variables"
    assert [author["family-names"] for author in paper["authors"]] == ["Guo", "Berkhahn"]


def test_the_files_that_contributors_are_sent_to_are_there():
    table = (
        (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## Where things go")[2]
    )
    named = re.findall(r"`([\w/.]+(?:\.(?:py|md)|/))`", table)
    places = (ROOT, ROOT / "src" / "catspace")
    missing = [name for name in named if not any((place / name).exists() for place in places)]
    assert len(named) > 20
    assert missing == []


def test_pre_commit_runs_the_linters_of_make_lint():
    (recipe,) = re.findall(r"^lint:.*\n((?:\t.*\n)+)", MAKEFILE, flags=re.MULTILINE)
    wanted = re.findall(r"\$\(BIN\)/(\S+(?: format| check)?)", recipe)
    hooks = read(ROOT / ".pre-commit-config.yaml")["repos"][0]["hooks"]
    entries = [hook["entry"].removeprefix(".venv/bin/").removesuffix(" --fix") for hook in hooks]
    assert entries == wanted


def test_the_sdist_holds_what_is_promised():
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    included = build["targets"]["sdist"]["include"]
    for name in contents.IN_SDIST:
        assert (ROOT / name).exists()
        assert name == "pyproject.toml" or f"/{name.split('/')[0]}" in included


def test_missing_and_stray_files_of_a_package_are_named():
    names = [
        "LICENSE",
        "src/__pycache__/a.pyc",
        "docs/_build/a.html",
        "docs/reproduction/generated/a",
    ]
    assert contents.find_faults(names, ("LICENSE", "README.md")) == [
        "README.md is missing",
        "src/__pycache__/a.pyc is a stray file",
        "docs/_build/a.html is a stray file",
    ]


def for_an_index():
    """Return the function of hatch_build.py; hatchling itself is there only while it builds."""
    tree = ast.parse((ROOT / "hatch_build.py").read_text())
    kept = [
        node
        for node in tree.body
        if not isinstance(node, ast.ClassDef)
        and not (isinstance(node, ast.ImportFrom) and node.module.startswith("hatchling"))
    ]
    names = {}
    exec(compile(ast.Module(kept, []), "hatch_build.py", "exec"), names)
    return names["for_an_index"]


def test_the_readme_of_a_package_has_no_path_that_an_index_cannot_follow():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    home = "https://code.example/catspace"
    at_home = for_an_index()(text, home, "1.0")
    assert f"]({home}/raw/v1.0/docs/images/report.png)" in at_home
    assert f"]({home}/blob/v1.0/docs/start.md)" in at_home
    for shown in (at_home, for_an_index()(text, None, "1.0")):
        assert re.findall(r"\]\((?!https://)", shown) == []
        assert "arxiv.org/abs/1604.06737" in shown
