"""What the commands do, from files to files; the command line only names it."""
