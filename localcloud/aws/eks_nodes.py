"""EKS: managed node groups."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from localcloud.aws.ec2 import SUBNET
from localcloud.aws.eks import ACCESS_ENTRY, CLUSTER, KUBELET_SKEW, minor
from localcloud.aws.gateways import reaches_internet
from localcloud.aws.iam import ROLE, attached
from localcloud.aws.instances import LAUNCH_TEMPLATE, architecture_of
from localcloud.aws.kms import caller_refusal
from localcloud.checks import ascending, at_most_one, between, one_of
from localcloud.errors import AwsError
from localcloud.properties import value_at, values_at
from localcloud.resource_type import (
    Api,
    AutoName,
    Failure,
    Identity,
    Owned,
    Properties,
    Refers,
    ResourceType,
    Unique,
)

if TYPE_CHECKING:
    from localcloud.account import Account
    from localcloud.record import Record

NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"
ADDON = "aws:eks/addon:Addon"

# Managed node groups are auto scaling groups: this role launches their instances, by the key's policy alone.
_LAUNCHER = "aws-service-role/autoscaling.amazonaws.com/AWSServiceRoleForAutoScaling"

_MOST_TAINTS, _MOST_LABELS = 50, 50
# Kubernetes keeps these to itself.
_RESERVED = ("kubernetes.io/", "k8s.io/", "eks.amazonaws.com/")


def has_nodes(account: "Account", cluster_name: str) -> bool:
    """Tells whether a cluster has nodes of its own, on which a controller can run."""
    return any(group["scalingConfig.desiredSize"] for group in account.find(NODE_GROUP, clusterName=cluster_name))


def _no_nodes(group: "Record", reason: str) -> AwsError:
    return AwsError("NodeCreationFailure", f"instances of {group.name} failed to join the kubernetes cluster: {reason}")


def missing_node_policies(account: "Account", role: "Record") -> str | None:
    """Returns what a node with this role could not do for want of a policy; None when it has them."""
    policies = attached(account, role)
    if "AmazonEKSWorkerNodePolicy" not in policies:
        return f"role {role.id} lacks AmazonEKSWorkerNodePolicy"
    if not policies & {"AmazonEC2ContainerRegistryPullOnly", "AmazonEC2ContainerRegistryReadOnly"}:
        return f"role {role.id} may not pull images (AmazonEC2ContainerRegistryPullOnly)"
    return None


def _nodes_can_pull_and_join(account: "Account", group: "Record") -> None:
    role = next(account.find(ROLE, arn=group["nodeRoleArn"]))
    if reason := missing_node_policies(account, role):
        raise _no_nodes(group, reason)


def _nodes_have_a_way_out(account: "Account", group: "Record") -> None:
    for subnet_id in group["subnetIds"]:
        if not reaches_internet(account, subnet_id):
            raise _no_nodes(
                group,
                f"subnet {subnet_id} has no way out: its route table needs 0.0.0.0/0 to an internet gateway, or to a "
                "NAT gateway whose subnet has that",
            )


def _nodes_have_a_network(account: "Account", group: "Record") -> None:
    cluster = next(account.find(CLUSTER, name=group["clusterName"]))
    cni = any(account.find(ADDON, clusterName=cluster.id, addonName="vpc-cni"))
    if not cni and not cluster["bootstrapSelfManagedAddons"]:
        raise _no_nodes(group, "cni plugin not initialized; install the add-on vpc-cni before the nodes")


def _template(account: "Account", group: "Record") -> "Record | None":
    """Returns the group's launch template in the version that it asks for, if it has one."""
    template = next(account.find(LAUNCH_TEMPLATE, id=group["launchTemplate.id"]), None)
    version = str(group["launchTemplate.version"])
    if template and version.isdigit() and not 1 <= int(version) <= template["latestVersion"]:
        raise AwsError(
            "InvalidRequestException", f"launch template {template.id} has no version {version} for {group.name}"
        )
    return template


def _template_leaves_to_eks_what_is_its_own(account: "Account", group: "Record") -> None:
    template = _template(account, group)
    if template is None:
        return
    block = group["capacityType"] == "CAPACITY_BLOCK"
    reservation = "capacityReservationSpecification.capacityReservationTarget.capacityReservationId"
    forbidden = {
        "iamInstanceProfile": "the launch template must not specify an IAM instance profile",
        "networkInterfaces.subnetId": "the launch template must not specify subnets",
        "hibernationOptions.configured": "the launch template must not specify hibernation",
    }
    reasons = [reason for path, reason in forbidden.items() if any(values_at(template.outputs, path))]
    if template["instanceInitiatedShutdownBehavior"] == "terminate":
        reasons.append("the launch template must not specify the shutdown behaviour terminate")
    if template["instanceType"] and group["instanceTypes"]:
        reasons.append("instance types can be in the launch template or in the node group, not in both")
    if template["networkInterfaces"] and template["vpcSecurityGroupIds"]:
        reasons.append("security groups of network interfaces and of the instance must not be specified together")
    if template["imageId"] and (
        group["amiType"] not in (None, "CUSTOM") or group["releaseVersion"] or group["version"]
    ):
        reasons.append("with an image in the launch template, amiType, version and releaseVersion must be left out")
    if template["instanceMarketOptions"] and not block:
        reasons.append("capacityType says what is bought: the launch template must not specify market options")
    if block and template["instanceMarketOptions.marketType"] != "capacity-block":
        reasons.append("a CAPACITY_BLOCK group needs market type capacity-block in its launch template")
    if block and not (template[reservation] and template["instanceType"]):
        reasons.append("a CAPACITY_BLOCK group needs reservation and instance type in its launch template")
    if reasons:
        raise AwsError("InvalidParameterException", f"{group.name}: {'; '.join(reasons)}")


def _image_fits_the_instances(account: "Account", group: "Record") -> None:
    template = _template(account, group)
    types = group["instanceTypes"] or [template["instanceType"] if template else None]
    image = group["amiType"]
    if image in (None, "CUSTOM"):
        return
    wanted = "arm64" if "_ARM_64" in image else "x86_64"
    wrong = [name for name in types if name and architecture_of(name) != wanted]
    if wrong:
        raise AwsError(
            "InvalidParameterException",
            f"[{', '.join(wrong)}] is not a valid instance type for requested amiType {image}",
        )


def _nodes_keep_step_with_the_control_plane(account: "Account", group: "Record") -> None:
    version = group["version"]
    if version is None:
        return
    cluster = next(account.find(CLUSTER, name=group["clusterName"]))
    if minor(version) > minor(cluster["version"]):
        raise AwsError(
            "InvalidParameterException",
            f"nodegroup Kubernetes version {version} must not be newer than the cluster's {cluster['version']}: "
            "update the control plane first",
        )
    if minor(version) < minor(cluster["version"]) - KUBELET_SKEW:
        raise AwsError(
            "InvalidParameterException",
            f"nodegroup Kubernetes version {version} is more than {KUBELET_SKEW} minor versions behind the cluster's "
            f"{cluster['version']}",
        )
    for old in account.find(NODE_GROUP, id=group.id):
        if old["version"] and minor(old["version"]) > minor(version):
            raise AwsError(
                "InvalidParameterException", f"nodegroup version cannot go down from {old['version']} to {version}"
            )


def _volumes_can_be_encrypted(account: "Account", group: "Record") -> None:
    template = _template(account, group)
    _, partition, _, _, account_id, *_ = group["arn"].split(":")
    launcher = f"arn:{partition}:iam::{account_id}:role/{_LAUNCHER}"
    for key in values_at(template.outputs, "blockDeviceMappings.ebs.kmsKeyId") if template else ():
        if reason := caller_refusal(account, key, "ec2", launcher):
            raise AwsError(
                "AsgInstanceLaunchFailures",
                f"no instance of {group.name} was launched: Client.InvalidKMSKey.InvalidState: {reason}",
            )


def _few_labels_and_taints(inputs: Properties, _: Identity) -> Iterator[Failure]:
    taints: Any = value_at(inputs, "taints")
    labels: Any = value_at(inputs, "labels")
    if isinstance(taints, list) and len(taints) > _MOST_TAINTS:
        yield Failure("taints", f"at most {_MOST_TAINTS} taints, got {len(taints)}")
    if isinstance(labels, dict):
        if len(labels) > _MOST_LABELS:
            yield Failure("labels", f"at most {_MOST_LABELS} labels, got {len(labels)}")
        for label in labels:
            if f"{label.partition('/')[0]}/".endswith(_RESERVED) and "/" in label:
                yield Failure("labels", f"{label} has a prefix that Kubernetes or EKS keeps to itself")


TYPES = (
    ResourceType(
        NODE_GROUP,
        id="{clusterName}:{nodeGroupName}",
        outputs={
            "arn": "arn:{partition}:eks:{region}:{account}:nodegroup/{clusterName}/{nodeGroupName}/{uuid}",
            "status": "ACTIVE",
            "resources": [{"autoscalingGroups": [{"name": "eks-{nodeGroupName}-{uuid}"}]}],
        },
        defaults={"capacityType": "ON_DEMAND"},
        required=("clusterName", "nodeRoleArn", "subnetIds", "scalingConfig"),
        auto_name=AutoName(path="nodeGroupName", longest=63),
        replaces=(
            *("clusterName", "nodeGroupName", "nodeRoleArn", "subnetIds", "instanceTypes", "amiType", "diskSize"),
            *("capacityType", "remoteAccess", "launchTemplate.id", "launchTemplate.name"),
        ),
        unordered=("subnetIds",),
        checks=(
            ascending("scalingConfig.minSize", "scalingConfig.desiredSize", "scalingConfig.maxSize"),
            between("scalingConfig.maxSize", 1, 450),
            one_of("capacityType", ("ON_DEMAND", "SPOT", "CAPACITY_BLOCK")),
            at_most_one("launchTemplate.id", "launchTemplate.name"),
            at_most_one("launchTemplate", "remoteAccess"),
            at_most_one("launchTemplate", "diskSize"),
            _few_labels_and_taints,
        ),
        api=Api(
            "eks",
            "CreateNodegroup",
            {
                "nodeRoleArn": "nodeRole",
                "subnetIds": "subnets",
                "remoteAccess.sourceSecurityGroupIds": "sourceSecurityGroups",
                "forceUpdateVersion": "",
            },
        ),
        refers=(
            Refers("clusterName", CLUSTER, "ResourceNotFoundException", in_use="ResourceInUseException"),
            Refers("nodeRoleArn", ROLE, "InvalidParameterException", by=("arn",), in_use="DeleteConflict"),
            Refers("subnetIds", SUBNET, "InvalidParameterException"),
            Refers("launchTemplate.id", LAUNCH_TEMPLATE, "InvalidLaunchTemplateId.NotFound"),
        ),
        unique=(
            Unique(
                ("clusterName", "nodeGroupName"),
                "ResourceInUseException",
                "node group {nodeGroupName} already exists in cluster {clusterName}",
            ),
        ),
        owns=(
            Owned(
                ACCESS_ENTRY,
                id="{clusterName}:{nodeRoleArn}",
                inputs={
                    "clusterName": "{clusterName}",
                    "principalArn": "{nodeRoleArn}",
                    "type": "EC2_LINUX",
                },
            ),
        ),
        admits=(
            _nodes_can_pull_and_join,
            _nodes_have_a_way_out,
            _nodes_have_a_network,
            _template_leaves_to_eks_what_is_its_own,
            _image_fits_the_instances,
            _nodes_keep_step_with_the_control_plane,
            _volumes_can_be_encrypted,
        ),
        tagged=True,
    ),
)
