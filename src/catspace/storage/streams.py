"""The bytes of a file, unpacked where it is compressed; any name that the system takes will do."""

import os
from pathlib import Path
from typing import Any

import pyarrow as pa

from catspace.exceptions import InputError

# By the ending of the name, for files that are written.
_CODECS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
# By the first bytes, for files that are read: names are not always right.
_BEGINNINGS = {
    b"\x1f\x8b": "gzip",
    **{b"BZh%d1AY&SY" % level: "bz2" for level in range(1, 10)},
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


def open_text(path: Path) -> pa.NativeFile:
    """Open a text file as a stream of its bytes, unpacked where it is compressed.

    Whoever gives it to a reader that reads ahead must not close it, but leave that to the reader: a
    thread of it may still be reading, and would read from whatever is opened next.
    """
    with path.open("rb") as file:
        top = file.read(_LONGEST)
    for beginning, what in _FOREIGN.items():
        if top.startswith(beginning):
            raise InputError(f"{str(path)!r} {what}")
    codec = next((name for start, name in _BEGINNINGS.items() if top.startswith(start)), None)
    raw = open_raw(path)
    return raw if codec is None else pa.CompressedInputStream(raw, codec)


def packing(file: Any, path: Path) -> Any:
    """Return a file to write to, compressed where the name asks for it."""
    codec = _CODECS.get(path.suffix.lower())
    return file if codec is None else pa.CompressedOutputStream(file, codec)


def plain_name(path: str | Path) -> Path:
    """Return a path without the ending that says how the file is compressed."""
    path = Path(path)
    return path.with_suffix("") if path.suffix.lower() in _CODECS else path
