"""ElastiCache: replication groups of Valkey and Redis, the subnets that they may lie in, and their parameters."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from localcloud.aws.ec2 import SECURITY_GROUP, SUBNET, same_network, zones
from localcloud.aws.kms import GRANTS, caller_refusal, encrypts_with
from localcloud.checks import at_most_one, between, matches, one_of
from localcloud.errors import AwsError
from localcloud.properties import values_at
from localcloud.resource_type import Api, AutoName, Failure, Identity, Properties, Refers, ResourceType, Unique
from localcloud.templates import Draws
from localcloud.values import UNKNOWN, contains_unknown

if TYPE_CHECKING:
    from localcloud.account import Account
    from localcloud.record import Record

REPLICATION_GROUP = "aws:elasticache/replicationGroup:ReplicationGroup"
SUBNET_GROUP = "aws:elasticache/subnetGroup:SubnetGroup"
PARAMETER_GROUP = "aws:elasticache/parameterGroup:ParameterGroup"

_VERSIONS = {"valkey": r"7\.2|8\.\d", "redis": r"5\.0\.6|6\.0|6\.2|6\.x|7\.0|7\.1"}
"""What each engine has: patterns, with examples in the message of whoever asks for another."""
_FAMILIES = ("valkey7", "valkey8", "redis5.0", "redis6.x", "redis7")
_EVICTIONS = (
    *("allkeys-lfu", "allkeys-lru", "allkeys-random", "noeviction"),
    *("volatile-lfu", "volatile-lru", "volatile-random", "volatile-ttl"),
)
_TOKENS = ("authToken", "authTokenWo")
_TOKEN = re.compile("[A-Za-z0-9!&#$^<>-]{16,128}")
_DIRECTIONS = {"northeast": "ne", "northwest": "nw", "southeast": "se", "southwest": "sw"}


def family_of(engine: str, version: str) -> str:
    """Returns the family of parameter groups that a version of an engine takes."""
    major = version.partition(".")[0]
    return f"{engine}{ {('redis', '5'): '5.0', ('redis', '6'): '6.x'}.get((engine, major), major) }"


def short_region(region: str) -> str:
    """Returns a region as the names of caches have it: `usw2` for `us-west-2`."""
    area, *directions, number = region.split("-")
    return area + "".join(_DIRECTIONS.get(one, one[:1]) for one in directions) + number


def _engine(properties: Properties) -> Any:
    return properties.get("engine", "redis")


def _encrypted(properties: Properties, _: Draws) -> Any:
    """Valkey is encrypted at rest unless one says otherwise, Redis is not."""
    given = properties.get("atRestEncryptionEnabled")
    return _engine(properties) == "valkey" if given is None else given


def _version(properties: Properties, draws: Draws) -> Any:
    given = properties.get("engineVersion")
    if contains_unknown(given):
        return UNKNOWN
    if given is None:
        return UNKNOWN if draws.withheld else {"valkey": "8.1.0"}.get(_engine(properties), "7.1.0")
    numbers = f"{given}.0.0".replace("x", "2").split(".")
    return ".".join(numbers[:3])


def _endpoint(role: str, suffix: str) -> Any:
    """The address of what has a role: with TLS the role comes first, without it the name does."""

    def address(properties: Properties, draws: Draws) -> Any:
        name, encrypted = properties["replicationGroupId"], properties.get("transitEncryptionEnabled", False)
        if draws.withheld or contains_unknown([name, encrypted]):
            return UNKNOWN
        _, partition, _, region, _, _, _ = properties["arn"].split(":")
        place = f"{short_region(region)}.cache.amazonaws.com{'.cn' if partition == 'aws-cn' else ''}"
        drawn = draws.field("hex6", "endpoint")
        return f"{role}.{name}.{drawn}.{place}" if encrypted else f"{name}{suffix}.{drawn}.ng.0001.{place}"

    return address


def _members(properties: Properties, _: Draws) -> Any:
    name, count = properties["replicationGroupId"], properties["numCacheClusters"]
    if contains_unknown([name, count]):
        return UNKNOWN
    return [f"{name}-{number:03}" for number in range(1, count + 1)]


def _version_is_there(inputs: Properties, _: Identity) -> Iterator[Failure]:
    engine, version = _engine(inputs), inputs.get("engineVersion")
    if version is None or contains_unknown([engine, version]) or engine not in _VERSIONS:
        return
    if not re.fullmatch(_VERSIONS[engine], version):
        yield Failure("engineVersion", f"InvalidParameterValue: cannot find version {version} for {engine}")


def _fails_over_to_a_copy(inputs: Properties, _: Identity) -> Iterator[Failure]:
    failover, count = inputs.get("automaticFailoverEnabled"), inputs.get("numCacheClusters", 1)
    if inputs.get("multiAzEnabled") is True and failover in (None, False):
        yield Failure("multiAzEnabled", "automaticFailoverEnabled must be true if multiAzEnabled is true")
    if failover is True and not contains_unknown(count) and count < 2:
        yield Failure(
            "numCacheClusters",
            "InvalidParameterCombination: when using automatic failover, there must be at least 2 cache clusters in "
            f"the replication group, got {count}",
        )


def _token_is_one(inputs: Properties, _: Identity) -> Iterator[Failure]:
    given = [path for path in _TOKENS if path in inputs]
    for path in given:
        for token in values_at(inputs, path):
            if isinstance(token, str) and not _TOKEN.fullmatch(token):
                # What was given is not told: it is a password.
                yield Failure(
                    path,
                    "InvalidParameterValue: an AUTH token has 16 to 128 letters, digits and characters of !&#$^<>-",
                )
    if given and inputs.get("transitEncryptionEnabled") in (None, False):
        yield Failure(given[0], "InvalidParameterCombination: an AUTH token goes with transitEncryptionEnabled")
    if "authTokenWo" in inputs and "authTokenWoVersion" not in inputs:
        yield Failure("authTokenWoVersion", "authTokenWo needs it: only its change brings a new token to the group")
    strategy = inputs.get("authTokenUpdateStrategy")
    if isinstance(strategy, str) and (strategy == "DELETE") == bool(given):
        yield Failure("authTokenUpdateStrategy", "SET and ROTATE need a token, and DELETE goes with none")


def _goes_with_encryption(inputs: Properties, _: Identity) -> Iterator[Failure]:
    if "kmsKeyId" in inputs and _encrypted(inputs, Draws(None)) is False:
        yield Failure("kmsKeyId", "InvalidParameterCombination: it is for atRestEncryptionEnabled")
    if "transitEncryptionMode" in inputs and inputs.get("transitEncryptionEnabled") in (None, False):
        yield Failure("transitEncryptionMode", "InvalidParameterCombination: it is for transitEncryptionEnabled")


def _has_one_shard(inputs: Properties, _: Identity) -> Iterator[Failure]:
    for path, allowed in (("clusterMode", "disabled"), ("numNodeGroups", 1)):
        if inputs.get(path, allowed) not in (allowed, UNKNOWN):
            yield Failure(path, "the local cloud knows no shards: leave it out")


def _evictions_are_known(inputs: Properties, _: Identity) -> Iterator[Failure]:
    parameters = inputs.get("parameters")
    for parameter in parameters if isinstance(parameters, list) else ():
        name, value = parameter.get("name"), parameter.get("value")
        if name == "maxmemory-policy" and not contains_unknown(value) and value not in _EVICTIONS:
            yield Failure(
                "parameters", f"InvalidParameterValue: {name} is one of {', '.join(_EVICTIONS)}, got {value!r}"
            )


def _is_in_one_network(account: "Account", group: "Record") -> None:
    if len(same_network(account, group["subnetIds"], ())) > 1:
        raise AwsError("InvalidSubnet", f"the subnets of {group.id} are not in the same VPC")


def _lies_in_its_subnets(account: "Account", cache: "Record") -> None:
    for group in account.find(SUBNET_GROUP, id=cache["subnetGroupName"]):
        networks = same_network(account, group["subnetIds"], cache["securityGroupIds"] or ())
        if len(networks) > 1:
            raise AwsError(
                "InvalidParameterCombination",
                f"subnet group [{group.id}] belongs to a different VPC than the security groups of {cache.name}: "
                f"{', '.join(sorted(networks))}",
            )
        if cache["multiAzEnabled"] and len({*zones(account, group["subnetIds"])}) < 2:
            raise AwsError("InvalidParameterCombination", f"{cache.name} is in several zones, and {group.id} in one")


def _family_fits(account: "Account", cache: "Record") -> None:
    name = cache["parameterGroupName"]
    wanted = family_of(_engine(cache.outputs), cache["engineVersionActual"])
    families = [group["family"] for group in account.find(PARAMETER_GROUP, id=name)]
    if name and name.startswith("default."):
        families = [name.removeprefix("default.").removesuffix(".cluster.on")]
    for family in families:
        if family != wanted:
            raise AwsError(
                "InvalidParameterCombination",
                f"expected a parameter group of family {wanted} but found one of family {family} ({name})",
            )


def _key_may_be_used(account: "Account", cache: "Record") -> None:
    if reason := caller_refusal(account, cache["kmsKeyId"], "elasticache", actions=GRANTS):
        raise AwsError("InvalidKMSKeyFault", f"the key of {cache.name} may not be used: {reason}")


def _only_moves_on(account: "Account", cache: "Record") -> None:
    for old in account.find(REPLICATION_GROUP, id=cache.id):
        before, after = (_engine(one.outputs) for one in (old, cache))
        older = _numbers(cache["engineVersionActual"]) < _numbers(old["engineVersionActual"])
        if (before == after and older) or (before, after) == ("valkey", "redis"):
            raise AwsError(
                "InvalidParameterValue",
                f"{cache.name} cannot go back from {before} {old['engineVersionActual']} to {after} "
                f"{cache['engineVersionActual']}: for that, the provider would make another one, without the data",
            )


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def _snapshots_name_is_free(account: "Account", cache: "Record") -> None:
    snapshot = cache["finalSnapshotIdentifier"]
    gone = account.lingering(REPLICATION_GROUP, finalSnapshotIdentifier=snapshot) if snapshot else ()
    if any(other.scope == cache.scope for other in gone):
        raise AwsError("SnapshotAlreadyExistsFault", f"the snapshot {snapshot} already exists")


def _leaves_a_snapshot(_: "Account", cache: "Record") -> bool:
    return bool(cache["finalSnapshotIdentifier"])


_NO_LOOSE_HYPHENS = r"(?!.*--)(?!.*-$)"
_GROUP_NAME = f"{_NO_LOOSE_HYPHENS}[a-z0-9][a-z0-9.-]{{0,254}}"

TYPES: tuple[ResourceType, ...] = (
    ResourceType(
        REPLICATION_GROUP,
        id="{replicationGroupId}",
        outputs={
            "arn": "arn:{partition}:elasticache:{region}:{account}:replicationgroup:{replicationGroupId}",
            "primaryEndpointAddress": _endpoint("master", ""),
            "readerEndpointAddress": _endpoint("replica", "-ro"),
            "atRestEncryptionEnabled": _encrypted,
            "engineVersionActual": _version,
            "memberClusters": _members,
            "clusterEnabled": False,
            "authTokenWo": None,
        },
        defaults={
            "engine": "redis",
            "numCacheClusters": 1,
            "port": 6379,
            "automaticFailoverEnabled": False,
            "multiAzEnabled": False,
            "transitEncryptionEnabled": False,
            "networkType": "ipv4",
        },
        required=("description", "nodeType"),
        auto_name=AutoName(path="replicationGroupId", longest=40, lower=True),
        replaces=(
            *("atRestEncryptionEnabled", "dataTieringEnabled", "globalReplicationGroupId", "kmsKeyId", "networkType"),
            *("nodeGroupConfigurations", "port", "replicationGroupId", "securityGroupNames", "snapshotArns"),
            *("snapshotName", "subnetGroupName"),
        ),
        unordered=("securityGroupIds", "userGroupIds", "logDeliveryConfigurations"),
        checks=(
            matches(
                "replicationGroupId",
                f"{_NO_LOOSE_HYPHENS}[A-Za-z][A-Za-z0-9-]{{0,39}}",
                "a replication group's name: 1 to 40 letters, digits and hyphens, beginning with a letter",
            ),
            matches("nodeType", r"cache\.[a-z0-9-]+\.[a-z0-9]+", "a node type such as cache.t4g.small"),
            matches("kmsKeyId", "arn:{partition}:kms:.+", "the ARN of a key"),
            one_of("engine", _VERSIONS),
            one_of("transitEncryptionMode", ("preferred", "required")),
            one_of("authTokenUpdateStrategy", ("SET", "ROTATE", "DELETE")),
            between("numCacheClusters", 1, 6),
            between("snapshotRetentionLimit", 0, 35),
            at_most_one(*_TOKENS, "userGroupIds"),
            at_most_one("numCacheClusters", "numNodeGroups"),
            at_most_one("numCacheClusters", "replicasPerNodeGroup"),
            _version_is_there,
            _fails_over_to_a_copy,
            _token_is_one,
            _goes_with_encryption,
            _has_one_shard,
        ),
        api=Api(
            "elasticache",
            "CreateReplicationGroup",
            {
                "description": "ReplicationGroupDescription",
                "nodeType": "CacheNodeType",
                "parameterGroupName": "CacheParameterGroupName",
                "subnetGroupName": "CacheSubnetGroupName",
                "authTokenWo": "AuthToken",
                "maintenanceWindow": "PreferredMaintenanceWindow",
                **dict.fromkeys(("authTokenWoVersion", "authTokenUpdateStrategy", "applyImmediately"), ""),
                "finalSnapshotIdentifier": "",
            },
        ),
        refers=(
            Refers("subnetGroupName", SUBNET_GROUP, "CacheSubnetGroupNotFoundFault", in_use="CacheSubnetGroupInUse"),
            Refers(
                "parameterGroupName",
                PARAMETER_GROUP,
                "CacheParameterGroupNotFound",
                in_use="InvalidCacheParameterGroupState",
                external=r"default\..+",
            ),
            Refers("securityGroupIds", SECURITY_GROUP, "InvalidParameterValue"),
            encrypts_with("kmsKeyId", "InvalidKMSKeyFault"),
        ),
        unique=(
            Unique(
                ("replicationGroupId",),
                "ReplicationGroupAlreadyExists",
                "replication group {replicationGroupId} already exists",
            ),
        ),
        admits=(_lies_in_its_subnets, _family_fits, _key_may_be_used, _only_moves_on),
        releases=(_snapshots_name_is_free,),
        # Its last snapshot stays, with its name taken.
        lingers=_leaves_a_snapshot,
        tagged=True,
        secret_outputs=("authToken",),
    ),
    ResourceType(
        SUBNET_GROUP,
        id="{name}",
        outputs={"arn": "arn:{partition}:elasticache:{region}:{account}:subnetgroup:{name}"},
        defaults={"description": "Managed by Pulumi"},
        required=("subnetIds",),
        auto_name=AutoName(longest=255, lower=True),
        replaces=("name",),
        unordered=("subnetIds",),
        checks=(matches("name", _GROUP_NAME, "a subnet group's name: small letters, digits and hyphens"),),
        api=Api(
            "elasticache",
            "CreateCacheSubnetGroup",
            {"name": "CacheSubnetGroupName", "description": "CacheSubnetGroupDescription"},
        ),
        # AWS lets subnets go in which no node lies at the moment, and the group is then of no use. Here they stay.
        refers=(Refers("subnetIds", SUBNET, "InvalidParameterValue"),),
        unique=(Unique(("name",), "CacheSubnetGroupAlreadyExists", "cache subnet group {name} already exists"),),
        admits=(_is_in_one_network,),
        tagged=True,
    ),
    ResourceType(
        PARAMETER_GROUP,
        id="{name}",
        outputs={"arn": "arn:{partition}:elasticache:{region}:{account}:parametergroup:{name}"},
        defaults={"description": "Managed by Pulumi"},
        required=("family",),
        auto_name=AutoName(longest=255, lower=True),
        replaces=("name", "family", "description"),
        unordered=("parameters",),
        checks=(
            matches("name", _GROUP_NAME, "a parameter group's name: small letters, digits and hyphens"),
            one_of("family", _FAMILIES),
            _evictions_are_known,
        ),
        api=Api(
            "elasticache",
            "CreateCacheParameterGroup",
            {"name": "CacheParameterGroupName", "family": "CacheParameterGroupFamily", "parameters": ""},
        ),
        unique=(Unique(("name",), "CacheParameterGroupAlreadyExists", "cache parameter group {name} already exists"),),
        tagged=True,
    ),
)
