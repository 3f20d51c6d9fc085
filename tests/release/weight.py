"""How large an install with the base dependencies is, package by package."""

import sys
import sysconfig
from pathlib import Path


def weigh(path: Path) -> int:
    """Return the bytes of a file, or of all that is in a folder."""
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


def main() -> None:
    """Print the largest packages, and all together."""
    site = Path(sysconfig.get_paths()["purelib"])
    sizes = {path.name: weigh(path) for path in site.iterdir() if not path.name.startswith("pip")}
    for name in sorted(sizes, key=sizes.__getitem__, reverse=True)[:6]:
        print(f"{sizes[name] / 1e6:8.0f} MB  {name}")
    total = sum(sizes.values()) / 1e6
    print(f"{total:8.0f} MB  in all")
    if any(name.startswith("nvidia") for name in sizes):
        print("This is a build of torch for GPUs; docs/install.md says how to get the small one.")
    sys.exit(0)


if __name__ == "__main__":
    main()
