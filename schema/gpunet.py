"""Settings of the GPUNet service."""

import re
from ipaddress import IPv4Network
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, ValidationInfo, model_validator
from pydantic.alias_generators import to_camel

from components.base.cidr import USABLE
from components.workloads.gpunet_settings import MODELS
from schema.domain import MOST_INBOUND, check_inbound_cidr
from schema.fields import (
    Amount,
    PoolName,
    RepositoryName,
    Section,
    matches,
    quantity,
    refuse,
)

_DIGEST = "sha256:[0-9a-f]{64}"
_PART = r"[A-Za-z0-9][\w.=-]{0,254}"
_FILE = rf"{_PART}(/{_PART})*"

MODEL_SUFFIXES = (".onnx", ".safetensors", ".pth", ".pt", ".tar")
"""What names of models end with that the service reads."""

_LEAST_MEMORY = "1Gi"
"""The service holds 256 MiB of what it receives, and has the model and the libraries beside that."""


def _check_digest(value: str) -> str:
    if re.fullmatch(_DIGEST, value):
        return value
    digest = value.rpartition("@")[2]
    if re.fullmatch(_DIGEST, digest):
        fix = f"the image's name follows from repository: write {digest}"
    elif re.fullmatch(_DIGEST, f"sha256:{value}"):
        fix = f"write sha256:{value}"
    else:
        fix = "docker push prints the digest at its end, and aws ecr describe-images those of all that was pushed"
    raise refuse(
        "an image is named by its digest, sha256: and 64 hexadecimal digits in lower case; a tag could be moved", fix
    )


def _check_file(value: str) -> str:
    whole = re.match(rf"(s3://[^/]+/)?{MODELS}/", value)
    if whole:
        name = value.removeprefix(whole[0])
        rule = f"a model's file is named as it is below {MODELS}/ of the model bucket"
        raise refuse(rule, f"write {name}" if re.fullmatch(_FILE, name, re.ASCII) else "write the file's name")
    if not re.fullmatch(_FILE, value, re.ASCII):
        raise refuse(
            f"a model's file lies below {MODELS}/ of the model bucket; its name has letters, digits and _ . = -, and / "
            "between folders",
            f"upload it there, and write its name without {MODELS}/, for example gpunet-0-fp16.onnx",
        )
    if not value.endswith(MODEL_SUFFIXES):
        raise refuse(
            f"a model's file ends with {', '.join(MODEL_SUFFIXES[:-1])} or {MODEL_SUFFIXES[-1]}, by which the service "
            "knows how to read it",
            "gpunet convert makes a file that ends with .onnx",
        )
    return value


def _check_memory(value: str) -> str:
    if quantity(value) < quantity(_LEAST_MEMORY):
        raise refuse(
            "the service holds up to 256 MiB of images that come in, beside the model and the libraries",
            f"write {_LEAST_MEMORY} or more",
        )
    return value


def _check_inbound(value: str, info: ValidationInfo) -> str:
    """Checks a range against the scheme, which is validated before it; a wrong scheme is told of alone."""
    match info.data.get("scheme"):
        case "internal":
            return _private_range(value)
        case "internet-facing":
            return check_inbound_cidr(value)
        case _:
            return value


def _private_range(value: str) -> str:
    rule = "an IPv4 range with its prefix"
    try:
        network = IPv4Network(value)
    except ValueError as error:
        raise refuse(rule, "for example 10.0.0.0/8") from error
    if str(network) != value:
        raise refuse(rule, f"write {network}")
    if not any(network.subnet_of(private) for private in USABLE):
        raise refuse(
            f"an internal load balancer is reached from private addresses: of {', '.join(map(str, USABLE))}",
            "give the ranges of the VPC and of what is connected to it, or set scheme: internet-facing",
        )
    return value


ImageDigest = Annotated[str, AfterValidator(_check_digest)]
ModelFile = Annotated[str, AfterValidator(_check_file)]
Sha256 = Annotated[
    str,
    matches(
        r"[0-9a-fA-F]{64}",
        "a SHA-256 has 64 hexadecimal digits",
        "gpunet convert writes it into the model's manifest, and sha256sum prints it",
    ),
    # In other letters it is the same hash, and no reason for new pods.
    AfterValidator(str.lower),
]
VersionId = Annotated[
    str,
    matches(
        r"[!-~]{1,1024}",
        "a version's id is what S3 gave it, up to 1024 characters without spaces",
        "aws s3api list-object-versions prints them; left out, it is the newest",
    ),
]
Cpu = Annotated[
    str,
    matches(
        # Of less than a tenth of a core any load is many times as much: there would always be `max` pods.
        r"([1-9]\d{2,}m|[1-9]\d*(\.\d{1,3})?|0\.[1-9]\d{0,2})",
        'CPU is a number of cores such as "2" or "0.5", or of thousandths such as "500m", a tenth of one at least',
        "write how much a pod needs, quoted",
    ),
]
Memory = Annotated[Amount, AfterValidator(_check_memory)]
InboundRange = Annotated[str, AfterValidator(_check_inbound)]

_LABEL = r"([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)"
_HOST = rf"({_LABEL}\.)+(?=[a-z]){_LABEL}"
HostName = Annotated[
    str,
    matches(
        # A load balancer takes 128, and letters alone after the last dot.
        rf"(?=.{{1,128}}$)({_LABEL}\.)+[a-z]+",
        "a host has at least two labels of lower-case letters, digits and hyphens, the last one of letters, and 128 "
        "characters at most",
        "for example images.example.com, without scheme, port and path, and without a dot at the end",
    ),
]
ImageHost = Annotated[
    str,
    matches(
        rf"(?=.{{1,253}}$)\.?{_HOST}",
        "a host has at least two labels of lower-case letters, digits and hyphens; a dot before it takes in all below",
        "write images.example.com or .example.com, without scheme, port, path and *",
    ),
]
CertificateArn = Annotated[
    str,
    matches(
        r"arn:aws[a-z-]*:acm:[a-z0-9-]+:\d{12}:certificate/[\w-]+",
        "the ARN of a certificate of ACM (arn:aws:acm:<region>:<account>:certificate/<id>)",
        "aws acm list-certificates prints them",
    ),
]
Percent = Annotated[int, Field(ge=1, le=100)]
Count = Annotated[int, Field(ge=1)]


class GpunetModel(Section):
    """The model that is served."""

    file: ModelFile
    """Its name below models/gpunet/ of the model bucket; another model has another name."""
    sha256: Sha256
    """What it must hash to, 64 hexadecimal digits; its manifest has them."""
    version_id: VersionId | None = None
    """The object's version in S3; left out: the newest."""


class GpunetPublish(Section):
    """A load balancer of its own in front of the service. It asks nobody to sign in."""

    scheme: Literal["internet-facing", "internal"] = "internet-facing"
    """Where it can be reached from: the Internet, or the VPC and what is connected to it."""
    inbound_cidrs: Annotated[tuple[InboundRange, ...], Field(min_length=1, max_length=MOST_INBOUND)]
    """IPv4 ranges that reach it: public ones, 0.0.0.0/0 for everybody; private ones where it is internal."""
    host: HostName | None = None
    """Its host, with certificateArn; outside the platform's domain its record is yours to make. Left out: gpunet below
    that domain."""
    certificate_arn: CertificateArn | None = None
    """The ACM certificate of host; left out: the one of the platform's domain."""

    @model_validator(mode="after")
    def _a_host_has_its_certificate(self) -> "GpunetPublish":
        if (self.host is None) != (self.certificate_arn is None):
            raise refuse(
                "host and certificateArn go together: the domain's certificate is for the hosts of the platform",
                "give both, or leave both out for gpunet below eksai:domain.name",
            )
        if len(set(self.inbound_cidrs)) < len(self.inbound_cidrs):
            raise refuse("inboundCidrs lists an entry twice", "keep one of them")
        return self


class GpunetScaling(Section):
    """How many pods there are. The metrics server knows CPU alone: with it, gpuPercent and requestsPerSecond say
    nothing."""

    min: Count = 1
    """Fewest pods. One alone is away while its node goes; an update starts one more."""
    max: Count = 10
    """Most pods. The pools' limits may allow fewer; then the others wait."""
    cpu_percent: Percent = 70
    """CPU that pods use, of what they ask for, before there are more."""
    gpu_percent: Percent | None = 80
    """How busy whole GPUs are before there are more pods; null: it does not matter. Of shared GPUs nobody knows it."""
    requests_per_second: Count | None = 100
    """Requests a second of a pod before there are more; null: they do not matter."""
    metrics_from: Literal["metrics-server", "prometheus-adapter", "keda"] = "metrics-server"
    """Who tells the autoscaler: the metrics server knows CPU alone, the others know GPUs and requests as well."""

    @model_validator(mode="after")
    def _bounds_are_ordered(self) -> "GpunetScaling":
        if self.min > self.max:
            raise refuse(f"min <= max, here {self.min} and {self.max}", "change the one that is out of line")
        return self


class Gpunet(Section):
    """The image-classification service GPUNet. As long as imageDigest or model is left out, no pod of it runs."""

    enabled: bool = False
    """Whether there is one."""
    repository: RepositoryName = "gpunet-inference-app"
    """The repository of its image, one of eksai:repositories."""
    image_digest: ImageDigest | None = None
    """The image, as sha256: and 64 hexadecimal digits; left out: none is pushed yet."""
    model: GpunetModel | None = None
    """The model; left out: none is uploaded yet."""
    model_access: Literal["download", "volume"] = "download"
    """How pods get the model: from S3 by an identity of their own, or from the bucket as a volume (add-on
    aws-mountpoint-s3-csi-driver)."""
    pools: tuple[PoolName, ...] = ()
    """Pools that pods may run on, all with the same kind of GPU share; which of them gets a pod is up to their
    weights."""
    device: Literal["gpu", "cpu"] = "gpu"
    """What computes: an NVIDIA GPU or a share of one, or the CPU. Each has its image."""
    architecture: Literal["amd64", "arm64"] = "amd64"
    """CPU architecture of the image, and so of the nodes."""
    cpu: Cpu = "2"
    """CPU that a pod asks for, such as "2" or "500m"; it may use what else is there."""
    memory: Memory = "4Gi"
    """Memory that a pod asks for and may use, 1Gi or more."""
    image_hosts: tuple[ImageHost, ...] = ()
    """The only hosts that images are fetched from, .example.com with all below it; left out: any."""
    publish: GpunetPublish | None = None
    """Its load balancer; left out: it stays in the cluster."""
    scaling: GpunetScaling = GpunetScaling()
    """How many pods there are."""

    @model_validator(mode="after")
    def _it_agrees_with_itself(self) -> "Gpunet":
        if self.enabled and not self.pools:
            raise refuse("its pods are meant for pools that are named", "set pools")
        if self.device == "gpu" and self.architecture == "arm64":
            raise refuse(
                "nodes with NVIDIA GPUs are amd64, as far as the platform knows types",
                "remove architecture, or set device: cpu",
            )
        for key in ("pools", "image_hosts"):
            entries: tuple[str, ...] = getattr(self, key)
            if len(set(entries)) < len(entries):
                raise refuse(f"{to_camel(key)} lists an entry twice", "keep one of them")
        if self.model_access == "volume" and self.model and self.model.version_id is not None:
            raise refuse(
                "a bucket that is mounted shows the newest version of each object, and model.versionId names one",
                "remove versionId, since sha256 says which content it is, or set modelAccess: download",
            )
        return self
