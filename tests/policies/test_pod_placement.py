"""Which pools a pod can run on, and why not on the others."""

from dataclasses import asdict
from typing import Any

import pytest

from components.compute.instance_types import table
from components.compute.node_pools import node_pool_spec
from policies.rules.judging.label_selection import narrowed
from policies.rules.judging.pod_placement import fits
from policies.rules.judging.quantities import quantity
from tests.compute.pools import CPU, EFA, GPU, karpenter

TYPES = {name: asdict(row) for name, row in table().items()}


def node_pool(declaration: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {"spec": node_pool_spec("pool", karpenter(declaration, **changes))}


NEURON = GPU | {"instanceTypes": ["inf2.xlarge", "inf2.24xlarge"], "labels": {}}
POOLS: dict[str, dict[str, Any]] = {
    "gpu": node_pool(GPU, labels={"role": "gpu-worker", "fleet": "inference"}),
    "spot": node_pool(GPU, instanceTypes=["g4dn.xlarge"], capacityTypes=["spot"], labels={"fleet": "inference"}),
    "efa": node_pool(EFA, labels={"fleet": "training"}),
    "h100": node_pool(EFA, efa=False, zones=None, capacityTypes=["spot", "on-demand"]),
    "neuron": node_pool(NEURON, limits={"cpu": "96", "memory": "384Gi", "accelerators": 6}),
    "arm": node_pool(CPU),
    "general": node_pool(CPU, instanceTypes=["m7i.xlarge", "m7i.4xlarge"], taints=None, zones=["us-west-2a"]),
    "managed": {
        "scalingConfig": {"minSize": 0, "desiredSize": 1, "maxSize": 2},
        "instanceTypes": ["g5.12xlarge"],
        "capacityType": "ON_DEMAND",
        "labels": {"nvidia.com/gpu.present": "true"},
        "taints": [{"key": "nvidia.com/gpu", "value": "true", "effect": "NO_SCHEDULE"}],
    },
}
ROLE = {"key": "role", "operator": "Equal", "value": "cpu-intensive"}
EFA_NODES = {"vpc.amazonaws.com/efa.present": "true"}


def pod(requests: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "main", "resources": {"requests": requests or {"cpu": "1"}}}], **spec}}


def selecting(*expressions: tuple[str, str, list[str]], alternatives: bool = False) -> dict[str, Any]:
    """A pod spec's affinity to nodes: all expressions together, or one of them."""
    listed = [{"key": key, "operator": operator, "values": values} for key, operator, values in expressions]
    terms = [{"matchExpressions": [one]} for one in listed] if alternatives else [{"matchExpressions": listed}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return {"affinity": {"nodeAffinity": required}}


FITTING = [
    ("a pod without wishes", pod(), ["general"]),
    ("a tolerated taint", pod(tolerations=[ROLE]), ["arm", "general"]),
    ("a taint tolerated by its key", pod(tolerations=[{"key": "role", "operator": "Exists"}]), ["arm", "general"]),
    ("a toleration of another value", pod(tolerations=[ROLE | {"value": "x"}]), ["general"]),
    ("a toleration of another effect", pod(tolerations=[ROLE | {"effect": "NoExecute"}]), ["general"]),
    (
        "a toleration of everything",
        pod(tolerations=[{"operator": "Exists"}]),
        ["gpu", "spot", "efa", "h100", "neuron", "arm", "general", "managed"],
    ),
    (
        "a device, whose taint admission makes it tolerate",
        pod({"nvidia.com/gpu": 1}),
        ["gpu", "spot", "efa", "h100", "managed"],
    ),
    (
        "a device by limit only",
        {"spec": {"containers": [{"resources": {"limits": {"nvidia.com/gpu": "1"}}}]}},
        ["gpu", "spot", "efa", "h100", "managed"],
    ),
    ("four devices on one node", pod({"nvidia.com/gpu": 4}), ["efa", "h100", "managed"]),
    ("Neuron devices", pod({"aws.amazon.com/neuron": 6}), ["neuron"]),
    (
        "Neuron cores, which do not bring a tolerance of the taint with them",
        pod({"aws.amazon.com/neuroncore": 12}, tolerations=[{"key": "aws.amazon.com/neuron", "operator": "Exists"}]),
        ["neuron"],
    ),
    ("EFA where the EFA group is", pod({"nvidia.com/gpu": 8, "vpc.amazonaws.com/efa": 32}), ["efa"]),
    ("a CPU architecture", pod(tolerations=[ROLE], nodeSelector={"kubernetes.io/arch": "arm64"}), ["arm"]),
    ("a label", pod({"nvidia.com/gpu": 1}, nodeSelector={"fleet": "inference"}), ["gpu", "spot"]),
    (
        "a GPU by name",
        pod({"nvidia.com/gpu": 1}, nodeSelector={"karpenter.k8s.aws/instance-gpu-name": "t4"}),
        ["spot"],
    ),
    (
        "capacity that is not spot",
        pod({"nvidia.com/gpu": 1}, **selecting(("karpenter.sh/capacity-type", "NotIn", ["spot"]))),
        ["gpu", "efa", "h100", "managed"],
    ),
    (
        "one of two fleets",
        pod(
            {"nvidia.com/gpu": 1},
            **selecting(("fleet", "In", ["training"]), ("role", "Exists", []), alternatives=True),
        ),
        ["gpu", "efa"],
    ),
    (
        "a fleet and a role",
        pod({"nvidia.com/gpu": 1}, **selecting(("fleet", "In", ["inference"]), ("role", "DoesNotExist", []))),
        ["spot"],
    ),
    (
        "enough GPU memory",
        pod({"nvidia.com/gpu": 1}, **selecting(("karpenter.k8s.aws/instance-gpu-memory", "Gt", ["40000"]))),
        ["efa", "h100"],
    ),
    (
        "a zone of the pool's",
        pod(nodeSelector={"topology.kubernetes.io/zone": "us-west-2a"}),
        ["general"],
    ),
    ("a pool by name", pod({"nvidia.com/gpu": 1}, nodeSelector={"karpenter.sh/nodepool": "h100"}), ["h100"]),
    ("all of a large node but what it keeps", pod({"cpu": "15"}), ["general"]),
    (
        "a start that asks for more than the work",
        pod({"cpu": "1"}, initContainers=[{"resources": {"requests": {"cpu": "15"}}}]),
        ["general"],
    ),
]

REFUSED = [
    ("arm", pod(), "does not tolerate the taint role=cpu-intensive:NoSchedule"),
    ("gpu", pod(), "does not tolerate the taint nvidia.com/gpu=true:NoSchedule"),
    ("neuron", pod({"aws.amazon.com/neuroncore": 1}), "does not tolerate the taint aws.amazon.com/neuron"),
    ("managed", pod(), "does not tolerate the taint nvidia.com/gpu=true:NoSchedule"),
    ("general", pod(nodeSelector={"kubernetes.io/arch": "arm64"}), "has kubernetes.io/arch In [arm64]"),
    ("general", pod(nodeSelector={"role": "cpu-worker"}), "has role In [cpu-worker]"),
    (
        "general",
        pod(nodeSelector={"topology.kubernetes.io/zone": "us-west-2b"}),
        "has topology.kubernetes.io/zone In [us-west-2b]",
    ),
    (
        "gpu",
        pod({"nvidia.com/gpu": 1}, nodeSelector={"nvidia.com/gpu.product": "NVIDIA-A10G"}),
        "has nvidia.com/gpu.product In [NVIDIA-A10G]",
    ),
    (
        "h100",
        pod(
            {"nvidia.com/gpu": 1},
            **selecting(
                ("karpenter.sh/capacity-type", "In", ["spot"]), ("karpenter.sh/capacity-type", "NotIn", ["spot"])
            ),
        ),
        "No one kind of its nodes has all the labels",
    ),
    ("general", pod({"nvidia.com/gpu": 1}), "asks for 1 nvidia.com/gpu, of which its nodes announce none"),
    (
        "gpu",
        pod({"nvidia.com/gpu": 2}),
        "asks for 2 nvidia.com/gpu, and the most that a node has for pods is 1 nvidia.com/gpu on g5.xlarge",
    ),
    ("general", pod({"cpu": 16}), "asks for 16 cpu, and the most that a node has for pods is 15.89 cpu on m7i.4xlarge"),
    ("general", pod({"memory": "64Gi"}), "asks for 64 GiB memory, and the most that a node has for pods is 57.67 GiB"),
    (
        "general",
        pod({"cpu": 1}, initContainers=[{"restartPolicy": "Always", "resources": {"requests": {"cpu": "15"}}}]),
        "asks for 16 cpu",
    ),
    ("h100", pod({"vpc.amazonaws.com/efa": 32, "nvidia.com/gpu": 8}), "outside the EFA group"),
    ("efa", pod({"vpc.amazonaws.com/efa": 33, "nvidia.com/gpu": 8}), "most that a node has for pods is 32"),
    (
        "efa",
        pod({"hugepages-2Mi": "5Gi", "nvidia.com/gpu": 8}),
        "5 GiB hugepages-2Mi, of which its nodes announce none",
    ),
]


@pytest.mark.parametrize(("asked", "pools"), [c[1:] for c in FITTING], ids=[c[0] for c in FITTING])
def test_a_pod_fits_where_all_it_asks_for_is(asked: dict[str, Any], pools: list[str]):
    placement = fits(asked, POOLS, TYPES)
    assert list(placement.fitting) == pools, placement.refused


@pytest.mark.parametrize(("pool", "asked", "reason"), REFUSED, ids=[f"{c[0]}: {c[2]}" for c in REFUSED])
def test_a_pool_that_does_not_fit_says_why(pool: str, asked: dict[str, Any], reason: str):
    placement = fits(asked, {pool: POOLS[pool]}, TYPES)
    assert reason in placement.refused[pool]
    assert placement.refused[pool].endswith(".")


def test_a_limit_that_no_longer_holds_one_large_enough_node_is_told():
    small = {"gpu": node_pool(GPU, instanceTypes=["g5.xlarge", "g5.12xlarge"], limits={**GPU["limits"], "cpu": "16"})}
    assert fits(pod({"nvidia.com/gpu": 1}), small, TYPES).fitting == ("gpu",)
    assert fits(pod({"nvidia.com/gpu": 4}), small, TYPES).refused == {
        "gpu": "Its limit of 16 cpu is below one g5.12xlarge, with 48 cpu."
    }


def test_hugepages_are_there_where_an_overlay_announces_them():
    overlay = {
        "spec": {
            "requirements": [{"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["p5.48xlarge"]}],
            "capacity": {"hugepages-2Mi": "10Gi"},
        }
    }
    asked = pod({"hugepages-2Mi": "5Gi", "nvidia.com/gpu": 8})
    assert fits(asked, POOLS, TYPES, [overlay]).fitting == ("efa", "h100")


def test_a_pool_that_names_no_type_offers_all_that_its_requirements_let_through():
    open_pool = {
        "spec": {
            "template": {
                "spec": {
                    "requirements": [
                        {"key": "karpenter.k8s.aws/instance-category", "operator": "In", "values": ["c", "m"]},
                        {"key": "karpenter.k8s.aws/instance-generation", "operator": "Gt", "values": ["6"]},
                    ]
                }
            }
        }
    }
    assert fits(pod({"cpu": "100"}), {"open": open_pool}, TYPES).fitting == ("open",)
    assert "announce none" in fits(pod({"nvidia.com/gpu": 1}), {"open": open_pool}, TYPES).refused["open"]


def test_a_pool_of_unknown_types_is_not_judged_by_guess():
    unknown = {
        "spec": {
            "template": {
                "spec": {
                    "requirements": [
                        {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["x9.huge"]}
                    ]
                }
            }
        }
    }
    assert "in the table" in fits(pod(), {"unknown": unknown}, TYPES).refused["unknown"]


@pytest.mark.parametrize(
    ("text", "number"),
    [("8", 8), (8, 8), ("500m", 0.5), ("320Gi", 320 * 1024**3), ("1.5", 1.5), ("2k", 2000), ("1e3", 1000), (".5", 0.5)],
)
def test_quantities_are_numbers(text: str | int, number: float):
    assert quantity(text) == number


def test_what_is_no_quantity_or_operator_is_refused():
    with pytest.raises(ValueError, match="not a Kubernetes quantity"):
        quantity("8 cores")
    with pytest.raises(ValueError, match="not an operator"):
        narrowed({}, {"key": "a", "operator": "Like", "values": ["b"]})
