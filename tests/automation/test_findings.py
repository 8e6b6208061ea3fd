"""The rules over a program's registrations, without engine or policy server."""

import pytest

from automation.errors import ConfigError
from automation.findings import Finding, judge
from localcloud.registration import Registration
from localcloud.values import UNKNOWN, Reference, Secret
from policies.rules import ALL

KEY = "arn:aws:kms:us-west-2:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"
SSE = "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration"


def register(token, name, inputs=None, **more):
    urn = f"urn:pulumi:dev::eksai::{token}::{name}"
    return Registration(urn=urn, type=token, name=name, id=f"{name}-1", inputs=inputs or {}, **more)


def volume(**inputs):
    return register("aws:ebs/volume:Volume", "data", {"encrypted": True, "kmsKeyId": KEY, **inputs})


def bucket_with_encryption(bucket):
    models = register("aws:s3/bucket:Bucket", "models", outputs={"bucket": UNKNOWN})
    defaults = {"applyServerSideEncryptionByDefault": {"sseAlgorithm": "aws:kms", "kmsMasterKeyId": KEY}}
    encryption = register(
        SSE,
        "encryption",
        {"bucket": bucket, "rules": (defaults,)},
        property_dependencies={"bucket": [models.urn, "urn:of-another-stack"]},
    )
    return [models, encryption]


def test_a_sound_stack_has_no_findings():
    assert judge([volume(), *bucket_with_encryption(UNKNOWN)]) == []


def test_a_violation_names_rule_resource_reason_and_way_out():
    [found] = judge([volume(encrypted=False)])
    assert found == Finding(
        rule="stores-encrypted-with-customer-key",
        level="mandatory",
        severity="high",
        urn=volume().urn,
        message="encrypted is false, so it is not encrypted with a KMS key; set it to true.",
        remediation=found.remediation,
    )
    assert "KMS key" in found.remediation


def test_a_rule_on_the_whole_stack_names_the_resource():
    models, _ = bucket_with_encryption(UNKNOWN)
    [found] = judge([models])
    assert (found.rule, found.urn) == ("buckets-encrypted-with-customer-key", models.urn)


@pytest.mark.parametrize("key", [Secret(KEY), Reference("urn:key", KEY)])
def test_secrets_and_references_are_judged_by_what_they_hold(key):
    assert judge([volume(kmsKeyId=key)]) == []
    assert judge([volume(kmsKeyId=Secret("alias/aws/ebs"))])


@pytest.mark.parametrize("key", [UNKNOWN, Secret(UNKNOWN), Reference("urn:key", UNKNOWN)])
def test_an_unknown_value_is_advice_and_no_refusal(key):
    [found] = judge([volume(kmsKeyId=key)])
    assert found.level == "advisory"
    assert found.message == "The rule could not be run: string value at .kmsKeyId can't be known during preview."


def test_known_faults_stay_mandatory_beside_unknown_values():
    levels = [found.level for found in judge([volume(encrypted=False, kmsKeyId=UNKNOWN)])]
    assert levels == ["mandatory", "advisory"]


@pytest.mark.parametrize(
    ("overrides", "levels"),
    [
        ({"stores-encrypted-with-customer-key": "advisory"}, ["advisory"]),
        ({"stores-encrypted-with-customer-key": "disabled"}, []),
        ({"stores-encrypted-with-customer-key": "remediate"}, ["mandatory"]),
        ({"stores-encrypted-with-customer-key": {"enforcementLevel": "advisory"}}, ["advisory"]),
        ({"stores-encrypted-with-customer-key": {"exemptTypes": ["aws:ebs/volume:Volume"]}}, []),
        ({"all": "advisory"}, ["advisory"]),
        ({"all": "disabled", "stores-encrypted-with-customer-key": "mandatory"}, ["mandatory"]),
        ({"all": "advisory", "stores-encrypted-with-customer-key": {"exemptTypes": []}}, ["advisory"]),
    ],
)
def test_overrides_change_levels_and_settings(overrides, levels):
    assert [found.level for found in judge([volume(encrypted=False)], overrides)] == levels


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"stores-encrypted": "advisory"}, "names rule 'stores-encrypted'"),
        ({"api-endpoint-not-open": "strict"}, "gives api-endpoint-not-open level 'strict'"),
    ],
)
def test_an_override_of_nothing_is_refused(overrides, message):
    with pytest.raises(ConfigError, match=message):
        judge([], overrides)


def test_findings_come_in_the_order_of_rules_and_resources():
    open_cluster = register("aws:eks/cluster:Cluster", "cluster")
    stack = [open_cluster, volume(encrypted=False)]
    order = [rule.name for rule in ALL]
    found = [(order.index(item.rule), [one.urn for one in stack].index(item.urn)) for item in judge(stack)]
    assert len(found) == 3
    assert found == sorted(found)
