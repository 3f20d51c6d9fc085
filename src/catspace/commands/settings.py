"""Parameters of the estimators, as they are typed: ``--set name=value``."""

import ast
from collections.abc import Iterable, Sequence
from typing import Any

from catspace.exceptions import ParameterError, did_you_mean

# Those that have an option of their own, which also decides other things.
_OPTIONS = {
    "categorical_features": "--categorical",
    "date_parts": "--dates",
    "early_stopping": "--early-stopping",
    "n_networks": "--networks",
    "random_state": "--seed",
}
_WORDS = {"true": True, "false": False, "none": None}


def parse_settings(typed: Iterable[str]) -> dict[str, Any]:
    """Return parameters by name.

    Examples
    --------
    >>> parse_settings(["dropout=0.1", "schedule=constant", "embedding_dim={'store': 10}"])
    {'dropout': 0.1, 'schedule': 'constant', 'embedding_dim': {'store': 10}}
    """
    settings: dict[str, Any] = {}
    for entry in typed:
        name, equals, value = entry.partition("=")
        name = name.strip()
        if not equals or not name:
            raise ParameterError(
                f"--set takes name=value; got {entry!r}.", hint="for example --set max_epochs=20"
            )
        if name in settings:
            raise ParameterError(f"--set gives {name!r} twice.")
        settings[name] = _parse_value(value.strip())
    return settings


def check_names(settings: Iterable[str], known: Sequence[str], estimator: str) -> None:
    """Raise where a name is no parameter of the estimator, or has an option of its own."""
    for name in settings:
        if name in _OPTIONS:
            raise ParameterError(
                f"--set names {name!r}, which has an option of its own: {_OPTIONS[name]}."
            )
        if name not in known:
            raise ParameterError(
                f"--set names {name!r}, which is no parameter of {estimator}."
                f"{did_you_mean(name, known)}",
                hint=f"they are: {', '.join(sorted({*known} - {*_OPTIONS}))}.",
            )


def _parse_value(typed: str) -> Any:
    if typed.lower() in _WORDS:
        return _WORDS[typed.lower()]
    try:
        return ast.literal_eval(typed)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return typed  # a word, such as constant
