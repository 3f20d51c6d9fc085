"""The Chromium that pages are looked at with."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_BROWSERS = ("chromium", "google-chrome")
_FLAGS = [
    "--no-sandbox",  # which a container does not have
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-unsafe-swiftshader",  # WebGL without a graphics card
]


def find_browser() -> str | None:
    """Return the path of a browser, or None; where one is promised, its absence is an error."""
    path = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if path is None and os.environ.get("CATSPACE_NEEDS_BROWSER"):
        raise FileNotFoundError("No Chromium was found, so the report's page cannot be driven.")
    return path


@contextmanager
def running_browser(path: str) -> Iterator[Any]:
    """Yield a browser that playwright drives."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=_FLAGS)
        yield browser
        browser.close()


class Page:
    """A page that is open, all that it said, and all that it asked for."""

    def __init__(self, context: Any, address: str) -> None:
        self.context, self.address = context, address
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page = context.new_page()
        self.page.set_default_timeout(60_000)
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", lambda dialog: self.said.append(dialog.message))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(address)
        self.page.wait_for_selector("main section")

    def close(self) -> None:
        """Close the page; its console must be clean, and nothing else may have been asked for."""
        self.context.close()
        # The software that stands in for a graphics card complains of its own speed.
        said = [text for text in self.said if "GL Driver Message (OpenGL, Performance" not in text]
        assert not said, said
        others = [url for url in self.asked if not url.startswith(("data:", "blob:"))]
        assert others == [self.address], others


def section_of(page: Any, column: str) -> Any:
    """Return the section of a column, with its map drawn."""
    section = page.locator(
        "section", has=page.get_by_role("heading", level=2, name=column, exact=True)
    )
    draw_map(section)
    return section


def draw_map(section: Any) -> None:
    """Bring a map into view, and wait until it is drawn."""
    section.locator(".map").scroll_into_view_if_needed()
    section.locator(".map .nsewdrag").wait_for()


def pixel_of(section: Any, i: int) -> Any:
    """Return where on the screen the point of a category is."""
    return section.locator(".map").evaluate(
        """(map, i) => {
            const area = map.querySelector(".nsewdrag").getBoundingClientRect();
            const [left, right] = map.layout.xaxis.range, [low, high] = map.layout.yaxis.range;
            const {x, y} = map.data[0];
            return [area.x + (x[i] - left) / (right - left) * area.width,
                    area.y + (high - y[i]) / (high - low) * area.height];
        }""",
        i,
    )
