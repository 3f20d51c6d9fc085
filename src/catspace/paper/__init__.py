"""The paper's experiments, on the public API only: protocol, methods, tables."""
