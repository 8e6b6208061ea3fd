"""How the pods of a node share its NVIDIA GPUs: what a node announces, what its device plug-in and its labels say.

Sources, read 2026-11-30: k8s-device-plugin 0.20.0 (`api/config/v1`, GPU feature discovery's labels), GPU Operator
26.7.0 (node labels), NVIDIA MIG User Guide r610 ("Supported MIG Profiles"), mig-parted 0.15.0 (default configs).
"""

from collections.abc import Mapping
from typing import Any

from typing_extensions import TypedDict

from components.accelerators import ACCELERATORS, Vendor

WHOLE_GPU = ACCELERATORS[Vendor.NVIDIA].resource
"""What pods ask for where GPUs are not shared; and, under any name of a share, the key of the taint to tolerate: EKS
adds a toleration only for the taint whose key is the very resource that a pod asks for."""
SHARED_GPU = f"{WHOLE_GPU}.shared"
"""What pods ask for where GPUs are time-sliced or shared by MPS."""

TIME_SLICING, MPS, MIG = "time-slicing", "mps", "mig"

MOST_REPLICAS = 48
"""Most shares of one GPU: a server of MPS takes 48 clients, and Bottlerocket no larger number."""

UNSHARED_CONFIG = "unshared"
"""The plug-in's config where GPUs are not shared: the default of nodes without the label that names another."""

_CONFIG_LABEL = "nvidia.com/device-plugin.config"
_MIG_CONFIG_LABEL = "nvidia.com/mig.config"
_STRATEGY_LABEL = "nvidia.com/gpu.sharing-strategy"
_REPLICAS_LABEL = "nvidia.com/gpu.replicas"

NO_PLUGIN_LABELS: dict[str, str] = {"nvidia.com/gpu.deploy.operands": "false"}
"""Keeps the GPU Operator's DaemonSets off a node: its own image runs a device plug-in, or DRA allocates its GPUs. Not
`gpu.deploy.device-plugin`: the operator (26.7) takes that one away while a node has no features yet, then sets it."""
DRA_LABELS: dict[str, str] = {"nvidia.com/dra-kubelet-plugin": "true", **NO_PLUGIN_LABELS}
"""Labels of the nodes whose GPUs DRA allocates; its driver selects them, since on other nodes the device plug-in would
hand out the same GPUs once more."""

IMPLIED_LABELS = frozenset({_CONFIG_LABEL, _MIG_CONFIG_LABEL, _STRATEGY_LABEL, _REPLICAS_LABEL, *DRA_LABELS})
"""Keys of the labels that follow from how a pool's GPUs are shared and allocated."""

_GIB_80 = {"1g.10gb": 7, "1g.20gb": 4, "2g.20gb": 3, "3g.40gb": 2, "4g.40gb": 1, "7g.80gb": 1}
MIG_PROFILES: Mapping[tuple[str, int], Mapping[str, int]] = {
    ("a100", 40960): {"1g.5gb": 7, "1g.10gb": 4, "2g.10gb": 3, "3g.20gb": 2, "4g.20gb": 1, "7g.40gb": 1},
    ("a100", 81920): _GIB_80,
    ("h100", 81920): _GIB_80,
    ("h200", 144384): {"1g.18gb": 7, "1g.35gb": 4, "2g.35gb": 3, "3g.71gb": 2, "4g.71gb": 1, "7g.141gb": 1},
    ("b200", 183359): {"1g.23gb": 7, "1g.45gb": 4, "2g.45gb": 3, "3g.90gb": 2, "4g.90gb": 1, "7g.180gb": 1},
}
"""How many instances of a profile one GPU has, by the GPU's name and MiB as Karpenter's labels give them. A profile's
name says its seventh parts of the multiprocessors and its memory. GPUs that are missing here cannot be partitioned.
Left out are profiles with media engines (`+me`), of which a GPU has one."""


class Sharing(TypedDict):
    """How pods share a GPU."""

    strategy: str
    """`time-slicing`, pods take turns; `mps`, pods run side by side; `mig`, the GPU is partitioned."""
    replicas: int | None
    """Shares of one GPU (time-slicing, mps)."""
    profile: str | None
    """What each partition is, such as `1g.10gb` (mig)."""


def resource_of(sharing: Sharing | None) -> str:
    """The extended resource that a node announces and a pod asks for.

    Args:
        sharing: how pods share a GPU, None for not at all.
    """
    if sharing is None:
        return WHOLE_GPU
    return f"nvidia.com/mig-{sharing['profile']}" if sharing["strategy"] == MIG else SHARED_GPU


def profiles_of(gpu: str, memory_mib: int) -> Mapping[str, int]:
    """The MIG profiles that a GPU has, each with the number of its instances; none where it has no MIG.

    Args:
        gpu: the GPU's name as Karpenter's labels give it, such as `a100`.
        memory_mib: its memory, MiB.
    """
    return MIG_PROFILES.get((gpu, memory_mib), {})


def shares_of(sharing: Sharing, gpu: str, memory_mib: int) -> int:
    """How many pods share one GPU: what it adds to the resource that its node announces.

    Args:
        sharing: how pods share it.
        gpu: the GPU's name as Karpenter's labels give it.
        memory_mib: its memory, MiB.

    Raises:
        KeyError: the GPU does not have the profile.
    """
    if sharing["strategy"] == MIG:
        return profiles_of(gpu, memory_mib)[str(sharing["profile"])]
    replicas = sharing["replicas"]
    assert replicas is not None, "what is not partitioned has replicas; the settings see to that"
    return replicas


def config_name(sharing: Sharing | None) -> str:
    """The name of the device plug-in's config, by which the label of a node chooses it.

    Args:
        sharing: how pods share a GPU, None for not at all.
    """
    if sharing is None:
        return UNSHARED_CONFIG
    # One config serves every profile: the plug-in announces whatever partitions it finds.
    return MIG if sharing["strategy"] == MIG else f"{sharing['strategy']}-{sharing['replicas']}"


def plugin_config(sharing: Sharing | None) -> dict[str, Any]:
    """The device plug-in's config document.

    Shares have a name of their own, so that no pod that needs a whole GPU gets one; and a request for several is
    refused, since it would not bring more of a GPU.

    Args:
        sharing: how pods share a GPU, None for not at all.
    """
    partitioned = sharing is not None and sharing["strategy"] == MIG
    document: dict[str, Any] = {"version": "v1", "flags": {"migStrategy": "mixed" if partitioned else "none"}}
    if sharing is not None and not partitioned:
        key = "timeSlicing" if sharing["strategy"] == TIME_SLICING else "mps"
        document["sharing"] = {
            key: {
                "renameByDefault": True,
                "failRequestsGreaterThanOne": True,
                "resources": [{"name": WHOLE_GPU, "replicas": sharing["replicas"]}],
            }
        }
    return document


def mig_config(profile: str) -> str:
    """The MIG manager's name of the config that partitions every GPU of a node alike.

    Args:
        profile: what each partition is, such as `1g.10gb`.
    """
    return f"all-{profile}"


def node_labels(sharing: Sharing) -> dict[str, str]:
    """Labels of a node with shared GPUs: by them plug-in and MIG manager choose their configs, and pods their node.

    Args:
        sharing: how pods share a GPU.
    """
    labels = {_CONFIG_LABEL: config_name(sharing)}
    if sharing["strategy"] == MIG:
        return labels | {_MIG_CONFIG_LABEL: mig_config(str(sharing["profile"]))}
    # GPU feature discovery sets these two as well, but only after boot, which is too late for Karpenter.
    return labels | {_STRATEGY_LABEL: sharing["strategy"], _REPLICAS_LABEL: str(sharing["replicas"])}
