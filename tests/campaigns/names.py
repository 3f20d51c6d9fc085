"""Hostile names, in every place where a person sees them.

Each name is that of a column, of its categories and of the target's classes, in a model that is
then shown in a terminal, as a page and in a browser, as CSV, as SVG and as an ONNX graph.
"""

import csv
import io
import json
import random
import re
import unicodedata
import warnings
from collections.abc import Iterable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np
import pandas as pd

import catspace
from catspace import EmbeddingClassifier, analysis, to_onnx, write_report
from catspace.exceptions import CatspaceError, CatspaceWarning
from catspace.names import visible
from tests.campaigns.browser import Browser, open_browser
from tests.campaigns.commands import command
from tests.campaigns.outcome import Outcome

_PIECES = (
    "[/kg]", "a" * 300, "[bold]", "[link=https://x.org]y[/link]", ":warning:", "\\[x]", "[[",
    "\x1b[2J", "\x1b]8;;https://x.org\x07", "\x1b]0;title\x07", "\x9b31m", "\x00", "\x07", "\x08",
    "\r", "\n", "\t", "\u2028", "\u202e", "\u2066", "\ufeff", "\u200b", "<script>alert(1)</script>",
    "</script>", "<!--", "-->", "<img src=x onerror=alert(1)>", "<b>", "&lt;", "&#60;", "]]>",
    "javascript:alert(1)", "=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "'=1", "\uff1d1",
    "%s", "{0}", "{x!r}", "$x^2$", "$\\frac{", "\\", "\\n", '"', "'", ",", ";", "|", "`", "~",
    "../../x", "C:\\x", "__class__", "Köln", "👩‍🚀", "\uff21\uff22", "é", "ﷺ", " x ",
    "prediction", "y", "missing", "rare", "unseen", "category", "constructor", "__proto__",
)  # fmt: skip
_OBEYED = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_FORMULA = re.compile("'*[=+\\-@\t\r\n＝＋－＠]")  # noqa: RUF001
_DRAWN = {"svg", "metadata", "defs", "style", "g", "path", "use", "clipPath", "rect", "text"}


def hostile_names(n_names: int, seed: int) -> list[str]:
    """Return names: each piece alone first, then pieces beside each other."""
    dice, names = random.Random(seed), dict.fromkeys(_PIECES)
    while len(names) < n_names:
        glue = dice.choice(("", " ", "x"))
        names[glue.join(dice.choices(_PIECES, k=dice.randint(2, 3)))] = None
    return list(names)[:n_names]


def show_names(n_cases: int, *, seed: int, folder: Path) -> Outcome:
    """Show names in a terminal, a page, a CSV file, a picture and an ONNX graph."""
    outcome = Outcome()
    with open_browser() as browser:
        harmless = _Subject("town", folder)
        scene = _Scene(_tags(harmless.page()), browser)
        _show_in_browser(harmless, scene)
        for name in hostile_names(n_cases, seed):
            outcome.n_cases += 1
            before = len(outcome.wrong)
            with _judging(outcome, f"{name!r}, fit"):
                subject = _Subject(name, folder)
            if len(outcome.wrong) > before:
                continue
            for place, show in _SHOW.items():
                with _judging(outcome, f"{name!r}, {place}"):
                    outcome.counts[f"{place}: {show(subject, scene)}"] += 1
    return outcome


class _Scene(NamedTuple):
    """What names are shown with."""

    tags: list[str]  # the elements of any page
    browser: Browser | None


def _judging(outcome: Outcome, name: str) -> Any:
    outcome.n_cases -= 1  # a name is one case, however many places it is seen in
    return outcome.case(name)


class _Subject:
    """A model all of whose names are hostile, with its table."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.folder = name, folder
        self.few = [name, f"{name}2", f"x{name}"]
        self.categories = [*self.few, f"{name}3", f"y{name}"]
        self.classes = [f"{name}!", f"y{name}"]
        self.X = pd.DataFrame(
            {
                name: self.categories * 12,
                f"{name} too": self.few * 20,
                "size of it": np.arange(60.0) % 7,
            }
        )
        self.y = np.array(self.classes * 30, dtype=object)
        settings = {"max_epochs": 1, "smooth": 0, "random_state": 0, "n_jobs": 1}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CatspaceWarning)
            self.model = EmbeddingClassifier(hidden_layer_sizes=(4,), **settings).fit(
                self.X, self.y
            )
        self.path = folder / "named.catspace"
        self.model.save(self.path)
        loaded = catspace.load(self.path)
        assert loaded.classes_.tolist() == sorted(self.classes)
        assert sorted(loaded.embeddings_[name].categories) == sorted(self.categories)

    def page(self) -> str:
        path = self.folder / "page.html"
        write_report(self.model, path, self.X, self.y, target_name=self.name)
        return path.read_text(encoding="utf-8")


def _show_in_terminal(subject: _Subject, scene: _Scene) -> str:
    """Ask commands about the model: they show each name, and nothing that a terminal obeys."""
    name, table = subject.name, subject.folder / "named.parquet"
    subject.X.to_parquet(table)
    asked = command("neighbors", subject.path, "--", name, name)
    info = command("info", subject.path)
    for done in (asked, info, command("predict", subject.path, table, "-o", "/dev/null")):
        _check_obeyed(done.said)
        assert "Traceback" not in done.said, done.said[-300:]
    for done in (asked, info):
        assert done.code == 0, done.said
        assert visible(name).strip() in done.said, done.said
    refused = [command("neighbors", subject.path, "--", f"{name} ", name)]
    if "\0" not in name:  # which no argument of a command can hold
        refused.append(command("info", subject.folder / "none" / name))
    for done in refused:
        _check_obeyed(done.said)
        done.check_sentence()
    return "shown"


def _check_obeyed(text: str) -> None:
    obeyed = {c for c in text if unicodedata.category(c) in _OBEYED} - set("\n\u200c\u200d")
    assert not obeyed, f"a terminal obeys {obeyed}"


def _show_as_page(subject: _Subject, scene: _Scene) -> str:
    """Write a page: its elements are those of any page, and its data have the names as they are."""
    page = subject.page()
    assert _tags(page) == scene.tags, "the page has other elements"
    data = json.loads(page.split('id="data">', 1)[1].split("</script>", 1)[0])
    texts = set(_texts(data))
    assert subject.name in texts, "the page lacks the name"
    return "shown"


def _show_in_browser(subject: _Subject, scene: _Scene) -> str:
    """Open the page: whatever can be seen, pointed at and picked has the names, as text."""
    if scene.browser is None:
        return "there is none"
    path = subject.folder / "page.html"  # which has been written
    scene.browser.look(path, subject.name, subject.name, subject.categories, subject.few)
    return "shown"


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.found.append(" ".join([tag, *sorted(name for name, _ in attributes)]))

    def handle_comment(self, data: str) -> None:
        self.found.append("comment")


def _tags(page: str) -> list[str]:
    parser = _Tags()
    parser.feed(page)
    parser.close()
    return parser.found


def _texts(value: Any) -> Iterable[str]:
    if isinstance(value, dict):
        for key, inside in value.items():
            yield from (key, *_texts(inside))
    elif isinstance(value, list):
        for inside in value:
            yield from _texts(inside)
    elif isinstance(value, str):
        yield value


def _show_as_csv(subject: _Subject, scene: _Scene) -> str:
    """Predict into a CSV file: no cell is a formula, and the names can be had back."""
    table, out = subject.folder / "named.parquet", subject.folder / "out.csv"
    subject.X.to_parquet(table)
    done = command("predict", subject.path, table, "--proba", "-o", out)
    if subject.name == "prediction":
        done.check_sentence()
        return "refused"
    assert done.code == 0, done.said
    with out.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    for cell in {cell for row in rows for cell in row}:
        is_formula = _FORMULA.match(cell) and not cell.startswith("'")
        assert not is_formula or _is_number(cell), f"a spreadsheet runs {cell!r}"
    header, *cells = [[_unquoted(cell) for cell in row] for row in rows]
    assert header[0] == subject.name
    assert {row[0] for row in cells} == set(subject.categories), {row[0] for row in cells}
    predicted = {row[header.index("prediction")] for row in cells}
    assert predicted <= set(subject.classes), predicted
    return "shown"


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _unquoted(cell: str) -> str:
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def _show_as_svg(subject: _Subject, scene: _Scene) -> str:
    """Draw pictures: well-formed, of nothing but shapes and text, with the names in it."""
    from matplotlib import pyplot as plt

    from catspace import plots

    near = analysis.nearest(subject.model, subject.name, subject.name, k=2)
    with plt.rc_context({"svg.fonttype": "none"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")  # not every font has every letter
        file = io.BytesIO()
        plots.plot_nearest(near).figure.savefig(file, format="svg")
        plt.close("all")
    root = ElementTree.fromstring(file.getvalue())
    found = {element.tag.rpartition("}")[2] for element in root.iter()}
    strange = {tag for tag in found - _DRAWN if tag not in {"RDF", "Work", "type", "date"}}
    assert not strange - {"format", "creator", "Agent", "title", "tspan"}, strange
    texts = "".join(root.itertext())
    _check_obeyed(texts)
    for category in near["category"]:
        text = visible(category)
        if "$" not in text and "\\" not in text:  # which matplotlib writes in ways of its own
            assert "".join(text[:12].split()) in "".join(texts.split()), (
                f"{category!r} is not shown"
            )
    return "shown"


def _show_as_onnx(subject: _Subject, scene: _Scene) -> str:
    """Hand out a graph: it runs, its input has the name of the column, its labels are classes."""
    import onnxruntime

    try:
        graph = to_onnx(subject.model)
    except CatspaceError:
        return "refused in a sentence"
    inputs = [found.name for found in graph.graph.input]
    assert inputs == list(subject.X.columns), inputs
    session = onnxruntime.InferenceSession(graph.SerializeToString())
    values = [subject.X[[name]].to_numpy() for name in subject.X]
    outputs = session.run(None, dict(zip(inputs, values, strict=True)))
    assert outputs[0].ravel().tolist() == subject.model.predict(subject.X).tolist()
    return "shown"


_SHOW = {
    "terminal": _show_in_terminal,
    "page": _show_as_page,
    "browser": _show_in_browser,
    "csv": _show_as_csv,
    "svg": _show_as_svg,
    "onnx": _show_as_onnx,
}
