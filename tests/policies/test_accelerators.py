"""Which accelerators an instance type has, and which a NodePool's requirements let through."""

import pytest
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE as UNKNOWN
from pulumi_policy.proxy import unknown_checking_proxy

from policies.rules.judging.accelerators import NEURON, NVIDIA, admitted, vendor_of
from policies.rules.judging.properties import Unknown, read


def need(key, operator, *values):
    prefix = "" if "/" in key else "karpenter.k8s.aws/"
    return {"key": prefix + key, "operator": operator, "values": list(values)}


@pytest.mark.parametrize(
    ("instance_type", "vendor"),
    [
        *(
            (name, NVIDIA)
            for name in ("g4dn.xlarge", "g5.48xlarge", "g5g.metal", "g6f.large", "gr6.4xlarge", "g7e.2xlarge")
        ),
        *(
            (name, NVIDIA)
            for name in ("p3.2xlarge", "p3dn.24xlarge", "p4de.24xlarge", "p5en.48xlarge", "p6-b300.48xlarge")
        ),
        *((name, NVIDIA) for name in ("p6e-gb200.36xlarge", "g8.xlarge", "p5")),
        *(
            (name, NEURON)
            for name in ("inf1.xlarge", "inf2.48xlarge", "trn1.2xlarge", "trn1n.32xlarge", "trn2.48xlarge", "trn3")
        ),
        *((name, None) for name in ("m7g.large", "c6i.xlarge", "r7gd.large", "i4g.large", "t3.medium", "u-6tb1.metal")),
        *((name, None) for name in ("g4ad.xlarge", "dl1.24xlarge", "dl2q.24xlarge", "vt1.3xlarge", "f2.6xlarge", "")),
    ],
)
def test_an_instance_types_name_tells_whose_accelerators_it_has(instance_type, vendor):
    assert vendor_of(instance_type) is vendor


@pytest.mark.parametrize(
    ("requirements", "nvidia", "neuron"),
    [
        pytest.param([], True, True, id="nothing is restricted"),
        pytest.param([need("topology.kubernetes.io/zone", "In", "us-west-2a")], True, True, id="only the zone"),
        pytest.param([need("instance-category", "In", "c", "m", "r")], False, False, id="plain categories"),
        pytest.param([need("instance-category", "In", "m", "g")], True, False, id="plain and GPU categories"),
        pytest.param([need("instance-category", "In", "inf", "trn")], False, True, id="Neuron categories"),
        pytest.param([need("instance-category", "NotIn", "g", "gr", "p")], False, True, id="GPU categories left out"),
        pytest.param([need("instance-category", "NotIn", "g", "p")], True, True, id="gr6 forgotten"),
        pytest.param([need("instance-family", "In", "p6-b200")], True, False, id="a family with a hyphen"),
        pytest.param([need("instance-family", "In", "g9")], True, False, id="a family of tomorrow"),
        pytest.param([need("instance-family", "In", "m7g", "c7g")], False, False, id="Graviton families"),
        pytest.param([need("instance-family", "In", "g4ad")], False, False, id="AMD's family"),
        pytest.param([need("node.kubernetes.io/instance-type", "In", "inf2.xlarge")], False, True, id="a type"),
        pytest.param([need("node.kubernetes.io/instance-type", "In", "m7i.large")], False, False, id="a plain type"),
        pytest.param(
            [need("instance-category", "In", "g"), need("node.kubernetes.io/instance-type", "NotIn", "g5.xlarge")],
            True,
            False,
            id="one type left out",
        ),
        pytest.param([need("instance-gpu-count", "Gt", "0")], True, False, id="at least one GPU"),
        pytest.param([need("instance-gpu-name", "Exists")], True, False, id="any GPU's name"),
        pytest.param([need("instance-gpu-name", "In", "a10g", "l4")], True, False, id="GPU names"),
        pytest.param([need("instance-gpu-name", "In", "radeon-pro-v520")], False, False, id="an AMD GPU's name"),
        pytest.param([need("instance-gpu-manufacturer", "In", "nvidia")], True, False, id="NVIDIA as maker"),
        pytest.param([need("instance-gpu-manufacturer", "NotIn", "nvidia")], False, True, id="NVIDIA left out"),
        pytest.param([need("instance-gpu-memory", "Gte", "40000")], True, False, id="GPU memory"),
        pytest.param([need("instance-gpu-count", "DoesNotExist")], False, True, id="no GPU, Neuron possible"),
        pytest.param(
            [need("instance-gpu-count", "DoesNotExist"), need("instance-accelerator-count", "DoesNotExist")],
            False,
            False,
            id="neither GPU nor accelerator",
        ),
        pytest.param([need("instance-accelerator-manufacturer", "In", "aws")], False, True, id="AWS as maker"),
        pytest.param([need("instance-accelerator-name", "In", "trainium2")], False, True, id="Trainium by name"),
        pytest.param([need("instance-accelerator-name", "In", "qualcomm-ai100")], False, False, id="Qualcomm's card"),
        pytest.param(
            [need("eks.amazonaws.com/instance-category", "In", "c", "m")], False, False, id="Auto Mode's label"
        ),
        pytest.param(
            [need("eks.amazonaws.com/instance-gpu-name", "In", "t4")], True, False, id="Auto Mode's GPU label"
        ),
        pytest.param([need("instance-generation", "Lt", "4")], True, True, id="old generations"),
        pytest.param([need("instance-generation", "Lt", "1")], False, False, id="no generation"),
        pytest.param([need("instance-generation", "Lt", "new")], True, True, id="a bound that is no number"),
        pytest.param([need("instance-generation", "Gt", "7")], True, True, id="generations to come"),
        pytest.param(
            [need("instance-category", "In", "p"), need("kubernetes.io/arch", "In", "arm64")],
            True,
            False,
            id="arm64 has GB200",
        ),
        pytest.param(
            [need("instance-category", "In", "inf", "trn"), need("kubernetes.io/arch", "In", "arm64")],
            False,
            False,
            id="arm64 has no Neuron",
        ),
    ],
)
def test_requirements_tell_which_accelerators_can_come(requirements, nvidia, neuron):
    assert (bool(admitted(requirements, NVIDIA)), bool(admitted(requirements, NEURON))) == (nvidia, neuron)


@pytest.mark.parametrize(
    ("requirement", "verdict"),
    [
        pytest.param(need("instance-family", "In", UNKNOWN), Unknown, id="a family"),
        pytest.param(need("instance-family", "In", UNKNOWN, "g5"), list, id="a family beside an accelerator's"),
        pytest.param(need("instance-family", "NotIn", UNKNOWN), Unknown, id="a family left out"),
        pytest.param(need("node.kubernetes.io/instance-type", "In", UNKNOWN, "m7i.large"), Unknown, id="a type"),
        pytest.param(need("node.kubernetes.io/instance-type", "NotIn", UNKNOWN), list, id="a type left out"),
        pytest.param(need("instance-generation", "Lt", UNKNOWN), Unknown, id="a bound on the generation"),
        pytest.param(need("instance-generation", "Gt", UNKNOWN), list, id="a lower bound on the generation"),
        pytest.param(need("instance-gpu-name", "In", UNKNOWN), Unknown, id="a GPU's name"),
        pytest.param(need("instance-gpu-name", "In", UNKNOWN, "l4"), list, id="a GPU's name beside a known one"),
        pytest.param(need("instance-gpu-name", UNKNOWN, "l4"), Unknown, id="the operator on a GPU's name"),
        pytest.param(need("instance-gpu-manufacturer", "In", UNKNOWN), Unknown, id="a maker"),
        pytest.param(need("instance-gpu-count", "Gt", UNKNOWN), list, id="how many GPUs"),
        pytest.param(need("topology.kubernetes.io/zone", "In", UNKNOWN), list, id="a zone"),
    ],
)
def test_an_unknown_requirement_decides_only_what_it_concerns(requirement, verdict):
    properties = read(unknown_checking_proxy({"requirements": [requirement]}))
    result = admitted(properties["requirements"], NVIDIA)
    assert isinstance(result, verdict)
    assert result, "GPUs can come, or may"
