"""The role of a node: what kubelet, image pulls and the session manager need, and nothing for pods."""

from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from components.partition import dns_suffix_of, managed_policy
from components.policy_document import trust
from components.readiness import once

POLICIES = ("AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly", "AmazonSSMManagedInstanceCore")


@dataclass(frozen=True)
class NodeRole:
    """A node role, known once every policy is attached: a node that starts earlier never joins."""

    name: pulumi.Output[str]
    arn: pulumi.Output[str]


def make_node_role(name: str, region: str, description: str, opts: pulumi.ResourceOptions) -> NodeRole:
    """Makes a node role with its policies.

    Args:
        name: logical name.
        region: AWS region.
        description: what the role is for.
        opts: carries the parent.
    """
    service = f"ec2.{dns_suffix_of(region)}"
    role = aws.iam.Role(name, assume_role_policy=trust(service), description=description, opts=opts)
    attached = [
        aws.iam.RolePolicyAttachment(
            f"{name}-{policy}", role=role.name, policy_arn=managed_policy(region, policy), opts=opts
        ).id
        for policy in POLICIES
    ]
    return NodeRole(name=once(role.name, *attached), arn=once(role.arn, *attached))
