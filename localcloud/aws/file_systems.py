"""EFS and FSx for Lustre: file systems, and the ways into them."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from localcloud.aws.ec2 import SECURITY_GROUP, SUBNET
from localcloud.aws.kms import DATA_KEYS, caller_refusal, encrypts_with
from localcloud.aws.network_interfaces import NETWORK_INTERFACE
from localcloud.aws.s3 import BUCKET, key_of
from localcloud.checks import between, matches, one_of
from localcloud.errors import AwsError
from localcloud.resource_type import (
    Api,
    Failure,
    Identity,
    OnDelete,
    Owned,
    PolicyKind,
    Properties,
    Refers,
    ResourceType,
)
from localcloud.values import contains_unknown

if TYPE_CHECKING:
    from localcloud.account import Account
    from localcloud.record import Record

EFS = "aws:efs/fileSystem:FileSystem"
ACCESS_POINT = "aws:efs/accessPoint:AccessPoint"
MOUNT_TARGET = "aws:efs/mountTarget:MountTarget"
LUSTRE = "aws:fsx/lustreFileSystem:LustreFileSystem"
DATA_REPOSITORY = "aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation"

_MOST_ACCESS_POINTS = 10000
_MOST_DATA_REPOSITORIES = 8
_EVENTS = ("NEW", "CHANGED", "DELETED")

# MB/s for each TiB that a deployment type offers on SSD; it has to be given for those listed.
_THROUGHPUTS = {"PERSISTENT_1": (12, 40, 50, 100, 200), "PERSISTENT_2": (125, 250, 500, 1000)}


def capacity_fault(deployment_type: str, capacity: int) -> str | None:
    """Returns why FSx refuses a Lustre file system of this size on SSD, None when it does not.

    Args:
        deployment_type: such as `PERSISTENT_2`.
        capacity: in GiB.
    """
    steps = (1200, 2400, 3600) if deployment_type == "SCRATCH_1" else (1200, 2400, 2400)
    if capacity in steps[:2] or (capacity > 0 and capacity % steps[2] == 0):
        return None
    allowed = f"{steps[0]}, {steps[1]} and multiples of {steps[2]}"
    return f"{capacity} GiB is invalid for {deployment_type}: allowed are {allowed}"


def _capacity_fits(inputs: Properties, _: Identity) -> Iterator[Failure]:
    kind, capacity = inputs.get("deploymentType", "SCRATCH_1"), inputs.get("storageCapacity")
    if contains_unknown([kind, capacity]) or capacity is None or inputs.get("storageType", "SSD") != "SSD":
        return
    if fault := capacity_fault(kind, capacity):
        yield Failure("storageCapacity", f"BadRequest: {fault}")


def _throughput_fits(inputs: Properties, _: Identity) -> Iterator[Failure]:
    kind, throughput = inputs.get("deploymentType", "SCRATCH_1"), inputs.get("perUnitStorageThroughput")
    if contains_unknown([kind, throughput]):
        return
    allowed = _THROUGHPUTS.get(kind)
    if (allowed is None) != (throughput is None) or (allowed and throughput not in allowed):
        listed = f"one of {', '.join(map(str, allowed))}" if allowed else "nothing"
        yield Failure("perUnitStorageThroughput", f"BadRequest: {kind} takes {listed}, got {throughput}")


def _one_target_a_zone(account: "Account", target: "Record") -> None:
    subnet = next(account.find(SUBNET, id=target["subnetId"]))
    for other in account.find(MOUNT_TARGET, fileSystemId=target["fileSystemId"]):
        if other.id == target.id:
            continue
        theirs = next(account.find(SUBNET, id=other["subnetId"]))
        if theirs["availabilityZone"] == subnet["availabilityZone"]:
            raise AwsError("MountTargetConflict", f"mount target already exists in this AZ ({other.id})")
        if theirs["vpcId"] != subnet["vpcId"]:
            raise AwsError(
                "MountTargetConflict", f"requested subnet for new mount target is not in the same VPC as {other.id}"
            )


def _has_room(account: "Account", point: "Record") -> None:
    if len([*account.find(ACCESS_POINT, fileSystemId=point["fileSystemId"])]) >= _MOST_ACCESS_POINTS:
        raise AwsError("AccessPointLimitExceeded", f"{point['fileSystemId']} has {_MOST_ACCESS_POINTS} access points")


def _efs_may_use_the_key(account: "Account", system: "Record") -> None:
    if reason := caller_refusal(account, system["kmsKeyId"], "elasticfilesystem", actions=DATA_KEYS):
        raise AwsError("BadRequest", f"the key of {system.name} may not be used: {reason}")


def _fsx_may_use_the_key(account: "Account", system: "Record") -> None:
    actions = (*DATA_KEYS, "kms:CreateGrant", "kms:DescribeKey")
    if reason := caller_refusal(account, system["kmsKeyId"], "fsx", actions=actions):
        raise AwsError("BadRequest", f"the key of {system.name} may not be used: {reason}")


def _links_what_is_free(account: "Account", link: "Record") -> None:
    others = [
        other for other in account.find(DATA_REPOSITORY, fileSystemId=link["fileSystemId"]) if other.id != link.id
    ]
    if len(others) >= _MOST_DATA_REPOSITORIES:
        raise AwsError("BadRequest", f"{link['fileSystemId']} has {_MOST_DATA_REPOSITORIES} data repositories")
    for path in ("fileSystemPath", "dataRepositoryPath"):
        for other in others:
            if _overlap(link[path], other[path]):
                raise AwsError("BadRequest", f"{path} {link[path]} overlaps {other[path]} of {other.id}")


def _overlap(one: str, other: str) -> bool:
    first, second = sorted((f"{one.rstrip('/')}/", f"{other.rstrip('/')}/"), key=len)
    return second.startswith(first)


def _system_takes_links(account: "Account", link: "Record") -> None:
    system = next(account.find(LUSTRE, id=link["fileSystemId"]))
    if system["deploymentType"] == "SCRATCH_1":
        raise AwsError("BadRequest", f"{system.id} is SCRATCH_1, which takes no data repository association")
    if system["automaticBackupRetentionDays"]:
        raise AwsError("BadRequest", f"{system.id} has automatic backups, and a linked file system takes none")


def _bucket_can_be_read(account: "Account", link: "Record") -> None:
    bucket = link["dataRepositoryPath"].removeprefix("s3://").partition("/")[0]
    if not any(account.find(BUCKET, bucket=bucket)):
        raise AwsError("BadRequest", f"the bucket {bucket} of {link['dataRepositoryPath']} does not exist")
    _, partition, _, _, account_id, _ = link["arn"].split(":")
    role = (
        f"arn:{partition}:iam::{account_id}:role/aws-service-role/s3.data-source.lustre.fsx.amazonaws.com/"
        f"AWSServiceRoleForFSxS3Access_{link['fileSystemId']}"
    )
    if reason := caller_refusal(account, key_of(account, bucket), "s3", role, actions=DATA_KEYS):
        raise AwsError("Misconfigured", f"FSx has no access to the objects of {bucket}: {reason}")


TYPES: tuple[ResourceType, ...] = (
    ResourceType(
        EFS,
        id="fs-{hex17}",
        outputs={
            "arn": "arn:{partition}:elasticfilesystem:{region}:{account}:file-system/{id}",
            "dnsName": "{id}.efs.{region}.{dns_suffix}",
            "ownerId": "{account}",
        },
        defaults={"encrypted": False, "performanceMode": "generalPurpose", "throughputMode": "bursting"},
        replaces=("encrypted", "kmsKeyId", "performanceMode", "creationToken", "availabilityZoneName"),
        checks=(
            one_of("performanceMode", ("generalPurpose", "maxIO")),
            one_of("throughputMode", ("bursting", "provisioned", "elastic")),
        ),
        api=Api(
            "efs",
            "CreateFileSystem",
            dict.fromkeys(("lifecyclePolicies", "protection", "tags"), ""),
            supplied=("CreationToken",),
        ),
        refers=(encrypts_with("kmsKeyId", "KMSKeyNotFound"),),
        admits=(_efs_may_use_the_key,),
        tagged=True,
    ),
    ResourceType(
        MOUNT_TARGET,
        id="fsmt-{hex17}",
        outputs={
            "arn": "arn:{partition}:elasticfilesystem:{region}:{account}:mount-target/{id}",
            "dnsName": "{fileSystemId}.efs.{region}.{dns_suffix}",
            "networkInterfaceId": "eni-{hex17:interface}",
            "ownerId": "{account}",
        },
        required=("fileSystemId", "subnetId"),
        replaces=("fileSystemId", "subnetId", "ipAddress"),
        unordered=("securityGroups",),
        api=Api("efs", "CreateMountTarget"),
        refers=(
            Refers("fileSystemId", EFS, "FileSystemNotFound", in_use="FileSystemInUse"),
            Refers("subnetId", SUBNET, "SubnetNotFound"),
            Refers("securityGroups", SECURITY_GROUP, "SecurityGroupNotFound"),
        ),
        owns=(
            Owned(
                NETWORK_INTERFACE,
                id="{networkInterfaceId}",
                inputs={
                    "subnetId": "{subnetId}",
                    "description": "EFS mount target for {fileSystemId} ({id})",
                    "requester": "{arn}",
                },
            ),
        ),
        admits=(_one_target_a_zone,),
    ),
    ResourceType(
        ACCESS_POINT,
        id="fsap-{hex17}",
        outputs={
            "arn": "arn:{partition}:elasticfilesystem:{region}:{account}:access-point/{id}",
            "fileSystemArn": "arn:{partition}:elasticfilesystem:{region}:{account}:file-system/{fileSystemId}",
            "ownerId": "{account}",
        },
        required=("fileSystemId",),
        replaces=("fileSystemId", "posixUser", "rootDirectory"),
        api=Api("efs", "CreateAccessPoint", {"tags": ""}, supplied=("ClientToken",)),
        refers=(Refers("fileSystemId", EFS, "FileSystemNotFound", in_use="FileSystemInUse"),),
        admits=(_has_room,),
        tagged=True,
    ),
    ResourceType(
        LUSTRE,
        id="fs-{hex17}",
        outputs={
            "arn": "arn:{partition}:fsx:{region}:{account}:file-system/{id}",
            "dnsName": "{id}.fsx.{region}.{dns_suffix}",
            "mountName": "{hex8}",
            "ownerId": "{account}",
        },
        defaults={"deploymentType": "SCRATCH_1", "storageType": "SSD"},
        required=("subnetIds", "storageCapacity|backupId"),
        replaces=(
            *("subnetIds", "securityGroupIds", "deploymentType", "kmsKeyId", "storageType", "backupId"),
            *("importPath", "exportPath", "fileSystemTypeVersion"),
        ),
        checks=(
            one_of("deploymentType", ("SCRATCH_1", "SCRATCH_2", "PERSISTENT_1", "PERSISTENT_2")),
            one_of("storageType", ("SSD", "HDD", "INTELLIGENT_TIERING")),
            matches("subnetIds", r"subnet-.+", "the id of a subnet"),
            between("automaticBackupRetentionDays", 0, 90),
            _capacity_fits,
            _throughput_fits,
        ),
        api=Api(
            "fsx",
            "CreateFileSystemLustreConfiguration",
            {
                "logConfiguration": "LogConfiguration",
                **dict.fromkeys(("storageCapacity", "storageType", "subnetIds", "securityGroupIds", "kmsKeyId"), ""),
                **dict.fromkeys(("backupId", "fileSystemTypeVersion", "skipFinalBackup", "finalBackupTags"), ""),
                "tags": "",
            },
        ),
        refers=(
            Refers("subnetIds", SUBNET, "InvalidNetworkSettings"),
            Refers("securityGroupIds", SECURITY_GROUP, "InvalidNetworkSettings"),
            encrypts_with("kmsKeyId", "BadRequest"),
        ),
        admits=(_fsx_may_use_the_key,),
        tagged=True,
    ),
    ResourceType(
        DATA_REPOSITORY,
        id="dra-{hex17}",
        outputs={
            "arn": "arn:{partition}:fsx:{region}:{account}:association/{fileSystemId}/{id}",
            "associationId": "{id}",
        },
        defaults={"batchImportMetaDataOnCreate": False, "deleteDataInFilesystem": False},
        required=("fileSystemId", "dataRepositoryPath", "fileSystemPath"),
        replaces=("fileSystemId", "dataRepositoryPath", "fileSystemPath", "batchImportMetaDataOnCreate"),
        checks=(
            matches("dataRepositoryPath", r"s3://[a-z0-9.-]{3,63}(/.*)?", "a place in S3: s3://bucket/prefix"),
            matches("fileSystemPath", r"/.*", "a path on the file system, from its root"),
            one_of("s3.autoImportPolicy.events", _EVENTS),
            one_of("s3.autoExportPolicy.events", _EVENTS),
        ),
        api=Api("fsx", "CreateDataRepositoryAssociation", dict.fromkeys(("deleteDataInFilesystem", "tags"), "")),
        refers=(Refers("fileSystemId", LUSTRE, "FileSystemNotFound", on_delete=OnDelete.CASCADE),),
        admits=(_links_what_is_free, _system_takes_links, _bucket_can_be_read),
        tagged=True,
    ),
    ResourceType(
        "aws:efs/fileSystemPolicy:FileSystemPolicy",
        id="{fileSystemId}",
        required=("fileSystemId", "policy"),
        replaces=("fileSystemId",),
        api=Api("efs", "PutFileSystemPolicy"),
        policies={"policy": PolicyKind.FILE_SYSTEM},
        refers=(Refers("fileSystemId", EFS, "FileSystemNotFound", on_delete=OnDelete.CASCADE),),
    ),
    ResourceType(
        "aws:efs/backupPolicy:BackupPolicy",
        id="{fileSystemId}",
        required=("fileSystemId", "backupPolicy.status"),
        replaces=("fileSystemId",),
        checks=(one_of("backupPolicy.status", ("ENABLED", "DISABLED")),),
        api=Api("efs", "PutBackupPolicy"),
        refers=(Refers("fileSystemId", EFS, "FileSystemNotFound", on_delete=OnDelete.CASCADE),),
    ),
)
