"""The pods of the training pipeline: its steps, and the Ray clusters that two of them start.

Both have the same image, which is for amd64 only, as Ray's own are.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
from typing_extensions import TypedDict

from components.pod_security import CONTAINER_SECURITY
from components.pools import Pool, placement
from components.ray_ports import CLIENT, DASHBOARD, GCS, METRICS
from components.workloads.ray_pods import GPUS, POD_SECURITY, SESSION

PODS: Mapping[str, str] = {"app.kubernetes.io/name": "ml-pipeline"}
"""Labels of every pod of the pipeline."""
OF_WORKFLOW: Mapping[str, str] = {"eksai.dev/workflow": "{{workflow.name}}"}
"""Label of a Ray job and its pods. Argo's own would make its controller take them for steps."""
ARCHITECTURE: Mapping[str, str] = {"kubernetes.io/arch": "amd64"}
UNDISTURBED: Mapping[str, str] = {"karpenter.sh/do-not-disrupt": "true"}
"""Karpenter moves no step to save cost: it would begin anew."""
SCRATCH = "scratch"
"""The volume that a step writes to, at /tmp."""


class StepSize(TypedDict):
    """What a pod asks for; it may use that much memory and no more."""

    cpu: int
    """vCPUs."""
    memory: str
    """Memory, a Kubernetes quantity."""


@dataclass(frozen=True)
class RayPods:
    """What the pods of a Ray cluster are made of."""

    image: pulumi.Input[str]
    service_account: str
    head: StepSize
    worker: StepSize
    gpus: int
    """NVIDIA GPUs of a worker."""
    head_pools: Sequence[Pool]
    """Pools that heads may run on."""
    worker_pools: Sequence[Pool]
    """Pools that workers may run on."""


def resources(size: StepSize, gpus: int = 0) -> dict[str, Any]:
    """Requests and limits of a container.

    Args:
        size: CPU and memory.
        gpus: NVIDIA GPUs.
    """
    devices = {GPUS: str(gpus)} if gpus else {}
    return {
        "requests": {"cpu": str(size["cpu"]), "memory": size["memory"], **devices},
        "limits": {"memory": size["memory"], **devices},
    }


def step_container(image: pulumi.Input[str], arguments: Sequence[pulumi.Input[str]], size: StepSize) -> dict[str, Any]:
    """The container of a step that needs no Ray.

    Args:
        image: the pipeline's image.
        arguments: arguments of `ml-pipeline`.
        size: CPU and memory.
    """
    return {
        "image": image,
        "command": ["ml-pipeline"],
        "args": list(arguments),
        "resources": resources(size),
        "securityContext": {**CONTAINER_SECURITY, "readOnlyRootFilesystem": True},
        "volumeMounts": [{"name": SCRATCH, "mountPath": "/tmp"}],
    }


def placed(pools: Iterable[Pool]) -> dict[str, Any]:
    """The part of a pod's spec, or of a step, that puts it on nodes of some pools for which its image is."""
    return {"nodeSelector": dict(ARCHITECTURE), **placement(pools)}


def head_template(pods: RayPods) -> dict[str, Any]:
    """The pod template of a head, on which the driver of the step runs too."""
    ports = {"gcs": GCS, "dashboard": DASHBOARD, "client": CLIENT, "metrics": METRICS}
    container = {
        "name": "ray-head",
        "ports": [{"name": name, "containerPort": port} for name, port in ports.items()],
        "resources": resources(pods.head),
    }
    return _template(pods, container, pods.head_pools)


def worker_template(pods: RayPods) -> dict[str, Any]:
    """The pod template of a worker."""
    container = {
        "name": "ray-worker",
        "ports": [{"name": "metrics", "containerPort": METRICS}],
        "resources": resources(pods.worker, pods.gpus),
    }
    return _template(pods, container, pods.worker_pools)


def _template(pods: RayPods, container: Mapping[str, Any], pools: Sequence[Pool]) -> dict[str, Any]:
    return {
        "metadata": {"labels": {**PODS, **OF_WORKFLOW}, "annotations": dict(UNDISTURBED)},
        "spec": {
            "serviceAccountName": pods.service_account,
            # Steps on Ray have nothing to ask of Kubernetes; AWS knows them by a token of its own.
            "automountServiceAccountToken": False,
            "securityContext": dict(POD_SECURITY),
            "containers": [
                {
                    **container,
                    "image": pods.image,
                    "securityContext": dict(CONTAINER_SECURITY),
                    "volumeMounts": [{"name": SESSION, "mountPath": "/tmp/ray"}],
                }
            ],
            "volumes": [{"name": SESSION, "emptyDir": {}}],
            **placed(pools),
        },
    }
