"""S3: buckets and what is configured on them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from localcloud.aws.kms import encrypts_with
from localcloud.checks import matches, one_of
from localcloud.errors import AwsError
from localcloud.properties import values_at
from localcloud.resource_type import (
    Api,
    AutoName,
    Check,
    OnDelete,
    PolicyKind,
    Refers,
    ResourceType,
    Scope,
    Unique,
)

if TYPE_CHECKING:
    from localcloud.account import Account
    from localcloud.record import Record

BUCKET = "aws:s3/bucket:Bucket"
ENCRYPTION = "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration"
OBJECT = "aws:s3/bucketObjectv2:BucketObjectv2"

# Names that the API nests in another way, or lacks.
_PROVIDERS_OWN = {
    "bucket": "",
    "versioningConfiguration": "",
    "rule": "Rules",
    "rules.filter.tag": "Tag",
    "rules.applyServerSideEncryptionByDefault.kmsMasterKeyId": "KMSMasterKeyID",
}

_IN_BUCKET = Refers("bucket", BUCKET, "NoSuchBucket", on_delete=OnDelete.CASCADE)


def key_of(account: "Account", bucket: str) -> str | None:
    """Returns the id or ARN of the key that a bucket encrypts with, None when S3's own does."""
    path = "rules.applyServerSideEncryptionByDefault.kmsMasterKeyId"
    found = (key for one in account.find(ENCRYPTION, bucket=bucket) for key in values_at(one.outputs, path))
    return next(found, None)


def _is_empty(account: "Account", bucket: "Record") -> None:
    if any(account.find(OBJECT, bucket=bucket.id)) and not bucket["forceDestroy"]:
        raise AwsError("BucketNotEmpty", f"the bucket {bucket.id} you tried to delete is not empty")


def _configuration(
    kind: str,
    *required: str,
    shape: str = "",
    checks: tuple[Check, ...] = (),
    refers: tuple[Refers, ...] = (),
    policies: Mapping[str, PolicyKind] | None = None,
    **defaults: Any,
) -> ResourceType:
    """A setting of a bucket, of which a bucket has one."""
    token = f"aws:s3/{kind}:{kind[0].upper()}{kind[1:]}"
    return ResourceType(
        token,
        id="{bucket}",
        defaults=defaults,
        required=("bucket", *required),
        replaces=("bucket",),
        checks=checks,
        api=Api("s3", shape, _PROVIDERS_OWN) if shape else None,
        policies=policies or {},
        refers=(_IN_BUCKET, *refers),
        scope=Scope.ACCOUNT,
    )


TYPES = (
    ResourceType(
        BUCKET,
        id="{bucket}",
        outputs={
            "arn": "arn:{partition}:s3:::{bucket}",
            "region": "{region}",
            "bucketDomainName": "{bucket}.s3.{dns_suffix}",
            "bucketRegionalDomainName": "{bucket}.s3.{region}.{dns_suffix}",
        },
        defaults={"forceDestroy": False, "objectLockEnabled": False},
        auto_name=AutoName(path="bucket", longest=63, lower=True),
        replaces=("bucket", "objectLockEnabled"),
        checks=(
            matches(
                "bucket",
                r"(?!xn--)(?!\d+\.\d+\.\d+\.\d+$)[a-z0-9](?!.*\.\.)[a-z0-9.-]{1,61}[a-z0-9]",
                "a bucket name: 3 to 63 lower-case letters, digits, dots and hyphens",
            ),
        ),
        unique=(Unique(("bucket",), "BucketAlreadyOwnedByYou", "the bucket {bucket} exists and is your own"),),
        releases=(_is_empty,),
        # Bucket names are shared by all regions.
        scope=Scope.ACCOUNT,
        tagged=True,
    ),
    ResourceType(
        OBJECT,
        id="{bucket}/{key}",
        outputs={"arn": "arn:{partition}:s3:::{bucket}/{key}", "etag": "{hex32}", "versionId": "{upper32}"},
        required=("bucket", "key"),
        replaces=("bucket", "key"),
        refers=(_IN_BUCKET,),
        scope=Scope.ACCOUNT,
        tagged=True,
    ),
    _configuration(
        "bucketVersioning",
        "versioningConfiguration.status",
        checks=(one_of("versioningConfiguration.status", ("Enabled", "Suspended", "Disabled")),),
    ),
    _configuration(
        "bucketServerSideEncryptionConfiguration",
        "rules",
        shape="ServerSideEncryptionConfiguration",
        checks=(
            one_of("rules.applyServerSideEncryptionByDefault.sseAlgorithm", ("AES256", "aws:kms", "aws:kms:dsse")),
        ),
        refers=(encrypts_with("rules.applyServerSideEncryptionByDefault.kmsMasterKeyId", "KMS.NotFoundException"),),
    ),
    _configuration(
        "bucketPublicAccessBlock",
        shape="PublicAccessBlockConfiguration",
        blockPublicAcls=False,
        blockPublicPolicy=False,
        ignorePublicAcls=False,
        restrictPublicBuckets=False,
    ),
    _configuration("bucketPolicy", "policy", policies={"policy": PolicyKind.BUCKET}),
    _configuration(
        "bucketLifecycleConfiguration",
        "rules",
        shape="BucketLifecycleConfiguration",
        checks=(one_of("rules.status", ("Enabled", "Disabled")),),
    ),
    _configuration(
        "bucketOwnershipControls",
        "rule.objectOwnership",
        shape="OwnershipControls",
        checks=(one_of("rule.objectOwnership", ("BucketOwnerEnforced", "BucketOwnerPreferred", "ObjectWriter")),),
    ),
)
