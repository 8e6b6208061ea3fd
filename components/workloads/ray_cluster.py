"""A Ray cluster that grows and shrinks with its work."""

from collections.abc import Mapping
from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes

from components.pools import Pool
from components.web_apps import WEB_APPS
from components.workloads.ray_pods import (
    RayClusterSettings,
    Surroundings,
    autoscaler_options,
    head_template,
    worker_account,
    worker_group,
)

NAMESPACE = WEB_APPS["ml-cluster"].namespace
"""The namespace of Ray clusters."""
API_VERSION = "ray.io/v1"
_MONITOR = "monitoring.coreos.com/v1"


class RayClusterArgs(RayClusterSettings):
    """What a Ray cluster needs."""

    pools: Mapping[str, Pool]
    """All pools of the stack, by name."""
    image_registry: str | None
    """The registry that mirrors every image; None: Ray's come from Docker Hub."""
    data_claim: str | None
    """The claim of what all pods share, None for nothing."""
    is_monitored: bool
    """Whether the cluster knows PodMonitors."""
    prometheus_url: str | None
    """Prometheus as pods reach it; None for none."""
    grafana_url: str | None
    """Grafana as pods reach it; None for none."""
    grafana_browser_url: str | None
    """Grafana as browsers reach it; None for none."""


class RayCluster(pulumi.ComponentResource):
    """A RayCluster named like the component, the service accounts of its pods, and what scrapes them.

    The accounts have no rights in AWS. KubeRay lets the head's change the cluster, for its autoscaler; it also makes
    the Secret with the token that every request to the cluster bears, named like the cluster.
    """

    def __init__(self, name: str, args: RayClusterArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("eksai:index:RayCluster", name, {}, opts)
        child = pulumi.ResourceOptions(parent=self)
        accounts = [
            kubernetes.core.v1.ServiceAccount(
                account,
                metadata={"name": account, "namespace": NAMESPACE},
                automount_service_account_token=False,
                opts=child,
            )
            for account in (name, worker_account(name))
        ]
        kubernetes.apiextensions.CustomResource(
            name,
            api_version=API_VERSION,
            kind="RayCluster",
            metadata={
                "name": name,
                "namespace": NAMESPACE,
                "annotations": {
                    # Workers come when there is capacity, which may be never.
                    "pulumi.com/skipAwait": "true",
                    # The autoscaler writes numbers of workers into the list of groups, which has one owner.
                    "pulumi.com/patchForce": "true",
                },
            },
            spec=ray_cluster_spec(name, args),
            opts=pulumi.ResourceOptions(parent=self, depends_on=accounts),
        )
        if args["is_monitored"]:
            for kind, ports in _SCRAPED.items():
                kubernetes.apiextensions.CustomResource(
                    f"{name}-{kind}-monitor",
                    api_version=_MONITOR,
                    kind="PodMonitor",
                    metadata={"name": f"{name}-{kind}", "namespace": NAMESPACE},
                    spec=_monitor_spec(name, kind, ports),
                    opts=child,
                )
        self.register_outputs({})


_SCRAPED: Mapping[str, tuple[str, ...]] = {
    "head": ("metrics", "as-metrics", "dash-metrics"),
    "worker": ("metrics",),
}
"""Ports with metrics by KubeRay's kind of node: Ray's own on each, those of autoscaler and dashboard on the head."""


def ray_cluster_spec(name: str, args: RayClusterArgs) -> dict[str, Any]:
    """The RayCluster's spec.

    Args:
        name: the cluster's name.
        args: the cluster and what is around it.
    """
    around = Surroundings(
        pools=args["pools"],
        image_registry=args["image_registry"],
        data_claim=args["data_claim"],
        head_environment=_dashboard_environment(args),
    )
    return {
        "rayVersion": args["version"],
        "enableInTreeAutoscaling": True,
        "autoscalerOptions": autoscaler_options(args),
        "authOptions": {"mode": "token"},
        # Without it pods that run would keep the image and the sizes that they came with, whatever the stack says.
        "upgradeStrategy": {"type": "Recreate"},
        "headGroupSpec": {
            "serviceType": "ClusterIP",
            # No CPUs: tasks run on workers, and leave memory to what keeps the cluster together.
            "rayStartParams": {"num-cpus": "0", "dashboard-host": "0.0.0.0"},
            "template": head_template(name, args, around),
        },
        "workerGroupSpecs": [worker_group(name, group, args, around) for group in args["groups"]],
    }


def _dashboard_environment(args: RayClusterArgs) -> dict[str, str]:
    """Where the dashboard finds metrics, and where browsers find its graphs."""
    hosts = {
        "RAY_PROMETHEUS_HOST": args["prometheus_url"],
        "RAY_GRAFANA_HOST": args["grafana_url"],
        "RAY_GRAFANA_IFRAME_HOST": args["grafana_browser_url"],
    }
    return {name: host for name, host in hosts.items() if host is not None}


def _monitor_spec(name: str, kind: str, ports: tuple[str, ...]) -> dict[str, Any]:
    # Ray's dashboards in Grafana choose clusters by this label.
    relabeling = {"sourceLabels": ["__meta_kubernetes_pod_label_ray_io_cluster"], "targetLabel": "ray_io_cluster"}
    return {
        "selector": {"matchLabels": {"ray.io/cluster": name, "ray.io/node-type": kind}},
        "podMetricsEndpoints": [{"port": port, "relabelings": [relabeling]} for port in ports],
    }
