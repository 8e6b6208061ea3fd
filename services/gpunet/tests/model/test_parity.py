"""Whether our graph is the network: against logits that the original implementation gave, in float64."""

import dataclasses
import hashlib
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper

from gpunet.model.architecture import GPUNET_0, Convolution, SqueezeExcite
from gpunet.model.backend import ModelInfo
from gpunet.model.errors import WrongModel
from gpunet.model.graph import MEAN, STANDARD_DEVIATION, write_graph
from gpunet.model.onnx_backend import OnnxBackend
from gpunet.model.weights import _fitting

CASE = np.load(Path(__file__).parents[1] / "data" / "parity.npz")
TOLERANCE = 1e-4


def normalised_input():
    """The case's input, by its recipe."""
    draw = np.random.default_rng([int(CASE["seed"]), 10_000])
    return draw.normal(0, 1, (2, 3, 320, 320)).astype(np.float32)


def logits_of(architecture, weights, given=None):
    """Runs the graph behind its normalisation: the case's input is no image."""
    whole = write_graph(architecture, weights, resolution=320).graph
    nodes = list(whole.node)
    first = next(place for place, node in enumerate(nodes) if node.op_type == "Conv")
    nodes[first].input[0] = "x"
    entry = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3, 320, 320])
    kept = [value for value in whole.initializer if not value.name.startswith("normalise.")]
    graph = helper.make_graph(nodes[first:], "behind", [entry], list(whole.output), initializer=kept)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, {"x": normalised_input() if given is None else given})[0]


def difference(logits):
    """From the original's, as a share of the largest logit."""
    return np.abs(logits - CASE["logits"]).max() / np.abs(CASE["logits"]).max()


def changed(place, layer, **changes):
    """The architecture with one layer of one block changed."""
    blocks = list(GPUNET_0.blocks)
    layers = list(blocks[place].layers)
    layers[layer] = dataclasses.replace(layers[layer], **changes)
    blocks[place] = dataclasses.replace(blocks[place], layers=tuple(layers))
    return dataclasses.replace(GPUNET_0, blocks=tuple(blocks))


def test_weights_and_input_are_those_of_the_case(weights):
    digest = hashlib.sha256()
    for array in weights.values():
        digest.update(array.tobytes())

    assert digest.hexdigest() == str(CASE["weights_sha256"])
    assert hashlib.sha256(normalised_input().tobytes()).hexdigest() == str(CASE["input_sha256"])


def test_logits_are_those_of_the_original(weights):
    assert difference(logits_of(GPUNET_0, weights)) < TOLERANCE


FIRST_STRIDED_FUSED = next(place for place, block in enumerate(GPUNET_0.blocks) if "layer5" in block.layers[0].weight)


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(changed(FIRST_STRIDED_FUSED, 0, padding=1), id="padding of a strided fused block"),
        pytest.param(dataclasses.replace(GPUNET_0, epsilon=1e-5), id="batch-norm epsilon"),
        pytest.param(changed(0, 0, activation="relu"), id="head's activation"),
        pytest.param(
            dataclasses.replace(
                GPUNET_0,
                blocks=tuple(
                    dataclasses.replace(b, skip=b.skip or "layer4" in str(b.layers[0])) for b in GPUNET_0.blocks
                ),
            ),
            id="a skip around a plain convolution",
        ),
    ],
)
def test_an_error_that_no_shape_shows_moves_the_logits(wrong, weights):
    assert difference(logits_of(wrong, weights)) > 10 * TOLERANCE


def test_another_squeeze_width_is_no_fit(weights):
    place = next(
        n for n, block in enumerate(GPUNET_0.blocks) if any(isinstance(x, SqueezeExcite) for x in block.layers)
    )
    wrong = changed(place, 2, squeezed=320)

    with pytest.raises(WrongModel, match="shape"):
        _fitting(weights, wrong)


def test_the_network_has_the_published_size():
    shapes = GPUNET_0.entries()
    learned = [s for n, s in shapes.items() if "running" not in n and "tracked" not in n]

    assert len(shapes) == 184
    assert sum(int(np.prod(shape)) for shape in learned) == 11_885_432
    assert sum(isinstance(layer, Convolution) for block in GPUNET_0.blocks for layer in block.layers) == 29


def test_the_normalisation_is_inside(weights, graph):
    pixels = np.random.default_rng(3).integers(0, 256, (1, 320, 320, 3), np.uint8)
    info = ModelInfo("", "", "", "", "", "", 0)
    whole = OnnxBackend(graph, info, device="cpu", threads=1, buckets=(1,)).run(pixels)
    by_hand = ((pixels / 255 - MEAN) / STANDARD_DEVIATION).transpose(0, 3, 1, 2).astype(np.float32)

    behind = logits_of(GPUNET_0, weights, by_hand)

    assert np.abs(whole - behind).max() < 1e-5 * np.abs(behind).max(), "as training would feed it"
