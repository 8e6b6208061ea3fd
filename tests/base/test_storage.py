"""The stores that pods can mount."""

import json
from typing import Any

import pulumi
import pulumi_aws as aws
import pytest

from components.base.shared_files import SHARED_VOLUMES
from components.base.storage import StorageArgs, StorageSettings, make_storage
from components.storage import Storage
from tests.world import Built, run

EFS, TARGET, POINT = (
    "aws:efs/fileSystem:FileSystem",
    "aws:efs/mountTarget:MountTarget",
    "aws:efs/accessPoint:AccessPoint",
)
LUSTRE, LINK = (
    "aws:fsx/lustreFileSystem:LustreFileSystem",
    "aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation",
)
SUBNETS = {"us-west-2a": "subnet-a", "us-west-2b": "subnet-b"}
ARGS = StorageArgs(
    region="us-west-2",
    cluster_name="eksai-dev",
    key_arn="arn:aws:kms:us-west-2:111122223333:key/0a1b",
    subnet_ids=SUBNETS,
    nfs_security_group_id="sg-nfs",
    lustre_security_group_id="sg-lustre",
    bucket="models",
    keep=True,
)


def storage(*, efs: bool = False, backups: bool = True, lustre: bool = False) -> Built[Storage]:
    settings: StorageSettings = {
        "efs": {"enabled": efs, "backups": backups},
        "lustre": {"zone": "us-west-2b", "capacity_gib": 4800, "throughput_mb_per_tib": 250} if lustre else None,
    }
    return run(lambda: make_storage(settings, ARGS, pulumi.ResourceOptions()))


def test_without_file_systems_there_is_the_model_bucket_to_mount_and_nothing_is_made():
    built = storage()
    assert set(built.result.volumes) == {"models"}
    assert (built.result.efs_id, built.result.lustre) == (None, None)
    assert built.resources == []


def test_the_bucket_is_mounted_read_only_for_every_user():
    models = storage().result.volumes["models"]
    assert models.is_read_only
    assert models.attributes == {"bucketName": "models"}
    assert models.mount_options == ("allow-other", "read-only", "region us-west-2")


@pytest.mark.parametrize("token", [EFS, LUSTRE])
def test_a_file_system_is_encrypted_with_the_key(token: str):
    system = storage(efs=True, lustre=True).only(token)
    assert system.inputs["kmsKeyId"] == ARGS["key_arn"]
    assert system.inputs.get("encrypted", True) is True


def test_efs_is_mounted_from_each_zone_through_the_group_for_nfs():
    targets = storage(efs=True).all(TARGET)
    assert [t.inputs["subnetId"] for t in targets] == list(SUBNETS.values())
    assert {tuple(t.inputs["securityGroups"]) for t in targets} == {("sg-nfs",)}


def statements(built: Built[Storage]) -> dict[str, dict[str, Any]]:
    policy = json.loads(built.only("aws:efs/fileSystemPolicy:FileSystemPolicy").inputs["policy"])
    return {statement["Sid"]: statement for statement in policy["Statement"]}


def test_efs_is_mounted_through_access_points_only_and_nobody_is_root_there():
    allowed = statements(storage(efs=True))["MountThroughAccessPoints"]
    assert allowed["Action"] == ["elasticfilesystem:ClientMount", "elasticfilesystem:ClientWrite"]
    points = "arn:aws:elasticfilesystem:us-west-2:111122223333:access-point/*"
    assert allowed["Condition"]["StringLike"] == {"elasticfilesystem:AccessPointArn": points}
    assert allowed["Condition"]["Bool"] == {"elasticfilesystem:AccessedViaMountTarget": "true"}


def test_efs_refuses_what_comes_without_tls():
    denied = statements(storage(efs=True))["DenyPlainHttp"]
    assert (denied["Effect"], denied["Action"]) == ("Deny", "elasticfilesystem:*")
    assert denied["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}


@pytest.mark.parametrize(("backups", "status"), [(True, "ENABLED"), (False, "DISABLED")])
def test_efs_is_backed_up_unless_told_otherwise(backups: bool, status: str):
    policy = storage(efs=True, backups=backups).only("aws:efs/backupPolicy:BackupPolicy").inputs
    assert policy["backupPolicy"] == {"status": status}


def test_each_shared_volume_is_a_folder_of_its_own_that_one_user_owns():
    points = {point.name: point.inputs for point in storage(efs=True).all(POINT)}
    assert set(points) == set(SHARED_VOLUMES) == {"shared-datasets", "shared-models"}
    for name, point in points.items():
        made = point["rootDirectory"]["creationInfo"]
        assert point["rootDirectory"]["path"] == f"/{name}"
        assert (made["ownerUid"], made["ownerGid"]) == (point["posixUser"]["uid"], point["posixUser"]["gid"])
        assert point["posixUser"]["uid"] != 0


def test_a_shared_volume_is_named_by_file_system_and_access_point():
    built = storage(efs=True)
    source = built.result.volumes["shared-models"]
    assert built.value(source.handle) == f"{built.only(EFS).id}::{built.named('shared-models', POINT).id}"
    assert (source.driver, source.capacity) == ("efs.csi.aws.com", "500Gi")


def test_lustre_is_fast_and_compressed_and_lies_in_its_zone():
    system = storage(lustre=True).only(LUSTRE).inputs
    assert (system["deploymentType"], system["dataCompressionType"]) == ("PERSISTENT_2", "LZ4")
    assert (system["storageCapacity"], system["perUnitStorageThroughput"]) == (4800, 250)
    assert (system["subnetIds"], system["securityGroupIds"]) == ("subnet-b", ["sg-lustre"])


def test_what_is_written_to_the_linked_folder_reaches_the_bucket_and_nothing_is_deleted_there():
    link = storage(lustre=True).only(LINK).inputs
    assert (link["dataRepositoryPath"], link["fileSystemPath"]) == ("s3://models", "/models")
    assert link["s3"]["autoImportPolicy"]["events"] == ["NEW", "CHANGED", "DELETED"]
    assert link["s3"]["autoExportPolicy"]["events"] == ["NEW", "CHANGED"]


def test_a_linked_file_system_has_no_backups_which_fsx_would_refuse():
    assert "automaticBackupRetentionDays" not in storage(lustre=True).only(LUSTRE).inputs


def test_the_lustre_volume_says_what_its_driver_reads():
    built = storage(lustre=True)
    system, source = built.only(LUSTRE), built.result.volumes["lustre"]
    assert built.value(source.handle) == system.id
    assert source.attributes is not None
    attributes = {name: built.value(value) for name, value in source.attributes.items()}
    assert attributes == {"dnsname": system.outputs["dnsName"], "mountname": system.outputs["mountName"]}
    assert (source.capacity, source.mount_options) == ("4800Gi", ("flock",))


def test_whoever_mounts_a_file_system_waits_until_it_can_be_mounted():
    """Mount targets, the policy, the link: nothing that a volume names, so the handle carries them."""

    def build() -> None:
        settings: StorageSettings = {
            "efs": {"enabled": True, "backups": True},
            "lustre": {"zone": "us-west-2a", "capacity_gib": 1200, "throughput_mb_per_tib": 500},
        }
        made = make_storage(settings, ARGS, pulumi.ResourceOptions())
        for name in ("shared-models", "lustre"):
            handle = made.volumes[name].handle
            assert handle is not None
            aws.s3.Bucket(f"user-of-{name}", tags={"volume": handle})

    built = run(build)
    on_efs = set(built.named("user-of-shared-models").dependencies)
    awaited = [*built.all(TARGET), built.only("aws:efs/fileSystemPolicy:FileSystemPolicy")]
    assert {resource.urn for resource in awaited} <= on_efs
    assert built.only(LINK).urn in built.named("user-of-lustre").dependencies
