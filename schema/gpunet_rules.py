"""Rules between the GPUNet service and the rest of a stack."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from typing import Any, cast

from components.accelerators import Vendor
from components.compute import instance_types
from components.compute.addon_facts import is_installed as is_addon_installed
from components.gpu_sharing import resource_of
from components.partition import partition_of
from components.platform.gpu_operator import is_served
from components.pools import Pool
from components.web_apps import WEB_APPS
from components.workloads.gpunet_pods import GpunetSurroundings, has_whole_gpus, pod_template
from components.workloads.gpunet_settings import GpunetSettings
from schema.base import Aws, Network, Repository, missing_repository
from schema.compute import Addon
from schema.domain import Domain, documentation_host, documentation_ranges
from schema.fields import quantity
from schema.gpunet import Gpunet
from schema.node_pools import NodePool
from schema.platform import PlatformChart, missing_chart
from schema.pod_room import missing_pools, without_room
from schema.pool_charts import described
from schema.problems import NAMESPACE, Problem

_SECTION = f"{NAMESPACE}:gpunet"
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


def gpunet_has_its_repository(gpunet: Gpunet, repositories: dict[str, Repository]) -> Iterator[Problem]:
    """There is a place for the image."""
    if gpunet.enabled:
        yield from missing_repository(f"{_SECTION}.repository", gpunet.repository, repositories)


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
        yield from missing_chart(chart, platform, lost)


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
    if gpunet.publish.host is not None:
        yield from documentation_host(f"{_SECTION}.publish.host", gpunet.publish.host, "put in a host of yours")
    yield from documentation_ranges(f"{_SECTION}.publish.inboundCidrs", gpunet.publish.inbound_cidrs)


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
