"""What people see in a terminal: names as they are, whatever stands in them.

A column may be called ``Speed [km/h]``, and a category may hold an escape sequence that moves the
cursor or makes a link. Every name that is shown goes through `visible`, and every console of
catspace is a `PlainConsole`, which takes no text for markup.
"""

import unicodedata
from typing import Any

from rich.console import Console
from rich.text import Text

# Controls, marks that change the order of letters, halves of characters, and ends of lines.
_UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_JOINERS = "\u200c\u200d"  # which some scripts, and some emoji, are written with


class _Escapes(dict[int, str]):
    """What is shown for each character; found when it is first met."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        if unicodedata.category(character) in _UNSEEN and character not in _JOINERS:
            character = character.encode("unicode_escape").decode("ascii")
        self[code] = character
        return character


_ESCAPES = _Escapes()


def visible(name: object) -> str:
    r"""Return a name on one line, with what a terminal would obey or hide as an escape.

    Examples
    --------
    >>> print(visible("\x1b[2Jtown\n"))
    \x1b[2Jtown\n
    """
    return str(name).translate(_ESCAPES)


def visible_lines(text: object) -> str:
    """Return a sentence as `visible` does, and keep the ends of its lines."""
    return "\n".join(map(visible, str(text).split("\n")))


def as_text(sentence: str) -> Text:
    """Return a sentence for those parts of rich that look for markup themselves."""
    return Text(visible_lines(sentence))


class PlainConsole(Console):
    """A console that shows text as it is: no markup, no emoji by name, no escape sequences."""

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        """Return text as it is shown."""
        return super().render_str(visible_lines(text), **options)
