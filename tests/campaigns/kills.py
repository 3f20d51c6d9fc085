"""Processes that are killed while they save, fit, predict or reproduce.

After each, the place holds the old file or the new one, whole; what the killed process left beside
it is gone after the next write; and what promises to go on goes on.
"""

import json
import random
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import catspace
from catspace.storage.writing import write_bytes
from tests.campaigns.commands import Done, command, start
from tests.campaigns.outcome import Outcome
from tests.storage.small_models import X, save_classifier, save_regressor

_SAVING = 0.05  # seconds, in which a model is saved some ten times
_TIMES = {"fit_seconds", "predict_seconds"}


def kill_saves(n_cases: int, *, seed: int, folder: Path) -> Outcome:
    """Kill processes that save two models in turns to one place."""
    outcome, place = Outcome(), folder / "place" / "m.catspace"
    place.parent.mkdir()
    models = [save_regressor(folder), save_classifier(folder)]
    whole = [path.read_bytes() for path in models]
    write_bytes(place, whole[0])
    loaded = [catspace.load(path) for path in models]  # here, so that the process only saves
    for case in range(n_cases):
        child = start(_save_for_ever, loaded, place, scratch=folder / "scratch")
        with outcome.case(case):
            assert child.kill_at_random(_SAVING, random.Random(f"{seed} {case}"))
            assert place.read_bytes() in whole, "the model is neither the old nor the new one"
            n_unfinished = len(_files(place.parent)) - 1
            write_bytes(place, whole[case % 2])
            assert _files(place.parent) == [place.name], _files(place.parent)
            outcome.counts["a whole file"] += 1
            outcome.counts["of these beside an unfinished one, now gone"] += n_unfinished
    return outcome


def _save_for_ever(models: Sequence[Any], place: Path) -> None:
    while True:
        for model in models:
            model.save(place)


def kill_commands(n_cases: int, *, seed: int, folder: Path) -> Outcome:
    """Kill `catspace fit`, `predict` and `reproduce`, in turns."""
    outcome = Outcome()
    campaigns = [_Fits(folder), _Predictions(folder), _Reproductions(folder)]
    for case in range(n_cases):
        campaign, dice = campaigns[case % 3], random.Random(f"{seed} {case}")
        with outcome.case(f"{case}, {type(campaign).__name__}"):
            outcome.counts[campaign.kill_once(dice)] += 1
    return outcome


class _Killed:
    """A command that is killed; how long it takes is found by running it once."""

    def __init__(self, folder: Path, *arguments: object) -> None:
        self.folder, self.arguments = folder, arguments
        self.scratch = folder / "scratch"
        begin = time.perf_counter()
        done: Done = start(command, *arguments, scratch=self.scratch).result()
        self.seconds = time.perf_counter() - begin
        assert done.code == 0, done.said

    def kill(self, dice: random.Random) -> None:
        child = start(command, *self.arguments, scratch=self.scratch)
        child.kill_at_random(self.seconds, dice)
        assert not _files(self.scratch), _files(self.scratch)


class _WithPlace(_Killed):
    """A command that writes one file: it is the old or the new one, and nothing is beside it."""

    def __init__(
        self, place: Path, check: Callable[[Path], Any], arguments: Sequence[object]
    ) -> None:
        self.place, self.check = place, check
        place.parent.mkdir(exist_ok=True)
        super().__init__(place.parents[1], *arguments, "-o", place)
        self.new = check(place)

    def kill_once(self, dice: random.Random) -> str:
        write_bytes(self.place, b"old")
        self.kill(dice)
        is_old = self.place.read_bytes() == b"old"
        if not is_old:
            assert np.array_equal(self.check(self.place), self.new), "the new file is another one"
        write_bytes(self.place, b"next")
        assert _files(self.place.parent) == [self.place.name], _files(self.place.parent)
        return "old file" if is_old else "new file"


class _Fits(_WithPlace):
    def __init__(self, folder: Path) -> None:
        table = folder / "sales.csv"
        sales = catspace.make_sales(300, n_stores=20, random_state=0, backend="pandas")
        sales.X.assign(sales=sales.y).to_csv(table, index=False)
        super().__init__(
            folder / "fits" / "m.catspace",
            lambda path: catspace.load(path).predict(table),
            ["fit", table, "--target", "sales", "--log"],
        )


class _Predictions(_WithPlace):
    def __init__(self, folder: Path) -> None:
        table, model = folder / "many.csv", save_regressor(folder)
        many = X.sample(20_000, replace=True, random_state=0)
        many.to_csv(table, index=False)
        super().__init__(
            folder / "predictions" / "predicted.csv",
            lambda path: np.frombuffer(path.read_bytes(), dtype=np.uint8),
            ["predict", model, table],
        )


class _Reproductions(_Killed):
    """A run that was killed goes on: what was computed is kept, and the rest is the same."""

    def __init__(self, folder: Path) -> None:
        self.out = folder / "reproduced"
        arguments = ["reproduce", "--only", "median,knn", "--rows", "300", "--split", "time"]
        super().__init__(folder, *arguments, "--out", self.out)
        self.files, self.records = _files(self.out), self._read()

    def kill_once(self, dice: random.Random) -> str:
        shutil.rmtree(self.out)
        self.kill(dice)
        kept = self._read()
        done: Done = start(command, *self.arguments, scratch=self.scratch).result()
        assert done.code == 0, done.said
        found = self._read()
        assert found[: len(kept)] == kept, "a number that was there has been computed again"
        same = [_numbers(record) for record in found] == [_numbers(r) for r in self.records]
        assert same, "other numbers than without a kill"
        assert _files(self.out) == self.files, f"{_files(self.out)} in the folder"
        return "gone on with" if kept else "begun again"

    def _read(self) -> list[dict[str, Any]]:
        path = self.out / "results.json"
        return json.loads(path.read_text()) if path.exists() else []


def _numbers(record: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name not in _TIMES}


def _files(folder: Path) -> list[str]:
    """Return the files of a folder and of those within it."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
