"""Pages that an example of the gallery writes are part of the site, behind a link in its place."""

import shutil
from pathlib import Path
from typing import Any

# Copied into the site as it is (`html_extra_path` in conf.py).
EXTRA = Path(__file__).parents[1] / "_build" / "extra"


def scrape(block: Any, variables: dict[str, Any], gallery: dict[str, Any]) -> str:
    """Return a link to the HTML file that the variable ``page`` of an example names.

    The file is moved into the site, so that it is shown once and the next block finds none.
    """
    page = variables["example_globals"].get("page")
    if not isinstance(page, Path) or page.suffix != ".html" or not page.exists():
        return ""
    place = EXTRA / "pages" / page.name
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(page, place)
    # The example's page is gallery/SECTION/NAME.html.
    return (
        "\n.. raw:: html\n\n"
        f'   <p><a class="sd-btn sd-btn-primary" href="../../pages/{page.name}">'
        "Open the page that this has written</a></p>\n\n"
    )
