"""What a stack says of the GPUNet service."""

from collections.abc import Sequence
from typing import Literal

from typing_extensions import TypedDict

MODELS = "models/gpunet"
"""Folder of the service's models in the model bucket, which is all of it that its pods read."""


class ModelSettings(TypedDict):
    """The model that is served."""

    file: str
    """Its name below `MODELS`."""
    sha256: str
    """What it must hash to, 64 hexadecimal digits."""
    version_id: str | None
    """The object's version; None: the newest."""


class PublishSettings(TypedDict):
    """A load balancer of its own in front of the service."""

    scheme: Literal["internet-facing", "internal"]
    """Where it can be reached from: the Internet, or the VPC and what is connected to it."""
    inbound_cidrs: Sequence[str]
    """Address ranges that reach it, at least one."""
    host: str | None
    """Its host; None: `gpunet` below the platform's domain."""
    certificate_arn: str | None
    """The certificate of its host; None: the platform's domain's."""


class ScalingSettings(TypedDict):
    """How many pods there are."""

    min: int
    """Fewest."""
    max: int
    """Most."""
    cpu_percent: int
    """CPU that pods use, of what they ask for, before there are more."""
    gpu_percent: int | None
    """How busy whole GPUs are before there are more pods; None: it does not matter."""
    requests_per_second: int | None
    """Requests a second of a pod before there are more; None: they do not matter."""
    metrics_from: Literal["metrics-server", "prometheus-adapter", "keda"]
    """Who tells the autoscaler: the metrics server knows CPU alone, the others all three."""


class GpunetSettings(TypedDict):
    """What a stack says of the service."""

    enabled: bool
    """Whether there is one."""
    repository: str
    """The repository of its image."""
    image_digest: str | None
    """The image, as `sha256:` and 64 hexadecimal digits; None: none is pushed yet."""
    model: ModelSettings | None
    """The model; None: none is uploaded yet."""
    model_access: Literal["download", "volume"]
    """How pods get the model: from S3 by an identity of their own, or from the bucket as a volume."""
    pools: Sequence[str]
    """Pools that pods may run on, all with the same kind of GPU share."""
    device: Literal["gpu", "cpu"]
    """What computes."""
    architecture: Literal["amd64", "arm64"]
    """CPU architecture of the image."""
    cpu: str
    """CPU that a pod asks for, a Kubernetes quantity."""
    memory: str
    """Memory that a pod asks for and may use, a Kubernetes quantity."""
    image_hosts: Sequence[str]
    """The only hosts that images are fetched from, `.example.com` with all below it; none: any."""
    publish: PublishSettings | None
    """Its load balancer; None: it stays in the cluster."""
    scaling: ScalingSettings
    """How many pods there are."""


def is_deployed(settings: GpunetSettings) -> bool:
    """Whether there is something to run: an image and a model."""
    return settings["enabled"] and settings["image_digest"] is not None and settings["model"] is not None
