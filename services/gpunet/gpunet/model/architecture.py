"""GPUNet-0 as data: its blocks, and the name and shape of every entry of a checkpoint.

The numbers are those that NVIDIA's GPUNet builder gives for its configuration `GV100/0.65ms`. Four of them cannot be
seen in a checkpoint (all shapes fit without them) and are wrong in silence: the batch-norm epsilon, the head's
activation, the missing padding of strided fused blocks, and the missing skip of plain convolutions.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Activation = Literal["relu", "swish"]
Shape = tuple[int, ...]

CLASSES = 1000
RESOLUTION = 320
"""Height and width in pixels at which GPUNet-0 was trained and its accuracy was published."""


@dataclass(frozen=True)
class Convolution:
    """A convolution as a checkpoint holds it, with the batch norm that follows.

    `padding` counts pixels on each side; `depthwise` means one group per channel.
    """

    weight: str
    norm: str
    inputs: int
    outputs: int
    kernel: int
    stride: int = 1
    padding: int = 0
    depthwise: bool = False
    activation: Activation | None = None

    def entries(self) -> Iterator[tuple[str, Shape]]:
        """Yields names and shapes, in a checkpoint's order."""
        yield f"{self.weight}.weight", (self.outputs, 1 if self.depthwise else self.inputs, self.kernel, self.kernel)
        yield from ((f"{self.norm}.{part}", (self.outputs,)) for part in ("weight", "bias", "running_mean"))
        yield f"{self.norm}.running_var", (self.outputs,)
        yield f"{self.norm}.num_batches_tracked", ()


@dataclass(frozen=True)
class SqueezeExcite:
    """Scales each channel by a gate computed from the means of all of them, through `squeezed` channels."""

    name: str
    channels: int
    squeezed: int
    activation: Activation

    def entries(self) -> Iterator[tuple[str, Shape]]:
        """Yields names and shapes, in a checkpoint's order."""
        yield f"{self.name}.conv_reduce.weight", (self.squeezed, self.channels, 1, 1)
        yield f"{self.name}.conv_reduce.bias", (self.squeezed,)
        yield f"{self.name}.conv_expand.weight", (self.channels, self.squeezed, 1, 1)
        yield f"{self.name}.conv_expand.bias", (self.channels,)


@dataclass(frozen=True)
class Block:
    """Layers in a row; with `skip`, the input is added to what comes out."""

    layers: tuple[Convolution | SqueezeExcite, ...]
    skip: bool = False


@dataclass(frozen=True)
class Classifier:
    """The mean over all pixels, then one linear layer."""

    name: str
    inputs: int
    outputs: int = CLASSES

    def entries(self) -> Iterator[tuple[str, Shape]]:
        """Yields names and shapes, in a checkpoint's order."""
        yield f"{self.name}.weight", (self.outputs, self.inputs)
        yield f"{self.name}.bias", (self.outputs,)


@dataclass(frozen=True)
class Architecture:
    """A whole network."""

    name: str
    blocks: tuple[Block, ...]
    classifier: Classifier
    epsilon: float
    """Added to a batch norm's variance."""

    def entries(self) -> dict[str, Shape]:
        """Returns name and shape of every entry that a checkpoint must hold, in its order."""
        found: dict[str, Shape] = {}
        for block in self.blocks:
            for layer in block.layers:
                found.update(layer.entries())
        found.update(self.classifier.entries())
        return found


def _plain(prefix: str, inputs: int, outputs: int) -> Block:
    # Input and output fit, and yet nothing is added: the builder gives plain convolutions no skip.
    return Block((Convolution(f"{prefix}.conv", f"{prefix}.bn1", inputs, outputs, 3, padding=1, activation="relu"),))


def _fused(prefix: str, inputs: int, outputs: int, *, stride: int = 1, expansion: int = 5) -> Block:
    middle = inputs * expansion
    # With stride 2 the builder asks for padding "same", which then nobody applies: 160 pixels become 79, not 80.
    padding = 1 if stride == 1 else 0
    expand = Convolution(
        f"{prefix}.conv_exp", f"{prefix}.bn1", inputs, middle, 3, stride=stride, padding=padding, activation="relu"
    )
    project = Convolution(f"{prefix}.conv_pwl", f"{prefix}.bn2", middle, outputs, 1)
    return Block((expand, project), skip=stride == 1 and inputs == outputs)


def _inverted(
    prefix: str,
    inputs: int,
    outputs: int,
    activation: Activation,
    *,
    stride: int = 1,
    expansion: int = 5,
    squeezed: int | None = None,
) -> Block:
    middle = inputs * expansion
    gate = (SqueezeExcite(f"{prefix}.se", middle, squeezed, activation),) if squeezed else ()
    return Block(
        (
            Convolution(f"{prefix}.conv_pw", f"{prefix}.bn1", inputs, middle, 1, activation=activation),
            Convolution(
                f"{prefix}.conv_dw", f"{prefix}.bn2", middle, middle, 3, stride=stride, padding=1, depthwise=True,
                activation=activation,
            ),
            *gate,
            Convolution(f"{prefix}.conv_pwl", f"{prefix}.bn3", middle, outputs, 1),
        ),
        skip=stride == 1 and inputs == outputs,
    )  # fmt: skip


_HEAD, _TAIL = "network.head: 2.net", "network. layer15.net"

GPUNET_0 = Architecture(
    name="gpunet-0",
    blocks=(
        Block((Convolution(f"{_HEAD}.0", f"{_HEAD}.1", 3, 32, 3, stride=2, padding=1, activation="swish"),)),
        _plain("network.stage: 1 layer3", 32, 32),
        _plain("network.stage: 1 layer4", 32, 32),
        _fused("network.stage: 2 layer5", 32, 32, stride=2),
        _fused("network.stage: 2 layer6", 32, 32),
        _fused("network.stage: 3 layer7", 32, 64, stride=2),
        _fused("network.stage: 3 layer8", 64, 64),
        _fused("network.stage: 3 layer9", 64, 64),
        _inverted("network.stage: 4 layer10", 64, 256, "swish", stride=2),
        _inverted("network.stage: 4 layer11", 256, 256, "swish"),
        _inverted("network.stage: 4 layer12", 256, 256, "swish"),
        # The gate is a quarter of the block's input: round(inputs * expansion * 0.25 / expansion).
        _inverted("network.stage: 6 layer13", 256, 704, "relu", stride=2, squeezed=64),
        _inverted("network.stage: 6 layer14", 704, 704, "relu", squeezed=176),
        Block((Convolution(f"{_TAIL}.0", f"{_TAIL}.1", 704, 1280, 1, activation="relu"),)),
    ),
    classifier=Classifier(f"{_TAIL}.6", 1280),
    epsilon=1e-3,
)
