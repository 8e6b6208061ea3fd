"""Makes the file that a service should load: one ONNX graph, and a manifest that says what is in it.

A checkpoint of 182 MB becomes 48 MB, or 24 MB in half precision, and is open in half the time.
"""

import hashlib
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from gpunet.model.architecture import GPUNET_0
from gpunet.model.backend import ModelInfo
from gpunet.model.loading import ModelChoice, graph_of
from gpunet.model.onnx_backend import OnnxBackend
from gpunet.model.source import read_model


def convert(source: Path, target: Path, choice: ModelChoice) -> dict[str, Any]:
    """Writes the graph to `target` and the manifest beside it, each whole or not at all.

    Args:
        source: a checkpoint or safetensors file.
        target: where the graph goes; the manifest's name is `target` with `.manifest.json` for its suffix.
        choice: weights, precision, resolution and SHA-256 count.

    Returns:
        The manifest. `drift` is what half precision costs: the largest difference of a logit from single precision on
        one image of noise, as a share of the largest logit.

    Raises:
        ModelError: the source is missing, corrupt or another model.
    """
    read = read_model(source, None, choice.sha256)
    graph, kind = graph_of(read, choice)
    logits = _logits(graph)
    reference = logits
    if choice.precision != "fp32":
        reference = _logits(graph_of(read, replace(choice, precision="fp32"))[0])
    manifest: dict[str, Any] = {
        "name": GPUNET_0.name,
        "file": target.name,
        "sha256": hashlib.sha256(graph).hexdigest(),
        "bytes": len(graph),
        "weights": kind,
        "precision": choice.precision,
        "resolution": choice.resolution,
        "input": "images: uint8 [batch, height, width, RGB], normalised inside",
        "output": "logits: float32 [batch, 1000]",
        "source": {"file": source.name, "sha256": read.sha256},
        "drift": float(np.abs(logits - reference).max() / np.abs(reference).max()),
    }
    _write(target, graph)
    _write(target.with_suffix(".manifest.json"), (json.dumps(manifest, indent=2) + "\n").encode())
    return manifest


def _logits(graph: bytes) -> "np.ndarray[Any, np.dtype[np.float32]]":
    backend = OnnxBackend(graph, ModelInfo("", "", "", "", "", "", 0), device="cpu", threads=1, buckets=(1,))
    size = backend.info.resolution
    return backend.run(np.random.default_rng(0).integers(0, 256, (1, size, size, 3), np.uint8))


def _write(path: Path, data: bytes) -> None:
    draft = path.with_name(f".{path.name}.tmp")
    draft.write_bytes(data)
    os.replace(draft, path)
