import io
import json

import pytest
from rich.console import Console

from catspace.exceptions import InputError
from catspace.paper.reproduce import TableDisplay, reproduce
from catspace.paper.runner import Cell
from catspace.paper.tables import comma_separated, markdown


def record(**changes):
    return {
        "data": "rossmann",
        "split": "time",
        "method": "knn",
        "encoding": "raw",
        "rows": 200_000,
        "test_rows": 84_434,
        "seed": 0,
        "mape": 0.2876,
        "rmspe": 0.4,
        "paper_mape": 0.29,
        "difference": -0.0024,
        "fit_seconds": 1.25,
        "predict_seconds": 2.0,
        "parameters": {},
        **changes,
    }


def test_markdown_puts_the_papers_number_beside_ours():
    text = markdown([record(), record(encoding="ee", mape=0.11, paper_mape=0.116)])
    assert "### By time: the latest 10 % of the rows are for testing" in text
    assert "| KNN | 0.2876 | 0.290 | 0.1100 | 0.116 | 0.4000 | 0.4000 | 1 / 2 | 1 / 2 |" in text
    assert "The real Rossmann data; 200,000 rows to learn from, 84,434 to test; seed 0." in text


def test_every_table_of_generated_data_says_so():
    records = [record(data="generated", split=split) for split in ("shuffled", "time")]
    assert markdown(records).count("GENERATED data (make_sales), not the paper's") == 2


def test_csv_has_a_line_for_each_record():
    lines = comma_separated([record(), record(split="shuffled", paper_mape=None)]).splitlines()
    assert lines[0].startswith("data,split,method,encoding,mape,paper_mape,difference")
    assert lines[1].startswith("rossmann,time,knn,raw,0.2876,0.29,-0.0024")
    assert lines[2].startswith("rossmann,shuffled,knn,raw,0.2876,,")


def test_a_terminal_shows_a_bar_for_the_running_cell_and_then_its_number():
    console = Console(file=io.StringIO(), force_terminal=True, width=120)
    with TableDisplay(console) as display:
        display.started(Cell("time", "knn", "raw"))
        display.progressed(0.5)
        with console.capture() as running:
            console.print(display._render())
        display.finished(record())
    assert "KNN, raw, time" in running.get()
    assert "50%" in running.get()
    final = console.file.getvalue()
    assert "0.2876" in final
    assert "By time" in final


def test_a_log_gets_a_line_for_each_cell():
    console = Console(file=io.StringIO(), width=120)
    with TableDisplay(console) as display:
        display.started(Cell("time", "knn", "raw"))
        display.progressed(0.5)
        display.finished(record())
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
    monkeypatch.setattr("catspace.paper.reproduce._GENERATED_ROWS", 3_000)
    monkeypatch.setattr("catspace.paper.reproduce._GENERATED_STORES", 20)
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
