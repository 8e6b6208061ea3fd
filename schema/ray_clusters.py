"""Settings of the Ray clusters, and the rules between them, the pools and the charts."""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, cast

from pydantic import Field, model_validator

from components.workloads.ray_groups import GROUPS, GroupSize, PodSize, RayGroupSettings, group_size, head_size
from components.workloads.ray_pods import (
    AUTOSCALER_RESOURCES,
    RayClusterSettings,
    Surroundings,
    head_template,
    worker_group,
)
from schema.fields import Amount, PoolName, Section, matches, quantity, refuse
from schema.node_pools import NodePool
from schema.platform import PlatformChart, missing_chart
from schema.pod_room import missing_pools, without_room
from schema.pool_charts import described
from schema.problems import NAMESPACE, Problem

OPERATOR = "kuberay-operator"
_OLDEST = (2, 52)
"""The first version of Ray that asks for a token, as KubeRay 1.7 checks it."""

_LABEL = r"[a-z]([a-z0-9-]{0,48}[a-z0-9])?"
RayClusterName = Annotated[
    str,
    matches(
        rf"(?!.*-workers$){_LABEL}",
        "a Ray cluster's name has lower-case letters, digits and hyphens, begins with a letter, has 50 characters at "
        "most (KubeRay cuts the name of its Secret there) and does not end in -workers (so ends the service account of "
        "a cluster's workers)",
        "choose such a name; the dashboard that `eksai open` finds is that of ml-cluster",
    ),
]
RayGroupName = Annotated[
    str,
    matches(
        rf"(?!headgroup$){_LABEL}",
        "a group's name has lower-case letters, digits and hyphens, begins with a letter, 50 characters at most; "
        "headgroup is KubeRay's name for the head",
        f"choose such a name, or one with sizes of its own: {', '.join(GROUPS)}",
    ),
]
RayVersion = Annotated[
    str, matches(r"\d+\.\d+\.\d+", "a version of Ray looks like 2.53.0", "take one that has images on Docker Hub")
]
_REPOSITORY = r"([a-z0-9.-]+(:\d+)?/)?[a-z0-9]+([._/-]+[a-z0-9]+)*"
Image = Annotated[
    str,
    matches(
        rf"{_REPOSITORY}:(?!latest(@|$))\w[\w.-]{{0,127}}(@sha256:[0-9a-f]{{64}})?",
        "an image has a tag, and not latest: it could be another one on each node",
        "write registry/repository:tag, with @sha256:... behind it where the tag may move",
    ),
]
Pools = Annotated[tuple[PoolName, ...], Field(min_length=1)]
Count = Annotated[int, Field(ge=0)]


class Amounts(Section):
    """CPU and memory of a pod."""

    cpu: Amount | None = None
    """vCPUs; left out: as the group's name says."""
    memory: Amount | None = None
    """Memory; left out: as the group's name says."""


class RayHead(Section):
    """The head of a cluster: it schedules, and shows the dashboard; tasks run on workers only."""

    pools: Pools
    """Pools that it may run on; never on spot nodes of them, for all work ends with the head."""
    requests: Amounts = Amounts()
    """What it asks for; left out: 4 vCPUs and 16Gi."""
    limits: Amounts = Amounts()
    """What it may use at most; left out: 8 vCPUs and 32Gi."""


class RayGroup(Section):
    """Workers of one kind. cpu-workers, gpu-a10g-workers, gpu-a100-workers and neuron-workers have sizes of their own;
    under any other name a group has 0 to 4 workers as large as cpu-workers."""

    pools: Pools
    """Pools that they may run on; which of them gets one is up to the pools' weights."""
    min: Count | None = None
    """Fewest workers."""
    replicas: Count | None = None
    """Workers to begin with; from then on the autoscaler decides."""
    max: Annotated[int, Field(ge=1)] | None = None
    """Most workers. A pool's limits may allow fewer; then the others wait."""
    requests: Amounts = Amounts()
    """What a worker asks for."""
    limits: Amounts = Amounts()
    """What a worker may use at most; Ray takes it to have that much."""
    gpus: Count | None = None
    """NVIDIA GPUs of a worker."""
    neuron_cores: Count | None = None
    """Neuron cores of a worker: two for each device of trn1 and inf2, eight of trn2."""
    image: Image | None = None
    """Image of its own, with the cluster's versions of Ray and Python; left out: the cluster's, with CUDA where workers
    have GPUs. Neuron needs one."""


class RayCluster(Section):
    """A Ray cluster that grows and shrinks with its work."""

    version: RayVersion = "2.53.0"
    """Ray's version, 2.52.0 or later; every image and every client has the same."""
    python: Literal["3.10", "3.11", "3.12", "3.13"] = "3.12"
    """Python's version in Ray's own images; clients have the same."""
    image: Image | None = None
    """Image of head and workers; left out: rayproject/ray."""
    architecture: Literal["amd64", "arm64"] = "amd64"
    """CPU architecture of the images, and so of the nodes."""
    idle_timeout_seconds: Annotated[int, Field(ge=10)] = 300
    """How long a worker has nothing to do before it goes, seconds."""
    head: RayHead
    """The head."""
    groups: dict[RayGroupName, RayGroup] = {}
    """Groups of workers, by name."""

    @model_validator(mode="after")
    def _images_have_the_version(self) -> "RayCluster":
        if tuple(map(int, self.version.split(".")[:2])) < _OLDEST:
            raise refuse(
                "Ray asks whoever comes for a token since 2.52.0, and before that runs what anybody sends it",
                "take 2.52.0 or later",
            )
        for image in (self.image, *(group.image for group in self.groups.values())):
            tag = image.partition("@")[0].rpartition(":")[2] if image else self.version
            if not re.fullmatch(rf"{re.escape(self.version)}([_.-].*)?", tag):
                raise refuse(
                    f"all nodes of a cluster run the same Ray, {self.version} here; the tag of {image} says another",
                    f"begin the tag with {self.version}, or change version",
                )
        return self


def _key(cluster: str, *path: str) -> str:
    return ".".join([f"{NAMESPACE}:rayClusters", cluster, *path])


def ray_has_its_operator(ray_clusters: dict[str, RayCluster], platform: dict[str, PlatformChart]) -> Iterator[Problem]:
    """Somebody makes the pods of a Ray cluster."""
    if ray_clusters:
        yield from missing_chart(OPERATOR, platform, f"nothing makes the pods of {', '.join(ray_clusters)}")


def ray_sizes_agree(ray_clusters: dict[str, RayCluster]) -> Iterator[Problem]:
    """What a stack says of a group and what its name says go together."""
    for name, cluster in ray_clusters.items():
        declared = _plain(cluster)
        for rule, fix in _wrong_size(head_size(declared["head"])):
            yield Problem(_key(name, "head"), "", rule, fix)
        for group, settings in declared["groups"].items():
            size = group_size(group, settings)
            for rule, fix in (*_wrong_size(size.pod), *_wrong_numbers(size), *_wrong_devices(size, settings, cluster)):
                yield Problem(_key(name, "groups", group), "", rule, fix)


def _wrong_size(size: PodSize) -> Iterator[tuple[str, str]]:
    for what, request, limit in (("cpu", size.cpu, size.cpu_limit), ("memory", size.memory, size.memory_limit)):
        if quantity(request) > quantity(limit):
            yield (
                f"a pod may use what it asks for: requests.{what} is {request} and limits.{what} {limit}",
                f"set limits.{what} to {request} or more",
            )


def _wrong_numbers(size: GroupSize) -> Iterator[tuple[str, str]]:
    if not size.min <= size.replicas <= size.max:
        yield (
            f"min <= replicas <= max, here {size.min}, {size.replicas}, {size.max}",
            "change the one that is out of line; what is left out is as the group's name says",
        )


def _wrong_devices(size: GroupSize, group: RayGroupSettings, cluster: RayCluster) -> Iterator[tuple[str, str]]:
    if size.gpus and size.neuron_cores:
        yield "a node has GPUs or Neuron devices", "set gpus or neuronCores to 0"
    elif size.neuron_cores and not (group["image"] or cluster.image):
        yield (
            "Ray's own images lack the Neuron SDK, and AWS's Neuron images lack Ray",
            f"set image to one of yours with both (<repository>:{cluster.version}-neuron); docs/ray.md shows how",
        )


def ray_pods_have_nodes(ray_clusters: dict[str, RayCluster], node_pools: dict[str, NodePool]) -> Iterator[Problem]:
    """Each pod of a Ray cluster can run on some node that one of its pools makes."""
    around = Surroundings(pools={pool.name: pool for pool in described(node_pools)})
    for name, cluster in ray_clusters.items():
        declared = _plain(cluster)
        missing = list(_missing_pools(name, cluster, node_pools))
        yield from missing
        if missing:
            continue
        refused = without_room(_head_pod(name, declared, around), cluster.head.pools, node_pools)
        if refused is not None:
            fix = "name a pool with larger or other nodes, not of spot alone, or change what the head asks for"
            yield Problem(_key(name, "head.pools"), ", ".join(cluster.head.pools), refused, fix)
        for group, settings in cluster.groups.items():
            pod = worker_group(name, group, declared, around)["template"]
            refused = without_room(pod, settings.pools, node_pools)
            if refused is not None:
                fix = f"name a pool whose nodes have it, or change what {group} asks for"
                yield Problem(_key(name, "groups", group, "pools"), ", ".join(settings.pools), refused, fix)


def _missing_pools(name: str, cluster: RayCluster, node_pools: Mapping[str, NodePool]) -> Iterator[Problem]:
    named = {"head": cluster.head.pools} | {f"groups.{group}": s.pools for group, s in cluster.groups.items()}
    for where, pools in named.items():
        yield from missing_pools(_key(name, where, "pools"), pools, node_pools)


def _head_pod(name: str, cluster: RayClusterSettings, around: Surroundings) -> dict[str, Any]:
    """A head with the autoscaler that KubeRay puts beside it."""
    template = head_template(name, cluster, around)
    template["spec"]["containers"].append({"name": "autoscaler", "resources": AUTOSCALER_RESOURCES})
    return template


def _plain(cluster: RayCluster) -> RayClusterSettings:
    return cast(RayClusterSettings, cast(Any, cluster.model_dump()))


RULES = (ray_has_its_operator, ray_sizes_agree, ray_pods_have_nodes)
"""Rules between Ray clusters and other sections; each names the sections that it needs as its parameters."""
