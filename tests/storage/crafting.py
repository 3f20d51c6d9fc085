"""Model files that somebody made: a real one whose content is changed, with a right checksum.

`craft` makes the changes, seeded; `run_campaign` tells what became of each file. A test asks it
for a few hundred of them, and a benchmark for as many as it likes.
"""

import hashlib
import json
import random
import resource
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import safetensors.numpy

import catspace
from catspace.exceptions import InputError, ModelFileError

_BLANK = "0" * 64
_MEMORY = 2 << 30  # what a case may ask for beside what the process has: threads, and a small model

_HOSTILE = (
    None, True, False, 0, 1, -1, 2**31, 2**63, 2**64, 10**30, 10**9, -(10**9), 0.5, -0.0, 1e308,
    -1e308, float("nan"), float("inf"), "", "x", "relu", "meta", "\ud800", "a" * 10_000,
    "<U9999999", "|O", "<i8", [], {}, [[]], [None], [1] * 10_000, [10**9], {"a": 1}, {"tuple": 1},
    {"dict": [1]}, {"dict": [[[], 1]]}, {"tuple": [{"dict": [["a", "b"]]}]},
)  # fmt: skip


def craft(content: bytes, dice: random.Random) -> bytes:
    """Return a model file with one to three changes, and the checksum that it should have."""
    document, tensors = _take_apart(content)
    for _ in range(dice.choice((1, 1, 1, 2, 3))):
        change = dice.choice((_change_document, _change_document, _change_document, _change_array))
        document, tensors = change(document, tensors, dice)
    return _put_together(_to_text(document, dice), tensors)


def sign(document: Any, tensors: dict[str, np.ndarray]) -> bytes:
    """Return a model file of a document and its tensors, with a right checksum."""
    return _put_together(json.dumps(document), tensors)


def take_apart(path: Path) -> tuple[Any, dict[str, np.ndarray]]:
    """Return the document and the tensors of a model file."""
    return _take_apart(path.read_bytes())


def run_campaign(
    model: Path, table: Any, *, n_cases: int, seed: int, folder: Path
) -> tuple[Counter[str], list[str]]:
    """Open crafted files, and predict with those that open.

    Parameters
    ----------
    model : Path
        A model file that is right.
    table : table
        What to predict.
    n_cases, seed : int
    folder : Path
        Where the crafted files are written.

    Returns
    -------
    counts : Counter
        "refused" by a ModelFileError, "same" predictions, "other" predictions or another table that
        is asked for (a file may well say other things, if it is in form), and "raw" errors.
    raw : list of str
        What was raised by those, with the number of the case.
    """
    expected = catspace.load(model).predict(table)
    content, counts, raw = model.read_bytes(), Counter[str](), []
    path = folder / "crafted.catspace"
    for case in range(n_cases):
        path.write_bytes(craft(content, random.Random(f"{seed} {case}")))
        try:
            with bounded_memory(_MEMORY):
                found = _answer(path, table)
        except ModelFileError:
            counts["refused"] += 1
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            counts["raw"] += 1
            raw.append(f"{case}: {type(error).__name__}: {str(error)[:200]}")
        else:
            counts["same" if np.array_equal(found, expected) else "other"] += 1
    return counts, raw


def _answer(path: Path, table: Any) -> np.ndarray | None:
    """Return what a model predicts; None where it is one for other tables."""
    catspace.Embeddings.load(path)
    model = catspace.load(path)
    with warnings.catch_warnings():
        # A file may say that its model was fitted without names, and then the model says so too.
        warnings.filterwarnings("ignore", "X has feature names", UserWarning)
        try:
            return np.asarray(model.predict(table))
        except InputError:
            return None


@contextmanager
def bounded_memory(n_bytes: int) -> Iterator[None]:
    """Let the process have so many more bytes of memory, and no more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + n_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _take_apart(content: bytes) -> tuple[Any, dict[str, np.ndarray]]:
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    return json.loads(header["__metadata__"]["catspace"]), safetensors.numpy.load(content)


def _put_together(text: str, tensors: dict[str, np.ndarray]) -> bytes:
    content = safetensors.numpy.save(tensors, metadata={"catspace": text, "sha256": _BLANK})
    digest = hashlib.sha256(content).hexdigest()
    return content.replace(f'"sha256":"{_BLANK}"'.encode(), f'"sha256":"{digest}"'.encode(), 1)


def _to_text(document: Any, dice: random.Random) -> str:
    text = json.dumps(document)
    if dice.random() < 0.02:  # deeper than any reader can follow
        depth = dice.choice((50, 900, 100_000))
        text = f'{text[:-1]}, "parameters": {{"dropout": {"[" * depth}{"]" * depth}}}}}'
    return text if dice.random() > 0.01 else text[: dice.randrange(len(text))]


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Return every container of a document with each of its keys."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    found = []
    for key, inside in items:
        found.append((value, key))
        if isinstance(inside, (dict, list)):
            found += _places(inside)
    return found


def _change_document(
    document: Any, tensors: dict[str, np.ndarray], dice: random.Random
) -> tuple[Any, dict[str, np.ndarray]]:
    document = deepcopy(document)
    if not isinstance(document, dict) or not document:
        return document, tensors
    # The history is most of a document, and little depends on it.
    places = [place for place in _places(document) if place[0] is not document.get("history")]
    container, key = dice.choice(places)
    changes: tuple[Callable[[], None], ...] = (
        lambda: _put(container, key, dice.choice(_HOSTILE)),
        lambda: _put(container, key, _near(container[key], dice)),
        lambda: _drop(container, key),
        lambda: _repeat(container, key, dice),
        lambda: _rename(container, key, dice),
        lambda: _put(container, key, [container[key]] * dice.choice((0, 1, 2))),
        lambda: _put(container, key, [dice.choice((0, 1, "x", [], None))] * 20_000),
    )
    dice.choice(changes)()
    if dice.random() < 0.01:
        document = dice.choice(([], None, 7, [document]))
    return document, tensors


def _put(container: Any, key: Any, value: Any) -> None:
    container[key] = value


def _near(value: Any, dice: random.Random) -> Any:
    """Return a value of the same type that is a little or a lot off."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return dice.choice((value + 1, value - 1, -value, value * 10**6, float(value), 0))
    if isinstance(value, str):
        return dice.choice((value + "x", value[:-1], value.upper(), value[:9] * 1000))
    if isinstance(value, list):
        return dice.choice((value[::-1], value[1:], value[:99] * 2, [*value, None]))
    return value


def _drop(container: Any, key: Any) -> None:
    del container[key]


def _repeat(container: Any, key: Any, dice: random.Random) -> None:
    if isinstance(container, list):
        container.insert(dice.randrange(len(container) + 1), container[key])
    else:
        container[f"{key} again"] = container[key]


def _rename(container: Any, key: Any, dice: random.Random) -> None:
    if isinstance(container, dict):
        container[dice.choice(("", "x", "\ud800", key.upper(), *container))] = container.pop(key)


def _change_array(
    document: Any, tensors: dict[str, np.ndarray], dice: random.Random
) -> tuple[Any, dict[str, np.ndarray]]:
    tensors = dict(tensors)
    name = dice.choice(sorted(tensors))
    array = tensors[name]
    other = dice.choice(sorted(tensors))
    changes: tuple[Callable[[], np.ndarray | None], ...] = (
        lambda: None,
        lambda: tensors[other],
        lambda: array.astype(dice.choice((np.float64, np.float16, np.int64, np.int8, np.bool_))),
        lambda: array[:-1],
        lambda: np.concatenate([array, array]),
        lambda: array.reshape(-1),
        lambda: array[None],
        lambda: np.zeros((0, 10**9), dtype=array.dtype),
        lambda: np.full_like(array, dice.choice((0, 1, 3, 120))),
        lambda: np.flip(array),
        lambda: _stream(dice),
        lambda: _with_noise(array, dice),
    )
    changed = dice.choice(changes)()
    if changed is None:
        del tensors[name]
    else:
        tensors[dice.choice((name, name, name, f"{name}x"))] = np.ascontiguousarray(changed)
    return document, tensors


def _with_noise(array: np.ndarray, dice: random.Random) -> np.ndarray:
    """Return an array with one of its bytes changed; streams of Arrow are arrays of bytes."""
    content = bytearray(array.tobytes())
    if content:
        content[dice.randrange(len(content))] = dice.randrange(256)
    return np.frombuffer(bytes(content), array.dtype).reshape(array.shape)


def _stream(dice: random.Random) -> np.ndarray:
    """Return a stream of Arrow that is right in itself, and no vocabulary."""
    values = dice.choice(
        (
            pa.nulls(3),
            pa.array(["b", "a", None]),
            pa.array(["a", "a"], pa.large_string()),
            pa.array([1.0, float("nan")]),
            pa.array([[1], [2]]),
            pa.array(["a", "b"]).dictionary_encode(),
            pa.array([], pa.int64()),
            pa.array(np.zeros(10**6, dtype=np.int64)),
        )
    )
    # 8 MB in less than a kB
    return arrow_stream(values, "zstd" if values.nbytes > 10**6 else dice.choice((None, "zstd")))


def arrow_stream(values: pa.Array, compression: str | None = None) -> np.ndarray:
    """Return an Arrow array as the bytes of a stream."""
    batch, sink = pa.record_batch([values], names=["values"]), pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_stream(sink, batch.schema, options=options) as stream:
        stream.write_batch(batch)
    return np.frombuffer(sink.getvalue(), dtype=np.uint8)
