"""The bucket that models are served from."""

import pulumi
import pulumi_aws as aws
from typing_extensions import TypedDict

from components.policy_document import deny_plain_http, document


class ModelBucketSettings(TypedDict):
    """The plain part of `ModelBucketArgs`."""

    name: str | None
    """The bucket's name; None for a generated one."""
    noncurrent_days: int
    """Days that an overwritten or deleted object is kept."""
    abort_upload_days: int
    """Days after which an unfinished multipart upload is removed."""


class ModelBucketArgs(ModelBucketSettings):
    """What the bucket needs."""

    key_arn: pulumi.Input[str]
    """Key that objects are encrypted with."""


class ModelBucket(pulumi.ComponentResource):
    """A private, versioned, encrypted bucket that answers over TLS only."""

    bucket: pulumi.Output[str]
    arn: pulumi.Output[str]

    def __init__(self, name: str, args: ModelBucketArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("eksai:index:ModelBucket", name, {}, opts)
        child = pulumi.ResourceOptions(parent=self)
        bucket = aws.s3.Bucket(name, bucket=args["name"], opts=child)
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
                        "kms_master_key_id": args["key_arn"],
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
            rules=[
                {
                    "id": "old-versions",
                    "status": "Enabled",
                    "filter": {"prefix": ""},
                    "noncurrent_version_expiration": {"noncurrent_days": args["noncurrent_days"]},
                },
                {
                    "id": "delete-markers",
                    "status": "Enabled",
                    "filter": {"prefix": ""},
                    "expiration": {"expired_object_delete_marker": True},
                },
                {
                    "id": "unfinished-uploads",
                    "status": "Enabled",
                    "filter": {"prefix": ""},
                    "abort_incomplete_multipart_upload": {"days_after_initiation": args["abort_upload_days"]},
                },
            ],
            # Rules on old versions mean nothing before there are versions.
            opts=pulumi.ResourceOptions(parent=self, depends_on=[versioning]),
        )
        aws.s3.BucketPolicy(
            name,
            bucket=bucket.bucket,
            policy=document(deny_plain_http("s3", [bucket.arn, pulumi.Output.concat(bucket.arn, "/*")])),
            # S3 handles one of the two at a time and answers the other with a conflict.
            opts=pulumi.ResourceOptions(parent=self, depends_on=[blocked]),
        )
        self.bucket = bucket.bucket
        self.arn = bucket.arn
        self.register_outputs({"bucket": self.bucket})
