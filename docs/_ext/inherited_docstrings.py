"""Docstrings that estimators inherit from scikit-learn ask for what is not here.

They link to labels of its site, and have formulas that a script of another host would draw.
"""

import re
from typing import Any

_REFERENCE = re.compile(r":ref:`(?:([^`<]+?)\s*<[^`>]+>|([^`]+))`")

_FORMULA = re.compile(r":math:`([^`]+)`")


def in_plain_words(line: str) -> str:
    """Return a line with words in place of references and formulas.

    Examples
    --------
    >>> in_plain_words("See :ref:`the guide <user_guide>` and :ref:`accuracy_score`: :math:`R^2`.")
    'See the guide and accuracy_score: ``R^2``.'
    """
    line = _FORMULA.sub(r"``\1``", line)
    return _REFERENCE.sub(lambda found: found[1] or found[2], line)


def _on_docstring(
    app: Any, what: str, name: str, member: Any, options: Any, lines: list[str]
) -> None:
    lines[:] = [in_plain_words(line) for line in lines]


def setup(app: Any) -> dict[str, bool]:
    """Tell Sphinx of the extension."""
    app.connect("autodoc-process-docstring", _on_docstring)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
