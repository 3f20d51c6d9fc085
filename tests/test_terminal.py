"""Names reach the terminal as they are, and do nothing there."""

import io

import pytest
from rich.table import Table as Grid

from catspace.model.progress import TrainingProgress
from catspace.names import visible, visible_lines
from catspace.terminal import PlainConsole, as_text

NAMES = [
    "Price [/kg]",
    "Speed [km/h]",
    "[bold]loud[/bold]",
    "[link=https://example.org]here[/link]",
    ":warning:",
    "\\[escaped]",
    "Köln",
    "👩‍🚀",
    "میخواهم‌",
]
HOSTILE = {
    "\x1b[2J": "\\x1b[2J",
    "\x1b]8;;https://example.org\x07x\x1b]8;;\x07": "\\x1b]8;;https://example.org\\x07x",
    "\x9b31m": "\\x9b31m",
    "a\rb": "a\\rb",
    "a\nb": "a\\nb",
    "a\u2028b": "a\\u2028b",
    "\u202egnp": "\\u202egnp",
    "caf\udce9": "caf\\udce9",
    "\x00": "\\x00",
    "\x08": "\\x08",
}


def shown(*parts, **options):
    console = PlainConsole(file=io.StringIO(), width=200, **options)
    console.print(*parts)
    return console.file.getvalue()


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_shown_as_it_is(name):
    assert visible(name) == name
    assert shown(f"The model is in {name}.", highlight=True).rstrip() == f"The model is in {name}."
    grid = Grid(name, title=name)
    grid.add_row(name)
    assert shown(grid).count(name) == 3
    assert shown(as_text(name)).rstrip() == name


@pytest.mark.parametrize("name", HOSTILE)
def test_what_a_terminal_would_obey_is_shown_as_an_escape(name):
    assert visible(name).startswith(HOSTILE[name])
    grid = Grid(visible(name), title=visible(name))
    grid.add_row(visible(name))
    for text in (shown(name), shown(f"{name} [x]"), shown(as_text(name)), shown(grid)):
        assert not set(text) & set("\x1b\x9b\r\x00\x08\x07\u2028\u202e\udce9")


def test_a_sentence_keeps_its_lines():
    assert visible_lines("What\nHint: \x1b[1m") == "What\nHint: \\x1b[1m"


def test_what_is_told_about_a_training_is_no_markup(capsys):
    with TrainingProgress(1, verbose=2) as progress:
        progress.tell("'Price [/kg]' is updated row by row; \x1b[2J")
    assert capsys.readouterr().err == "'Price [/kg]' is updated row by row; \\x1b[2J\n"
