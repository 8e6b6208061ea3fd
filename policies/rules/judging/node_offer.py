"""What the nodes of a pool offer: labels, taints and allocatable resources by instance type.

Pools are read as they are registered: a Karpenter NodePool (`spec.template`), or an EKS node group (`scalingConfig`).
What instance types have comes in a table of the caller's, since this package knows none.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .gpu_labels import announced
from .label_selection import ANY, Labels, Requirement, narrowed_by_all
from .properties import at, elements, entries
from .quantities import quantity

Object = Mapping[str, Any]

EFA = "vpc.amazonaws.com/efa"
"""What a pod asks for to get EFA interfaces."""

_MIB = 1024**2
_EFFECTS = {"NO_SCHEDULE": "NoSchedule", "NO_EXECUTE": "NoExecute", "PREFER_NO_SCHEDULE": "PreferNoSchedule"}
_NEURON_CORES = {"inferentia2": 2, "trainium": 2, "trainium2": 8}
"""Cores of one Neuron device (Karpenter 1.14.1, instance types)."""

_VM_OVERHEAD = 0.075
"""Share of an instance's memory that Karpenter takes for gone in the hypervisor (its default)."""
_EVICTION_MIB = 100
_RESERVED_CPU = ((1, 0.06), (1, 0.01), (2, 0.005), (float("inf"), 0.0025))
"""Share of each further core that kubelet and system keep: of the first, the second, the next two, all others."""


@dataclass(frozen=True)
class Offer:
    """One kind of node that a pool can have.

    Attributes:
        instance_type: its instance type.
        labels: what its labels may be.
        capacity: what counts against the pool's limits, by resource.
        allocatable: what pods get of it, by resource.
    """

    instance_type: str
    labels: Labels
    capacity: Mapping[str, float]
    allocatable: Mapping[str, float]


@dataclass(frozen=True)
class Pool:
    """A pool of nodes.

    Attributes:
        offers: the kinds of node that it can have; none if the table knows none of its instance types.
        taints: the taints that stay on its nodes, in Kubernetes' spelling.
        limits: the most that it may hold, by resource.
    """

    offers: tuple[Offer, ...]
    taints: tuple[Object, ...]
    limits: Mapping[str, float]


def read_pool(name: str, properties: Object, instance_types: Mapping[str, Object], overlays: Iterable[Object]) -> Pool:
    """Returns a pool as it is registered.

    Args:
        name: the pool's name.
        properties: what was registered for it. A node group whose launch template names the instance type has to be
            given with that type as `instanceTypes`.
        instance_types: the types that there are, by name, with `architecture`, `vcpu`, `memory_mib`, `accelerator`,
            `accelerators`, `accelerator_memory_mib`, `efa` and `local_nvme_gb`.
        overlays: Karpenter's NodeOverlays, whose capacity nodes have too (hugepages, shared GPUs); where a type has
            that resource by itself, the overlay's amount holds.
    """
    if "scalingConfig" in properties:
        return _node_group(name, properties, instance_types)
    return _node_pool(name, properties["spec"], instance_types, tuple(overlays))


def _node_group(name: str, group: Object, instance_types: Mapping[str, Object]) -> Pool:
    spot = group.get("capacityType") == "SPOT"
    labels = entries(group.get("labels"))
    own: dict[str, frozenset[str] | None] = {
        "eks.amazonaws.com/nodegroup": frozenset({group.get("nodeGroupName") or name}),
        "eks.amazonaws.com/capacityType": frozenset({"SPOT" if spot else "ON_DEMAND"}),
        **_fixed(labels),
    }
    return Pool(
        offers=tuple(
            _offer(type_name, {**_common_labels(type_name, row), **own}, row, announced(labels, row))
            for type_name, row in instance_types.items()
            if type_name in elements(group.get("instanceTypes"))
        ),
        taints=tuple({**taint, "effect": _EFFECTS[taint["effect"]]} for taint in elements(group.get("taints"))),
        limits={},
    )


def _node_pool(name: str, spec: Object, instance_types: Mapping[str, Object], overlays: tuple[Object, ...]) -> Pool:
    template: Object = spec["template"]
    node: Object = template["spec"]
    own: dict[str, frozenset[str] | None] = {
        "karpenter.sh/nodepool": frozenset({name}),
        "karpenter.sh/capacity-type": frozenset({"on-demand", "spot", "reserved"}),
        **_fixed(entries(at(template, "metadata", "labels"))),
    }
    return Pool(
        offers=tuple(_karpenter_offers(own, elements(node.get("requirements")), instance_types, overlays)),
        taints=tuple(elements(node.get("taints"))),
        limits={resource: quantity(amount) for resource, amount in entries(at(spec, "limits")).items()},
    )


def _karpenter_offers(
    own: Labels, requirements: Iterable[Requirement], instance_types: Mapping[str, Object], overlays: Iterable[Object]
) -> Iterator[Offer]:
    for type_name, row in instance_types.items():
        labels = {**_common_labels(type_name, row), **_instance_labels(type_name, row), **own}
        left = narrowed_by_all(labels, requirements)
        if left is None:
            continue
        added: dict[str, float] = {}
        for overlay in overlays:
            if narrowed_by_all(left, elements(at(overlay, "spec", "requirements"))) is not None:
                added |= {key: quantity(amount) for key, amount in entries(at(overlay, "spec", "capacity")).items()}
        yield _offer(type_name, left, row, added)


def _offer(type_name: str, labels: Labels, row: Object, instead: Mapping[str, float]) -> Offer:
    """Returns one kind of node, with amounts that replace what its instance type says of them."""
    return Offer(type_name, labels, {**_capacity(row), **instead}, {**_allocatable(row), **instead})


def _fixed(labels: Mapping[str, str]) -> dict[str, frozenset[str] | None]:
    return {key: frozenset({value}) for key, value in labels.items()}


def _common_labels(type_name: str, row: Object) -> dict[str, frozenset[str] | None]:
    return {
        **_fixed(
            {
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": row["architecture"],
                "node.kubernetes.io/instance-type": type_name,
            }
        ),
        "topology.kubernetes.io/zone": ANY,
        "topology.kubernetes.io/region": ANY,
        "topology.k8s.aws/zone-id": ANY,
        "kubernetes.io/hostname": ANY,
    }


def _instance_labels(type_name: str, row: Object) -> dict[str, frozenset[str] | None]:
    """Returns what Karpenter says of an instance type."""
    family, _, size = type_name.partition(".")
    values: dict[str, Any] = {"family": family, "size": size, "cpu": row["vcpu"], "memory": row["memory_mib"]}
    values["category"] = family[: len(family) - len(family.lstrip("abcdefghijklmnopqrstuvwxyz"))]
    values["generation"] = next((letter for letter in family if letter.isdigit()), "")
    if row["local_nvme_gb"]:
        values["local-nvme"] = row["local_nvme_gb"]
    if row["accelerator"]:
        neuron = row["accelerator"] in _NEURON_CORES
        kind = "accelerator" if neuron else "gpu"
        values[f"{kind}-name"] = row["accelerator"]
        values[f"{kind}-count"] = row["accelerators"]
        values[f"{kind}-manufacturer"] = "aws" if neuron else "nvidia"
        if not neuron:
            values["gpu-memory"] = row["accelerator_memory_mib"]
    return _fixed({f"karpenter.k8s.aws/instance-{key}": str(value) for key, value in values.items()})


def _devices(row: Object) -> dict[str, float]:
    devices: dict[str, float] = {}
    if row["accelerator"] in _NEURON_CORES:
        devices["aws.amazon.com/neuron"] = row["accelerators"]
        devices["aws.amazon.com/neuroncore"] = row["accelerators"] * _NEURON_CORES[row["accelerator"]]
    elif row["accelerator"]:
        devices["nvidia.com/gpu"] = row["accelerators"]
    if row["efa"]:
        devices[EFA] = row["efa"]
    return devices


def _capacity(row: Object) -> dict[str, float]:
    return {"cpu": row["vcpu"], "memory": row["memory_mib"] * _MIB, **_devices(row)}


def _allocatable(row: Object) -> dict[str, float]:
    """Returns what kubelet leaves to pods, counted as Karpenter does; DaemonSets take their part of it besides."""
    # As many pods as the largest interfaces allow: what kubelet keeps grows with them, so this errs on the safe side.
    pods = 110 if row["vcpu"] <= 30 else 737
    kept_mib = row["memory_mib"] * _VM_OVERHEAD + 255 + 11 * pods + _EVICTION_MIB
    cores, kept_cores = float(row["vcpu"]), 0.0
    for step, share in _RESERVED_CPU:
        kept_cores += min(cores, step) * share
        cores -= min(cores, step)
    return {
        **_devices(row),
        "cpu": row["vcpu"] - kept_cores,
        "memory": (row["memory_mib"] - kept_mib) * _MIB,
    }
