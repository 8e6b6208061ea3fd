"""The kubernetes provider: objects and Helm releases, checked for names and order only.

What an object says is Kubernetes' own business and is checked by the API server of depth 3.
"""

from functools import cache
from typing import TYPE_CHECKING

from localcloud.api_groups import CONTROLLERS, CRDS, CRDS_ONLY
from localcloud.aws.ec2 import SECURITY_GROUP, SUBNET
from localcloud.aws.eks import CLUSTER, has_administrator
from localcloud.aws.eks_nodes import has_nodes
from localcloud.aws.iam import INSTANCE_PROFILE
from localcloud.checks import matches
from localcloud.errors import AwsError
from localcloud.karpenter import NODE_CLASS, NODE_POOL, controller_role, nodes_can_start, queue_is_there
from localcloud.resource_type import AutoName, Properties, Refers, ResourceType, Scope, Unique
from localcloud.templates import Draws

if TYPE_CHECKING:
    from localcloud.account import Account
    from localcloud.record import Record

RELEASE = "kubernetes:helm.sh/v3:Release"
NAMESPACE = "kubernetes:core/v1:Namespace"

# What every cluster has from the start.
_NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")


def _cluster_of(account: "Account", record: "Record") -> "Record":
    """Returns the cluster that an object belongs to, if it answers.

    Raises:
        AwsError: there is no such cluster, or nobody has the right to change its objects.
    """
    cluster = next(account.find(CLUSTER, endpoint=record.scope), None)
    if cluster is None:
        raise AwsError(
            "ClusterUnreachable",
            f"configured Kubernetes cluster is unreachable: no API server at {record.scope or '(no kubeconfig)'}",
        )
    if not has_administrator(account, cluster):
        raise AwsError(
            "Unauthorized",
            f"the server of {cluster.id} has asked for the client to provide credentials: no access entry has "
            "AmazonEKSClusterAdminPolicy (any more). Objects must come after it and go before it",
        )
    return cluster


def _reachable(account: "Account", record: "Record") -> None:
    _cluster_of(account, record)


def _group(token: str) -> str:
    return token.split(":")[1].rpartition("/")[0]


def _release(account: "Account", record: "Record", chart: str) -> "Record | None":
    """Returns the release of a chart on the cluster of an object."""
    releases = (release for release in account.find(RELEASE) if release.scope == record.scope)
    return next((release for release in releases if _chart(release) == chart), None)


def _chart(release: "Record") -> str:
    """The chart's name, without the registry or folder that it comes from and without a file's version."""
    return release["chart"].rpartition("/")[2].removesuffix(f"-{release['version']}.tgz")


def _objects(account: "Account", release: "Record", groups: dict[str, str]) -> "list[Record]":
    """Returns the objects of the API groups that a table assigns to the release's chart."""
    return [
        record
        for record in account.records()
        if record.scope == release.scope and groups.get(_group(record.token)) == _chart(release)
    ]


def _its_kind_is_known(account: "Account", record: "Record") -> None:
    group = _group(record.token)
    if group in CRDS and _release(account, record, CRDS[group]) is None:
        raise AwsError(
            "NoKindMatch",
            f'no matches for kind "{record["kind"]}" in version "{record["apiVersion"]}": install the release of '
            f"chart {CRDS[group]} first",
        )
    if "." in group and group not in CRDS and not group.endswith(".k8s.io"):
        raise AwsError(
            "NoKindMatch",
            f'no matches for kind "{record["kind"]}" in version "{record["apiVersion"]}": the local cloud knows no '
            f"chart that brings {group}; add it to CRDS in localcloud/api_groups.py",
        )


def _its_controller_runs(account: "Account", record: "Record") -> None:
    controller = CONTROLLERS.get(_group(record.token))
    if controller is None:
        return
    cluster = _cluster_of(account, record)
    release = _release(account, record, controller)
    if release is None:
        raise AwsError(
            "Timeout",
            f"{record['kind']} {record['metadata.name']} waits for its controller in vain: the release of chart "
            f"{controller} is not installed",
        )
    if not has_nodes(account, cluster.id):
        raise AwsError(
            "Timeout",
            f"{record['kind']} {record['metadata.name']} waits for its controller in vain: {cluster.id} has no node "
            f"that {controller} could run on",
        )
    controller_role(account, cluster, release)


def _its_nodes_can_start(account: "Account", record: "Record") -> None:
    controller = CONTROLLERS.get(_group(record.token))
    release = _release(account, record, controller) if controller else None
    if release is not None:
        nodes_can_start(account, _cluster_of(account, record), release, record)


def _has_namespace(account: "Account", record: "Record", namespace: str) -> bool:
    """Tells whether a namespace is there on the cluster of an object."""
    made = account.find(NAMESPACE, id=namespace)
    return namespace in _NAMESPACES or any(item.scope == record.scope for item in made)


def _its_namespace_exists(account: "Account", record: "Record") -> None:
    namespace = record["metadata.namespace"]
    if namespace and not _has_namespace(account, record, namespace):
        raise AwsError("NotFound", f'namespaces "{namespace}" not found')


def _its_releases_namespace_exists(account: "Account", release: "Record") -> None:
    namespace = release["namespace"]
    if not release["createNamespace"] and not _has_namespace(account, release, namespace):
        raise AwsError("NotFound", f'create: failed to create: namespaces "{namespace}" not found')


def _its_pods_can_start(account: "Account", release: "Record") -> None:
    cluster = _cluster_of(account, release)
    chart = _chart(release)
    if chart in CRDS_ONLY or release["skipAwait"]:
        return
    if not has_nodes(account, cluster.id):
        raise AwsError(
            "Timeout",
            f"release {release.id} failed: timed out waiting for the condition ({cluster.id} has no nodes)",
        )
    if chart in CONTROLLERS.values():
        # It asks EC2 at its start, and ends when it may not.
        controller_role(account, cluster, release)
        queue_is_there(account, release)
    needed = {CRDS[group] for group, controller in CONTROLLERS.items() if controller == chart}
    for crds in sorted(needed):
        if release["skipCrds"] and _release(account, release, crds) is None:
            raise AwsError(
                "Timeout",
                f"release {release.id} failed: its controller finds no CRDs; install the release of chart {crds} first",
            )


def _serves_nothing_any_more(account: "Account", release: "Record") -> None:
    _cluster_of(account, release)
    left = [*_objects(account, release, CRDS), *_objects(account, release, CONTROLLERS)]
    if left:
        listed = ", ".join(f"{record['kind']} {record['metadata.name']}" for record in left)
        raise AwsError(
            "ReleaseInUse",
            f"release {release.id} cannot be uninstalled: {listed} would keep finalizers that nobody serves. Delete "
            "these first (in the program: make them depend on the release)",
        )


@cache
def object_type(token: str) -> ResourceType | None:
    """Returns the declaration of any Kubernetes kind; None for a token of another package."""
    if not token.startswith("kubernetes:") or token == RELEASE:
        return None
    refers = {
        NODE_POOL: (Refers("spec.template.spec.nodeClassRef.name", NODE_CLASS, "NodeClassNotFound", in_use="Timeout"),),
        NODE_CLASS: (
            Refers("spec.instanceProfile", INSTANCE_PROFILE, "NodeClassNotReady", in_use="DeleteConflict"),
            Refers("spec.subnetSelectorTerms.id", SUBNET, "NodeClassNotReady"),
            Refers("spec.securityGroupSelectorTerms.id", SECURITY_GROUP, "NodeClassNotReady"),
        ),
    }.get(token, ())
    return ResourceType(
        token,
        id=_object_id,
        outputs={"metadata": {"uid": "{uuid}", "generation": 1}},
        required=("apiVersion", "kind"),
        auto_name=AutoName(path="metadata.name", longest=253, lower=True),
        replaces=("apiVersion", "kind", "metadata.name", "metadata.namespace"),
        checks=(
            matches(
                "metadata.name", r"[a-z0-9]([-a-z0-9.:]*[a-z0-9])?", "a Kubernetes name: lower case, digits, - and ."
            ),
        ),
        refers=refers,
        admits=(_reachable, _its_kind_is_known, _its_namespace_exists, _its_controller_runs, _its_nodes_can_start),
        releases=(_reachable, _its_controller_runs),
        scope=Scope.CLUSTER,
    )


def _object_id(properties: Properties, _: Draws) -> str:
    metadata = properties["metadata"]
    namespace = metadata.get("namespace")
    return f"{namespace}/{metadata['name']}" if namespace else metadata["name"]


TYPES = (
    ResourceType(
        RELEASE,
        id="{namespace}/{name}",
        outputs={
            "status": {
                "status": "deployed",
                "chart": "{chart}",
                "name": "{name}",
                "namespace": "{namespace}",
                "version": "{version}",
            }
        },
        required=("chart", "version", "namespace"),
        auto_name=AutoName(longest=53, lower=True),
        replaces=("name", "namespace"),
        checks=(
            matches("name", r"[a-z0-9]([-a-z0-9]{0,51}[a-z0-9])?", "a release name: 1 to 53 lower-case letters"),
            matches("version", r"v?\d+\.\d+\.\d+([-+].+)?", "an exact version such as 1.2.3"),
            matches("repositoryOpts.repo", r"(https|http|oci)://.+", "the address of a repository"),
        ),
        unique=(Unique(("namespace", "name"), "ReleaseExists", "cannot re-use a name that is still in use ({id})"),),
        admits=(_reachable, _its_releases_namespace_exists, _its_pods_can_start),
        releases=(_serves_nothing_any_more,),
        scope=Scope.CLUSTER,
    ),
)
