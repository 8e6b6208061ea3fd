"""From a file's bytes to the complete weights of a network, and which of a checkpoint's two sets they are.

A training checkpoint holds the weights as they were last (`state_dict`) and their moving average (`state_dict_ema`).
Accuracy is published for the average, so it is taken when there is one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from gpunet.model.architecture import Architecture
from gpunet.model.errors import WrongModel
from gpunet.model.pickled import Tensor, read_pickled
from gpunet.model.safetensors import read_safetensors

Kind = Literal["ema", "raw", "plain", "random"]
"""`plain` is a file with one set of weights that does not say which it is."""
Choice = Literal["auto", "ema", "raw"]


@dataclass(frozen=True)
class LoadedWeights:
    """Arrays by their names in a checkpoint, and which set they are."""

    arrays: dict[str, NDArray[Any]]
    kind: Kind


def read_checkpoint(data: bytes, architecture: Architecture, choice: Choice = "auto") -> LoadedWeights:
    """Reads what `torch.save` wrote: a training checkpoint, or a bare state_dict.

    Args:
        data: the whole file.
        architecture: what the weights must fit.
        choice: which set; `auto` takes the average and falls back to the last weights.

    Raises:
        ModelCorrupt: it cannot be read.
        WrongModel: it has no such set, or the set does not fit.
    """
    content = read_pickled(data)
    if not isinstance(content, dict):
        raise WrongModel(f"the checkpoint holds a {type(content).__name__}, not a dictionary of weights")
    sets = cast("dict[str, Any]", content)
    kind: Kind = "plain"
    found: Any = sets
    if "state_dict" in sets or "state_dict_ema" in sets:
        has_average = isinstance(sets.get("state_dict_ema"), dict)
        kind = choice if choice != "auto" else ("ema" if has_average else "raw")
        found = sets.get("state_dict_ema" if kind == "ema" else "state_dict")
    elif choice != "auto":
        raise WrongModel(f"{choice} weights were asked for, but the file holds one set and does not say which it is")
    if not isinstance(found, dict):
        raise WrongModel(f"the checkpoint has no {kind} weights; it has {', '.join(map(str, sets))}")
    return LoadedWeights(_fitting(cast("dict[str, Any]", found), architecture), kind)


def read_tensors(data: bytes, architecture: Architecture) -> LoadedWeights:
    """Reads a safetensors file, which holds one set of weights.

    Raises:
        ModelCorrupt: it cannot be read.
        WrongModel: the weights do not fit.
    """
    return LoadedWeights(_fitting(read_safetensors(data), architecture), "plain")


def random_weights(architecture: Architecture, seed: int) -> LoadedWeights:
    """Draws weights: the same for the same seed, everywhere. They classify nothing.

    Gains are larger than those of a fresh network, so that every layer matters to the logits: an error anywhere in the
    graph moves them by a hundredth of the largest or more.
    """
    arrays: dict[str, NDArray[Any]] = {}
    for number, (name, shape) in enumerate(architecture.entries().items()):
        draw = np.random.default_rng([seed, number])
        if name.endswith("num_batches_tracked"):
            arrays[name] = np.array(1, np.int64)
            continue
        if len(shape) >= 2:
            values = draw.normal(0, 1 / np.sqrt(np.prod(shape[1:])), shape)
        elif name.endswith("running_var"):
            values = draw.uniform(0.4, 1.6, shape)
        elif name.endswith(".weight"):
            values = draw.uniform(0.6, 1.6, shape)
        else:
            values = draw.normal(0, 0.3, shape)
        arrays[name] = values.astype(np.float32)
    return LoadedWeights(arrays, "random")


def _fitting(found: Mapping[str, Any], architecture: Architecture) -> dict[str, NDArray[Any]]:
    """The entries that the network needs, read; names may carry the prefix of a data-parallel run."""
    entries = {str(name).removeprefix("module."): value for name, value in found.items()}
    known = architecture.entries()
    # They count batches in training; no inference needs them, and some tools drop them.
    needed = {name: shape for name, shape in known.items() if not name.endswith("num_batches_tracked")}
    missing = [name for name in needed if name not in entries]
    foreign = [name for name in entries if name not in known]
    if missing or foreign:
        listed = "; ".join(
            f"{what} {len(names)}: {', '.join(map(repr, names[:3]))}{', ...' if len(names) > 3 else ''}"
            for what, names in (("missing", missing), ("unknown", foreign))
            if names
        )
        raise WrongModel(f"these are not the weights of {architecture.name}: {listed}")
    return {name: _array(name, entries[name], shape) for name, shape in needed.items()}


def _array(name: str, value: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    if not isinstance(value, Tensor | np.ndarray):
        raise WrongModel(f"{name!r} is a {type(value).__name__}, not a tensor")
    tensor = cast("Tensor | NDArray[Any]", value)
    if tensor.shape != shape:
        raise WrongModel(f"{name!r} has shape {tensor.shape}, and must have {shape}")
    array = tensor.read() if isinstance(tensor, Tensor) else tensor
    if not np.isfinite(array).all():
        raise WrongModel(f"{name!r} holds values that are not finite: the training run diverged, or the file broke")
    return array
