"""The document of a model -> one HTML file that needs nothing else, and asks for nothing."""

import base64
import hashlib
import json
from collections.abc import Callable, Mapping
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from catspace.estimators import load
from catspace.exceptions import CatspaceError
from catspace.export.report.summary import Record, summarise
from catspace.storage.writing import write_text


def write_report(
    model: Any,
    path: str | Path,
    X: Any = None,
    y: Any = None,
    *,
    title: str | None = None,
    target_name: str | None = None,
    scores: Mapping[str, Mapping[str, float]] | None = None,
    on_step: Callable[[str], None] = lambda step: None,
) -> None:
    """Write what a model learned as one HTML page that opens offline in any browser.

    Parameters
    ----------
    model : fitted estimator, or path to a model file
    path : str or Path
        Appears when it is complete.
    X : table or path, optional
        The training table. With it, categories are coloured by their mean target and by other
        columns, and the learned distances are set against the model's predictions.
    y : array-like of shape (n_rows,) or str, optional
        The target, or the name of its column; may be left out where fit was given the name.
    title : str, optional
    target_name : str, optional
        What to call the target, where ``y`` is no name.
    scores : mapping of method to mapping of score to float, optional
        Shown as they are, ``{"catspace": {"R²": 0.93}}``.
    on_step : callable, optional
        Called with the name of each column when its turn comes.
    """
    check_report()
    if isinstance(model, (str, Path)):
        model = load(model)
    document = summarise(
        model,
        X,
        y,
        title=title,
        target_name=target_name,
        scores=scores,
        on_step=on_step,
    )
    write_text(Path(path).expanduser(), render(document))


def check_report() -> None:
    """Raise where a page cannot be drawn: to be said before the work that leads to it."""
    try:
        import plotly.offline  # noqa: F401
    except ImportError:
        raise CatspaceError(
            "The report needs plotly.", hint='install it with: pip install "catspace[report]"'
        ) from None


def render(document: Record) -> str:
    """Return the page as text."""
    static = files("catspace.export.report") / "static"
    # "<" cannot end the element early, whatever a category is called.
    data = json.dumps(document, ensure_ascii=True, separators=(",", ":")).replace("<", "\\u003c")
    library, script = _plotly(), (static / "page.js").read_text(encoding="utf-8")
    page = Template((static / "page.html").read_text(encoding="utf-8"))
    return page.substitute(
        title=escape(document["title"]),
        # Only these scripts run, and none of them may ask for anything.
        hashes=" ".join(_hash(text) for text in (library, script)),
        style=(static / "page.css").read_text(encoding="utf-8"),
        data=data,
        library=library,
        script=script,
    )


def _plotly() -> str:
    check_report()
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs())


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
    return f"'sha256-{digest}'"
