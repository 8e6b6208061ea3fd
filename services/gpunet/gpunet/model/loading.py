"""From settings to a backend that is warm: reads the model, makes a graph of it where it is not one, runs each bucket.

Blocks for seconds: whoever serves meanwhile calls it in a thread.
"""

import logging
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from gpunet.memory import give_back
from gpunet.model.architecture import GPUNET_0
from gpunet.model.backend import Backend, ModelInfo, StubBackend, buckets_up_to
from gpunet.model.errors import WrongModel
from gpunet.model.source import ModelBytes, S3Object, read_model

SUFFIXES = (".onnx", ".safetensors", ".pth", ".pt", ".tar")
RANDOM_SEED = 0

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ModelChoice:
    """What to serve and how; the fields of `Settings` say what each means."""

    backend: Literal["onnxruntime", "stub"] = "onnxruntime"
    path: Path | None = None
    s3_object: S3Object | None = None
    sha256: str | None = None
    random_weights: bool = False
    weights: Literal["auto", "ema", "raw"] = "auto"
    precision: Literal["fp32", "fp16"] = "fp32"
    resolution: int = 320
    device: Literal["cpu", "cuda"] = "cpu"
    threads: int = 1
    most_batch: int = 4
    stub_batch_ms: float = 2.0
    stub_image_ms: float = 0.2


def load(choice: ModelChoice) -> Backend:
    """Loads and warms.

    Raises:
        ModelError: the model is missing, corrupt or another one, or the device is not there.
    """
    started = time.perf_counter()
    backend = _open(choice)
    opened = time.perf_counter()
    warm(backend)
    give_back()
    log.info(
        "model loaded and warm",
        extra={
            "model": vars(backend.info),
            "load_seconds": round(opened - started, 2),
            "warm_up_seconds": round(time.perf_counter() - opened, 2),
            "buckets": list(backend.buckets),
        },
    )
    return backend


def warm(backend: Backend) -> None:
    """Runs each bucket once, so that no request pays for it (on a GPU the first run of a shape takes seconds)."""
    size = backend.info.resolution
    for bucket in backend.buckets:
        backend.run(np.zeros((bucket, size, size, 3), np.uint8))


def graph_of(source: ModelBytes, choice: ModelChoice) -> tuple[bytes, str]:
    """Returns the graph of a model, and which weights are in it.

    Raises:
        ModelCorrupt: it cannot be read.
        WrongModel: it is not this network, or its file's suffix is not known.
    """
    # Imported late: a converted model needs neither the readers nor `onnx`.
    from gpunet.model.graph import write_graph
    from gpunet.model.weights import random_weights, read_checkpoint, read_tensors

    match source.suffix:
        case ".pth" | ".pt" | ".tar":
            weights = read_checkpoint(source.data, GPUNET_0, choice.weights)
        case ".safetensors":
            weights = read_tensors(source.data, GPUNET_0)
        case "" if choice.random_weights:
            weights = random_weights(GPUNET_0, RANDOM_SEED)
        case _:
            raise WrongModel(f"a model's file name ends in {', '.join(SUFFIXES)}, not in {source.suffix!r}")
    metadata = {
        "name": GPUNET_0.name,
        "weights": weights.kind,
        "precision": choice.precision,
        "source_sha256": source.sha256,
    }
    graph = write_graph(
        GPUNET_0, weights.arrays, resolution=choice.resolution, precision=choice.precision, metadata=metadata
    )
    return graph.SerializeToString(), weights.kind


def _open(choice: ModelChoice) -> Backend:
    if choice.backend == "stub":
        return StubBackend(batch_ms=choice.stub_batch_ms, image_ms=choice.stub_image_ms, most=choice.most_batch)
    from gpunet.model.onnx_backend import OnnxBackend

    if choice.random_weights:
        log.warning("weights are random: labels mean nothing")
        source = ModelBytes(b"", "", "random", "")
    else:
        source = read_model(choice.path, choice.s3_object, choice.sha256)
    graph, kind = (source.data, "unknown") if source.suffix == ".onnx" else graph_of(source, choice)
    info = ModelInfo(GPUNET_0.name, source.version, source.sha256, kind, "", choice.precision, choice.resolution)
    return OnnxBackend(
        graph, info, device=choice.device, threads=choice.threads, buckets=buckets_up_to(choice.most_batch)
    )
