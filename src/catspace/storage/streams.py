"""The bytes of a file, unpacked where it is compressed; any name that the system takes will do."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from catspace.exceptions import InputError

# By the ending of the name, for files that are written.
_CODECS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
# By the first bytes, for files that are read: names are not always right.
_BEGINNINGS = {
    b"\x1f\x8b": "gzip",
    b"BZh91AY&SY": "bz2",
    b"\x28\xb5\x2f\xfd": "zstd",
}
_FOREIGN = {
    b"PK\x03\x04": "is a ZIP archive or an Excel workbook; unpack it, or save the sheet as CSV.",
    b"\xd0\xcf\x11\xe0": "is an Excel workbook; save the sheet as CSV.",
    b"PAR1": "is a Parquet file; its name must end in .parquet.",
    b"\xfd7zXZ": "is compressed by xz; unpack it first.",
}
_LONGEST = 16


def open_raw(path: Path) -> pa.NativeFile:
    """Open a file for Arrow, which takes names that are not UTF-8 as bytes only."""
    return pa.OSFile(os.fsencode(path))


@contextmanager
def open_text(path: Path) -> Iterator[pa.NativeFile]:
    """Open a text file as a stream of its bytes, unpacked where it is compressed."""
    with path.open("rb") as file:
        top = file.read(_LONGEST)
    for beginning, what in _FOREIGN.items():
        if top.startswith(beginning):
            raise InputError(f"{str(path)!r} {what}")
    codec = next((name for start, name in _BEGINNINGS.items() if top.startswith(start)), None)
    with ExitStack() as closing:
        stream = closing.enter_context(open_raw(path))
        if codec is not None:
            stream = closing.enter_context(pa.CompressedInputStream(stream, codec))
        yield stream


def packing(file: Any, path: Path) -> Any:
    """Return a file to write to, compressed where the name asks for it."""
    codec = _CODECS.get(path.suffix.lower())
    return file if codec is None else pa.CompressedOutputStream(file, codec)


def plain_name(path: str | Path) -> Path:
    """Return a path without the ending that says how the file is compressed."""
    path = Path(path)
    return path.with_suffix("") if path.suffix.lower() in _CODECS else path
