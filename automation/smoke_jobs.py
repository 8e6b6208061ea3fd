"""The smoke tests of a stack: which Jobs its pools and volumes give reason for, and what each of them runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from automation.errors import EksaiError
from components.accelerators import ACCELERATORS, EFA_LABEL, Vendor
from components.gpu_sharing import resource_of

if TYPE_CHECKING:
    from components.pools import Pool
    from settings import Settings

Object = Mapping[str, Any]

JOB_LABEL = "eksai.dev/smoke"
"""Label of a smoke test's pods: the test's name."""

# NVIDIA's registry on NGC, repository nvidia/cuda: the small image with no CUDA but its version. nvidia-smi itself
# comes from the node's driver. CUDA 12 asks for an older driver than 13, so more nodes take it.
NVIDIA_IMAGE = "nvcr.io/nvidia/cuda:12.9.1-base-ubuntu24.04"
# AWS's Neuron containers (github.com/aws-neuron/deep-learning-containers), SDK 2.30.0: it has aws-neuronx-tools.
NEURON_IMAGE = "public.ecr.aws/neuron/pytorch-inference-neuronx:2.9.0-neuronx-py312-sdk2.30.0-ubuntu24.04"
# AWS's public image of NCCL tests (aws-samples, awsome-distributed-training): it has the EFA installer's libfabric.
EFA_IMAGE = "public.ecr.aws/hpc-cloud/nccl-tests:cuda12.8.1-efa1.43.2-ofiv1.16.3-ncclv2.27.7-1-testsv2.16.9"
# Docker's official image on Amazon's public registry, which pulls without an account.
STORAGE_IMAGE = "public.ecr.aws/docker/library/busybox:1.37.0"

EFA = "vpc.amazonaws.com/efa"

_USER = 1000
_ROOM = {"cpu": "100m", "memory": "256Mi"}
_AMD64 = {"kubernetes.io/arch": "amd64"}


class Kind(StrEnum):
    """What a smoke test tries."""

    NVIDIA = "nvidia"
    NEURON = "neuron"
    EFA = "efa"
    STORAGE = "storage"


@dataclass(frozen=True)
class SmokeJob:
    """One smoke test: a Job, and the volume claims that it uses."""

    kind: Kind
    name: str
    """The Job's name."""
    job: Object
    claims: tuple[Object, ...] = ()


def smoke_jobs(settings: "Settings", kinds: Sequence[Kind] = ()) -> list[SmokeJob]:
    """The smoke tests of a stack.

    Args:
        settings: the stack's settings.
        kinds: which to make; none means all that the stack has something to try for.

    Raises:
        EksaiError: a kind is named that the stack has nothing to try for.
    """
    found = [*_nvidia(settings), *_neuron(settings), *_efa(settings), *_storage(settings)]
    there = list(dict.fromkeys(job.kind for job in found))
    for kind in kinds:
        if kind not in there:
            has = ", ".join(there) or "nothing"
            raise EksaiError(f"There is nothing to try for {kind}: the stack has no {_MISSING[kind]}. It has: {has}.")
    return [job for job in found if not kinds or job.kind in kinds]


_MISSING = {
    Kind.NVIDIA: "pool with NVIDIA GPUs that a device plug-in hands out (claims, DRA, are not tried)",
    Kind.NEURON: "pool with Neuron devices",
    Kind.EFA: "pool with efa: true",
    Kind.STORAGE: "add-on aws-ebs-csi-driver, so no class gp3",
}


def _nvidia(settings: "Settings") -> list[SmokeJob]:
    """One for each resource by which pods ask for GPUs: the pools that share alike are alike to a pod."""
    by_resource: dict[str, list[Pool]] = {}
    for pool in settings.pools():
        if pool.vendor is Vendor.NVIDIA and pool.allocation == "device-plugin":
            by_resource.setdefault(resource_of(pool.sharing), []).append(pool)
    return [
        _test(
            Kind.NVIDIA,
            resource.replace("nvidia.com/", "nvidia-").replace(".", "-"),
            {"image": NVIDIA_IMAGE, "command": ["nvidia-smi"], "resources": _resources({resource: 1})},
            tolerations=_tolerations(settings, pools),
        )
        for resource, pools in by_resource.items()
    ]


def _neuron(settings: "Settings") -> list[SmokeJob]:
    pools = [pool for pool in settings.pools() if pool.vendor is Vendor.NEURON]
    if not pools:
        return []
    devices = {ACCELERATORS[Vendor.NEURON].resource: 1}
    container = {
        "image": NEURON_IMAGE,
        "command": ["/opt/aws/neuron/bin/neuron-ls"],
        "resources": _resources(devices),
    }
    return [_test(Kind.NEURON, "neuron", container, tolerations=_tolerations(settings, pools), nodeSelector=_AMD64)]


def _efa(settings: "Settings") -> list[SmokeJob]:
    """Two pods on two nodes, each of which sees its interface; that they reach each other is not tried."""
    pools = [pool for pool in settings.pools() if pool.efa]
    if not pools:
        return []
    container = {
        "image": EFA_IMAGE,
        "command": ["/opt/amazon/efa/bin/fi_info", "-p", "efa"],
        # The image asks for all GPUs by this variable, and would be given some where a runtime heeds it.
        "env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"}],
        "resources": _resources({EFA: 1}),
    }
    apart = {
        "labelSelector": {"matchLabels": {JOB_LABEL: "efa"}},
        "topologyKey": "kubernetes.io/hostname",
    }
    return [
        _test(
            Kind.EFA,
            "efa",
            container,
            count=2,
            tolerations=_tolerations(settings, pools),
            nodeSelector={**EFA_LABEL, **_AMD64},
            affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}},
        )
    ]


def _storage(settings: "Settings") -> list[SmokeJob]:
    """One container writes to a new volume, the next one reads it."""
    addon = settings.addons.get("aws-ebs-csi-driver")
    if addon is not None and addon.enabled is False:
        return []
    shared = {
        "image": STORAGE_IMAGE,
        "volumeMounts": [{"name": "volume", "mountPath": "/volume"}],
        "resources": _resources({}),
    }
    write = "head -c 16777216 /dev/urandom >/volume/data && cd /volume && sha256sum data >sum && sync"
    read = "cd /volume && sha256sum -c sum"
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "storage"},
        "spec": {
            "storageClassName": "gp3",
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    job = _test(
        Kind.STORAGE,
        "storage",
        {**shared, "command": ["sh", "-c", read]},
        initContainers=[{**shared, "name": "write", "command": ["sh", "-c", write], "securityContext": _CONFINED}],
        volumes=[{"name": "volume", "persistentVolumeClaim": {"claimName": "storage"}}],
        securityContext={
            "runAsNonRoot": True,
            "runAsUser": _USER,
            "fsGroup": _USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    )
    return [SmokeJob(job.kind, job.name, job.job, (claim,))]


_CONFINED = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


def _test(kind: Kind, name: str, container: Object, *, count: int = 1, **pod: Any) -> SmokeJob:
    """A Job that runs `count` pods at once, each of them once; `pod` adds to the pods' spec."""
    spec = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": 5,
        "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [{**container, "name": "test", "securityContext": _CONFINED}],
        **pod,
    }
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {
            "completions": count,
            "parallelism": count,
            "backoffLimit": 0,
            "ttlSecondsAfterFinished": 3600,
            "template": {"metadata": {"labels": {JOB_LABEL: name}}, "spec": spec},
        },
    }
    return SmokeJob(kind, name, job)


def _resources(devices: Mapping[str, int]) -> Object:
    counts = {resource: str(count) for resource, count in devices.items()}
    return {"requests": {**_ROOM, **counts}, "limits": {"memory": "512Mi", **counts}}


def _tolerations(settings: "Settings", pools: Sequence["Pool"]) -> list[Object]:
    """What lets a pod run on the pools once their nodes are ready: taints that go by then are not among these."""
    places: dict[tuple[str, str], None] = {}
    for pool in pools:
        if pool.vendor is not None:
            taint = ACCELERATORS[pool.vendor].taint
            places[taint["key"], taint["effect"]] = None
        for key, taint in settings.node_pools[pool.name].taints.items():
            places[key, taint.effect] = None
    return [{"key": key, "operator": "Exists", "effect": effect} for key, effect in places]
