"""What a controller's pods would have on AWS: a node to run on, and a role to call AWS with."""

from localcloud.aws.eks_addons import POD_IDENTITY
from localcloud.aws.eks_nodes import ADDON
from localcloud.aws.iam import ROLE
from localcloud.cluster.conditions import holds
from localcloud.cluster.kinds import NODE
from localcloud.cluster.view import Object, View, is_going
from localcloud.record import Record

# Controllers of a cluster tolerate this taint of nodes that are kept for them, and no other.
_CRITICAL = "CriticalAddonsOnly"


def can_run(view: View) -> bool:
    """Whether the cluster has a node that is ready and takes pods with no tolerations of their own."""
    return any(takes_controllers(node) for node in view.all(NODE))


def takes_controllers(node: Object) -> bool:
    """Whether a cluster's controllers can run on a node."""
    taints = node["spec"].get("taints") or []
    kept = any(one["effect"] != "PreferNoSchedule" and one["key"] != _CRITICAL for one in taints)
    return holds(node, "Ready") and not kept and not is_going(node)


def role_of(view: View, namespace: str, service_account: str) -> Record | None:
    """Returns the role that pods of a service account get by Pod Identity; None when they get none."""
    if not any(view.account.find(ADDON, clusterName=view.cluster.id, addonName="eks-pod-identity-agent")):
        return None
    associations = view.account.find(
        POD_IDENTITY, clusterName=view.cluster.id, namespace=namespace, serviceAccount=service_account
    )
    arns = [association["roleArn"] for association in associations] or _given_by_addons(
        view, namespace, service_account
    )
    return next((role for arn in arns for role in view.account.find(ROLE, arn=arn)), None)


def _given_by_addons(view: View, namespace: str, service_account: str) -> list[str]:
    """Roles that add-ons hand to their own service accounts, all of which are in kube-system."""
    return [
        association["roleArn"]
        for addon in view.account.find(ADDON, clusterName=view.cluster.id)
        for association in addon["podIdentityAssociations"] or ()
        if namespace == "kube-system" and association["serviceAccount"] == service_account
    ]
