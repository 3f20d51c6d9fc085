"""Unpack the sdist and run its own tests on its own sources: python sdist_tests.py dist tests."""

import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path


def main() -> None:
    """End with what pytest ends with."""
    folder, *chosen = sys.argv[1:]
    (sdist,) = Path(folder).glob("*.tar.gz")
    with tempfile.TemporaryDirectory() as place, tarfile.open(sdist) as archive:
        archive.extractall(place, filter="data")
        (root,) = Path(place).iterdir()
        command = [sys.executable, "-m", "pytest", "-n", "2", "-m", "not cluster", *chosen]
        # The sources of the sdist, not those that the environment was made for.
        environment = os.environ | {"PYTHONPATH": str(root / "src")}
        sys.exit(subprocess.run(command, cwd=root, env=environment, check=False).returncode)


if __name__ == "__main__":
    main()
