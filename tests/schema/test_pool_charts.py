"""What a stack is told whose nodes would announce no devices."""

import json
from typing import Any

import pytest
import yaml

from settings import SettingsError, validate
from tests.compute.pools import CPU, EFA, GPU
from tests.platform.pools import ROOT

NEURON = GPU | {"instanceTypes": ["inf2.xlarge"]}
CLAIMS = {
    "provisioner": "managed",
    "instanceTypes": ["g5.xlarge"],
    "size": {"max": 2},
    "ami": "al2023@latest",
    "allocation": "dra",
}


def problems(pool: dict[str, Any], platform: dict[str, Any]) -> list[str]:
    config = yaml.safe_load((ROOT / "Pulumi.dev.yaml").read_text(encoding="utf-8"))["config"]
    # What runs on the stack's own pools is not this test's.
    for section in ("jupyterhub", "rayClusters", "mlPipeline", "gpunet", "signIn", "milvus", "langfuse"):
        config.pop(f"eksai:{section}")
    config |= {"eksai:nodePools": {"mine": pool}, "eksai:platform": platform}
    texts = {key: value if isinstance(value, str) else json.dumps(value) for key, value in config.items()}
    try:
        validate(texts, stack="dev", local=True)
    except SettingsError as error:
        return [str(problem) for problem in error.problems]
    return []


@pytest.mark.parametrize(
    ("pool", "charts"),
    [
        (GPU | {"ami": "al2023@v20260714"}, ["gpu-operator"]),
        (NEURON, ["neuron-helm-chart"]),
        (CLAIMS, ["dra-driver-nvidia-gpu"]),
        (EFA | {"zones": ["us-west-2a"]}, ["gpu-operator", "aws-efa-k8s-device-plugin"]),
    ],
    ids=["gpu on al2023", "neuron", "dra", "efa"],
)
def test_a_pool_whose_devices_nobody_announces_is_refused_with_the_line_to_add(pool: dict[str, Any], charts: list[str]):
    found = problems(pool, {})
    assert len(found) == len(charts)
    for chart, problem in zip(charts, found, strict=True):
        assert problem.startswith("eksai:platform")
        assert f"without {chart} the nodes of mine announce no devices" in problem
        assert f"add the line {chart}: {{}}" in problem
    assert problems(pool, {chart: {} for chart in charts}) == []


def test_a_chart_that_is_switched_off_does_not_count():
    (problem,) = problems(NEURON, {"neuron-helm-chart": {"enabled": False}})
    assert "remove enabled: false" in problem


def test_a_pool_that_retires_needs_nothing_more():
    assert problems(NEURON | {"retire": True}, {}) == []


@pytest.mark.parametrize("pool", [GPU, CPU], ids=["bottlerocket gpu", "cpu"])
def test_a_pool_whose_image_announces_its_devices_needs_no_chart(pool: dict[str, Any]):
    assert problems(pool, {}) == []
    assert problems(pool, {"gpu-operator": {}, "aws-efa-k8s-device-plugin": {}}) == [], "nor minds one"
