"""The text format of word2vec: ``n dim`` in the first line, then a word and its vector in each.

The format separates by spaces, so that white space inside a word becomes ``_``.
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from catspace.exceptions import InputError
from catspace.storage.paths import expand
from catspace.storage.writing import explaining, replacing

_HINT = 'its first line is "n dim", and each line after it a word and dim numbers.'
_SHORTEST_NUMBER = 2  # bytes: a digit, and what separates it from the next


def word_of(category: Any) -> str:
    """Return how a category is written in a file of vectors.

    Examples
    --------
    >>> word_of("New York"), word_of(12), word_of("")
    ('New_York', '12', '_')
    """
    return re.sub(r"\s+", "_", str(category)) or "_"


def write_word2vec(path: str | Path, categories: Sequence[Any], vectors: np.ndarray) -> None:
    """Write a line for each category; vectors have shape (n_categories, dim)."""
    place = expand(path)
    with (
        explaining(place),
        replacing(place) as temporary,
        temporary.open("w", encoding="utf-8") as file,
    ):
        file.write(f"{len(categories)} {vectors.shape[1]}\n")
        for category, vector in zip(categories, vectors, strict=True):
            file.write(f"{word_of(category)} {' '.join(f'{x:.9g}' for x in vector)}\n")


def read_word2vec(path: str | Path) -> tuple[list[str], np.ndarray]:
    """Read words and their vectors, of which some may not be finite.

    Returns
    -------
    words : list of str
    vectors : float32 array of shape (n_words, dim)
    """
    place = expand(path)
    try:
        size = place.stat().st_size
        # Only "\n" ends a line here: a word may hold what Python takes for the end of one.
        with place.open(encoding="utf-8", newline="\n") as file:
            n_words, dim = _read_sizes(file.readline(), size, path)
            return _read_vectors(file, n_words, dim, path)
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be read: {error.strerror or error}.") from None
    except UnicodeDecodeError:
        raise _damaged(path, "it is not UTF-8") from None


def _read_sizes(line: str, n_bytes: int, path: str | Path) -> tuple[int, int]:
    found = re.fullmatch(r"\s*([0-9]{1,15}) +([0-9]{1,15})\s*", line)
    n_words, dim = (int(found[1]), int(found[2])) if found else (0, 0)
    if n_words < 1 or dim < 1:
        raise _damaged(path, f"its first line is {line.strip()[:40]!r}")
    # Before an array is made of what the first line says.
    if n_words * dim * _SHORTEST_NUMBER > n_bytes:
        raise _damaged(path, f"it has no room for {n_words} words in {dim} dimensions")
    return n_words, dim


def _read_vectors(
    lines: Iterable[str], n_words: int, dim: int, path: str | Path
) -> tuple[list[str], np.ndarray]:
    words, vectors = list[str](), np.empty((n_words, dim), dtype=np.float32)
    for number, line in enumerate(lines, start=2):
        word, *values = line.rstrip("\r\n ").split(" ")
        if not word and not values:
            continue  # an empty line at the end
        if len(values) != dim:
            raise _damaged(path, f"line {number} has {len(values)} numbers instead of {dim}")
        if len(words) < n_words:
            try:
                with np.errstate(over="ignore"):
                    vectors[len(words)] = np.array(values, dtype=np.float64)
            except ValueError:
                raise _damaged(path, f"line {number} holds something else than numbers") from None
        words.append(word)
    if len(words) != n_words:
        raise _damaged(path, f"it has {len(words)} words instead of {n_words}")
    return words, vectors


def _damaged(path: str | Path, what: str) -> InputError:
    return InputError(
        f"{str(path)!r} is no file of vectors in word2vec's text: {what}.", hint=_HINT
    )
