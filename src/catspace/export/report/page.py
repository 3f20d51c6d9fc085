"""The document of a model -> one HTML file that needs nothing else, and asks for nothing."""

import base64
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from catspace.estimators import load
from catspace.exceptions import CatspaceError
from catspace.export.report.records import Record
from catspace.export.report.summary import summarise
from catspace.names import visible
from catspace.storage.paths import expand
from catspace.storage.writing import write_text

# One script in the page, in parts that have a job each; a part uses those before it.
_SCRIPTS = ("base.js", "quality.js", "map.js", "column.js", "page.js")


def write_report(
    model: Any,
    path: str | Path,
    X: Any = None,
    y: Any = None,
    *,
    X_val: Any = None,
    y_val: Any = None,
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
    X_val, y_val : table or path, and array-like or str, optional
        Rows that the model was not trained on. How good it is, which columns matter and where it
        fails is shown on these, or on ``X`` where there are none.
    title : str, optional
    target_name : str, optional
        What to call the target, where ``y`` is no name.
    scores : mapping of method to mapping of score to float, optional
        Shown as they are, ``{"catspace": {"R²": 0.93}}``.
    on_step : callable, optional
        Called with the name of each column when its turn comes.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> from catspace import EmbeddingRegressor, write_report
    >>> X = pd.DataFrame({"town": ["Aachen", "Bonn", "Celle", "Dresden"] * 50})
    >>> y = [1.0, 1.1, 3.0, 3.1] * 50
    >>> model = EmbeddingRegressor(random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_report(model, f"{folder}/towns.html", X, y, title="Towns", target_name="rain")
    ...     Path(folder, "towns.html").read_text(encoding="utf-8")[:15]
    '<!doctype html>'
    """
    page = make_report(
        model,
        X,
        y,
        X_val=X_val,
        y_val=y_val,
        title=title,
        target_name=target_name,
        scores=scores,
        on_step=on_step,
    )
    page.save(path)


def make_report(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    X_val: Any = None,
    y_val: Any = None,
    title: str | None = None,
    target_name: str | None = None,
    scores: Mapping[str, Mapping[str, float]] | None = None,
    on_step: Callable[[str], None] = lambda step: None,
) -> "Report":
    """Return what a model learned as a page that notebooks show; the parameters of `write_report`.

    Examples
    --------
    >>> from catspace import EmbeddingRegressor, make_report, make_sales
    >>> sales = make_sales(n_rows=500, n_stores=5, random_state=0)
    >>> model = EmbeddingRegressor(max_epochs=1, random_state=0).fit(sales.X, sales.y)
    >>> make_report(model, title="Five shops")
    Report('Five shops', 5 MB)
    """
    check_report()
    if isinstance(model, (str, Path)):
        model = load(model)
    document = summarise(
        model,
        X,
        y,
        X_val=X_val,
        y_val=y_val,
        title=title,
        target_name=target_name,
        scores=scores,
        on_step=on_step,
    )
    return Report(document["title"], render(document))


@dataclass(frozen=True, repr=False)
class Report:
    """A page about a model: shown by notebooks, and written by `save`.

    Attributes
    ----------
    title : str
    html : str
        The whole page, which asks for nothing else.
    """

    title: str
    html: str

    def save(self, path: str | Path) -> None:
        """Write the page to a file, which appears when it is complete."""
        write_text(expand(path), self.html)

    def __repr__(self) -> str:
        return f"Report({self.title!r}, {len(self.html) / 1e6:.0f} MB)"

    def _repr_html_(self) -> str:
        """Return the page in a frame of its own, which cannot reach the notebook around it."""
        return (
            f'<iframe srcdoc="{escape(self.html)}" title="{escape(self.title)}" '
            'sandbox="allow-scripts allow-downloads" '
            'style="width:100%;height:820px;border:1px solid rgba(128,128,128,.4)"></iframe>'
        )


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
    parts = [(static / name).read_text(encoding="utf-8") for name in _SCRIPTS]
    library, script = _plotly(), '"use strict";\n(() => {\n' + "\n".join(parts) + "})();\n"
    page = Template((static / "page.html").read_text(encoding="utf-8"))
    return page.substitute(
        # The name of a window is text without order or style: what would turn it round is shown.
        title=escape(visible(document["title"])),
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
