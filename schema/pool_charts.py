"""The rule between the node pools and the platform's charts: nodes with accelerators announce them."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from components.compute import images, instance_types
from components.compute.pool_declaration import NodePoolSettings, listed, taints_of
from components.platform.pool_charts import charts_needed
from components.pools import Pool
from schema.node_pools import NodePool
from schema.platform import PlatformChart, missing_chart
from schema.problems import Problem


def described(node_pools: Mapping[str, NodePool]) -> list[Pool]:
    """What the platform may know of the pools; those that retire have no nodes to serve.

    Args:
        node_pools: the pools by name.
    """
    return [_described(name, pool) for name, pool in node_pools.items() if not pool.retire]


def _described(name: str, pool: NodePool) -> Pool:
    declared = cast(NodePoolSettings, cast(Any, pool.model_dump()))
    return Pool(
        name=name,
        vendor=instance_types.vendor_of(pool.instance_types),
        image_family=images.parse(pool.ami).family,
        taints=[*taints_of(declared), *listed(declared["startup_taints"])],
        sharing=declared["sharing"],
        allocation=pool.allocation,
        efa=pool.efa,
        architectures=instance_types.architectures_of(pool.instance_types),
    )


def pools_have_their_charts(node_pools: dict[str, NodePool], platform: dict[str, PlatformChart]) -> Iterator[Problem]:
    """Whatever makes a pool's accelerators usable is installed."""
    for chart, pools in charts_needed(described(node_pools)).items():
        lost = f"the nodes of {', '.join(pools)} announce no devices, and no pod gets any"
        yield from missing_chart(chart, platform, lost)
