"""The rules between volumes of pods that store data and what mounts them: nodes in their zones, and their driver."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from components import langfuse as of_langfuse
from components import milvus as of_milvus
from components.compute.addon_facts import is_installed as has_addon
from components.langfuse import LangfuseSettings
from components.milvus import MilvusSettings
from components.platform.langfuse import pod_specs as langfuse_pods
from components.platform.milvus import pod_specs as milvus_pods
from components.volume_claims import VolumeClaim
from schema.base import Network
from schema.compute import Addon
from schema.langfuse import CHART as LANGFUSE
from schema.langfuse import Langfuse
from schema.milvus import CHART as MILVUS
from schema.milvus import Milvus
from schema.node_pools import NodePool
from schema.platform import PlatformChart, is_installed, misshapen
from schema.pod_room import without_room
from schema.pool_charts import described
from schema.problems import NAMESPACE, Problem

_DRIVER = "aws-ebs-csi-driver"


@dataclass(frozen=True)
class _Store:
    """What stores data in pods."""

    section: str
    """Its section of the stack file."""
    pools: Sequence[str]
    """Names of the pools that its pods run on; none: any node without taints."""
    claims: Sequence[VolumeClaim]
    """The claims of these pods."""
    specs: Mapping[str, Any]
    """What decides where each kind of pod runs."""


def volumes_have_nodes_in_their_zones(
    network: Network,
    node_pools: dict[str, NodePool],
    platform: dict[str, PlatformChart],
    milvus: Milvus,
    langfuse: Langfuse,
) -> Iterator[Problem]:
    """Where a volume lies, one of the pools that its pod is meant for makes nodes that have room for it."""
    for store in _stores(platform, milvus, langfuse, node_pools):
        pools = {name: node_pools[name] for name in store.pools if name in node_pools and not node_pools[name].retire}
        # A pool that is not there is another rule's, and it may be the one that would have them.
        if len(pools) < len(set(store.pools)) or not pools:
            continue
        serving = {name: _zones(pool, network.availability_zones) for name, pool in pools.items()}
        lacking: dict[str, dict[str, None]] = {}
        for claim in store.claims:
            zone = claim.zone(network.availability_zones)
            here = [name for name, zones in serving.items() if zone in zones]
            # One that has room nowhere is another rule's, too.
            if not here or (_refused(store, claim, here, node_pools) and not _refused(store, claim, pools, node_pools)):
                lacking.setdefault(zone, {})[claim.name] = None
        if lacking:
            lying = "; ".join(f"{zone}: {', '.join(claims)}" for zone, claims in lacking.items())
            yield Problem(
                f"{NAMESPACE}:{store.section}.pools",
                ", ".join(store.pools),
                f"a volume's pod runs where it lies, and none of these pools has nodes for it there: {lying}",
                f"let one of them, with room for these pods, make nodes in {', '.join(lacking)}, or name another pool"
                + ("" if all(pool.size is None for pool in pools.values()) else _OF_GROUPS),
            )


def members_have_nodes_of_their_own(
    node_pools: dict[str, NodePool], platform: dict[str, PlatformChart], milvus: Milvus, langfuse: Langfuse
) -> Iterator[Problem]:
    """Managed groups have as many nodes as the largest set of pods of which no two share one."""
    for store in _stores(platform, milvus, langfuse, node_pools):
        sizes = [node_pools[name].size for name in store.pools if name in node_pools]
        nodes = sum(size.desired for size in sizes if size is not None)
        members = Counter(pod for pod, _ in {(claim.pod, claim.place) for claim in store.claims})
        pod, most = max(members.items(), key=lambda item: item[1])
        if sizes and None not in sizes and 0 < nodes < most:
            yield Problem(
                f"{NAMESPACE}:{store.section}.pools",
                ", ".join(store.pools),
                f"there are {most} pods of {pod}, no two on one node, and these groups run {nodes}",
                f"set size.desired to {most} in all, or name a pool of Karpenter's",
            )


_OF_GROUPS = "; a managed group has nodes in all of its zones once size.desired is as many"


def _zones(pool: NodePool, all_zones: Sequence[str]) -> Sequence[str]:
    """The zones in which a pool is sure to have nodes: EKS spreads those of a managed group, as many as it says."""
    zones = pool.zones or all_zones
    return zones if pool.size is None or pool.size.desired >= len(zones) else ()


def _refused(store: _Store, claim: VolumeClaim, pools: Iterable[str], node_pools: Mapping[str, NodePool]) -> str | None:
    try:
        return without_room({"spec": store.specs[claim.pod]}, pools, node_pools)
    except ValueError:
        # An amount that Kubernetes does not know, which is told elsewhere.
        return None


def volumes_have_their_driver(
    addons: dict[str, Addon], platform: dict[str, PlatformChart], milvus: Milvus, langfuse: Langfuse
) -> Iterator[Problem]:
    """A volume that is paid for can be mounted."""
    stores = [store.section for store in _stores(platform, milvus, langfuse, {}) if store.claims]
    if stores and not has_addon(_DRIVER, addons[_DRIVER].enabled if _DRIVER in addons else None):
        yield Problem(
            f"{NAMESPACE}:addons.{_DRIVER}.enabled",
            "false",
            f"{' and '.join(stores)} cannot mount their volumes without this add-on",
            f"remove the line, or {' and '.join(stores)} from {NAMESPACE}:platform",
        )


def _stores(
    platform: Mapping[str, PlatformChart], milvus: Milvus, langfuse: Langfuse, node_pools: Mapping[str, NodePool]
) -> Iterator[_Store]:
    """What of it is installed, as far as its own rules can judge it."""
    there = described(node_pools)
    names = {pool.name for pool in there}
    if is_installed(MILVUS, platform):
        settings = cast(MilvusSettings, cast(Any, milvus.model_dump()))
        wanted = {*milvus.pools, *(milvus.gpu.pools if milvus.gpu else ())}
        judged = wanted <= names and not misshapen(MILVUS, platform[MILVUS])
        specs = milvus_pods(settings, there, platform[MILVUS].values) if judged else {}
        yield _Store("milvus", milvus.pools if judged else (), of_milvus.claims(settings), specs)
    if is_installed(LANGFUSE, platform):
        settings = cast(LangfuseSettings, cast(Any, langfuse.model_dump()))
        judged = {*langfuse.pools} <= names and not misshapen(LANGFUSE, platform[LANGFUSE])
        specs = langfuse_pods(settings, there, platform[LANGFUSE].values) if judged else {}
        yield _Store("langfuse", langfuse.pools if judged else (), of_langfuse.claims(settings), specs)


RULES = (volumes_have_nodes_in_their_zones, members_have_nodes_of_their_own, volumes_have_their_driver)
"""Rules on volumes of pods; each names the sections that it needs as its parameters."""
