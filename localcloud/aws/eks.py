"""EKS: the control plane and who may use it. What runs on it is in `eks_capacity`."""

from typing import TYPE_CHECKING

from localcloud.aws.cloudwatch import LOG_GROUP
from localcloud.aws.ec2 import SECURITY_GROUP, SUBNET
from localcloud.aws.iam import ROLE, attached, trusts
from localcloud.aws.kms import caller_refusal, encrypts_with
from localcloud.checks import matches, one_of
from localcloud.errors import AwsError
from localcloud.properties import values_at
from localcloud.resource_type import Api, AutoName, OnDelete, Owned, Refers, ResourceType, Unique

if TYPE_CHECKING:
    from localcloud.account import Account
    from localcloud.record import Record

CLUSTER = "aws:eks/cluster:Cluster"
ACCESS_ENTRY = "aws:eks/accessEntry:AccessEntry"
ACCESS_POLICY = "aws:eks/accessPolicyAssociation:AccessPolicyAssociation"

# Versions in standard or extended support, as EKS lists them in 2026.
VERSIONS = ("1.30", "1.31", "1.32", "1.33", "1.34", "1.35", "1.36", "1.37")

KUBELET_SKEW = 3
"""How many minor versions a node may be behind its control plane (Kubernetes' version skew policy, since 1.28)."""

OF_CLUSTER = Refers("clusterName", CLUSTER, "ResourceNotFoundException", on_delete=OnDelete.CASCADE)
"""What EKS deletes with the cluster."""

_ACCESS_POLICIES = (
    *("AmazonEKSClusterAdminPolicy", "AmazonEKSAdminPolicy", "AmazonEKSAdminViewPolicy"),
    *("AmazonEKSEditPolicy", "AmazonEKSViewPolicy", "AmazonEKSSecretReaderPolicy"),
)


def has_administrator(account: "Account", cluster: "Record") -> bool:
    """Tells whether anybody may administer the cluster's objects."""
    if cluster["accessConfig.bootstrapClusterCreatorAdminPermissions"]:
        return True
    associations = account.find(ACCESS_POLICY, clusterName=cluster.id)
    return any(item["policyArn"].endswith("/AmazonEKSClusterAdminPolicy") for item in associations)


def _spans_two_zones_of_one_network(account: "Account", cluster: "Record") -> None:
    subnets = [subnet for id in cluster["vpcConfig.subnetIds"] for subnet in account.find(SUBNET, id=id)]
    if len({subnet["availabilityZone"] for subnet in subnets}) < 2:
        raise AwsError("InvalidParameterException", f"subnets of {cluster.id} must be in at least two different AZs")
    if len({subnet["vpcId"] for subnet in subnets}) > 1:
        raise AwsError("InvalidParameterException", f"subnets of {cluster.id} belong to different VPCs")


def _stays_in_its_zones(account: "Account", cluster: "Record") -> None:
    def zones(record: "Record") -> set[str]:
        subnets = [subnet for id in record["vpcConfig.subnetIds"] for subnet in account.find(SUBNET, id=id)]
        return {subnet["availabilityZone"] for subnet in subnets}

    for old in account.find(CLUSTER, id=cluster.id, arn=cluster["arn"]):
        if new := zones(cluster) - zones(old):
            raise AwsError(
                "InvalidParameterException",
                f"subnets of {cluster.id} must stay in the zones that it was made in, not {', '.join(sorted(new))}",
            )


def _role_serves_eks(account: "Account", cluster: "Record") -> None:
    role = next(account.find(ROLE, arn=cluster["roleArn"]))
    if "sts:AssumeRole" not in trusts(role, "eks.amazonaws.com"):
        raise AwsError(
            "InvalidParameterException", f"role {role.id} could not be assumed: it does not trust eks.amazonaws.com"
        )
    if "AmazonEKSClusterPolicy" not in attached(account, role):
        raise AwsError(
            "InvalidParameterException",
            f"role {role.id} doesn't have the Amazon EKS managed policies associated with it: attach "
            "AmazonEKSClusterPolicy before the cluster is made",
        )


def minor(version: str) -> int:
    """Returns the minor version of a Kubernetes version such as `1.35`, or of an add-on's such as `v1.35.0-...`."""
    return int(version.split(".")[1])


def _rises_one_minor_version(account: "Account", cluster: "Record") -> None:
    for old in account.find(CLUSTER, id=cluster.id, arn=cluster["arn"]):
        before, after = minor(old["version"]), minor(cluster["version"])
        if after not in (before, before + 1):
            raise AwsError(
                "InvalidParameterException",
                f"unsupported Kubernetes minor version update from {old['version']} to {cluster['version']}: EKS "
                "goes up one minor version at a time and never down",
            )


def _leaves_no_node_behind(account: "Account", cluster: "Record") -> None:
    for group in account.find("aws:eks/nodeGroup:NodeGroup", clusterName=cluster.id):
        if group["version"] and minor(group["version"]) < minor(cluster["version"]) - KUBELET_SKEW:
            raise AwsError(
                "InvalidRequestException",
                f"kubelets of node group {group['nodeGroupName']} ({group['version']}) are not compatible with the "
                f"desired control plane version {cluster['version']}: update the node group first",
            )


def _key_may_be_used(account: "Account", cluster: "Record") -> None:
    for item in values_at(cluster.outputs, "encryptionConfig.provider.keyArn"):
        actions = ("kms:DescribeKey", "kms:CreateGrant", "kms:Encrypt", "kms:Decrypt")
        if reason := caller_refusal(account, item, "eks", actions=actions):
            raise AwsError("InvalidParameterException", f"the encryption key of {cluster.id} may not be used: {reason}")


def _is_not_protected(_: "Account", cluster: "Record") -> None:
    if cluster["deletionProtection"]:
        raise AwsError(
            "InvalidRequestException",
            f"cannot delete cluster {cluster.id} with deletion protection enabled: turn it off first",
        )


def _cluster_takes_entries(account: "Account", entry: "Record") -> None:
    cluster = next(account.find(CLUSTER, name=entry["clusterName"]))
    if cluster["accessConfig.authenticationMode"] not in ("API", "API_AND_CONFIG_MAP"):
        raise AwsError(
            "InvalidRequestException",
            "the cluster's authentication mode must be set to one of [API, API_AND_CONFIG_MAP] to perform this",
        )


def _principal_has_entry(account: "Account", association: "Record") -> None:
    principal = association["principalArn"]
    entries = account.find(ACCESS_ENTRY, clusterName=association["clusterName"], principalArn=principal)
    entry = next(entries, None)
    if entry is None:
        raise AwsError("ResourceNotFoundException", f"the principal {principal} has no access entry on the cluster")
    if entry["type"] != "STANDARD":
        raise AwsError(
            "InvalidRequestException", f"the entry of {principal} is {entry['type']}; only STANDARD takes policies"
        )


TYPES = (
    ResourceType(
        CLUSTER,
        id="{name}",
        outputs={
            "arn": "arn:{partition}:eks:{region}:{account}:cluster/{name}",
            "endpoint": "https://{upper32}.gr7.{region}.eks.{dns_suffix}",
            "certificateAuthority": {"data": "{hex64:authority}"},
            "identities": [{"oidcs": [{"issuer": "https://oidc.eks.{region}.{dns_suffix}/id/{upper32}"}]}],
            "status": "ACTIVE",
            "platformVersion": "eks.1",
            "createdAt": "2026-01-01T00:00:00Z",
            "vpcConfig": {"clusterSecurityGroupId": "sg-{hex17:cluster}"},
        },
        defaults={
            "version": VERSIONS[-2],
            "deletionProtection": False,
            "bootstrapSelfManagedAddons": True,
            "kubernetesNetworkConfig": {"ipFamily": "ipv4", "serviceIpv4Cidr": "10.100.0.0/16"},
            "vpcConfig": {"endpointPublicAccess": True, "endpointPrivateAccess": False},
        },
        required=("roleArn", "vpcConfig.subnetIds"),
        auto_name=AutoName(longest=100),
        replaces=(
            *("name", "roleArn", "bootstrapSelfManagedAddons", "encryptionConfig", "outpostConfig"),
            *("kubernetesNetworkConfig.serviceIpv4Cidr", "kubernetesNetworkConfig.ipFamily"),
            "accessConfig.bootstrapClusterCreatorAdminPermissions",
        ),
        unordered=("vpcConfig.subnetIds", "vpcConfig.publicAccessCidrs", "enabledClusterLogTypes"),
        checks=(
            matches("name", r"[0-9A-Za-z][A-Za-z0-9_-]{0,99}", "a cluster name: 1 to 100 letters, digits, - and _"),
            one_of("version", VERSIONS),
            one_of("accessConfig.authenticationMode", ("CONFIG_MAP", "API", "API_AND_CONFIG_MAP")),
            one_of("enabledClusterLogTypes", ("api", "audit", "authenticator", "controllerManager", "scheduler")),
            one_of("encryptionConfig.resources", ("secrets",)),
            one_of("upgradePolicy.supportType", ("STANDARD", "EXTENDED")),
        ),
        api=Api(
            "eks",
            "CreateCluster",
            {
                "vpcConfig": "resourcesVpcConfig",
                "enabledClusterLogTypes": "",
                "vpcConfig.clusterSecurityGroupId": "",
                "vpcConfig.vpcId": "",
                **dict.fromkeys(("forceUpdateVersion", "defaultAddonsToRemoves"), ""),
            },
        ),
        refers=(
            Refers("roleArn", ROLE, "InvalidParameterException", by=("arn",), in_use="DeleteConflict"),
            Refers("vpcConfig.subnetIds", SUBNET, "InvalidParameterException"),
            Refers("vpcConfig.securityGroupIds", SECURITY_GROUP, "InvalidParameterException"),
            encrypts_with("encryptionConfig.provider.keyArn", "InvalidParameterException"),
        ),
        unique=(Unique(("name",), "ResourceInUseException", "cluster already exists with name: {name}"),),
        owns=(
            Owned(
                SECURITY_GROUP,
                id="{vpcConfig.clusterSecurityGroupId}",
                inputs={
                    "name": "eks-cluster-sg-{name}-{digits10}",
                    "description": "EKS created security group applied to the control plane and managed nodes",
                    "tags": {"aws:eks:cluster-name": "{name}"},
                },
            ),
            # Without a group made beforehand, EKS makes one: without key, without end, and nobody deletes it.
            Owned(
                LOG_GROUP,
                id="/aws/eks/{name}/cluster",
                inputs={"name": "/aws/eks/{name}/cluster"},
                when="enabledClusterLogTypes",
                outlives=True,
            ),
        ),
        admits=(
            _spans_two_zones_of_one_network,
            _role_serves_eks,
            _key_may_be_used,
            _rises_one_minor_version,
            _stays_in_its_zones,
            _leaves_no_node_behind,
        ),
        releases=(_is_not_protected,),
        tagged=True,
    ),
    ResourceType(
        ACCESS_ENTRY,
        id="{clusterName}:{principalArn}",
        outputs={
            "accessEntryArn": "arn:{partition}:eks:{region}:{account}:access-entry/{clusterName}/{uuid}",
            "createdAt": "2026-01-01T00:00:00Z",
        },
        defaults={"type": "STANDARD"},
        required=("clusterName", "principalArn"),
        replaces=("clusterName", "principalArn", "type"),
        unordered=("kubernetesGroups",),
        checks=(
            matches("principalArn", r"arn:{partition}:(iam|sts)::\d{12}:(role|user|federated-user)/.+", "an IAM ARN"),
            one_of("type", ("STANDARD", "EC2_LINUX", "EC2_WINDOWS", "FARGATE_LINUX", "EC2", "HYBRID_LINUX")),
        ),
        api=Api("eks", "CreateAccessEntry", {"userName": "username"}),
        refers=(OF_CLUSTER,),
        unique=(
            Unique(
                ("clusterName", "principalArn"),
                "ResourceInUseException",
                "the access entry of {principalArn} is already in use on cluster {clusterName}",
            ),
        ),
        admits=(_cluster_takes_entries,),
        tagged=True,
    ),
    ResourceType(
        ACCESS_POLICY,
        id="{clusterName}#{principalArn}#{policyArn}",
        outputs={"associatedAt": "2026-01-01T00:00:00Z", "modifiedAt": "2026-01-01T00:00:00Z"},
        required=("clusterName", "principalArn", "policyArn", "accessScope.type"),
        replaces=("clusterName", "principalArn", "policyArn", "accessScope"),
        checks=(
            matches(
                "policyArn",
                rf"arn:{{partition}}:eks::aws:cluster-access-policy/({'|'.join(_ACCESS_POLICIES)})",
                f"the ARN of an access policy ({', '.join(_ACCESS_POLICIES)})",
            ),
            one_of("accessScope.type", ("cluster", "namespace")),
        ),
        api=Api("eks", "AssociateAccessPolicy"),
        refers=(
            OF_CLUSTER,
            Refers(
                "principalArn",
                ACCESS_ENTRY,
                "ResourceNotFoundException",
                by=("principalArn",),
                within="clusterName",
                on_delete=OnDelete.CASCADE,
            ),
        ),
        admits=(_principal_has_entry,),
    ),
)
