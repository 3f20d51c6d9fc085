"""The errors and warnings of catspace: what was wrong, where, the value seen, what to do next."""

import sys
import warnings
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

from catspace.names import visible_lines

# Frames of these packages stand between a user's line and what catspace has to say about it.
_HERE = Path(__file__).parent
_BETWEEN = ("sklearn", "joblib")


class CatspaceError(ValueError):
    """Base of all errors that catspace raises.

    Parameters
    ----------
    message : str
        What was wrong, where, and the value that was seen.
    hint : str, optional
        What to do next; shown on a line of its own.

    Examples
    --------
    >>> from catspace import EmbeddingRegressor
    >>> from catspace.exceptions import CatspaceError
    >>> try:
    ...     EmbeddingRegressor(embedding_dim=-3).fit({"town": ["Aachen", "Bonn"]}, [1.0, 2.0])
    ... except CatspaceError as error:
    ...     print(error)
    embedding_dim must be "auto", a positive int, or a dict of column to int; got -3.
    """

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(_sentence(message, hint))


class InputError(CatspaceError):
    """A table, target or weight that cannot be used.

    Examples
    --------
    >>> from catspace import EmbeddingRegressor
    >>> from catspace.exceptions import InputError
    >>> try:
    ...     EmbeddingRegressor().fit({"town": ["Aachen", "Bonn"]}, [1.0, None])
    ... except InputError as error:
    ...     print(error)
    Input y contains NaN, first in row 1 (1 in all).
    Hint: drop the rows whose target is not known.
    """


class ParameterError(CatspaceError):
    """A constructor parameter with a value that means nothing.

    Examples
    --------
    >>> from catspace import EmbeddingRegressor
    >>> from catspace.exceptions import ParameterError
    >>> try:
    ...     EmbeddingRegressor(embedding_dim={"Town": 2}).fit({"town": ["Bonn", "Jena"]}, [1, 2])
    ... except ParameterError as error:
    ...     print(error)
    embedding_dim names 'Town', which is not a categorical column. Did you mean 'town'?
    """


class UnknownCategoryError(CatspaceError, KeyError):
    """A category that the fitted model does not know.

    Examples
    --------
    >>> from catspace import EmbeddingRegressor
    >>> from catspace.exceptions import UnknownCategoryError
    >>> model = EmbeddingRegressor().fit({"town": ["Aachen", "Bonn"] * 50}, [1.0, 2.0] * 50)
    >>> try:
    ...     model.embeddings_["Town"]
    ... except UnknownCategoryError as error:
    ...     print(error)
    There is no embedding of a column 'Town'. Did you mean 'town'?
    Hint: the embedded columns are: town.
    """

    # KeyError shows the repr of its argument; the sentence is meant to be read.
    __str__ = CatspaceError.__str__


class ModelFileError(CatspaceError):
    """A model file that is damaged, foreign or newer than this library.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import catspace
    >>> from catspace.exceptions import ModelFileError
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "towns.catspace")
    ...     _ = file.write_bytes(b"no model")
    ...     try:
    ...         catspace.load(file)
    ...     except ModelFileError as error:
    ...         print(str(error).replace(folder, "…"))
    '…/towns.catspace' is not a catspace model file.
    Hint: model.save(path) writes one.
    """


class NotEnoughMemoryError(CatspaceError, MemoryError):
    """A training that would need more memory than there is."""


class InputTypeError(CatspaceError, TypeError):
    """Something that is not a table at all.

    Examples
    --------
    >>> from catspace import EmbeddingRegressor
    >>> from catspace.exceptions import InputTypeError
    >>> try:
    ...     EmbeddingRegressor().fit(12, [1.0])
    ... except InputTypeError as error:
    ...     print(error)
    A table is needed: pandas, polars, Arrow, a 2-d array or a path to CSV or Parquet; got int.
    """


class CatspaceWarning(UserWarning):
    """Something that works, but probably not as the user meant it."""


class InterruptedWarning(CatspaceWarning):
    """Training was ended by Ctrl-C, and the model is what it had learned until then."""


class NothingLearnedWarning(CatspaceWarning):
    """On rows that were held back, a constant does as well as the model."""


def warn(
    message: str, category: type[Warning] = CatspaceWarning, *, hint: str | None = None
) -> None:
    """Warn, and point at the user's own line: the first outside of catspace and scikit-learn."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and _is_between(frame.f_code.co_filename):
        level, frame = level + 1, frame.f_back
    warnings.warn(_sentence(message, hint), category, stacklevel=level)


def _sentence(message: str, hint: str | None) -> str:
    return visible_lines(message if hint is None else f"{message}\nHint: {hint}")


def _is_between(file: str) -> bool:
    path = Path(file)
    return path.is_relative_to(_HERE) or any(name in path.parts for name in _BETWEEN)


def did_you_mean(name: object, options: Iterable[object]) -> str:
    """Return `` Did you mean 'State'?`` for the closest option, or an empty string.

    Examples
    --------
    >>> did_you_mean("state", ["Store", "State"])
    " Did you mean 'State'?"
    >>> did_you_mean("weather", ["Store", "State"])
    ''
    """
    by_lower_case = {str(option).lower(): option for option in options}
    matches = get_close_matches(str(name).lower(), by_lower_case, n=1)
    return f" Did you mean {by_lower_case[matches[0]]!r}?" if matches else ""


def in_row(row: int | None) -> str:
    """Return `` in row 7``, or an empty string where the row is not known.

    Examples
    --------
    >>> in_row(7), in_row(None)
    (' in row 7', '')
    """
    return "" if row is None else f" in row {row}"


def shorten(values: Iterable[object], most: int = 5) -> str:
    """Return a list as text, cut after a few values.

    Examples
    --------
    >>> shorten(["a", "b", "c"], most=2)
    "['a', 'b', …]"
    """
    shown = [repr(value) for value in values]
    if len(shown) > most:
        shown = [*shown[:most], "…"]
    return f"[{', '.join(shown)}]"
