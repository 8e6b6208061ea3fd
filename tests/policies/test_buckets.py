"""Buckets: whether each has an encryption configuration, its own or beside it."""

import pytest
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE as UNKNOWN

RULE = "buckets-encrypted-with-customer-key"
KEY = "arn:aws:kms:us-west-2:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"
SSE = "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration"
BUCKET = "aws:s3/bucket:Bucket"


def bucket(sse_bucket=None, sources=(), **outputs):
    stack = {(BUCKET, "models"): (outputs, {})}
    if sse_bucket is not None:
        stack[(SSE, "encryption")] = ({"bucket": sse_bucket}, {"bucket": list(sources)})
    return stack


@pytest.mark.parametrize(
    "stack",
    [
        pytest.param(bucket("models-1", bucket="models-1"), id="paired by name"),
        pytest.param(bucket("models-1", id="models-1"), id="paired by id"),
        pytest.param(bucket(UNKNOWN, ["models"], bucket=UNKNOWN), id="paired by where the name comes from"),
        pytest.param(bucket("models-1", ["models"]), id="paired by origin, the bucket not telling its name"),
        pytest.param(
            bucket(
                serverSideEncryptionConfiguration={
                    "rule": {"applyServerSideEncryptionByDefault": {"sseAlgorithm": "aws:kms", "kmsMasterKeyId": KEY}}
                }
            ),
            id="configured in the bucket itself",
        ),
    ],
)
def test_a_bucket_with_an_encryption_configuration_passes(judge_stack, stack):
    outcome = judge_stack(RULE, stack)
    assert (outcome.violations, outcome.unknown) == ([], "")


@pytest.mark.parametrize(
    "stack",
    [
        pytest.param(bucket(bucket="models-1"), id="no configuration"),
        pytest.param(bucket("other", bucket="models-1"), id="another bucket's configuration"),
        pytest.param(bucket(UNKNOWN, ["encryption"], bucket=UNKNOWN), id="a configuration of who knows what"),
        pytest.param(bucket("other", ["models"], bucket="models-1"), id="another's, chosen among several"),
        pytest.param(bucket(serverSideEncryptionConfiguration=UNKNOWN), id="what S3 will compute is not given"),
        pytest.param(
            bucket(
                serverSideEncryptionConfiguration={
                    "rule": {"applyServerSideEncryptionByDefault": {"sseAlgorithm": "AES256"}}
                }
            ),
            id="S3's own key",
        ),
        pytest.param(
            bucket(
                serverSideEncryptionConfiguration={
                    "rule": {"applyServerSideEncryptionByDefault": {"kmsMasterKeyId": "alias/aws/s3"}}
                }
            ),
            id="AWS's key for S3",
        ),
    ],
)
def test_a_bucket_without_its_own_encryption_configuration_is_refused(judge_stack, stack):
    outcome = judge_stack(RULE, stack)
    assert len(outcome.violations) == 1
    assert outcome.urns == ["models"]


def test_a_configuration_that_the_program_computes_is_unknown_and_not_absent(judge_stack):
    stack = {
        (BUCKET, "models"): (
            {"serverSideEncryptionConfiguration": UNKNOWN},
            {"serverSideEncryptionConfiguration": ["key"]},
        ),
        ("aws:kms/key:Key", "key"): ({}, {}),
    }
    outcome = judge_stack(RULE, stack)
    assert (outcome.violations, outcome.unknown) == ([], "models.serverSideEncryptionConfiguration")
