"""Names that people gave, as a terminal can show them."""

import unicodedata

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
