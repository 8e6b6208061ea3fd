"""What a pool declaration becomes under Karpenter: the NodePool, and the component around it."""

from typing import Any

import pytest

from components.compute.node_pools import NodePool, delete_timeout, node_pool_spec
from tests.compute.crds import schema, violations
from tests.compute.pools import CPU, EFA, GPU, RESERVATION, karpenter
from tests.world import run

NODE_POOL = "kubernetes:karpenter.sh/v1:NodePool"
NODE_CLASS = "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass"
PLACEMENT = "aws:ec2/placementGroup:PlacementGroup"


def pool(declaration: dict[str, Any] = GPU, **changes: Any) -> dict[str, Any]:
    return node_pool_spec("pool", karpenter(declaration, **changes))


def requirements(spec: dict[str, Any]) -> dict[str, list[str]]:
    return {r["key"]: r["values"] for r in spec["template"]["spec"]["requirements"]}


@pytest.mark.parametrize(
    ("instance_type", "resource"),
    [("g5.xlarge", "nvidia.com/gpu"), ("p5.4xlarge", "nvidia.com/gpu"), ("trn1.2xlarge", "aws.amazon.com/neuron")],
)
def test_an_accelerator_pool_is_tainted_and_limited_by_its_resource(instance_type: str, resource: str):
    spec = pool(instanceTypes=[instance_type])
    assert spec["template"]["spec"]["taints"] == [{"key": resource, "value": "true", "effect": "NoSchedule"}]
    assert spec["limits"][resource] == "10"


def test_nvidia_nodes_carry_the_label_that_daemonsets_select_on_from_the_start():
    labels = pool(ami="al2023@v20260714")["template"]["metadata"]["labels"]
    assert labels == {"eksai.dev/pool": "pool", "nvidia.com/gpu.present": "true", "role": "gpu-worker"}


def test_efa_nodes_carry_the_label_that_pods_and_the_device_plugin_select_on():
    assert pool(EFA)["template"]["metadata"]["labels"]["vpc.amazonaws.com/efa.present"] == "true"


def test_a_cpu_pool_has_its_own_taints_and_no_accelerators():
    spec = pool(CPU)
    assert spec["template"]["spec"]["taints"] == [{"key": "role", "value": "cpu-intensive", "effect": "NoSchedule"}]
    assert spec["limits"] == {"cpu": "200", "memory": "800Gi"}


def test_own_taints_come_beside_the_accelerators():
    keys = [t["key"] for t in pool(taints=CPU["taints"])["template"]["spec"]["taints"]]
    assert keys == ["nvidia.com/gpu", "role"]


def test_startup_taints_stand_apart_since_pods_need_not_tolerate_them():
    node = pool(startupTaints={"example.com/warming": {"effect": "NoExecute"}})["template"]["spec"]
    assert node["startupTaints"] == [{"key": "example.com/warming", "effect": "NoExecute"}]
    assert [t["key"] for t in node["taints"]] == ["nvidia.com/gpu"]


def test_instances_are_chosen_by_type_and_capacity_and_anywhere_in_the_network():
    assert requirements(pool()) == {
        "node.kubernetes.io/instance-type": ["g5.xlarge", "g5.2xlarge"],
        "karpenter.sh/capacity-type": ["on-demand"],
    }


def test_a_pool_of_one_zone_makes_nodes_there_only():
    assert requirements(pool(EFA))["topology.kubernetes.io/zone"] == ["us-west-2b"]


def test_reserved_capacity_is_named_beside_its_fallback():
    spec = pool(capacityTypes=["reserved", "on-demand"], capacityReservations={"ids": [RESERVATION]})
    assert requirements(spec)["karpenter.sh/capacity-type"] == ["reserved", "on-demand"]


def test_the_life_of_a_node_has_an_end_and_so_has_its_draining():
    spec = pool()["template"]["spec"]
    assert (spec["expireAfter"], spec["terminationGracePeriod"]) == ("720h", "1h")
    assert pool()["disruption"] == {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "30m"}


def test_budgets_bound_what_goes_at_a_time():
    budgets = [{"nodes": "0", "reasons": ["Drifted"]}, {"nodes": "1", "schedule": "0 8 * * mon-fri", "duration": "9h"}]
    assert pool(disruptionBudgets=budgets)["disruption"]["budgets"] == budgets


@pytest.mark.parametrize("policy", ["WhenEmpty", "WhenEmptyOrUnderutilized", "Balanced"])
def test_consolidation_is_karpenters_choice_of_three(policy: str):
    assert pool(consolidation=policy)["disruption"]["consolidationPolicy"] == policy


def test_a_weight_is_set_only_where_one_is_given():
    assert "weight" not in pool()
    assert pool(weight=50)["weight"] == 50


def test_a_pool_with_everything_fits_the_definition():
    spec = pool(
        EFA,
        taints=CPU["taints"],
        startupTaints={"example.com/warming": {}},
        disruptionBudgets=[{"nodes": "10%", "schedule": "@daily", "duration": "1h30m", "reasons": ["Empty"]}],
        consolidation="Balanced",
        consolidateAfter="Never",
        expireAfter="Never",
        terminationGracePeriod="48h",
        weight=100,
    )
    assert violations(schema("NodePool"), spec) == []


def test_class_and_pool_bear_the_pools_name_and_up_waits_for_both():
    built = run(lambda: NodePool("gpu-a10g", karpenter(GPU)))
    for kind in (NODE_CLASS, NODE_POOL):
        made = built.only(kind)
        assert made.inputs["metadata"]["name"] == "gpu-a10g"
        assert made.inputs["metadata"]["annotations"] == {"pulumi.com/waitFor": "condition=Ready"}


def test_the_pool_goes_before_its_class():
    built = run(lambda: NodePool("gpu-a10g", karpenter(GPU)))
    made = built.only(NODE_POOL)
    assert built.only(NODE_CLASS).urn in made.dependencies
    assert made.inputs["spec"]["template"]["spec"]["nodeClassRef"]["name"] == "gpu-a10g"


def test_efa_nodes_stand_close_together():
    built = run(lambda: NodePool("efa", karpenter(EFA)))
    group = built.only(PLACEMENT)
    assert group.inputs["strategy"] == "cluster"
    assert group.urn in built.only(NODE_CLASS).dependencies, "the class goes before the group that it names"


@pytest.mark.parametrize(
    "declaration",
    [GPU, EFA | {"capacityTypes": ["reserved", "on-demand"], "capacityReservations": {"ids": [RESERVATION]}}],
    ids=["no EFA", "reserved capacity has its place already"],
)
def test_other_nodes_stand_where_there_is_room(declaration: dict[str, Any]):
    built = run(lambda: NodePool("pool", karpenter(declaration)))
    assert built.all(PLACEMENT) == []
    assert "placementGroupSelector" not in built.only(NODE_CLASS).inputs["spec"]


@pytest.mark.parametrize(("grace", "timeout"), [("1h", "75m"), ("30s", "16m"), ("1h30m", "105m"), ("48h", "2895m")])
def test_the_engine_waits_longer_than_draining_may_take(grace: str, timeout: str):
    assert delete_timeout(grace).delete == timeout
