"""What everyone may know of a stack's pools of nodes: one description for those who do not make them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from components.accelerators import ACCELERATORS, Vendor
from components.gpu_sharing import Sharing

POOL_LABEL = "eksai.dev/pool"
"""Label of every node of a pool with the pool's name, whoever makes the node. A pod that selects it says which pools it
is meant for; Karpenter knows it beforehand."""


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
    architectures: Sequence[str]
    """CPU architectures of its nodes, as Kubernetes spells them."""


def apart(labels: Mapping[str, str], pools: Sequence[Pool]) -> dict[str, Any]:
    """The part of a pod's spec that puts it on nodes of some pools, and on none that has one of its kind already.

    A spread over nodes would not do: while each node in sight has one of three, it lets the third join either.

    Args:
        labels: labels that those of its kind have, and no others.
        pools: the pools that it is meant for; none: any node without taints.
    """
    where = placement(pools) if pools else {}
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": dict(labels)}}
    others = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    return {**where, "affinity": {**where.get("affinity", {}), **others}}


def named(names: Iterable[str], pools: Iterable[Pool]) -> list[Pool]:
    """Some pools by their names, in the order of these.

    Args:
        names: the names.
        pools: all pools of the stack, those among them.

    Raises:
        KeyError: one of them is not there.
    """
    by_name = {pool.name: pool for pool in pools}
    return [by_name[name] for name in names]


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


def placement(pools: Iterable[Pool]) -> dict[str, Any]:
    """The part of a pod's spec that puts it on nodes of some pools and of no others.

    Args:
        pools: the pools that it is meant for, at least one; which of them gets it is up to their weights.
    """
    meant = list(pools)
    terms = [{"matchExpressions": [{"key": POOL_LABEL, "operator": "In", "values": [pool.name for pool in meant]}]}]
    taints = dict.fromkeys((taint["key"], taint["effect"]) for pool in meant for taint in pool.taints)
    return {
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}},
        "tolerations": [{"key": key, "operator": "Exists", "effect": effect} for key, effect in taints],
    }
