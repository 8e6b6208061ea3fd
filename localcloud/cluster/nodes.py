"""Managed node groups as nodes: EKS starts a group's instances, and their kubelets register them."""

import logging
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from localcloud.aws.ec2 import SUBNET
from localcloud.aws.eks_nodes import NODE_GROUP
from localcloud.aws.instances import LAUNCH_TEMPLATE
from localcloud.aws.running_instances import free_address
from localcloud.cluster.draining import is_drained
from localcloud.cluster.kinds import NODE
from localcloud.cluster.node_objects import (
    INSTANCE_TYPES,
    REGION,
    ZONE,
    disk,
    fixed_labels,
    node,
    quantities,
    room_for_pods,
)
from localcloud.cluster.view import Object, View, is_going
from localcloud.properties import values_at
from localcloud.record import Record
from policies.rules.judging.node_offer import read_pool

log = logging.getLogger(__name__)

GROUP_LABEL = "eks.amazonaws.com/nodegroup"

_DEFAULT_TYPE = "t3.medium"
"""The instance type of a group that names none, says EKS."""


def nodes(view: View) -> None:
    """Gives each managed node group of the cluster as many nodes as it wants, and takes away what is too many."""
    groups = {group["nodeGroupName"]: group for group in view.account.find(NODE_GROUP, clusterName=view.cluster.id)}
    present: dict[str, list[Object]] = {name: [] for name in groups}
    for item in view.all(NODE):
        if name := (item["metadata"].get("labels") or {}).get(GROUP_LABEL):
            present.setdefault(name, []).append(item)
    addresses = {address for item in view.all(NODE) for address in internal_addresses(item)}
    for name, own in present.items():
        wanted = groups[name]["scalingConfig.desiredSize"] if name in groups else 0
        for surplus in own[wanted:]:
            _end(view, surplus)
        for _ in range(wanted - len(own)):
            made = _made(view, groups[name], own, addresses)
            if made is None:
                break
            view.create(NODE, made)
            own.append(made)
            addresses.update(internal_addresses(made))


def internal_addresses(item: Object) -> list[str]:
    """Returns the private addresses of a Node."""
    addresses = item.get("status", {}).get("addresses") or ()
    return [one["address"] for one in addresses if one["type"] == "InternalIP"]


def _made(view: View, group: Record, own: list[Object], taken: set[str]) -> dict[str, Any] | None:
    """Returns one more Node of a group; None if its instance type is not in the table."""
    template = next(view.account.find(LAUNCH_TEMPLATE, id=group["launchTemplate.id"]), None)
    type_name = next(iter(group["instanceTypes"] or ()), template["instanceType"] if template else _DEFAULT_TYPE)
    if type_name not in INSTANCE_TYPES:
        log.warning("node group %s gets no nodes: %s is not in the table of instance types", group.id, type_name)
        return None
    name = group["nodeGroupName"]
    one_type = {type_name: INSTANCE_TYPES[type_name]}
    pool = read_pool(name, {**group.outputs, "instanceTypes": [type_name]}, one_type, ())
    (offer,) = pool.offers
    subnet = _emptiest(view, group, own)
    volumes = values_at(template.outputs, "blockDeviceMappings.ebs.volumeSize") if template else [group["diskSize"]]
    added = {**room_for_pods(type_name, None), **disk(volumes)}
    address, zone = free_address(view.account, subnet, taken), subnet["availabilityZone"]
    labels = {**fixed_labels(offer), **_own_labels(group), ZONE: zone, REGION: view.cluster.scope}
    return node(
        address,
        f"aws:///{zone}/i-0{secrets.token_hex(8)}",
        labels,
        pool.taints,
        quantities({**offer.capacity, **added}),
        quantities({**offer.allocatable, **added}),
    )


def _own_labels(group: Record) -> Mapping[str, str]:
    template = group["launchTemplate.id"]
    return {"eks.amazonaws.com/sourceLaunchTemplateId": template} if template else {}


def _emptiest(view: View, group: Record, own: list[Object]) -> Record:
    """Returns the subnet of a group whose zone has the fewest of its nodes."""
    zones = [item["metadata"]["labels"][ZONE] for item in own]
    subnets = [subnet for id in group["subnetIds"] for subnet in view.account.find(SUBNET, id=id)]
    return min(subnets, key=lambda subnet: (zones.count(subnet["availabilityZone"]), subnet["availabilityZone"]))


def _end(view: View, item: Object) -> None:
    """Drains a node and deletes it. Its instance is gone from the account already, so nothing may hold it up."""
    now = datetime.now(UTC)
    if not item["spec"].get("unschedulable"):
        view.patch(NODE, item, {"spec": {"unschedulable": True}})
    if not is_going(item) and is_drained(view, item["metadata"]["name"], deadline=now, now=now):
        view.delete(NODE, item)
