"""What a declaration of a Ray cluster is told when it is wrong."""

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from schema.node_pools import NodePool
from schema.platform import PlatformChart
from schema.problems import Problem, explain_all
from schema.ray_clusters import RULES, RayCluster, RayClusterName, ray_has_its_operator
from tests.platform.pools import stack
from tests.workloads.ray import ALL_GROUPS, NEURON_IMAGE, SMALL_POD

POOLS: dict[str, NodePool] = {
    **stack("prod").node_pools,
    "leaving": stack("prod").node_pools["general"].model_copy(update={"retire": True}),
    "spot": stack("prod").node_pools["general"].model_copy(update={"capacity_types": ("spot",)}),
    "spot-group": NodePool.model_validate(
        {"provisioner": "managed", "instanceTypes": ["m7i.4xlarge"], "capacityTypes": ["spot"], "size": {"max": 2}}
    ),
    "group": NodePool.model_validate(
        {"provisioner": "managed", "instanceTypes": ["g5.8xlarge"], "ami": "al2023@latest", "size": {"max": 2}}
    ),
    "claims": NodePool.model_validate(
        {
            "provisioner": "managed",
            "instanceTypes": ["g5.8xlarge"],
            "ami": "al2023@latest",
            "size": {"max": 2},
            "allocation": "dra",
        }
    ),
}
WITH_OPERATOR = {"kuberay-operator": PlatformChart()}
CLUSTERS = TypeAdapter(dict[RayClusterName, RayCluster])


def told(declaration: dict[str, Any], name: str = "ml-cluster", platform: Any = WITH_OPERATOR) -> list[Problem]:
    """The mistakes in a stack with one Ray cluster."""
    annotation: Any = dict[RayClusterName, RayCluster]
    try:
        clusters = CLUSTERS.validate_python({name: declaration})
    except ValidationError as error:
        return explain_all("eksai:rayClusters", annotation, error.errors())
    given: dict[str, Any] = {"ray_clusters": clusters, "node_pools": POOLS, "platform": platform}
    wanted = [(rule, rule.__code__.co_varnames[: rule.__code__.co_argcount]) for rule in RULES]
    return [problem for rule, names in wanted for problem in rule(**{one: given[one] for one in names})]


def with_group(name: str = "cpu-workers", **group: Any) -> dict[str, Any]:
    return {"head": {"pools": ["general"]}, "groups": {name: {"pools": ["general"], **group}}}


def with_head(**head: Any) -> dict[str, Any]:
    return {"head": {"pools": ["general"], **head}}


GOOD = {
    "every known group": ALL_GROUPS,
    "a head alone": with_head(),
    "several pools of which one is large enough": with_head(pools=["spot", "general"]),
    "workers on spot": with_group(pools=["spot"]),
    "a managed group with GPUs": with_group("gpu-a10g-workers", pools=["group"]),
    "an image of one's own with the version": {**with_head(), "image": "registry.example.com/team/ray:2.53.0-py312-2"},
    "an image by tag and digest": {**with_head(), "image": f"team/ray:2.53.0@sha256:{'0' * 64}"},
    "another version": {**with_head(), "version": "2.58.0"},
    "neuron on all of inf2": with_group("inf2", pools=["neuron-inf2"], neuronCores=24, image=NEURON_IMAGE, **SMALL_POD),
}


@pytest.mark.parametrize("declaration", GOOD.values(), ids=GOOD)
def test_what_can_run_is_accepted(declaration: dict[str, Any]):
    assert told(declaration) == []


AT = "eksai:rayClusters.ml-cluster"
BAD: list[tuple[dict[str, Any], str, str, str]] = [
    # (declaration, key, what its rule says, what the way out says)
    (with_head(pools=[]), f"{AT}.head.pools", "at least 1", ""),
    (with_head(pools=["missing"]), f"{AT}.head.pools[0]", "no such pool", "name one of"),
    (with_head(pools=["leaving"]), f"{AT}.head.pools[0]", "retires", "general"),
    (with_group(pools=["general", "missing"]), f"{AT}.groups.cpu-workers.pools[1]", "no such pool", "name one of"),
    (with_head(pools=["spot"]), f"{AT}.head.pools", "spot: None of its nodes has karpenter.sh/capacity-type", "spot"),
    (with_head(pools=["spot-group"]), f"{AT}.head.pools", "eks.amazonaws.com/capacityType NotIn [SPOT]", "spot"),
    (
        with_head(requests={"cpu": "16"}, limits={"cpu": "16"}),
        *(f"{AT}.head.pools", "general: The pod asks for 16.5 cpu", "change what the head asks for"),
    ),
    (with_head(requests={"memory": "64Gi"}), f"{AT}.head", "limits.memory 32Gi", "set limits.memory to 64Gi"),
    (with_group(limits={"cpu": "2"}), f"{AT}.groups.cpu-workers", "limits.cpu 2", "set limits.cpu to 4"),
    (with_group(min=3, max=2), f"{AT}.groups.cpu-workers", "here 3, 2, 2", "out of line"),
    (with_group(replicas=11), f"{AT}.groups.cpu-workers", "here 1, 11, 10", "out of line"),
    (
        with_group("gpu-a10g-workers", pools=["cpu-inference-m7gxlarge"]),
        *(f"{AT}.groups.gpu-a10g-workers.pools", "kubernetes.io/arch In [amd64]", "name a pool"),
    ),
    (
        with_group("gpu-a10g-workers"),
        *(f"{AT}.groups.gpu-a10g-workers.pools", "1 nvidia.com/gpu, of which its nodes announce none", "name a pool"),
    ),
    (
        with_group("gpu-a100-workers", pools=["gpu-spot"]),
        *(f"{AT}.groups.gpu-a100-workers.pools", "gpu-spot: The pod asks for", "what gpu-a100-workers asks for"),
    ),
    (
        with_group("gpu-a10g-workers", pools=["gpu-a10g-shared"], **SMALL_POD),
        *(f"{AT}.groups.gpu-a10g-workers.pools", "of which its nodes announce none", "name a pool"),
    ),
    (
        with_group("gpu-a10g-workers", pools=["claims"]),
        *(f"{AT}.groups.gpu-a10g-workers.pools", "of which its nodes announce none", "name a pool"),
    ),
    (
        with_group("neuron-workers", pools=["neuron-trn1"]),
        *(f"{AT}.groups.neuron-workers", "lack the Neuron SDK", "docs/ray.md"),
    ),
    (
        with_group("neuron-workers", pools=["neuron-trn1"], image=NEURON_IMAGE, neuronCores=64),
        *(f"{AT}.groups.neuron-workers.pools", "64 aws.amazon.com/neuroncore", "what neuron-workers asks for"),
    ),
    (with_group("both", gpus=1, neuronCores=2), f"{AT}.groups.both", "GPUs or Neuron devices", "to 0"),
    ({**with_head(), "version": "2.9.0"}, AT, "since 2.52.0", "2.52.0 or later"),
    ({**with_head(), "version": "2.53"}, f"{AT}.version", "looks like 2.53.0", "Docker Hub"),
    ({**with_head(), "image": "team/ray:latest"}, f"{AT}.image", "not latest", "repository:tag"),
    ({**with_head(), "image": "team/ray"}, f"{AT}.image", "has a tag", "repository:tag"),
    ({**with_head(), "image": "team/ray:2.5"}, AT, "run the same Ray, 2.53.0 here", "begin the tag with 2.53.0"),
    (with_group(image="team/ray:2.53.01"), AT, "the tag of team/ray:2.53.01", "begin the tag with 2.53.0"),
    ({**with_head(), "idleTimeoutSeconds": 1}, f"{AT}.idleTimeoutSeconds", "10", ""),
    (with_group("GPU"), f"{AT}.groups.GPU", "lower-case", "gpu-a100-workers"),
]


@pytest.mark.parametrize(("declaration", "key", "rule", "fix"), BAD, ids=[f"{b[1]}: {b[2]}" for b in BAD])
def test_what_cannot_run_is_refused_with_workload_pool_and_way_out(
    declaration: dict[str, Any], key: str, rule: str, fix: str
):
    problems = told(declaration)
    (problem,) = [problem for problem in problems if rule in problem.rule] or problems
    assert problem.key == key
    assert rule in problem.rule
    assert fix in problem.fix


def test_a_group_is_not_called_as_kuberay_calls_the_head():
    (problem,) = told(with_group("headgroup"))
    assert "headgroup is KubeRay's name" in problem.rule


@pytest.mark.parametrize("amounts", [{"cpu": "0", "memory": "4Gi"}, {"cpu": "2", "memory": "0Gi"}])
def test_a_worker_asks_for_something(amounts: dict[str, str]):
    (problem,) = told(with_group(requests=amounts))
    assert problem.rule == "nothing runs with none of it"


@pytest.mark.parametrize("name", ["Ml", "1st", "ml-", "ml-workers", "a" * 51])
def test_a_name_that_kuberay_would_refuse_or_cut_is_refused(name: str):
    (problem,) = told(with_head(), name=name)
    assert "name" in problem.rule


def test_all_mistakes_of_all_groups_are_told_at_once():
    both = with_group("gpu-a10g-workers")
    both["groups"]["gpu-a100-workers"] = {"pools": ["gpu-spot"]}
    assert len(told(both)) == 2


@pytest.mark.parametrize(
    ("platform", "fix"),
    [({}, "kuberay-operator: {}"), ({"kuberay-operator": PlatformChart(enabled=False)}, "remove enabled: false")],
)
def test_a_cluster_without_its_operator_is_refused(platform: Any, fix: str):
    (problem,) = told(with_head(), platform=platform)
    assert "ml-cluster" in problem.rule
    assert fix in problem.fix


def test_a_stack_without_clusters_needs_no_operator():
    assert list(ray_has_its_operator({}, {})) == []
