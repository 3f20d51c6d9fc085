"""The model file: arrays and JSON, in and out.

A model file is a safetensors file, so that opening one from a stranger runs no code. Its metadata
holds a JSON document and a SHA-256 of the whole file, since safetensors alone does not notice
damage. Arrow arrays (vocabularies, classes) travel as Arrow streams inside byte tensors.

This module knows nothing of estimators: it keeps what it is given.
"""

import hashlib
import json
import os
import struct
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import safetensors
import safetensors.numpy

from catspace.data.kinds import is_text
from catspace.exceptions import ModelFileError
from catspace.storage.paths import expand
from catspace.storage.writing import explaining, replacing

FORMAT_VERSION = 3

_ARROW_SUFFIX = ":arrow"
_NO_DIGEST = "0" * 64
# The digest is computed over the file with zeros in its own place.
_DIGEST_FIELD = '"sha256":"{}"'


def write(
    path: str | Path, document: Mapping[str, Any], arrays: Mapping[str, np.ndarray | pa.Array]
) -> None:
    """Write a document and its arrays to one file, completely or not at all.

    The file appears under its name only when all of it is on the disk.
    """
    tensors = {}
    for name, array in arrays.items():
        if isinstance(array, pa.Array):
            tensors[name + _ARROW_SUFFIX] = stream_of(array)
        else:
            tensors[name] = np.ascontiguousarray(array)
    versions = {"format_version": FORMAT_VERSION, "library_version": version("catspace")}
    text = json.dumps({**versions, **document}, allow_nan=False)
    content = safetensors.numpy.save(tensors, metadata={"catspace": text, "sha256": _NO_DIGEST})
    header, data = _in_order(content)
    digest = hashlib.sha256(header)
    digest.update(data)
    blank = _DIGEST_FIELD.format(_NO_DIGEST).encode()
    signed = _DIGEST_FIELD.format(digest.hexdigest()).encode()
    _write_safely(expand(path), header.replace(blank, signed, 1), data)


def read(path: str | Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read a model file.

    Returns
    -------
    document : dict
    arrays : dict of str to numpy or Arrow array

    Raises
    ------
    ModelFileError
        If the file is not one of ours, is damaged, or was written by a newer catspace.
    """
    path = expand(path)
    if not path.is_file():
        raise ModelFileError(f"There is no model file {str(path)!r}.")
    content = path.read_bytes()
    metadata = _metadata(path, content)
    claimed = metadata["sha256"]
    blank = _DIGEST_FIELD.format(_NO_DIGEST).encode()
    signed = _DIGEST_FIELD.format(claimed).encode()
    if hashlib.sha256(content.replace(signed, blank, 1)).hexdigest() != claimed:
        raise _damaged(path)
    document = _document(path, metadata["catspace"])
    try:
        tensors = safetensors.numpy.load(content)
    except (safetensors.SafetensorError, KeyError, TypeError, ValueError) as error:
        raise _foreign(path, f"its arrays cannot be read ({error})") from None
    arrays: dict[str, Any] = {}
    for name, array in tensors.items():
        if name.endswith(_ARROW_SUFFIX):
            arrays[name.removesuffix(_ARROW_SUFFIX)] = _from_bytes(path, name, array)
        else:
            arrays[name] = array
    return document, arrays


def _in_order(content: bytes) -> tuple[bytes, memoryview]:
    """Return a safetensors file as its header, with metadata in order, and its arrays.

    safetensors writes the entries of the metadata in an order that changes from call to call.
    """
    end = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:end])
    header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # so that arrays begin where a number can
    return len(text).to_bytes(8, "little") + text, memoryview(content)[end:]


def _document(path: Path, text: str) -> dict[str, Any]:
    """Return the document of a file whose checksum is right, and whose format is known."""
    try:
        document = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise _foreign(path, "its document is no JSON") from None
    format_version = document.get("format_version") if isinstance(document, dict) else None
    if type(format_version) is not int or format_version < 1:
        raise _foreign(path, "its document does not say which format it has")
    if format_version > FORMAT_VERSION:
        raise ModelFileError(
            f"{str(path)!r} has format {format_version}, and this catspace reads up to "
            f"{FORMAT_VERSION}.",
            hint=f"it was written by catspace {document.get('library_version', '?')}; upgrade.",
        )
    return dict(document)


def _refuse_constant(word: str) -> None:
    raise ValueError(f"{word} is no JSON")


def _metadata(path: Path, content: bytes) -> dict[str, str]:
    """Return the metadata of a safetensors file that catspace wrote."""
    length = int.from_bytes(content[:8], "little")
    try:
        metadata = json.loads(content[8 : 8 + length])["__metadata__"]
        return {"catspace": str(metadata["catspace"]), "sha256": str(metadata["sha256"])}
    except (ValueError, KeyError, TypeError, RecursionError):
        if b'"catspace":"' in content:  # ours, but with a broken header
            raise _damaged(path) from None
    raise ModelFileError(
        f"{str(path)!r} is not a catspace model file.", hint="model.save(path) writes one."
    )


def _damaged(path: Path) -> ModelFileError:
    return ModelFileError(
        f"{str(path)!r} is damaged: its content does not match its checksum.",
        hint="it was cut short or changed after it was saved; copy it again from the source.",
    )


def _foreign(path: Path, reason: str) -> ModelFileError:
    return ModelFileError(
        f"{str(path)!r} is no model file that catspace wrote: {reason}.",
        hint="its checksum is right, so that somebody made it so; take models only from those you "
        "trust.",
    )


def stream_of(array: pa.Array) -> np.ndarray:
    """Return an Arrow array as the bytes of a stream; uint8 of shape (n_bytes,)."""
    batch = pa.record_batch([array], names=["values"])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    return np.frombuffer(sink.getvalue(), dtype=np.uint8)


def _from_bytes(path: Path, name: str, stored: np.ndarray) -> pa.Array:
    """Return an Arrow array, which takes no more memory than its bytes in the file."""
    try:
        reader = pa.ipc.MessageReader.open_stream(pa.py_buffer(stored.tobytes()))
        schema = pa.ipc.read_schema(reader.read_next_message())
        message = reader.read_next_message()
        if len(schema) != 1 or not _is_plain(schema.types[0]) or _is_compressed(message):
            raise _foreign(path, f"the array {name!r} is not what catspace writes")
        array = pa.ipc.read_record_batch(message, schema).column(0)
        array.validate(full=True)
    except (pa.ArrowException, OSError, StopIteration, ValueError, struct.error) as error:
        if isinstance(error, ModelFileError):
            raise
        raise _damaged(path) from None
    return array


def _is_plain(type_: pa.DataType) -> bool:
    """Whether the values of a type are in its buffers, each once: no lists, no dictionaries."""
    is_bytes = pa.types.is_binary(type_) or pa.types.is_large_binary(type_)
    return is_text(type_) or is_bytes or (pa.types.is_primitive(type_) and type_ != pa.null())


def _is_compressed(message: pa.ipc.Message) -> bool:
    """Whether the buffers of a record batch are compressed, so that few bytes may stand for many.

    Arrow can be asked to read them, not whether they are. It has verified that the metadata are a
    flatbuffer: tables, whose fields stand as many bytes further as their vtable says. The message
    has its record batch in the third field, and that has its compression in the fourth.
    """
    content = bytes(message.metadata)

    def find(table: int, field: int) -> int:
        vtable = table - struct.unpack_from("<i", content, table)[0]
        size = struct.unpack_from("<H", content, vtable)[0]
        slot = 4 + 2 * field
        step = struct.unpack_from("<H", content, vtable + slot)[0] if slot < size else 0
        return table + step if step else 0

    batch = find(struct.unpack_from("<I", content)[0], 2)
    return find(batch + struct.unpack_from("<I", content, batch)[0], 3) > 0


def _write_safely(path: Path, *parts: bytes | memoryview) -> None:
    if not path.parent.is_dir():
        raise ModelFileError(f"There is no folder {str(path.parent)!r} to save the model in.")
    with (
        explaining(path, ModelFileError),
        replacing(path) as temporary,
        temporary.open("wb") as file,
    ):
        file.writelines(parts)
        file.flush()
        os.fsync(file.fileno())
