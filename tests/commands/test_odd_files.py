"""Files and names of odd kinds: the same rows mean the same, and what fails is a sentence."""

import bz2
import json
import subprocess
import sys

import numpy as np
import pytest

import catspace
from catspace.commands import cli
from catspace.storage.files import find_separator

ROWS = ["12,100.5", "13,0.5", "A1,50.5"] * 40


def run(*arguments):
    """Run the command; return its exit code."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["catspace", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            cli.main()
    return end.value.code


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model of codes that are text as a whole, and files whose codes all look like numbers."""
    folder = tmp_path_factory.mktemp("codes")
    (folder / "fit.csv").write_text("\n".join(["code,y", *ROWS, ""]))
    (folder / "new").mkdir()
    for name in ("new/a.csv", "new/b.csv", "one.csv"):
        (folder / name).write_text("\n".join(["code,y", *ROWS[:2] * 20, ""]))
    quick = ("--set", "max_epochs=20", "--set", "smooth=1", "--seed", "0")
    assert run("fit", folder / "fit.csv", "--target", "y", "-o", folder / "m.catspace", *quick) == 0
    return folder


def test_a_folder_is_read_by_what_the_model_knows_as_a_single_file_is(folder, capsys):
    capsys.readouterr()
    assert run("importance", folder / "m.catspace", folder / "new", "--json") == 0
    assert json.loads(capsys.readouterr().out)[0]["importance"] > 10
    report = folder / "r.html"
    assert run("report", folder / "m.catspace", "--data", folder / "one.csv", "-o", report) == 0
    assert "held text in fit" not in capsys.readouterr().err
    assert run("update", folder / "m.catspace", folder / "new", "-o", folder / "u.catspace") == 0


def test_files_of_a_folder_that_lack_a_column_are_named(folder, tmp_path, capsys):
    for name, header in (("a.csv", "code,y"), ("b.csv", "Code,y")):
        (tmp_path / name).write_text("\n".join([header, *ROWS, ""]))
    assert run("importance", folder / "m.catspace", tmp_path) == 1
    assert "has no column" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["~t.csv", "~$open.csv", "~nobody.csv"])
def test_a_name_may_begin_with_a_tilde(folder, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text((folder / "fit.csv").read_text())
    quick = ("--set", "max_epochs=1", "--set", "smooth=1")
    assert run("fit", name, "--target", "y", "-o", "~m.catspace", *quick) == 0
    assert run("info", "~m.catspace") == 0
    assert run("predict", "~m.catspace", name, "-o", "~p.csv") == 0
    assert (tmp_path / "~p.csv").exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("importance", "m.catspace", "one.csv", "--seed", "-1"), "--seed must be"),
        (("importance", "m.catspace", "one.csv", "--repeats", "99999999999"), "at most 10,000"),
        (("importance", "m.catspace", "one.csv", "--target", "code"), "that the model reads"),
        (("fit", "fit.csv", "--target", "y", "-o", "-"), "not to standard output"),
        (("score", "m.catspace", "bad.csv"), "The target must hold numbers; got 'abc'"),
        (("predict", "m.catspace", "loop.csv", "-o", "p.csv"), "loop.csv"),
        (("fit", "fit.csv", "--target", "y", "-o", "x.catspace", "--drop", "a\nb"), "one line"),
        *(
            (
                (
                    "fit",
                    "fit.csv",
                    "--target",
                    "y",
                    "-o",
                    "x.catspace",
                    "--set",
                    f"date_formats={form}",
                ),
                "date_formats",
            )
            for form in ("5", "abc", "['a']", "{'code':5}", "{'code':'%d%d'}")
        ),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, tuple) else "",
)
def test_what_cannot_be_is_a_sentence(folder, monkeypatch, capsys, arguments, sentence):
    monkeypatch.chdir(folder)
    (folder / "bad.csv").write_text("code,y\n12,abc\n")
    if not (folder / "loop.csv").is_symlink():
        (folder / "loop.csv").symlink_to("loop.csv")
    assert run(*arguments) in (1, 2)
    assert sentence in capsys.readouterr().err


def test_labels_of_another_kind_are_a_sentence(tmp_path, capsys):
    (tmp_path / "fit.csv").write_text("a,y\n" + "x,0\nz,1\n" * 30)
    (tmp_path / "new.csv").write_text("a,y\n" + "x,no\nz,yes\n" * 30)
    model = tmp_path / "m.catspace"
    quick = ("--task", "classification", "--set", "max_epochs=1", "--set", "smooth=1")
    assert run("fit", tmp_path / "fit.csv", "--target", "y", "-o", model, *quick) == 0
    assert run("importance", model, tmp_path / "new.csv") == 1
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("level", [1, 5, 9])
def test_files_are_unpacked_however_hard_they_were_packed(folder, tmp_path, level):
    packed = tmp_path / "new.csv.bz2"
    packed.write_bytes(bz2.compress((folder / "one.csv").read_bytes(), level))
    model = catspace.load(folder / "m.catspace")
    np.testing.assert_array_equal(model.predict(packed), model.predict(folder / "one.csv"))


@pytest.mark.parametrize("note", ["one\ntwo\nthree", "a\u2028b", "a\x0cb", 'say ""so""'])
def test_cells_of_several_lines_do_not_hide_what_separates_them(note):
    rows = "".join(f'a;"{note}";1.5\n' for _ in range(30))
    assert find_separator(f"shop;note;y\n{rows}") == ";"


def test_a_reader_that_has_seen_enough_does_not_cost_the_model(folder, tmp_path):
    model = tmp_path / "m.catspace"
    command = [sys.executable, "-c", "from catspace.commands.cli import main; main()"]
    command += ["fit", str(folder / "fit.csv"), "--target", "y", "-o", str(model)]
    command += ["--set", "max_epochs=1", "--set", "smooth=1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()  # before anything is written
        said = process.stderr.read().decode()
    assert process.returncode == 0, said
    assert catspace.load(model).n_features_in_ == 1
