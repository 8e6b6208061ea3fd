"""Settings of the GPUNet service, and the rules between it and the rest of a stack."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from ipaddress import IPv4Network
from typing import Annotated, Any, Literal, cast

from pydantic import AfterValidator, Field, ValidationInfo, model_validator
from pydantic.alias_generators import to_camel

from components.accelerators import Vendor
from components.compute import instance_types
from components.compute.addon_facts import is_installed as is_addon_installed
from components.gpu_sharing import resource_of
from components.partition import partition_of
from components.platform.gpu_operator import is_served
from components.pools import Pool
from components.web_apps import WEB_APPS
from components.workloads.gpunet_pods import GpunetSurroundings, has_whole_gpus, pod_template
from components.workloads.gpunet_settings import MODELS, GpunetSettings
from schema.base import SHARED_ADDRESSES, Aws, Network, Repository
from schema.compute import Addon
from schema.domain import DOCUMENTATION_DOMAINS, MOST_INBOUND, Domain, check_inbound_cidr
from schema.fields import (
    DOCUMENTATION_NETWORKS,
    Amount,
    PoolName,
    RepositoryName,
    Section,
    matches,
    quantity,
    refuse,
)
from schema.node_pools import NodePool
from schema.platform import PlatformChart, is_installed
from schema.pod_room import missing_pools, without_room
from schema.pool_charts import described
from schema.problems import NAMESPACE, Problem

_SECTION = f"{NAMESPACE}:gpunet"
_DIGEST = "sha256:[0-9a-f]{64}"
_PART = r"[A-Za-z0-9][\w.=-]{0,254}"
_FILE = rf"{_PART}(/{_PART})*"

MODEL_SUFFIXES = (".onnx", ".safetensors", ".pth", ".pt", ".tar")
"""What names of models end with that the service reads."""

_LEAST_MEMORY = "1Gi"
"""The service holds 256 MiB of what it receives, and has the model and the libraries beside that."""
_PRIVATE = (*(IPv4Network(n) for n in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")), SHARED_ADDRESSES)
"""Private addresses (RFC 1918), and those that a VPC may have for pods."""

_BALANCER = "aws-load-balancer-controller"
_PROMETHEUS = ("kube-prometheus-stack", "prometheus-operator-crds")
_TELLERS: Mapping[str, tuple[str, ...]] = {
    "metrics-server": (),
    "prometheus-adapter": ("prometheus-adapter", *_PROMETHEUS),
    "keda": ("keda", *_PROMETHEUS),
}
"""By who tells the autoscaler, the charts that this takes."""
_MOUNTPOINT = "aws-mountpoint-s3-csi-driver"
_METRICS_SERVER = "metrics-server"


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
    if not any(network.subnet_of(private) for private in _PRIVATE):
        raise refuse(
            f"an internal load balancer is reached from private addresses: of {', '.join(map(str, _PRIVATE))}",
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
    """Its host, whose record is yours to make, with certificateArn; left out: gpunet below the platform's domain."""
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
            raise refuse("nodes with NVIDIA GPUs are amd64", "remove architecture, or set device: cpu")
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


def gpunet_has_its_repository(gpunet: Gpunet, repositories: dict[str, Repository]) -> Iterator[Problem]:
    """There is a place for the image."""
    if gpunet.enabled and gpunet.repository not in repositories:
        yield Problem(
            f"{_SECTION}.repository",
            gpunet.repository,
            "its image comes from a repository of eksai:repositories",
            f"add the line {gpunet.repository}: {{}} there",
        )


def gpunet_has_its_charts(gpunet: Gpunet, platform: dict[str, PlatformChart]) -> Iterator[Problem]:
    """Somebody makes its load balancer, and tells its autoscaler what it goes by."""
    if not gpunet.enabled:
        return
    teller = gpunet.scaling.metrics_from
    needs = dict.fromkeys(
        _TELLERS[teller], f"its autoscaler is told nothing ({_SECTION}.scaling.metricsFrom: {teller})"
    )
    if gpunet.publish:
        needs[_BALANCER] = f"nothing makes the load balancer of {_SECTION}.publish"
    for chart, lost in needs.items():
        if not is_installed(chart, platform):
            fix = "remove enabled: false" if chart in platform else f"add the line {chart}: {{}}"
            yield Problem(f"{NAMESPACE}:platform", "", f"without {chart} {lost}", fix)


def gpunet_has_its_addons(gpunet: Gpunet, addons: dict[str, Addon]) -> Iterator[Problem]:
    """Somebody measures the CPU that its pods use, and mounts the bucket where they read it as a volume."""
    if not gpunet.enabled:
        return
    needs = {_METRICS_SERVER: "its autoscaler goes by CPU at least, which only metrics-server knows"}
    if gpunet.model_access == "volume":
        needs[_MOUNTPOINT] = f"{_SECTION}.modelAccess is volume, and no pod mounts a bucket without {_MOUNTPOINT}"
    for addon, rule in needs.items():
        said = addons[addon].enabled if addon in addons else None
        if not is_addon_installed(addon, said):
            yield Problem(f"{NAMESPACE}:addons.{addon}.enabled", "", rule, "set it to true")


def gpunet_pods_have_nodes(gpunet: Gpunet, node_pools: dict[str, NodePool]) -> Iterator[Problem]:
    """Its pods can run on its pools, on all in the same way, and one more of them than the fewest."""
    if not gpunet.enabled:
        return
    # Each takes for granted what those before it find in order.
    for mistakes in (_missing, _of_another_kind, _shared_in_different_ways, _too_small):
        found = list(mistakes(gpunet, node_pools))
        yield from found
        if found:
            return
    yield from _too_few(gpunet, node_pools)
    yield from _unmeasured(gpunet, node_pools)


def _missing(gpunet: Gpunet, node_pools: Mapping[str, NodePool]) -> Iterator[Problem]:
    return missing_pools(f"{_SECTION}.pools", gpunet.pools, node_pools)


def _of_another_kind(gpunet: Gpunet, node_pools: Mapping[str, NodePool]) -> Iterator[Problem]:
    """Pools without the device, or with one that its pods would keep from others."""
    for index, pool in enumerate(_named(gpunet, node_pools)):
        mistake = _not_with_gpus(pool) if gpunet.device == "gpu" else _with_accelerators(pool)
        if mistake:
            yield Problem(f"{_SECTION}.pools[{index}]", pool.name, *mistake)


def _not_with_gpus(pool: Pool) -> tuple[str, str] | None:
    if pool.vendor is not Vendor.NVIDIA:
        rule = f"the service computes on NVIDIA GPUs, and the nodes of {pool.name} have none"
        return rule, "name a pool with GPUs, or set device: cpu and push the image for that (VARIANT=cpu)"
    if pool.allocation == "dra":
        rule = f"its pods ask for GPUs by number, and those of {pool.name} are handed out by claim"
        return rule, "name a pool with allocation: device-plugin"
    return None


def _with_accelerators(pool: Pool) -> tuple[str, str] | None:
    if pool.vendor is None:
        return None
    rule = f"with device: cpu its pods would keep the nodes of {pool.name} from those who need their accelerators"
    return rule, "name a pool without accelerators" + (", or set device: gpu" if pool.vendor is Vendor.NVIDIA else "")


def _shared_in_different_ways(gpunet: Gpunet, node_pools: Mapping[str, NodePool]) -> Iterator[Problem]:
    resources = sorted({resource_of(pool.sharing) for pool in _named(gpunet, node_pools)})
    if len(resources) > 1:
        yield Problem(
            f"{_SECTION}.pools",
            ", ".join(gpunet.pools),
            f"a pod asks for one kind of GPU share, and its pools announce {' and '.join(resources)}",
            "keep the pools whose GPUs are shared alike",
        )


def _too_small(gpunet: Gpunet, node_pools: Mapping[str, NodePool]) -> Iterator[Problem]:
    surroundings = GpunetSurroundings(pools=_named(gpunet, node_pools))
    refused = without_room(pod_template(_plain(gpunet), surroundings), gpunet.pools, node_pools)
    if refused is not None:
        fix = f"name a pool whose nodes have it and are {gpunet.architecture}, or change cpu and memory"
        yield Problem(f"{_SECTION}.pools", ", ".join(gpunet.pools), refused, fix)


def _too_few(gpunet: Gpunet, node_pools: Mapping[str, NodePool]) -> Iterator[Problem]:
    """Pools with room for the fewest pods alone: an update ends none of them before another one is ready."""
    needed = gpunet.scaling.min + 1
    room = {name: _most_pods(gpunet, name, node_pools[name], needed) for name in gpunet.pools}
    if sum(room.values()) < needed:
        listed = ", ".join(f"{pods} on {name}" for name, pods in room.items())
        yield Problem(
            f"{_SECTION}.scaling.min",
            str(gpunet.scaling.min),
            f"an update starts a pod before it ends one: {needed} at a time, and within the pools' limits there is "
            f"room for {listed}",
            "raise limits of a pool (size.desired of a managed one), name another pool, or lower min",
        )


def _most_pods(gpunet: Gpunet, name: str, pool: NodePool, enough: int) -> int:
    """How many pods the nodes of a pool are for: all of the best type where Karpenter chooses, of the worst where EKS
    does."""
    best_or_worst = min if pool.size else max
    return best_or_worst(
        _most_nodes(pool, type_) * _pods_on_a_node(gpunet, name, pool, type_, enough) for type_ in pool.instance_types
    )


def _most_nodes(pool: NodePool, type_: str) -> int:
    if pool.size:
        # Nothing but the stack changes the number of its nodes.
        return pool.size.desired
    row, limits = instance_types.table()[type_], pool.limits
    assert limits is not None, "the pool's own rules see to that"
    most = [int(quantity(limits.cpu) // row.vcpu), int(quantity(limits.memory) // (row.memory_mib * 2**20))]
    if row.accelerators and limits.accelerators is not None:
        most.append(limits.accelerators // row.accelerators)
    return min(most)


def _pods_on_a_node(gpunet: Gpunet, name: str, pool: NodePool, type_: str, enough: int) -> int:
    """How many pods a node of a type has room for, `enough` at most."""
    of_this_type = {name: pool.model_copy(update={"instance_types": (type_,)})}
    template = pod_template(_plain(gpunet), GpunetSurroundings(pools=described({name: pool})))
    (container,) = template["spec"]["containers"]

    def is_too_much(pods: int) -> bool:
        together = {**template, "spec": {**template["spec"], "containers": [container] * pods}}
        return without_room(together, [name], of_this_type) is not None

    return bisect_left(range(1, enough + 1), True, key=is_too_much)


def _unmeasured(gpunet: Gpunet, node_pools: Mapping[str, NodePool]) -> Iterator[Problem]:
    """Whole GPUs that the autoscaler goes by and nobody measures.

    The GPU Operator does, on nodes that it serves; a stack with such nodes has it (`schema.pool_charts`).
    """
    scaling, pools = gpunet.scaling, _named(gpunet, node_pools)
    if scaling.metrics_from == "metrics-server" or not has_whole_gpus(_plain(gpunet), pools):
        return
    blind = [pool.name for pool in pools if not is_served(pool)]
    if scaling.gpu_percent is not None and blind:
        yield Problem(
            f"{_SECTION}.scaling.gpuPercent",
            str(scaling.gpu_percent),
            "gpu-operator's exporter tells how busy a GPU is, and it runs on nodes of al2023 only, not on those of "
            f"{', '.join(blind)}",
            "set gpuPercent: null, to scale by CPU and requests, or name pools of al2023",
        )


def gpunet_has_a_host(gpunet: Gpunet, domain: Domain) -> Iterator[Problem]:
    """Who is let in finds it by a name that its certificate is for, and that nobody else has."""
    if not gpunet.enabled or gpunet.publish is None:
        return
    host = gpunet.publish.host
    if host is None and domain.name is None:
        yield Problem(
            f"{_SECTION}.publish",
            "",
            "it is published as gpunet below the platform's domain, and there is none",
            "set eksai:domain, or host and certificateArn here",
        )
    if host is not None and domain.name is not None and host in _hosts_of_applications(domain.name):
        rule = "that host is another application's, with a load balancer of its own"
        yield Problem(f"{_SECTION}.publish.host", host, rule, "name another one")


def _hosts_of_applications(domain: str) -> set[str]:
    return {app.host(domain) for app in WEB_APPS.values() if app.is_published}


def gpunet_balancer_has_subnets(gpunet: Gpunet, network: Network) -> Iterator[Problem]:
    """A load balancer that the Internet reaches lies in public subnets."""
    if not gpunet.enabled or gpunet.publish is None or gpunet.publish.scheme == "internal":
        return
    if network.existing is not None and not network.existing.public_subnet_ids:
        yield Problem(
            f"{NAMESPACE}:network.existing.publicSubnetIds",
            "{}",
            f"{_SECTION}.publish makes a load balancer that the Internet reaches, which lies in public subnets",
            f"name a public subnet in each zone, or set {_SECTION}.publish.scheme to internal",
        )


def gpunet_certificate_is_of_this_region_and_account(gpunet: Gpunet, aws: Aws) -> Iterator[Problem]:
    """A load balancer takes certificates of its own region and account only."""
    if not gpunet.enabled or gpunet.publish is None or gpunet.publish.certificate_arn is None:
        return
    arn = gpunet.publish.certificate_arn
    partition, region, account = (arn.split(":")[i] for i in (1, 3, 4))
    if (partition, region, account) != (partition_of(aws.region), aws.region, aws.account_id):
        yield Problem(
            f"{_SECTION}.publish.certificateArn",
            arn,
            f"the certificate lies in region {aws.region} of account {aws.account_id}",
            "name a certificate of eksai:aws.region and eksai:aws.accountId",
        )


def gpunet_documentation_values_stay_local(gpunet: Gpunet, local: bool) -> Iterator[Problem]:
    """What documentation uses belongs to nobody."""
    if local or not gpunet.enabled or gpunet.publish is None:
        return
    host = gpunet.publish.host
    if host is not None and any(f".{host}".endswith(f".{known}") for known in DOCUMENTATION_DOMAINS):
        rule = "a documentation domain works on the local cloud only"
        yield Problem(f"{_SECTION}.publish.host", host, rule, "put in a host of yours")
    for index, cidr in enumerate(gpunet.publish.inbound_cidrs):
        if any(IPv4Network(cidr).subnet_of(known) for known in DOCUMENTATION_NETWORKS):
            rule = "a documentation range works on the local cloud only"
            key = f"{_SECTION}.publish.inboundCidrs[{index}]"
            yield Problem(key, cidr, rule, "put in the public addresses that your people go out with")


RULES = (
    gpunet_has_its_repository,
    gpunet_has_its_charts,
    gpunet_has_its_addons,
    gpunet_pods_have_nodes,
    gpunet_has_a_host,
    gpunet_balancer_has_subnets,
    gpunet_certificate_is_of_this_region_and_account,
    gpunet_documentation_values_stay_local,
)
"""Rules between the service and other sections; each names the sections that it needs as its parameters."""


def _named(gpunet: Gpunet, node_pools: Mapping[str, NodePool]) -> list[Pool]:
    """Its pools in the order of the stack file; all of them are there."""
    return described({name: node_pools[name] for name in gpunet.pools})


def _plain(gpunet: Gpunet) -> GpunetSettings:
    return cast(GpunetSettings, cast(Any, gpunet.model_dump()))
