"""Prints every `depends_on` of both stacks as a table, with the refusal of AWS that it prevents.

python -m tools.edges
"""

import os
from collections.abc import Iterable, Mapping
from fnmatch import fnmatch

from automation.plan import make_plan
from automation.project import Project
from localcloud.order import Finding, Order, Verdict
from tools.scratch import ROOT

STACKS = ("dev", "prod")

NOT_PROVABLE: Mapping[tuple[str, str], str] = {
    ("Eip *", "InternetGateway *"): (
        "AWS asks for it in words only: it gives an address without a gateway, and the NAT gateway, which does need "
        "both, waits for the route to the gateway"
    ),
    ("NatGateway *", "Route *"): (
        "with a gateway in each zone nodes wait for all of them, and one that waits for the route is enough"
    ),
    ("NatGateway *", "RouteTableAssociation *"): (
        "only the association of the NAT gateway's own subnet leads out; the others are waited for with it"
    ),
    ("BucketPolicy *", "BucketPublicAccessBlock *"): (
        "S3 refuses two changes of a bucket at one time (OperationAborted); one after the other in either order is fine"
    ),
    ("BucketLifecycleConfiguration *", "BucketVersioning *"): (
        "AWS takes rules on old versions before there are any; the order spares a warning"
    ),
    (
        "SystemNodes *",
        "Cluster *",
    ): "what of it needs the cluster waits for the add-ons of nodes; the roles need nothing",
    ("Release karpenter", "InterruptionQueue *"): (
        "the queue itself is named in the values; without rules and targets Karpenter runs and hears no warning"
    ),
    ("Release karpenter", "InstanceProfile *"): "pools need it, and they wait for all of Karpenter",
    ("Release karpenter", "AccessEntry *"): "nodes of pools need it, and pools wait for all of Karpenter",
    (
        "Release *",
        "PodIdentity *",
    ): "pods get their identity when they start; without it they run, and AWS refuses them",
    ("Installation *", "Addons cluster-addons"): "pods of controllers need DNS, which nothing here plays",
    ("Installation kuberay-operator", "Namespace *"): "the chart makes Roles there; its objects are not played here",
    ("Installation *", "Installation aws-load-balancer-controller"): (
        "it makes a load balancer of the chart's Ingress and takes it down again; the Ingress is not played here"
    ),
    ("Installation *", "Installation external-dns"): "it takes the records of the chart's Ingress away again",
    ("Installation *", "Installation prometheus-operator-crds"): "the chart has monitors, which are not played here",
    ("Installation jupyterhub", "StorageClasses *"): "claims of the hub and of homes stay pending without their class",
    ("Installation jupyterhub", "Jupyterhub *"): "its pods mount what is made there, and start late without it",
    ("Installation argo-workflows", "ArgoWorkflows *"): "its pods read what is made there, and start late without it",
    ("RayCluster *", "ServiceAccount *"): "the operator's pods for it are refused until they are there",
    ("RayCluster *", "SharedVolume *"): "its pods stay pending until the claim is there",
    ("RayCluster *", "NodePool *"): "its pods must not be disturbed, and a node that is to go would wait for them",
    ("WorkflowTemplate *", "*"): "a template runs nothing: whoever starts it finds all that its steps need",
    ("MlPipeline *", "Installation kuberay-operator"): "its steps start Ray jobs, which nobody would carry out",
    ("Namespaces *", "Addons cluster-addons"): (
        "a namespace goes only while every aggregated API answers, that of metrics-server among them"
    ),
    ("* argo-workflows*", "Namespace *"): (
        "one list for all that Argo has in the cluster: its bucket waits for none of it, and so their parent cannot"
    ),
    ("* argo-workflows*", "SecretStore *"): "as with the namespaces: one list for all of it",
    ("ClaimedVolume *", "StorageClasses *"): "a claim is bound without its class, and only grows with it",
    ("Milvus *", "ClaimedVolume *"): (
        "a StatefulSet makes the claims that it does not find; those of the charts are not played here"
    ),
    ("Langfuse *", "ClaimedVolume *"): "as with Milvus, and for the operator's StatefulSets too",
    ("ClickHouseCluster *", "*"): "servers wait for keepers and password by themselves; it spares a false alarm",
    ("Installation clickhouse-operator-helm", "Installation cert-manager"): (
        "certificates of its webhooks, which are not played here"
    ),
    ("Installation keda", "Installation cert-manager"): "the certificates of its API, which are not played here",
    ("Gpunet *", "Addons cluster-addons"): "its pods need DNS and the agent of identities, which nothing here plays",
    ("Installation milvus", "Milvus *"): "its pods read what is made there, and start late without it",
    ("Installation langfuse", "Langfuse *"): "its pods read what is made there, and start late without it",
    ("Instance *", "LogGroup *"): "RDS would make the groups itself, without an end and with a key of AWS's",
    ("NodePool *", "NodeOverlay *"): "without it Karpenter would plan the pool's first nodes without their shares",
}
"""Why AWS refuses nothing when an edge is missing: patterns of the two ends, and the reason for keeping it."""


def findings(stack: str) -> list[Finding]:
    """What is known of every `depends_on` of a stack.

    Args:
        stack: the stack's name.
    """
    order = Order(make_plan(Project(ROOT), stack).resources)
    return [order.judge(edge) for edge in order.edges]


def reason_kept(finding: Finding) -> str | None:
    """Returns why an edge is kept that nothing proves, None when no reason is listed."""
    dependent, awaited = finding.edge.names
    for (one, other), reason in NOT_PROVABLE.items():
        if fnmatch(dependent, one) and fnmatch(awaited, other):
            return reason
    return None


def table(found: Iterable[Finding]) -> str:
    """The findings as a Markdown table."""
    lines = ["| dependent | waits for | | without it |", "| --- | --- | --- | --- |"]
    for finding in found:
        dependent, awaited = finding.edge.names
        text = finding.reason if finding.verdict is not Verdict.UNPROVED else reason_kept(finding) or ""
        lines.append(f"| {dependent} | {awaited} | {finding.verdict.value} | {text.replace('|', '/')} |")
    return "\n".join(lines)


def main() -> None:
    """Prints the table of each stack."""
    os.environ["EKSAI_LOCAL"] = "1"
    for stack in STACKS:
        print(f"## {stack}\n\n{table(findings(stack))}\n")


if __name__ == "__main__":
    main()
