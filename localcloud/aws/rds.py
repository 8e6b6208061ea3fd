"""RDS: database instances of PostgreSQL, the subnets that they may lie in, and their parameters."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from localcloud.aws.ec2 import SECURITY_GROUP, SUBNET, same_network, zones
from localcloud.aws.kms import GRANTS, caller_refusal, encrypts_with
from localcloud.checks import at_most_one, between, matches, one_of
from localcloud.errors import AwsError
from localcloud.properties import value_at, values_at
from localcloud.resource_type import Api, AutoName, Failure, Identity, Properties, Refers, ResourceType, Unique
from localcloud.templates import Draws
from localcloud.values import UNKNOWN, contains_unknown

if TYPE_CHECKING:
    from localcloud.account import Account
    from localcloud.record import Record

INSTANCE = "aws:rds/instance:Instance"
SUBNET_GROUP = "aws:rds/subnetGroup:SubnetGroup"
PARAMETER_GROUP = "aws:rds/parameterGroup:ParameterGroup"

_PORT = 5432
_SIZES = {
    "gp2": (20, 65536),
    "gp3": (20, 65536),
    "io1": (100, 65536),
    "io2": (100, 65536),
    "standard": (5, 3072),
}
"""GiB, smallest and largest, by type of storage."""
_STRIPED_GIB = 400
"""From here on, PostgreSQL's gp3 storage is several volumes, and only then is its speed one's own choice."""
_STRIPED_SPEEDS = {"iops": (12000, 64000), "storageThroughput": (500, 4000)}
_SOURCES = ("replicateSourceDb", "restoreToPointInTime", "s3Import", "snapshotIdentifier")
_RESERVED_NAMES = ("admin", "rdsadmin")
_PASSWORD = re.compile(r"[!#-.0-?A-~]{8,128}")
"""Printable ASCII without space, `"`, `/` and `@`."""
_STATIC = (
    *("huge_pages", "max_connections", "max_prepared_transactions", "max_wal_senders", "max_worker_processes"),
    *("rds.logical_replication", "shared_buffers", "shared_preload_libraries", "track_activity_query_size"),
)
"""Parameters that PostgreSQL reads only when it starts."""


def family_of(version: str) -> str:
    """Returns the family of parameter groups that a version of PostgreSQL takes."""
    return f"postgres{version.partition('.')[0]}"


def _identifier(properties: Properties, draws: Draws) -> Any:
    if (given := properties.get("identifier")) is not None:
        return given
    prefix = properties.get("identifierPrefix", "terraform-")
    if draws.withheld or contains_unknown(prefix):
        return UNKNOWN
    return f"{prefix}{draws.field('digits26', 'identifier')}"


def _version(properties: Properties, draws: Draws) -> Any:
    """A version that names no minor one gets the newest, whatever that is."""
    given = properties.get("engineVersion")
    if given is not None and (contains_unknown(given) or "." in given):
        return given
    return UNKNOWN if draws.withheld else f"{given or '17'}.{draws.text('123456789', 1, 'minor version')}"


def _kind(properties: Properties) -> Any:
    """The type of storage, which follows from its speed where it is not given."""
    return properties.get("storageType") or ("io1" if "iops" in properties else "gp2")


def _storage_type(properties: Properties, _: Draws) -> Any:
    return _kind(properties)


def _storage_fits(inputs: Properties, _: Identity) -> Iterator[Failure]:
    kind = _kind(inputs)
    size, most = inputs["allocatedStorage"], inputs.get("maxAllocatedStorage") or 0
    if contains_unknown([kind, size, most]) or kind not in _SIZES:
        return
    low, high = _SIZES[kind]
    if not low <= size <= high:
        yield Failure("allocatedStorage", f"InvalidParameterValue: {kind} storage has {low} to {high} GiB, got {size}")
    if most and most <= size:
        yield Failure(
            "maxAllocatedStorage", f"InvalidParameterCombination: {most} is not greater than allocatedStorage, {size}"
        )
    elif most and most * 10 < size * 11:
        yield Failure(
            "maxAllocatedStorage",
            f"InvalidParameterCombination: it is at least 10 percent more than {size}, got {most}",
        )
    if most > high:
        yield Failure("maxAllocatedStorage", f"InvalidParameterValue: {kind} storage has at most {high} GiB")


def _speed_fits(inputs: Properties, _: Identity) -> Iterator[Failure]:
    kind, size = _kind(inputs), inputs["allocatedStorage"]
    if contains_unknown([kind, size]):
        return
    if kind in ("io1", "io2") and "iops" not in inputs:
        yield Failure("iops", f"InvalidParameterCombination: {kind} storage needs iops")
    for path, (low, high) in _STRIPED_SPEEDS.items():
        speed = inputs.get(path)
        if speed is None or contains_unknown(speed):
            continue
        if kind in ("gp2", "standard") or (kind != "gp3" and path == "storageThroughput"):
            yield Failure(path, f"InvalidParameterCombination: {kind} storage takes none")
        elif kind == "gp3" and size < _STRIPED_GIB:
            yield Failure(
                path,
                "InvalidParameterCombination: you can't specify IOPS or storage throughput for engine postgres and a "
                f"storage size less than {_STRIPED_GIB}",
            )
        elif kind == "gp3" and not low <= speed <= high:
            yield Failure(path, f"InvalidParameterCombination: expected {low} to {high}, got {speed}")


def _password_is_one(inputs: Properties, _: Identity) -> Iterator[Failure]:
    for path in ("password", "passwordWo"):
        for password in values_at(inputs, path):
            if isinstance(password, str) and not _PASSWORD.fullmatch(password):
                # What was given is not told: it is a password.
                yield Failure(
                    path,
                    "InvalidParameterValue: a password has 8 to 128 printable ASCII characters without "
                    "'/', '@', '\"' and ' '",
                )
    if "passwordWo" in inputs and "passwordWoVersion" not in inputs:
        yield Failure("passwordWoVersion", "passwordWo needs it: only its change brings a new password to the instance")


def _goes_with_the_rest(inputs: Properties, _: Identity) -> Iterator[Failure]:
    if "availabilityZone" in inputs and inputs.get("multiAz") is True:
        yield Failure(
            "availabilityZone",
            "InvalidParameterCombination: requesting a specific availability zone is not valid for Multi-AZ instances",
        )
    if "kmsKeyId" in inputs and inputs.get("storageEncrypted") in (None, False):
        yield Failure("kmsKeyId", "InvalidParameterCombination: it is for encrypted storage: set storageEncrypted")
    if inputs.get("monitoringInterval", 0) not in (0, UNKNOWN) and "monitoringRoleArn" not in inputs:
        yield Failure("monitoringRoleArn", "InvalidParameterCombination: a monitoringInterval other than 0 needs it")
    if inputs.get("performanceInsightsEnabled") in (None, False):
        for path in ("performanceInsightsKmsKeyId", "performanceInsightsRetentionPeriod"):
            if path in inputs:
                yield Failure(path, "InvalidParameterCombination: it is for performanceInsightsEnabled")
    for path in _SOURCES:
        if path in inputs:
            yield Failure(path, "the local cloud has nothing that an instance could be made of")


def _name_is_not_reserved(inputs: Properties, _: Identity) -> Iterator[Failure]:
    name = inputs["username"]
    if isinstance(name, str) and name.lower() in _RESERVED_NAMES:
        yield Failure(
            "username",
            f"InvalidParameterValue: MasterUsername {name} cannot be used as it is a reserved word used by the engine",
        )


def _apply_methods_fit(inputs: Properties, _: Identity) -> Iterator[Failure]:
    parameters = inputs.get("parameters")
    for parameter in parameters if isinstance(parameters, list) else ():
        if parameter.get("applyMethod", "immediate") == "immediate" and parameter.get("name") in _STATIC:
            yield Failure(
                "parameters",
                "InvalidParameterCombination: cannot use immediate apply method for static parameter "
                f"{parameter['name']}: use pending-reboot",
            )


def _covers_two_zones(account: "Account", group: "Record") -> None:
    if len(same_network(account, group["subnetIds"], ())) > 1:
        raise AwsError("InvalidSubnet", f"the subnets of {group.id} are not all in a common VPC")
    covered = sorted({*zones(account, group["subnetIds"])})
    if len(covered) < 2:
        raise AwsError(
            "DBSubnetGroupDoesNotCoverEnoughAZs",
            "the DB subnet group doesn't meet Availability Zone (AZ) coverage requirement. Current AZ coverage: "
            f"{', '.join(covered)}. Add subnets to cover at least 2 AZs ({group.id})",
        )


def _lies_in_its_subnets(account: "Account", instance: "Record") -> None:
    for group in account.find(SUBNET_GROUP, id=instance["dbSubnetGroupName"]):
        networks = same_network(account, group["subnetIds"], instance["vpcSecurityGroupIds"] or ())
        if len(networks) > 1:
            raise AwsError(
                "InvalidParameterCombination",
                f"the DB instance and EC2 security group are in different VPCs ({instance.name}: "
                f"{', '.join(sorted(networks))})",
            )
        zone = value_at(instance.inputs, "availabilityZone")
        if zone and zone not in zones(account, group["subnetIds"]):
            raise AwsError("InvalidVPCNetworkStateFault", f"{group.id} has no subnet in {zone} for {instance.name}")


def _family_fits(account: "Account", instance: "Record") -> None:
    name, wanted = instance["parameterGroupName"], family_of(instance["engineVersionActual"])
    families = [group["family"] for group in account.find(PARAMETER_GROUP, id=name)]
    if name and name.startswith("default."):
        families = [name.removeprefix("default.")]
    for family in families:
        if family != wanted:
            raise AwsError(
                "InvalidParameterCombination",
                f"the parameter group {name} with DBParameterGroupFamily {family} can't be used for this instance. "
                f"Use a parameter group with DBParameterGroupFamily {wanted}",
            )


def _keys_may_be_used(account: "Account", instance: "Record") -> None:
    for path in ("kmsKeyId", "performanceInsightsKmsKeyId", "masterUserSecretKmsKeyId"):
        if reason := caller_refusal(account, instance[path], "rds", actions=GRANTS):
            raise AwsError("KMSKeyNotAccessibleFault", f"the key of {instance.name} may not be used: {reason}")


def _only_grows(account: "Account", instance: "Record") -> None:
    for old in account.find(INSTANCE, id=instance.id):
        size, most = instance["allocatedStorage"], instance["maxAllocatedStorage"] or 0
        # With autoscaling, the provider takes a larger size than it was told for RDS's own work.
        if size < old["allocatedStorage"] and most <= size:
            raise AwsError(
                "InvalidParameterCombination",
                f"storage can only grow ({instance.name}: {size} GiB instead of {old['allocatedStorage']} GiB)",
            )


def _only_moves_on(account: "Account", instance: "Record") -> None:
    for old in account.find(INSTANCE, id=instance.id):
        before, after = old["engineVersionActual"], instance["engineVersion"] or old["engineVersionActual"]
        # 17 is whatever 17 there is, and so not older than 17.5.
        if _numbers(after) < _numbers(before)[: len(_numbers(after))]:
            raise AwsError("InvalidParameterCombination", f"cannot upgrade postgres from {before} to {after}")
        if family_of(after) != family_of(before) and not instance["allowMajorVersionUpgrade"]:
            raise AwsError(
                "InvalidParameterCombination",
                "the AllowMajorVersionUpgrade flag must be present when upgrading to a new major version "
                f"({before} to {after})",
            )


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def _may_go(account: "Account", instance: "Record") -> None:
    if instance["deletionProtection"]:
        raise AwsError(
            "InvalidParameterCombination",
            f"cannot delete protected DB Instance, please disable deletion protection and try again ({instance.id})",
        )
    if instance["skipFinalSnapshot"]:
        return
    snapshot = instance["finalSnapshotIdentifier"]
    if not snapshot:
        raise AwsError(
            "InvalidParameterCombination",
            f"final_snapshot_identifier is required when skip_final_snapshot is false ({instance.name})",
        )
    if any(gone.scope == instance.scope for gone in account.lingering(INSTANCE, finalSnapshotIdentifier=snapshot)):
        raise AwsError("DBSnapshotAlreadyExists", f"cannot create the snapshot because {snapshot} already exists")


def _leaves_a_snapshot(_: "Account", instance: "Record") -> bool:
    return not instance["skipFinalSnapshot"]


_GROUP_NAME = "(?!default$)[a-z0-9._ -]{1,255}"
_NO_LOOSE_HYPHENS = r"(?!.*--)(?!.*-$)"

TYPES: tuple[ResourceType, ...] = (
    ResourceType(
        INSTANCE,
        id="db-{upper26}",
        outputs={
            "resourceId": "{id}",
            "identifier": _identifier,
            "arn": "arn:{partition}:rds:{region}:{account}:db:{identifier}",
            "address": "{identifier}.{hex12}.{region}.rds.{dns_suffix}",
            "endpoint": "{address}:{port}",
            "hostedZoneId": "Z{upper13}",
            "engineVersionActual": _version,
            "storageType": _storage_type,
            "status": "available",
            "replicas": [],
            "passwordWo": None,
        },
        defaults={
            "port": _PORT,
            "autoMinorVersionUpgrade": True,
            "backupRetentionPeriod": 0,
            "caCertIdentifier": "rds-ca-rsa2048-g1",
            "copyTagsToSnapshot": False,
            "deleteAutomatedBackups": True,
            "deletionProtection": False,
            "iamDatabaseAuthenticationEnabled": False,
            "monitoringInterval": 0,
            "multiAz": False,
            "networkType": "IPV4",
            "performanceInsightsEnabled": False,
            "publiclyAccessible": False,
            "skipFinalSnapshot": False,
            "storageEncrypted": False,
        },
        required=(
            *("instanceClass", "engine", "allocatedStorage", "username"),
            "password|passwordWo|manageMasterUserPassword",
        ),
        replaces=(
            *("availabilityZone", "backupTarget", "characterSetName", "customIamInstanceProfile", "dbName", "engine"),
            *("kmsKeyId", "ncharCharacterSetName", "storageEncrypted", "timezone", "username"),
        ),
        unordered=("vpcSecurityGroupIds", "enabledCloudwatchLogsExports"),
        checks=(
            matches(
                "identifier",
                f"{_NO_LOOSE_HYPHENS}[a-z][a-z0-9-]{{0,62}}",
                "an instance's name: 1 to 63 small letters, digits and hyphens, beginning with a letter",
            ),
            matches(
                "finalSnapshotIdentifier",
                f"{_NO_LOOSE_HYPHENS}[A-Za-z][A-Za-z0-9-]{{0,254}}",
                "a snapshot's name: letters, digits and hyphens, beginning with a letter",
            ),
            matches("instanceClass", r"db\.[a-z0-9-]+\.[a-z0-9-]+", "an instance class such as db.t4g.medium"),
            one_of("engine", ("postgres",)),
            matches("engineVersion", r"1[1-8](\.\d+)?", "a version of PostgreSQL on RDS, such as 17 or 17.5"),
            matches(
                "dbName",
                "[A-Za-z][A-Za-z0-9_]{0,62}",
                "a database's name: letters, digits and _, beginning with a letter",
            ),
            matches(
                "username",
                "[A-Za-z][A-Za-z0-9_]{0,62}",
                "a user's name: letters, digits and _, beginning with a letter",
            ),
            matches("kmsKeyId", "arn:{partition}:kms:.+", "the ARN of a key"),
            matches("availabilityZone", "{region}[a-f]", "a zone of the region {region}"),
            matches("backupWindow", r"\d\d:\d\d-\d\d:\d\d", "a time of each day such as 09:46-10:16"),
            matches(
                "maintenanceWindow", r"(?i)([a-z]{3}):\d\d:\d\d-([a-z]{3}):\d\d:\d\d", "such as sun:05:00-sun:06:00"
            ),
            one_of("storageType", _SIZES),
            one_of("networkType", ("IPV4", "DUAL")),
            one_of("caCertIdentifier", ("rds-ca-rsa2048-g1", "rds-ca-rsa4096-g1", "rds-ca-ecc384-g1")),
            one_of("enabledCloudwatchLogsExports", ("postgresql", "upgrade", "iam-db-auth-error")),
            one_of("monitoringInterval", (0, 1, 5, 10, 15, 30, 60)),
            one_of("performanceInsightsRetentionPeriod", (7, *(31 * months for months in range(1, 24)), 731)),
            between("backupRetentionPeriod", 0, 35),
            between("port", 1150, 65535),
            at_most_one("identifier", "identifierPrefix"),
            _storage_fits,
            _speed_fits,
            _password_is_one,
            _goes_with_the_rest,
            _name_is_not_reserved,
        ),
        api=Api(
            "rds",
            "CreateDBInstance",
            {
                "identifier": "DBInstanceIdentifier",
                "instanceClass": "DBInstanceClass",
                "parameterGroupName": "DBParameterGroupName",
                "username": "MasterUsername",
                "password": "MasterUserPassword",
                "passwordWo": "MasterUserPassword",
                "backupWindow": "PreferredBackupWindow",
                "maintenanceWindow": "PreferredMaintenanceWindow",
                "caCertIdentifier": "CACertificateIdentifier",
                "customerOwnedIpEnabled": "EnableCustomerOwnedIp",
                "enabledCloudwatchLogsExports": "EnableCloudwatchLogsExports",
                "iamDatabaseAuthenticationEnabled": "EnableIAMDatabaseAuthentication",
                "performanceInsightsEnabled": "EnablePerformanceInsights",
                **dict.fromkeys(("identifierPrefix", "passwordWoVersion", "applyImmediately"), ""),
                **dict.fromkeys(("allowMajorVersionUpgrade", "blueGreenUpdate", "deleteAutomatedBackups"), ""),
                **dict.fromkeys(("skipFinalSnapshot", "finalSnapshotIdentifier", "warningEventCategories"), ""),
            },
            supplied=("DBInstanceIdentifier",),
        ),
        refers=(
            Refers(
                "dbSubnetGroupName", SUBNET_GROUP, "DBSubnetGroupNotFoundFault", in_use="InvalidDBSubnetGroupStateFault"
            ),
            Refers(
                "parameterGroupName",
                PARAMETER_GROUP,
                "DBParameterGroupNotFound",
                in_use="InvalidDBParameterGroupState",
                external=r"default\..+",
            ),
            Refers("vpcSecurityGroupIds", SECURITY_GROUP, "InvalidParameterValue"),
            encrypts_with("kmsKeyId", "KMSKeyNotAccessibleFault"),
            encrypts_with("performanceInsightsKmsKeyId", "KMSKeyNotAccessibleFault"),
            encrypts_with("masterUserSecretKmsKeyId", "KMSKeyNotAccessibleFault"),
        ),
        unique=(Unique(("identifier",), "DBInstanceAlreadyExists", "DB instance already exists: {identifier}"),),
        admits=(_lies_in_its_subnets, _family_fits, _keys_may_be_used, _only_grows, _only_moves_on),
        releases=(_may_go,),
        # Its last snapshot stays, with its name taken.
        lingers=_leaves_a_snapshot,
        tagged=True,
        secret_outputs=("password",),
    ),
    ResourceType(
        SUBNET_GROUP,
        id="{name}",
        outputs={
            "arn": "arn:{partition}:rds:{region}:{account}:subgrp:{name}",
            "supportedNetworkTypes": ["IPV4"],
        },
        defaults={"description": "Managed by Pulumi"},
        required=("subnetIds",),
        auto_name=AutoName(longest=255, lower=True),
        replaces=("name",),
        unordered=("subnetIds",),
        checks=(
            matches("name", _GROUP_NAME, "a subnet group's name: small letters, digits and ._ -, and not default"),
        ),
        api=Api("rds", "CreateDBSubnetGroup", {"name": "DBSubnetGroupName", "description": "DBSubnetGroupDescription"}),
        # AWS lets subnets go in which no instance lies at the moment, and the group is then of no use. Here they stay.
        refers=(Refers("subnetIds", SUBNET, "InvalidSubnet"),),
        unique=(Unique(("name",), "DBSubnetGroupAlreadyExists", "the DB subnet group {name} already exists"),),
        admits=(_covers_two_zones,),
        tagged=True,
    ),
    ResourceType(
        PARAMETER_GROUP,
        id="{name}",
        outputs={"arn": "arn:{partition}:rds:{region}:{account}:pg:{name}"},
        defaults={"description": "Managed by Pulumi"},
        required=("family",),
        auto_name=AutoName(longest=255, lower=True),
        replaces=("name", "family", "description"),
        unordered=("parameters",),
        checks=(
            matches(
                "name",
                f"{_NO_LOOSE_HYPHENS}[a-z][a-z0-9.-]{{0,254}}",
                "a parameter group's name: small letters, digits, . and -, beginning with a letter",
            ),
            matches("family", r"postgres1[1-8]", "a parameter group family of PostgreSQL, such as postgres17"),
            one_of("parameters.applyMethod", ("immediate", "pending-reboot")),
            _apply_methods_fit,
        ),
        api=Api(
            "rds",
            "CreateDBParameterGroup",
            {
                "name": "DBParameterGroupName",
                "family": "DBParameterGroupFamily",
                **dict.fromkeys(("parameters", "skipDestroy"), ""),
            },
        ),
        unique=(Unique(("name",), "DBParameterGroupAlreadyExists", "parameter group {name} already exists"),),
        tagged=True,
    ),
)
