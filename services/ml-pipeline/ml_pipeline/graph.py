"""A model as an ONNX graph, with the scale in front: it takes rows as they come in the data set.

A graph is data for a fixed set of operators. A pickle, as which models of scikit-learn usually travel, runs code when
it is loaded.
"""

from typing import Any

import numpy as np
import onnxruntime
from skl2onnx import to_onnx
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ml_pipeline.network import Network
from ml_pipeline.run import Classes, Prepared, Rows


def graph_of(network: Network, prepared: Prepared) -> bytes:
    """The graph of a network: rows of 32-bit numbers in, `label` and `probabilities` out.

    Args:
        network: the network, trained on rows on the training part's scale.
        prepared: the data set that it was trained on.
    """
    model = make_pipeline(StandardScaler().fit(prepared.x_train), network.model)
    options = {id(network.model): {"zipmap": False}}
    graph: Any = to_onnx(model, prepared.x_train[:1].astype(np.float32), options=options)
    return graph.SerializeToString()


def told_by(graph: bytes, x: Rows) -> Classes:
    """The classes that a graph tells for rows as they come in the data set."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    label = session.run([session.get_outputs()[0].name], {session.get_inputs()[0].name: x.astype(np.float32)})[0]
    return np.asarray(label)
