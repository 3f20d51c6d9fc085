"""The command line, run inside this process or in one that is killed or has a full disk."""

import contextlib
import io
import multiprocessing
import os
import random
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any
from unittest import mock

# Processes are forked from one that has imported what a command needs, and has done nothing else:
# a moment that is drawn at random is then one of the work, and not of Python's start.
_SERVER = multiprocessing.get_context("forkserver")
_IMPORTED = [
    *(f"catspace.commands.{name}" for name in ("export", "fit", "predict", "report", "show")),
    "catspace.export.onnx",
    "catspace.paper.reproduce",
    "sklearn.ensemble",
    "tests.campaigns.campaigns",
]
_WIDE = {"COLUMNS": "2000"}  # so that no name is cut


@dataclass(frozen=True)
class Done:
    """How a command ended, and what it said."""

    code: int
    said: str

    def check_sentence(self) -> None:
        """Fail unless the command ended in a sentence."""
        assert self.code == 1, f"exit code {self.code}: {self.said[-300:]}"
        assert "Traceback" not in self.said, self.said[-300:]
        assert self.said.splitlines()[-1].startswith(("catspace: ", "Hint: ")), self.said[-300:]


def command(*arguments: object) -> Done:
    """Run a command in this process."""
    from catspace.commands.cli import main

    said, code = io.TextIOWrapper(io.BytesIO(), "utf-8", newline="", write_through=True), 0
    with (
        mock.patch.object(sys, "argv", ["catspace", *map(str, arguments)]),
        mock.patch.dict(os.environ, _WIDE),
        contextlib.redirect_stdout(said),
        contextlib.redirect_stderr(said),
        warnings.catch_warnings(),  # the command has its own way to show them
    ):
        warnings.simplefilter("default")
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
        except Exception:
            code = -1
            traceback.print_exc(file=said)
    return Done(code, said.buffer.getvalue().decode())


def start(work: Callable[..., Any], *arguments: Any, scratch: Path) -> "Child":
    """Start work in a process of its own, whose temporary files go to a folder."""
    scratch.mkdir(exist_ok=True)
    _SERVER.set_forkserver_preload(_IMPORTED)
    ours, theirs = _SERVER.Pipe()
    process = _SERVER.Process(target=_live, args=(theirs, str(scratch), work, arguments))
    process.start()
    theirs.close()
    return Child(process, ours)


@dataclass(frozen=True)
class Child:
    """A process that has been started."""

    process: BaseProcess
    pipe: Connection

    def wait_until_ready(self) -> None:
        """Wait until its work begins."""
        self.pipe.recv()

    def result(self) -> Any:
        """Wait for what its work returns."""
        self.wait_until_ready()
        found = self.pipe.recv()
        self.process.join()
        return found

    def kill_at_random(self, within: float, dice: random.Random) -> bool:
        """Kill it some time within so many seconds; return whether it was still at work."""
        self.wait_until_ready()
        self.process.join(timeout=dice.uniform(0, within))
        self.process.kill()
        self.process.join()
        return self.process.exitcode != 0


def _live(
    pipe: Connection, scratch: str, work: Callable[..., Any], arguments: tuple[Any, ...]
) -> None:
    tempfile.tempdir = scratch
    pipe.send("ready")
    pipe.send(work(*arguments))
