"""Kubernetes quantities as plain numbers."""

import re

_QUANTITY = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)([numkMGTPE]?|[KMGTPE]i)")
_SCALES = {"": 1.0, "n": 1e-9, "u": 1e-6, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18} | {
    f"{prefix}i": 1024.0**power for power, prefix in enumerate("KMGTPE", start=1)
}


def quantity(value: str | int | float) -> float:
    """Returns `500m`, `320Gi` or `8` as a number: cores of CPU, bytes of memory, pieces of anything else.

    Args:
        value: the quantity as it stands in an object; a number stands for itself.

    Raises:
        ValueError: it is no quantity.
    """
    match = _QUANTITY.fullmatch(str(value).strip())
    if match is None:
        raise ValueError(f"{value!r} is not a Kubernetes quantity")
    return float(match[1]) * _SCALES[match[2]]


def readable(resource: str, amount: float) -> str:
    """Returns an amount of a resource in words: `7.91 cpu`, `57.2 GiB memory`, `8 nvidia.com/gpu`."""
    if resource == "memory" or resource.startswith("hugepages-"):
        return f"{amount / 1024**3:.4g} GiB {resource}"
    return f"{amount:.4g} {resource}"
