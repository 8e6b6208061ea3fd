"""Whether a workload's pod can run on the pools that a stack file names for it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, cast

from components.compute import instance_types
from components.compute.node_pools import node_pool_spec
from components.compute.pool_declaration import NodePoolSettings, labels_of, taints_of
from components.compute.shared_capacity import overlay_specs
from policies.rules.judging.pod_placement import fits
from schema.node_pools import NodePool
from schema.problems import NAMESPACE, Problem

_EFFECTS = {"NoSchedule": "NO_SCHEDULE", "PreferNoSchedule": "PREFER_NO_SCHEDULE", "NoExecute": "NO_EXECUTE"}


def missing_pools(key: str, names: Sequence[str], node_pools: Mapping[str, NodePool]) -> Iterator[Problem]:
    """What is wrong with a list of pools some of which are not there, or not for long.

    Args:
        key: the key of the list in the stack file.
        names: the pools that it names.
        node_pools: the stack's pools.
    """
    there = [name for name, pool in node_pools.items() if not pool.retire]
    for index, name in enumerate(names):
        if name not in there:
            rule = "that pool retires" if name in node_pools else "no such pool"
            fix = f"name one of {', '.join(there)}" if there else f"declare one under {NAMESPACE}:nodePools"
            yield Problem(f"{key}[{index}]", name, rule, fix)


def without_room(pod: Mapping[str, Any], pools: Iterable[str], node_pools: Mapping[str, NodePool]) -> str | None:
    """Why none of some pools can run a pod, None if one can.

    Args:
        pod: a Pod, or a pod template.
        pools: names of the pools that it is meant for; all are declared.
        node_pools: the stack's pools.
    """
    meant = {name: cast(NodePoolSettings, cast(Any, node_pools[name].model_dump())) for name in pools}
    overlays = [{"spec": spec} for name, pool in meant.items() for spec in overlay_specs(name, pool).values()]
    types = {name: asdict(row) for name, row in instance_types.table().items()}
    place = fits(pod, {name: _registered(name, pool) for name, pool in meant.items()}, types, overlays)
    if place.fitting:
        return None
    return " ".join(f"{name}: {reason}" for name, reason in place.refused.items())


def _registered(name: str, pool: NodePoolSettings) -> dict[str, Any]:
    """A pool as the program registers it: a NodePool, or an EKS node group."""
    if pool["provisioner"] == "karpenter":
        return {"spec": node_pool_spec(name, pool)}
    return {
        "scalingConfig": pool["size"],
        "nodeGroupName": name,
        "instanceTypes": list(pool["instance_types"]),
        "capacityType": "SPOT" if "spot" in pool["capacity_types"] else "ON_DEMAND",
        "labels": labels_of(name, pool),
        "taints": [{**taint, "effect": _EFFECTS[taint["effect"]]} for taint in taints_of(pool)],
    }
