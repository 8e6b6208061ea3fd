"""What Milvus stores outside the cluster."""

import json

import pulumi

from components.base.milvus_stores import MilvusStoresArgs, make_milvus_stores
from components.milvus import ROOT_PASSWORD, MilvusStores
from tests.world import Built, run

BUCKET, SECRET, VERSION = (
    "aws:s3/bucket:Bucket",
    "aws:secretsmanager/secret:Secret",
    "aws:secretsmanager/secretVersion:SecretVersion",
)


def built(*, keep: bool = True) -> Built[MilvusStores]:
    args = MilvusStoresArgs(cluster_name="eksai-dev", key_arn="arn:aws:kms:us-west-2:444455556666:key/1", keep=keep)
    return run(lambda: make_milvus_stores(args, pulumi.ResourceOptions()))


def test_there_are_a_bucket_and_a_secret_with_the_password_of_root():
    found = built()
    assert found.value(found.result.bucket) == found.only(BUCKET).outputs["bucket"]
    assert found.value(found.result.bucket_arn) == found.only(BUCKET).outputs["arn"]
    assert found.value(found.result.secret_name) == found.only(SECRET).inputs["name"] == "eksai-dev/milvus"
    assert json.loads(found.only(VERSION).inputs["secretStringWo"].value).keys() == {ROOT_PASSWORD}


def test_vectors_stay_until_milvus_deletes_them():
    rules = built().only("aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration").inputs["rules"]
    assert rules
    assert not [rule for rule in rules if "days" in rule.get("expiration", {})]


def test_stores_that_are_kept_are_protected():
    found = built(keep=True)
    assert all(resource.protect for resource in found.resources if resource.custom)
    assert found.only(BUCKET).inputs["forceDestroy"] is False


def test_stores_that_are_not_kept_go_with_the_stack():
    found = built(keep=False)
    assert not any(resource.protect for resource in found.resources)
    assert found.only(BUCKET).inputs["forceDestroy"] is True
    assert found.only(SECRET).inputs["recoveryWindowInDays"] == 0
