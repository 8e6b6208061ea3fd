"""What Karpenter needs in AWS to serve its pools: an identity with rights, its queue, and nodes that can join."""

from typing import TYPE_CHECKING

from localcloud.authorization import mentions
from localcloud.aws.eks import ACCESS_ENTRY
from localcloud.aws.eks_addons import POD_IDENTITY
from localcloud.aws.eks_nodes import missing_node_policies
from localcloud.aws.iam import INSTANCE_PROFILE, ROLE, policies_of
from localcloud.aws.kms import caller_refusal
from localcloud.aws.sqs import QUEUE
from localcloud.errors import AwsError
from localcloud.properties import values_at

if TYPE_CHECKING:
    from localcloud.account import Account
    from localcloud.record import Record

NODE_POOL = "kubernetes:karpenter.sh/v1:NodePool"
NODE_CLASS = "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass"

# It can make nodes, end them, and hand them their role.
_RIGHTS = ("ec2:CreateFleet", "ec2:RunInstances", "ec2:TerminateInstances", "ec2:DescribeInstances", "iam:PassRole")


def controller_role(account: "Account", cluster: "Record", release: "Record") -> "Record":
    """Returns the role of the controller that a release installed.

    Raises:
        AwsError: it has none, or one without the rights to make and end nodes.
    """
    service_account = release["values.serviceAccount.name"] or "karpenter"
    where = f"{release['namespace']}/{service_account}"
    for association in account.find(
        POD_IDENTITY, clusterName=cluster.id, namespace=release["namespace"], serviceAccount=service_account
    ):
        role = next(account.find(ROLE, arn=association["roleArn"]))
        lacking = [right for right in _RIGHTS if not mentions(policies_of(account, role), right)]
        if lacking:
            raise AwsError("Timeout", f"karpenter does nothing: its role {role.id} lacks {', '.join(lacking)}")
        return role
    raise AwsError("Timeout", f"karpenter does nothing: service account {where} has no Pod Identity association")


def queue_is_there(account: "Account", release: "Record") -> None:
    """Holds a release of the controller to its interruption queue, without which it ends at its start."""
    name = release["values.settings.interruptionQueue"]
    if name and not any(account.find(QUEUE, name=name)):
        raise AwsError("Timeout", f"release {release.id} failed: karpenter finds no queue {name}")


def nodes_can_start(account: "Account", cluster: "Record", release: "Record", record: "Record") -> None:
    """Holds a pool, or the class of its nodes, to what a node needs: a readable volume key, and a way to join.

    Raises:
        AwsError: nodes of this kind would not start or not join.
    """
    role = controller_role(account, cluster, release)
    if record.token == NODE_CLASS and (reason := volume_refusal(account, role, record)):
        raise AwsError("NodeClassNotReady", f"no instance of {record.id} would start: {reason}")
    if record.token == NODE_POOL:
        reference = record["spec.template.spec.nodeClassRef.name"]
        for node_class in (item for item in account.find(NODE_CLASS, id=reference) if item.scope == record.scope):
            if reason := join_refusal(account, cluster, node_class):
                raise AwsError("NodeCreationFailure", f"no node of {record.id} would join: {reason}")


def volume_refusal(account: "Account", role: "Record", node_class: "Record") -> str | None:
    """Returns why instances of a node class would not start for want of their volumes' keys; None if they would.

    Args:
        account: the account that keys and roles are in.
        role: the controller's role.
        node_class: an EC2NodeClass, as a record or made one.
    """
    for key in values_at(node_class.outputs, "spec.blockDeviceMappings.ebs.kmsKeyID"):
        if reason := caller_refusal(account, key, "ec2", role["arn"], policies_of(account, role)):
            return reason
    return None


def join_refusal(account: "Account", cluster: "Record", node_class: "Record") -> str | None:
    """Returns why instances of a node class would not become nodes; None if they would.

    Args:
        account: the account that profiles and roles are in.
        cluster: the cluster to join.
        node_class: an EC2NodeClass, as a record or made one.
    """
    for profile in account.find(INSTANCE_PROFILE, name=node_class["spec.instanceProfile"]):
        for role in account.find(ROLE):
            if profile["role"] in (role["name"], role["arn"]):
                return missing_node_policies(account, role) or _missing_entry(account, cluster, role)
    return None


def _missing_entry(account: "Account", cluster: "Record", role: "Record") -> str | None:
    entries = account.find(ACCESS_ENTRY, clusterName=cluster.id, principalArn=role["arn"])
    if any(entry["type"] == "EC2_LINUX" for entry in entries):
        return None
    return f"role {role.id} has no EC2_LINUX access entry on {cluster.id}"
