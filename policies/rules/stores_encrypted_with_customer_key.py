"""Stores are encrypted with a key of the customer's.

Each resource is judged by itself, by where its type takes the key and what must be switched on for it to count.
Whether a bucket has an encryption configuration at all is a question about two resources, for the rule
`buckets_encrypted_with_customer_key`; the volumes of nodes are no stores, and have the rule `node_volumes_encrypted`.
"""

from collections.abc import Callable, Iterator
from typing import cast

from pulumi_policy import PolicyComplianceFramework, Severity

from .judging.customer_keys import judge_key
from .judging.properties import Unknown, Value, at, elements, is_true
from .judging.rule import Config, Resource, Verdict, resource_rule

_Check = Callable[[Value], Iterator[Verdict]]


def _keyed(key: str, switch: str | None = None, on: str | None = None, inherits: tuple[str, ...] = ()) -> _Check:
    """Makes the check of a store that names its key in one property.

    Args:
        key: where the key is given, as a dotted path.
        switch: where encryption is switched on, if that takes more than naming a key.
        on: the switch's value that means "with a KMS key"; None for a switch that is true or false.
        inherits: properties that make this a copy of an encrypted store, whose key it then shares.
    """

    def check(properties: Value) -> Iterator[Verdict]:
        if any(at(properties, name) is not None for name in inherits):
            return
        if switch is not None:
            state = at(properties, *switch.split("."))
            if isinstance(state, Unknown):
                yield state
            elif not (is_true(state) if on is None else state == on):
                yield f"{switch} is {_shown(state)}, so it is not encrypted with a KMS key; set it to {on or 'true'}."
        yield from judge_key(at(properties, *key.split(".")), key)

    return check


def _shown(value: Value) -> str:
    return "not set" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _repository(properties: Value) -> Iterator[Verdict]:
    """An ECR repository: at most one configuration, and without one the registry's own key."""
    configurations = elements(at(properties, "encryptionConfigurations")) or [None]
    check = _keyed("kmsKey", "encryptionType", "KMS")
    for configuration in configurations:
        yield from [configuration] if isinstance(configuration, Unknown) else check(configuration)


def _bucket_encryption(properties: Value) -> Iterator[Verdict]:
    """A bucket's encryption configuration: every rule in it must name a KMS key."""
    for rule in elements(at(properties, "rules")) or [None]:
        default = at(rule, "applyServerSideEncryptionByDefault")
        if isinstance(default, Unknown):
            yield default
            continue
        algorithm = at(default, "sseAlgorithm")
        if isinstance(algorithm, Unknown):
            yield algorithm
        elif algorithm not in {"aws:kms", "aws:kms:dsse"}:
            yield f"sseAlgorithm is {_shown(algorithm)}, which uses no KMS key; set it to aws:kms."
        yield from judge_key(at(default, "kmsMasterKeyId"), "kmsMasterKeyId")


def _lustre(properties: Value) -> Iterator[Verdict]:
    """FSx for Lustre: scratch file systems, which are the default, take no key."""
    deployment = at(properties, "deploymentType")
    if isinstance(deployment, Unknown):
        yield deployment
    elif deployment is None or str(deployment).startswith("SCRATCH"):
        yield f"deploymentType is {_shown(deployment)}: scratch file systems take no key; use PERSISTENT_2."
        return
    yield from judge_key(at(properties, "kmsKeyId"), "kmsKeyId")


def _parameter(properties: Value) -> Iterator[Verdict]:
    """An SSM parameter: only a SecureString is encrypted, and only it holds what should be."""
    kind = at(properties, "type")
    if isinstance(kind, Unknown):
        yield kind
    elif kind == "SecureString":
        yield from judge_key(at(properties, "keyId"), "keyId")


def _storage_class(properties: Value) -> Iterator[Verdict]:
    """A StorageClass: the volumes that Kubernetes will make are encrypted as it says."""
    provisioner = at(properties, "provisioner")
    parameters = at(properties, "parameters")
    if isinstance(provisioner, Unknown) or isinstance(parameters, Unknown):
        yield provisioner if isinstance(provisioner, Unknown) else parameters
    elif provisioner in {"ebs.csi.aws.com", "ebs.csi.eks.amazonaws.com"}:
        # The driver reads the names of parameters without regard to case.
        lowered = {name.lower(): value for name, value in cast(dict[str, Value], parameters or {}).items()}
        named = {"encrypted": lowered.get("encrypted"), "kmsKeyId": lowered.get("kmskeyid")}
        yield from _keyed("kmsKeyId", "encrypted")(named)
    elif provisioner == "fsx.csi.aws.com":
        yield from _lustre(parameters)


STORES: dict[str, _Check] = {
    "aws:backup/vault:Vault": _keyed("kmsKeyArn"),
    "aws:cloudwatch/logGroup:LogGroup": _keyed("kmsKeyId"),
    "aws:docdb/cluster:Cluster": _keyed("kmsKeyId", "storageEncrypted", inherits=("globalClusterIdentifier",)),
    "aws:dynamodb/table:Table": _keyed("serverSideEncryption.kmsKeyArn", "serverSideEncryption.enabled"),
    "aws:ebs/snapshotCopy:SnapshotCopy": _keyed("kmsKeyId", "encrypted"),
    "aws:ebs/volume:Volume": _keyed("kmsKeyId", "encrypted"),
    "aws:ecr/repository:Repository": _repository,
    "aws:efs/fileSystem:FileSystem": _keyed("kmsKeyId", "encrypted"),
    "aws:eks/cluster:Cluster": _keyed("encryptionConfig.provider.keyArn"),
    "aws:elasticache/replicationGroup:ReplicationGroup": _keyed(
        "kmsKeyId", "atRestEncryptionEnabled", inherits=("globalReplicationGroupId",)
    ),
    "aws:elasticache/serverlessCache:ServerlessCache": _keyed("kmsKeyId"),
    "aws:fsx/fileCache:FileCache": _keyed("kmsKeyId"),
    "aws:fsx/lustreFileSystem:LustreFileSystem": _lustre,
    "aws:fsx/ontapFileSystem:OntapFileSystem": _keyed("kmsKeyId"),
    "aws:fsx/openZfsFileSystem:OpenZfsFileSystem": _keyed("kmsKeyId"),
    "aws:fsx/windowsFileSystem:WindowsFileSystem": _keyed("kmsKeyId"),
    "aws:kinesis/stream:Stream": _keyed("kmsKeyId", "encryptionType", "KMS"),
    "aws:memorydb/cluster:Cluster": _keyed("kmsKeyArn"),
    "aws:msk/cluster:Cluster": _keyed("encryptionInfo.encryptionAtRestKmsKeyArn"),
    "aws:neptune/cluster:Cluster": _keyed("kmsKeyArn", "storageEncrypted", inherits=("globalClusterIdentifier",)),
    "aws:opensearch/domain:Domain": _keyed("encryptAtRest.kmsKeyId", "encryptAtRest.enabled"),
    "aws:rds/cluster:Cluster": _keyed("kmsKeyId", "storageEncrypted", inherits=("replicationSourceIdentifier",)),
    "aws:rds/instance:Instance": _keyed(
        "kmsKeyId", "storageEncrypted", inherits=("replicateSourceDb", "snapshotIdentifier", "restoreToPointInTime")
    ),
    "aws:redshift/cluster:Cluster": _keyed("kmsKeyId", "encrypted"),
    "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration": _bucket_encryption,
    "aws:s3/bucketServerSideEncryptionConfigurationV2:BucketServerSideEncryptionConfigurationV2": _bucket_encryption,
    "aws:secretsmanager/secret:Secret": _keyed("kmsKeyId"),
    "aws:sns/topic:Topic": _keyed("kmsMasterKeyId"),
    "aws:sqs/queue:Queue": _keyed("kmsMasterKeyId"),
    "aws:ssm/parameter:Parameter": _parameter,
    "kubernetes:storage.k8s.io/v1:StorageClass": _storage_class,
}


def _check(resource: Resource, config: Config) -> Iterator[Verdict]:
    if resource.type not in config.get("exemptTypes", ()):
        yield from STORES[resource.type](resource.properties)


RULE = resource_rule(
    _check,
    name="stores-encrypted-with-customer-key",
    description="Stores are encrypted with a KMS key of the customer's, not with a key that AWS owns or manages.",
    judges=STORES,
    severity=Severity.HIGH,
    remediation=(
        "Make a KMS key, let the service use it in the key's policy, switch encryption on and name the key's ARN. Most "
        "stores cannot change their key later, so do it before they hold data."
    ),
    standard=PolicyComplianceFramework(name="CIS Amazon EKS Benchmark", version="1.8.0", reference="5.3.1"),
    tags=[
        *("CKV_AWS_16", "CKV_AWS_26", "CKV_AWS_27", "CKV_AWS_29", "CKV_AWS_42", "CKV_AWS_58", "CKV_AWS_136"),
        *("CKV_AWS_145", "CKV_AWS_149", "CKV_AWS_158", "CKV_AWS_184", "CKV_AWS_189", "CKV_AWS_190", "CKV_AWS_191"),
    ],
    config={
        "exemptTypes": {
            "type": "array",
            "items": {"type": "string"},
            "default": [],
            "description": "Type tokens that need no customer key, such as aws:cloudwatch/logGroup:LogGroup.",
        }
    },
)
