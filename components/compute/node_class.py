"""How Karpenter makes a node: the EC2NodeClass of a pool."""

from typing import Any

import pulumi

from components.compute.images import parse
from components.compute.node_user_data import sharing_settings
from components.compute.pool_declaration import (
    CapacityReservations,
    PoolArgs,
    security_groups_of,
    subnets_of,
    tags_of,
)
from components.compute.volumes import Volume, volumes_of

_FAMILIES = {"bottlerocket": "Bottlerocket", "al2023": "AL2023"}
"""Karpenter's names of the image families."""


def node_class_spec(
    name: str,
    pool: PoolArgs,
    instance_profile: pulumi.Input[str],
    placement_group_id: pulumi.Input[str] | None = None,
) -> dict[str, Any]:
    """The EC2NodeClass' spec.

    Args:
        name: the pool's name.
        pool: the pool.
        instance_profile: instance profile of the nodes.
        placement_group_id: placement group of the nodes, None for none.
    """
    image = parse(pool["ami"])
    spec: dict[str, Any] = {
        "amiSelectorTerms": [{"ssmParameter": image.parameter} if image.parameter else {"alias": pool["ami"]}],
        "subnetSelectorTerms": [{"id": subnet} for subnet in subnets_of(pool)],
        "securityGroupSelectorTerms": [{"id": group} for group in security_groups_of(pool)],
        "instanceProfile": instance_profile,
        "metadataOptions": {
            "httpEndpoint": "enabled",
            "httpTokens": "required",
            # One hop: pods cannot reach the node's credentials.
            "httpPutResponseHopLimit": 1,
        },
        "blockDeviceMappings": [
            {"deviceName": volume.device, "ebs": _ebs(volume, pool["key_arn"])}
            for volume in volumes_of(image.family, pool["disk_gib"], pool["disk_iops"], pool["disk_throughput_mib"])
        ],
        "tags": tags_of(name, pool),
    }
    if image.parameter:
        # An alias says the family itself, a parameter does not.
        spec["amiFamily"] = _FAMILIES[image.family]
    if pool["instance_store_policy"]:
        spec["instanceStorePolicy"] = pool["instance_store_policy"]
    if pool["max_pods"] is not None:
        spec["kubelet"] = {"maxPods": pool["max_pods"]}
    user_data = sharing_settings(image.family, pool["sharing"])
    if user_data:
        spec["userData"] = user_data
    if pool["capacity_reservations"]:
        spec["capacityReservationSelectorTerms"] = _reservations(pool["capacity_reservations"])
    if placement_group_id is not None:
        spec["placementGroupSelector"] = {"id": placement_group_id}
    return spec


def _ebs(volume: Volume, key_arn: pulumi.Input[str]) -> dict[str, Any]:
    ebs: dict[str, Any] = {
        "volumeSize": f"{volume.size_gib}Gi",
        "volumeType": "gp3",
        "encrypted": True,
        "kmsKeyID": key_arn,
        "deleteOnTermination": True,
    }
    if volume.iops is not None:
        ebs["iops"] = volume.iops
    if volume.throughput_mib is not None:
        ebs["throughput"] = volume.throughput_mib
    return ebs


def _reservations(reservations: CapacityReservations) -> list[dict[str, Any]]:
    if reservations["ids"]:
        return [{"id": reservation} for reservation in reservations["ids"]]
    return [{"tags": dict(reservations["tags"])}]
