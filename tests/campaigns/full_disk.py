"""A disk that is full at any byte of anything that catspace writes.

The system is told how large a file may become, so that the write that goes further fails: as a
full disk does, and without one.
"""

import random
import resource
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import catspace
from catspace.exceptions import CatspaceError
from tests.campaigns.commands import Done, command, start
from tests.campaigns.outcome import Outcome
from tests.storage.small_models import X, save_regressor, y


@dataclass(frozen=True)
class _Write:
    """Something that writes files, in a folder that has nothing else."""

    name: str
    run: Callable[..., Done]
    arguments: tuple[object, ...]
    varies: int = 0  # by how many bytes the file may be shorter the next time


def fill_disks(n_cases: int, *, seed: int, folder: Path) -> Outcome:
    """Write everything that catspace writes, with room for a part of it."""
    outcome, scratch = Outcome(), folder / "scratch"
    writes = _writes(folder)
    sizes: dict[str, int] = {}
    for case in range(n_cases):
        write, dice = writes[case % len(writes)], random.Random(f"{seed} {case}")
        place = folder / write.name
        if write.name not in sizes:
            sizes[write.name] = _try_out(write, place, scratch)
        size = sizes[write.name]
        least = size - write.varies
        room = {0: 0, 1: least - 1}.get(case // len(writes), dice.randrange(least))
        with outcome.case(f"{case}, {write.name}, room for {room} of {size} bytes"):
            before = _contents(place)
            done: Done = start(_with_room, room, write, scratch=scratch).result()
            done.check_sentence()
            assert _contents(place).keys() == before.keys(), "something is left behind"
            assert _contents(place) == before or write.name == "to_tensorboard", (
                "the old file is gone"
            )
            assert not list(scratch.iterdir()), "temporary files are left behind"
            outcome.counts["a sentence, and the old file"] += 1
    return outcome


def _writes(folder: Path) -> list[_Write]:
    """Return what catspace writes, each to a folder of its own, with what it needs beside them."""
    model, table = save_regressor(folder), folder / "table.csv"
    plain = X.drop(columns=["day", "user"])
    plain.assign(y=y).to_csv(table, index=False)
    graph = folder / "plain.catspace"
    catspace.EmbeddingRegressor(max_epochs=1, smooth=0).fit(plain, y).save(graph)
    rows = folder / "rows.csv"
    X.to_csv(rows, index=False)
    commands: dict[str, tuple[object, ...]] = {
        "fit/m.catspace": ("fit", table, "--target", "y", "--validation", 0, "-o", "{}"),
        "predict csv/p.csv": ("predict", model, rows, "-o", "{}"),
        "predict csv.gz/p.csv.gz": ("predict", model, rows, "-o", "{}"),
        "predict parquet/p.parquet": ("predict", model, rows, "-o", "{}"),
        "transform/t.csv": ("transform", model, rows, "-o", "{}"),
        "embeddings/e.csv": ("embeddings", model, "town", "-o", "{}"),
        "export/m.onnx": ("export", graph, "--onnx", "{}"),
        "report/r.html": ("report", model, "-o", "{}"),
    }
    writes = [_Write("cache of a fit", _fit_by_path, (table,))]
    writes += [
        _Write(name, _hand_out, (model, name, folder / name))
        for name in ("to_parquet", "to_word2vec", "to_tensorboard")
    ]
    for place, arguments in commands.items():
        path = folder / place
        filled = [path if argument == "{}" else argument for argument in arguments]
        # A model file says how many seconds each of its thirty epochs took.
        varies = 1_000 if arguments[0] == "fit" else 0
        writes.append(_Write(path.parent.name, command, tuple(filled), varies))
    return writes


def _hand_out(model: Path, method: str, folder: Path) -> Done:
    """Write vectors from Python, which raises what the command would say."""
    embedding = catspace.load(model).embeddings_["town"]
    return _said(getattr(embedding, method), folder if "board" in method else folder / "v")


def _fit_by_path(table: Path) -> Done:
    """Fit a table in a file, whose encoded rows are kept on disk."""
    return _said(catspace.EmbeddingRegressor(max_epochs=1, smooth=0, n_jobs=1).fit, table, "y")


def _said(action: Callable[..., object], *arguments: object) -> Done:
    try:
        action(*arguments)
    except CatspaceError as error:
        return Done(1, f"catspace: {error}")
    except Exception:
        return Done(-1, traceback.format_exc())
    return Done(0, "")


def _with_room(n_bytes: int, write: _Write) -> Done:
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, n_bytes))
    return write.run(*write.arguments)


def _try_out(write: _Write, place: Path, scratch: Path) -> int:
    """Write with all the room there is; return the size of the file, which is then the old one."""
    place.mkdir()
    done: Done = start(write.run, *write.arguments, scratch=scratch).result()
    assert done.code == 0, f"{write.name}: {done.said}"
    # What is not there in the end, such as a cache, has some hundred bytes.
    return min((path.stat().st_size for path in place.iterdir()), default=500)


def _contents(place: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in place.iterdir()}
