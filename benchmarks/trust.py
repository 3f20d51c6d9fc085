"""Is anything lost, silent or let in? Campaigns against catspace, each bounded and seeded.

`python benchmarks/trust.py` runs all of them, which takes about three hours;
`python benchmarks/trust.py --scale 0.01 --only damage craft` a hundredth of two.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

# Before anything reads it: threads for each core in each process would wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from common import print_table, timed

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.campaigns.campaigns import CAMPAIGNS, Campaign

MOST_SHOWN = 20


def run(campaign: Campaign, n_cases: int, seed: int, wrong: list[str]) -> list[str]:
    """Run a campaign; return its row of the table, and add what went wrong to a list."""
    with tempfile.TemporaryDirectory() as folder:
        outcome, seconds = timed(
            lambda: campaign.run(n_cases, seed=seed, folder=Path(folder).resolve())
        )
    wrong += [f"{campaign.what}: {sentence}" for sentence in outcome.wrong]
    found = ", ".join(f"{what} {count:,}" for what, count in sorted(outcome.counts.items()))
    return [
        campaign.what,
        f"{outcome.n_cases:,}",
        found,
        f"{len(outcome.wrong):,}",
        f"{seconds:,.0f}",
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=CAMPAIGNS, default=list(CAMPAIGNS))
    parser.add_argument("--scale", type=float, default=1.0, help="share of the cases, for a trial")
    parser.add_argument("--seed", type=int, default=0)
    for name, campaign in CAMPAIGNS.items():
        help_ = f"how many {campaign.what}; {campaign.n_cases:,} by default"
        parser.add_argument(f"--{name}", type=int, metavar="N", help=help_)
    arguments = parser.parse_args()
    wrong: list[str] = []
    print_table(
        ["campaign", "cases", "what happened", "wrong", "seconds"],
        (
            run(
                CAMPAIGNS[name],
                getattr(arguments, name)
                or max(1, round(CAMPAIGNS[name].n_cases * arguments.scale)),
                arguments.seed,
                wrong,
            )
            for name in arguments.only
        ),
    )
    for sentence in wrong[:MOST_SHOWN]:
        print(f"\nwrong: {sentence}")
    sys.exit(bool(wrong))
