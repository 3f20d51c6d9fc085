"""What pyproject.toml asks for is what the code imports, and what `make test-lowest` tries."""

import ast
import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
IMPORTED_AS = {"scikit-learn": "sklearn"}


def requirements(*groups):
    found = [Requirement(line) for group in groups for line in group]
    return [one for one in found if one.name != "catspace"]


def imported(path):
    """Return the packages that a file imports, wherever it does so."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name.split(".")[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module.split(".")[0]


def test_every_package_that_the_code_imports_is_declared():
    for_users = [group for name, group in EXTRAS.items() if name != "dev"]
    declared = requirements(PROJECT["dependencies"], *for_users)
    names = {IMPORTED_AS.get(one.name, one.name) for one in declared}
    used = {name for path in (ROOT / "src").rglob("*.py") for name in imported(path)}
    assert used - names - sys.stdlib_module_names == {"catspace"}


def test_the_lowest_versions_that_are_tried_are_those_that_are_promised():
    lines = (ROOT / "constraints-lowest.txt").read_text().splitlines()
    stated = [line.partition("#")[0].strip() for line in lines]
    tried = {one.name: one.specifier for one in map(Requirement, filter(None, stated))}
    for promised in requirements(PROJECT["dependencies"], *EXTRAS.values()):
        if promised.name in ("pandas-stubs", "torch"):
            continue  # types alone, of which the newest serve all; and the one build that is here
        (floor,), (lowest,) = promised.specifier, tried[promised.name]
        assert (floor.operator, lowest.operator) == (">=", "=="), promised.name
        assert Version(floor.version) == Version(lowest.version), promised.name
