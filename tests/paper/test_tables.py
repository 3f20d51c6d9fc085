import io
import json

import pytest
from rich.console import Console

from catspace.paper.reproduce import reproduce
from catspace.paper.runner import Cell
from catspace.paper.tables import show_tables


def test_a_terminal_shows_a_bar_for_the_running_cell_and_then_its_number(make_record):
    console = Console(file=io.StringIO(), force_terminal=True, width=120)
    with show_tables(console) as display:
        display.started(Cell("time", "knn", "raw"))
        display.progressed(0.5)
        with console.capture() as running:
            console.print(display.render())
        display.finished(make_record())
    assert "KNN, raw, time" in running.get()
    assert "50%" in running.get()
    final = console.file.getvalue()
    assert "0.2876" in final
    assert "By time" in final


def test_a_log_gets_a_line_for_each_cell(make_record):
    console = Console(file=io.StringIO(), width=120)
    with show_tables(console) as display:
        display.started(Cell("time", "knn", "raw"))
        display.progressed(0.5)
        display.finished(make_record())
    line = "KNN, raw, time: MAPE 0.2876 (paper 0.290), fit 1.2 s, predict 2.0 s"
    assert console.file.getvalue().startswith(line)


def test_without_data_the_protocol_runs_on_generated_data(tmp_path):
    console = Console(file=io.StringIO(), width=120)
    reproduce(data=None, only=["median"], out=tmp_path, console=console)
    text = console.file.getvalue()
    assert "GENERATED data (make_sales)" in text
    assert "values in the data" in text
    records = json.loads((tmp_path / "results.json").read_text())
    assert [r["data"] for r in records] == ["generated"] * 2
    assert "historical median" in (tmp_path / "results.md").read_text()
    assert (tmp_path / "results.csv").read_text().count("\n") == 3


def test_ctrl_c_says_where_the_finished_cells_are(tmp_path, monkeypatch):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("catspace.paper.runner.Reproduction._compute", interrupt)
    console = Console(file=io.StringIO(), width=500)
    with pytest.raises(KeyboardInterrupt):
        reproduce(data=None, only=["median"], out=tmp_path, console=console)
    assert f"Stopped. The finished cells are in {tmp_path}:" in console.file.getvalue()


def test_the_report_shows_the_methods_beside_each_other(tmp_path, monkeypatch):
    monkeypatch.setattr("catspace.paper.request._GENERATED_ROWS", 3_000)
    monkeypatch.setattr("catspace.paper.request._GENERATED_STORES", 20)
    console = Console(file=io.StringIO(), width=200)
    records = reproduce(
        data=None, only=["median"], split="shuffled", rows=1_000, out=tmp_path, report=True,
        console=console,
    )  # fmt: skip
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    page = json.loads(text.split('id="data">', 1)[1].split("</script>", 1)[0])
    assert page["scores"]["rows"] == [["historical median, raw", records[0]["mape"]]]
    assert dict(page["facts"])["rows in training"] == 1_000
    assert "report.html in a browser" in console.file.getvalue()
