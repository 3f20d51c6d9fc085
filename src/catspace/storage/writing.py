"""Files that appear when they are complete, and sentences for those that cannot be written."""

import errno
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from catspace.exceptions import CatspaceError

try:
    import fcntl
except ImportError:  # pragma: no cover - on Windows, where a file that is open cannot be removed
    fcntl = None  # type: ignore[assignment]

_ENDING = ".unfinished"


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a path beside a file's, and move what was written there into the file's place.

    Whatever goes wrong before, an interrupt included, leaves the old file as it was and nothing
    beside it; what a process left there that was killed is removed. A file that is replaced keeps
    its permissions, and a symbolic link stays one: the file that it leads to is replaced. A pipe or
    a device has no place to move to: it is written to as it is.
    """
    if path.is_fifo() or path.is_char_device():
        yield path
        return
    place = Path(os.path.realpath(path))
    temporary, lock = None, None
    try:
        _remove_left_behind(place)
        mode = stat.S_IMODE(place.stat().st_mode) & 0o777 if place.is_file() else None
        temporary, lock = _create(place, is_private=mode is not None)
        yield temporary
        if mode is not None:
            with suppress(OSError):  # where a file system has no permissions
                temporary.chmod(mode)
        temporary.replace(place)
    except OSError as error:
        if str(error.filename).endswith(_ENDING):
            error.filename = str(path)  # the name that the caller knows
        raise
    finally:
        if temporary is not None:
            _discard(temporary, lock)


def check_writable(path: Path) -> None:
    """Raise where a file could not be written: to be said before the work that leads to it."""
    with explaining(path):
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not path.is_fifo() and not path.is_char_device():
            _discard(*_create(Path(os.path.realpath(path)), is_private=True))


def _create(place: Path, *, is_private: bool) -> tuple[Path, int | None]:
    """Create the file that is written to; return its path, and a lock for as long as we live.

    Until it is complete, a file that replaces another is for its owner alone: that one may have
    been so.
    """
    while True:
        temporary = place.parent / f"{_beginning(place)}{secrets.token_hex(8)}{_ENDING}"
        new = os.O_CREAT | os.O_EXCL | os.O_RDWR
        file = os.open(temporary, new, 0o600 if is_private else 0o666)
        if fcntl is None:
            os.close(file)
            return temporary, None
        if _lock(file, wait=True) and not os.fstat(file).st_nlink:
            os.close(file)  # taken for one that was left behind before it could be locked
            continue
        return temporary, file


def _discard(temporary: Path, lock: int | None) -> None:
    temporary.unlink(missing_ok=True)  # gone already where all went well
    if lock is not None:
        os.close(lock)


def _beginning(place: Path) -> str:
    # Without the file's ending, so that nobody who reads the whole folder takes it for a table.
    # Cut, since names have at most 255 bytes, and a character up to four.
    return f".{place.name[:50]}."


def _remove_left_behind(place: Path) -> None:
    """Remove files for the same place that nobody writes to any more."""
    pattern = re.compile(re.escape(_beginning(place)) + "[0-9a-f]{16}" + re.escape(_ENDING))
    with suppress(OSError):
        for name in os.listdir(place.parent):  # noqa: PTH208 - names are enough, of many files
            if pattern.fullmatch(name):
                _remove_if_left(place.parent / name)


def _remove_if_left(file: Path) -> None:
    with suppress(OSError):
        found = os.open(file, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
        try:
            if _lock(found, wait=False):
                file.unlink()
        finally:
            os.close(found)


def _lock(file: int, *, wait: bool) -> bool:
    """Lock a file until it is closed, also by the end of the process; return whether it worked."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:  # it is locked, or on a file system without locks
        return False
    return True


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
