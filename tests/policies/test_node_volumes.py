"""Node volumes: stated, encrypted, and if configured with a key of the customer's."""

import pytest
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE as UNKNOWN

RULE = "node-volumes-encrypted"
KEY = "arn:aws:kms:us-west-2:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"
NODE_CLASS = "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"


def volume(device, **ebs):
    return {"deviceName": device, "ebs": {"volumeSize": "20Gi", "encrypted": True, "kmsKeyID": KEY, **ebs}}


GOOD_CLASS = {
    "spec": {
        "amiSelectorTerms": [{"alias": "bottlerocket@v1.50.0"}],
        "blockDeviceMappings": [volume("/dev/xvda"), volume("xvdb")],
    }
}
GOOD_TEMPLATE = {
    "blockDeviceMappings": [
        {"deviceName": "/dev/xvda", "ebs": {"encrypted": "true", "kmsKeyId": KEY}},
        {"deviceName": "/dev/sdz", "virtualName": "ephemeral0"},
    ]
}
GOOD_INSTANCE = {
    "rootBlockDevice": {"encrypted": True, "kmsKeyId": KEY},
    "ebsBlockDevices": [{"deviceName": "/dev/sdf", "encrypted": True, "kmsKeyId": KEY}],
}
VOLUMES = {
    NODE_CLASS: GOOD_CLASS,
    TEMPLATE: GOOD_TEMPLATE,
    "aws:ec2/instance:Instance": GOOD_INSTANCE,
    "aws:ec2/spotInstanceRequest:SpotInstanceRequest": GOOD_INSTANCE,
}


@pytest.mark.parametrize("token", VOLUMES)
def test_encrypted_volumes_with_a_customers_key_pass(judge, token):
    outcome = judge(RULE, token, VOLUMES[token], requireCustomerKey=True)
    assert (outcome.violations, outcome.unknown) == ([], "")


@pytest.mark.parametrize(
    ("token", "path", "value", "message"),
    [
        (NODE_CLASS, "spec/blockDeviceMappings/0/ebs/encrypted", False, "Volume /dev/xvda is not encrypted"),
        (NODE_CLASS, "spec/blockDeviceMappings/1/ebs/encrypted", None, "Volume xvdb is not encrypted"),
        (NODE_CLASS, "spec/blockDeviceMappings/0", None, "leave out xvda, which images of family bottlerocket have"),
        (NODE_CLASS, "spec/blockDeviceMappings/1", None, "leave out xvdb"),
        (NODE_CLASS, "spec/blockDeviceMappings/1/ebs", None, "leave out xvdb"),
        (TEMPLATE, "blockDeviceMappings/0/ebs/encrypted", "false", "Volume /dev/xvda is not encrypted"),
        (TEMPLATE, "blockDeviceMappings/0", None, "states no EBS volume"),
        (TEMPLATE, "blockDeviceMappings", None, "states no EBS volume"),
        ("aws:ec2/instance:Instance", "rootBlockDevice", None, "rootBlockDevice is not encrypted"),
        ("aws:ec2/instance:Instance", "rootBlockDevice/encrypted", False, "rootBlockDevice is not encrypted"),
        ("aws:ec2/instance:Instance", "ebsBlockDevices/0/encrypted", None, "/dev/sdf is not encrypted"),
    ],
)
def test_volumes_broken_in_one_place_are_refused(judge, changed, token, path, value, message):
    violations = judge(RULE, token, changed(VOLUMES[token], path, value)).violations
    assert len(violations) == 1
    assert message in violations[0]


@pytest.mark.parametrize(
    "spec",
    [
        {"amiSelectorTerms": [{"alias": "al2023@latest"}]},
        {"amiFamily": "Bottlerocket", "amiSelectorTerms": [{"id": "ami-1"}]},
        {"amiFamily": "Windows2022", "amiSelectorTerms": [{"id": "ami-1"}], "blockDeviceMappings": []},
    ],
)
def test_karpenters_own_volumes_are_encrypted_but_not_with_a_customers_key(judge, spec):
    assert judge(RULE, NODE_CLASS, {"spec": spec}).violations == []
    violations = judge(RULE, NODE_CLASS, {"spec": spec}, requireCustomerKey=True).violations
    assert len(violations) == 1
    assert "account's default key" in violations[0]


@pytest.mark.parametrize(
    "spec",
    [
        {"amiFamily": "Custom", "amiSelectorTerms": [{"id": "ami-1"}]},
        {"amiFamily": "Custom", "amiSelectorTerms": [{"alias": "al2023@latest"}]},
        {"amiSelectorTerms": [{"id": "ami-1"}]},
    ],
)
def test_an_image_that_karpenter_does_not_know_needs_its_volumes_stated(judge, spec):
    assert "as the image made them" in judge(RULE, NODE_CLASS, {"spec": spec}).violations[0]


@pytest.mark.parametrize("key", [None, "alias/aws/ebs"])
def test_configuration_asks_for_a_customers_key(judge, changed, key):
    properties = changed(GOOD_TEMPLATE, "blockDeviceMappings/0/ebs/kmsKeyId", key)
    assert judge(RULE, TEMPLATE, properties).violations == []
    assert len(judge(RULE, TEMPLATE, properties, requireCustomerKey=True).violations) == 1


def test_a_node_group_needs_a_launch_template_for_its_volumes(judge):
    group = "aws:eks/nodeGroup:NodeGroup"
    assert "no launch template" in judge(RULE, group, {}).violations[0]
    assert judge(RULE, group, {"launchTemplate": UNKNOWN}).violations == []


def test_an_instance_may_leave_its_root_volume_to_a_launch_template(judge):
    assert judge(RULE, "aws:ec2/instance:Instance", {"launchTemplate": {"id": "lt-1"}}).violations == []


@pytest.mark.parametrize(
    ("token", "path", "config", "unknown"),
    [
        (NODE_CLASS, "spec/blockDeviceMappings", {}, "spec.blockDeviceMappings"),
        (NODE_CLASS, "spec/blockDeviceMappings/0/ebs/encrypted", {}, "spec.blockDeviceMappings.0.ebs.encrypted"),
        (NODE_CLASS, "spec/blockDeviceMappings/0/deviceName", {}, "spec.blockDeviceMappings.0.deviceName"),
        (NODE_CLASS, "spec/amiSelectorTerms/0/alias", {}, "spec.amiSelectorTerms.0.alias"),
        (
            NODE_CLASS,
            "spec/blockDeviceMappings/0/ebs/kmsKeyID",
            {"requireCustomerKey": True},
            "spec.blockDeviceMappings.0.ebs.kmsKeyID",
        ),
        (TEMPLATE, "blockDeviceMappings", {}, "blockDeviceMappings"),
        (TEMPLATE, "blockDeviceMappings/0/ebs", {}, "blockDeviceMappings.0.ebs"),
        ("aws:ec2/instance:Instance", "rootBlockDevice", {}, "rootBlockDevice"),
        ("aws:ec2/instance:Instance", "ebsBlockDevices/0", {}, "ebsBlockDevices.0"),
    ],
)
def test_an_unknown_volume_is_reported(judge, changed, token, path, config, unknown):
    outcome = judge(RULE, token, changed(VOLUMES[token], path, UNKNOWN), **config)
    assert (outcome.violations, outcome.unknown) == ([], unknown)


@pytest.mark.parametrize(
    ("token", "path"),
    [
        (NODE_CLASS, "spec/blockDeviceMappings/0/ebs/kmsKeyID"),
        (TEMPLATE, "blockDeviceMappings/0/ebs/kmsKeyId"),
    ],
)
def test_an_unknown_key_is_not_asked_for_unless_configured(judge, changed, token, path):
    outcome = judge(RULE, token, changed(VOLUMES[token], path, UNKNOWN))
    assert (outcome.violations, outcome.unknown) == ([], "")
