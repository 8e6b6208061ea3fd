"""A private, versioned, encrypted bucket that answers over TLS only."""

from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_aws as aws

from components.partition import dns_suffix_of
from components.policy_document import deny_plain_http, document


@dataclass(frozen=True)
class PrivateBucket:
    """What others know of a bucket."""

    bucket: pulumi.Output[str]
    arn: pulumi.Output[str]


def make_private_bucket(
    name: str,
    *,
    bucket_name: str | None,
    key_arn: pulumi.Input[str],
    noncurrent_days: int,
    abort_upload_days: int,
    keep_days: int | None,
    keep: bool,
    parent: pulumi.Resource,
) -> PrivateBucket:
    """Makes a bucket with all that makes it one of the platform's, directly below the component that it belongs to.

    Args:
        name: logical name of every part.
        bucket_name: the bucket's name; None for a generated one.
        key_arn: key that objects are encrypted with.
        noncurrent_days: days that an overwritten or deleted object is kept.
        abort_upload_days: days after which an unfinished multipart upload is removed.
        keep_days: days after which an object ends though nobody deletes it; None: it stays.
        keep: whether it is protected from deletion, with all that makes it private; else it goes with the stack, and
            what is in it too.
        parent: the component.
    """
    child = pulumi.ResourceOptions(parent=parent, protect=keep or None)
    bucket = aws.s3.Bucket(name, bucket=bucket_name, force_destroy=not keep, opts=child)
    aws.s3.BucketOwnershipControls(
        name, bucket=bucket.bucket, rule={"object_ownership": "BucketOwnerEnforced"}, opts=child
    )
    blocked = aws.s3.BucketPublicAccessBlock(
        name,
        bucket=bucket.bucket,
        block_public_acls=True,
        block_public_policy=True,
        ignore_public_acls=True,
        restrict_public_buckets=True,
        opts=child,
    )
    aws.s3.BucketServerSideEncryptionConfiguration(
        name,
        bucket=bucket.bucket,
        rules=[
            {
                "apply_server_side_encryption_by_default": {
                    "sse_algorithm": "aws:kms",
                    "kms_master_key_id": key_arn,
                },
                # One data key for many objects: fewer, cheaper calls to KMS.
                "bucket_key_enabled": True,
            }
        ],
        opts=child,
    )
    versioning = aws.s3.BucketVersioning(
        name, bucket=bucket.bucket, versioning_configuration={"status": "Enabled"}, opts=child
    )
    aws.s3.BucketLifecycleConfiguration(
        name,
        bucket=bucket.bucket,
        rules=_lifecycle(keep_days, noncurrent_days, abort_upload_days),
        # Rules on old versions mean nothing before there are versions.
        opts=pulumi.ResourceOptions.merge(child, pulumi.ResourceOptions(depends_on=[versioning])),
    )
    aws.s3.BucketPolicy(
        name,
        bucket=bucket.bucket,
        policy=document(deny_plain_http("s3", [bucket.arn, pulumi.Output.concat(bucket.arn, "/*")])),
        # S3 handles one of the two at a time and answers the other with a conflict.
        opts=pulumi.ResourceOptions.merge(child, pulumi.ResourceOptions(depends_on=[blocked])),
    )
    return PrivateBucket(bucket.bucket, bucket.arn)


def owner_statements(
    bucket_arn: pulumi.Input[str], key_arn: pulumi.Input[str], region: str
) -> tuple[dict[str, Any], ...]:
    """What a service account is allowed that a whole bucket belongs to: all of its objects, and nothing else.

    Args:
        bucket_arn: the bucket.
        key_arn: key that its objects are encrypted with; S3 alone may use it for the account.
        region: AWS region of the bucket.
    """
    return (
        {
            "Effect": "Allow",
            "Action": [
                "s3:GetObject",
                "s3:PutObject",
                "s3:DeleteObject",
                "s3:AbortMultipartUpload",
                "s3:ListMultipartUploadParts",
            ],
            "Resource": pulumi.Output.concat(bucket_arn, "/*"),
        },
        {
            "Effect": "Allow",
            "Action": ["s3:ListBucket", "s3:GetBucketLocation", "s3:ListBucketMultipartUploads"],
            "Resource": bucket_arn,
        },
        {
            "Effect": "Allow",
            "Action": ["kms:Decrypt", "kms:GenerateDataKey"],
            "Resource": key_arn,
            "Condition": {"StringEquals": {"kms:ViaService": f"s3.{region}.{dns_suffix_of(region)}"}},
        },
    )


def _lifecycle(
    keep_days: int | None, noncurrent_days: int, abort_upload_days: int
) -> list[aws.s3.BucketLifecycleConfigurationRuleArgsDict]:
    """The rules by which objects, versions and uploads end."""
    everything: aws.s3.BucketLifecycleConfigurationRuleFilterArgsDict = {"prefix": ""}
    rules: list[aws.s3.BucketLifecycleConfigurationRuleArgsDict] = [
        {
            "id": "old-versions",
            "status": "Enabled",
            "filter": everything,
            "noncurrent_version_expiration": {"noncurrent_days": noncurrent_days},
        },
        {
            "id": "delete-markers",
            "status": "Enabled",
            "filter": everything,
            "expiration": {"expired_object_delete_marker": True},
        },
        {
            "id": "unfinished-uploads",
            "status": "Enabled",
            "filter": everything,
            "abort_incomplete_multipart_upload": {"days_after_initiation": abort_upload_days},
        },
    ]
    if keep_days is not None:
        rules.append({"id": "objects", "status": "Enabled", "filter": everything, "expiration": {"days": keep_days}})
    return rules
