import io
from importlib import import_module

import pytest
from rich.console import Console

from catspace.exceptions import InputError
from catspace.paper.reproduce import EXPERIMENTS, reproduce


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_each_experiment_is_the_run_of_the_module_of_its_name(name):
    assert EXPERIMENTS[name] is import_module(f"catspace.paper.{name}").run


def test_an_experiment_gets_all_that_was_asked_for(monkeypatch, tmp_path):
    got = []
    monkeypatch.setitem(EXPERIMENTS, "map", lambda request: got.append(request) or [{"n": 1}])
    console = Console(file=io.StringIO())
    asked = {"data": tmp_path, "rows": 7, "seed": 3, "out": tmp_path / "out", "report": True}
    records = reproduce("map", only=["knn:ee"], split="time", console=console, **asked)
    assert records == [{"n": 1}]
    (request,) = got
    assert {name: getattr(request, name) for name in asked} == asked
    assert [(c.split, c.method, c.encoding) for c in request.cells] == [("time", "knn", "ee")]
    assert (request.splits, request.name, request.n_train) == (("time",), "rossmann", 7)
    assert (request.figures, request.console) == (False, console)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"experiment": "figures9"}, r"^experiment must be one of"),
        ({"split": "spatial"}, r"^split must be one of"),
        ({"only": ["nothing"]}, r"^There is no method 'nothing'"),
    ],
)
def test_what_cannot_be_run_is_said_before_anything_is_written(tmp_path, changes, message):
    with pytest.raises(InputError, match=message):
        reproduce(**{"data": None, "out": tmp_path / "out", **changes})
    assert not (tmp_path / "out").exists()
