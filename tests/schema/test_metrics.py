"""What a stack is told whose values would leave autoscalers without metrics."""

from typing import Any

import pytest

from components.release import nested
from schema.metrics import metrics_are_where_others_look
from schema.platform import PlatformChart


def told(chart: str, values: dict[str, Any], *, enabled: bool = True) -> list[str]:
    platform = {chart: PlatformChart.model_validate({"values": values, "enabled": enabled})}
    return [problem.key for problem in metrics_are_where_others_look(platform)]


@pytest.mark.parametrize(
    ("chart", "path", "value"),
    [
        ("kube-prometheus-stack", "fullnameOverride", "prom"),
        ("kube-prometheus-stack", "prometheus.enabled", False),
        ("kube-prometheus-stack", "prometheus.service.port", 80),
        ("kube-prometheus-stack", "prometheus.prometheusSpec.routePrefix", "/metrics"),
        ("prometheus-adapter", "prometheus.url", "http://elsewhere"),
        ("prometheus-adapter", "rules.external", []),
        ("keda", "watchNamespace", "keda"),
        ("keda", "crds.install", False),
    ],
)
def test_what_others_go_by_is_not_for_a_stack_to_say(chart: str, path: str, value: Any):
    (key,) = told(chart, nested(path, value))
    assert f"eksai:platform.{chart}.values.{path}".startswith(key)


@pytest.mark.parametrize(
    ("chart", "values"),
    [
        ("kube-prometheus-stack", {"prometheus": {"prometheusSpec": {"retention": "7d", "replicas": 2}}}),
        ("prometheus-adapter", {"rules": {"custom": []}, "replicas": 2}),
        ("keda", {"resources": {"operator": {"limits": {"memory": "2Gi"}}}}),
        ("milvus", {"fullnameOverride": "x"}),
    ],
)
def test_all_else_is(chart: str, values: dict[str, Any]):
    assert told(chart, values) == []


def test_a_chart_that_is_off_says_nothing():
    assert told("keda", {"watchNamespace": "keda"}, enabled=False) == []
