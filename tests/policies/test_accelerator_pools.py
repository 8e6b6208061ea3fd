"""What a pool that can bring accelerators must carry."""

import pytest
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE as UNKNOWN

RULE = "accelerator-pools-tainted-and-limited"
POOL = "kubernetes:karpenter.sh/v1:NodePool"
GROUP = "aws:eks/nodeGroup:NodeGroup"

GPU_TAINT = {"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"}
NEURON_TAINT = {"key": "aws.amazon.com/neuron", "effect": "NoSchedule"}


def pool(*requirements, taints=(), limits=None, **spec):
    template = {"spec": {"requirements": list(requirements), "taints": list(taints)}}
    return {"metadata": {"name": "p"}, "spec": {"template": template, "limits": limits or {}, **spec}}


def need(key, operator, *values):
    prefix = "" if "/" in key else "karpenter.k8s.aws/"
    return {"key": prefix + key, "operator": operator, "values": list(values)}


GOOD_POOL = pool(
    need("instance-family", "In", "g5"),
    need("karpenter.sh/capacity-type", "In", "spot", "on-demand"),
    taints=[GPU_TAINT],
    limits={"nvidia.com/gpu": 4, "cpu": "64"},
)
GOOD_GROUP = {
    "instanceTypes": ["g5.xlarge", "g5.2xlarge"],
    "scalingConfig": {"minSize": 0, "maxSize": 2, "desiredSize": 0},
    "taints": [{"key": "nvidia.com/gpu", "value": "true", "effect": "NO_SCHEDULE"}],
}


@pytest.mark.parametrize(
    "properties",
    [
        pytest.param(GOOD_POOL, id="tainted and limited"),
        pytest.param(
            pool(need("instance-category", "In", "trn"), taints=[NEURON_TAINT], limits={"aws.amazon.com/neuron": "16"}),
            id="Neuron, tainted and limited",
        ),
        pytest.param(pool(need("instance-category", "In", "c", "m", "r")), id="no accelerators"),
        pytest.param(
            pool(limits={"nvidia.com/gpu": 0, "aws.amazon.com/neuron": "0"}), id="unrestricted, with limits of 0"
        ),
        pytest.param(
            pool(need("instance-family", "In", "p5"), taints=[GPU_TAINT], limits={"nodes": "2"}, replicas=2),
            id="a static pool is limited by its size",
        ),
        pytest.param(
            pool(
                need("instance-family", "In", "g5"),
                taints=[{**GPU_TAINT, "effect": "NoExecute"}],
                limits={"nvidia.com/gpu": 1},
            ),
            id="NoExecute repels too",
        ),
    ],
)
def test_a_sound_pool_passes(judge, properties):
    outcome = judge(RULE, POOL, properties)
    assert outcome.violations == []
    assert outcome.unknown == ""


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("spec/template/spec/taints", None, "no NoSchedule taint nvidia.com/gpu"),
        ("spec/template/spec/taints/0/effect", "PreferNoSchedule", "no NoSchedule taint nvidia.com/gpu"),
        ("spec/template/spec/taints/0/key", "gpu", "no NoSchedule taint nvidia.com/gpu"),
        ("spec/limits", None, "no limit for nvidia.com/gpu"),
        ("spec/limits", {"cpu": "100"}, "no limit for nvidia.com/gpu"),
        ("spec/template/spec/requirements/0/values", ["trn1"], "Neuron devices (trn1) but has no NoSchedule taint"),
        ("spec/template/spec/requirements", [], "Neuron devices (inf1, inf2, trn1, ...) but has no limit"),
    ],
)
def test_a_pool_broken_in_one_place_is_refused(judge, changed, path, value, message):
    violations = judge(RULE, POOL, changed(GOOD_POOL, path, value)).violations
    assert any(message in violation for violation in violations), violations


def test_startup_taints_do_not_count(judge, changed):
    startup = changed(GOOD_POOL, "spec/template/spec", {"requirements": [], "startupTaints": [GPU_TAINT]})
    assert any("taint nvidia.com/gpu" in text for text in judge(RULE, POOL, startup).violations), (
        "they are removed later"
    )


def test_a_label_of_the_template_restricts_like_a_requirement(judge):
    properties = pool()
    properties["spec"]["template"]["metadata"] = {"labels": {"karpenter.k8s.aws/instance-category": "m"}}
    assert judge(RULE, POOL, properties).violations == []


@pytest.mark.parametrize(
    ("path", "value"),
    [
        pytest.param("spec/limits/nvidia.com~gpu", UNKNOWN, id="the limit's value"),
        pytest.param("spec/template/spec/requirements", UNKNOWN, id="all requirements of a guarded pool"),
    ],
)
def test_an_unknown_that_decides_nothing_is_not_asked(judge, changed, path, value):
    if "~" in path:
        properties = changed(GOOD_POOL, "spec/limits", {"nvidia.com/gpu": value})
    else:
        good = changed(GOOD_POOL, "spec/template/spec/taints", [GPU_TAINT, NEURON_TAINT])
        good = changed(good, "spec/limits", {"nvidia.com/gpu": 1, "aws.amazon.com/neuron": 1})
        properties = changed(good, path, value)
    outcome = judge(RULE, POOL, properties)
    assert (outcome.violations, outcome.unknown) == ([], "")


@pytest.mark.parametrize(
    ("path", "value", "unknown"),
    [
        ("spec/template/spec/taints", UNKNOWN, "spec.template.spec.taints"),
        ("spec/template/spec/taints/0/effect", UNKNOWN, "spec.template.spec.taints.0.effect"),
        ("spec/limits", UNKNOWN, "spec.limits"),
        ("spec/template/spec/requirements/0/values/0", UNKNOWN, "spec.template.spec.requirements.0.values.0"),
        ("spec/template/spec/requirements/0/key", UNKNOWN, "spec.template.spec.requirements.0.key"),
        ("spec/template/spec/requirements/0/operator", UNKNOWN, "spec.template.spec.requirements.0.operator"),
        ("spec", UNKNOWN, "spec"),
    ],
)
def test_an_unknown_that_decides_is_reported_and_never_passes(judge, changed, path, value, unknown):
    outcome = judge(RULE, POOL, changed(GOOD_POOL, path, value))
    assert outcome.violations == []
    assert outcome.unknown == unknown


def test_what_is_known_is_judged_before_what_is_not(judge, changed):
    properties = changed(changed(GOOD_POOL, "spec/limits", {}), "spec/template/spec/taints", UNKNOWN)
    outcome = judge(RULE, POOL, properties)
    assert "no limit" in outcome.violations[0]
    assert outcome.unknown == "spec.template.spec.taints"


def test_an_unknown_requirement_beside_one_that_excludes_accelerators_does_not_matter(judge):
    properties = pool(need("instance-category", "In", "m"), need("kubernetes.io/arch", "In", UNKNOWN))
    outcome = judge(RULE, POOL, properties)
    assert (outcome.violations, outcome.unknown) == ([], "")


@pytest.mark.parametrize(
    "properties",
    [
        pytest.param(GOOD_GROUP, id="tainted"),
        pytest.param({"instanceTypes": ["m7i.large"]}, id="plain"),
        pytest.param({}, id="EKS's default type"),
        pytest.param({"amiType": "AL2023_x86_64_STANDARD"}, id="plain AMI, type in a launch template"),
    ],
)
def test_a_sound_node_group_passes(judge, properties):
    outcome = judge(RULE, GROUP, properties)
    assert (outcome.violations, outcome.unknown) == ([], "")


@pytest.mark.parametrize(
    ("path", "value", "resource"),
    [
        ("taints", None, "nvidia.com/gpu"),
        ("taints/0/effect", "PREFER_NO_SCHEDULE", "nvidia.com/gpu"),
        ("taints/0/key", "dedicated", "nvidia.com/gpu"),
        ("instanceTypes", ["m7i.large", "inf2.xlarge"], "aws.amazon.com/neuron"),
    ],
)
def test_a_node_group_broken_in_one_place_is_refused(judge, changed, path, value, resource):
    violations = judge(RULE, GROUP, changed(GOOD_GROUP, path, value)).violations
    assert len(violations) == 1
    assert f"no NO_SCHEDULE taint {resource}" in violations[0]


@pytest.mark.parametrize(
    "ami_type", ["AL2023_x86_64_NVIDIA", "BOTTLEROCKET_ARM_64_NVIDIA_FIPS", "AL2023_x86_64_NEURON"]
)
def test_an_accelerators_ami_gives_away_what_the_launch_template_hides(judge, ami_type):
    assert judge(RULE, GROUP, {"amiType": ami_type, "launchTemplate": {"id": "lt-1"}}).violations


@pytest.mark.parametrize(
    ("path", "value", "unknown"),
    [
        ("instanceTypes", UNKNOWN, "instanceTypes"),
        ("instanceTypes/1", UNKNOWN, "instanceTypes.1"),
        ("taints", UNKNOWN, "taints"),
        ("taints/0/key", UNKNOWN, "taints.0.key"),
    ],
)
def test_an_unknown_of_a_node_group_is_reported(judge, changed, path, value, unknown):
    outcome = judge(RULE, GROUP, changed(GOOD_GROUP, path, value))
    assert (outcome.violations, outcome.unknown) == ([], unknown)
