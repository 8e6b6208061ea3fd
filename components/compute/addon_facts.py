"""What is known of each EKS add-on: when it can be installed, who it is in AWS, how it is configured."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True)
class Identity:
    """The AWS identity of an add-on's controller."""

    service_account: str
    """Its service account in kube-system."""
    managed_policies: tuple[str, ...] = ()
    """AWS managed policies by name, with their path."""
    policy_file: str | None = None
    """A policy of our own, by its file in `policies/`."""


@dataclass(frozen=True)
class AddonFacts:
    """One add-on."""

    needs_nodes: bool
    """Whether it stays degraded, and its creation fails, without a node to run on: true of Deployments."""
    presence: Literal["always", "unless-off", "if-on"] = "always"
    """Whether settings can turn it off or on: a cluster without the first kind does not work."""
    identity: Identity | None = None
    """Who it is in AWS, None where it does not call AWS."""
    configuration: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Configuration values; what is not named runs as AWS ships it."""


ADDONS: Mapping[str, AddonFacts] = {
    "vpc-cni": AddonFacts(
        needs_nodes=False,
        identity=Identity("aws-node", managed_policies=("AmazonEKS_CNI_Policy",)),
        # Prefixes instead of single addresses: pods start without a call to EC2 for each, and a pool's maxPods can be
        # raised above what single addresses allow. Texts, as the add-on's schema says.
        configuration={
            "env": {"ENABLE_PREFIX_DELEGATION": "true", "WARM_PREFIX_TARGET": "1"},
            "enableNetworkPolicy": "true",
        },
    ),
    "kube-proxy": AddonFacts(needs_nodes=False),
    "eks-pod-identity-agent": AddonFacts(needs_nodes=False),
    "eks-node-monitoring-agent": AddonFacts(needs_nodes=False),
    "coredns": AddonFacts(
        needs_nodes=True,
        # Two replicas at least, also while a node is replaced.
        configuration={"autoScaling": {"enabled": True, "minReplicas": 2, "maxReplicas": 10}},
    ),
    "metrics-server": AddonFacts(needs_nodes=True, presence="unless-off"),
    "aws-ebs-csi-driver": AddonFacts(
        needs_nodes=True,
        presence="unless-off",
        identity=Identity(
            "ebs-csi-controller-sa",
            managed_policies=("service-role/AmazonEBSCSIDriverPolicy",),
            policy_file="ebs_csi.json",
        ),
        # The node part mounts volumes on accelerator nodes too.
        configuration={"node": {"tolerateAllTaints": True}},
    ),
    "aws-efs-csi-driver": AddonFacts(
        needs_nodes=True,
        presence="if-on",
        identity=Identity("efs-csi-controller-sa", managed_policies=("service-role/AmazonEFSCSIDriverPolicy",)),
    ),
    "aws-fsx-csi-driver": AddonFacts(
        needs_nodes=True,
        presence="if-on",
        identity=Identity("fsx-csi-controller-sa", policy_file="fsx_csi.json"),
        configuration={"node": {"tolerateAllTaints": True}},
    ),
    "aws-mountpoint-s3-csi-driver": AddonFacts(
        needs_nodes=True,
        presence="if-on",
        identity=Identity("s3-csi-driver-sa", policy_file="mountpoint_s3_csi.json"),
        configuration={"node": {"tolerateAllTaints": True}},
    ),
}
"""Every add-on that the platform can install, by EKS's name for it."""


def is_installed(name: str, enabled: bool | None) -> bool:
    """Whether an add-on is installed.

    Args:
        name: EKS's name of the add-on.
        enabled: what the settings say, None for nothing.
    """
    presence = ADDONS[name].presence
    if presence == "always":
        return True
    return presence == "unless-off" if enabled is None else enabled


def custom_networking(region: str, security_group_id: str, subnets: Mapping[str, str]) -> dict[str, Any]:
    """What vpc-cni is told so that pods get their addresses from subnets of their own.

    Args:
        region: AWS region.
        security_group_id: group of the pods' interfaces: the cluster's, as for nodes.
        subnets: the pods' subnet of each zone.
    """
    return {
        "env": {
            "AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG": "true",
            "ENI_CONFIG_LABEL_DEF": "topology.kubernetes.io/zone",
        },
        "eniConfig": {
            "create": True,
            "region": region,
            "subnets": {
                zone: {"id": subnet, "securityGroups": [security_group_id]} for zone, subnet in subnets.items()
            },
        },
    }
