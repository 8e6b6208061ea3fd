import pytest

from localcloud.authorization import Request, allows, grants, mentions

ROOT, ROLE = "arn:aws:iam::111122223333:root", "arn:aws:iam::111122223333:role/reader"
KEY = "arn:aws:kms:us-west-2:111122223333:key/1"
USE = {"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "kms:Decrypt", "Resource": "*"}


def may(*statements, own=(), caller=ROLE, service="", action="kms:Decrypt", **context):
    context = {key.replace("__", ":"): value for key, value in context.items()}
    request = Request(action, KEY, service=service, caller="" if service else caller, context=context)
    return allows({"Statement": list(statements)}, request, [{"Statement": list(own)}])


def test_what_nobody_allows_is_refused_and_what_somebody_denies_too():
    assert not may()
    assert may(USE)
    assert not may(USE, {**USE, "Effect": "Deny", "Action": "kms:*"})


@pytest.mark.parametrize(
    ("action", "matches"), [("kms:*", True), ("KMS:decrypt", True), ("kms:De?rypt", True), ("kms:Encrypt", False)]
)
def test_actions_match_by_wildcard_whatever_their_case(action, matches):
    assert may({**USE, "Action": ["kms:Sign", action]}) == matches


def test_everything_but_can_be_said_of_actions_resources_and_principals():
    but = {key: value for key, value in USE.items() if key != "Action"} | {"NotAction": "kms:Decrypt"}
    assert not may(but)
    assert may({**but, "NotAction": "kms:Sign"})
    assert not may({"Effect": "Allow", "NotPrincipal": {"AWS": ROLE}, "Action": "*", "Resource": "*"})
    assert not may({"Effect": "Allow", "Principal": "*", "Action": "*", "NotResource": KEY})


def test_a_service_is_not_an_identity():
    logs = {**USE, "Principal": {"Service": ["logs.us-west-2.amazonaws.com"]}}
    assert may(logs, service="logs.us-west-2.amazonaws.com")
    assert not may(logs, service="logs.us-east-1.amazonaws.com")
    assert not may(logs)
    assert may({**USE, "Principal": "*"}, service="events.amazonaws.com")


def test_the_account_as_principal_hands_over_to_the_callers_own_policies():
    root = {**USE, "Principal": {"AWS": ROOT}}
    own = {"Effect": "Allow", "Action": "kms:Decrypt", "Resource": KEY}
    assert not may(root), "the caller has no right of its own"
    assert may(root, own=[own])
    assert may({**root, "Principal": {"AWS": "111122223333"}}, own=[own])
    assert not may(own=[own]), "own rights are no use where the key does not hand over"
    assert not may(root, own=[{**own, "Resource": "arn:aws:kms:us-west-2:111122223333:key/2"}])
    assert not may({**root, "Principal": {"AWS": "arn:aws:iam::444455556666:root"}}, own=[own])


@pytest.mark.parametrize(
    ("operator", "expected", "value", "holds"),
    [
        ("StringEquals", "a", "a", True),
        ("StringEquals", ["b", "a"], "a", True),
        ("StringEquals", "A", "a", False),
        ("StringEqualsIgnoreCase", "A", "a", True),
        ("StringNotEquals", "a", "a", False),
        ("StringNotEquals", "b", "a", True),
        ("StringLike", "ec2.*.amazonaws.com", "ec2.us-west-2.amazonaws.com", True),
        ("StringNotLike", "ec2.*", "ec2.x", False),
        ("ArnLike", "arn:aws:logs:*:*:*", "arn:aws:logs:us-west-2:1:log-group:x", True),
        ("ArnEquals", "arn:aws:events:us-west-2:1:rule/x", "arn:aws:events:us-west-2:1:rule/x", True),
        ("Bool", "true", "true", True),
        ("Bool", True, "true", True),
        ("Bool", "false", "true", False),
        ("ForAnyValue:StringEquals", "a", "a", True),
        ("NumericEquals", "1", "1", False),
    ],
)
def test_conditions_compare_as_iam_does(operator, expected, value, holds):
    assert may({**USE, "Condition": {operator: {"kms:Via": expected}}}, kms__via=value) == holds


def test_a_key_that_the_request_does_not_have_fits_only_what_allows_for_it():
    for operator, holds in (("StringEquals", False), ("StringEqualsIfExists", True), ("StringNotEquals", True)):
        assert may({**USE, "Condition": {operator: {"kms:Via": "x"}}}) == holds


def test_all_conditions_of_a_statement_must_hold():
    both = {**USE, "Condition": {"StringEquals": {"a:a": "1", "a:b": "2"}}}
    assert may(both, a__a="1", a__b="2")
    assert not may(both, a__a="1", a__b="3")


def test_own_policies_grant_and_mention():
    own = [{"Statement": {"Effect": "Allow", "Action": "logs:Put*", "Resource": "arn:aws:logs:*"}}]
    assert grants(own, Request("logs:PutLogEvents", "arn:aws:logs:us-west-2:1:x"))
    assert not grants(own, Request("logs:PutLogEvents", "arn:aws:s3:::x"))
    assert mentions(own, "logs:PutLogEvents")
    assert not mentions(own, "logs:Get")
