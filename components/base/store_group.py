"""The security group of one store that the VPC's nodes and pods reach."""

from collections.abc import Mapping

import pulumi
import pulumi_aws as aws

from components.readiness import once


def make_store_group(
    name: str,
    *,
    vpc_id: pulumi.Input[str],
    description: str,
    group_name: str,
    port: int,
    ranges: Mapping[str, str],
    opts: pulumi.ResourceOptions,
) -> pulumi.Output[str]:
    """Makes a security group that lets one TCP port in from the VPC's ranges and nothing out.

    Args:
        name: logical name of every part.
        vpc_id: the VPC.
        description: whose it is.
        group_name: its tag `Name`.
        port: the port.
        ranges: the VPC's IPv4 ranges by what they are for: `nodes`, `pods`.
        opts: carries the component that it belongs to.

    Returns:
        Its id, once it lets them in.
    """
    group = aws.ec2.SecurityGroup(name, vpc_id=vpc_id, description=description, tags={"Name": group_name}, opts=opts)
    rules = [
        aws.vpc.SecurityGroupIngressRule(
            f"{name}-from-{whom}",
            security_group_id=group.id,
            cidr_ipv4=cidr,
            ip_protocol="tcp",
            from_port=port,
            to_port=port,
            description=f"From {whom}",
            opts=opts,
        )
        for whom, cidr in ranges.items()
    ]
    return once(group.id, *(rule.id for rule in rules))
