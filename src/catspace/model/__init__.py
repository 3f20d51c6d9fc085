"""The network and how it is trained; the only part that needs torch."""
