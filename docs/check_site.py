"""Look at every page that was built: it asks no other host for anything, its links have an end.

python docs/check_site.py docs/_build/html
"""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Elements by which a page asks for something when it is opened; a link asks when it is followed.
ASKING = {
    "audio": ("src",), "embed": ("src",), "iframe": ("src",), "img": ("src", "srcset"),
    "link": ("href",), "object": ("data",), "script": ("src",), "source": ("src", "srcset"),
    "video": ("src", "poster"),
}  # fmt: skip
# Of `<link>`, these are for machines that read the page, which a browser does not follow.
NOT_ASKED = {"canonical", "next", "prev", "index", "search", "author", "license"}


class Page(HTMLParser):
    """What a page asks for, where it leads, and the names of its parts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.asked: list[str] = []
        self.links: list[str] = []
        self.names: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note one element."""
        values = {name: value or "" for name, value in attrs}
        self.names |= {values[key] for key in ("id", "name") if key in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if tag == "link" and set(values.get("rel", "").split()) & NOT_ASKED:
            return
        self.asked += [values[key] for key in ASKING.get(tag, ()) if values.get(key)]


def is_elsewhere(address: str) -> bool:
    """Whether an address is one of another host.

    Examples
    --------
    >>> is_elsewhere("//fonts.example/a.css"), is_elsewhere("_static/a.css"), is_elsewhere("data:,")
    (True, False, False)
    """
    return bool(urlsplit(address).netloc)


def find_requests(path: Path, page: Page | None) -> list[str]:
    """Return what a page or a style sheet asks for on other hosts."""
    asked = page.asked if page else re.findall(r"url\(\s*['\"]?([^'\")]+)", path.read_text("utf-8"))
    return [address for address in asked if is_elsewhere(address)]


def leads_nowhere(address: str, path: Path, pages: dict[Path, Page]) -> bool:
    """Whether a link of a page leads to a file, or a part of one, that the site does not have."""
    where = urlsplit(address)
    if where.scheme or where.netloc:
        return False
    target = (path.parent / unquote(where.path)).resolve() if where.path else path
    target = target / "index.html" if target.is_dir() else target
    if target in pages and where.fragment:
        return unquote(where.fragment) not in pages[target].names
    return not target.is_file()


def find_faults(site: Path) -> list[str]:
    """Return a sentence for each request to another host and each link that leads nowhere."""
    # Pages that examples wrote forbid every request themselves; the project's tests look at them.
    own = [path for path in site.rglob("*") if path.relative_to(site).parts[0] != "pages"]
    pages = {path: Page(path.read_text("utf-8")) for path in own if path.suffix == ".html"}
    sheets = [path for path in own if path.suffix == ".css"]
    asking = [
        f"{path.relative_to(site)} asks {address}"
        for path in [*pages, *sheets]
        for address in find_requests(path, pages.get(path))
    ]
    lost = [
        f"{path.relative_to(site)} leads to {address}, which is not there"
        for path, page in pages.items()
        for address in page.links
        if address != "#" and leads_nowhere(address, path, pages)
    ]
    return asking + lost


def main() -> None:
    """Print the faults of a site, and end with 1 where there are any."""
    site = Path(sys.argv[1]).resolve()
    faults = find_faults(site)
    n_pages = len(list(site.rglob("*.html")))
    print(
        *faults or [f"{n_pages} pages: no request to another host, no link without an end."],
        sep="\n",
    )
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
