"""What a stack is told whose notebooks nobody could start, or everybody."""

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from schema.domain import Domain
from schema.jupyterhub import RULES, Jupyterhub
from schema.node_pools import NodePool
from schema.platform import PlatformChart
from schema.sign_in import SignIn
from schema.storage import Storage

INSTALLED = {"jupyterhub": {}}
DOMAIN = {"name": "ml.example.com", "zoneId": "Z0123456789ABCDEFGHIJ", "inboundCidrs": ["203.0.113.0/24"]}
LIMITS = {"cpu": "400", "memory": "4000Gi"}
CPU = {"instanceTypes": ["m7i.xlarge", "m7i.4xlarge"], "limits": LIMITS}
ARM = {"instanceTypes": ["m7g.xlarge"], "limits": LIMITS}
TAINTED = CPU | {"taints": {"role": {"value": "batch"}}}
GPU_LIMITS = LIMITS | {"accelerators": 16}
T4 = {"instanceTypes": ["g4dn.xlarge", "g4dn.2xlarge"], "limits": GPU_LIMITS}
SMALL_A10G = {"instanceTypes": ["g5.xlarge", "g5.2xlarge"], "limits": GPU_LIMITS}
A10G = {"instanceTypes": ["g5.2xlarge", "g5.4xlarge"], "limits": GPU_LIMITS}
A100 = {"instanceTypes": ["p4d.24xlarge"], "limits": GPU_LIMITS}
MIXED = {"instanceTypes": ["g5.4xlarge", "g6.4xlarge"], "limits": GPU_LIMITS}
SLICED = A10G | {"sharing": {"strategy": "time-slicing", "replicas": 4}}
CLAIMS = {
    "provisioner": "managed",
    "instanceTypes": ["g5.4xlarge"],
    "size": {"max": 2},
    "ami": "al2023@latest",
    "allocation": "dra",
}
SMALL = {"cpu-small": {"pools": ["cpu"]}}
MINE = {
    "displayName": "Mine",
    "cpuLimit": 2,
    "cpuGuarantee": 1,
    "memoryLimit": "4Gi",
    "memoryGuarantee": "2Gi",
    "image": "registry.example.com/notebook:1.2.3",
}


def problems(
    jupyterhub: dict[str, Any],
    pools: dict[str, Any] | None = None,
    *,
    platform: dict[str, Any] = INSTALLED,
    sign_in: bool = True,
    domain: dict[str, Any] | None = None,
    efs: bool = True,
) -> list[str]:
    """What the rules of this section say."""
    given = {
        "jupyterhub": Jupyterhub.model_validate(jupyterhub),
        "node_pools": TypeAdapter(dict[str, NodePool]).validate_python(pools or {"cpu": CPU}),
        "platform": TypeAdapter(dict[str, PlatformChart]).validate_python(platform),
        "sign_in": SignIn(enabled=sign_in),
        "domain": Domain.model_validate(domain or {}),
        "storage": Storage.model_validate({"efs": {"enabled": efs}}),
    }
    found: list[str] = []
    for rule in RULES:
        names = rule.__code__.co_varnames[: rule.__code__.co_argcount]
        found += map(str, rule(**{name: given[name] for name in names}))
    return found


def fits(profile: str, said: dict[str, Any], **pools: Any) -> list[str]:
    return problems({"profiles": {profile: {"pools": list(pools), **said}}}, pools)


def test_a_hub_with_notebooks_that_fit_is_fine():
    profiles = {
        "cpu-small": {"pools": ["cpu"]},
        "cpu-large": {"pools": ["cpu"]},
        "gpu-t4": {"pools": ["t4"]},
        "gpu-a10g": {"pools": ["a10g"]},
        "gpu-a100": {"pools": ["a100"]},
        "mine": {"pools": ["cpu"], **MINE},
    }
    assert problems({"profiles": profiles}, {"cpu": CPU, "t4": T4, "a10g": A10G, "a100": A100}) == []


def test_settings_without_a_hub_are_refused():
    for platform in ({}, {"jupyterhub": {"enabled": False}}):
        (problem,) = problems({"profiles": SMALL}, platform=platform)
        assert problem.startswith("eksai:jupyterhub\n")
        assert "add the line jupyterhub: {}" in problem
    assert problems({}, platform={}, sign_in=False, efs=False) == [], "no hub, no settings, nothing to say"


def test_a_hub_without_notebooks_is_refused():
    (problem,) = problems({})
    assert problem.startswith("eksai:jupyterhub.profiles\n")
    assert "cpu-small" in problem


def test_signing_in_needs_a_user_pool():
    (problem,) = problems({"profiles": SMALL}, sign_in=False)
    assert problem.startswith("eksai:jupyterhub.auth\n")
    assert "eksai:signIn.enabled" in problem
    assert "auth: dummy" in problem


def test_dummy_is_never_reached_from_outside():
    (problem,) = problems({"auth": "dummy", "profiles": SMALL}, sign_in=False, domain=DOMAIN)
    assert problem.startswith("eksai:jupyterhub.auth\n")
    assert "ml.example.com" in problem
    assert "lets in everybody" in problem
    assert problems({"auth": "dummy", "profiles": SMALL}, sign_in=False) == []


OPENING = [
    {"ingress": {"enabled": True}},
    {"httpRoute": {"enabled": True}},
    {"proxy": {"service": {"type": "LoadBalancer"}}},
]


@pytest.mark.parametrize("values", OPENING, ids=lambda values: next(iter(values)))
def test_no_value_opens_a_hub_that_lets_in_everybody(values: dict[str, Any]):
    platform = {"jupyterhub": {"values": values}}
    (problem,) = problems({"auth": "dummy", "profiles": SMALL}, platform=platform)
    assert problem.startswith(f"eksai:platform.jupyterhub.values.{next(iter(values))}")
    assert problems({"profiles": SMALL}, platform=platform) == [], "with the user pool the stack may"


def test_no_value_says_who_signs_in():
    values = {"hub": {"config": {"JupyterHub": {"authenticator_class": "dummy"}}}}
    (problem,) = problems({"profiles": SMALL}, platform={"jupyterhub": {"values": values}}, domain=DOMAIN)
    assert "follows from eksai:jupyterhub.auth" in problem


def test_homes_need_efs():
    (problem,) = problems({"profiles": SMALL}, efs=False)
    assert problem.startswith("eksai:storage.efs.enabled\n")
    assert "50 GiB" in problem


@pytest.mark.parametrize("field", sorted(MINE))
def test_a_profile_of_a_stacks_own_says_all_of_itself(field: str):
    (problem,) = fits("mine", {key: value for key, value in MINE.items() if key != field}, cpu=CPU)
    assert problem.startswith("eksai:jupyterhub.profiles.mine\n")
    assert f"mine lacks {field}" in problem


@pytest.mark.parametrize(
    ("said", "where"),
    [({"cpuGuarantee": 3}, "cpuGuarantee"), ({"memoryGuarantee": "5Gi"}, "memoryGuarantee")],
)
def test_no_more_is_set_aside_than_may_be_used(said: dict[str, Any], where: str):
    (problem,) = fits("cpu-small", said, cpu=CPU)
    assert problem.startswith(f"eksai:jupyterhub.profiles.cpu-small.{where}\n")


def test_accelerators_have_a_kind():
    (problem,) = fits("mine", MINE | {"accelerators": 2}, cpu=CPU)
    assert problem.startswith("eksai:jupyterhub.profiles.mine.accelerators\n")
    assert "not of which kind" in problem


UNFIT = [
    ("cpu-small", {}, {"retiring": CPU | {"retire": True}}, "retires", "another pool"),
    ("gpu-t4", {}, {"cpu": CPU}, "wants t4; the nodes of cpu have no accelerator", "instances have t4"),
    ("gpu-t4", {}, {"a10g": A10G}, "wants t4; the nodes of a10g have a10g", "instances have t4"),
    ("gpu-a10g", {}, {"mixed": MIXED}, "the nodes of mixed have a10g, l4", "instances have a10g only"),
    ("cpu-small", {}, {"t4": T4}, "keep one from those who need it", "have none only"),
    ("gpu-a10g", {}, {"small": SMALL_A10G}, "8 vCPU and 64Gi", "add a larger instance type to small"),
    ("cpu-small", {"memoryGuarantee": "16Gi", "memoryLimit": "16Gi"}, {"arm": ARM}, "gets no node of arm", "memoryGua"),
    ("cpu-small", {"cpuGuarantee": 4, "cpuLimit": 4}, {"arm": ARM}, "gets no node of arm", "cpuGuarantee"),
    ("cpu-small", {"image": MINE["image"]}, {"arm": ARM}, "kubernetes.io/arch", "change arm"),
    ("gpu-a10g", {"accelerators": 2}, {"a10g": A10G}, "2 nvidia.com/gpu", "accelerators"),
    ("gpu-a10g", {"accelerators": 2}, {"sliced": SLICED}, "gets one share of a GPU of sliced", "not shared"),
    ("gpu-a10g", {}, {"claims": CLAIMS}, "its nodes announce none", "change claims"),
]


@pytest.mark.parametrize(("profile", "said", "pools", "why", "fix"), UNFIT, ids=lambda value: str(value)[:40])
def test_a_pool_that_never_runs_a_notebook_is_named_with_the_way_out(
    profile: str, said: dict[str, Any], pools: dict[str, Any], why: str, fix: str
):
    (problem,) = fits(profile, said, **pools)
    (pool,) = pools
    key, given, rule, way_out = problem.split("\n")
    assert key == f"eksai:jupyterhub.profiles.{profile}.pools[0]"
    assert given.endswith(pool)
    assert profile in rule
    assert why in rule
    assert fix in way_out


def test_a_pool_that_there_is_none_of_is_named_with_those_that_there_are():
    (problem,) = problems({"profiles": {"cpu-small": {"pools": ["cpu", "gone"]}}})
    assert "profiles.cpu-small.pools[1]" in problem
    assert "eksai:nodePools: cpu" in problem


@pytest.mark.parametrize(
    ("profile", "said", "pools"),
    [
        ("cpu-small", {}, {"arm": ARM}),
        ("cpu-small", {}, {"tainted": TAINTED}),
        ("gpu-a10g", {}, {"sliced": SLICED}),
        ("cpu-small", {"image": MINE["image"], "architectures": ["arm64"]}, {"arm": ARM}),
        ("cpu-small", {}, {"cpu": CPU, "arm": ARM}),
    ],
    ids=["arm64", "taints", "shared gpus", "own image for arm64", "two pools"],
)
def test_a_pool_that_runs_a_notebook_is_fine(profile: str, said: dict[str, Any], pools: dict[str, Any]):
    assert fits(profile, said, **pools) == []


def test_pools_of_one_notebook_announce_one_kind_of_device():
    (problem,) = fits("gpu-a10g", {}, whole=A10G, sliced=SLICED)
    assert "nvidia.com/gpu and nvidia.com/gpu.shared" in problem


@pytest.mark.parametrize(
    "image",
    [
        "quay.io/jupyter/scipy-notebook:2026-09-01",
        "registry.example.com:5000/a/b:1.2",
        f"111122223333.dkr.ecr.us-west-2.amazonaws.com/notebook@sha256:{'0' * 64}",
        f"quay.io/jupyter/scipy-notebook:2026-09-01@sha256:{'0' * 64}",
    ],
)
def test_a_pinned_image_is_taken(image: str):
    assert fits("cpu-small", {"image": image}, cpu=CPU) == []


@pytest.mark.parametrize(
    "said",
    [
        {"image": "quay.io/jupyter/scipy-notebook"},
        {"image": "quay.io/jupyter/scipy-notebook:latest"},
        {"image": "quay.io/jupyter/pytorch-notebook:cuda12-latest"},
        {"memoryLimit": "4G"},
        {"memoryLimit": 4},
        {"cpuLimit": 0},
        {"pools": []},
        {"accelerators": 0},
    ],
    ids=str,
)
def test_what_jupyterhub_would_misread_is_refused(said: dict[str, Any]):
    with pytest.raises(ValidationError):
        Jupyterhub.model_validate({"profiles": {"cpu-small": {"pools": ["cpu"], **said}}})


@pytest.mark.parametrize("section", [{"cullAfter": "1d"}, {"cullAfter": "Never"}, {"auth": "null"}, {"homeGib": 0}])
def test_what_is_no_such_setting_is_refused(section: dict[str, Any]):
    with pytest.raises(ValidationError):
        Jupyterhub.model_validate(section)
