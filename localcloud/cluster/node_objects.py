"""Nodes as objects of the API server: what kubelets on EC2 instances would register."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from components.compute.instance_types import table
from localcloud.cluster.view import Object
from policies.rules.judging.node_offer import Offer
from policies.rules.judging.quantities import quantity

INSTANCE_TYPES: Mapping[str, Mapping[str, Any]] = {name: asdict(row) for name, row in table().items()}
"""The instance types that nodes can have, with what they have."""

INSTANCE_TYPE = "node.kubernetes.io/instance-type"
ZONE, REGION, HOSTNAME = "topology.kubernetes.io/zone", "topology.kubernetes.io/region", "kubernetes.io/hostname"

_GIB = 1024**3
_DEFAULT_DISK_GIB = 20
"""Volume for images and containers where nothing is said: EKS's and Karpenter's default."""

_POD_LIMITS = ((30, 110), (float("inf"), 250))
"""Most pods on a node with prefix delegation by its vCPUs, as EKS recommends."""


def node_name(address: str, region: str) -> str:
    """Returns the name that an instance with a private address has in EC2's DNS, and as a node."""
    domain = "ec2.internal" if region == "us-east-1" else f"{region}.compute.internal"
    return f"ip-{address.replace('.', '-')}.{domain}"


def node(
    address: str,
    provider_id: str,
    labels: Mapping[str, str],
    taints: Sequence[Object],
    capacity: Mapping[str, str],
    allocatable: Mapping[str, str],
) -> dict[str, Any]:
    """Returns a Node that nothing has made Ready yet.

    Args:
        address: private IPv4 address of its instance.
        provider_id: `aws:///ZONE/INSTANCE`.
        labels: its labels; region among them.
        taints: its taints, in Kubernetes' form.
        capacity: what it has, as quantities.
        allocatable: what pods get of it, as quantities.
    """
    name = node_name(address, labels[REGION])
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {**labels, HOSTNAME: name}},
        "spec": {"providerID": provider_id, "taints": list(taints)},
        "status": {
            "capacity": dict(capacity),
            "allocatable": dict(allocatable),
            "addresses": [
                {"type": "InternalIP", "address": address},
                {"type": "InternalDNS", "address": name},
                {"type": "Hostname", "address": name},
            ],
        },
    }


def fixed_labels(offer: Offer) -> dict[str, str]:
    """Returns the labels of an offer that can have one value only."""
    return {key: next(iter(values)) for key, values in offer.labels.items() if values is not None and len(values) == 1}


def quantities(amounts: Mapping[str, float]) -> dict[str, str]:
    """Returns amounts by resource as Kubernetes writes them."""
    return {resource: _written(resource, amount) for resource, amount in amounts.items()}


def _written(resource: str, amount: float) -> str:
    if resource == "cpu":
        return f"{int(amount * 1000)}m" if amount % 1 else str(int(amount))
    if resource in ("memory", "ephemeral-storage") or resource.startswith("hugepages-"):
        return f"{int(amount // 1024)}Ki"
    return str(int(amount))


def room_for_pods(instance_type: str, max_pods: int | None) -> dict[str, float]:
    """Returns how many pods a node takes.

    Args:
        instance_type: its instance type.
        max_pods: kubelet's limit where one is set.
    """
    vcpu = INSTANCE_TYPES[instance_type]["vcpu"]
    usual = next(most for below, most in _POD_LIMITS if vcpu <= below)
    return {"pods": float(max_pods or usual)}


def disk(volume_sizes: Iterable[str | int | None], local_nvme_gb: int = 0) -> dict[str, float]:
    """Returns the room for images and containers: on the largest volume, or on the instance's own disks.

    Args:
        volume_sizes: sizes of the volumes, as quantities, or in GiB.
        local_nvme_gb: what the instance's own disks have where they are used, else 0.
    """
    if local_nvme_gb:
        return {"ephemeral-storage": local_nvme_gb * 1e9}
    sizes = [quantity(size) if str(size).endswith("i") else float(size) * _GIB for size in volume_sizes if size]
    return {"ephemeral-storage": max(sizes, default=_DEFAULT_DISK_GIB * _GIB)}
