"""Access entries as rights: while somebody may administer the cluster, the deployer may do everything in it."""

from localcloud.aws.eks import has_administrator
from localcloud.cluster.credentials import DEPLOYER
from localcloud.cluster.kinds import CLUSTER_ROLE_BINDING
from localcloud.cluster.view import View

BINDING = "eks:cluster-admin"


def access(view: View) -> None:
    """Gives the deployer the rights of an administrator, or takes them away.

    EKS judges every request anew: once the last entry with AmazonEKSClusterAdminPolicy is gone, objects can be neither
    made nor deleted.
    """
    wanted = has_administrator(view.account, view.cluster)
    present = view.find(CLUSTER_ROLE_BINDING, BINDING)
    if wanted and present is None:
        view.create(
            CLUSTER_ROLE_BINDING,
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "ClusterRoleBinding",
                "metadata": {"name": BINDING},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
                "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": DEPLOYER}],
            },
        )
    elif present is not None and not wanted:
        view.delete(CLUSTER_ROLE_BINDING, present)
