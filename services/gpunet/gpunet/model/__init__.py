"""The model: its definition, readers of weights, its ONNX graph, and the backends that run it. Knows no HTTP."""
