"""The GPU Operator's values: what of it runs follows from who runs the device plug-in on a stack's GPU nodes.

Sources, read 2026-11-30 at v26.7.0: the chart's values and templates, `assets/` (what the operator makes) and
`controllers/` (labels by which it chooses nodes).
"""

from collections.abc import Iterable
from typing import Any

import yaml

from components.accelerators import Vendor
from components.gpu_sharing import MIG, UNSHARED_CONFIG, config_name, plugin_config
from components.pools import Pool

CONFIG_MAP = "device-plugin-configs"
"""The ConfigMap with the device plug-in's configs; the chart makes it."""


def is_served(pool: Pool) -> bool:
    """Whether the operator runs the device plug-in on a pool's nodes.

    Bottlerocket runs the plug-in itself, and where DRA allocates GPUs there is none. Labels of such nodes keep the
    operator off them.

    Args:
        pool: the pool.
    """
    return pool.vendor is Vendor.NVIDIA and pool.image_family == "al2023" and pool.allocation == "device-plugin"


def operator_values(pools: Iterable[Pool]) -> dict[str, Any]:
    """The values that depend on a stack's pools.

    Args:
        pools: all pools of the stack.
    """
    ways = [pool.sharing for pool in pools if is_served(pool)]
    if not ways:
        return {"devicePlugin": {"enabled": False}, "migManager": {"enabled": False}}
    # The config without sharing is always there: it is the default of nodes whose label names no other.
    documents = {config_name(way): plugin_config(way) for way in (None, *ways)}
    return {
        "devicePlugin": {
            "enabled": True,
            "config": {
                # Without it the chart makes no ConfigMap, and the plug-in's pods wait for it.
                "create": True,
                "name": CONFIG_MAP,
                "default": UNSHARED_CONFIG,
                "data": {name: yaml.safe_dump(document, sort_keys=False) for name, document in documents.items()},
            },
        },
        "migManager": {"enabled": any(way is not None and way["strategy"] == MIG for way in ways)},
    }
