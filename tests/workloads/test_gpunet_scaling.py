"""GPUNet's autoscalers: by what, how far and how fast."""

import gzip
import math
import re
from functools import cache
from typing import Any

import pytest
import yaml

from components.platform.catalog import CHARTS
from components.platform.pool_values import value_at
from components.release import read_chart
from components.workloads.gpunet_scaling import (
    BEHAVIOR,
    GPU,
    GPU_QUERY,
    REQUESTS,
    REQUESTS_QUERY,
    autoscaler_spec,
    scaled_object_spec,
)
from components.workloads.gpunet_settings import ScalingSettings
from schema.gpunet import GpunetScaling
from tests.compute.crds import FOLDER, violations
from tests.workloads.test_gpunet_pods import text_of

PROMETHEUS = "http://kube-prometheus-stack-prometheus.monitoring:9090"


def scaling(**changes: Any) -> ScalingSettings:
    """Settings; what differs is in a stack file's spelling."""
    settings: Any = GpunetScaling.model_validate(changes).model_dump()
    return settings


def metrics(*, whole_gpus: bool = True, **changes: Any) -> dict[str, dict[str, Any]]:
    """The autoscaler's targets by metric."""
    found: dict[str, dict[str, Any]] = {}
    for metric in autoscaler_spec(scaling(**changes), whole_gpus=whole_gpus)["metrics"]:
        if metric["type"] == "Resource":
            found[metric["resource"]["name"]] = metric["resource"]["target"]
        else:
            found[metric["pods"]["metric"]["name"]] = metric["pods"]["target"]
    return found


def triggers(*, whole_gpus: bool = True, **changes: Any) -> dict[str, dict[str, Any]]:
    """KEDA's triggers by name, and that of CPU by its type."""
    spec = scaled_object_spec(scaling(**changes), whole_gpus=whole_gpus, prometheus_url=PROMETHEUS)
    return {trigger.get("name", trigger["type"]): trigger for trigger in spec["triggers"]}


def test_the_metrics_server_tells_of_cpu_alone():
    assert metrics() == {"cpu": {"type": "Utilization", "averageUtilization": 70}}


def test_the_adapter_tells_of_gpus_and_requests_as_well():
    assert metrics(metricsFrom="prometheus-adapter", cpuPercent=60, gpuPercent=50, requestsPerSecond=200) == {
        "cpu": {"type": "Utilization", "averageUtilization": 60},
        REQUESTS: {"type": "AverageValue", "averageValue": "200"},
        GPU: {"type": "AverageValue", "averageValue": "50"},
    }


def test_keda_goes_by_the_same():
    assert set(triggers()) == {"cpu", "requests", "gpu"}
    asked = triggers(cpuPercent=60, gpuPercent=50, requestsPerSecond=200)
    assert asked["cpu"]["metadata"] == {"value": "60"}
    assert asked["requests"]["metadata"]["threshold"] == "200"
    assert asked["gpu"]["metadata"]["threshold"] == "50"


def test_what_does_not_matter_is_not_asked_for():
    silent: dict[str, Any] = {"gpuPercent": None, "requestsPerSecond": None}
    assert set(metrics(metricsFrom="prometheus-adapter", **silent)) == {"cpu"}
    assert set(triggers(**silent)) == {"cpu"}


def test_how_busy_a_shared_gpu_is_says_nothing_of_a_pod():
    assert set(metrics(metricsFrom="prometheus-adapter", whole_gpus=False)) == {"cpu", REQUESTS}
    assert set(triggers(whole_gpus=False)) == {"cpu", "requests"}


def wanted(trigger: dict[str, Any], loads: list[float]) -> int:
    """How many pods the autoscaler wants of ready ones with some loads, as autoscaling/v2 counts external metrics."""
    threshold = float(trigger["metadata"]["threshold"])
    values = {"sum": sum(loads), "avg": sum(loads) / len(loads)}
    value = values[trigger["metadata"]["query"].partition("(")[0]]
    if trigger["metricType"] == "AverageValue":
        return math.ceil(value / threshold)
    return math.ceil(len(loads) * value / threshold)


@pytest.mark.parametrize(
    ("name", "loads", "pods"),
    [
        ("requests", [100.0], 1),
        ("requests", [250.0], 3),
        ("requests", [100.0, 100.0, 100.0, 100.0], 4),
        ("requests", [20.0, 20.0, 20.0, 20.0], 1),
        ("gpu", [80.0], 1),
        ("gpu", [100.0, 100.0, 100.0, 100.0], 5),
        ("gpu", [80.0, 80.0, 80.0, 80.0], 4),
        ("gpu", [10.0, 10.0, 10.0, 10.0], 1),
    ],
)
def test_keda_wants_as_many_pods_as_bring_each_to_its_threshold(name: str, loads: list[float], pods: int):
    assert wanted(triggers(requestsPerSecond=100, gpuPercent=80)[name], loads) == pods


def test_a_metric_that_is_missing_takes_no_pod_away():
    for name in ("requests", "gpu"):
        assert triggers()[name]["metadata"]["ignoreNullValues"] == "false"


def test_both_know_how_many_pods_there_are_at_least_and_at_most():
    own = autoscaler_spec(scaling(min=2, max=7), whole_gpus=True)
    theirs = scaled_object_spec(scaling(min=2, max=7), whole_gpus=True, prometheus_url=PROMETHEUS)
    assert (own["minReplicas"], own["maxReplicas"]) == (2, 7)
    assert (theirs["minReplicaCount"], theirs["maxReplicaCount"]) == (2, 7)
    assert own["scaleTargetRef"] == {"apiVersion": "apps/v1", "kind": "Deployment", "name": "gpunet"}
    assert theirs["scaleTargetRef"] == {"name": "gpunet"}


def test_pods_come_at_once_and_go_one_by_one_after_ten_minutes():
    assert BEHAVIOR["scaleUp"]["stabilizationWindowSeconds"] == 0
    assert BEHAVIOR["scaleDown"]["stabilizationWindowSeconds"] >= 300
    assert BEHAVIOR["scaleDown"]["policies"] == [{"type": "Pods", "value": 1, "periodSeconds": 60}]
    own = autoscaler_spec(scaling(), whole_gpus=True)
    theirs = scaled_object_spec(scaling(), whole_gpus=True, prometheus_url=PROMETHEUS)
    assert own["behavior"] == theirs["advanced"]["horizontalPodAutoscalerConfig"]["behavior"] == BEHAVIOR


def test_the_stacks_autoscaler_and_kedas_have_different_names():
    """A stack that goes from one to the other makes the new one before it deletes the old one."""
    theirs = scaled_object_spec(scaling(), whole_gpus=True, prometheus_url=PROMETHEUS)
    assert "name" not in theirs["advanced"]["horizontalPodAutoscalerConfig"]


# What the metrics are called where they come from.


def test_the_service_counts_requests_under_that_name():
    (counted,) = set(re.findall(r"inference_\w+", REQUESTS_QUERY))
    assert f'"{counted}"' in text_of("metrics.py")


def adapter_rules() -> dict[str, dict[str, Any]]:
    found = value_at(read_chart(CHARTS["prometheus-adapter"]).values, "rules.custom")
    assert isinstance(found, list)
    return {made["name"]["as"]: made for made in found}


def test_the_adapter_makes_metrics_of_those_names():
    assert set(adapter_rules()) == {REQUESTS, GPU}


@pytest.mark.parametrize(("metric", "query"), [(REQUESTS, REQUESTS_QUERY), (GPU, GPU_QUERY)])
def test_adapter_and_keda_read_the_same_series_of_the_same_namespace(metric: str, query: str):
    rule = adapter_rules()[metric]
    label = next(name for name, of in rule["resources"]["overrides"].items() if of["resource"] == "namespace")
    series = rule["seriesQuery"].partition("{")[0]
    assert f'{series}{{{label}="gpunet"}}' in query
    assert ("[1m]" in rule["metricsQuery"]) == ("[1m]" in query)


# Published definitions.


@cache
def definition(kind: str) -> dict[str, Any]:
    """The schema of a kind's spec; skips the test where it is not at hand."""
    packed = FOLDER.parent / "crds-gz" / f"{kind}.yaml.gz"
    plain = FOLDER / f"{kind}.yaml"
    if not (packed.exists() or plain.exists()):
        pytest.skip(f"the CRD {kind} is not at hand: {packed}")
    text = gzip.decompress(packed.read_bytes()).decode() if packed.exists() else plain.read_text(encoding="utf-8")
    (version,) = yaml.load(text, yaml.CSafeLoader)["spec"]["versions"]
    return version["schema"]["openAPIV3Schema"]["properties"]["spec"]


def test_the_scaled_object_fits_its_definition():
    spec = scaled_object_spec(scaling(), whole_gpus=True, prometheus_url=PROMETHEUS)
    assert violations(definition("keda.sh_scaledobject"), spec) == []


def test_one_with_a_wrong_field_does_not():
    spec = scaled_object_spec(scaling(), whole_gpus=True, prometheus_url=PROMETHEUS)
    spec["triggers"][0]["metadata"]["value"] = 70
    assert violations(definition("keda.sh_scaledobject"), spec) != []
