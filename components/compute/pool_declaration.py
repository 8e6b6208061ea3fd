"""A pool as it is declared, and what follows from that whoever makes its nodes: taints, labels, groups, subnets."""

from collections.abc import Mapping, Sequence

import pulumi
from typing_extensions import TypedDict

from components.accelerators import ACCELERATORS, EFA_LABEL, Accelerator, Vendor
from components.compute import images
from components.compute.instance_types import vendor_of
from components.gpu_sharing import DRA_LABELS, NO_PLUGIN_LABELS, Sharing, node_labels
from components.pools import POOL_LABEL


class Taint(TypedDict):
    """A taint, without its key."""

    value: str
    """The taint's value."""
    effect: str
    """What happens to pods that do not tolerate it."""


class Limits(TypedDict):
    """The most that a pool may hold."""

    cpu: str
    """vCPUs."""
    memory: str
    """Memory."""
    accelerators: int | None
    """Accelerators; None for a pool without."""


class Size(TypedDict):
    """How many nodes a managed group has."""

    min: int
    """Fewest nodes."""
    desired: int
    """Nodes to run."""
    max: int
    """Most nodes."""


class CapacityReservations(TypedDict):
    """Capacity that is paid for already."""

    kind: str
    """`on-demand`, a reservation until it is cancelled; `capacity-block`, one with an end."""
    ids: Sequence[str]
    """Reservations by id."""
    tags: Mapping[str, str]
    """Tags of the reservations, where they are not named by id."""


class DisruptionBudget(TypedDict):
    """How many nodes may go at a time."""

    nodes: str
    """A number or a percentage."""
    schedule: str | None
    """When the budget begins to hold, as a cron line in UTC; None for always."""
    duration: str | None
    """How long it then holds."""
    reasons: Sequence[str]
    """What it holds for; none means everything."""


class NodePoolSettings(TypedDict):
    """What a stack file says of a pool."""

    provisioner: str
    """`karpenter`, or `managed` for a node group of fixed size."""
    instance_types: Sequence[str]
    """Instance types, all of one kind of accelerator."""
    capacity_types: Sequence[str]
    """`on-demand`, `spot`, `reserved`."""
    capacity_reservations: CapacityReservations | None
    """Where reserved capacity comes from."""
    zones: Sequence[str]
    """Zones of the nodes; none means all of the network's."""
    efa: bool
    """Whether nodes talk to each other over EFA."""
    sharing: Sharing | None
    """How pods share an NVIDIA GPU; None for not at all."""
    allocation: str
    """Who hands NVIDIA GPUs to pods: `device-plugin` or `dra`."""
    ami: str
    """Node image: family, `@`, release; or the path of an SSM parameter."""
    release_version: str | None
    """Release of a managed group's image in EKS's spelling; None for the latest."""
    limits: Limits | None
    """The most that the pool may hold; None for a managed group."""
    size: Size | None
    """Nodes of a managed group; None under Karpenter."""
    labels: Mapping[str, str]
    """Labels on each node."""
    taints: Mapping[str, Taint]
    """Taints on each node by key, beside the accelerator's own."""
    startup_taints: Mapping[str, Taint]
    """Taints that something takes away once a node is ready for work."""
    disk_gib: int
    """Volume that holds images and containers, GiB."""
    disk_iops: int | None
    """Operations a second of that volume; None for gp3's 3000."""
    disk_throughput_mib: int | None
    """MiB a second of that volume; None for gp3's 125."""
    instance_store_policy: str | None
    """`RAID0` puts images and containers on the instance's own NVMe disks."""
    max_pods: int | None
    """Most pods on a node; None for what its interfaces allow."""
    consolidation: str
    """Which nodes may be removed: `WhenEmpty`, `WhenEmptyOrUnderutilized`, `Balanced`."""
    consolidate_after: str
    """How long a node must be removable."""
    disruption_budgets: Sequence[DisruptionBudget]
    """How many nodes may go at a time; none means Karpenter's 10 %."""
    expire_after: str
    """Longest life of a node."""
    termination_grace_period: str
    """Longest time that draining may take."""
    weight: int | None
    """Preference among pools that fit."""
    retire: bool
    """Whether the pool goes: it stays declared and nothing of it is made."""


class PoolArgs(NodePoolSettings):
    """What a pool needs, whoever makes its nodes."""

    cluster_name: str
    """The cluster's name."""
    subnet_ids: Mapping[str, pulumi.Input[str]]
    """Private subnets with a way out, by zone."""
    security_group_id: pulumi.Input[str]
    """The cluster's group, which every node carries."""
    efa_security_group_id: pulumi.Input[str]
    """Group in which EFA nodes reach each other; it lacks the cluster's tag, which only one group may carry."""
    key_arn: pulumi.Input[str]
    """Key for the nodes' volumes."""
    tags: Mapping[str, str]
    """Tags of instances and volumes, which the provider's default tags do not reach."""


def accelerator_of(pool: NodePoolSettings) -> Accelerator | None:
    """The kind of accelerator that a pool's nodes have, None for none."""
    vendor = vendor_of(pool["instance_types"])
    return ACCELERATORS[vendor] if vendor else None


def labels_of(name: str, pool: NodePoolSettings) -> dict[str, str]:
    """Labels of a pool's nodes: its name, what its hardware implies, then what is declared.

    Args:
        name: the pool's name.
        pool: the pool.
    """
    accelerator = accelerator_of(pool)
    return {
        POOL_LABEL: name,
        **(accelerator.labels if accelerator else {}),
        **(EFA_LABEL if pool["efa"] else {}),
        **_gpu_labels(pool),
        **pool["labels"],
    }


def _gpu_labels(pool: NodePoolSettings) -> dict[str, str]:
    """Labels that tell which of NVIDIA's DaemonSets serve a pool's nodes, and how."""
    if vendor_of(pool["instance_types"]) is not Vendor.NVIDIA:
        return {}
    if pool["allocation"] == "dra":
        return DRA_LABELS
    return {
        # Bottlerocket runs the device plug-in itself.
        **(NO_PLUGIN_LABELS if images.parse(pool["ami"]).family == "bottlerocket" else {}),
        **(node_labels(pool["sharing"]) if pool["sharing"] else {}),
    }


def taints_of(pool: NodePoolSettings) -> list[dict[str, str]]:
    """Taints of a pool's nodes in Kubernetes' form, the accelerator's own first."""
    accelerator = accelerator_of(pool)
    return ([accelerator.taint] if accelerator else []) + listed(pool["taints"])


def listed(taints: Mapping[str, Taint]) -> list[dict[str, str]]:
    """Declared taints in Kubernetes' form; Karpenter refuses an empty value but not a missing one."""
    return [
        {"key": key, **({"value": taint["value"]} if taint["value"] else {}), "effect": taint["effect"]}
        for key, taint in taints.items()
    ]


def subnets_of(pool: PoolArgs) -> list[pulumi.Input[str]]:
    """The subnets that a pool's nodes stand in."""
    return [pool["subnet_ids"][zone] for zone in pool["zones"] or pool["subnet_ids"]]


def security_groups_of(pool: PoolArgs) -> list[pulumi.Input[str]]:
    """The groups that a pool's nodes carry."""
    return [pool["security_group_id"], *([pool["efa_security_group_id"]] if pool["efa"] else [])]


def tags_of(name: str, pool: PoolArgs) -> dict[str, str]:
    """Tags of a pool's instances and volumes.

    Args:
        name: the pool's name.
        pool: the pool.
    """
    return {**pool["tags"], "Name": f"{pool['cluster_name']}-{name}"}
