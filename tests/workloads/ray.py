"""Ray clusters as the tests declare them, and the pods that KubeRay makes of what was registered."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import asdict
from typing import Any

from components.compute import instance_types
from components.compute.node_pools import node_pool_spec
from components.pools import Pool
from components.workloads.ray_cluster import RayCluster, RayClusterArgs
from policies.rules.judging.pod_placement import Placement, fits
from schema import ray_clusters
from schema.node_pools import NodePool
from schema.pool_charts import described
from tests.platform.pools import stack
from tests.world import Built, run

TYPES = {name: asdict(row) for name, row in instance_types.table().items()}
RAY = "kubernetes:ray.io/v1:RayCluster"
NEURON_IMAGE = "444455556666.dkr.ecr.us-west-2.amazonaws.com/ray:2.53.0-py312-neuron"

PROD_POOLS: Mapping[str, NodePool] = {
    name: stack("prod").node_pools[name] for name in ("general", "gpu-a10g", "gpu-a100", "neuron-trn1")
}
DEV_POOLS: Mapping[str, NodePool] = {
    "general": NodePool.model_validate(
        {"instanceTypes": ["m7i.xlarge", "m7i.2xlarge"], "limits": {"cpu": "32", "memory": "128Gi"}}
    ),
    "gpu": NodePool.model_validate(
        {
            "instanceTypes": ["g5.xlarge", "g5.2xlarge"],
            "limits": {"cpu": "80", "memory": "320Gi", "accelerators": 10},
            "taints": {"team": {"value": "vision", "effect": "NoExecute"}},
        }
    ),
}

ALL_GROUPS: dict[str, Any] = {
    "head": {"pools": ["general"]},
    "groups": {
        "cpu-workers": {"pools": ["general"]},
        "gpu-a10g-workers": {"pools": ["gpu-a10g"]},
        "gpu-a100-workers": {"pools": ["gpu-a100"]},
        "neuron-workers": {"pools": ["neuron-trn1"], "image": NEURON_IMAGE},
    },
}
"""Every group that the platform has a size for."""
SMALL_POD: dict[str, Any] = {"requests": {"cpu": "1", "memory": "4Gi"}, "limits": {"cpu": "2", "memory": "8Gi"}}
SMALL: dict[str, Any] = {
    "head": {"pools": ["general"], **SMALL_POD},
    "groups": {
        "cpu-workers": {"pools": ["general"], "max": 3, **SMALL_POD},
        "gpu": {"pools": ["gpu"], "gpus": 1, **SMALL_POD},
    },
}
"""One for development."""


def args(declaration: dict[str, Any], pools: Mapping[str, NodePool] = PROD_POOLS, **changes: Any) -> RayClusterArgs:
    """Args of a cluster.

    Args:
        declaration: in a stack file's spelling.
        pools: the stack's pools.
        changes: what else differs.
    """
    around: dict[str, Any] = {
        "pools": by_name(pools),
        "image_registry": None,
        "data_claim": "ray-shared-data",
        "is_monitored": True,
        "prometheus_url": None,
        "grafana_url": None,
        "grafana_browser_url": None,
    }
    return RayClusterArgs(**ray_clusters.RayCluster.model_validate(declaration).model_dump(), **{**around, **changes})


def by_name(pools: Mapping[str, NodePool]) -> dict[str, Pool]:
    return {pool.name: pool for pool in described(pools)}


def cluster(
    declaration: dict[str, Any] = ALL_GROUPS, pools: Mapping[str, NodePool] = PROD_POOLS, **changes: Any
) -> Built[RayCluster]:
    """A cluster `ml-cluster`; arguments as for `args`."""
    given = args(declaration, pools, **changes)
    return run(lambda: RayCluster("ml-cluster", given))


def pods_of(spec: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The pods that KubeRay 1.7.0 makes of a RayCluster's spec, by head or group (controllers/ray/common/pod.go).

    Of what it adds, that which takes room on a node: the autoscaler, and the container that waits for the head.
    """
    head = deepcopy(spec["headGroupSpec"]["template"])
    if spec["enableInTreeAutoscaling"]:
        head["spec"]["containers"].append({"name": "autoscaler", **spec["autoscalerOptions"]})
    pods = {"head": head}
    for group in spec["workerGroupSpecs"]:
        pod = deepcopy(group["template"])
        waits = {"cpu": "200m", "memory": "256Mi"}
        main = pod["spec"]["containers"][0]
        init = {"name": "wait-gcs-ready", "resources": {"requests": waits, "limits": waits}}
        pod["spec"].setdefault("initContainers", []).append({**init, "securityContext": main["securityContext"]})
        pods[group["groupName"]] = pod
    return pods


def placed(pod: Mapping[str, Any], pools: Mapping[str, NodePool]) -> Placement:
    """Which pools run a pod."""
    registered = {name: {"spec": node_pool_spec(name, pool.model_dump())} for name, pool in pools.items()}
    return fits(pod, registered, TYPES)
