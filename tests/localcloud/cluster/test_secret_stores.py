"""What External Secrets may deliver and how it looks, without a cluster."""

import base64
import json

import pytest

from localcloud.aws.secretsmanager import SECRET
from localcloud.cluster.external_secrets import data_of, is_found, secret_of
from localcloud.cluster.secret_stores import SyncFailed, is_open_to, readable_secret, store_condition
from localcloud.record import Record
from tests.localcloud.conftest import policy

REGION = "us-west-2"
ROLE = Record("aws:iam/role:Role", "account", "reader", "", {}, {}, "")


def store(**aws):
    return {"provider": {"aws": {"service": "SecretsManager", "region": REGION, **aws}}}


def external(**target):
    return {"metadata": {"name": "app", "namespace": "lab", "uid": "1"}, "spec": {"target": target}}


def reader(cloud, *statements):
    """The record of a role that may do what statements allow."""
    role = cloud.role("reader", "pods.eks.amazonaws.com", actions=("sts:AssumeRole", "sts:TagSession"))
    cloud.make("aws:iam/rolePolicy:RolePolicy", role=role["name"], policy=policy(*statements))
    return next(cloud.account.find("aws:iam/role:Role", arn=role["arn"]))


def allow(action, resource="*"):
    return {"Effect": "Allow", "Action": action, "Resource": resource}


def stored(cloud, name="eksai/app", **inputs):
    made = cloud.make(SECRET, name, name=name, **inputs)
    cloud.make("aws:secretsmanager/secretVersion:SecretVersion", secretId=made["id"], secretString="s")
    return made


@pytest.mark.parametrize(
    ("spec", "role", "reason"),
    [
        (store(), ROLE, "Valid"),
        (store(), None, "ValidationFailed"),
        (store(auth={"jwt": {}}), ROLE, "InvalidProviderConfig"),
        (store(service="ParameterStore"), ROLE, "InvalidProviderConfig"),
        ({"provider": {"vault": {}}}, ROLE, "InvalidProviderConfig"),
    ],
)
def test_a_store_is_ready_when_the_controller_has_an_identity_for_it(spec, role, reason):
    condition = store_condition(spec, role)
    assert condition.reason == reason
    assert (condition.status == "True") is (reason == "Valid")


def test_a_store_with_conditions_is_open_to_namespaces_that_fit_one():
    lab = {"metadata": {"name": "lab", "labels": {"team": "ml"}}}
    assert is_open_to({}, lab)
    assert is_open_to({"conditions": [{"namespaces": ["lab"]}]}, lab)
    assert is_open_to({"conditions": [{"namespaceSelector": {"matchLabels": {"team": "ml"}}}]}, lab)
    assert is_open_to({"conditions": [{"namespaceRegexes": ["^la"]}]}, lab)
    assert not is_open_to({"conditions": [{"namespaces": ["other"]}]}, lab)


def test_a_secret_is_read_by_name_or_arn(cloud):
    made = stored(cloud)
    role = reader(cloud, allow("secretsmanager:GetSecretValue"))
    for name in ("eksai/app", made["arn"]):
        assert readable_secret(cloud.account, role, REGION, name).id == made["id"]


def test_a_secret_is_not_read_from_another_region(cloud):
    stored(cloud)
    role = reader(cloud, allow("secretsmanager:GetSecretValue"))
    with pytest.raises(SyncFailed, match=r"Secret does not exist: .* in eu-west-1"):
        readable_secret(cloud.account, role, "eu-west-1", "eksai/app")


def test_a_secret_on_its_way_out_is_not_read(cloud):
    made = stored(cloud)
    role = reader(cloud, allow("secretsmanager:GetSecretValue"))
    cloud.delete(SECRET, made)
    with pytest.raises(SyncFailed, match="marked for deletion"):
        readable_secret(cloud.account, role, REGION, "eksai/app")


def test_a_role_without_the_right_reads_nothing(cloud):
    stored(cloud)
    role = reader(cloud, allow("secretsmanager:GetSecretValue", "arn:aws:secretsmanager:*:*:secret:other/*"))
    with pytest.raises(SyncFailed, match="not authorized to perform secretsmanager:GetSecretValue"):
        readable_secret(cloud.account, role, REGION, "eksai/app")


def test_a_role_may_be_limited_to_secrets_by_their_tags(cloud):
    stored(cloud, tags={"team": "ml"})
    condition = {"StringEquals": {"aws:ResourceTag/team": "ml"}}
    role = reader(cloud, {**allow("secretsmanager:GetSecretValue"), "Condition": condition})
    assert readable_secret(cloud.account, role, REGION, "eksai/app")
    stored(cloud, "untagged")
    with pytest.raises(SyncFailed, match="not authorized"):
        readable_secret(cloud.account, role, REGION, "untagged")


def test_a_secret_under_a_key_needs_the_right_to_decrypt(cloud):
    key = cloud.key()
    stored(cloud, kmsKeyId=key["arn"])
    role = reader(cloud, allow("secretsmanager:GetSecretValue"))
    with pytest.raises(SyncFailed, match="access to KMS is not allowed"):
        readable_secret(cloud.account, role, REGION, "eksai/app")


def test_a_secret_without_a_version_has_no_value(cloud):
    cloud.make(SECRET, name="empty")
    role = reader(cloud, allow("secretsmanager:GetSecretValue"))
    with pytest.raises(SyncFailed, match="AWSCURRENT"):
        readable_secret(cloud.account, role, REGION, "empty")


def test_secrets_are_found_by_name_and_tags():
    secret = Record(SECRET, REGION, "x", "", {}, {"name": "eksai/app/db", "tagsAll": {"team": "ml"}}, "")
    assert is_found(secret, {"name": {"regexp": "^eksai/.*/db$"}})
    assert is_found(secret, {"path": "eksai/", "tags": {"team": "ml"}})
    assert not is_found(secret, {"tags": {"team": "web"}})
    assert not is_found(secret, {"name": {"regexp": "^other"}})


def test_a_template_replaces_keys_unless_it_merges():
    keys = {"password": "app password"}
    assert data_of({}, keys).keys() == {"password"}
    assert data_of({"template": {"data": {"url": "x"}}}, keys).keys() == {"url"}
    assert data_of({"template": {"data": {"url": "x"}, "mergePolicy": "Merge"}}, keys).keys() == {"password", "url"}


def test_registry_credentials_are_json():
    data = data_of({}, {".dockerconfigjson": "app"})
    assert json.loads(data[".dockerconfigjson"]) == {}


def test_a_secret_belongs_to_its_external_secret_unless_it_is_orphaned():
    secret = secret_of(external(name="db", template={"type": "kubernetes.io/tls"}), {"tls.key": "text"})
    assert secret["metadata"]["name"] == "db"
    assert secret["type"] == "kubernetes.io/tls"
    assert secret["metadata"]["ownerReferences"][0]["uid"] == "1"
    assert base64.b64decode(secret["data"]["tls.key"]) == b"text"
    assert secret_of(external(creationPolicy="Orphan"), {})["metadata"]["ownerReferences"] == []
