"""What a declaration is told whose GPUs cannot be shared or allocated as it says."""

import json
from itertools import product
from typing import Any

import pytest
from pydantic import ValidationError

from components.compute import instance_types
from components.compute.managed_pool import ManagedPool
from components.compute.node_pools import NodePool
from components.gpu_sharing import profiles_of
from settings import SettingsError, validate
from tests.compute.pools import CPU, EFA, GPU, MANAGED, karpenter, managed
from tests.schema.test_node_pool_rules import config
from tests.world import run

SLICED = {"strategy": "time-slicing", "replicas": 4}
SERVED = {"strategy": "mps", "replicas": 4}
PARTED = {"strategy": "mig", "profile": "1g.10gb"}
DRA = {"allocation": "dra"}
AL2023 = {"ami": "al2023@v20260714"}
H100 = AL2023 | {"instanceTypes": ["p5.48xlarge"], "limits": EFA["limits"]}

BAD = [
    # (declaration, what differs, key below the pool, what its rule says, what the way out says)
    (GPU, {"sharing": {"strategy": "fair"}}, ".sharing.strategy", "'time-slicing', 'mps' or 'mig'", "choose"),
    (GPU, {"sharing": {"strategy": "mps"}}, ".sharing", "mps has a number of shares", "set replicas"),
    (GPU, {"sharing": SLICED | {"replicas": 1}}, ".sharing", "two or more, here by 1", "nvidia.com/gpu"),
    (GPU, {"sharing": SLICED | {"replicas": 100}}, ".sharing", "at most 48 shares, here 100", "lower"),
    (GPU, {"sharing": SLICED | {"profile": "1g.10gb"}}, ".sharing", "a profile is one of mig's", "strategy: mig"),
    (H100, {"sharing": {"strategy": "mig"}}, ".sharing", "by a profile", "set profile"),
    (H100, {"sharing": PARTED | {"replicas": 2}}, ".sharing", "how many partitions", "remove replicas"),
    (CPU, {"sharing": SLICED}, "", "only NVIDIA GPUs are shared", "remove sharing"),
    (GPU, {"instanceTypes": ["inf2.xlarge"], "sharing": SLICED}, "", "only NVIDIA GPUs are shared", "remove sharing"),
    (MANAGED, {"instanceTypes": ["m7i.xlarge"]} | DRA, "", "allocation is of NVIDIA GPUs", "remove allocation"),
    (GPU, AL2023 | DRA, "", "Karpenter makes no node for a claim", "provisioner: managed"),
    (MANAGED, DRA, "", "runs the device plug-in itself", "al2023@latest"),
    (MANAGED, {"ami": "al2023@latest", "sharing": SLICED} | DRA, "", "the claim says how", "remove sharing"),
    (EFA, {"sharing": SLICED}, "", "takes whole GPUs", "without efa"),
    (GPU, AL2023 | {"sharing": PARTED}, "", "of g5.xlarge, a10g, cannot be partitioned", "time-slicing or mps"),
    (H100, {"ami": "bottlerocket@v1.66.0", "sharing": PARTED}, "", "only under the name of a whole GPU", "al2023"),
    (
        H100,
        {"sharing": PARTED | {"profile": "3g.20gb"}},
        *("", "h100 with 80 GB, has no profile 3g.20gb: its 3g is 3g.40gb", "1g.10gb, 1g.20gb, 2g.20gb, 3g.40gb"),
    ),
    (H100, {"sharing": PARTED | {"profile": "5g.50gb"}}, "", "is not divided into 5g", "choose among"),
    (
        H100,
        {"instanceTypes": ["p4de.24xlarge", "p4d.24xlarge"], "sharing": PARTED | {"profile": "3g.40gb"}},
        *("", "p4d.24xlarge, a100 with 40 GB, has no profile 3g.40gb: its 3g is 3g.20gb", "choose among 1g.5gb"),
    ),
    (
        H100,
        {"instanceTypes": ["p4de.24xlarge", "p4d.24xlarge"], "sharing": PARTED},
        *("", "1g.10gb makes 4 of the GPU of p4d.24xlarge", "split the pool"),
    ),
    (GPU, {"ami": "bottlerocket@v1.53.0", "sharing": SERVED}, "", "1.53.0 has no mps", "take 1.54.0"),
    (MANAGED, {"releaseVersion": "1.53.0-0a1b2c3d", "sharing": SERVED}, "", "1.53.0 has no mps", "take 1.54.0"),
    (GPU, {"labels": {"nvidia.com/mig.config": "all-1g.10gb"}}, "", "follows from the pool itself", "remove it"),
]


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


GPUS = {
    "t4": ["g4dn.xlarge", "g4dn.12xlarge"],
    "a10g": ["g5.xlarge", "g5.48xlarge"],
    "l4": ["g6.xlarge"],
    "l40s": ["g6e.xlarge"],
    "a100 of 40 GB": ["p4d.24xlarge"],
    "a100 of 80 GB": ["p4de.24xlarge"],
    "h100": ["p5.4xlarge", "p5.48xlarge"],
    "h200": ["p5e.48xlarge", "p5en.48xlarge"],
}
PROFILES = {"a100 of 40 GB": "1g.5gb", "a100 of 80 GB": "1g.10gb", "h100": "3g.40gb", "h200": "1g.18gb"}
FAMILIES = ("bottlerocket", "al2023")
STRATEGIES = (None, "time-slicing", "mps", "mig")
ALLOCATIONS = ("device-plugin", "dra")
PROVISIONERS = ("karpenter", "managed")
COMBINATIONS = list(product(GPUS, FAMILIES, STRATEGIES, ALLOCATIONS, PROVISIONERS))


def declaration(gpu: str, family: str, strategy: str | None, allocation: str, provisioner: str) -> dict[str, Any]:
    sharing = {"mig": {"profile": PROFILES.get(gpu, "1g.10gb")}}.get(str(strategy), {"replicas": 4})
    bounds: dict[str, Any] = {"limits": {"cpu": "1000", "memory": "8192Gi", "accelerators": 32}}
    return {
        "instanceTypes": GPUS[gpu],
        "ami": f"{family}@latest",
        "provisioner": provisioner,
        "allocation": allocation,
        **({"sharing": {"strategy": strategy, **sharing}} if strategy else {}),
        **({"size": {"max": 2}} if provisioner == "managed" else bounds),
    }


def refusal(gpu: str, family: str, strategy: str | None, allocation: str, provisioner: str) -> str | None:
    """What the declaration has to be refused for, by what GPU, image and provisioner can do; None for nothing."""
    if allocation == "dra":
        if strategy:
            return "with DRA the claim says how a GPU is shared"
        if provisioner == "karpenter":
            return "Karpenter makes no node for a claim"
        return "Bottlerocket runs the device plug-in itself" if family == "bottlerocket" else None
    if strategy != "mig":
        return None
    if family == "bottlerocket":
        return "only under the name of a whole GPU"
    return None if gpu in PROFILES else "cannot be partitioned"


@pytest.mark.parametrize(("gpu", "family", "strategy", "allocation", "provisioner"), COMBINATIONS, ids=str)
def test_a_combination_becomes_nodes_or_is_refused_by_name(
    gpu: str, family: str, strategy: str | None, allocation: str, provisioner: str
):
    given = declaration(gpu, family, strategy, allocation, provisioner)
    expected = refusal(gpu, family, strategy, allocation, provisioner)
    make = managed if provisioner == "managed" else karpenter
    if expected is not None:
        with pytest.raises(ValidationError, match=expected):
            make(given)
        return
    args: Any = make(given)
    built = run(lambda: ManagedPool("pool", args) if provisioner == "managed" else NodePool("pool", args))
    if provisioner == "managed":
        labels = built.only("aws:eks/nodeGroup:NodeGroup").inputs["labels"]
    else:
        labels = built.only("kubernetes:karpenter.sh/v1:NodePool").inputs["spec"]["template"]["metadata"]["labels"]
        assert bool(built.all("kubernetes:karpenter.sh/v1alpha1:NodeOverlay")) is (strategy is not None)
    assert labels["nvidia.com/gpu.present"] == "true"
    assert ("nvidia.com/device-plugin.config" in labels) is (strategy is not None)
    operators_plugin = labels.get("nvidia.com/gpu.deploy.operands") != "false"
    assert operators_plugin is (family == "al2023" and allocation == "device-plugin"), "exactly one hands GPUs out"


def test_every_gpu_of_the_table_is_combined():
    rows = instance_types.table().values()
    known = {(row.accelerator, row.accelerator_memory_mib) for row in rows if row.vendor == "nvidia"}
    combined = [instance_types.table()[name] for names in GPUS.values() for name in names]
    assert {(row.accelerator, row.accelerator_memory_mib) for row in combined} == known
    assert all(PROFILES[gpu] in profiles_of(*_gpu(GPUS[gpu][0])) for gpu in PROFILES)


def _gpu(instance_type: str) -> tuple[str, int]:
    row = instance_types.table()[instance_type]
    return row.accelerator, row.accelerator_memory_mib


def test_most_of_the_combinations_are_good_for_something():
    good = [combination for combination in COMBINATIONS if refusal(*combination) is None]
    for values in (GPUS, FAMILIES, STRATEGIES, ALLOCATIONS, PROVISIONERS):
        unused = [value for value in values if not any(value in combination for combination in good)]
        assert unused == [], "each value of each kind has a combination that works"
