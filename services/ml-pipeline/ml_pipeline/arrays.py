"""Arrays and JSON as files.

Arrays are `.npz` without pickle: a file that anybody could have written is read, and none of it is run.
"""

import hashlib
import io
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from ml_pipeline.errors import PipelineError


def pack(arrays: Mapping[str, Any]) -> bytes:
    """Arrays as the content of an `.npz` file."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def unpack(content: bytes) -> dict[str, Any]:
    """The arrays of an `.npz` file.

    Raises:
        PipelineError: it is none, or holds Python objects.
    """
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except (ValueError, OSError, EOFError, AttributeError) as error:
        raise PipelineError(f"The file is not an .npz of plain arrays: {error}.") from error


def to_json(value: Any) -> bytes:
    """A value as JSON, the same bytes for the same value."""
    return (json.dumps(value, indent=2, sort_keys=True) + "\n").encode()


def digest(content: bytes) -> str:
    """The SHA-256 of a file, hexadecimal."""
    return hashlib.sha256(content).hexdigest()
