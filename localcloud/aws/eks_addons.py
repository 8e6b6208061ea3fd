"""EKS: add-ons, and the identities of pods."""

from typing import TYPE_CHECKING

from localcloud.aws.eks import CLUSTER, OF_CLUSTER, minor
from localcloud.aws.eks_nodes import ADDON, has_nodes
from localcloud.aws.iam import ROLE, trusts
from localcloud.checks import matches, one_of
from localcloud.errors import AwsError
from localcloud.resource_type import Api, Refers, ResourceType, Unique

if TYPE_CHECKING:
    from localcloud.account import Account
    from localcloud.record import Record

POD_IDENTITY = "aws:eks/podIdentityAssociation:PodIdentityAssociation"

# What stands for EKS's default of an add-on that is not pinned.
_SOME_VERSION = "v1.0.0-eksbuild.1"

# Add-ons that run on every node and are content without one, and those that wait for a node to run on.
_ON_EVERY_NODE = ("vpc-cni", "kube-proxy", "eks-pod-identity-agent", "eks-node-monitoring-agent")
_ON_SOME_NODE = (
    *("coredns", "aws-ebs-csi-driver", "aws-efs-csi-driver", "aws-fsx-csi-driver", "metrics-server"),
    *("aws-mountpoint-s3-csi-driver", "snapshot-controller", "amazon-cloudwatch-observability", "adot"),
)


def _a_node_runs_it(account: "Account", addon: "Record") -> None:
    if addon["addonName"] in _ON_SOME_NODE and not has_nodes(account, addon["clusterName"]):
        raise AwsError(
            "InsufficientNumberOfReplicas",
            f"add-on {addon['addonName']} stays DEGRADED until it times out: the cluster has no ready nodes. "
            "Make the add-on after the node group",
        )


def _version_belongs_to_the_cluster(account: "Account", addon: "Record") -> None:
    """kube-proxy is made for one minor version; the others span several."""
    version = addon["addonVersion"]
    if addon["addonName"] != "kube-proxy" or version == _SOME_VERSION:
        return
    if any(old["addonVersion"] == version for old in account.find(ADDON, id=addon.id)):
        return
    cluster = next(account.find(CLUSTER, name=addon["clusterName"]))
    if minor(version) != minor(cluster["version"]):
        raise AwsError(
            "InvalidParameterException",
            f"addon version specified is not supported: kube-proxy {version} on Kubernetes {cluster['version']}",
        )


def _roles_trust_pods(account: "Account", holder: "Record") -> None:
    arns = [holder["roleArn"], *(item["roleArn"] for item in holder["podIdentityAssociations"] or [])]
    for role in (role for arn in arns if arn for role in account.find(ROLE, arn=arn)):
        missing = {"sts:AssumeRole", "sts:TagSession"} - trusts(role, "pods.eks.amazonaws.com")
        if missing:
            raise AwsError(
                "InvalidParameterException",
                f"trust policy of role {role.id} must allow pods.eks.amazonaws.com {' and '.join(sorted(missing))}",
            )


TYPES = (
    ResourceType(
        ADDON,
        id="{clusterName}:{addonName}",
        outputs={
            "arn": "arn:{partition}:eks:{region}:{account}:addon/{clusterName}/{addonName}/{uuid}",
            "createdAt": "2026-01-01T00:00:00Z",
            "modifiedAt": "2026-01-01T00:00:00Z",
        },
        defaults={"addonVersion": _SOME_VERSION},
        required=("clusterName", "addonName"),
        replaces=("clusterName", "addonName"),
        checks=(
            one_of("addonName", (*_ON_EVERY_NODE, *_ON_SOME_NODE)),
            matches("addonVersion", r"v\d+\.\d+\.\d+-eksbuild\.\d+", "an add-on version such as v1.2.3-eksbuild.4"),
            one_of("resolveConflictsOnCreate", ("NONE", "OVERWRITE")),
            one_of("resolveConflictsOnUpdate", ("NONE", "OVERWRITE", "PRESERVE")),
        ),
        api=Api(
            "eks",
            "CreateAddon",
            dict.fromkeys(("preserve", "resolveConflictsOnUpdate", "resolveConflictsOnCreate"), ""),
        ),
        refers=(
            OF_CLUSTER,
            Refers(
                "podIdentityAssociations.roleArn",
                ROLE,
                "InvalidParameterException",
                by=("arn",),
                in_use="DeleteConflict",
            ),
        ),
        unique=(
            Unique(
                ("clusterName", "addonName"),
                "ResourceInUseException",
                "addon {addonName} already exists on cluster {clusterName}",
            ),
        ),
        admits=(_a_node_runs_it, _version_belongs_to_the_cluster, _roles_trust_pods),
        tagged=True,
    ),
    ResourceType(
        POD_IDENTITY,
        id="a-{hex17}",
        outputs={
            "associationId": "{id}",
            "associationArn": "arn:{partition}:eks:{region}:{account}:podidentityassociation/{clusterName}/{id}",
        },
        required=("clusterName", "namespace", "serviceAccount", "roleArn"),
        replaces=("clusterName", "namespace", "serviceAccount"),
        api=Api("eks", "CreatePodIdentityAssociation"),
        refers=(
            OF_CLUSTER,
            Refers("roleArn", ROLE, "InvalidParameterException", by=("arn",), in_use="DeleteConflict"),
        ),
        unique=(
            Unique(
                ("clusterName", "namespace", "serviceAccount"),
                "ResourceInUseException",
                "service account {namespace}/{serviceAccount} of {clusterName} has an association already: {id}",
            ),
        ),
        admits=(_roles_trust_pods,),
        tagged=True,
    ),
)
