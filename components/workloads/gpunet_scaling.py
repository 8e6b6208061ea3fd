"""How many pods the GPUNet service has: by an autoscaler of the stack's own, or by one that KEDA makes.

Whichever metric wants most pods wins. How each is counted (autoscaling/v2), `now` being the pods that are ready:

| metric | kind and target | wanted |
|---|---|---|
| CPU | Resource, Utilization | now * mean of (used / asked for) / target |
| of pods, by the adapter | Pods, AverageValue | now * mean over pods / target |
| requests, by KEDA | External, AverageValue | sum over pods / target; how many there are now does not matter |
| GPUs, by KEDA | External, Value | now * mean over pods / target |

So KEDA's query of requests is a sum, which the autoscaler shares out among pods. A GPU's load cannot be added up like
that: of a mean, AverageValue would be that mean divided by the pods once more, and never reach its target with several.
"""

from typing import Any

from components.workloads.gpunet_pods import NAME
from components.workloads.gpunet_settings import ScalingSettings

REQUESTS = "inference_requests_per_second"
"""Metric of pods that prometheus-adapter makes of `inference_requests_total`."""
GPU = "gpu_utilization"
"""Metric of pods that prometheus-adapter makes of how busy their GPUs are, in percent."""

REQUESTS_QUERY = f'sum(rate(inference_requests_total{{namespace="{NAME}"}}[1m]))'
"""Requests a second of all pods; refused ones are a reason for more pods too."""
GPU_QUERY = f'avg(DCGM_FI_DEV_GPU_UTIL{{exported_namespace="{NAME}"}})'
"""How busy their GPUs are on the average. The exporter's own `namespace` is not the one of the GPU's user: the GPU
Operator's monitor keeps the scraped labels and calls those of the metric `exported_`."""

BEHAVIOR: dict[str, Any] = {
    # At once, but at most to twice as many in a minute: until a GPU node is there, several go by, and a burst that is
    # over by then would have brought nodes for nothing. From one pod on, two more.
    "scaleUp": {
        "stabilizationWindowSeconds": 0,
        "selectPolicy": "Max",
        "policies": [
            {"type": "Percent", "value": 100, "periodSeconds": 60},
            {"type": "Pods", "value": 2, "periodSeconds": 60},
        ],
    },
    # Who lets go of a node waits minutes for the next: only what nothing has asked for in ten minutes goes, one by one.
    "scaleDown": {
        "stabilizationWindowSeconds": 600,
        "selectPolicy": "Max",
        "policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}],
    },
}
"""How fast pods come and go."""


def autoscaler_spec(scaling: ScalingSettings, *, whole_gpus: bool) -> dict[str, Any]:
    """The spec of the HorizontalPodAutoscaler, where the stack makes it.

    Args:
        scaling: how many pods there are.
        whole_gpus: whether each pod has a GPU of its own; how busy shared ones are says nothing of a pod.
    """
    metrics: list[dict[str, Any]] = [
        {
            "type": "Resource",
            # Of what pods ask for; they may use more, and then have more than 100 %.
            "resource": {
                "name": "cpu",
                "target": {"type": "Utilization", "averageUtilization": scaling["cpu_percent"]},
            },
        }
    ]
    if scaling["metrics_from"] == "prometheus-adapter":
        wanted = {REQUESTS: scaling["requests_per_second"], GPU: _gpu_percent(scaling, whole_gpus=whole_gpus)}
        metrics += [
            {
                "type": "Pods",
                "pods": {"metric": {"name": name}, "target": {"type": "AverageValue", "averageValue": str(most)}},
            }
            for name, most in wanted.items()
            if most is not None
        ]
    return {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": NAME},
        "minReplicas": scaling["min"],
        "maxReplicas": scaling["max"],
        "metrics": metrics,
        "behavior": BEHAVIOR,
    }


def scaled_object_spec(scaling: ScalingSettings, *, whole_gpus: bool, prometheus_url: str) -> dict[str, Any]:
    """The spec of KEDA's ScaledObject, by which it makes a HorizontalPodAutoscaler of its own.

    That keeps KEDA's name for it: were it the one of the stack's autoscaler, a stack that goes from one to the other
    would delete what the other has just made.

    Args:
        scaling: how many pods there are.
        whole_gpus: whether each pod has a GPU of its own.
        prometheus_url: Prometheus as pods reach it.
    """

    def by_prometheus(name: str, kind: str, query: str, most: int) -> dict[str, Any]:
        return {
            "type": "prometheus",
            "name": name,
            "metricType": kind,
            "metadata": {
                "serverAddress": prometheus_url,
                "query": query,
                "threshold": str(most),
                # What is not known is not nothing: the autoscaler takes no pod away while a metric is missing.
                "ignoreNullValues": "false",
            },
        }

    requests, gpu = scaling["requests_per_second"], _gpu_percent(scaling, whole_gpus=whole_gpus)
    return {
        "scaleTargetRef": {"name": NAME},
        "minReplicaCount": scaling["min"],
        "maxReplicaCount": scaling["max"],
        "advanced": {"horizontalPodAutoscalerConfig": {"behavior": BEHAVIOR}},
        "triggers": [
            {"type": "cpu", "metricType": "Utilization", "metadata": {"value": str(scaling["cpu_percent"])}},
            *([by_prometheus("requests", "AverageValue", REQUESTS_QUERY, requests)] if requests is not None else []),
            *([by_prometheus("gpu", "Value", GPU_QUERY, gpu)] if gpu is not None else []),
        ],
    }


def _gpu_percent(scaling: ScalingSettings, *, whole_gpus: bool) -> int | None:
    return scaling["gpu_percent"] if whole_gpus else None
