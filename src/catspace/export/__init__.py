"""What a fitted model hands out: an ONNX graph, a report, columns beside a table."""
