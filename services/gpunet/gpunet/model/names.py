"""Names in the graph that its writer and its runner share, apart so that serving a graph needs no `onnx`."""

INPUT, OUTPUT = "images", "logits"
