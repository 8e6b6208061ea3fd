"""What everyone may know of a stack's pools of nodes: one description for those who do not make them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from components.accelerators import ACCELERATORS, Vendor
from components.gpu_sharing import Sharing


@dataclass(frozen=True)
class Pool:
    """A pool of nodes."""

    name: str
    vendor: Vendor | None
    """Whose accelerators its nodes have, None for none."""
    image_family: str
    """`bottlerocket` or `al2023`."""
    taints: Sequence[Mapping[str, str]]
    """Every taint of its nodes in Kubernetes' form, those that go once a node is ready among them."""
    sharing: Sharing | None
    """How pods share a GPU, None for not at all."""
    allocation: str
    """Who hands NVIDIA GPUs to pods: `device-plugin` or `dra`."""
    efa: bool
    """Whether its nodes talk to each other over EFA."""


def tolerations(pools: Iterable[Pool]) -> list[dict[str, str]]:
    """What lets a pod run on every node of some pools, and on every accelerator node whatever the pools.

    Args:
        pools: the pools.
    """
    taints = [
        *(accelerator.taint for accelerator in ACCELERATORS.values()),
        *(t for pool in pools for t in pool.taints),
    ]
    places = dict.fromkeys((taint["key"], taint["effect"]) for taint in taints)
    return [{"key": key, "operator": "Exists", "effect": effect} for key, effect in places]
