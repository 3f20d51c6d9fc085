"""What people see in a terminal: names as they are, whatever stands in them.

A column may be called ``Speed [km/h]``, and a category may hold an escape sequence that moves the
cursor or makes a link. Every name that is shown goes through `catspace.names.visible`, and every
console of catspace is a `PlainConsole`, which takes no text for markup.
"""

import os
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from catspace.names import visible_lines


def as_text(sentence: str) -> Text:
    """Return a sentence for those parts of rich that look for markup themselves."""
    return Text(visible_lines(sentence))


class PlainConsole(Console):
    """A console that shows text as it is: no markup, no emoji by name, no escape sequences."""

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, **options)

    def on_broken_pipe(self) -> None:
        """Say no more, and let the work go on: a reader that has seen enough is no error."""
        self.quiet = True
        with Path(os.devnull).open("w") as nowhere:  # where Python empties its buffers in the end
            os.dup2(nowhere.fileno(), self.file.fileno())

    def render_str(self, text: str, **options: Any) -> Text:
        """Return text as it is shown."""
        return super().render_str(visible_lines(text), **options)
