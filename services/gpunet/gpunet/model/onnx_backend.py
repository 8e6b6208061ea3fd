"""Runs an ONNX graph with ONNX Runtime, on the device that was asked for or not at all."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, cast

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from gpunet.model.architecture import CLASSES
from gpunet.model.backend import ModelInfo
from gpunet.model.errors import ModelCorrupt, ProviderMissing, WrongModel
from gpunet.model.names import INPUT, OUTPUT

Device = Literal["cpu", "cuda"]

PROVIDERS: Mapping[Device, str] = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}
# Each bucket is warmed, so cuDNN may search once per shape for the fastest algorithm; that is its default. The arena
# grows by what is asked for: by default it doubles, and a shared GPU belongs to others too.
_OPTIONS: Mapping[Device, dict[str, str]] = {"cpu": {}, "cuda": {"arena_extend_strategy": "kSameAsRequested"}}


class OnnxBackend:
    """A session of ONNX Runtime.

    Args:
        graph: a file's bytes, as `gpunet convert` writes it.
        info: what is known of it; provider, precision and resolution are filled in from the graph and the runtime.
        device: what shall compute.
        threads: processors that the CPU provider uses.
        buckets: batch sizes.

    Raises:
        ModelCorrupt: the bytes are not a graph that the runtime can read.
        WrongModel: the graph does not take uint8 images or does not give 1,000 logits.
        ProviderMissing: the runtime uses another device than the wanted one.
    """

    def __init__(self, graph: bytes, info: ModelInfo, *, device: Device, threads: int, buckets: Sequence[int]) -> None:
        runtime: Any = onnxruntime
        wanted = PROVIDERS[device]
        options: Any = runtime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        # Threads that spin while they wait take the processors that decode images.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        if device == "cuda":
            # CUDA and cuDNN come as Python packages; without this call the runtime does not look there.
            runtime.preload_dlls()
        _require(wanted in runtime.get_available_providers(), wanted, "this build of ONNX Runtime does not have it")
        try:
            session: Any = runtime.InferenceSession(graph, options, providers=[(wanted, _OPTIONS[device])])
        # The runtime's own exceptions share no base but this one.
        except Exception as error:
            raise ModelCorrupt(f"ONNX Runtime cannot open the graph: {type(error).__name__}") from error
        active = session.get_providers()
        # The runtime falls back to the CPU without an error, and no option of it turns that off.
        _require(active[0] == wanted, wanted, f"it did not load, and the runtime took {active[0]}")
        # Kept for changing providers later, which nobody does: as much memory as the model once more.
        if hasattr(session, "_model_bytes"):
            session._model_bytes = None
        self.buckets = tuple(buckets)
        self._session = session
        properties = cast("dict[str, str]", session.get_modelmeta().custom_metadata_map)
        self.info = replace(
            info,
            weights=properties.get("weights", info.weights),
            precision=properties.get("precision", info.precision),
            resolution=_resolution(session),
            provider=active[0],
        )

    def run(self, images: NDArray[np.uint8]) -> NDArray[np.float32]:
        return self._session.run([OUTPUT], {INPUT: images})[0]


def _require(met: bool, provider: str, why: str) -> None:
    if not met:
        raise ProviderMissing(
            f"{provider} was asked for, but {why}. Nothing is served from a slower device in silence: check the node's "
            "driver (CUDA 13 needs R580), the image's variant and the GPU request, or set GPUNET_DEVICE=cpu"
        )


def _resolution(session: Any) -> int:
    inputs, outputs = session.get_inputs(), session.get_outputs()
    given = [(value.name, value.type, list(value.shape)) for value in (*inputs, *outputs)]
    match given:
        case [
            (name, "tensor(uint8)", [str(), int(height), int(width), 3]),
            (result, "tensor(float)", [str(), classes]),
        ] if (name, result, classes) == (INPUT, OUTPUT, CLASSES) and height == width:
            return height
        case _:
            raise WrongModel(
                f"the graph's inputs and outputs are {given}; needed are {INPUT}, uint8 [batch, height, width, 3] and "
                f"{OUTPUT}, float [batch, {CLASSES}]: make it with `gpunet convert`"
            )
