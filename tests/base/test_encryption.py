"""The key and who may use it."""

import json
from typing import Any

import pytest

from components.base.encryption import Encryption, EncryptionArgs
from tests.world import Built, run


def encryption(region: str = "us-west-2") -> Built[Encryption]:
    args = EncryptionArgs(
        deletion_window_days=7, region=region, account_id="111122223333", cluster_name="eksai-dev", keep=True
    )
    return run(lambda: Encryption("encryption", args))


def statement(sid: str) -> dict[str, Any]:
    policy = json.loads(encryption().only("aws:kms/key:Key").inputs["policy"])
    (found,) = (s for s in policy["Statement"] if s["Sid"] == sid)
    return found


def test_the_key_rotates():
    assert encryption().only("aws:kms/key:Key").inputs["enableKeyRotation"] is True


def test_the_account_administers_the_key_through_iam():
    assert statement("AccountAdministersThroughIam")["Principal"] == {"AWS": "arn:aws:iam::111122223333:root"}


@pytest.mark.parametrize("sid", ["VolumesOfThisAccount", "GrantsForVolumesOfThisAccount"])
def test_volumes_use_the_key_through_ec2_in_this_account_only(sid: str):
    condition = statement(sid)["Condition"]["StringEquals"]
    assert condition == {"kms:CallerAccount": "111122223333", "kms:ViaService": "ec2.us-west-2.amazonaws.com"}


def test_a_grant_is_given_to_aws_resources_only():
    assert statement("GrantsForVolumesOfThisAccount")["Condition"]["Bool"] == {"kms:GrantIsForAWSResource": "true"}


def test_file_systems_use_the_key_through_their_services_in_this_account_only():
    condition = statement("FileSystemsOfThisAccount")["Condition"]["StringEquals"]
    assert condition == {
        "kms:CallerAccount": "111122223333",
        "kms:ViaService": ["elasticfilesystem.us-west-2.amazonaws.com", "fsx.us-west-2.amazonaws.com"],
    }


def test_databases_and_caches_use_the_key_through_their_services_in_this_account_only():
    condition = statement("DatabasesAndCachesOfThisAccount")["Condition"]["StringEquals"]
    assert condition == {
        "kms:CallerAccount": "111122223333",
        "kms:ViaService": ["elasticache.us-west-2.amazonaws.com", "rds.us-west-2.amazonaws.com"],
    }


def test_only_fsxs_own_role_uses_the_key_for_buckets_that_lustre_shows():
    condition = statement("LustreReadsAndWritesBuckets")["Condition"]
    (role,) = condition["ArnLike"].values()
    assert role.startswith("arn:aws:iam::111122223333:role/aws-service-role/s3.data-source.lustre.fsx.amazonaws.com/")
    assert condition["StringEquals"]["kms:ViaService"] == "s3.us-west-2.amazonaws.com"


def test_a_statement_for_everybody_is_bound_to_the_account():
    policy = json.loads(encryption().only("aws:kms/key:Key").inputs["policy"])
    open_to_all = [s for s in policy["Statement"] if s["Principal"] == {"AWS": "*"}]
    assert open_to_all
    assert all("kms:CallerAccount" in s["Condition"]["StringEquals"] for s in open_to_all)


def test_services_are_bound_to_this_account():
    logs, events = statement("LogsOfThisAccount"), statement("EventsIntoEncryptedQueues")
    assert logs["Condition"]["ArnLike"] == {
        "kms:EncryptionContext:aws:logs:arn": "arn:aws:logs:us-west-2:111122223333:*"
    }
    assert events["Condition"]["StringEquals"] == {"aws:SourceAccount": "111122223333"}


def test_the_policy_follows_the_partition():
    policy = encryption("cn-north-1").only("aws:kms/key:Key").inputs["policy"]
    assert "arn:aws-cn:iam::111122223333:root" in policy
    assert "arn:aws:" not in policy


def test_the_alias_names_the_cluster():
    assert encryption().only("aws:kms/alias:Alias").inputs["name"] == "alias/eksai-dev"
