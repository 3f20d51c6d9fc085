"""Rules for the dimension of an embedding.

The paper bounds the dimension of a variable with m values by 1 and m - 1 and leaves the rest to
experiment. Every rule here respects these bounds, whatever it computes.
"""

from collections.abc import Callable, Mapping
from typing import Any

from catspace.exceptions import ParameterError, did_you_mean
from catspace.validation import check_column_names, is_count

_RULES: dict[str, Callable[[int], float]] = {
    # Paper, second guideline: without a clue, start with m - 1.
    "max": lambda m: m - 1,
    "fastai": lambda m: min(600, 1.6 * m**0.56),
    "half": lambda m: min(50, (m + 1) // 2),
    "fourth_root": lambda m: m**0.25,
    "sqrt": lambda m: m**0.5,
}
# Chosen by measurement; see the notes of embedding_dims.
_DEFAULT_RULE = "half"


def embedding_dims(
    embedding_dim: Any, n_categories: Mapping[str, int], given: Mapping[str, int] | None = None
) -> dict[str, int]:
    """Return the dimension of the embedding of each column.

    Parameters
    ----------
    embedding_dim : str, int or dict of column to int
        A rule by name:

        - ``"half"``: half of m, at most 50;
        - ``"fastai"``: 1.6 m^0.56, at most 600;
        - ``"sqrt"``: the square root of m;
        - ``"fourth_root"``: the fourth root of m;
        - ``"max"``: m - 1, the paper's second guideline;
        - ``"auto"``: ``"half"``, see Notes.

        An int is the dimension of every column, a dict gives it column by column (the paper's
        first guideline: the more complex the variable, the more dimensions); columns that the
        dict leaves out follow ``"auto"``.
    n_categories : mapping of column to int
        The number m of values of each column.
    given : mapping of column to int, optional
        The dimensions of vectors that are there already, which are what they are.

    Returns
    -------
    dict of column to int
        Each between 1 and m - 1, but for given ones.

    Notes
    -----
    "half" is the default because it had the lowest mean error over three validation parts of the
    Rossmann training rows, one shuffled and two that lie in the future.
    ``benchmarks/choices.py`` prints the comparison, docs/defaults.md shows it.

    Examples
    --------
    >>> embedding_dims("half", {"store": 1115, "weekday": 7, "promo": 2})
    {'store': 50, 'weekday': 4, 'promo': 1}
    >>> embedding_dims({"store": 10}, {"store": 1115, "weekday": 7})
    {'store': 10, 'weekday': 4}
    """
    return {**_dims_by_rule(embedding_dim, n_categories), **(given or {})}


def _dims_by_rule(embedding_dim: Any, n_categories: Mapping[str, int]) -> dict[str, int]:
    if isinstance(embedding_dim, Mapping):
        check_column_names("embedding_dim", embedding_dim, n_categories, "a categorical column")
        wanted = {column: _positive(dim) for column, dim in embedding_dim.items()}
        return {
            column: _bound(wanted.get(column, _RULES[_DEFAULT_RULE](m)), m)
            for column, m in n_categories.items()
        }
    if isinstance(embedding_dim, str):
        name = _DEFAULT_RULE if embedding_dim == "auto" else embedding_dim
        if name not in _RULES:
            raise ParameterError(
                f'embedding_dim must be "auto", a rule ({", ".join(_RULES)}), a positive int, or '
                f"a dict of column to int; got {embedding_dim!r}.{did_you_mean(name, _RULES)}"
            )
        return {column: _bound(_RULES[name](m), m) for column, m in n_categories.items()}
    dim = _positive(embedding_dim)
    return {column: _bound(dim, m) for column, m in n_categories.items()}


def _positive(dim: Any) -> int:
    if is_count(dim):
        return int(dim)
    raise ParameterError(
        f'embedding_dim must be "auto", a positive int, or a dict of column to int; got {dim!r}.'
    )


def _bound(dim: float, m: int) -> int:
    return max(1, min(round(dim), m - 1))
