"""The command as a user runs it: a process with an exit code and two streams."""

import subprocess
import sys

import pytest


def catspace(*arguments, **environment):
    return subprocess.run(
        [
            sys.executable,
            "-c",
            "from catspace.commands.cli import main; main()",
            *map(str, arguments),
        ],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": "", "COLUMNS": "120", **environment},
    )


def test_help_names_the_commands():
    done = catspace("--help")
    assert done.returncode == 0
    assert "reproduce" in done.stdout


def test_help_loads_neither_torch_nor_pandas():
    code = (
        "import sys; from typer.testing import CliRunner; from catspace.commands.cli import app; "
        "CliRunner().invoke(app, ['reproduce', '--help']); "
        "print({'torch', 'pandas', 'sklearn'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_each_command_shows_an_example():
    assert "Example: catspace reproduce" in catspace("reproduce", "--help").stdout


def test_a_wrong_option_is_usage():
    assert catspace("reproduce", "--rowz", "5").returncode == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--data", "nowhere"], "catspace: train.csv is missing in 'nowhere'."),
        (["--only", "xgbost"], "catspace: There is no method 'xgbost'"),
        (["--rows", "10000000"], "catspace: 10,000,000 training rows were asked for"),
    ],
)
def test_what_goes_wrong_is_a_sentence_and_exit_code_1(tmp_path, arguments, message):
    done = catspace("reproduce", *arguments, "--out", tmp_path / "out")
    assert done.returncode == 1
    assert done.stderr.startswith(message)
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


def test_another_competitions_file_is_told_apart(tmp_path):
    (tmp_path / "train.csv").write_text("id,price\n1,2\n")
    (tmp_path / "store_states.csv").write_text("Store,State\n1,HE\n")
    done = catspace("reproduce", "--data", tmp_path)
    assert done.returncode == 1
    assert "train.csv' has no Store and no DayOfWeek" in done.stderr


def test_debug_shows_where_it_went_wrong(tmp_path):
    done = catspace("--debug", "reproduce", "--data", tmp_path)
    assert "Traceback" in done.stderr
    assert done.returncode == 1


def test_standard_input_is_read_like_a_file_and_warnings_are_sentences(tmp_path):
    lines = ["shop_id;y", *(f"{i % 7};{i}" for i in range(60))]
    done = subprocess.run(
        [
            *(sys.executable, "-m", "catspace", "fit", "-"),
            *("--target", "y", "--task", "regression", "-o", str(tmp_path / "m.catspace")),
        ],
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "catspace: Column 'shop_id' holds integers that look like identifiers" in done.stderr
    assert "encoding.py" not in done.stderr
    assert (tmp_path / "m.catspace").exists()


def test_experiments_without_their_packages_say_what_to_install():
    code = (
        "import sys; sys.modules['pandas'] = None; from catspace.commands.cli import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "reproduce"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.startswith("catspace: The experiments need pandas.")
