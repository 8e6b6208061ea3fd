"""The pods of the GPUNet service."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi

from components.gpu_sharing import resource_of
from components.pod_security import CONTAINER_SECURITY
from components.pools import Pool, placement
from components.workloads.gpunet_settings import MODELS, GpunetSettings

NAME = "gpunet"
"""The name of the service's namespace and of everything in it."""
LABELS: Mapping[str, str] = {"app.kubernetes.io/name": NAME}
"""Labels of every pod. A Deployment's selector cannot be changed: they stay what they are."""
PORT = 8080
"""Where a pod listens."""
PORT_NAME = "http"
CLAIM = "s3-model-pvc"
"""The claim of the models, where they come as a volume."""
MODEL_PATH = "/models"
"""Where it is mounted."""

PRE_STOP_S = 15
"""How long a pod that has to go waits before it is told so: load balancers and nodes learn that it goes at the same
time as it does, and still send requests for some seconds."""
DRAIN_S = 2
"""How long it then says that it is not ready, and serves: for whoever asks itself, since those that follow the pod know
by then."""
SHUTDOWN_S = 20
"""How long requests under way may take after that; the service gives none more than 15."""
GRACE_S = PRE_STOP_S + DRAIN_S + SHUTDOWN_S + 8
"""When Kubernetes kills it. A spot instance has two minutes."""
START_S = 300
"""How long a start may take: reading the model, and a first run of every batch size, which on a GPU is a search."""

_USER = 65532
"""User and group of the image."""
_ZONE, _NODE = "topology.kubernetes.io/zone", "kubernetes.io/hostname"


@dataclass(frozen=True)
class GpunetSurroundings:
    """What pods refer to. Where they fit follows from the pools alone, and the rest may be left out for that."""

    pools: Sequence[Pool]
    """The pools that they may run on, at least one."""
    image: pulumi.Input[str] = NAME
    """The image with its digest."""
    bucket: pulumi.Input[str] = ""
    """The model bucket."""
    region: str = ""
    """AWS region."""
    vpc_ranges: Sequence[str] = ()
    """Ranges of the VPC, from which no images are fetched."""


def has_whole_gpus(settings: GpunetSettings, pools: Sequence[Pool]) -> bool:
    """Whether each pod has a GPU of its own.

    Args:
        settings: the service.
        pools: the pools that its pods may run on, all with the same kind of GPU share.
    """
    return settings["device"] == "gpu" and all(pool.sharing is None for pool in pools)


def pod_template(settings: GpunetSettings, around: GpunetSurroundings) -> dict[str, Any]:
    """The pod template of the service, also while there is no image or model yet.

    Args:
        settings: the service.
        around: what its pods refer to.
    """
    mounts: list[dict[str, Any]] = [{"name": "tmp", "mountPath": "/tmp"}]
    volumes: list[dict[str, Any]] = [{"name": "tmp", "emptyDir": {"sizeLimit": "256Mi"}}]
    if settings["model_access"] == "volume":
        mounts.append({"name": "models", "mountPath": MODEL_PATH, "readOnly": True})
        volumes.append({"name": "models", "persistentVolumeClaim": {"claimName": CLAIM, "readOnly": True}})
    container = {
        "name": NAME,
        "image": around.image,
        "ports": [{"name": PORT_NAME, "containerPort": PORT}],
        "env": [{"name": name, "value": value} for name, value in _environment(settings, around).items()],
        "resources": _resources(settings, around.pools),
        **_life(),
        # Why it did not start is its last line, which is then in the pod's status too.
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "securityContext": {**CONTAINER_SECURITY, "readOnlyRootFilesystem": True},
        "volumeMounts": mounts,
    }
    return {
        "metadata": {"labels": dict(LABELS)},
        "spec": {
            "serviceAccountName": NAME,
            # It has nothing to ask of Kubernetes; AWS knows it by a token of its own.
            "automountServiceAccountToken": False,
            # Variables that Kubernetes makes of a Service named gpunet begin as the service's own settings do.
            "enableServiceLinks": False,
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": _USER,
                "runAsGroup": _USER,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "terminationGracePeriodSeconds": GRACE_S,
            "containers": [container],
            "volumes": volumes,
            "nodeSelector": {"kubernetes.io/arch": settings["architecture"]},
            **placement(around.pools),
            "topologySpreadConstraints": _spread(settings, around.pools),
        },
    }


def _environment(settings: GpunetSettings, around: GpunetSurroundings) -> dict[str, pulumi.Input[str]]:
    return {
        **_model(settings, around),
        "GPUNET_DEVICE": "cuda" if settings["device"] == "gpu" else "cpu",
        "GPUNET_FETCH_DENIED_NETWORKS": ",".join(around.vpc_ranges),
        **({"GPUNET_FETCH_HOSTS": ",".join(settings["image_hosts"])} if settings["image_hosts"] else {}),
        "GPUNET_DRAIN_DELAY": str(DRAIN_S),
        "GPUNET_SHUTDOWN_TIMEOUT": str(SHUTDOWN_S),
    }


def _model(settings: GpunetSettings, around: GpunetSurroundings) -> dict[str, pulumi.Input[str]]:
    """Where the service finds the model; nothing while there is none."""
    model = settings["model"]
    if model is None:
        return {}
    checked = {"MODEL_SHA256": model["sha256"]}
    if settings["model_access"] == "volume":
        return {"MODEL_PATH": f"{MODEL_PATH}/{model['file']}", **checked}
    version = {} if model["version_id"] is None else {"S3_VERSION_ID": model["version_id"]}
    key = f"{MODELS}/{model['file']}"
    return {"S3_BUCKET_NAME": around.bucket, "S3_KEY": key, **version, "AWS_REGION": around.region, **checked}


def _resources(settings: GpunetSettings, pools: Sequence[Pool]) -> dict[str, Any]:
    gpu = {resource_of(pools[0].sharing): "1"} if settings["device"] == "gpu" else {}
    return {
        # No limit of CPU: it would stop the decoding of a burst of images on a node that has room.
        "requests": {"cpu": settings["cpu"], "memory": settings["memory"], **gpu},
        "limits": {"memory": settings["memory"], **gpu},
    }


def _life() -> dict[str, Any]:
    """When a pod counts as started, ready and stuck, and how it ends."""

    def asked(path: str, period_s: int, failures: int) -> dict[str, Any]:
        place = {"path": path, "port": PORT_NAME}
        return {"httpGet": place, "periodSeconds": period_s, "timeoutSeconds": 3, "failureThreshold": failures}

    return {
        "startupProbe": asked("/startupz", 5, START_S // 5),
        "readinessProbe": asked("/readyz", 5, 2),
        # The service says so itself when only a restart helps; one answer that is late is no such case.
        "livenessProbe": asked("/livez", 10, 3),
        "lifecycle": {"preStop": {"sleep": {"seconds": PRE_STOP_S}}},
    }


def _spread(settings: GpunetSettings, pools: Sequence[Pool]) -> list[dict[str, Any]]:
    """Over zones, and over nodes as well where each pod has a GPU: elsewhere Karpenter would make a node for each."""
    return [
        {
            "maxSkew": 1,
            "topologyKey": key,
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": dict(LABELS)},
            # Each generation of pods for itself: those that go do not push the new ones together.
            "matchLabelKeys": ["pod-template-hash"],
        }
        for key in ((_ZONE, _NODE) if has_whole_gpus(settings, pools) else (_ZONE,))
    ]
