"""Karpenter pools: one declaration becomes a node class, a node pool, and overlays where GPUs are shared."""

import math
import re
from collections.abc import Sequence
from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes

from components.compute.node_class import node_class_spec
from components.compute.placement import cluster_placement
from components.compute.pool_declaration import (
    DisruptionBudget,
    NodePoolSettings,
    PoolArgs,
    accelerator_of,
    labels_of,
    listed,
    taints_of,
)
from components.compute.shared_capacity import overlay_specs, shared_limits

NODE_CLASS = "karpenter.k8s.aws/v1"
NODE_POOL = "karpenter.sh/v1"
NODE_OVERLAY = "karpenter.sh/v1alpha1"
READY = {"pulumi.com/waitFor": "condition=Ready"}
"""Makes `up` wait until Karpenter has accepted the object, and fail with its reason when it does not."""
MINUTES_BEYOND_DRAINING = 15
"""What ending a pool may take beside draining its nodes: instances end, finalizers are served."""


class NodePoolArgs(PoolArgs):
    """What a Karpenter pool needs."""

    instance_profile: pulumi.Input[str]
    """Instance profile of the nodes."""


class NodePool(pulumi.ComponentResource):
    """An EC2NodeClass and a NodePool, both named like the component.

    With them a placement group for nodes with EFA, and a NodeOverlay for each number of shared GPUs on a node.
    """

    def __init__(self, name: str, args: NodePoolArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("eksai:index:NodePool", name, {}, opts)
        metadata = {"name": name, "annotations": READY}
        timeouts = delete_timeout(args["termination_grace_period"])
        placement = cluster_placement(name, args, pulumi.ResourceOptions(parent=self))
        node_class = kubernetes.apiextensions.CustomResource(
            f"{name}-class",
            api_version=NODE_CLASS,
            kind="EC2NodeClass",
            metadata=metadata,
            spec=node_class_spec(name, args, args["instance_profile"], placement),
            opts=pulumi.ResourceOptions(parent=self, custom_timeouts=timeouts),
        )
        overlays = [
            kubernetes.apiextensions.CustomResource(
                f"{name}-{gpus}-gpu-overlay",
                api_version=NODE_OVERLAY,
                kind="NodeOverlay",
                metadata={"name": f"{name}-{gpus}-gpu", "annotations": READY},
                spec=spec,
                opts=pulumi.ResourceOptions(parent=self),
            )
            for gpus, spec in overlay_specs(name, args).items()
        ]
        kubernetes.apiextensions.CustomResource(
            name,
            api_version=NODE_POOL,
            kind="NodePool",
            metadata=metadata,
            spec=node_pool_spec(name, args),
            opts=pulumi.ResourceOptions(parent=self, custom_timeouts=timeouts, depends_on=[node_class, *overlays]),
        )
        self.register_outputs({})


def delete_timeout(grace_period: str) -> pulumi.CustomTimeouts:
    """How long the engine waits for a pool to be gone: as long as one stubborn pod may hold up a node, and some more.

    Args:
        grace_period: the pool's termination grace period, such as `1h30m`.
    """
    in_minutes = {"h": 60.0, "m": 1.0, "s": 1 / 60}
    parts = re.findall(r"(\d+)([hms])", grace_period)
    draining = math.ceil(sum(int(number) * in_minutes[unit] for number, unit in parts))
    return pulumi.CustomTimeouts(delete=f"{draining + MINUTES_BEYOND_DRAINING}m")


def node_pool_spec(name: str, pool: NodePoolSettings) -> dict[str, Any]:
    """Which nodes the pool makes, when and how many: the NodePool's spec.

    Args:
        name: the pool's name, which its node class bears too.
        pool: the pool.
    """
    node: dict[str, Any] = {
        "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": name},
        "requirements": _requirements(pool),
        "taints": taints_of(pool),
        "expireAfter": pool["expire_after"],
        "terminationGracePeriod": pool["termination_grace_period"],
    }
    if pool["startup_taints"]:
        node["startupTaints"] = listed(pool["startup_taints"])
    disruption: dict[str, Any] = {
        "consolidationPolicy": pool["consolidation"],
        "consolidateAfter": pool["consolidate_after"],
    }
    if pool["disruption_budgets"]:
        disruption["budgets"] = [_budget(budget) for budget in pool["disruption_budgets"]]
    spec: dict[str, Any] = {
        "template": {"metadata": {"labels": labels_of(name, pool)}, "spec": node},
        "limits": _limits(pool),
        "disruption": disruption,
    }
    if pool["weight"] is not None:
        spec["weight"] = pool["weight"]
    return spec


def _requirements(pool: NodePoolSettings) -> list[dict[str, Any]]:
    requirements = [
        _one_of("node.kubernetes.io/instance-type", pool["instance_types"]),
        _one_of("karpenter.sh/capacity-type", pool["capacity_types"]),
    ]
    if pool["zones"]:
        requirements.append(_one_of("topology.kubernetes.io/zone", pool["zones"]))
    return requirements


def _one_of(key: str, values: Sequence[str]) -> dict[str, Any]:
    return {"key": key, "operator": "In", "values": list(values)}


def _limits(pool: NodePoolSettings) -> dict[str, str]:
    limits, accelerator = pool["limits"], accelerator_of(pool)
    assert limits is not None, "a Karpenter pool has limits; the settings see to that"
    most = {"cpu": limits["cpu"], "memory": limits["memory"]}
    if accelerator:
        most[accelerator.resource] = str(limits["accelerators"])
    return most | shared_limits(pool)


def _budget(budget: DisruptionBudget) -> dict[str, Any]:
    given: dict[str, Any] = {"nodes": budget["nodes"]}
    if budget["schedule"] is not None:
        given |= {"schedule": budget["schedule"], "duration": budget["duration"]}
    if budget["reasons"]:
        given["reasons"] = list(budget["reasons"])
    return given
