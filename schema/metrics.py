"""Rules on the charts that make metrics to scale on."""

from collections.abc import Iterator, Mapping

from components.platform.pool_values import value_at
from schema.platform import PlatformChart, is_installed
from schema.problems import NAMESPACE, Problem

_NAMES = ("fullnameOverride", "nameOverride", "namespaceOverride")
_KEPT: Mapping[str, tuple[str, ...]] = {
    "kube-prometheus-stack": (
        *_NAMES,
        "prometheus.enabled",
        "prometheus.agentMode",
        "prometheus.service.port",
        "prometheus.prometheusSpec.routePrefix",
        "prometheusOperator.enabled",
    ),
    # An API has one server in a cluster, and that of external metrics is KEDA.
    "prometheus-adapter": (*_NAMES, "prometheus", "rules.external"),
    "keda": ("watchNamespace", "crds.install", "operator.name", "metricsServer.name"),
}
"""By chart, values that others go by: where Prometheus is, whose rights are whose, who answers for which API."""


def metrics_are_where_others_look(platform: dict[str, PlatformChart]) -> Iterator[Problem]:
    """No value of a chart takes away what autoscalers and other charts count on."""
    for chart, paths in _KEPT.items():
        if not is_installed(chart, platform):
            continue
        for path in paths:
            if value_at(platform[chart].values, path) is not None:
                rule = "others find metrics by what the platform says here, and would not be told that they are gone"
                yield Problem(f"{NAMESPACE}:platform.{chart}.values.{path}", "", rule, "remove it")


RULES = (metrics_are_where_others_look,)
"""Rules on charts; each names the sections that it needs as its parameters."""
