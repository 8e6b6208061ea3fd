"""Writes a network and its weights as an ONNX graph, without torch.

Batch norms are folded into the convolutions before them. The graph takes the pixels of whole images, uint8 in
[batch, height, width, RGB], and normalises them itself: a quarter of the bytes goes to the device, and no caller can
get the normalisation wrong. It gives logits, float32 in [batch, classes].
"""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto, helper, numpy_helper

from gpunet.model.architecture import Activation, Architecture, Block, Classifier, Convolution, SqueezeExcite
from gpunet.model.names import INPUT, OUTPUT

Precision = Literal["fp32", "fp16"]
Weights = Mapping[str, NDArray[Any]]

MEAN = (0.485, 0.456, 0.406)
STANDARD_DEVIATION = (0.229, 0.224, 0.225)
"""Of the red, green and blue of ImageNet, on a scale of 0 to 1: what the network was trained with."""

# 17 has every operator used here and is read by each ONNX Runtime since 1.12.
_OPSET, _IR = 17, 8
_PARTS = ("weight", "bias")


def write_graph(
    architecture: Architecture,
    weights: Weights,
    *,
    resolution: int,
    precision: Precision = "fp32",
    metadata: Mapping[str, str] | None = None,
) -> ModelProto:
    """Makes the graph.

    Args:
        architecture: the network.
        weights: arrays by their names in a checkpoint, complete and of the right shapes.
        resolution: height and width of the images in pixels.
        precision: of weights and computation; input and output do not depend on it.
        metadata: texts to keep in the file.
    """
    writer = _Writer(weights, architecture.epsilon, np.dtype(np.float16 if precision == "fp16" else np.float32))
    logits = writer.network(architecture, writer.normalised(INPUT))
    graph = helper.make_graph(
        [*writer.nodes, helper.make_node("Cast", [logits], [OUTPUT], to=TensorProto.FLOAT)],
        architecture.name,
        [helper.make_tensor_value_info(INPUT, TensorProto.UINT8, ["batch", resolution, resolution, 3])],
        [helper.make_tensor_value_info(OUTPUT, TensorProto.FLOAT, ["batch", architecture.classifier.outputs])],
        initializer=writer.initializers,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR)
    helper.set_model_props(model, dict(metadata or {}))
    return model


class _Writer:
    """Collects nodes and constants; each method appends what it is named for and returns the name of the result."""

    def __init__(self, weights: Weights, epsilon: float, dtype: "np.dtype[Any]") -> None:
        self.nodes: list[Any] = []
        self.initializers: list[TensorProto] = []
        self._weights = weights
        self._epsilon = epsilon
        self._dtype = dtype

    def normalised(self, images: str) -> str:
        # In float32 whatever the precision: half floats have too few bits for 255 levels times a scale.
        deviation = np.array(STANDARD_DEVIATION, np.float64)
        scale = (1 / (255 * deviation)).astype(np.float32).reshape(3, 1, 1)
        shift = (-np.array(MEAN, np.float64) / deviation).astype(np.float32).reshape(3, 1, 1)
        planes = self._node("Transpose", [images], perm=[0, 3, 1, 2])
        floats = self._node("Cast", [planes], to=TensorProto.FLOAT)
        scaled = self._node("Mul", [floats, self._constant("normalise.scale", scale)])
        shifted = self._node("Add", [scaled, self._constant("normalise.shift", shift)])
        return self._node("Cast", [shifted], to=helper.np_dtype_to_tensor_dtype(self._dtype))

    def network(self, architecture: Architecture, images: str) -> str:
        value = images
        for block in architecture.blocks:
            value = self._block(block, value)
        return self._classifier(architecture.classifier, value)

    def _block(self, block: Block, value: str) -> str:
        result = value
        for layer in block.layers:
            convolves = isinstance(layer, Convolution)
            result = self._convolution(layer, result) if convolves else self._squeeze_excite(layer, result)
        return self._node("Add", [result, value]) if block.skip else result

    def _convolution(self, layer: Convolution, value: str) -> str:
        weight, norm = self._float64(f"{layer.weight}.weight"), layer.norm
        deviation = np.sqrt(self._float64(f"{norm}.running_var") + self._epsilon)
        scale = self._float64(f"{norm}.weight") / deviation
        bias = self._float64(f"{norm}.bias") - self._float64(f"{norm}.running_mean") * scale
        constants = [
            self._constant(f"{layer.weight}.weight", weight * scale.reshape(-1, 1, 1, 1)),
            self._constant(f"{layer.weight}.bias", bias),
        ]
        result = self._node(
            "Conv",
            [value, *constants],
            kernel_shape=[layer.kernel] * 2,
            strides=[layer.stride] * 2,
            pads=[layer.padding] * 4,
            group=layer.inputs if layer.depthwise else 1,
        )
        return self._activation(layer.activation, result)

    def _squeeze_excite(self, layer: SqueezeExcite, value: str) -> str:
        means = self._node("GlobalAveragePool", [value])
        squeezed = self._activation(layer.activation, self._biased(f"{layer.name}.conv_reduce", means))
        gate = self._node("Sigmoid", [self._biased(f"{layer.name}.conv_expand", squeezed)])
        return self._node("Mul", [value, gate])

    def _biased(self, name: str, value: str) -> str:
        parts = [self._constant(f"{name}.{part}", self._float64(f"{name}.{part}")) for part in _PARTS]
        return self._node("Conv", [value, *parts], kernel_shape=[1, 1])

    def _classifier(self, layer: Classifier, value: str) -> str:
        flat = self._node("Flatten", [self._node("GlobalAveragePool", [value])])
        parts = [self._constant(f"{layer.name}.{part}", self._float64(f"{layer.name}.{part}")) for part in _PARTS]
        return self._node("Gemm", [flat, *parts], transB=1)

    def _activation(self, kind: Activation | None, value: str) -> str:
        if kind is None:
            return value
        if kind == "relu":
            return self._node("Relu", [value])
        return self._node("Mul", [value, self._node("Sigmoid", [value])])

    def _float64(self, name: str) -> NDArray[np.float64]:
        return self._weights[name].astype(np.float64)

    def _constant(self, name: str, values: NDArray[Any]) -> str:
        dtype = np.float32 if name.startswith("normalise.") else self._dtype
        self.initializers.append(numpy_helper.from_array(np.ascontiguousarray(values, dtype), name))
        return name

    def _node(self, operator: str, inputs: list[str], **attributes: Any) -> str:
        result = f"{operator.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [result], name=result, **attributes))
        return result
