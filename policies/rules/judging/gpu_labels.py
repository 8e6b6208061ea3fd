"""What a node announces in place of whole NVIDIA GPUs, by the labels that tell its plug-in how to share them.

Karpenter's NodeOverlays say the same of its pools; a node group has only its labels.
"""

import re
from collections.abc import Mapping
from typing import Any

_WHOLE = "nvidia.com/gpu"
_REPLICAS = "nvidia.com/gpu.replicas"
_MIG_CONFIG = "nvidia.com/mig.config"
_DRA = "nvidia.com/dra-kubelet-plugin"
_ALL_ALIKE = re.compile(r"all-(?P<profile>(?P<sevenths>\d)g\.(?P<gb>\d+)gb)")


def announced(labels: Mapping[str, str], row: Mapping[str, Any]) -> dict[str, float]:
    """Returns the amounts that replace a node's own, by resource; none where pods get whole GPUs.

    Args:
        labels: the node's labels.
        row: its instance type, with `accelerators` and `accelerator_memory_mib`.
    """
    if labels.get(_DRA) == "true":
        # Claims hand the GPUs out, and no resource counts them.
        return {_WHOLE: 0.0}
    partition = _ALL_ALIKE.fullmatch(labels.get(_MIG_CONFIG, ""))
    if partition:
        count = row["accelerators"] * _partitions(int(partition["sevenths"]), int(partition["gb"]), row)
        return {_WHOLE: 0.0, f"nvidia.com/mig-{partition['profile']}": count}
    replicas = labels.get(_REPLICAS, "")
    if replicas.isdigit() and int(replicas) > 1:
        return {_WHOLE: 0.0, f"{_WHOLE}.shared": row["accelerators"] * int(replicas)}
    return {}


def _partitions(sevenths: int, gb: int, row: Mapping[str, Any]) -> int:
    """Returns how many partitions one GPU has room for: it has seven parts of processors and eight of memory."""
    eighths = round(8 * gb / (row["accelerator_memory_mib"] / 1024))
    return min(7 // sevenths, 8 // eighths) if sevenths and eighths else 0
