"""The namespaces of the platform, each made once, with the least that Pod Security lets its pods do."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pulumi
from typing_extensions import TypedDict

from components.namespace import Level, make_namespace
from components.network_isolation import NetworkIsolation, Pods
from components.ray_ports import AUTOSCALER_METRICS, CLIENT, DASHBOARD, DASHBOARD_METRICS, HEAD, METRICS
from components.release import ChartFile

LEVELS: Mapping[str, Level] = {
    "argo": "restricted",
    "clickhouse-operator": "restricted",
    "cert-manager": "restricted",
    "external-dns": "restricted",
    "external-secrets": "restricted",
    # Drivers and plug-ins mount devices and folders of the node.
    "gpu-operator": "privileged",
    "jupyterhub": "restricted",
    "keda": "restricted",
    "kuberay": "restricted",
    "langfuse": "restricted",
    # Pulsar's chart cannot say what `restricted` asks of its containers.
    "milvus": "baseline",
    "ml-pipelines": "restricted",
    "monitoring": "restricted",
    "ray-system": "restricted",
}
"""Pod Security level by namespace; every namespace of a chart file but those that a cluster has from the start."""

_OPERATOR = Pods("kuberay", (DASHBOARD,))
"""It asks each head how its jobs are."""
_MILVUS, _MILVUS_METRICS = 19530, 9091
VECTORS = Pods("milvus", (_MILVUS,))
TRACES = Pods("langfuse", (3000,))
CLASSIFIER = Pods("gpunet", (8080,))
"""Where vectors are searched, traces are sent and images are classified: for all in which people run code of their
own."""


@dataclass(frozen=True)
class Openings:
    """What passes between a namespace and others."""

    reached_by: Sequence[Pods]
    """Who else reaches the namespace's pods; the ports are those of these."""
    reaches: Sequence[Pods]
    """Whom else the namespace's pods reach."""


ISOLATED: Mapping[str, Openings] = {
    "milvus": Openings(
        reached_by=(
            *(Pods(users, (_MILVUS,)) for users in ("jupyterhub", "ml-pipelines", "ray-system")),
            # On the same port anybody could also change how a node works: it asks for no password.
            Pods("monitoring", (_MILVUS_METRICS,)),
        ),
        reaches=(),
    ),
    "ml-pipelines": Openings(
        reached_by=(_OPERATOR, Pods("monitoring", (METRICS,))),
        reaches=(Pods("ray-system", (DASHBOARD, CLIENT), HEAD), VECTORS, TRACES, CLASSIFIER),
    ),
    "ray-system": Openings(
        reached_by=(
            _OPERATOR,
            Pods("jupyterhub", (DASHBOARD, CLIENT)),
            Pods("ml-pipelines", (DASHBOARD, CLIENT)),
            Pods("monitoring", (METRICS, AUTOSCALER_METRICS, DASHBOARD_METRICS)),
        ),
        # The dashboard asks Prometheus and Grafana, each at the port of its pod.
        reaches=(Pods("monitoring", (9090, 3000)), VECTORS, TRACES, CLASSIFIER),
    ),
}
"""The namespaces in which people run code of their own, or which store what is theirs. JupyterHub's chart has policies
of its own, and so has Langfuse, which also passes to stores outside the cluster."""

GIVEN = frozenset({"default", "kube-system", "kube-public", "kube-node-lease"})
"""The namespaces of every cluster."""


class NamespacesArgs(TypedDict):
    """What namespaces need."""

    names: Sequence[str]
    """Which of `LEVELS`; those that every cluster has are left alone."""


class Namespaces(pulumi.ComponentResource):
    """The namespaces that charts are installed in.

    Attributes:
        made: those that were made, by name.
    """

    def __init__(self, name: str, args: NamespacesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("eksai:index:Namespaces", name, {}, opts)
        self.made = {
            wanted: make_namespace(wanted, LEVELS[wanted], pulumi.ResourceOptions(parent=self))
            for wanted in sorted(set(args["names"]) - GIVEN)
        }
        self.register_outputs({})


def namespaces_of(charts: Iterable[ChartFile]) -> list[str]:
    """The namespaces that some charts are installed in or put objects into.

    Args:
        charts: the charts.
    """
    return sorted({name for chart in charts for name in (chart.namespace, *chart.works_in)})


def isolate(namespaces: Mapping[str, pulumi.Resource], vpc_ranges: Sequence[str], opts: pulumi.ResourceOptions) -> None:
    """Gives those of the namespaces in which people run code of their own a network policy.

    Args:
        namespaces: those that were made, by name.
        vpc_ranges: address ranges of the VPC, but for one that only pods have.
        opts: carries the cluster's provider.
    """
    for name, openings in ISOLATED.items():
        if name in namespaces:
            NetworkIsolation(
                f"isolation-of-{name}",
                {
                    "namespace": name,
                    "vpc_ranges": vpc_ranges,
                    "ingress": openings.reached_by,
                    "egress": openings.reaches,
                },
                pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(depends_on=[namespaces[name]])),
            )
