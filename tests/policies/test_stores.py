"""Stores: whose key encrypts them, and whether it is switched on."""

import importlib
import inspect

import pytest
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE as UNKNOWN

from policies.rules.stores_encrypted_with_customer_key import STORES

RULE = "stores-encrypted-with-customer-key"
KEY = "arn:aws:kms:us-west-2:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"
AWS_KEY = "arn:aws:kms:us-west-2:111122223333:alias/aws/ebs"
SSE = "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration"

# Each type with a sound resource, and the path of its key.
GOOD = {
    "aws:backup/vault:Vault": ({"kmsKeyArn": KEY}, "kmsKeyArn"),
    "aws:cloudwatch/logGroup:LogGroup": ({"kmsKeyId": KEY}, "kmsKeyId"),
    "aws:docdb/cluster:Cluster": ({"storageEncrypted": True, "kmsKeyId": KEY}, "kmsKeyId"),
    "aws:dynamodb/table:Table": (
        {"serverSideEncryption": {"enabled": True, "kmsKeyArn": KEY}},
        "serverSideEncryption/kmsKeyArn",
    ),
    "aws:ebs/snapshotCopy:SnapshotCopy": ({"encrypted": True, "kmsKeyId": KEY}, "kmsKeyId"),
    "aws:ebs/volume:Volume": ({"encrypted": True, "kmsKeyId": KEY}, "kmsKeyId"),
    "aws:ecr/repository:Repository": (
        {"encryptionConfigurations": [{"encryptionType": "KMS", "kmsKey": KEY}]},
        "encryptionConfigurations/0/kmsKey",
    ),
    "aws:efs/fileSystem:FileSystem": ({"encrypted": True, "kmsKeyId": KEY}, "kmsKeyId"),
    "aws:eks/cluster:Cluster": (
        {"encryptionConfig": {"provider": {"keyArn": KEY}, "resources": ["secrets"]}},
        "encryptionConfig/provider/keyArn",
    ),
    "aws:elasticache/replicationGroup:ReplicationGroup": (
        {"atRestEncryptionEnabled": "true", "kmsKeyId": KEY},
        "kmsKeyId",
    ),
    "aws:elasticache/serverlessCache:ServerlessCache": ({"kmsKeyId": KEY}, "kmsKeyId"),
    "aws:fsx/fileCache:FileCache": ({"kmsKeyId": KEY}, "kmsKeyId"),
    "aws:fsx/lustreFileSystem:LustreFileSystem": ({"deploymentType": "PERSISTENT_2", "kmsKeyId": KEY}, "kmsKeyId"),
    "aws:fsx/ontapFileSystem:OntapFileSystem": ({"kmsKeyId": KEY}, "kmsKeyId"),
    "aws:fsx/openZfsFileSystem:OpenZfsFileSystem": ({"kmsKeyId": KEY}, "kmsKeyId"),
    "aws:fsx/windowsFileSystem:WindowsFileSystem": ({"kmsKeyId": KEY}, "kmsKeyId"),
    "aws:kinesis/stream:Stream": ({"encryptionType": "KMS", "kmsKeyId": KEY}, "kmsKeyId"),
    "aws:memorydb/cluster:Cluster": ({"kmsKeyArn": KEY}, "kmsKeyArn"),
    "aws:msk/cluster:Cluster": (
        {"encryptionInfo": {"encryptionAtRestKmsKeyArn": KEY}},
        "encryptionInfo/encryptionAtRestKmsKeyArn",
    ),
    "aws:neptune/cluster:Cluster": ({"storageEncrypted": True, "kmsKeyArn": KEY}, "kmsKeyArn"),
    "aws:opensearch/domain:Domain": ({"encryptAtRest": {"enabled": True, "kmsKeyId": KEY}}, "encryptAtRest/kmsKeyId"),
    "aws:rds/cluster:Cluster": ({"storageEncrypted": True, "kmsKeyId": KEY}, "kmsKeyId"),
    "aws:rds/instance:Instance": ({"storageEncrypted": True, "kmsKeyId": KEY}, "kmsKeyId"),
    "aws:redshift/cluster:Cluster": ({"encrypted": "true", "kmsKeyId": KEY}, "kmsKeyId"),
    SSE: (
        {
            "bucket": "b",
            "rules": [{"applyServerSideEncryptionByDefault": {"sseAlgorithm": "aws:kms", "kmsMasterKeyId": KEY}}],
        },
        "rules/0/applyServerSideEncryptionByDefault/kmsMasterKeyId",
    ),
    "aws:s3/bucketServerSideEncryptionConfigurationV2:BucketServerSideEncryptionConfigurationV2": (
        {
            "bucket": "b",
            "rules": [{"applyServerSideEncryptionByDefault": {"sseAlgorithm": "aws:kms:dsse", "kmsMasterKeyId": KEY}}],
        },
        "rules/0/applyServerSideEncryptionByDefault/kmsMasterKeyId",
    ),
    "aws:secretsmanager/secret:Secret": ({"kmsKeyId": KEY}, "kmsKeyId"),
    "aws:sns/topic:Topic": ({"kmsMasterKeyId": KEY}, "kmsMasterKeyId"),
    "aws:sqs/queue:Queue": ({"kmsMasterKeyId": "alias/eksai"}, "kmsMasterKeyId"),
    "aws:ssm/parameter:Parameter": ({"type": "SecureString", "keyId": KEY}, "keyId"),
    "kubernetes:storage.k8s.io/v1:StorageClass": (
        {"provisioner": "ebs.csi.aws.com", "parameters": {"encrypted": "true", "kmsKeyId": KEY}},
        "parameters/kmsKeyId",
    ),
}


def test_every_kind_of_store_has_a_sound_example():
    assert set(GOOD) == set(STORES)


@pytest.mark.filterwarnings("ignore:.*has been deprecated:DeprecationWarning")  # the SDK's own old modules
@pytest.mark.parametrize("token", [token for token in GOOD if token.startswith("aws:")])
def test_every_judged_type_and_property_exists_in_the_provider(token):
    package, kind = token.split(":")[1].split("/")[0], token.split(":")[2]
    resource = getattr(importlib.import_module(f"pulumi_aws.{package}"), kind)
    names = set(inspect.signature(resource._internal_init).parameters)
    for name in GOOD[token][0]:
        snake = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
        assert snake in names, f"{kind} has no {name}, so the rule would never see it"


@pytest.mark.parametrize("token", GOOD)
def test_a_store_with_a_customers_key_passes(judge, token):
    outcome = judge(RULE, token, GOOD[token][0])
    assert (outcome.violations, outcome.unknown) == ([], "")


@pytest.mark.parametrize("token", GOOD)
@pytest.mark.parametrize(("key", "message"), [(None, "is not set"), (AWS_KEY, "a key that AWS manages")])
def test_a_store_without_a_customers_key_is_refused(judge, changed, token, key, message):
    good, path = GOOD[token]
    violations = judge(RULE, token, changed(good, path, key)).violations
    assert len(violations) == 1
    assert message in violations[0]
    assert path.split("/")[-1] in violations[0], "the message names the property to set"


@pytest.mark.parametrize(
    ("token", "path", "value"),
    [
        ("aws:ebs/volume:Volume", "encrypted", False),
        ("aws:ebs/volume:Volume", "encrypted", None),
        ("aws:efs/fileSystem:FileSystem", "encrypted", None),
        ("aws:rds/instance:Instance", "storageEncrypted", None),
        ("aws:elasticache/replicationGroup:ReplicationGroup", "atRestEncryptionEnabled", "false"),
        ("aws:dynamodb/table:Table", "serverSideEncryption/enabled", False),
        ("aws:ecr/repository:Repository", "encryptionConfigurations/0/encryptionType", "AES256"),
        ("aws:kinesis/stream:Stream", "encryptionType", "NONE"),
        ("aws:fsx/lustreFileSystem:LustreFileSystem", "deploymentType", "SCRATCH_2"),
        ("aws:fsx/lustreFileSystem:LustreFileSystem", "deploymentType", None),
        (SSE, "rules/0/applyServerSideEncryptionByDefault/sseAlgorithm", "AES256"),
        ("kubernetes:storage.k8s.io/v1:StorageClass", "parameters/encrypted", "false"),
    ],
)
def test_a_key_that_is_named_but_not_used_does_not_pass(judge, changed, token, path, value):
    assert len(judge(RULE, token, changed(GOOD[token][0], path, value)).violations) == 1


@pytest.mark.parametrize(
    ("token", "properties"),
    [
        ("aws:ecr/repository:Repository", {}),
        ("aws:sqs/queue:Queue", {"sqsManagedSseEnabled": True}),
        ("aws:dynamodb/table:Table", {}),
        (SSE, {"bucket": "b", "rules": []}),
        ("kubernetes:storage.k8s.io/v1:StorageClass", {"provisioner": "ebs.csi.eks.amazonaws.com"}),
        ("kubernetes:storage.k8s.io/v1:StorageClass", {"provisioner": "fsx.csi.aws.com"}),
        (
            "kubernetes:storage.k8s.io/v1:StorageClass",
            {"provisioner": "fsx.csi.aws.com", "parameters": {"deploymentType": "PERSISTENT_2"}},
        ),
    ],
)
def test_a_store_that_says_nothing_is_refused(judge, token, properties):
    assert judge(RULE, token, properties).violations


@pytest.mark.parametrize(
    ("token", "properties"),
    [
        ("aws:rds/instance:Instance", {"replicateSourceDb": "primary"}),
        ("aws:rds/instance:Instance", {"replicateSourceDb": UNKNOWN}),
        ("aws:elasticache/replicationGroup:ReplicationGroup", {"globalReplicationGroupId": "g"}),
        ("aws:ssm/parameter:Parameter", {"type": "String"}),
        ("kubernetes:storage.k8s.io/v1:StorageClass", {"provisioner": "efs.csi.aws.com"}),
        (
            "kubernetes:storage.k8s.io/v1:StorageClass",
            {"provisioner": "ebs.csi.aws.com", "parameters": {"Encrypted": "true", "KmsKeyId": KEY}},
        ),
        (
            "kubernetes:storage.k8s.io/v1:StorageClass",
            {"provisioner": "fsx.csi.aws.com", "parameters": {"deploymentType": "PERSISTENT_2", "kmsKeyId": KEY}},
        ),
    ],
)
def test_a_store_that_takes_no_key_of_its_own_passes(judge, token, properties):
    outcome = judge(RULE, token, properties)
    assert (outcome.violations, outcome.unknown) == ([], "")


@pytest.mark.parametrize("token", GOOD)
def test_an_unknown_key_is_reported_and_never_passes(judge, changed, token):
    good, path = GOOD[token]
    outcome = judge(RULE, token, changed(good, path, UNKNOWN))
    assert (outcome.violations, outcome.unknown) == ([], path.replace("/", "."))


@pytest.mark.parametrize("name", ["provisioner", "parameters"])
def test_a_storage_class_of_unknown_kind_is_reported(judge, changed, name):
    token = "kubernetes:storage.k8s.io/v1:StorageClass"
    outcome = judge(RULE, token, changed(GOOD[token][0], name, UNKNOWN))
    assert (outcome.violations, outcome.unknown) == ([], name)


def test_a_known_fault_beside_an_unknown_key_is_still_refused(judge):
    outcome = judge(RULE, "aws:ebs/volume:Volume", {"encrypted": False, "kmsKeyId": UNKNOWN})
    assert len(outcome.violations) == 1
    assert outcome.unknown == "kmsKeyId"


def test_configuration_exempts_a_type(judge):
    token = "aws:cloudwatch/logGroup:LogGroup"
    assert judge(RULE, token, {}).violations
    assert judge(RULE, token, {}, exemptTypes=[token]).violations == []
