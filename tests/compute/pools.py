"""Pools as the tests declare them: through the settings, as a stack file would."""

from typing import Any

from components.compute.managed_pool import ManagedPoolArgs
from components.compute.node_pools import NodePoolArgs
from schema.node_pools import NodePool

KEY = "arn:aws:kms:us-west-2:111122223333:key/11111111-2222-3333-4444-555555555555"
RESERVATION = "cr-0a1b2c3d4e5f6a7b8"
SURROUNDINGS: dict[str, Any] = {
    "cluster_name": "eksai-dev",
    "subnet_ids": {"us-west-2a": "subnet-a", "us-west-2b": "subnet-b"},
    "security_group_id": "sg-cluster",
    "efa_security_group_id": "sg-efa",
    "key_arn": KEY,
    "tags": {"team": "ml"},
}
GPU: dict[str, Any] = {
    "instanceTypes": ["g5.xlarge", "g5.2xlarge"],
    "ami": "bottlerocket@v1.66.0",
    "limits": {"cpu": "80", "memory": "320Gi", "accelerators": 10},
    "labels": {"role": "gpu-worker"},
}
CPU: dict[str, Any] = {
    "instanceTypes": ["m7g.xlarge"],
    "ami": "bottlerocket@v1.66.0",
    "limits": {"cpu": "200", "memory": "800Gi"},
    "taints": {"role": {"value": "cpu-intensive"}},
}
EFA: dict[str, Any] = {
    "instanceTypes": ["p5.48xlarge"],
    "zones": ["us-west-2b"],
    "efa": True,
    "ami": "al2023@v20260714",
    "limits": {"cpu": "768", "memory": "8192Gi", "accelerators": 32},
}
MANAGED: dict[str, Any] = {"provisioner": "managed", "instanceTypes": ["g5.xlarge"], "size": {"max": 2}}


def declared(pool: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A declaration as the settings hand it on.

    Args:
        pool: the declaration, in a stack file's spelling.
        changes: keys that differ; None takes one away.
    """
    given = {key: value for key, value in {**pool, **changes}.items() if value is not None}
    return NodePool.model_validate(given).model_dump()


def karpenter(pool: dict[str, Any], **changes: Any) -> NodePoolArgs:
    """Args of a Karpenter pool; arguments as for `declared`."""
    return NodePoolArgs(**declared(pool, **changes), **SURROUNDINGS, instance_profile="karpenter-nodes")


def managed(pool: dict[str, Any] = MANAGED, **changes: Any) -> ManagedPoolArgs:
    """Args of a managed pool; arguments as for `declared`."""
    return ManagedPoolArgs(**declared(pool, **changes), **SURROUNDINGS, cluster_version="1.35", region="us-west-2")
