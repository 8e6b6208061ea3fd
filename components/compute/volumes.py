"""The volumes of a node by image family: which device holds what."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Volume:
    """One EBS volume of a node."""

    device: str
    """Device name in the image."""
    size_gib: int
    """Size, GiB."""
    iops: int | None = None
    """Operations a second, None for gp3's 3000."""
    throughput_mib: int | None = None
    """MiB a second, None for gp3's 125."""


_BOTTLEROCKET_SYSTEM_GIB = 4
"""Bottlerocket keeps its system on a volume of its own, which never grows (Karpenter's default too)."""

_DATA_DEVICES: Mapping[str, str] = {"bottlerocket": "/dev/xvdb", "al2023": "/dev/xvda"}
"""The device that holds images and containers."""


def volumes_of(
    family: str, disk_gib: int, disk_iops: int | None = None, disk_throughput_mib: int | None = None
) -> list[Volume]:
    """The volumes of a node.

    Args:
        family: image family, `bottlerocket` or `al2023`.
        disk_gib: size of the volume that holds images and containers, GiB.
        disk_iops: operations a second of that volume, None for gp3's 3000.
        disk_throughput_mib: MiB a second of that volume, None for gp3's 125.
    """
    data = Volume(_DATA_DEVICES[family], disk_gib, disk_iops, disk_throughput_mib)
    return [Volume("/dev/xvda", _BOTTLEROCKET_SYSTEM_GIB), data] if family == "bottlerocket" else [data]
