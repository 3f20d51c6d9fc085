"""The README as a package index shows it, where paths of the repository lead nowhere."""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_IMAGE = re.compile(r"!\[([^\]]*)\]\((?!https?:)([^)]+)\)\n*")
_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((?!https?:)([^)]+)\)")


def for_an_index(text: str, home: str | None, version: str) -> str:
    """Return the README with addresses in place of paths, or without them where there is no home.

    Parameters
    ----------
    text : str
    home : str or None
        The address of the repository: ``Repository`` in ``[project.urls]``.
    version : str
        Images are those of its tag, so that a released page does not change.

    Examples
    --------
    >>> for_an_index("![A map](docs/map.png)", "https://code.example/catspace", "1.0")
    '![A map](https://code.example/catspace/raw/v1.0/docs/map.png)'
    >>> for_an_index("See the [guide](docs/guide.md).", None, "1.0")
    'See the guide.'
    """
    if home is None:
        return _LINK.sub(r"\1", _IMAGE.sub("", text))
    tag = f"v{version}"
    text = _IMAGE.sub(lambda m: m[0].replace(m[2], f"{home}/raw/{tag}/{m[2]}"), text)
    return _LINK.sub(lambda m: f"[{m[1]}]({home}/blob/{tag}/{m[2]})", text)


class ReadmeHook(MetadataHookInterface):
    """Gives hatchling the README of the package."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the field ``readme``."""
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        home = metadata.get("urls", {}).get("Repository")
        shown = for_an_index(text, home, metadata["version"])
        metadata["readme"] = {"content-type": "text/markdown", "text": shown}
