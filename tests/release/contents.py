"""What is in the wheel and the sdist, and what is not: python contents.py dist."""

import sys
import tarfile
import zipfile
from pathlib import Path, PurePosixPath

# Of the sdist, what people and the tests look for.
IN_SDIST = (
    "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "LICENSE", "Makefile", "README.md",
    "SECURITY.md", "conftest.py", "constraints-lowest.txt", "docs/conf.py",
    "docs/images/report.png", "examples/serving/Dockerfile", "pyproject.toml",
    "src/catspace/py.typed", "tests/conftest.py",
)  # fmt: skip
IN_WHEEL = ("catspace/__init__.py", "catspace/py.typed", "catspace/export/report/static/page.js")
# Whatever is made by building, testing or looking.
STRAY = ("__pycache__", ".venv", ".pytest_cache", "_build", "gallery", "generated", ".DS_Store")
# What `catspace reproduce` keeps of generated data is a record, and is called so.
RECORDS = "docs/reproduction/"
ENDINGS = (".pyc", ".catspace", ".onnx", ".log", ".ipynb")


def find_faults(names: list[str], wanted: tuple[str, ...]) -> list[str]:
    """Return a sentence for each file that is missing, and for each that should not be there.

    Examples
    --------
    >>> find_faults(["LICENSE", "src/__pycache__/a.pyc"], ("LICENSE", "README.md"))
    ['README.md is missing', 'src/__pycache__/a.pyc is a stray file']
    """
    missing = [f"{name} is missing" for name in wanted if name not in names]
    stray = [
        f"{name} is a stray file"
        for name in names
        if name.endswith(ENDINGS)
        or (not name.startswith(RECORDS) and set(PurePosixPath(name).parts) & set(STRAY))
    ]
    return missing + stray


def names_in_sdist(path: Path) -> list[str]:
    """Return the files of an sdist, without the folder that all are in."""
    with tarfile.open(path) as archive:
        return [m.name.partition("/")[2] for m in archive.getmembers() if m.isfile()]


def names_in_wheel(path: Path) -> list[str]:
    """Return the files of a wheel."""
    return zipfile.ZipFile(path).namelist()


def main() -> None:
    """Print what each holds, and end with 1 where something is wrong."""
    folder = Path(sys.argv[1])
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    in_sdist, in_wheel = names_in_sdist(sdist), names_in_wheel(wheel)
    faults = find_faults(in_sdist, IN_SDIST) + find_faults(in_wheel, IN_WHEEL)
    outside = {name.split("/")[0] for name in in_wheel if not name.startswith("catspace-")}
    if outside != {"catspace"}:
        faults.append(f"the wheel installs {sorted(outside)}, and should install catspace alone")
    for path, names in ((sdist, in_sdist), (wheel, in_wheel)):
        print(f"{path.name}: {len(names)} files, {path.stat().st_size / 1e6:.1f} MB")
    print("\n".join(faults))
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
