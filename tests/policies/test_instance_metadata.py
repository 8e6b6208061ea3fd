"""Who can reach the instance metadata service."""

import pytest
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE as UNKNOWN

RULE = "instance-metadata-protected"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
NODE_CLASS = "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass"
OLD_NODE_CLASS = "kubernetes:karpenter.k8s.aws/v1beta1:EC2NodeClass"
INSTANCE = "aws:ec2/instance:Instance"

OPTIONS = {"httpEndpoint": "enabled", "httpTokens": "required", "httpPutResponseHopLimit": 1}
SOUND = [
    (TEMPLATE, {"metadataOptions": OPTIONS}),
    (INSTANCE, {"metadataOptions": OPTIONS}),
    ("aws:ec2/spotInstanceRequest:SpotInstanceRequest", {"metadataOptions": OPTIONS}),
    ("aws:ec2/launchConfiguration:LaunchConfiguration", {"metadataOptions": OPTIONS}),
    (OLD_NODE_CLASS, {"spec": {"metadataOptions": OPTIONS}}),
    (NODE_CLASS, {"spec": {"metadataOptions": OPTIONS}}),
]


@pytest.mark.parametrize(
    ("token", "properties"),
    [
        *SOUND,
        pytest.param(NODE_CLASS, {"spec": {}}, id="Karpenter's default"),
        pytest.param(NODE_CLASS, {"spec": {"metadataOptions": {"httpEndpoint": "enabled"}}}, id="the CRD's defaults"),
        pytest.param(TEMPLATE, {"metadataOptions": {"httpEndpoint": "disabled"}}, id="no metadata service at all"),
        pytest.param(INSTANCE, {"launchTemplate": {"id": "lt-1"}}, id="left to a launch template"),
    ],
)
def test_protected_metadata_passes(judge, token, properties):
    outcome = judge(RULE, token, properties)
    assert (outcome.violations, outcome.unknown) == ([], "")


@pytest.mark.parametrize(("token", "properties"), SOUND)
@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("httpTokens", "optional", "httpTokens is optional"),
        ("httpPutResponseHopLimit", 2, "httpPutResponseHopLimit is 2"),
        ("httpPutResponseHopLimit", 64.0, "httpPutResponseHopLimit is 64"),
    ],
)
def test_metadata_broken_in_one_place_is_refused(judge, changed, token, properties, name, value, message):
    path = f"spec/metadataOptions/{name}" if "spec" in properties else f"metadataOptions/{name}"
    violations = judge(RULE, token, changed(properties, path, value)).violations
    assert len(violations) == 1
    assert message in violations[0]


@pytest.mark.parametrize("name", ["httpTokens", "httpPutResponseHopLimit"])
def test_ec2_does_not_default_to_protected_metadata(judge, changed, name):
    properties = changed({"metadataOptions": OPTIONS}, f"metadataOptions/{name}", None)
    assert f"{name} is not set" in judge(RULE, TEMPLATE, properties).violations[0]


@pytest.mark.parametrize(("token", "count"), [(TEMPLATE, 2), (INSTANCE, 2), (OLD_NODE_CLASS, 1)])
def test_no_options_are_judged_by_their_readers_defaults(judge, token, count):
    assert len(judge(RULE, token, {"spec": {}}).violations) == count


@pytest.mark.parametrize(
    ("properties", "unknown"),
    [
        ({"metadataOptions": UNKNOWN}, "metadataOptions"),
        ({"metadataOptions": {**OPTIONS, "httpTokens": UNKNOWN}}, "metadataOptions.httpTokens"),
        (
            {"metadataOptions": {**OPTIONS, "httpPutResponseHopLimit": UNKNOWN}},
            "metadataOptions.httpPutResponseHopLimit",
        ),
        ({"metadataOptions": {"httpEndpoint": UNKNOWN}}, "metadataOptions.httpEndpoint"),
        ({"metadataOptions": {**OPTIONS, "httpEndpoint": UNKNOWN}}, ""),
    ],
)
def test_unknown_metadata_options_are_reported_where_they_matter(judge, properties, unknown):
    outcome = judge(RULE, TEMPLATE, properties)
    assert (outcome.violations, outcome.unknown) == ([], unknown)


def test_configuration_lets_more_hops_pass(judge):
    properties = {"metadataOptions": {**OPTIONS, "httpPutResponseHopLimit": 2}}
    assert judge(RULE, TEMPLATE, properties, maxHopLimit=2.0).violations == []
