"""Managed pools: the same declaration as an EKS node group of fixed bounds, for what Karpenter cannot do (DRA)."""

from typing import cast

import pulumi
import pulumi_aws as aws

from components.compute.images import ami_type, parse
from components.compute.instance_types import architectures_of, efa_interfaces_of, vendor_of
from components.compute.node_role import make_node_role
from components.compute.node_user_data import user_data
from components.compute.placement import cluster_placement
from components.compute.pool_declaration import (
    PoolArgs,
    Size,
    labels_of,
    security_groups_of,
    subnets_of,
    tags_of,
    taints_of,
)
from components.compute.volumes import volumes_of

_EFFECTS = {"NoSchedule": "NO_SCHEDULE", "NoExecute": "NO_EXECUTE", "PreferNoSchedule": "PREFER_NO_SCHEDULE"}
"""EKS's spelling of what a taint does."""


class ManagedPoolArgs(PoolArgs):
    """What a managed pool needs."""

    cluster_version: str
    """Kubernetes version: nodes follow the control plane."""
    region: str
    """AWS region."""


class ManagedPool(pulumi.ComponentResource):
    """A node group with its role and launch template, and a placement group for nodes with EFA."""

    def __init__(self, name: str, args: ManagedPoolArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("eksai:index:ManagedPool", name, {}, opts)
        child = pulumi.ResourceOptions(parent=self)
        (architecture,) = architectures_of(args["instance_types"])
        block = _is_capacity_block(args)
        role = make_node_role(name, args["region"], f"Nodes {name} of {args['cluster_name']}", child)
        template = _launch_template(name, args, child)
        size = cast(Size, args["size"])
        aws.eks.NodeGroup(
            name,
            cluster_name=args["cluster_name"],
            node_role_arn=role.arn,
            subnet_ids=subnets_of(args),
            version=args["cluster_version"],
            release_version=args["release_version"],
            ami_type=ami_type(parse(args["ami"]).family, architecture, vendor_of(args["instance_types"])),
            # A capacity block's one type stands in its launch template, and only there.
            instance_types=None if block else list(args["instance_types"]),
            capacity_type=_capacity_type(args),
            scaling_config={"min_size": size["min"], "desired_size": size["desired"], "max_size": size["max"]},
            launch_template={"id": template.id, "version": template.latest_version.apply(str)},
            labels=labels_of(name, args),
            taints=[
                {"key": taint["key"], "value": taint.get("value"), "effect": _EFFECTS[taint["effect"]]}
                for taint in taints_of(args)
            ],
            update_config={"max_unavailable": 1},
            node_repair_config={"enabled": True},
            opts=child,
        )
        self.register_outputs({})


def _is_capacity_block(pool: PoolArgs) -> bool:
    reservations = pool["capacity_reservations"]
    return reservations is not None and reservations["kind"] == "capacity-block"


def _capacity_type(pool: PoolArgs) -> str:
    """EKS's name of how the instances are bought; reserved ones that have no end are on-demand to it."""
    if _is_capacity_block(pool):
        return "CAPACITY_BLOCK"
    return "SPOT" if "spot" in pool["capacity_types"] else "ON_DEMAND"


def _launch_template(name: str, pool: PoolArgs, child: pulumi.ResourceOptions) -> aws.ec2.LaunchTemplate:
    family = parse(pool["ami"]).family
    placement = cluster_placement(name, pool, child)
    interfaces = _efa_interfaces(pool) if pool["efa"] else None
    reservations = pool["capacity_reservations"]
    block = _is_capacity_block(pool)
    return aws.ec2.LaunchTemplate(
        name,
        description=f"Nodes {name} of {pool['cluster_name']}",
        update_default_version=True,
        instance_type=pool["instance_types"][0] if block else None,
        instance_market_options={"market_type": "capacity-block"} if block else None,
        capacity_reservation_specification={
            "capacity_reservation_target": {"capacity_reservation_id": reservations["ids"][0]}
        }
        if reservations
        else None,
        placement={"group_id": placement} if placement else None,
        network_interfaces=interfaces,
        # With interfaces of its own a template takes groups at the interfaces only.
        vpc_security_group_ids=None if interfaces else security_groups_of(pool),
        user_data=user_data(
            family,
            raid0=pool["instance_store_policy"] == "RAID0",
            max_pods=pool["max_pods"],
            sharing=pool["sharing"],
        ),
        metadata_options={"http_endpoint": "enabled", "http_tokens": "required", "http_put_response_hop_limit": 1},
        block_device_mappings=[
            {
                "device_name": volume.device,
                "ebs": {
                    "volume_size": volume.size_gib,
                    "volume_type": "gp3",
                    "iops": volume.iops,
                    "throughput": volume.throughput_mib,
                    "encrypted": "true",
                    "kms_key_id": pool["key_arn"],
                    "delete_on_termination": "true",
                },
            }
            for volume in volumes_of(family, pool["disk_gib"], pool["disk_iops"], pool["disk_throughput_mib"])
        ],
        tag_specifications=[
            {"resource_type": kind, "tags": tags_of(name, pool)} for kind in ("instance", "volume", "network-interface")
        ],
        opts=child,
    )


def _efa_interfaces(pool: PoolArgs) -> list[aws.ec2.LaunchTemplateNetworkInterfaceArgsDict]:
    """One EFA interface on each network card; beside the first they carry EFA only and take no address.

    No interface says anything of a public address: AWS refuses that beside a second interface.
    """
    return [
        {
            "network_card_index": card,
            "device_index": 0 if card == 0 else 1,
            "interface_type": "efa" if card == 0 else "efa-only",
            "delete_on_termination": "true",
            "security_groups": security_groups_of(pool),
            "description": "EFA",
        }
        for card in range(efa_interfaces_of(pool["instance_types"]))
    ]
