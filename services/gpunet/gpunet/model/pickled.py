"""Reads a checkpoint that `torch.save` wrote, without torch and without running anything that the file asks for.

Such a file is a zip: `data.pkl` describes the objects, `data/<key>` holds the bytes of each tensor. A pickle can call
any function by name; here a name that is not on a short list ends the reading. Tensors are only described while the
pickle is read; the bytes of those that nobody asks for (an optimizer's, two thirds of a training checkpoint) never are.
"""

import io
import math
import pickle
import zipfile
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpunet.model.errors import ModelCorrupt

MOST_PICKLE_BYTES = 64 * 2**20
"""A training checkpoint's description takes about 0.1 MB; this bounds what a broken file can make us read."""

_ELEMENTS = {
    "FloatStorage": "<f4",
    "DoubleStorage": "<f8",
    "HalfStorage": "<f2",
    "LongStorage": "<i8",
    "IntStorage": "<i4",
    "ShortStorage": "<i2",
    "CharStorage": "i1",
    "ByteStorage": "u1",
    "BoolStorage": "?",
    # numpy has no bfloat16; whoever reads it gets its upper half of a float32.
    "BFloat16Storage": "bfloat16",
}


@dataclass(frozen=True)
class Tensor:
    """A tensor that has not been read yet."""

    storage: "_Storage"
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def read(self) -> NDArray[Any]:
        """Returns its values.

        Raises:
            ModelCorrupt: its bytes are missing, or too few for its shape.
        """
        values = self.storage.read()
        if any(n < 0 for n in (self.offset, *self.shape, *self.strides)) or len(self.shape) != len(self.strides):
            raise ModelCorrupt(f"tensor of shape {self.shape}: negative or unequal offsets, sizes and strides")
        last = self.offset + sum((size - 1) * stride for size, stride in zip(self.shape, self.strides, strict=True))
        # A stride of 0 would let a small file describe a tensor of any size.
        if math.prod(self.shape) > len(values) or (0 not in self.shape and last >= len(values)):
            raise ModelCorrupt(
                f"tensor of shape {self.shape} does not fit the {len(values)} elements that it is cut from"
            )
        width = values.itemsize
        view = np.lib.stride_tricks.as_strided(
            values[self.offset :], self.shape, [stride * width for stride in self.strides], writeable=False
        )
        return np.array(view)


@dataclass(frozen=True)
class _Storage:
    archive: zipfile.ZipFile
    name: str
    dtype: str

    def read(self) -> NDArray[Any]:
        data = _entry(self.archive, self.name)
        if self.dtype == "bfloat16":
            return (np.frombuffer(data, "<u2").astype(np.uint32) << 16).view(np.float32)
        return np.frombuffer(data, self.dtype)


def read_pickled(data: bytes) -> Any:
    """Reads the objects of a checkpoint; tensors among them are `Tensor`.

    Args:
        data: the whole file.

    Raises:
        ModelCorrupt: it is not such a file, or it names something that a checkpoint of weights does not need.
    """
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    # zipfile raises five more kinds of errors for damaged directories.
    except Exception as error:
        raise ModelCorrupt(
            "not a zip archive, as torch.save has written since torch 1.6. Older ones: load it with torch and save it "
            "once more"
        ) from error
    description = next((name for name in archive.namelist() if name.rpartition("/")[2] == "data.pkl"), None)
    if description is None:
        raise ModelCorrupt("a zip archive without data.pkl: torch.save did not write it")
    folder = description.removesuffix("data.pkl")
    order = f"{folder}byteorder"
    if order in archive.namelist() and _entry(archive, order) != b"little":
        raise ModelCorrupt("written on a big-endian machine: load it with torch and save it as safetensors")
    if archive.getinfo(description).file_size > MOST_PICKLE_BYTES:
        raise ModelCorrupt(f"data.pkl is over {MOST_PICKLE_BYTES} bytes, no description of weights is")
    try:
        return _Reader(archive, folder, _entry(archive, description)).load()
    except ModelCorrupt:
        raise
    # A pickle is a program: whatever its opcodes can raise on foreign operands comes out here.
    except Exception as error:
        raise ModelCorrupt(f"data.pkl cannot be read: {type(error).__name__}") from error


def _entry(archive: zipfile.ZipFile, name: str) -> bytes:
    try:
        entry = archive.getinfo(name)
        if entry.compress_type != zipfile.ZIP_STORED:
            raise ModelCorrupt(f"{name} is compressed, torch.save never does that")
        return archive.read(entry)
    except ModelCorrupt:
        raise
    except Exception as error:
        raise ModelCorrupt(f"{name} is missing or damaged") from error


class _Reader(pickle.Unpickler):
    """An unpickler for which only the names that checkpoints need exist.

    What the names stand for is made for each file anew: a pickle can also set attributes on what it was given.
    """

    def __init__(self, archive: zipfile.ZipFile, folder: str, description: bytes) -> None:
        super().__init__(io.BytesIO(description), encoding="utf-8")
        self._archive, self._folder = archive, folder
        self._known: dict[tuple[str, str], Any] = {
            ("collections", "OrderedDict"): self._ordered,
            # Training scripts keep their command line beside the weights.
            ("argparse", "Namespace"): type("Namespace", (_Forgetful,), {}),
            ("torch._utils", "_rebuild_tensor_v2"): self._tensor,
            ("torch._utils", "_rebuild_parameter"): self._parameter,
        }

    def find_class(self, module: str, name: str, /) -> Any:
        if module == "torch" and name in _ELEMENTS:
            return _Element(_ELEMENTS[name])
        known = self._known.get((module, name))
        if known is None:
            raise ModelCorrupt(
                f"the checkpoint asks for {module}.{name}, which weights do not need; it is not read. If you trust it, "
                "load it with torch and save its state_dict as safetensors"
            )
        return known

    def persistent_load(self, pid: Any, /) -> "_Storage":
        kind, element, key, _device, _count = pid
        if kind != "storage" or not isinstance(element, _Element) or not str(key).isalnum():
            raise ModelCorrupt("data.pkl refers to something else than a tensor's bytes")
        return _Storage(self._archive, f"{self._folder}data/{key}", element.dtype)

    def _tensor(self, storage: Any, offset: int, shape: Any, strides: Any, *_: Any) -> Tensor:
        if not isinstance(storage, _Storage):
            raise ModelCorrupt("data.pkl makes a tensor of something else than a tensor's bytes")
        return Tensor(storage, int(offset), tuple(map(int, shape)), tuple(map(int, strides)))

    def _parameter(self, tensor: Any, *_: Any) -> Any:
        return tensor

    def _ordered(self, *items: Any) -> "OrderedDict[Any, Any]":
        return OrderedDict(*items)


@dataclass(frozen=True, slots=True)
class _Element:
    """Stands in for a storage class of torch: the type of a tensor's elements."""

    dtype: str


class _Forgetful:
    def __setstate__(self, state: Any) -> None:
        """Nobody reads it."""
