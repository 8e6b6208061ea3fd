"""Every bucket has an encryption configuration.

S3 encrypts a bucket without one with a key of its own. The configuration is a resource beside the bucket, so this rule
pairs the two; what the configuration says is judged by `stores_encrypted_with_customer_key`.
"""

from collections.abc import Iterator, Sequence

from pulumi_policy import Severity

from .judging.customer_keys import judge_key
from .judging.properties import Unknown, at, elements
from .judging.rule import Config, StackResource, Verdict, stack_rule

# Each type of bucket, with the property in which older programs put the configuration itself.
_BUCKETS = {
    "aws:s3/bucket:Bucket": "serverSideEncryptionConfiguration",
    "aws:s3/bucketV2:BucketV2": "serverSideEncryptionConfigurations",
}
_CONFIGURATIONS = frozenset(
    {
        "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration",
        "aws:s3/bucketServerSideEncryptionConfigurationV2:BucketServerSideEncryptionConfigurationV2",
    }
)


def _check(resources: Sequence[StackResource], _config: Config) -> Iterator[tuple[StackResource, Verdict]]:
    configurations = [item for item in resources if item.type in _CONFIGURATIONS]
    for bucket in resources:
        if bucket.type not in _BUCKETS:
            continue
        if not any(item.refers_to(bucket, "bucket", identities=["bucket", "id"]) for item in configurations):
            yield from ((bucket, verdict) for verdict in _judge_own(bucket))


def _judge_own(bucket: StackResource) -> Iterator[Verdict]:
    """Yields what is wrong with a bucket that no other resource configures."""
    own = bucket.get(_BUCKETS[bucket.type])
    if isinstance(own, Unknown) and bucket.is_given(_BUCKETS[bucket.type]):
        yield own
        return
    keys = [
        at(rule, "applyServerSideEncryptionByDefault", "kmsMasterKeyId")
        for configuration in (elements(own) if isinstance(own, list) else [own])
        for rule in (elements(at(configuration, "rules")) or [at(configuration, "rule")])
    ]
    if not isinstance(own, Unknown) and any(keys):
        for key in keys:
            yield from judge_key(key, "kmsMasterKeyId")
        return
    yield (
        f"Bucket {bucket.name} has no encryption configuration with a KMS key. Add a "
        f"BucketServerSideEncryptionConfiguration for it, with sseAlgorithm aws:kms and your key as kmsMasterKeyId."
    )


RULE = stack_rule(
    _check,
    name="buckets-encrypted-with-customer-key",
    description="Every S3 bucket has an encryption configuration with a KMS key of the customer's.",
    severity=Severity.HIGH,
    remediation=(
        "Add an aws.s3.BucketServerSideEncryptionConfiguration for the bucket with sseAlgorithm aws:kms, "
        "kmsMasterKeyId and bucketKeyEnabled."
    ),
    tags=["CKV_AWS_19", "CKV_AWS_145"],
)
