import json

import pytest

from localcloud.declaration import PolicyKind
from localcloud.policy_document import name_faults, syntax_fault

OWN = {"Effect": "Allow", "Action": "s3:GetObject", "Resource": "*"}
OF_KEY = {**OWN, "Action": "kms:Decrypt", "Principal": {"AWS": "*"}}
TRUST = {"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}


def document(*statements, **more):
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements), **more})


@pytest.mark.parametrize(
    ("kind", "statement"),
    [(PolicyKind.MANAGED, OWN), (PolicyKind.INLINE, OWN), (PolicyKind.KEY, OF_KEY), (PolicyKind.TRUST, TRUST)],
)
def test_a_wellformed_document_passes(kind, statement):
    assert syntax_fault(document(statement), kind) is None
    assert syntax_fault(json.dumps({"Statement": statement}), kind) is None, "one statement needs no list"


@pytest.mark.parametrize(
    ("text", "kind", "reason"),
    [
        ("{", PolicyKind.INLINE, "not JSON"),
        ("[]", PolicyKind.INLINE, "an object"),
        (document(), PolicyKind.INLINE, "no Statement"),
        (document(OWN, Version="2012-10-18"), PolicyKind.INLINE, "Version must be one of"),
        (document(OWN, Statements=[]), PolicyKind.INLINE, "unknown element Statements"),
        (document({**OWN, "Effect": "allow"}), PolicyKind.INLINE, "no Effect"),
        (document({**OWN, "Actions": "x"}), PolicyKind.INLINE, "unknown element Actions"),
        (document({**OWN, "NotAction": "x"}), PolicyKind.INLINE, "one of Action and NotAction"),
        (document(OF_KEY), PolicyKind.MANAGED, "should not specify a principal"),
        (document(OWN), PolicyKind.BUCKET, "names no Principal"),
        (document({**TRUST, "Resource": "*"}), PolicyKind.TRUST, "prohibited field Resource"),
        (document({**TRUST, "Action": "s3:GetObject"}), PolicyKind.TRUST, "only specify STS"),
        (document({"Effect": "Allow", "Action": "s3:*"}), PolicyKind.INLINE, "one of Resource and NotResource"),
        (document({**OWN, "Sid": "a-b"}), PolicyKind.INLINE, "alpha-numeric"),
        (document({**OWN, "Sid": "a"}, {**OWN, "Sid": "a"}), PolicyKind.INLINE, "must be unique"),
        (document({**OWN, "Condition": {"StringEqual": {}}}), PolicyKind.INLINE, "operator StringEqual"),
    ],
)
def test_a_malformed_document_is_refused_with_what_is_wrong(text, kind, reason):
    assert reason in (syntax_fault(text, kind) or "")


@pytest.mark.parametrize(("kind", "limit"), [(PolicyKind.MANAGED, 6144), (PolicyKind.INLINE, 10240)])
def test_iam_counts_characters_without_white_space(kind, limit):
    empty = len("".join(document({**OWN, "Resource": ""}).split()))
    fits = document({**OWN, "Resource": "x" * (limit - empty)})
    assert len(fits) > limit, "there is white space in it"
    assert syntax_fault(fits, kind) is None
    assert "LimitExceeded" in (syntax_fault(document({**OWN, "Resource": "x" * (limit - empty + 1)}), kind) or "")


def test_a_keys_policy_has_32_kib_white_space_counted():
    assert "LimitExceeded" in (syntax_fault(document({**OF_KEY, "Sid": "x" * 32768}), PolicyKind.KEY) or "")


@pytest.mark.parametrize("action", ["s3:GetObject", "S3:getobject", "kms:ReEncrypt*", "ec2:Describe*", "*", "sqs:*"])
def test_actions_that_exist_pass(action):
    assert list(name_faults(document({**OWN, "Action": action}))) == []


@pytest.mark.parametrize("action", ["s3:ReadObject", "ec2:DescribeInstanceStatuses", "nosuch:Thing", "kms:Foo*", "s3"])
def test_actions_that_do_not_exist_are_told(action):
    (fault,) = name_faults(document({**OWN, "Action": ["s3:GetObject", action]}))
    assert f"no action {action}" in fault


@pytest.mark.parametrize(
    ("key", "exists"),
    [
        ("kms:ViaService", True),
        ("kms:EncryptionContext:aws:logs:arn", True),
        ("ec2:CreateAction", True),
        ("aws:RequestTag/kubernetes.io/cluster/eksai-dev", True),
        ("iam:PassedToService", True),
        ("kms:ViaServices", False),
        ("nosuch:Key", False),
    ],
)
def test_condition_keys_of_a_service_must_exist(key, exists):
    faults = list(name_faults(document({**OWN, "Condition": {"StringEquals": {key: "x"}}})))
    assert faults == [] if exists else "no condition key" in faults[0]
