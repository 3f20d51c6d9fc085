"""Where a command writes: said before the work, not after it, if that cannot be."""

import os
import secrets
import tempfile
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path
from typing import Any

from catspace.exceptions import CatspaceError
from catspace.storage.files import find_files
from catspace.storage.paths import expand
from catspace.storage.writing import check_writable

STANDARD = "-"  # standard input, or standard output


def check_places(
    *outputs: str | Path | None, models: Iterable[str | Path] = (), source: str | None = None
) -> None:
    """Raise where a result has no place, or where its place is that of something that is read.

    Parameters
    ----------
    *outputs : str, Path or None
        Files that are going to be written.
    models : iterable of str or Path
        Model files that are read.
    source : str, optional
        The table that is read: a file, a pattern or a folder.
    """
    # Tables go to standard output, whose place is a text; all else is a Path.
    if any(isinstance(out, Path) and str(out) == STANDARD for out in outputs):
        raise CatspaceError(
            "Models, pages and graphs go to files, and not to standard output.",
            hint="give the result a name.",
        )
    places = [expand(out) for out in outputs if out is not None and str(out) != STANDARD]
    for place in places:
        if not place.parent.is_dir():
            raise CatspaceError(f"There is no folder {str(place.parent)!r} to write to.")
        check_writable(place)
    for one, other in combinations(places, 2):
        if _is_same(one, other):
            raise CatspaceError(f"{str(other)!r} is named as the place of two results.")
    read = [expand(model) for model in models]
    if places and source is not None and source != STANDARD:
        read += find_files(source)
    for place in places:
        if any(_is_same(place, file) for file in read):
            raise CatspaceError(
                f"{str(place)!r} is what this command reads, and it would be written over.",
                hint="give the result another name.",
            )


def save_somewhere(model: Any, out: Path) -> None:
    """Save a model; where that fails, for a disk that is full, save it elsewhere and say where."""
    try:
        model.save(out)
    except CatspaceError as error:
        name = out.name[:50]
        for folder in (tempfile.gettempdir(), Path.cwd()):
            rescue = Path(folder) / f"{secrets.token_hex(4)}-{name}"
            try:
                model.save(rescue)
            except CatspaceError:
                continue
            raise CatspaceError(str(error), hint=f"the model is in {str(rescue)!r}.") from None
        raise


def _is_same(one: Path, other: Path) -> bool:
    """Whether two paths lead to one file, by links of any kind too."""
    try:
        return one.samefile(other)
    except OSError:  # one of them is not there yet, or is a link to itself
        return os.path.realpath(one) == os.path.realpath(other)
