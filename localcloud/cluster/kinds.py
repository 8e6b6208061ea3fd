"""The kinds of objects that are read and written here, as plain dictionaries, and how to list those of a kind."""

from typing import Any

import httpx2
from lightkube.core.resource import NamespacedResource
from lightkube.generic_resource import create_global_resource, create_namespaced_resource

NODE = create_global_resource("", "v1", "Node", "nodes")
POD = create_namespaced_resource("", "v1", "Pod", "pods")
CONFIG_MAP = create_namespaced_resource("", "v1", "ConfigMap", "configmaps")
SECRET = create_namespaced_resource("", "v1", "Secret", "secrets")
SERVICE = create_namespaced_resource("", "v1", "Service", "services")
INGRESS = create_namespaced_resource("networking.k8s.io", "v1", "Ingress", "ingresses")
INGRESS_CLASS = create_global_resource("networking.k8s.io", "v1", "IngressClass", "ingressclasses")
VOLUME = create_global_resource("", "v1", "PersistentVolume", "persistentvolumes")
VOLUME_CLAIM = create_namespaced_resource("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims")
STORAGE_CLASS = create_global_resource("storage.k8s.io", "v1", "StorageClass", "storageclasses")
NODE_POOL = create_global_resource("karpenter.sh", "v1", "NodePool", "nodepools")
NODE_CLAIM = create_global_resource("karpenter.sh", "v1", "NodeClaim", "nodeclaims")
NODE_CLASS = create_global_resource("karpenter.k8s.aws", "v1", "EC2NodeClass", "ec2nodeclasses")
SECRET_STORE = create_global_resource("external-secrets.io", "v1", "ClusterSecretStore", "clustersecretstores")
EXTERNAL_SECRET = create_namespaced_resource("external-secrets.io", "v1", "ExternalSecret", "externalsecrets")
CLUSTER_ROLE_BINDING = create_global_resource(
    "rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings"
)
EVENT = create_namespaced_resource("", "v1", "Event", "events")
INGRESS_CLASS_PARAMS = create_global_resource("elbv2.k8s.aws", "v1beta1", "IngressClassParams", "ingressclassparams")
NAMESPACED_SECRET_STORE = create_namespaced_resource("external-secrets.io", "v1", "SecretStore", "secretstores")
DAEMON_SET = create_namespaced_resource("apps", "v1", "DaemonSet", "daemonsets")
NODE_OVERLAY = create_global_resource("karpenter.sh", "v1alpha1", "NodeOverlay", "nodeoverlays")
NAMESPACE = create_global_resource("", "v1", "Namespace", "namespaces")
SERVICE_ACCOUNT = create_namespaced_resource("", "v1", "ServiceAccount", "serviceaccounts")
CRD = create_global_resource("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions")
JOB = create_namespaced_resource("batch", "v1", "Job", "jobs")


def all_of(client: Any, kind: Any, namespace: str = "*") -> list[Any]:
    """All objects of a kind; none where the cluster does not know the kind.

    Args:
        client: a client of lightkube's.
        kind: one of the kinds above.
        namespace: where to look, `*` for all namespaces; means nothing to a kind that has none.

    Raises:
        httpx2.HTTPError: the cluster does not answer, or refuses.
    """
    where = {"namespace": namespace} if issubclass(kind, NamespacedResource) else {}
    try:
        return list(client.list(kind, **where))
    except httpx2.HTTPStatusError as error:
        # Not always an ApiError: of a group that it does not know, the server speaks in plain text.
        if error.response.status_code == 404:
            return []
        raise
