"""Hostile names on the report's page, in a real Chromium: title, panel, hover and table."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from catspace.names import visible
from tests.export.chromium import Page, draw_map, find_browser, pixel_of, running_browser

_HIDDEN = re.compile("[\u0000-\u001f\u007f\u202a-\u202e\u2066-\u2069]")
_UNFOLD = "() => document.querySelectorAll('details').forEach(one => { one.open = true; })"
_TAGS = "() => [...new Set([...document.querySelectorAll('*')].map(e => e.localName))]"


@contextmanager
def open_browser() -> Iterator["Browser | None"]:
    """Yield a browser; None where there is none."""
    path = find_browser()
    if path is None:
        yield None
        return
    with running_browser(path) as running:
        yield Browser(running)


class Browser:
    """Looks at pages, and knows which elements harmless ones have."""

    def __init__(self, running: Any) -> None:
        self._running = running
        self._tags: set[str] = set()

    def look(
        self, path: Path, target: str, column: str, categories: Sequence[str], few: Sequence[str]
    ) -> None:
        """Look at a page in every place where names are; the first one must be harmless.

        Parameters
        ----------
        path : Path
        target : str
            Its name, which stands in the title.
        column : str
            One with a map.
        categories, few : sequence of str
            Those of the column, and those of the next one, which are so few that a table has them.
        """
        context = self._running.new_context(viewport={"width": 1280, "height": 900})
        opened = Page(context, path.as_uri())
        try:
            tags = self._walk(opened.page, target, column, categories, few)
        finally:
            opened.close()
        self._tags = self._tags or tags
        assert tags <= self._tags, f"the page has made {tags - self._tags} of a name"

    def _walk(
        self, page: Any, target: str, column: str, categories: Sequence[str], few: Sequence[str]
    ) -> set[str]:
        heading = page.locator("h1").inner_text()
        assert _words(_HIDDEN.sub("\ufffd", target))[:50] in _words(heading), heading
        assert not _HIDDEN.search(page.title()), f"{page.title()!r} is turned round"
        assert " ".join(visible(target).split())[:50] in " ".join(page.title().split())
        page.evaluate(_UNFOLD)
        sections = page.locator("main section[id^=column]")
        map_section = sections.filter(has=page.locator(".map"))
        table_section = sections.filter(has_not=page.locator(".map"))
        _check_shown(column, map_section.locator("h2").inner_text())
        draw_map(map_section)
        data = page.evaluate("JSON.parse(document.getElementById('data').textContent)")
        assert sorted(data["columns"][0]["categories"]) == sorted(categories)
        for i, category in enumerate(data["columns"][0]["categories"]):
            page.evaluate("([name, i]) => catspaceReport.get(name).pin(i)", [column, i])
            _check_shown(category, map_section.locator(".panel h3").first.inner_text())
        page.mouse.move(*pixel_of(map_section, 0))
        hover = map_section.locator(".hoverlayer .hovertext").first
        hover.wait_for()
        said = _words(hover.text_content())
        shown = [_words(_readable(category, 40)) for category in categories]
        assert any(text in said for text in shown), f"{said!r} is none of {shown}"
        readable = [sorted(_words(_readable(name, most)) for name in few) for most in (60, 300)]
        for table in table_section.locator("table").all():
            cells = table.locator("tbody td:first-child").all_inner_texts()
            assert sorted(map(_words, cells)) in readable, cells
        return set(page.evaluate(_TAGS))


def _check_shown(name: str, text: str) -> None:
    wanted, found = _words(_readable(name, 300)), _words(text)
    assert found == wanted, f"{found!r} is shown for {wanted!r}"
    assert not _HIDDEN.search(text), f"{text!r} is turned round"


def _readable(name: str, most: int) -> str:
    """Return a name as the page is to show it: a long one by its beginning and its end."""
    text = _HIDDEN.sub("\ufffd", name)
    if not text.strip("\ufeff\u2028 "):
        text = f'"{text}"'
    end = (most - 1) // 2
    return text if len(text) <= most else f"{text[: most - 1 - end]}…{text[-end:]}"


def _words(text: str) -> str:
    """Return a text without what browsers do with space."""
    return " ".join(re.sub("[\u2068\u2069\ufeff\u200b]", "", text).split())
