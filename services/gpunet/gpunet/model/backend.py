"""What runs a model: one small protocol, and a stand-in for a device with a cost model."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gpunet.model.architecture import CLASSES, RESOLUTION


@dataclass(frozen=True)
class ModelInfo:
    """What is served, as `/version` and the metric `model_info` tell it."""

    name: str
    version: str
    """The VersionId in the bucket, or `file`, or `random`."""
    sha256: str
    """Of the file that was loaded; empty where there is none."""
    weights: str
    """`ema`, `raw`, `plain` or `random`."""
    provider: str
    """What computes, as the runtime names it."""
    precision: str
    resolution: int


class Backend(Protocol):
    """Runs batches, one at a time, in a thread of its own."""

    @property
    def info(self) -> ModelInfo:
        """What is served."""
        ...

    @property
    def buckets(self) -> Sequence[int]:
        """The batch sizes that it runs, ascending. A smaller batch is filled up to one of them."""
        ...

    def run(self, images: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Computes logits, [batch, classes].

        Args:
            images: [batch, height, width, RGB]; batch is one of `buckets`, height and width are `info.resolution`.
        """
        ...


def buckets_up_to(most: int) -> tuple[int, ...]:
    """Returns the powers of two below `most`, and `most`."""
    return (*(2**power for power in range((most - 1).bit_length())), most)


class StubBackend:
    """Takes as long as a device would and computes nothing: for load tests of everything around the model.

    Its logits follow from the image alone, so that a test can tell whose answer is whose: the largest is that of the
    class `(red of the first pixel + 256 * green) % 1000`.

    Args:
        batch_ms, image_ms: a batch takes `batch_ms + size * image_ms`. The processor is free meanwhile, as it is when a
            GPU works.
        most: the largest batch.
    """

    def __init__(self, *, batch_ms: float = 2.0, image_ms: float = 0.2, most: int = 32) -> None:
        self.info = ModelInfo("stub", "stub", "", "random", "stub", "none", RESOLUTION)
        self.buckets = buckets_up_to(most)
        self._batch_ms, self._image_ms = batch_ms, image_ms

    def run(self, images: NDArray[np.uint8]) -> NDArray[np.float32]:
        time.sleep((self._batch_ms + len(images) * self._image_ms) / 1000)
        logits: NDArray[Any] = np.zeros((len(images), CLASSES), np.float32)
        first = images[:, 0, 0].astype(np.int64)
        logits[np.arange(len(images)), (first[:, 0] + 256 * first[:, 1]) % CLASSES] = 10
        return logits
