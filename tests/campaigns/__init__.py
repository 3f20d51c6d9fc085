"""What is tried against catspace, seeded and as often as one likes.

A test runs a few cases of each campaign, and `benchmarks/trust.py` as many as a table deserves.
"""
