"""The rules within one pool's declaration.

A rule yields a mistake for each way in which the declaration could not become nodes; the first one of a pool is told.
"""

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from components.accelerators import ACCELERATORS, EFA_LABEL
from components.compute import images, instance_types
from components.compute.instance_types import InstanceType
from components.gpu_sharing import IMPLIED_LABELS
from components.pools import POOL_LABEL
from schema.fields import quantity, refuse
from schema.gpu_sharing_rules import sharing_mistakes

if TYPE_CHECKING:
    from schema.node_pools import CapacityReservations, NodePool

Mistakes = Iterator[PydanticCustomError]

_KARPENTER_ONLY = (
    *("limits", "startup_taints", "consolidation", "consolidate_after", "disruption_budgets", "expire_after"),
    *("termination_grace_period", "weight"),
)
_MANAGED_ONLY = ("size", "release_version")

_BLOCK_FAMILIES = frozenset({"p4d", "p4de", "p5", "p5e", "p5en", "trn1", "trn2"})
"""Families of the table that capacity blocks are sold for (EC2 user guide, "Capacity Blocks for ML")."""

_RELEASES = {
    "al2023": re.compile(r"1\.\d+\.\d+-20\d{6}"),
    "bottlerocket": re.compile(r"\d+\.\d+\.\d+-(?!20\d{6})[0-9a-f]{8}"),
}


def mistakes(pool: "NodePool") -> Mistakes:
    """Every mistake within a pool's declaration, the most basic first."""
    for rule in (
        _each_entry_once,
        _one_kind_of_accelerator,
        _fields_of_the_provisioner,
        _limits_allow_one_node,
        _capacity_has_a_source,
        _efa_needs_types_and_one_zone,
        sharing_mistakes,
        _image_fits_the_nodes,
        _disks_exist_and_agree,
        _names_are_not_taken,
        _managed_group_is_uniform,
    ):
        yield from rule(pool)


def _types(pool: "NodePool") -> list[InstanceType]:
    return [instance_types.table()[name] for name in pool.instance_types]


def _each_entry_once(pool: "NodePool") -> Mistakes:
    for key in ("instance_types", "capacity_types", "zones"):
        values: tuple[str, ...] = getattr(pool, key)
        if len(set(values)) < len(values):
            yield refuse(f"{to_camel(key)} lists an entry twice", "keep one of them")


def _one_kind_of_accelerator(pool: "NodePool") -> Mistakes:
    try:
        instance_types.vendor_of(pool.instance_types)
    except ValueError as error:
        yield refuse(f"{error}; a pool has one kind", "split the pool by kind")


def _fields_of_the_provisioner(pool: "NodePool") -> Mistakes:
    managed = pool.provisioner == "managed"
    foreign = sorted(
        {to_camel(key) for key in (_KARPENTER_ONLY if managed else _MANAGED_ONLY) if key in pool.model_fields_set}
    )
    if foreign and managed:
        yield refuse(
            f"only Karpenter reads {', '.join(foreign)}; a managed group is bounded by its size",
            "leave them out, or let Karpenter provision the pool",
        )
    if foreign and not managed:
        yield refuse(
            f"only a managed group has {', '.join(foreign)}; Karpenter makes as many nodes as pods need",
            "leave them out, or set provisioner: managed",
        )
    if managed and pool.size is None:
        yield refuse("a managed group has a size", "set size: {min: 0, desired: 1, max: 2}")
    if not managed and pool.limits is None:
        yield refuse(
            "a Karpenter pool has limits", 'set limits: {cpu: "80", memory: 320Gi}; nothing else bounds its cost'
        )


def _limits_allow_one_node(pool: "NodePool") -> Mistakes:
    if pool.limits is None:
        return
    vendor = instance_types.vendor_of(pool.instance_types)
    if vendor and pool.limits.accelerators is None:
        yield refuse(
            "an accelerator pool has an upper limit of accelerators",
            "set limits.accelerators; without it one wrong Job can order the whole region",
        )
    if not vendor and pool.limits.accelerators is not None:
        yield refuse("these instance types have no accelerators", "remove limits.accelerators")
    most = {
        "cpu": quantity(pool.limits.cpu),
        "memory": quantity(pool.limits.memory),
        "accelerators": pool.limits.accelerators,
    }
    exceeded = [_exceeded(most, row) for row in _types(pool)]
    if all(exceeded):
        smallest = min(_types(pool), key=lambda row: row.vcpu)
        key = _exceeded(most, smallest)[0]
        yield refuse(
            f"limits.{key} is below what one {smallest.name} has, so the pool never makes a node",
            "raise the limit or name smaller instance types",
        )


def _exceeded(most: Mapping[str, float | None], row: InstanceType) -> list[str]:
    """The limits that one node of a type would exceed."""
    needed = {"cpu": row.vcpu, "memory": row.memory_mib * 1024**2, "accelerators": row.accelerators}
    return [key for key, limit in most.items() if limit is not None and limit < needed[key]]


def _capacity_has_a_source(pool: "NodePool") -> Mistakes:
    reservations = pool.capacity_reservations
    reserved = "reserved" in pool.capacity_types
    if reserved and reservations is None:
        yield refuse(
            "reserved capacity comes from reservations that are named",
            "set capacityReservations: {ids: [cr-...]}, or take reserved out of capacityTypes",
        )
    if reservations is None:
        return
    if not reserved:
        yield refuse(
            "capacityReservations are used by capacityTypes that have reserved",
            "add reserved to capacityTypes, or remove capacityReservations",
        )
    if reservations.kind == "capacity-block":
        yield from _block_is_sold_for_the_types(pool)
    elif pool.provisioner == "karpenter" and "on-demand" not in pool.capacity_types:
        yield refuse(
            "reserved goes with on-demand: when the reservation is full pods would wait for ever, and when it ends "
            "its nodes count as on-demand and would be drained",
            "set capacityTypes: [reserved, on-demand]; Karpenter takes reserved first",
        )


def _block_is_sold_for_the_types(pool: "NodePool") -> Mistakes:
    foreign = [name for name in pool.instance_types if name.partition(".")[0] not in _BLOCK_FAMILIES]
    if foreign:
        yield refuse(
            f"capacity blocks are sold for {', '.join(sorted(_BLOCK_FAMILIES))}, not for {', '.join(foreign)}",
            "name the block's instance type, or use kind: on-demand",
        )


def _efa_needs_types_and_one_zone(pool: "NodePool") -> Mistakes:
    if not pool.efa:
        return
    without = [t.name for t in _types(pool) if not t.efa]
    if without:
        able = [t.name for t in instance_types.table().values() if t.efa]
        family = pool.instance_types[0].partition(".")[0]
        near = [name for name in able if name.partition(".")[0] == family] or ["p4d.24xlarge", "trn1.32xlarge"]
        yield refuse(
            f"there is no EFA in {', '.join(without)}",
            f"name types that have it, such as {', '.join(near)}, or leave efa out",
        )
    if len(pool.zones) != 1:
        yield refuse(
            "EFA traffic stays in one zone, and so does a cluster placement group",
            "set zones to the one zone where you have capacity; make a pool of its own for another zone",
        )


def _image_fits_the_nodes(pool: "NodePool") -> Mistakes:
    image = images.parse(pool.ami)
    if image.parameter is None:
        return
    architectures = instance_types.architectures_of(pool.instance_types)
    if architectures != [image.architecture]:
        yield refuse(
            f"the SSM parameter is for {image.architecture}, the instance types are {' and '.join(architectures)}",
            "take the parameter of that architecture, or an alias, which fits every one",
        )
    needed = images.variant_for(image.family, instance_types.vendor_of(pool.instance_types))
    if image.variant != needed:
        yield refuse(
            f"the SSM parameter names the {image.variant} variant, these instance types need {needed}",
            "take the parameter of that variant, or an alias, of which Karpenter picks it",
        )


def _disks_exist_and_agree(pool: "NodePool") -> Mistakes:
    without = [t.name for t in _types(pool) if not t.local_nvme_gb]
    if pool.instance_store_policy and without:
        yield refuse(
            f"RAID0 stripes an instance's own NVMe disks; there are none in {', '.join(without)}",
            "leave instanceStorePolicy out, or name types with NVMe disks",
        )
    iops = pool.disk_iops or 3000
    if pool.disk_throughput_mib is not None and pool.disk_throughput_mib * 4 > iops:
        yield refuse(
            f"gp3 gives at most 1 MiB/s for 4 operations a second, so {pool.disk_throughput_mib} MiB/s need "
            f"{pool.disk_throughput_mib * 4}",
            "raise diskIops or lower diskThroughputMib",
        )
    if iops > 500 * pool.disk_gib:
        yield refuse("gp3 gives at most 500 operations a second for a GiB", "raise diskGib or lower diskIops")


def _names_are_not_taken(pool: "NodePool") -> Mistakes:
    vendor = instance_types.vendor_of(pool.instance_types)
    accelerator = ACCELERATORS[vendor] if vendor else None
    if accelerator and accelerator.resource in {*pool.taints, *pool.startup_taints}:
        yield refuse(f"the taint {accelerator.resource} is always there", "remove it from taints and startupTaints")
    implied = {POOL_LABEL, *(accelerator.labels if accelerator else {}), *EFA_LABEL, *IMPLIED_LABELS}
    taken = sorted(implied & pool.labels.keys())
    if taken:
        yield refuse(f"the label {taken[0]} follows from the pool itself", "remove it from labels")
    twice = sorted(pool.taints.keys() & pool.startup_taints.keys())
    if twice:
        yield refuse(f"{twice[0]} stands under taints and startupTaints", "keep it under one of them")


def _managed_group_is_uniform(pool: "NodePool") -> Mistakes:
    if pool.provisioner != "managed":
        return
    if len(instance_types.architectures_of(pool.instance_types)) > 1:
        yield refuse("a managed group has one CPU architecture", "name types that are all arm64 or all amd64")
    if len(pool.capacity_types) > 1:
        yield refuse("a managed group buys its instances in one way", "keep one entry of capacityTypes")
    if not pool.ami.endswith("@latest"):
        family = images.parse(pool.ami).family
        yield refuse(
            "EKS picks a managed group's image by family and releaseVersion",
            f"set ami: {family}@latest and pin by releaseVersion",
        )
    if pool.release_version and not _RELEASES[images.parse(pool.ami).family].fullmatch(pool.release_version):
        yield refuse(
            f"releaseVersion {pool.release_version} is not one of {images.parse(pool.ami).family}",
            "AL2023 has 1.35.6-20260714, Bottlerocket 1.66.0 and the eight hexadecimal digits of its commit",
        )
    if pool.efa and len({t.efa for t in _types(pool)}) > 1:
        yield refuse(
            "a managed group's launch template lists its EFA interfaces, so all types have the same number of them",
            "split the pool by number of interfaces",
        )
    if pool.capacity_reservations:
        yield from _reservation_fits_a_launch_template(pool, pool.capacity_reservations)


def _reservation_fits_a_launch_template(pool: "NodePool", reservations: "CapacityReservations") -> Mistakes:
    if len(reservations.ids) != 1:
        yield refuse("a managed group's launch template names one reservation by id", "give exactly one of ids")
    if len(pool.instance_types) > 1:
        yield refuse("a reservation is for one instance type", "name the reservation's type only")
    if len(pool.zones) != 1:
        yield refuse("a reservation lies in one zone, where the group has to be", "set zones to that zone")
