"""Links that lead out of `docs/` on a code host lead to the page of the site with that text."""

import re
from typing import Any

# Files beside `docs/` that have a page here; the page includes the file.
PAGES = {
    "CHANGELOG.md": "changelog.md",
    "CODE_OF_CONDUCT.md": "code-of-conduct.md",
    "CONTRIBUTING.md": "contributing.md",
    "README.md": "index.md",
    "SECURITY.md": "security.md",
}
_LINK = re.compile(r"\]\((?:\.\./)?([A-Z_]+\.md)(#[^)]*)?\)")
_INTO_DOCS = re.compile(r"\]\(docs/([^)]+)\)")


def lead_to_pages(text: str) -> str:
    """Return Markdown whose links to files of the repository lead to their pages.

    Examples
    --------
    >>> lead_to_pages("See [security](../SECURITY.md#how-to-report) and [trust](docs/trust.md).")
    'See [security](security.md#how-to-report) and [trust](trust.md).'
    """
    text = _INTO_DOCS.sub(r"](\1)", text)
    return _LINK.sub(lambda m: f"]({PAGES.get(m[1], m[1])}{m[2] or ''})", text)


def with_title(text: str, docname: str) -> str:
    """Return a page with a title: records that `catspace reproduce` writes have none.

    Examples
    --------
    >>> with_title("| variant |", "reproduction/map").splitlines()[0]
    '# Record: map'
    """
    return text if text.startswith("# ") else f"# Record: {docname.rpartition('/')[2]}\n\n{text}"


def _on_source_read(app: Any, docname: str, content: list[str]) -> None:
    content[0] = lead_to_pages(content[0])
    if docname.startswith("reproduction/"):
        content[0] = with_title(content[0], docname)


def _on_include_read(app: Any, path: Any, docname: str, content: list[str]) -> None:
    content[0] = lead_to_pages(content[0])


def setup(app: Any) -> dict[str, bool]:
    """Tell Sphinx of the extension."""
    app.connect("source-read", _on_source_read)
    app.connect("include-read", _on_include_read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
