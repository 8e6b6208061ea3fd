"""What a stack file may say, and what it is told when it is wrong."""

import copy
import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml
from pulumi.runtime import config as runtime_config

import settings
from schema.fields import quantity
from settings import SettingsError, validate
from tests.serving import IMAGE_AND_MODEL

ROOT = Path(__file__).parent.parent
STACKS = ("dev", "prod")


def stack_config(stack: str) -> dict[str, Any]:
    return yaml.safe_load((ROOT / f"Pulumi.{stack}.yaml").read_text(encoding="utf-8"))["config"]


def as_text(config: dict[str, Any]) -> dict[str, str]:
    """Config in the form in which the engine hands it over."""
    return {key: value if isinstance(value, str) else json.dumps(value) for key, value in config.items()}


def changed(path: str, value: Any) -> dict[str, Any]:
    """The dev stack's config with one value set, or taken away by `...`."""
    config = copy.deepcopy(stack_config("dev"))
    *parents, last = path.split("/")
    place: Any = config
    for part in parents:
        place = place[int(part)] if isinstance(place, list) else place.setdefault(part, {})
    if value is ...:
        del place[last]
    elif isinstance(place, list):
        place[int(last)] = value
    else:
        place[last] = value
    return config


@pytest.mark.parametrize("stack", STACKS)
def test_the_stack_files_are_valid(stack: str):
    checked = validate(as_text(stack_config(stack)), stack=stack, local=True)
    assert checked.cluster.name == f"eksai-{stack}"


GPU = "eksai:nodePools/gpu-a10g-inference-g5"
CPU = "eksai:nodePools/cpu-inference-m7gxlarge"

BAD = [
    # (what is set, to what, key of the problem, what its rule says, what the way out says)
    ("eksai:netwrok", {}, "eksai:netwrok", "not a setting", "did you mean eksai:network?"),
    ("eksia:network", {}, "eksia:network", "begins with eksai:", "did you mean eksai:network?"),
    ("aws:region", "us-east-1", "aws:region", "does not read this", "use eksai:aws"),
    ("eksai:network", "10.0.0.0/16", "eksai:network", "a mapping", "indent"),
    ("eksai:network", [], "eksai:network", "a mapping", "indent"),
    ("eksai:aws", ..., "eksai:aws.region", "required", "region"),
    ("eksai:aws/region", "us-west-2a", "eksai:aws.region", "looks like us-west-2", "not a zone"),
    ("eksai:aws/region", "CHANGEME", "eksai:aws.region", "placeholder", "fill in yours"),
    ("eksai:aws/accountId", 111122223333, "eksai:aws.accountId", "a text", 'quote it: "111122223333"'),
    ("eksai:aws/accountId", "1234", "eksai:aws.accountId", "twelve digits", "get-caller-identity"),
    ("eksai:aws/acountId", "1", "eksai:aws.acountId", "not a setting", "did you mean accountId?"),
    ("eksai:aws/tags", {"team": 1}, "eksai:aws.tags.team", "a text", 'quote it: "1"'),
    ("eksai:network/cidr", "10.0.0.0/8", "eksai:network.cidr", "between /16 and /20", "192.168.0.0/16"),
    ("eksai:network/cidr", "8.8.0.0/16", "eksai:network.cidr", "are private", "192.168.0.0/16"),
    ("eksai:network/availabilityZones", ["us-west-2a"], "eksai:network.availabilityZones", "at least 2", "zones"),
    ("eksai:network/availabilityZones/1", "b", "eksai:network.availabilityZones[1]", "us-west-2a", "in full"),
    ("eksai:network/availabilityZones/1", "us-east-1b", "eksai:network.availabilityZones[1]", "eksai:aws.region", ""),
    ("eksai:network/availabilityZones/1", "us-west-2a", "eksai:network.availabilityZones", "each zone once", ""),
    (
        "eksai:network/availabilityZones",
        [f"us-west-2{z}" for z in "abcde"],
        "eksai:network.availabilityZones",
        "at most 4",
        "",
    ),
    ("eksai:network/nat", "none", "eksai:network.nat", "'per-zone'", "choose"),
    ("eksai:network/podCidr", "10.64.0.0/16", "eksai:network", "podCidr lies in 100.64.0.0/10", "100.64.0.0/16"),
    ("eksai:network/podCidr", "100.64.0.0/8", "eksai:network", "podCidr: ", "100.64.0.0/16"),
    ("eksai:network/interfaceEndpoints", ["s3"], "eksai:network.interfaceEndpoints[0]", "'ecr.api'", "choose"),
    (
        "eksai:network/interfaceEndpoints",
        ["ecr.dkr"],
        "eksai:network.interfaceEndpoints",
        "ecr.api and ecr.dkr",
        "both",
    ),
    ("eksai:network/flowLogs", {"retentionDays": 2}, "eksai:network.flowLogs.retentionDays", "one of", "choose"),
    ("eksai:network/existing", {"vpcId": "vpc"}, "eksai:network.existing.vpcId", "vpc-0a1b2c3d", "describe-vpcs"),
    (
        "eksai:network/existing",
        {"vpcId": "vpc-0a1b2c3d", "privateSubnetIds": {"us-west-2a": "subnet-0a1b2c3d"}},
        "eksai:network",
        "existing.privateSubnetIds names one subnet in each zone",
        "us-west-2b",
    ),
    ("eksai:aws/permissionsBoundaryArn", "Boundary", "eksai:aws.permissionsBoundaryArn", "IAM policy", "list-policies"),
    ("eksai:encryption/keyArn", "alias/mine", "eksai:encryption.keyArn", "KMS key", "alias is not accepted"),
    (
        "eksai:encryption/keyArn",
        "arn:aws:kms:eu-west-1:111122223333:key/0a1b",
        "eksai:encryption.keyArn",
        "region us-west-2 of account 111122223333",
        "eksai:aws.region",
    ),
    ("eksai:repositories", {"My App": {}}, "eksai:repositories.My App", "lower-case", "choose such a name"),
    ("eksai:repositories", {"app": {"keepImages": 1}}, "eksai:repositories.app.keepImages", "at least 2", "Images"),
    ("eksai:storage", {"efs": {"enable": True}}, "eksai:storage.efs.enable", "not a setting", "enabled"),
    ("eksai:addons", {}, "eksai:storage.efs", "aws-efs-csi-driver", "to true"),
    (
        "eksai:platform/jupyterhub",
        {"values": {"hub": {"config": None}}},
        "eksai:platform.jupyterhub.values",
        "hub.config is null",
        "remove the line",
    ),
    ("eksai:storage", {"lustre": {}}, "eksai:storage.lustre.zone", "required", "one zone"),
    ("eksai:storage", {"lustre": {"zone": "us-west-2a"}}, "eksai:storage.lustre", "aws-fsx-csi-driver", "to true"),
    (
        "eksai:storage",
        {"lustre": {"zone": "us-west-2d"}},
        "eksai:storage.lustre.zone",
        "a zone of the network: us-west-2a, us-west-2b",
        "name one of these",
    ),
    (
        "eksai:storage",
        {"lustre": {"zone": "us-west-2a", "capacityGib": 1300}},
        "eksai:storage.lustre.capacityGib",
        "multiple of 2400",
        "write 2400",
    ),
    (
        "eksai:storage",
        {"lustre": {"zone": "us-west-2a", "capacityGib": 10240}},
        "eksai:storage.lustre.capacityGib",
        "multiple of 2400",
        "write 12000",
    ),
    (
        "eksai:storage",
        {"lustre": {"zone": "us-west-2a", "capacityGib": 0}},
        "eksai:storage.lustre.capacityGib",
        "multiple of 2400",
        "write 1200",
    ),
    (
        "eksai:storage",
        {"lustre": {"zone": "us-west-2a", "throughputMbPerTib": 200}},
        "eksai:storage.lustre.throughputMbPerTib",
        "one of 125, 250, 500 or 1000",
        "choose",
    ),
    ("eksai:encryption/deletionWindowDays", 3, "eksai:encryption.deletionWindowDays", "at least 7", "Days"),
    ("eksai:encryption/deletionWindowDays", 31, "eksai:encryption.deletionWindowDays", "at most 30", "Days"),
    ("eksai:encryption/deletionWindowDays", "soon", "eksai:encryption.deletionWindowDays", "whole number", "digits"),
    ("eksai:modelBucket/name", "My_Models", "eksai:modelBucket.name", "lower-case", "leave it out"),
    ("eksai:cluster/name", "-dev", "eksai:cluster.name", "begins with a letter", "eksai-<stack>"),
    ("eksai:cluster/version", 1.35, "eksai:cluster.version", "one of '1.33'", "quoted"),
    ("eksai:cluster/version", "1.20", "eksai:cluster.version", "one of '1.33'", "choose"),
    ("eksai:cluster/admins", ..., "eksai:cluster.admins", "required", "cluster-admin"),
    ("eksai:cluster/admins", [], "eksai:cluster.admins", "at least 1", "cluster-admin"),
    ("eksai:cluster/admins", "arn", "eksai:cluster.admins", "a list", "write [arn]"),
    ("eksai:cluster/admins/0", "arn:aws:iam::111122223333:user/me", "eksai:cluster.admins[0]", "IAM role", "role"),
    ("eksai:cluster/publicAccessCidrs/0", "0.0.0.0/0", "eksai:cluster.publicAccessCidrs[0]", "whole internet", "VPN"),
    ("eksai:cluster/publicAccessCidrs/0", "10.1.0.0/16", "eksai:cluster.publicAccessCidrs[0]", "private", "public"),
    ("eksai:cluster/publicAccessCidrs/0", "office", "eksai:cluster.publicAccessCidrs[0]", "IPv4 range", "/32"),
    ("eksai:cluster/publicAccessCidrs/0", "2001:db8::/32", "eksai:cluster.publicAccessCidrs[0]", "IPv4 range", "/32"),
    ("eksai:cluster/publicAccessCidrs", [], "eksai:cluster.publicAccessCidrs", "a VPC that you reach", "existing"),
    ("eksai:cluster/supportType", "standard", "eksai:cluster.supportType", "'STANDARD'", "choose"),
    ("eksai:addons", {"coredns": {"enabled": False}}, "eksai:addons.coredns.enabled", "does not work", "remove"),
    ("eksai:cluster/publicAccessCidrs/0", "128.0.0.0/1", "eksai:cluster.publicAccessCidrs[0]", "/16 at most", "VPN"),
    (
        "eksai:cluster/admins/0",
        "arn:aws:iam::444455556666:role/A",
        "eksai:cluster.admins[0]",
        "account 1111",
        "role of",
    ),
    ("eksai:aws/roleArn", "arn:aws:iam::111122223333:role/D", "eksai:cluster.admins", "the deploying role", "add it"),
    ("eksai:aws/tags", {"aws:x": "y"}, "eksai:aws.tags.aws:x", "AWS's or our own", "neither"),
    ("eksai:aws/tags", {"eksai:cluster": "y"}, "eksai:aws.tags.eksai:cluster", "AWS's or our own", "neither"),
    ("eksai:modelBucket/name", "a..b", "eksai:modelBucket.name", "lower-case", "leave it out"),
    ("eksai:systemNodes/desiredSize", 1, "eksai:systemNodes.desiredSize", "at least 2", "Karpenter"),
    ("eksai:systemNodes/instanceTypes", ["m7g.medium"], "eksai:systemNodes", "controllers need 2 vCPUs", "m7g.large"),
    (f"{GPU}/limits/memory", "320000000K", "eksai:nodePools.gpu-a10g-inference-g5.limits.memory", "quantity", "unit"),
    ("eksai:cluster/logTypes", ["audits"], "eksai:cluster.logTypes[0]", "'audit'", "did you mean audit?"),
    ("eksai:cluster/logTypes", ["audit", "audit"], "eksai:cluster", "twice", "keep one"),
    ("eksai:cluster/logRetentionDays", 31, "eksai:cluster.logRetentionDays", "one of", "choose"),
    ("eksai:cluster/deletionProtection", "maybe", "eksai:cluster.deletionProtection", "true or false", "one of the"),
    ("eksai:charts/mirror", "CHANGEME", "eksai:charts.mirror", "placeholder", "fill in yours"),
    ("eksai:charts/mirror", "charts", "eksai:charts.mirror", "absolute path of a folder", "from the root"),
    ("eksai:charts/mirror", "./charts", "eksai:charts.mirror", "absolute path of a folder", "from the root"),
    ("eksai:charts/mirror", "/srv/../charts", "eksai:charts.mirror", "absolute path of a folder", "without empty"),
    ("eksai:charts/mirror", "//srv", "eksai:charts.mirror", "absolute path of a folder", "without empty"),
    ("eksai:charts/mirror", "/srv/charts/", "eksai:charts.mirror", "without a slash at the end", "write /srv/charts"),
    ("eksai:charts/mirror", "/", "eksai:charts.mirror", "without a slash at the end", "in full"),
    (
        "eksai:charts/mirror",
        "oci://example.com/x/",
        "eksai:charts.mirror",
        "without a slash",
        "write oci://example.com/x",
    ),
    ("eksai:charts/mirror", "oci://example.com/X y", "eksai:charts.mirror", "oci://registry/path", "lower-case"),
    ("eksai:charts/mirror", "https://example.com/x", "eksai:charts.mirror", "oci://registry/path", "a Helm repository"),
    ("eksai:charts/mirror", "http://example.com/x", "eksai:charts.mirror", "oci://registry/path", "a Helm repository"),
    *(
        ("eksai:charts/imageRegistry", registry, "eksai:charts.imageRegistry", rule, fix)
        for registry, rule, fix in (
            ("CHANGEME", "placeholder", "fill in yours"),
            ("https://registry.example.com/x", "without a scheme", "write registry.example.com/x"),
            ("oci://registry.example.com/x/", "without a scheme", "write registry.example.com/x"),
            ("registry.example.com/x/", "without a slash", "write registry.example.com/x"),
            ("registry.example.com/Mirror", "an image registry's host", "lower-case"),
            ("registry.example.com/x:1.0", "an image registry's host", "without tag"),
            ("registry.example.com//x", "an image registry's host", "lower-case"),
            ("mirror/images", "an image registry's host", "with a dot or a port"),
            ("/srv/images", "an image registry's host", "with a dot or a port"),
            ("", "an image registry's host", "with a dot or a port"),
        )
    ),
    ("eksai:charts/miror", "/srv/charts", "eksai:charts.miror", "not a setting", "did you mean mirror?"),
    ("eksai:addons", {"vpc_cni": {}}, "eksai:addons.vpc_cni", "'vpc-cni'", "did you mean vpc-cni?"),
    ("eksai:addons", {"vpc-cni": {"version": "1.22"}}, "eksai:addons.vpc-cni.version", "eksbuild", "describe-addon"),
    (
        "eksai:addons",
        {"kube-proxy": {"version": "v1.34.6-eksbuild.29"}},
        "eksai:addons.kube-proxy.version",
        "minor version, 1.35",
        "matching build",
    ),
    ("eksai:systemNodes/desiredSize", 20, "eksai:systemNodes", "minSize <= desiredSize", "out of line"),
    ("eksai:systemNodes/instanceTypes", ["g5.xlarge"], "eksai:systemNodes", "no accelerators", "nodePools"),
    ("eksai:systemNodes/instanceTypes", ["m7g.xlarge", "m7i.xlarge"], "eksai:systemNodes", "one CPU arch", "all arm64"),
    ("eksai:nodePools/GPU", {}, "eksai:nodePools.GPU", "DNS label", "never changes"),
    (f"{GPU}/instanceTypes/0", "g5.xlrage", "eksai:nodePools.gpu-a10g-inference-g5.instanceTypes[0]", "knows", "g5.xl"),
    (f"{GPU}/instanceTypes/0", "m7g.xlarge", "eksai:nodePools.gpu-a10g-inference-g5", "mix", "split the pool"),
    (f"{GPU}/limits/accelerators", ..., "eksai:nodePools.gpu-a10g-inference-g5", "upper limit", "limits.accelerators"),
    (f"{CPU}/limits/accelerators", 1, "eksai:nodePools.cpu-inference-m7gxlarge", "no accelerators", "remove"),
    (f"{GPU}/limits/cpu", "2", "eksai:nodePools.gpu-a10g-inference-g5", "below what one g5.xlarge", "raise"),
    (f"{GPU}/limits/memory", "8Gi", "eksai:nodePools.gpu-a10g-inference-g5", "below what one g5.xlarge", "raise"),
    (f"{GPU}/limits/cpu", 80, "eksai:nodePools.gpu-a10g-inference-g5.limits.cpu", "a text", 'quote it: "80"'),
    (f"{GPU}/limits/memory", "lots", "eksai:nodePools.gpu-a10g-inference-g5.limits.memory", "quantity", "unit"),
    (f"{GPU}/limits/gpu", 4, "eksai:nodePools.gpu-a10g-inference-g5.limits.gpu", "not a setting", "accelerators"),
    (f"{GPU}/ami", "al2@latest", "eksai:nodePools.gpu-a10g-inference-g5.ami", "bottlerocket@", "pin"),
    (
        f"{GPU}/capacityTypes",
        ["Spot"],
        "eksai:nodePools.gpu-a10g-inference-g5.capacityTypes[0]",
        "'spot'",
        "did you mean spot?",
    ),
    (f"{GPU}/consolidateAfter", "30 min", "eksai:nodePools.gpu-a10g-inference-g5.consolidateAfter", "duration", "s, m"),
    (f"{GPU}/terminationGracePeriod", "Never", "eksai:nodePools.gpu-a10g-inference-g5.terminationGracePeriod", "", ""),
    (f"{GPU}/weight", 101, "eksai:nodePools.gpu-a10g-inference-g5.weight", "at most 100", "Preference"),
    (f"{GPU}/diskGib", 5, "eksai:nodePools.gpu-a10g-inference-g5.diskGib", "at least 20", "GiB"),
    (
        f"{CPU}/taints/role/effect",
        "NoSchedul",
        "eksai:nodePools.cpu-inference-m7gxlarge.taints.role.effect",
        "'NoS",
        "",
    ),
]


@pytest.mark.parametrize(("path", "value", "key", "rule", "fix"), BAD, ids=[f"{b[0]}={b[1]}" for b in BAD])
def test_a_mistake_is_told_by_key_rule_and_way_out(path: str, value: Any, key: str, rule: str, fix: str):
    with pytest.raises(SettingsError) as caught:
        validate(as_text(changed(path, value)), stack="dev", local=True)
    told = [problem for problem in caught.value.problems if problem.key == key]
    assert len(told) == 1, f"exactly one problem at {key}, not:\n{caught.value}"
    assert rule in told[0].rule
    assert fix in told[0].fix
    assert all(line in str(caught.value) for line in (key, "nothing was done"))


def test_a_stacks_name_that_makes_no_clusters_name_is_told():
    with pytest.raises(SettingsError, match=r"eksai-team\.dev, which EKS does not take"):
        validate(as_text(stack_config("dev")), stack="team.dev", local=True)


def test_every_mistake_of_a_file_is_told_at_once():
    config = changed("eksai:cluster/version", "1.20")
    config["eksai:network"]["cidr"] = "10.0.0.0/8"
    config["eksai:nodePools"]["gpu-a10g-inference-g5"]["instanceTypes"] = ["g5.huge"]
    config["eksai:nope"] = {}
    with pytest.raises(SettingsError) as caught:
        validate(as_text(config), stack="dev", local=True)
    assert {problem.key for problem in caught.value.problems} == {
        "eksai:nope",
        "eksai:network.cidr",
        "eksai:cluster.version",
        "eksai:nodePools.gpu-a10g-inference-g5.instanceTypes[0]",
    }
    assert "4 mistakes" in str(caught.value)


@pytest.mark.parametrize("stack", STACKS)
def test_documentation_values_are_refused_outside_the_local_cloud(stack: str):
    with pytest.raises(SettingsError) as caught:
        validate(as_text(stack_config(stack)), stack=stack, local=False)
    published = {"eksai:domain.name", "eksai:domain.inboundCidrs[0]", "eksai:gpunet.publish.inboundCidrs[0]"}
    assert {p.key for p in caught.value.problems} == {
        "eksai:aws.accountId",
        "eksai:cluster.publicAccessCidrs[0]",
        *(published if stack == "prod" else ()),
    }


EXISTING = {
    "vpcId": "vpc-0a1b2c3d",
    "privateSubnetIds": {"us-west-2a": "subnet-0a1b2c3d", "us-west-2b": "subnet-0a1b2c3e"},
}


def test_an_existing_network_allows_a_private_endpoint():
    config = changed("eksai:network/existing", EXISTING)
    config["eksai:cluster"]["publicAccessCidrs"] = []
    checked = validate(as_text(config), stack="dev", local=True)
    assert checked.network.existing is not None
    assert checked.cluster.public_access_cidrs == ()


def test_limits_that_any_of_the_types_fits_are_enough():
    pool = {
        "instanceTypes": ["g5.12xlarge", "g5.16xlarge"],
        "limits": {"cpu": "64", "memory": "256Gi", "accelerators": 1},
    }
    config = changed("eksai:nodePools/one", pool)
    assert "one" in validate(as_text(config), stack="dev", local=True).node_pools, "g5.16xlarge has one GPU"


MIRRORS = ("oci://example.com", "oci://registry.example.com:5000/team/charts", "/srv/charts", "/srv/My charts")


@pytest.mark.parametrize("mirror", MIRRORS)
def test_a_mirror_of_charts_is_a_registry_or_a_folder(mirror: str):
    config = changed("eksai:charts/mirror", mirror)
    assert validate(as_text(config), stack="dev", local=True).charts.mirror == mirror


REGISTRIES = ("registry.example.com", "registry.example.com:5000/team/mirror", "localhost:5000", "10.0.0.7/x_y")


@pytest.mark.parametrize("registry", REGISTRIES)
def test_a_mirror_of_images_is_a_host_with_or_without_a_path(registry: str):
    config = changed("eksai:charts/imageRegistry", registry)
    assert validate(as_text(config), stack="dev", local=True).charts.image_registry == registry


def test_charts_and_images_come_from_where_they_are_published_unless_a_mirror_is_named():
    charts = validate(as_text(stack_config("dev")), stack="dev", local=True).charts
    assert (charts.mirror, charts.image_registry) == (None, None)


@pytest.mark.parametrize(("version", "support_type"), [("1.33", "EXTENDED"), ("1.35", "STANDARD")])
def test_the_support_type_follows_the_version(version: str, support_type: str):
    checked = validate(as_text(changed("eksai:cluster/version", version)), stack="dev", local=True)
    assert checked.cluster.support_type == support_type, "AWS refuses STANDARD for a version past standard support"


def test_a_support_type_that_is_given_stands():
    config = changed("eksai:cluster/supportType", "EXTENDED")
    assert validate(as_text(config), stack="dev", local=True).cluster.support_type == "EXTENDED"


def test_config_is_read_from_the_runtime_in_process():
    token = runtime_config.CONFIG.set(as_text(stack_config("dev")) | {"eksai:nope": "1"})
    try:
        with pytest.raises(SettingsError, match="eksai:nope"):
            settings.load()
    finally:
        runtime_config.CONFIG.reset(token)


def test_config_is_read_from_the_environment_under_the_official_language_host(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PULUMI_CONFIG", json.dumps(as_text(stack_config("dev")) | {"eksai:nope": "1"}))
    token = runtime_config.CONFIG.set({})
    try:
        with pytest.raises(SettingsError, match="eksai:nope"):
            settings.load()
    finally:
        runtime_config.CONFIG.reset(token)


@pytest.mark.parametrize(
    ("today", "notice"),
    [
        (date(2026, 11, 30), None),
        (date(2027, 2, 1), "leaves EKS standard support on 2027-03-27; then AWS upgrades"),
        (date(2027, 3, 28), "left EKS standard support"),
    ],
)
def test_the_end_of_support_is_announced(today: date, notice: str | None):
    notices = validate(as_text(stack_config("dev")), stack="dev", local=True).notices(today)
    assert notices == [] if notice is None else notice in notices[0]


@pytest.mark.parametrize(("text", "number"), [("80", 80), ("320Gi", 320 * 1024**3), ("2k", 2000)])
def test_quantities_are_numbers(text: str, number: float):
    assert quantity(text) == number


@pytest.mark.parametrize("stack", STACKS)
def test_the_stack_files_tell_editors_their_schema(stack: str):
    first = (ROOT / f"Pulumi.{stack}.yaml").read_text(encoding="utf-8").splitlines()[0]
    assert first == "# yaml-language-server: $schema=docs/stack.schema.json"


def test_pulumi_yaml_declares_every_setting_and_nothing_else():
    declared = yaml.safe_load((ROOT / "Pulumi.yaml").read_text(encoding="utf-8"))["config"]
    ours = {key: value for key, value in declared.items() if not key.startswith("pulumi:")}
    known = set(settings.stack_file_schema()["properties"]["config"]["properties"])
    assert set(ours) == known
    assert all(d["type"] == "object" and d["default"] == {} and d["description"] for d in ours.values())


@pytest.mark.parametrize(
    ("said", "lacks"),
    [
        ({}, None),
        (IMAGE_AND_MODEL, None),
        ({"imageDigest": IMAGE_AND_MODEL["imageDigest"]}, "model"),
        ({"model": IMAGE_AND_MODEL["model"]}, "imageDigest"),
        ({"imageDigest": IMAGE_AND_MODEL["imageDigest"], "enabled": False}, None),
    ],
)
def test_a_service_with_an_image_or_a_model_alone_is_told_what_it_lacks(said: dict[str, Any], lacks: str | None):
    config = changed("eksai:gpunet", stack_config("dev")["eksai:gpunet"] | said)
    told = validate(as_text(config), stack="dev", local=True).notices(date(2026, 6, 1))
    expected = f"eksai:gpunet has no {lacks} yet, so that none of its pods runs (docs/gpunet.md)."
    assert told == ([] if lacks is None else [expected])
