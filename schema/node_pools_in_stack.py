"""The rules between the node pools and the rest of a stack."""

from collections.abc import Iterator

from components.compute import images
from schema.base import Network
from schema.compute import Cluster
from schema.node_pools import NodePool
from schema.problems import NAMESPACE, Problem

_MANAGED_NAME_LENGTH = 55
"""A role's name has 64 characters, a node group's 63; eight of them make it unique."""


def pools_fit_the_network(network: Network, node_pools: dict[str, NodePool]) -> Iterator[Problem]:
    """Pools stand in zones of the network."""
    for name, pool in node_pools.items():
        for index, zone in enumerate(pool.zones):
            if zone not in network.availability_zones:
                yield Problem(
                    f"{NAMESPACE}:nodePools.{name}.zones[{index}]",
                    zone,
                    f"nodes stand in zones of the network: {', '.join(network.availability_zones)}",
                    "name one of these, or add the zone at the end of eksai:network.availabilityZones",
                )


def images_fit_the_cluster(cluster: Cluster, node_pools: dict[str, NodePool]) -> Iterator[Problem]:
    """A pool's image exists for the cluster's version."""
    for name, pool in node_pools.items():
        image = images.parse(pool.ami)
        key = f"{NAMESPACE}:nodePools.{name}.ami"
        if image.version not in (None, cluster.version):
            yield Problem(
                key, pool.ami, f"nodes have the cluster's minor version, {cluster.version}", "change the path's version"
            )
            continue
        first = images.first_release(image, cluster.version)
        if first:
            prefix = "v" if image.parameter is None else ""
            yield Problem(
                key,
                pool.ami,
                f"this release has no image for Kubernetes {cluster.version}",
                f"take {prefix}{first} or a later one",
            )
        release = pool.release_version or ""
        if image.family == "al2023" and release and not release.startswith(f"{cluster.version}."):
            yield Problem(
                f"{NAMESPACE}:nodePools.{name}.releaseVersion",
                release,
                f"nodes have the cluster's minor version, {cluster.version}",
                "take a release of that version, or leave it out for the latest",
            )


def managed_names_fit_aws(node_pools: dict[str, NodePool]) -> Iterator[Problem]:
    """A managed pool's name leaves room for what makes AWS's names unique."""
    for name, pool in node_pools.items():
        if pool.provisioner == "managed" and len(name) > _MANAGED_NAME_LENGTH:
            yield Problem(
                f"{NAMESPACE}:nodePools.{name}",
                "",
                f"a managed pool's name has at most {_MANAGED_NAME_LENGTH} characters, this one {len(name)}",
                "choose a shorter name",
            )


RULES = (pools_fit_the_network, images_fit_the_cluster, managed_names_fit_aws)
"""Rules between the pools and other sections; each names the sections that it needs as its parameters."""
