"""The paper's experiments, on the public API only: a module for each, and what they share."""
