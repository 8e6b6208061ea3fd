"""The bucket that models are served from."""

import json

import pytest

from components.base.model_bucket import ModelBucket, ModelBucketArgs
from tests.world import Built, run

KEY = "arn:aws:kms:us-west-2:111122223333:key/11111111-2222-3333-4444-555555555555"


def model_bucket(name: str | None = None) -> Built[ModelBucket]:
    args = ModelBucketArgs(name=name, noncurrent_days=14, abort_upload_days=7, key_arn=KEY, keep=True)
    return run(lambda: ModelBucket("model-bucket", args))


def test_objects_are_encrypted_with_the_key():
    (rule,) = (
        model_bucket()
        .only("aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration")
        .inputs["rules"]
    )
    assert rule["applyServerSideEncryptionByDefault"] == {"sseAlgorithm": "aws:kms", "kmsMasterKeyId": KEY}
    assert rule["bucketKeyEnabled"] is True


def test_nothing_of_it_is_public():
    block = model_bucket().only("aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock").inputs
    flags = ("blockPublicAcls", "blockPublicPolicy", "ignorePublicAcls", "restrictPublicBuckets")
    assert all(block[flag] is True for flag in flags)


def test_plain_http_is_refused_for_bucket_and_objects():
    built = model_bucket()
    policy = json.loads(built.only("aws:s3/bucketPolicy:BucketPolicy").inputs["policy"])
    (statement,) = policy["Statement"]
    arn = built.only("aws:s3/bucket:Bucket").outputs["arn"]
    assert (statement["Effect"], statement["Principal"], statement["Action"]) == ("Deny", "*", "s3:*")
    assert statement["Resource"] == [arn, f"{arn}/*"]
    assert statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}


def test_the_three_lifecycle_rules_are_there():
    rules = model_bucket().only("aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration").inputs["rules"]
    assert {rule["id"] for rule in rules} == {"old-versions", "delete-markers", "unfinished-uploads"}
    by_id = {rule["id"]: rule for rule in rules}
    assert by_id["old-versions"]["noncurrentVersionExpiration"] == {"noncurrentDays": 14}
    assert by_id["delete-markers"]["expiration"] == {"expiredObjectDeleteMarker": True}
    assert by_id["unfinished-uploads"]["abortIncompleteMultipartUpload"] == {"daysAfterInitiation": 7}
    assert all(rule["status"] == "Enabled" for rule in rules)


def test_rules_on_versions_wait_for_versions():
    built = model_bucket()
    lifecycle = built.only("aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration")
    assert built.only("aws:s3/bucketVersioning:BucketVersioning").urn in lifecycle.dependencies


def test_policy_and_public_access_block_do_not_collide():
    built = model_bucket()
    block = built.only("aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock").urn
    assert block in built.only("aws:s3/bucketPolicy:BucketPolicy").dependencies


@pytest.mark.parametrize("name", ["company-models", None])
def test_a_name_is_used_as_given_and_generated_otherwise(name: str | None):
    bucket = model_bucket(name).only("aws:s3/bucket:Bucket").outputs["bucket"]
    assert bucket == name if name else bucket.startswith("model-bucket-")
