"""Columns that share one vocabulary and one table of vectors: teams at home and away."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from catspace.exceptions import ParameterError
from catspace.validation import check_column_names

# The columns of each group, in the user's order.
Groups = tuple[tuple[str, ...], ...]

_NAME = "shared_vectors"


def read_groups(shared_vectors: Any) -> Groups:
    """Return the groups that an estimator's `shared_vectors` names; only their form is checked."""
    if shared_vectors is None:
        return ()
    form = ParameterError(
        f"{_NAME} must be a list of lists of names of columns, or None; got {shared_vectors!r}.",
        hint=f'{_NAME}=[["home", "away"]] is one group of two columns.',
    )
    if not isinstance(shared_vectors, (list, tuple)):
        raise form
    seen: set[str] = set()
    for group in shared_vectors:
        if not isinstance(group, (list, tuple)) or not all(isinstance(one, str) for one in group):
            raise form
        if len(group) < 2:
            raise ParameterError(
                f"{_NAME} has a group of {len(group)}, {list(group)!r}, and two columns at least "
                "share something."
            )
        for name in group:
            if name in seen:
                raise ParameterError(
                    f"{_NAME} names {name!r} twice, and a column has one table of vectors."
                )
            seen.add(name)
    return tuple(tuple(group) for group in shared_vectors)


def check_groups(
    groups: Groups,
    categorical: Collection[str],
    cut: Collection[str],
    buckets: Mapping[str, int],
    lists: Collection[str] = (),
) -> None:
    """Raise where columns cannot share a vocabulary, before a row is read.

    Parameters
    ----------
    groups : Groups
    categorical : collection of str
        The embedded columns.
    cut : collection of str
        Those of numbers that are cut into bins.
    buckets : mapping of column to int
        Those whose values are hashed.
    lists : collection of str
        Those whose cells are lists.
    """
    for group in groups:
        check_column_names(_NAME, group, categorical, "a categorical column")
        for name in group:
            if name in lists:
                raise ParameterError(
                    f"{_NAME} names {name!r}, which holds lists, and those have vectors of their "
                    "own.",
                    hint="leave it out of the group.",
                )
            if name in cut:
                raise ParameterError(
                    f"{_NAME} names {name!r}, which is cut into bins of its own.",
                    hint="leave it out of discretize, or out of the group.",
                )
            if buckets.get(name) != buckets.get(group[0]):
                raise ParameterError(
                    f"hash_buckets gives {group[0]!r} {buckets.get(group[0], 'none')} and {name!r} "
                    f"{buckets.get(name, 'none')}, which share their vectors.",
                    hint="give both the same number.",
                )


def spread(parameter: str, values: Mapping[str, Any], groups: Groups) -> dict[str, Any]:
    """Return what is said of columns, said of all columns that share something with one of them.

    Examples
    --------
    >>> spread("embedding_dim", {"home": 3, "day": 2}, (("home", "away"),))
    {'home': 3, 'day': 2, 'away': 3}
    """
    found = dict(values)
    for group in groups:
        named = [name for name in group if name in values]
        for name in named[1:]:
            if not _is_same(values[named[0]], values[name]):
                raise ParameterError(
                    f"{parameter} says of {named[0]!r} something else than of {name!r}, and they "
                    "share their vectors.",
                    hint=f"name one of the two in {parameter}; it holds for both.",
                )
        if named:
            found.update(dict.fromkeys(group, values[named[0]]))
    return found


def _is_same(first: Any, second: Any) -> bool:
    is_plain = all(isinstance(value, (int, float, str)) for value in (first, second))
    return first is second or (is_plain and first == second)


def tables_of(columns: Sequence[str], groups: Groups) -> tuple[int, ...]:
    """Return the position of the table of each column; empty where each has one of its own.

    Examples
    --------
    >>> tables_of(["home", "day", "away", "month"], (("home", "away"),))
    (0, 1, 0, 2)
    >>> tables_of(["home", "day"], ())
    ()
    """
    if not groups:
        return ()
    key_of = {name: group for group in groups for name in group}
    places: dict[Any, int] = {}
    return tuple(places.setdefault(key_of.get(name, name), len(places)) for name in columns)


def first_of(columns: Sequence[str], groups: Groups) -> dict[str, str]:
    """Return for each column the first one that has the same table: often itself."""
    key_of = {name: group for group in groups for name in group}
    first: dict[Any, str] = {}
    return {name: first.setdefault(key_of.get(name, name), name) for name in columns}
