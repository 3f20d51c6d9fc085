"""What vectors that live on are worth: updates, given vectors, folds and quantiles.

`python benchmarks/living.py` prints all of them, `python benchmarks/living.py update given` some.
Each is a script of its own, with options of its own: `python benchmarks/living_update.py --help`.
"""

import argparse
import subprocess
import sys
from pathlib import Path

SCRIPTS = ("update", "given", "folds", "quantiles")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"any of {', '.join(SCRIPTS)}")
    for name in parser.parse_args().names or SCRIPTS:
        print(f"\n{name}\n", flush=True)
        script = Path(__file__).with_name(f"living_{name}.py")
        subprocess.run([sys.executable, script], check=True)
