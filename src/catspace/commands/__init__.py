"""The command ``catspace``, and what its commands do, from files to files."""
