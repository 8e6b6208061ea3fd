"""The rules between volumes of pods that store data and what mounts them: nodes in their zones, and their driver."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from components import langfuse as of_langfuse
from components import milvus as of_milvus
from components.compute.addon_facts import is_installed as has_addon
from components.langfuse import LangfuseSettings
from components.milvus import MilvusSettings
from components.volume_claims import VolumeClaim
from schema.base import Network
from schema.compute import Addon
from schema.langfuse import CHART as LANGFUSE
from schema.langfuse import Langfuse
from schema.milvus import CHART as MILVUS
from schema.milvus import Milvus
from schema.node_pools import NodePool
from schema.platform import PlatformChart, is_installed
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


def volumes_have_nodes_in_their_zones(
    network: Network,
    node_pools: dict[str, NodePool],
    platform: dict[str, PlatformChart],
    milvus: Milvus,
    langfuse: Langfuse,
) -> Iterator[Problem]:
    """Where a volume lies, one of the pools that its pod is meant for makes nodes."""
    zones = network.availability_zones
    for store in _stores(platform, milvus, langfuse):
        pools = [node_pools[name] for name in store.pools if name in node_pools and not node_pools[name].retire]
        # A pool that is not there is another rule's, and it may be the one that would have them.
        if len(pools) < len(store.pools) or not pools:
            continue
        # Of a managed group run as many nodes as it says, and that may be none.
        running = [pool for pool in pools if pool.size is None or pool.size.desired > 0]
        served = {zone for pool in running for zone in pool.zones or zones}
        bare: dict[str, list[str]] = {}
        for claim in store.claims:
            zone = claim.zone(zones)
            if zone not in served:
                bare.setdefault(zone, []).append(claim.name)
        if bare:
            lying = "; ".join(f"{zone}: {', '.join(claims)}" for zone, claims in bare.items())
            yield Problem(
                f"{NAMESPACE}:{store.section}.pools",
                ", ".join(store.pools),
                f"a volume lies in one zone and its pod runs there; none of these pools makes nodes there: {lying}",
                f"add {', '.join(bare)} to zones of one of them, or name a pool that has nodes there"
                + ("" if len(running) == len(pools) else "; of a managed one, size.desired run"),
            )


def volumes_have_their_driver(
    addons: dict[str, Addon], platform: dict[str, PlatformChart], milvus: Milvus, langfuse: Langfuse
) -> Iterator[Problem]:
    """A volume that is paid for can be mounted."""
    stores = [store.section for store in _stores(platform, milvus, langfuse) if store.claims]
    if stores and not has_addon(_DRIVER, addons[_DRIVER].enabled if _DRIVER in addons else None):
        yield Problem(
            f"{NAMESPACE}:addons.{_DRIVER}.enabled",
            "false",
            f"{' and '.join(stores)} cannot mount their volumes without this add-on",
            f"remove the line, or {' and '.join(stores)} from {NAMESPACE}:platform",
        )


def _stores(platform: Mapping[str, PlatformChart], milvus: Milvus, langfuse: Langfuse) -> Iterator[_Store]:
    """What of it is installed."""
    if is_installed(MILVUS, platform):
        settings = cast(MilvusSettings, cast(Any, milvus.model_dump()))
        yield _Store("milvus", milvus.pools, of_milvus.claims(settings))
    if is_installed(LANGFUSE, platform):
        settings = cast(LangfuseSettings, cast(Any, langfuse.model_dump()))
        yield _Store("langfuse", langfuse.pools, of_langfuse.claims(settings))


RULES = (volumes_have_nodes_in_their_zones, volumes_have_their_driver)
"""Rules on volumes of pods; each names the sections that it needs as its parameters."""
