"""What a declaration of a pool is told when it is wrong."""

import json
from typing import Any

import pytest

from settings import SettingsError, validate
from tests.compute.pools import CPU, EFA, GPU, MANAGED, RESERVATION

BASE: dict[str, Any] = {
    "eksai:aws": {"region": "us-west-2", "accountId": "111122223333"},
    "eksai:network": {"availabilityZones": ["us-west-2a", "us-west-2b"]},
    "eksai:cluster": {
        "version": "1.35",
        "admins": ["arn:aws:iam::111122223333:role/PlatformAdmin"],
        "publicAccessCidrs": ["203.0.113.0/24"],
    },
    # Whatever a pool may need to announce its devices.
    "eksai:platform": {"gpu-operator": {}, "neuron-helm-chart": {}, "aws-efa-k8s-device-plugin": {}},
}
RESERVED = {"capacityTypes": ["reserved", "on-demand"]}
BLOCK = {"capacityTypes": ["reserved"], "capacityReservations": {"kind": "capacity-block", "ids": [RESERVATION]}}
ONE_ZONE = {"zones": ["us-west-2b"]}
NVIDIA = "/aws/service/bottlerocket/aws-k8s-1.35-nvidia/x86_64/1.66.0/image_id"

BAD = [
    # (declaration, what differs, key below the pool, what its rule says, what the way out says)
    (GPU, {"instanceTypes": ["g5.xlarge", "g5.xlarge"]}, "", "instanceTypes lists an entry twice", "keep one"),
    (GPU, {"zones": ["us-west-2a", "us-west-2a"]}, "", "zones lists an entry twice", "keep one"),
    (GPU, {"provisioner": "auto"}, ".provisioner", "'karpenter'", "choose"),
    (GPU, {"limits": None}, "", "a Karpenter pool has limits", "limits:"),
    (GPU, {"size": {"max": 2}}, "", "only a managed group has size", "provisioner: managed"),
    (GPU, {"releaseVersion": "1.66.0-0a1b2c3d"}, "", "only a managed group has releaseVersion", "provisioner: managed"),
    (GPU, RESERVED, "", "reservations that are named", "capacityReservations"),
    (GPU, {"capacityReservations": {"ids": [RESERVATION]}}, "", "used by capacityTypes that have reserved", "add"),
    (
        GPU,
        {"capacityTypes": ["reserved"], "capacityReservations": {"ids": [RESERVATION]}},
        *("", "pods would wait for ever", "[reserved, on-demand]"),
    ),
    (GPU, BLOCK, "", "not for g5.xlarge, g5.2xlarge", "kind: on-demand"),
    (GPU, RESERVED | {"capacityReservations": {}}, ".capacityReservations", "by ids or by tags", "one of the two"),
    (
        GPU,
        RESERVED | {"capacityReservations": {"ids": ["or-1"]}},
        *(".capacityReservations.ids[0]", "looks like cr-", "describe-capacity-reservations"),
    ),
    (
        GPU,
        RESERVED | {"capacityReservations": {"tags": {"fleet": ""}}},
        *(".capacityReservations", "a key and a value", "fill in both"),
    ),
    (GPU, {"efa": True} | ONE_ZONE, "", "no EFA in g5.xlarge", "g5.8xlarge"),
    (CPU, {"efa": True} | ONE_ZONE, "", "no EFA in m7g.xlarge", "p4d.24xlarge"),
    (EFA, {"zones": None}, "", "stays in one zone", "set zones"),
    (EFA, {"zones": ["us-west-2a", "us-west-2b"]}, "", "stays in one zone", "a pool of its own"),
    (GPU, {"zones": ["us-west-2c"]}, ".zones[0]", "us-west-2a, us-west-2b", "availabilityZones"),
    (GPU, {"ami": "ami-0123456789"}, ".ami", "public SSM parameter", "pin"),
    (CPU, {"ami": NVIDIA}, "", "is for amd64, the instance types are arm64", "an alias"),
    (CPU, {"ami": NVIDIA, "instanceTypes": ["m7i.xlarge"]}, "", "these instance types need standard", "an alias"),
    (GPU, {"ami": NVIDIA.replace("-nvidia", "")}, "", "these instance types need nvidia", "an alias"),
    (GPU, {"ami": NVIDIA.replace("1.35", "1.34")}, ".ami", "minor version, 1.35", "path's version"),
    (GPU, {"ami": "bottlerocket@v1.52.0"}, ".ami", "no image for Kubernetes 1.35", "v1.53.0 or a later"),
    (GPU, {"ami": NVIDIA.replace("1.66.0", "1.52.0")}, ".ami", "no image for Kubernetes 1.35", "take 1.53.0"),
    (CPU, {"instanceStorePolicy": "RAID0"}, "", "none in m7g.xlarge", "leave instanceStorePolicy out"),
    (GPU, {"diskThroughputMib": 1000}, "", "1000 MiB/s need 4000", "raise diskIops"),
    (GPU, {"diskGib": 20, "diskIops": 16000}, "", "500 operations", "raise diskGib"),
    (GPU, {"diskIops": 100}, ".diskIops", "at least 3000", "gp3"),
    (GPU, {"taints": {"nvidia.com/gpu": {}}}, "", "nvidia.com/gpu is always there", "remove it"),
    (GPU, {"labels": {"nvidia.com/gpu.present": "true"}}, "", "follows from the pool itself", "remove it"),
    (CPU, {"startupTaints": {"role": {}}}, "", "under taints and startupTaints", "one of them"),
    (GPU, {"labels": {"karpenter.sh/nodepool": "x"}}, ".labels.karpenter.sh/nodepool", "set the labels of", "own"),
    (GPU, {"labels": {"node-role.kubernetes.io/gpu": ""}}, ".labels.node-role.kubernetes.io/gpu", "refuse them", "own"),
    (GPU, {"labels": {"a b": "x"}}, ".labels.a b", "a key is a name", "role"),
    (GPU, {"labels": {"role": "gpu worker"}}, ".labels.role", "at most 63", "shorten"),
    (GPU, {"labels": {"role": True}}, ".labels.role", "a text", "quote it"),
    (GPU, {"disruptionBudgets": [{"nodes": "1/2"}]}, ".disruptionBudgets[0].nodes", "10%", "quote it"),
    (GPU, {"disruptionBudgets": [{"nodes": "1", "schedule": "@daily"}]}, ".disruptionBudgets[0]", "together", "both"),
    (
        GPU,
        {"disruptionBudgets": [{"nodes": "1", "schedule": "8 am", "duration": "1h"}]},
        *(".disruptionBudgets[0].schedule", "five fields", "mon-fri"),
    ),
    (
        GPU,
        {"disruptionBudgets": [{"nodes": "1", "schedule": "@daily", "duration": "90s"}]},
        *(".disruptionBudgets[0].duration", "hours and minutes", "h and m"),
    ),
    (GPU, {"consolidation": "Always"}, ".consolidation", "'Balanced'", "choose"),
    (MANAGED, {"size": None}, "", "a managed group has a size", "size:"),
    (MANAGED, {"size": {"min": 2, "desired": 1, "max": 4}}, ".size", "min <= desired <= max", "out of line"),
    (MANAGED, {"size": {"max": 0}}, ".size.max", "at least 1", "Most nodes"),
    (MANAGED, {"limits": GPU["limits"], "weight": 1}, "", "only Karpenter reads limits, weight", "leave them out"),
    (MANAGED, {"expireAfter": "1h"}, "", "only Karpenter reads expireAfter", "leave them out"),
    (MANAGED, {"startupTaints": {"a": {}}}, "", "only Karpenter reads startupTaints", "leave them out"),
    (MANAGED, {"instanceTypes": ["m7g.xlarge", "m7i.xlarge"]}, "", "one CPU architecture", "all arm64"),
    (MANAGED, {"capacityTypes": ["spot", "on-demand"]}, "", "in one way", "keep one"),
    (MANAGED, {"ami": "al2023@v20260714"}, "", "family and releaseVersion", "al2023@latest"),
    (MANAGED, {"releaseVersion": "1.35.6-20260714"}, "", "not one of bottlerocket", "1.66.0"),
    (MANAGED, {"releaseVersion": "latest"}, ".releaseVersion", "1.35.6-20260714", "leave it out"),
    (
        MANAGED,
        {"ami": "al2023@latest", "releaseVersion": "1.34.9-20260714"},
        *(".releaseVersion", "minor version, 1.35", "leave it out"),
    ),
    (
        MANAGED,
        ONE_ZONE | {"efa": True, "instanceTypes": ["p4d.24xlarge", "p5.48xlarge"]},
        *("", "same number of them", "split"),
    ),
    (MANAGED, BLOCK | {"instanceTypes": ["p5.48xlarge"]}, "", "lies in one zone", "set zones"),
    (
        MANAGED,
        ONE_ZONE | BLOCK | {"instanceTypes": ["p5.48xlarge", "p5.4xlarge"]},
        *("", "for one instance type", "type only"),
    ),
    (
        MANAGED,
        ONE_ZONE | {"capacityTypes": ["reserved"], "capacityReservations": {"tags": {"fleet": "training"}}},
        *("", "one reservation by id", "exactly one"),
    ),
]


def config(name: str, pool: dict[str, Any]) -> dict[str, str]:
    given = {key: value for key, value in pool.items() if value is not None}
    return {key: json.dumps(value) for key, value in (BASE | {"eksai:nodePools": {name: given}}).items()}


@pytest.mark.parametrize(("pool", "changes", "key", "rule", "fix"), BAD, ids=[f"{json.dumps(b[1])}" for b in BAD])
def test_a_mistake_is_told_by_key_rule_and_way_out(
    pool: dict[str, Any], changes: dict[str, Any], key: str, rule: str, fix: str
):
    with pytest.raises(SettingsError) as caught:
        validate(config("gpu", pool | changes), stack="dev", local=True)
    told = [problem for problem in caught.value.problems if problem.key == f"eksai:nodePools.gpu{key}"]
    assert len(told) == 1, f"exactly one problem at {key}, not:\n{caught.value}"
    assert rule in told[0].rule
    assert fix in told[0].fix


@pytest.mark.parametrize(
    "pool",
    [
        GPU,
        CPU,
        EFA,
        MANAGED,
        GPU | {"retire": True},
        GPU | {"labels": {"example.com/team": "ml.eu_1", "empty": ""}},
        GPU
        | {"disruptionBudgets": [{"nodes": "100%"}, {"nodes": "0", "schedule": "0 8 * * 1-5", "duration": "8h30m"}]},
        GPU | RESERVED | {"capacityReservations": {"tags": {"fleet": "inference"}}},
        EFA | BLOCK,
        MANAGED | BLOCK | ONE_ZONE | {"instanceTypes": ["p5.48xlarge"], "efa": True},
        GPU | {"ami": NVIDIA},
    ],
    ids=lambda pool: json.dumps(pool),
)
def test_a_good_declaration_is_told_nothing(pool: dict[str, Any]):
    assert "gpu" in validate(config("gpu", pool), stack="dev", local=True).node_pools


def test_a_managed_pools_name_leaves_room_for_what_makes_it_unique():
    with pytest.raises(SettingsError, match="at most 55 characters, this one 56"):
        validate(config("g" * 56, MANAGED), stack="dev", local=True)
    assert validate(config("g" * 55, MANAGED), stack="dev", local=True)
    assert validate(config("g" * 63, GPU), stack="dev", local=True), "Karpenter's objects bear the name alone"
