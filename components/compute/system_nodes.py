"""The managed node group that carries the controllers."""

from collections.abc import Mapping, Sequence

import pulumi
import pulumi_aws as aws
from typing_extensions import TypedDict

from components.compute.images import ami_type
from components.compute.instance_types import architectures_of
from components.compute.node_role import make_node_role
from components.compute.volumes import volumes_of


class SystemNodesSettings(TypedDict):
    """The plain part of `SystemNodesArgs`."""

    instance_types: Sequence[str]
    """Instance types, all of one CPU architecture."""
    desired_size: int
    """Nodes to run."""
    min_size: int
    """Fewest nodes."""
    max_size: int
    """Most nodes."""
    disk_gib: int
    """Data volume of each node, GiB."""


class SystemNodesArgs(SystemNodesSettings):
    """What the node group needs."""

    cluster_name: str
    """The cluster's name."""
    nodes_after: Sequence[pulumi.Resource]
    """What no node becomes ready without; role and template are made beforehand."""
    cluster_version: str
    """Kubernetes version: nodes follow the control plane, after it and its add-ons."""
    tags: Mapping[str, str]
    """Tags of instances and volumes, which the provider's default tags do not reach."""
    region: str
    """AWS region."""
    subnet_ids: Sequence[pulumi.Input[str]]
    """Private subnets with a way out."""
    security_group_id: pulumi.Input[str]
    """The cluster's group."""
    key_arn: pulumi.Input[str]
    """Key for the nodes' volumes."""


class SystemNodes(pulumi.ComponentResource):
    """Bottlerocket nodes with encrypted volumes, no instance metadata for pods, repaired when they fail."""

    def __init__(self, name: str, args: SystemNodesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("eksai:index:SystemNodes", name, {}, opts)
        child = pulumi.ResourceOptions(parent=self)
        (architecture,) = architectures_of(args["instance_types"])
        role = make_node_role(name, args["region"], f"System nodes of {args['cluster_name']}", child)
        tags = {**args["tags"], "Name": f"{args['cluster_name']}-system"}
        template = aws.ec2.LaunchTemplate(
            name,
            description=f"System nodes of {args['cluster_name']}",
            update_default_version=True,
            vpc_security_group_ids=[args["security_group_id"]],
            metadata_options={"http_endpoint": "enabled", "http_tokens": "required", "http_put_response_hop_limit": 1},
            block_device_mappings=[
                {
                    "device_name": volume.device,
                    "ebs": {
                        "volume_size": volume.size_gib,
                        "volume_type": "gp3",
                        "encrypted": "true",
                        "kms_key_id": args["key_arn"],
                        "delete_on_termination": "true",
                    },
                }
                for volume in volumes_of("bottlerocket", args["disk_gib"])
            ],
            tag_specifications=[{"resource_type": kind, "tags": tags} for kind in ("instance", "volume")],
            opts=child,
        )
        aws.eks.NodeGroup(
            name,
            cluster_name=args["cluster_name"],
            node_role_arn=role.arn,
            subnet_ids=list(args["subnet_ids"]),
            version=args["cluster_version"],
            ami_type=ami_type("bottlerocket", architecture, None),
            instance_types=list(args["instance_types"]),
            scaling_config={
                "desired_size": args["desired_size"],
                "min_size": args["min_size"],
                "max_size": args["max_size"],
            },
            launch_template={"id": template.id, "version": template.latest_version.apply(str)},
            labels={"role": "cpu-worker"},
            update_config={"max_unavailable": 1},
            node_repair_config={"enabled": True},
            opts=pulumi.ResourceOptions(parent=self, depends_on=list(args["nodes_after"])),
        )
        self.register_outputs({})
