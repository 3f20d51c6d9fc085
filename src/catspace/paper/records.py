"""Records: numbers with what they depend on, and the folder that they are written to."""

import json
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from catspace.exceptions import CatspaceError
from catspace.storage.writing import write_text

Record = dict[str, Any]

_PACKAGES = (
    "catspace",
    "torch",
    "scikit-learn",
    "numpy",
    "pandas",
    "xgboost",
    "xgboost-cpu",
    "lightgbm",
    "catboost",
)


def versions() -> dict[str, str]:
    """Return the versions of the packages that numbers depend on."""
    found = {}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def prepare_folder(out: Path) -> None:
    """Make a folder, and find out at once whether it can be written to."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        probe = out / ".writable"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise CatspaceError(
            f"Results cannot be written to {str(out)!r}: {error.strerror}.",
            hint="choose another folder with --out.",
        ) from None


def write_json(path: Path, records: object) -> None:
    """Write records as JSON, completely or not at all."""
    write_text(path, json.dumps(records, indent=1, ensure_ascii=False))
