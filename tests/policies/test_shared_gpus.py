"""Pods that ask for a share of a GPU, or for a whole one, find the pools that have it and no others."""

from dataclasses import asdict
from typing import Any

import pytest

from components.compute.instance_types import table
from components.compute.managed_pool import ManagedPool
from components.compute.node_pools import node_pool_spec
from components.compute.shared_capacity import overlay_specs
from components.gpu_sharing import MIG_PROFILES
from policies.rules.judging.gpu_labels import announced
from policies.rules.judging.pod_placement import Placement, fits
from tests.compute.pools import GPU, karpenter, managed
from tests.world import run

TYPES = {name: asdict(row) for name, row in table().items()}
SLICED = {"strategy": "time-slicing", "replicas": 4}
PARTED = {"strategy": "mig", "profile": "3g.40gb"}
AL2023 = "al2023@v20260714"
TOLERATION = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
DECLARED: dict[str, dict[str, Any]] = {
    "whole": GPU,
    "sliced": GPU | {"instanceTypes": ["g5.xlarge", "g5.12xlarge"], "sharing": SLICED},
    "parted": {
        "instanceTypes": ["p5.4xlarge", "p5.48xlarge"],
        "ami": AL2023,
        "limits": {"cpu": "400", "memory": "8192Gi", "accelerators": 16},
        "sharing": PARTED,
    },
}
NODE_POOLS = {name: {"spec": node_pool_spec(name, karpenter(pool))} for name, pool in DECLARED.items()}
OVERLAYS = [{"spec": spec} for name, pool in DECLARED.items() for spec in overlay_specs(name, karpenter(pool)).values()]


def group(**changes: Any) -> dict[str, Any]:
    return run(lambda: ManagedPool("group", managed(**changes))).only("aws:eks/nodeGroup:NodeGroup").inputs


GROUPS = {
    "managed-whole": group(instanceTypes=["p5.48xlarge"]),
    "managed-sliced": group(sharing=SLICED),
    "managed-parted": group(instanceTypes=["p5.4xlarge"], ami="al2023@latest", sharing=PARTED),
    "managed-dra": group(ami="al2023@latest", allocation="dra"),
}


def placed(resource: str, amount: int = 1, *, tolerations: list[Any] | None = None) -> Placement:
    container = {"name": "main", "resources": {"limits": {resource: amount}}}
    tolerated = [TOLERATION] if tolerations is None else tolerations
    return fits({"spec": {"containers": [container], "tolerations": tolerated}}, NODE_POOLS | GROUPS, TYPES, OVERLAYS)


@pytest.mark.parametrize(
    ("resource", "fitting"),
    [
        ("nvidia.com/gpu", ("whole", "managed-whole")),
        ("nvidia.com/gpu.shared", ("sliced", "managed-sliced")),
        ("nvidia.com/mig-3g.40gb", ("parted", "managed-parted")),
        ("nvidia.com/mig-1g.10gb", ()),
    ],
)
def test_a_pod_fits_the_pools_that_announce_what_it_asks_for_and_only_those(resource: str, fitting: tuple[str, ...]):
    assert placed(resource).fitting == fitting


def test_the_reason_is_told_to_a_pod_that_asks_for_a_whole_gpu_where_they_are_shared():
    refused = placed("nvidia.com/gpu").refused
    assert refused["sliced"] == "The pod asks for 1 nvidia.com/gpu, of which its nodes announce none."
    assert refused["managed-dra"] == refused["sliced"]


def test_a_node_has_as_many_shares_as_all_its_gpus_have():
    assert "sliced" in placed("nvidia.com/gpu.shared", 16).fitting
    assert "16 nvidia.com/gpu.shared on g5.12xlarge" in placed("nvidia.com/gpu.shared", 17).refused["sliced"]


@pytest.mark.parametrize("resource", ["nvidia.com/gpu.shared", "nvidia.com/mig-3g.40gb"])
def test_a_pod_that_asks_for_a_share_has_to_tolerate_the_taint_of_the_whole_by_itself(resource: str):
    assert placed(resource, tolerations=[]).fitting == ()
    assert placed("nvidia.com/gpu", tolerations=[]).fitting == ("whole", "managed-whole"), "EKS adds this one"


def test_a_limit_in_gpus_holds_for_their_shares():
    declaration = DECLARED["sliced"] | {"limits": {"cpu": "400", "memory": "800Gi", "accelerators": 3}}
    pools = {"sliced": {"spec": node_pool_spec("sliced", karpenter(declaration))}}
    container = {"name": "main", "resources": {"limits": {"nvidia.com/gpu.shared": 8}}}
    pod = {"spec": {"containers": [container], "tolerations": [TOLERATION]}}
    assert fits(pod, pools, TYPES, OVERLAYS).refused == {
        "sliced": "Its limit of 12 nvidia.com/gpu.shared is below one g5.12xlarge, with 16 nvidia.com/gpu.shared."
    }


@pytest.mark.parametrize(("gpu", "memory_mib"), MIG_PROFILES)
def test_partitions_are_counted_as_the_makers_table_has_them(gpu: str, memory_mib: int):
    row = {"accelerators": 8, "accelerator": gpu, "accelerator_memory_mib": memory_mib}
    for profile, count in MIG_PROFILES[gpu, memory_mib].items():
        assert announced({"nvidia.com/mig.config": f"all-{profile}"}, row) == {
            "nvidia.com/gpu": 0,
            f"nvidia.com/mig-{profile}": 8 * count,
        }


@pytest.mark.parametrize(
    "labels",
    [
        {},
        {"nvidia.com/gpu.replicas": "1"},
        {"nvidia.com/gpu.replicas": "many"},
        {"nvidia.com/mig.config": "own-layout"},
    ],
)
def test_labels_that_share_nothing_change_nothing(labels: dict[str, str]):
    assert announced(labels, {"accelerators": 8, "accelerator_memory_mib": 81920}) == {}
