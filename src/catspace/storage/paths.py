"""Names of files, as users write them."""

import os
from pathlib import Path


def expand(path: str | Path) -> Path:
    """Return a path whose ``~`` leads home; one that is nobody's home is a name like any other.

    Examples
    --------
    >>> expand("~$open.csv").name
    '~$open.csv'
    """
    return Path(os.path.expanduser(path))  # noqa: PTH111  # Path's own raises there
