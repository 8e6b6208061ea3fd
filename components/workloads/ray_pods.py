"""The pods of a Ray cluster as KubeRay is told to make them.

KubeRay adds to each what it alone knows: the `ray start` command, with CPUs, memory and devices as Ray resources by the
container's limits; probes; /dev/shm; the address of the head and the token. To the head it adds the autoscaler, to a
worker an init container that waits for the head; both take after the security of the pod.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from typing_extensions import TypedDict

from components.pod_security import CONTAINER_SECURITY
from components.pools import Pool, placement
from components.ray_ports import AUTOSCALER_METRICS, CLIENT, DASHBOARD, DASHBOARD_METRICS, GCS, METRICS
from components.workloads.ray_groups import (
    GroupSize,
    PodSize,
    RayGroupSettings,
    RayHeadSettings,
    group_size,
    head_size,
)

REPOSITORY = "rayproject/ray"
"""Where Ray's images are, on Docker Hub; their tags are each for one CPU architecture."""
NEURON_CORES = "aws.amazon.com/neuroncore"
"""The resource that KubeRay tells Ray of as `neuron_cores`."""
GPUS = "nvidia.com/gpu"

DATA_PATH = "/data"
"""Where pods find what all of them share."""
AUTOSCALER_RESOURCES: Mapping[str, Mapping[str, str]] = {
    "requests": {"cpu": "500m", "memory": "512Mi"},
    "limits": {"cpu": "500m", "memory": "1Gi"},
}
"""What the autoscaler asks for beside the head."""

_API_ACCESS = "autoscaler-api-access"
_API_ACCESS_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
SESSION = "ray-logs"
"""Volume of /tmp/ray; KubeRay knows it by this name and gives it to the autoscaler too, which writes its log there."""
_SPOT = {"karpenter.sh/capacity-type": "spot", "eks.amazonaws.com/capacityType": "SPOT"}
"""How Karpenter and EKS say of a node that AWS may take it back. A head has no such node: every job ends with it."""
POD_SECURITY: Mapping[str, Any] = {
    "runAsNonRoot": True,
    # User and group of Ray's images.
    "runAsUser": 1000,
    "runAsGroup": 100,
    "seccompProfile": {"type": "RuntimeDefault"},
}
"""Whom every pod runs as."""


class RayClusterSettings(TypedDict):
    """What a stack says of a Ray cluster."""

    version: str
    """Ray's version, which all images have."""
    python: str
    """Python's version in Ray's own images."""
    image: str | None
    """Image of head and workers; None for Ray's own."""
    architecture: str
    """CPU architecture of the images: `amd64` or `arm64`."""
    idle_timeout_seconds: int
    """How long a worker has nothing to do before it goes."""
    head: RayHeadSettings
    """The head."""
    groups: Mapping[str, RayGroupSettings]
    """Groups of workers, by name."""


@dataclass(frozen=True)
class Surroundings:
    """What pods of a Ray cluster refer to."""

    pools: Mapping[str, Pool]
    """All pools of the stack, by name."""
    image_registry: str | None = None
    """The registry that mirrors every image; None: Ray's come from Docker Hub."""
    data_claim: str | None = None
    """The claim of what all pods share, None for nothing."""
    head_environment: Mapping[str, str] | None = None
    """Environment variables of the head; None for none."""


def ray_image(cluster: RayClusterSettings, registry: str | None, *, gpu: bool) -> str:
    """Ray's own image for a cluster.

    Args:
        cluster: says version, Python and architecture.
        registry: the registry that mirrors every image, None for Docker Hub.
        gpu: whether CUDA is in it.
    """
    tag = f"{cluster['version']}-py{cluster['python'].replace('.', '')}"
    parts = [tag, *(["gpu"] if gpu else []), *(["aarch64"] if cluster["architecture"] == "arm64" else [])]
    return f"{registry or 'docker.io'}/{REPOSITORY}:{'-'.join(parts)}"


def worker_account(cluster: str) -> str:
    """The service account of a cluster's workers; that of its head has the cluster's name."""
    return f"{cluster}-workers"


def head_template(name: str, cluster: RayClusterSettings, around: Surroundings) -> dict[str, Any]:
    """The pod template of a cluster's head.

    Args:
        name: the cluster's name.
        cluster: the cluster.
        around: what its pods refer to.
    """
    container: dict[str, Any] = {
        "name": "ray-head",
        "image": cluster["image"] or ray_image(cluster, around.image_registry, gpu=False),
        "ports": [
            {"name": "gcs", "containerPort": GCS},
            {"name": "dashboard", "containerPort": DASHBOARD},
            {"name": "client", "containerPort": CLIENT},
            {"name": "metrics", "containerPort": METRICS},
            {"name": "as-metrics", "containerPort": AUTOSCALER_METRICS},
            {"name": "dash-metrics", "containerPort": DASHBOARD_METRICS},
        ],
        "resources": _resources(head_size(cluster["head"])),
    }
    if around.head_environment:
        container["env"] = [{"name": key, "value": value} for key, value in around.head_environment.items()]
    template = _template(name, container, cluster, cluster["head"]["pools"], around)
    template["spec"]["volumes"].append({"name": _API_ACCESS, "projected": {"sources": _api_access()}})
    for label, spot in _SPOT.items():
        _require(template, {"key": label, "operator": "NotIn", "values": [spot]})
    return template


def autoscaler_options(cluster: RayClusterSettings) -> dict[str, Any]:
    """What KubeRay is told of the container beside the head that asks for workers and lets them go."""
    return {
        "version": "v2",
        "idleTimeoutSeconds": cluster["idle_timeout_seconds"],
        "resources": AUTOSCALER_RESOURCES,
        "securityContext": CONTAINER_SECURITY,
        # The only one in the pod with the token that changes the cluster: jobs run beside it.
        "volumeMounts": [{"name": _API_ACCESS, "mountPath": _API_ACCESS_PATH, "readOnly": True}],
    }


def worker_group(name: str, group: str, cluster: RayClusterSettings, around: Surroundings) -> dict[str, Any]:
    """A group of workers as KubeRay is told of it.

    Args:
        name: the cluster's name.
        group: the group's name.
        cluster: the cluster.
        around: what its pods refer to.
    """
    settings = cluster["groups"][group]
    size = group_size(group, settings)
    container: dict[str, Any] = {
        "name": "ray-worker",
        "image": settings["image"]
        or cluster["image"]
        or ray_image(cluster, around.image_registry, gpu=bool(size.gpus)),
        "ports": [{"name": "metrics", "containerPort": METRICS}],
        "resources": _resources(size.pod, _devices(size)),
        # Ends its tasks before the container is killed, so that Ray starts them elsewhere without waiting.
        "lifecycle": {"preStop": {"exec": {"command": ["/bin/sh", "-c", "ray stop"]}}},
    }
    template = _template(worker_account(name), container, cluster, settings["pools"], around)
    # A spot instance has two minutes.
    template["spec"]["terminationGracePeriodSeconds"] = 90
    return {
        "groupName": group,
        "minReplicas": size.min,
        "replicas": size.replicas,
        "maxReplicas": size.max,
        "rayStartParams": {},
        "template": template,
    }


def _template(
    account: str,
    container: dict[str, Any],
    cluster: RayClusterSettings,
    pools: Iterable[str],
    around: Surroundings,
) -> dict[str, Any]:
    """What head and workers have in common."""
    mounts = [{"name": SESSION, "mountPath": "/tmp/ray"}]
    volumes: list[dict[str, Any]] = [{"name": SESSION, "emptyDir": {}}]
    if around.data_claim is not None:
        mounts.append({"name": "shared-data", "mountPath": DATA_PATH})
        volumes.append({"name": "shared-data", "persistentVolumeClaim": {"claimName": around.data_claim}})
    return {
        # Karpenter moves no pod of a cluster to save cost: what runs there cannot be moved.
        "metadata": {"annotations": {"karpenter.sh/do-not-disrupt": "true"}},
        "spec": {
            "serviceAccountName": account,
            "automountServiceAccountToken": False,
            "securityContext": POD_SECURITY,
            # The root file system stays writable: jobs install packages into their environments.
            "containers": [{**container, "securityContext": CONTAINER_SECURITY, "volumeMounts": mounts}],
            "volumes": volumes,
            "nodeSelector": {"kubernetes.io/arch": cluster["architecture"]},
            **placement(around.pools[pool] for pool in pools),
        },
    }


def _require(template: dict[str, Any], expression: Mapping[str, Any]) -> None:
    """Adds to what the nodes of a pod must be."""
    required = template["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    for term in required["nodeSelectorTerms"]:
        term["matchExpressions"].append(expression)


def _devices(size: GroupSize) -> dict[str, str]:
    devices = {GPUS: size.gpus, NEURON_CORES: size.neuron_cores}
    return {resource: str(amount) for resource, amount in devices.items() if amount}


def _resources(size: PodSize, devices: Mapping[str, str] | None = None) -> dict[str, Any]:
    return {
        "requests": {"cpu": size.cpu, "memory": size.memory, **(devices or {})},
        "limits": {"cpu": size.cpu_limit, "memory": size.memory_limit, **(devices or {})},
    }


def _api_access() -> list[dict[str, Any]]:
    """What Kubernetes mounts for a service account by itself, where it does."""
    return [
        {"serviceAccountToken": {"path": "token", "expirationSeconds": 3607}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}}]}},
    ]
