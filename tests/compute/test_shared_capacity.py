"""What Karpenter is told of a pool whose GPUs are shared."""

from typing import Any

import pytest

from components.compute.node_class import node_class_spec
from components.compute.node_pools import NodePool, node_pool_spec
from components.compute.shared_capacity import overlay_specs
from tests.compute.crds import schema, violations
from tests.compute.pools import CPU, GPU, karpenter
from tests.world import run

NODE_POOL = "kubernetes:karpenter.sh/v1:NodePool"
OVERLAY = "kubernetes:karpenter.sh/v1alpha1:NodeOverlay"
SLICED = {"strategy": "time-slicing", "replicas": 4}
MIXED = {"instanceTypes": ["g5.xlarge", "g5.12xlarge", "g5.2xlarge", "g5.48xlarge"], "sharing": SLICED}
PARTED: dict[str, Any] = {
    "instanceTypes": ["p4d.24xlarge"],
    "ami": "al2023@v20260714",
    "limits": {"cpu": "192", "memory": "2304Gi", "accelerators": 16},
    "sharing": {"strategy": "mig", "profile": "3g.20gb"},
}


def capacities(declaration: dict[str, Any], **changes: Any) -> dict[str, dict[str, str]]:
    """What each instance type has of each resource, by the pool's overlays."""
    specs = overlay_specs("pool", karpenter(declaration, **changes)).values()
    return {name: spec["capacity"] for spec in specs for name in spec["requirements"][1]["values"]}


def limits(declaration: dict[str, Any], **changes: Any) -> dict[str, str]:
    return node_pool_spec("pool", karpenter(declaration, **changes))["limits"]


def test_a_pool_of_whole_gpus_needs_no_overlay():
    assert overlay_specs("pool", karpenter(GPU)) == {}
    assert overlay_specs("pool", karpenter(CPU)) == {}


def test_each_type_announces_the_shares_of_all_its_gpus_and_no_whole_one():
    whole = {"nvidia.com/gpu": "0"}
    assert capacities(GPU, **MIXED) == {
        "g5.xlarge": {"nvidia.com/gpu.shared": "4"} | whole,
        "g5.2xlarge": {"nvidia.com/gpu.shared": "4"} | whole,
        "g5.12xlarge": {"nvidia.com/gpu.shared": "16"} | whole,
        "g5.48xlarge": {"nvidia.com/gpu.shared": "32"} | whole,
    }
    assert capacities(PARTED) == {"p4d.24xlarge": {"nvidia.com/mig-3g.20gb": "16"} | whole}


def test_an_overlay_is_of_one_pool_and_no_two_are_of_the_same_type():
    specs = overlay_specs("pool", karpenter(GPU, **MIXED)).values()
    assert all(spec["requirements"][0]["values"] == ["pool"] for spec in specs)
    types = [name for spec in specs for name in spec["requirements"][1]["values"]]
    assert sorted(types) == sorted(set(types)), "Karpenter takes two of them for a conflict"


def test_limits_count_gpus_and_are_told_to_karpenter_in_shares_too():
    shared = limits(GPU, sharing=SLICED)
    assert (shared["nvidia.com/gpu"], shared["nvidia.com/gpu.shared"]) == ("10", "40")
    assert limits(PARTED)["nvidia.com/mig-3g.20gb"] == "32"
    assert limits(GPU) == {"cpu": "80", "memory": "320Gi", "nvidia.com/gpu": "10"}


def test_overlays_are_there_before_the_first_node_is_planned_and_outlive_the_last():
    built = run(lambda: NodePool("shared", karpenter(GPU, **MIXED)))
    overlays = built.all(OVERLAY)
    names = {made.inputs["metadata"]["name"] for made in overlays}
    assert names == {"shared-1-gpu", "shared-4-gpu", "shared-8-gpu"}
    assert {made.urn for made in overlays} <= set(built.only(NODE_POOL).dependencies)


def test_another_number_of_shares_changes_overlays_in_place():
    def names(replicas: int) -> set[str]:
        more = {"strategy": "time-slicing", "replicas": replicas}
        built = run(lambda: NodePool("shared", karpenter(GPU, **MIXED | {"sharing": more})))
        return {made.urn for made in built.all(OVERLAY)}

    assert names(4) == names(8), "beside its successor an overlay would be a conflict"


@pytest.mark.parametrize("declaration", [GPU | MIXED, PARTED], ids=["time-slicing", "mig"])
def test_overlays_pool_and_class_fit_their_definitions(declaration: dict[str, Any]):
    args = karpenter(declaration)
    for spec in overlay_specs("pool", args).values():
        assert violations(schema("NodeOverlay"), spec) == []
    assert violations(schema("NodePool"), node_pool_spec("pool", args)) == []
    assert violations(schema("EC2NodeClass"), node_class_spec("pool", args, "karpenter-nodes")) == []


@pytest.mark.parametrize(
    ("ami", "told"), [("bottlerocket@v1.66.0", True), ("al2023@v20260714", False)], ids=["bottlerocket", "al2023"]
)
def test_the_image_that_runs_the_plugin_is_told_how_to_share(ami: str, told: bool):
    args = karpenter(GPU, ami=ami, sharing=SLICED)
    spec = node_class_spec("pool", args, "karpenter-nodes")
    assert ("userData" in spec) is told
    labels = node_pool_spec("pool", args)["template"]["metadata"]["labels"]
    assert labels["nvidia.com/device-plugin.config"] == "time-slicing-4"
    assert (labels.get("nvidia.com/gpu.deploy.operands") == "false") is told, "two plug-ins would be one too many"
