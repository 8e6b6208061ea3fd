"""What stores outside the cluster are to pods, as the layers hand it on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pulumi

from components.langfuse import LangfuseStores
from components.milvus import MilvusStores
from components.volume_claims import BlockVolume

FILE_OWNER = 1000
"""User and group that every file on EFS belongs to, whoever writes it: the user of notebook and Ray images."""

LUSTRE_VERSION = "2.15"
"""Version of Lustre file systems, which the driver's client has too."""


@dataclass(frozen=True)
class VolumeSource:
    """A store that pods mount, as its CSI driver knows it."""

    driver: str
    """The CSI driver's name."""
    capacity: str
    """What a claim asks for, a Kubernetes quantity; no driver holds anybody to it."""
    handle: pulumi.Input[str] | None = None
    """The driver's name for it; None where each volume has a name of its own."""
    attributes: Mapping[str, pulumi.Input[str]] | None = None
    """What else the driver needs to mount it."""
    mount_options: Sequence[str] = ()
    """Options of every mount."""
    is_read_only: bool = False
    """Whether the driver's identity in AWS lets nobody write."""


@dataclass(frozen=True)
class LustrePlace:
    """Where FSx for Lustre file systems are made, and how fast."""

    subnet_id: pulumi.Input[str]
    """The subnet that they lie in, and with it the zone."""
    security_group_id: pulumi.Input[str]
    """The group that lets nodes in."""
    throughput_mb_per_tib: int
    """MB a second for each TiB."""


@dataclass(frozen=True)
class Storage:
    """The stores of a platform."""

    volumes: Mapping[str, VolumeSource]
    """What namespaces can mount, by name; see `components.shared_volume`."""
    efs_id: pulumi.Output[str] | None
    """The EFS file system once it can be mounted, None where there is none."""
    lustre: LustrePlace | None
    """Where Lustre file systems are made, None for nowhere."""
    block: Mapping[str, BlockVolume] = field(default_factory=dict[str, BlockVolume])
    """The volumes of `StackFacts.volume_claims`, by `VolumeClaim.volume`."""
    milvus: MilvusStores | None = None
    """The stores of Milvus; None where there is none."""
    langfuse: LangfuseStores | None = None
    """The stores of Langfuse; None where there is none."""
