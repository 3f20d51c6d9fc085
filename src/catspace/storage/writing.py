"""Files that appear when they are complete, and sentences for those that cannot be written."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from catspace.exceptions import CatspaceError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a path beside a file's, and move what was written there into the file's place.

    Whatever goes wrong before, an interrupt included, leaves the old file as it was and nothing
    beside it. A pipe or a device has no place to move to: it is written to as it is.
    """
    if path.is_fifo() or path.is_char_device():
        yield path
        return
    # Without the file's ending, so that nobody who reads the whole folder takes it for a table.
    # Cut, since names have at most 255 bytes, and a character up to four.
    temporary = path.parent / f".{path.name[:50]}.{secrets.token_hex(8)}"
    try:
        yield temporary
        temporary.replace(path)
    except OSError as error:
        if str(error.filename) == str(temporary):
            error.filename = str(path)  # the name that the caller knows
        raise
    finally:
        temporary.unlink(missing_ok=True)  # gone already where all went well


@contextmanager
def explaining(path: Path, kind: type[CatspaceError] = CatspaceError) -> Iterator[None]:
    """Turn the system's errors into a sentence about the file that was to be written."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise kind(f"{str(path)!r} cannot be written: {reason}.") from None


def write_text(path: Path, text: str) -> None:
    """Write a text file completely or not at all."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file completely or not at all."""
    with explaining(path), replacing(path) as temporary:
        temporary.write_bytes(content)
