"""Reads a safetensors file: eight bytes of length, a JSON header, then the tensors' bytes."""

import json
import math
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from gpunet.model.errors import ModelCorrupt

MOST_HEADER_BYTES = 16 * 2**20
_ELEMENTS = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4"}


def read_safetensors(data: bytes) -> dict[str, NDArray[Any]]:
    """Reads all tensors.

    Args:
        data: the whole file.

    Raises:
        ModelCorrupt: it is not such a file, is cut short, or holds an element type that weights do not have.
    """
    length = int.from_bytes(data[:8], "little")
    if len(data) < 8 or not 2 <= length <= min(len(data) - 8, MOST_HEADER_BYTES):
        raise ModelCorrupt("not a safetensors file: it does not begin with the length of its header")
    try:
        header: Any = json.loads(data[8 : 8 + length])
        return {
            name: _tensor(memoryview(data)[8 + length :], name, cast("dict[str, Any]", entry))
            for name, entry in header.items()
            if name != "__metadata__"
        }
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ModelCorrupt("not a safetensors file: its header cannot be understood") from error


def _tensor(body: memoryview, name: str, entry: dict[str, Any]) -> NDArray[Any]:
    kind, shape = str(entry["dtype"]), [int(size) for size in entry["shape"]]
    begin, end = (int(offset) for offset in entry["data_offsets"])
    is_bfloat16 = kind == "BF16"
    if not is_bfloat16 and kind not in _ELEMENTS:
        raise ModelCorrupt(f"{name} has elements of type {kind}; known are {', '.join(sorted([*_ELEMENTS, 'BF16']))}")
    dtype = np.dtype("<u2" if is_bfloat16 else _ELEMENTS[kind])
    if min(shape, default=0) < 0 or not 0 <= begin <= end <= len(body):
        raise ModelCorrupt(f"{name} lies outside of the file: it is cut short")
    if end - begin != math.prod(shape) * dtype.itemsize:
        raise ModelCorrupt(f"{name} has {end - begin} bytes, which does not fit its shape {shape}")
    values = np.frombuffer(body[begin:end], dtype)
    if is_bfloat16:
        values = (values.astype(np.uint32) << 16).view(np.float32)
    return values.reshape(shape)
