"""Security groups beside the one that EKS makes: for EFA, for file systems, for interface endpoints.

None of them carries the cluster's tag: two groups with it on one node would confuse whatever opens ports by tag.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws
from typing_extensions import TypedDict


@dataclass(frozen=True)
class Opening:
    """TCP ports that a group opens to the VPC's ranges."""

    first: int
    last: int
    why: str


LUSTRE: Sequence[Opening] = (
    Opening(988, 988, "Lustre"),
    Opening(1018, 1023, "Lustre, further ports of client and server"),
)
"""FSx for Lustre needs both; with 988 alone mounts hang now and then."""
NFS: Sequence[Opening] = (Opening(2049, 2049, "NFS"),)
HTTPS: Sequence[Opening] = (Opening(443, 443, "HTTPS"),)


class SecurityGroupsArgs(TypedDict):
    """What the groups need."""

    vpc_id: pulumi.Input[str]
    """The VPC."""
    cluster_name: str
    """Names follow from it."""
    ranges: Mapping[str, str]
    """The VPC's IPv4 ranges by what they are for: `nodes`, `pods`."""


class SecurityGroups(pulumi.ComponentResource):
    """The groups `efa`, `lustre`, `nfs` and `endpoints`."""

    efa_id: pulumi.Output[str]
    lustre_id: pulumi.Output[str]
    nfs_id: pulumi.Output[str]
    endpoints_id: pulumi.Output[str]

    def __init__(self, name: str, args: SecurityGroupsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("eksai:index:SecurityGroups", name, {}, opts)
        self._child = pulumi.ResourceOptions(parent=self)
        self._args = args
        efa = self._group("efa", "Nodes with EFA among themselves")
        # EFA bypasses the kernel and with it connection tracking: both directions have to be open.
        aws.vpc.SecurityGroupIngressRule(
            "efa-from-itself",
            security_group_id=efa.id,
            referenced_security_group_id=efa.id,
            ip_protocol="-1",
            description="EFA",
            opts=self._child,
        )
        aws.vpc.SecurityGroupEgressRule(
            "efa-to-itself",
            security_group_id=efa.id,
            referenced_security_group_id=efa.id,
            ip_protocol="-1",
            description="EFA",
            opts=self._child,
        )
        lustre = self._group("lustre", "FSx for Lustre file systems")
        self._open("lustre", lustre, LUSTRE)
        nfs = self._group("nfs", "EFS file systems")
        self._open("nfs", nfs, NFS)
        endpoints = self._group("endpoints", "Interface endpoints of AWS services")
        self._open("endpoints", endpoints, HTTPS)
        self.efa_id, self.lustre_id, self.nfs_id, self.endpoints_id = efa.id, lustre.id, nfs.id, endpoints.id
        self.register_outputs({})

    def _group(self, what: str, description: str) -> aws.ec2.SecurityGroup:
        return aws.ec2.SecurityGroup(
            what,
            vpc_id=self._args["vpc_id"],
            description=f"{description} of {self._args['cluster_name']}",
            tags={"Name": f"{self._args['cluster_name']}-{what}"},
            opts=self._child,
        )

    def _open(self, what: str, group: aws.ec2.SecurityGroup, openings: Sequence[Opening]) -> None:
        for whom, cidr in self._args["ranges"].items():
            for opening in openings:
                aws.vpc.SecurityGroupIngressRule(
                    f"{what}-{opening.first}-from-{whom}",
                    security_group_id=group.id,
                    cidr_ipv4=cidr,
                    ip_protocol="tcp",
                    from_port=opening.first,
                    to_port=opening.last,
                    description=opening.why,
                    opts=self._child,
                )
