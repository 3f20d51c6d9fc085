"""All campaigns, by name."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.campaigns import files, full_disk, kills, names, nodes, threads
from tests.campaigns.outcome import Outcome


@dataclass(frozen=True)
class Campaign:
    """What is tried, and how often: for a table, and in a test."""

    what: str
    run: Callable[..., Outcome]
    n_cases: int
    n_in_tests: int


CAMPAIGNS = {
    "damage": Campaign("damaged model files", files.damage_files, 1_000_000, 400),
    "craft": Campaign("crafted model files", files.craft_files, 10_000, 40),
    "save": Campaign("kills in save", kills.kill_saves, 500, 10),
    "kill": Campaign("kills in fit, predict and reproduce", kills.kill_commands, 200, 3),
    "threads": Campaign("fits and predictions in threads", threads.use_threads, 200, 18),
    "disk": Campaign("writes to a full disk", full_disk.fill_disks, 1_000, 6),
    "names": Campaign("hostile names", names.show_names, 200, 10),
    "nodes": Campaign("nodes lost in a fit on a cluster", nodes.lose_nodes, 50, 1),
}
