"""Settings of the compute layer."""

from typing import Annotated, Literal, get_args

from pydantic import Field, model_validator
from pydantic.alias_generators import to_camel

from components.compute import instance_types
from schema.base import RetentionDays
from schema.fields import (
    AddonVersion,
    ClusterName,
    InstanceTypeName,
    PublicCidr,
    RoleArn,
    Section,
    refuse,
)

KubernetesVersion = Literal["1.33", "1.34", "1.35", "1.36"]
LogType = Literal["api", "audit", "authenticator", "controllerManager", "scheduler"]
AddonName = Literal[
    "vpc-cni",
    "kube-proxy",
    "eks-pod-identity-agent",
    "eks-node-monitoring-agent",
    "coredns",
    "metrics-server",
    "aws-ebs-csi-driver",
    "aws-efs-csi-driver",
    "aws-fsx-csi-driver",
    "aws-mountpoint-s3-csi-driver",
]


class Cluster(Section):
    """The EKS control plane."""

    name: ClusterName | None = None
    """The cluster's name; left out: eksai-<stack>. It never changes afterwards."""
    version: KubernetesVersion = "1.35"
    """Kubernetes version, quoted."""
    admins: Annotated[tuple[RoleArn, ...], Field(min_length=1)]
    """Roles with cluster-admin rights. The deploying role must be one of them: nobody else is."""
    public_access_cidrs: tuple[PublicCidr, ...]
    """Public IPv4 ranges that reach the API endpoint from outside the VPC; [] closes it to all but the VPC."""
    log_types: tuple[LogType, ...] = get_args(LogType)
    """Control-plane logs that go to CloudWatch."""
    log_retention_days: RetentionDays = 365
    """Days that control-plane logs are kept."""
    deletion_protection: bool = False
    """Whether AWS refuses to delete the cluster until this is turned off."""
    support_type: Literal["STANDARD", "EXTENDED"] | None = None
    """At the end of the version's standard support, AWS upgrades (STANDARD) or charges six times as much (EXTENDED);
    left out: STANDARD as long as the version has it."""

    @model_validator(mode="after")
    def _lists_hold_each_entry_once(self) -> "Cluster":
        for key in ("admins", "public_access_cidrs", "log_types"):
            values: tuple[str, ...] = getattr(self, key)
            if len(set(values)) < len(values):
                raise refuse(f"{to_camel(key)} lists an entry twice", "keep one of them")
        return self


class Addon(Section):
    """An EKS add-on."""

    enabled: bool | None = None
    """Whether it is installed; left out: the drivers of EFS, FSx and S3 are not, all others are."""
    version: AddonVersion | None = None
    """Exact version; left out: EKS's default for the cluster's version."""


MIN_SYSTEM_VCPU = 2
MIN_SYSTEM_MIB = 4096
"""Least size of a system node: Karpenter asks for 1 vCPU and 1 GiB, DaemonSets and DNS for about as much."""


class SystemNodes(Section):
    """The managed node group that carries the controllers; Karpenter makes every other node."""

    instance_types: Annotated[tuple[InstanceTypeName, ...], Field(min_length=1)] = ("m7g.xlarge",)
    """Instance types, all of one CPU architecture."""
    desired_size: Annotated[int, Field(ge=2)] = 2
    """Nodes to run, in different zones; Karpenter's two replicas do not share one."""
    min_size: Annotated[int, Field(ge=1)] = 1
    """Fewest nodes."""
    max_size: Annotated[int, Field(ge=1)] = 10
    """Most nodes."""
    disk_gib: Annotated[int, Field(ge=20, le=16384)] = 50
    """Data volume of each node, GiB."""

    @model_validator(mode="after")
    def _sizes_are_ordered_and_types_agree(self) -> "SystemNodes":
        if not self.min_size <= self.desired_size <= self.max_size:
            raise refuse(
                f"minSize <= desiredSize <= maxSize, here {self.min_size}, {self.desired_size}, {self.max_size}",
                "change the one that is out of line",
            )
        known = [instance_types.table()[name] for name in self.instance_types]
        small = [row.name for row in known if row.vcpu < MIN_SYSTEM_VCPU or row.memory_mib < MIN_SYSTEM_MIB]
        if small:
            raise refuse(
                f"controllers need {MIN_SYSTEM_VCPU} vCPUs and {MIN_SYSTEM_MIB // 1024} GiB on a node, not {small[0]}",
                "m7g.large is the smallest that is tried; m7g.xlarge is the default",
            )
        if instance_types.vendor_of(self.instance_types):
            raise refuse("system nodes carry no accelerators", "declare an accelerator pool under nodePools")
        if len(instance_types.architectures_of(self.instance_types)) > 1:
            raise refuse("one node group has one CPU architecture", "name types that are all arm64 or all amd64")
        return self
