"""Every combination of image, hardware, capacity and provisioner: a valid plan, or a named error."""

from itertools import product
from typing import Any

import pytest
from pydantic import ValidationError

from components.compute.managed_pool import ManagedPool
from components.compute.node_class import node_class_spec
from components.compute.node_pools import node_pool_spec
from tests.compute.crds import schema, violations
from tests.compute.pools import RESERVATION, karpenter, managed
from tests.world import run

IMAGES = {
    "bottlerocket": "bottlerocket@latest",
    "bottlerocket pinned": "bottlerocket@v1.66.0",
    "bottlerocket parameter": "/aws/service/bottlerocket/aws-k8s-1.35-nvidia/x86_64/1.66.0/image_id",
    "al2023": "al2023@latest",
    "al2023 pinned": "al2023@v20260714",
    "al2023 parameter": "/aws/service/eks/optimized-ami/1.35/amazon-linux-2023/x86_64/nvidia/recommended/image_id",
}
HARDWARE: dict[str, dict[str, Any]] = {
    "arm64": {"instanceTypes": ["m7g.xlarge", "m7g.2xlarge"]},
    "amd64": {"instanceTypes": ["m7i.xlarge"]},
    "both architectures": {"instanceTypes": ["m7g.xlarge", "m7i.xlarge"]},
    "nvidia": {"instanceTypes": ["g5.xlarge", "g5.2xlarge"], "instanceStorePolicy": "RAID0"},
    "nvidia efa": {"instanceTypes": ["p5.48xlarge"], "efa": True, "zones": ["us-west-2b"]},
    "neuron": {"instanceTypes": ["inf2.xlarge"]},
    "neuron efa": {"instanceTypes": ["trn1.32xlarge"], "efa": True, "zones": ["us-west-2b"]},
    "neuron efa of two sizes": {
        "instanceTypes": ["trn1.32xlarge", "trn1n.32xlarge"],
        "efa": True,
        "zones": ["us-west-2b"],
    },
}
BLOCK = {"kind": "capacity-block", "ids": [RESERVATION]}
CAPACITY: dict[str, dict[str, Any]] = {
    "on-demand": {"capacityTypes": ["on-demand"]},
    "spot": {"capacityTypes": ["spot"]},
    "spot and on-demand": {"capacityTypes": ["spot", "on-demand"]},
    "reserved": {"capacityTypes": ["reserved"], "capacityReservations": {"ids": [RESERVATION]}},
    "reserved by tags and on-demand": {
        "capacityTypes": ["reserved", "on-demand"],
        "capacityReservations": {"tags": {"fleet": "training"}},
    },
    "reserved and on-demand": {
        "capacityTypes": ["reserved", "on-demand"],
        "capacityReservations": {"ids": [RESERVATION]},
    },
    "block": {"capacityTypes": ["reserved"], "capacityReservations": BLOCK},
    "block, elsewhere on-demand": {"capacityTypes": ["reserved", "on-demand"], "capacityReservations": BLOCK},
}
PROVISIONERS = ("karpenter", "managed")
COMBINATIONS = list(product(IMAGES, HARDWARE, CAPACITY, PROVISIONERS))


def declaration(image: str, hardware: str, capacity: str, provisioner: str) -> dict[str, Any]:
    accelerated = hardware.startswith(("nvidia", "neuron"))
    limits = {"cpu": "1000", "memory": "8192Gi", **({"accelerators": 32} if accelerated else {})}
    bounds = {"size": {"max": 2}} if provisioner == "managed" else {"limits": limits}
    return {
        "provisioner": provisioner,
        "ami": IMAGES[image],
        **HARDWARE[hardware],
        **CAPACITY[capacity],
        **bounds,
    }


def refusal(image: str, hardware: str, capacity: str, provisioner: str) -> str | None:
    """What the declaration has to be refused for, by what AWS, EKS and Karpenter can do; None for nothing."""
    is_managed = provisioner == "managed"
    # trn1n, the second of the two sizes, is not sold in blocks.
    if "block" in capacity and hardware not in ("nvidia efa", "neuron efa"):
        return "capacity blocks are sold for"
    if not is_managed and capacity == "reserved":
        return "reserved goes with on-demand"
    if "parameter" in image and hardware in ("arm64", "both architectures"):
        return "the SSM parameter is for amd64"
    if "parameter" in image and not hardware.startswith("nvidia"):
        return "the SSM parameter names the nvidia variant"
    if not is_managed:
        return None
    if hardware == "both architectures":
        return "one CPU architecture"
    if "on-demand" in capacity and capacity != "on-demand":
        return "buys its instances in one way"
    if "pinned" in image or "parameter" in image:
        return "by family and releaseVersion"
    if hardware == "neuron efa of two sizes":
        return "same number of them"
    if capacity == "reserved" and hardware in ("arm64", "nvidia"):
        return "for one instance type"
    if capacity == "reserved" and "efa" not in hardware:
        return "lies in one zone"
    return None


@pytest.mark.parametrize(("image", "hardware", "capacity", "provisioner"), COMBINATIONS, ids=str)
def test_a_combination_becomes_nodes_or_is_refused_by_name(image: str, hardware: str, capacity: str, provisioner: str):
    given = declaration(image, hardware, capacity, provisioner)
    expected = refusal(image, hardware, capacity, provisioner)
    if expected is not None:
        with pytest.raises(ValidationError, match=expected):
            karpenter(given)
    elif provisioner == "managed":
        built = run(lambda: ManagedPool("pool", managed(given)))
        assert built.only("aws:eks/nodeGroup:NodeGroup").inputs["launchTemplate"]["id"]
    else:
        args = karpenter(given)
        assert violations(schema("NodePool"), node_pool_spec("pool", args)) == []
        assert violations(schema("EC2NodeClass"), node_class_spec("pool", args, "karpenter-nodes")) == []


def test_most_of_the_combinations_are_good_for_something():
    good = [combination for combination in COMBINATIONS if refusal(*combination) is None]
    for values in (IMAGES, HARDWARE, CAPACITY, PROVISIONERS):
        unused = [value for value in values if not any(value in combination for combination in good)]
        assert unused == [], "each value of each kind has a combination that works"
