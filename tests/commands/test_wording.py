"""What the command says: in its own words, and quietly where nobody reads."""

import os
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import catspace
from catspace.commands import wording
from catspace.commands.wording import in_options
from catspace.estimators import EmbeddingClassifier, EmbeddingRegressor
from tests.commands.test_commands import run


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (
            'Hint: date_parts=["year", "month"] expands them, and categorical_features=[\'d\'] '
            "makes each date a category.",
            "Hint: --dates year,month expands them, and --categorical d makes each date a "
            "category.",
        ),
        (
            "categorical_features=['Speed [km/h]', …] gives each value a vector.",
            "--categorical 'Speed [km/h]' gives each value a vector.",
        ),
        (
            "target_transform='log' needs a target above 0; got 0.\n"
            'Hint: drop those rows, or use "log1p", which takes zeros.',
            "--log needs a target above 0; got 0.\nHint: drop those rows, or leave out --log.",
        ),
        (
            "Hint: lower embedding_dim for 'shop', or keep fewer of its vectors with "
            "max_categories or hash_buckets; or lower n_networks=5.",
            "Hint: lower embedding_dim for 'shop', or keep fewer of its vectors with "
            "max_categories or hash_buckets; or lower --networks 5. (--set embedding_dim=… or "
            "--set hash_buckets=… or --set max_categories=… changes it.)",
        ),
        (
            "num_workers=8 needs CPUs: lower num_workers.",
            "--workers 8 needs CPUs: lower --workers.",
        ),
        ("EmbeddingRegressor learns numbers.", "--task regression learns numbers."),
        ("model.save(path) writes one.", "catspace fit writes one."),
        (
            "Hint: compare a few of them with embeddings_[column].categories.",
            "Hint: compare a few of them with those that catspace embeddings lists.",
        ),
        ("k must be an int of at least 1; got 0.", "-k must be an int of at least 1; got 0."),
        ("n_repeats must be a positive int; got 0.", "--repeats must be a positive int; got 0."),
        ("groups names 'Shop', which is not a", "--together names 'Shop', which is not a"),
        ("Column 'date_parts' holds dates.", "Column 'date_parts' holds dates."),
        (
            "Hint: lower learning_rate, which is 1.",
            "Hint: lower learning_rate, which is 1. (--set learning_rate=… changes it.)",
        ),
    ],
)
def test_hints_speak_of_options(said, expected):
    assert in_options(said) == expected


def test_every_parameter_with_a_name_of_its_own_is_known():
    parameters = {
        name
        for estimator in (EmbeddingClassifier, EmbeddingRegressor)
        for name in estimator().get_params()
        if "_" in name
    }
    assert parameters - {"sample_weight"} <= {*wording._OPTIONS, *wording.SET}


def test_a_hint_of_the_table_is_shown_once(tmp_path):
    frame = pd.DataFrame({"shop_id": np.arange(120) % 40, "y": np.arange(120.0)})
    frame.to_csv(tmp_path / "t.csv", index=False)
    table, out = tmp_path / "t.csv", tmp_path / "m.catspace"
    _, said = command("fit", table, "--target", "y", "--validation", 0, "-o", out).communicate()
    assert said.count(b"holds integers that look like identifiers") == 1


def test_dates_are_taken_apart_by_an_option(tmp_path):
    days = pd.date_range("2025-01-01", periods=120).strftime("%Y-%m-%d")
    frame = pd.DataFrame({"day": days, "y": np.arange(120.0)})
    frame.to_csv(tmp_path / "t.csv", index=False)
    out = tmp_path / "m.catspace"
    output = run(
        "fit", tmp_path / "t.csv", "--target", "y", "--dates", "month,day_of_week", "-o", out
    ).output  # fmt: skip
    shown = next(line for line in output.splitlines() if "day_day_of_week" in line)
    assert [cell.strip() for cell in shown.split("│")[3:5]] == ["category", "7"]
    assert list(catspace.load(out).embeddings_) == ["day_month", "day_day_of_week"]


def test_a_name_with_a_comma_is_named_in_quotes(tmp_path):
    frame = pd.DataFrame({"a,b": [1, 2, 3] * 30, "c": [1, 2] * 45, "y": np.arange(90.0)})
    frame.to_csv(tmp_path / "t.csv", index=False)
    out = tmp_path / "m.catspace"
    run("fit", tmp_path / "t.csv", "--target", "y", "--categorical", '"a,b", c', "-o", out)
    assert list(catspace.load(out).embeddings_) == ["a,b", "c"]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """Fit a model to a table whose names do what they can, and return its folder."""
    folder = tmp_path_factory.mktemp("hostile")
    frame = pd.DataFrame(
        {
            "Price [/kg]": ["[red]x[/red]", "\x1b[2Jx", ":smile:", "[link=http://x]y[/link]"] * 500,
            "\x1b]8;;http://x\x07[bold]": np.arange(2000) % 9 + 0.5,
            "Speed [km/h]": np.arange(2000) % 4 + 0.25,
        }
    )
    frame.to_csv(folder / "t.csv", index=False)
    output = run(
        "fit", folder / "t.csv", "--target", "Speed [km/h]", "-o", folder / "[red]m.catspace"
    ).output  # fmt: skip
    return folder, output


def test_names_of_every_kind_are_shown_as_they_are(hostile):
    folder, output = hostile
    model = folder / "[red]m.catspace"
    assert "│ Price [/kg]" in output
    assert "│ \\x1b]8;;http://x\\x07" in output
    assert "to predict Speed [km/h]" in output
    assert "[red]m.catspace" in output.replace("\n", "")
    info = run("info", model).output
    assert "│ Price [/kg]" in info
    assert "│ \\x1b]8;;http://x\\x07[bold] │" in info
    near = run("neighbors", model, "Price [/kg]", "[red]x[/red]").output
    assert "Closest to [red]x[/red]" in near
    for name in ("┃ Price [/kg] ", "\\x1b[2Jx ", ":smile:", "[link=http://x]y[/link]"):
        assert name in near
    for text in (output, info, near):
        assert not set(text) & set("\x1b\x07")


def command(*arguments, **options):
    return subprocess.Popen(
        [sys.executable, "-m", "catspace", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **options,
    )


def test_an_error_shows_no_escape_sequence(hostile):
    folder, _ = hostile
    done = command("neighbors", folder / "[red]m.catspace", "Price", "x")
    _, said = done.communicate()
    assert done.returncode == 1
    assert b"Did you mean 'Price [/kg]'?" in said
    assert b"\x1b" not in said


@pytest.mark.parametrize("what", ["predict", "embeddings"])
def test_a_reader_that_has_seen_enough_is_no_error(hostile, what):
    folder, _ = hostile
    more = {"predict": [folder / "t.csv"], "embeddings": ["Price [/kg]"]}[what]
    process = command(what, folder / "[red]m.catspace", *more)
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 1


def test_a_terminal_that_lacks_a_letter_shows_an_escape(tmp_path):
    frame = pd.DataFrame({"Köln": ["a", "b"] * 50, "y": np.arange(100.0)})
    frame.to_csv(tmp_path / "t.csv", index=False)
    run("fit", tmp_path / "t.csv", "--target", "y", "-o", tmp_path / "m.catspace")
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = command("info", tmp_path / "m.catspace", env=environment)
    shown, said = done.communicate()
    assert (done.returncode, said) == (0, b"")
    assert re.search(rb"K\\xf6ln", shown)


def test_ctrl_c_is_a_word_and_no_traceback():
    code = """
import sys
import catspace.commands.places as places
from catspace.commands.cli import main

def stop(*arguments, **options):
    raise KeyboardInterrupt

places.check_places = stop
sys.argv = ["catspace", "fit", "sales.csv", "--target", "Sales", "-o", "m.catspace"]
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "catspace: Interrupted.\n")
