"""``python -m catspace`` is the command ``catspace``."""

from catspace.commands.cli import main

main()
