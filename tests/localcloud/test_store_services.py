"""RDS and ElastiCache: what they refuse, what they say of their stores, and what stays as long as a store needs it."""

import inspect
import re

import pulumi_aws as aws
import pytest

from localcloud.api_model import unmapped
from localcloud.aws import elasticache, rds
from localcloud.aws.ec2 import SECURITY_GROUP, SUBNET, VPC
from localcloud.aws.kms import KEY
from localcloud.catalog import Identity, find
from localcloud.model_checks import model_faults
from localcloud.values import UNKNOWN, Secret
from tests.localcloud.conftest import policy

INSTANCE, CACHE = rds.INSTANCE, elasticache.REPLICATION_GROUP
PASSWORD = Secret("correct-horse-battery")
DATABASE = {
    "identifier": "langfuse",
    "engine": "postgres",
    "engineVersion": "17.5",
    "instanceClass": "db.t4g.medium",
    "allocatedStorage": 20,
    "storageType": "gp3",
    "username": "langfuse",
    "passwordWo": PASSWORD,
    "passwordWoVersion": 1,
    "skipFinalSnapshot": True,
}
VALKEY = {
    "replicationGroupId": "langfuse",
    "description": "queues",
    "engine": "valkey",
    "engineVersion": "8.1",
    "nodeType": "cache.t4g.small",
    "transitEncryptionEnabled": True,
    "authTokenWo": PASSWORD,
    "authTokenWoVersion": 1,
}
TOKENS = {
    INSTANCE: (rds.SUBNET_GROUP, rds.PARAMETER_GROUP, "dbSubnetGroupName", "vpcSecurityGroupIds", "postgres17"),
    CACHE: (elasticache.SUBNET_GROUP, elasticache.PARAMETER_GROUP, "subnetGroupName", "securityGroupIds", "valkey8"),
}
STORES = pytest.mark.parametrize(("token", "given"), [(INSTANCE, DATABASE), (CACHE, VALKEY)])


@pytest.fixture
def network(cloud):
    return cloud.network()


def changed(given, **changes):
    """The arguments with some changed, and those that are None left out."""
    return {key: value for key, value in {**given, **changes}.items() if value is not None}


def refused_for(cloud, token, given, **changes):
    return cloud.failures(token, **changed(given, **changes))


def update(cloud, token, made, given):
    return cloud.account.update(token, made["id"], given, cloud.identity)


def placed(cloud, token, network):
    """What says where a store lies: its subnets and its security group, made here."""
    subnets, _, subnets_of, groups_of, _ = TOKENS[token]
    group = cloud.make(SECURITY_GROUP, name="store", vpcId=network["vpc"]["id"])
    cloud.make(subnets, name="store", subnetIds=network["ids"])
    return {subnets_of: "store", groups_of: [group["id"]]}


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"engine": None}, "missing required argument engine"),
        ({"passwordWo": None}, "password or passwordWo or manageMasterUserPassword"),
        ({"password": PASSWORD}, "conflicts with password"),
        ({"manageMasterUserPassword": True}, "conflicts with passwordWo"),
        ({"passwordWo": "short"}, "8 to 128"),
        ({"passwordWo": "with/a/slash"}, "8 to 128"),
        ({"passwordWo": "with a space"}, "8 to 128"),
        ({"passwordWo": Secret("p@sswords")}, "8 to 128"),
        ({"passwordWoVersion": None}, "passwordWo needs it"),
        ({"engine": "oracle-ee"}, "postgres"),
        ({"engineVersion": "9.6"}, "version of PostgreSQL"),
        ({"instanceClass": "t4g.medium"}, "db.t4g.medium"),
        ({"identifier": "Langfuse"}, "small letters"),
        ({"identifier": "lang--fuse"}, "small letters"),
        ({"identifier": "langfuse-"}, "small letters"),
        ({"identifier": "1st"}, "small letters"),
        ({"dbName": "lang-fuse"}, "database's name"),
        ({"username": "admin"}, "reserved word"),
        ({"allocatedStorage": 19}, "20 to 65536"),
        ({"storageType": "io2", "iops": 3000}, "100 to 65536"),
        ({"storageType": "io2", "allocatedStorage": 100}, "needs iops"),
        ({"storageType": "gp4"}, "gp3"),
        ({"iops": 12000}, "less than 400"),
        ({"storageThroughput": 500}, "less than 400"),
        ({"allocatedStorage": 400, "iops": 3000}, "12000 to 64000"),
        ({"storageType": "gp2", "iops": 3000}, "takes none"),
        ({"maxAllocatedStorage": 20}, "not greater than"),
        ({"maxAllocatedStorage": 21}, "at least 10 percent"),
        ({"maxAllocatedStorage": 70000}, "at most 65536"),
        ({"backupRetentionPeriod": 36}, "0 to 35"),
        ({"backupWindow": "three"}, "each day"),
        ({"maintenanceWindow": "sunday"}, "sun:05:00"),
        ({"multiAz": True, "availabilityZone": "us-west-2a"}, "Multi-AZ"),
        ({"availabilityZone": "us-east-1a"}, "a zone of the region"),
        ({"storageEncrypted": True, "kmsKeyId": "1234"}, "ARN of a key"),
        ({"kmsKeyId": "arn:aws:kms:us-west-2:111122223333:key/1"}, "set storageEncrypted"),
        ({"caCertIdentifier": "rds-ca-2019"}, "rds-ca-rsa2048-g1"),
        ({"port": 80}, "1150 to 65535"),
        ({"monitoringInterval": 60}, "needs it"),
        ({"monitoringInterval": 7}, "15, 30, 60"),
        ({"performanceInsightsRetentionPeriod": 7}, "performanceInsightsEnabled"),
        ({"performanceInsightsEnabled": True, "performanceInsightsRetentionPeriod": 30}, "31"),
        ({"enabledCloudwatchLogsExports": ["audit"]}, "postgresql"),
        ({"finalSnapshotIdentifier": "-last"}, "snapshot's name"),
        ({"snapshotIdentifier": "before"}, "nothing that an instance could be made of"),
    ],
)
def test_an_instance_that_rds_would_refuse_shows_in_a_preview(cloud, changes, what):
    assert what in refused_for(cloud, INSTANCE, DATABASE, **changes)


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"description": None}, "missing required argument description"),
        ({"nodeType": "t4g.small"}, "cache.t4g.small"),
        ({"replicationGroupId": "1st"}, "beginning with a letter"),
        ({"replicationGroupId": "x" * 41}, "1 to 40"),
        ({"replicationGroupId": "lang--fuse"}, "beginning with a letter"),
        ({"engine": "memcached"}, "valkey"),
        ({"engineVersion": "6.2"}, "cannot find version 6.2 for valkey"),
        ({"engine": "redis", "engineVersion": "7.2"}, "cannot find version 7.2 for redis"),
        ({"transitEncryptionEnabled": False}, "goes with transitEncryptionEnabled"),
        ({"authToken": PASSWORD}, "conflicts with authToken"),
        ({"authTokenWo": "fifteen-letters"}, "16 to 128"),
        ({"authTokenWo": "with/characters@that=are?not"}, "16 to 128"),
        ({"authTokenWoVersion": None}, "authTokenWo needs it"),
        ({"authTokenUpdateStrategy": "DELETE"}, "goes with none"),
        ({"automaticFailoverEnabled": True}, "at least 2"),
        ({"automaticFailoverEnabled": True, "numCacheClusters": 1}, "at least 2"),
        ({"multiAzEnabled": True, "numCacheClusters": 2}, "automaticFailoverEnabled must be true"),
        ({"numCacheClusters": 7}, "1 to 6"),
        ({"snapshotRetentionLimit": 36}, "0 to 35"),
        ({"numNodeGroups": 2}, "no shards"),
        ({"atRestEncryptionEnabled": False, "kmsKeyId": "arn:aws:kms:us-west-2:1:key/1"}, "atRestEncryptionEnabled"),
        ({"engine": "redis", "engineVersion": "7.1", "kmsKeyId": "arn:aws:kms:us-west-2:1:key/1"}, "atRestEncryption"),
        ({"transitEncryptionMode": "maybe"}, "preferred"),
    ],
)
def test_a_cache_that_elasticache_would_refuse_shows_in_a_preview(cloud, changes, what):
    assert what in refused_for(cloud, CACHE, VALKEY, **changes)


@pytest.mark.parametrize(
    ("token", "given", "what"),
    [
        (rds.SUBNET_GROUP, {"name": "default", "subnetIds": ["s"]}, "not default"),
        (rds.SUBNET_GROUP, {"name": "Store", "subnetIds": ["s"]}, "small letters"),
        (rds.PARAMETER_GROUP, {"name": "store"}, "missing required argument family"),
        (rds.PARAMETER_GROUP, {"name": "store", "family": "postgres17.5"}, "postgres17"),
        (rds.PARAMETER_GROUP, {"family": "postgres17", "parameters": [{"name": "max_connections", "value": "200"}]},
         "static parameter max_connections"),
        (elasticache.PARAMETER_GROUP, {"name": "store", "family": "valkey8.1"}, "valkey8"),
        (elasticache.PARAMETER_GROUP, {"family": "valkey8", "parameters": [
            {"name": "maxmemory-policy", "value": "no-eviction"}]}, "noeviction"),
    ],
)  # fmt: skip
def test_a_group_that_aws_would_refuse_shows_in_a_preview(cloud, token, given, what):
    assert what in cloud.failures(token, **given)


def test_parameters_that_fit_are_taken(cloud):
    delayed = [{"name": "max_connections", "value": "200", "applyMethod": "pending-reboot"}]
    assert cloud.failures(rds.PARAMETER_GROUP, family="postgres17", parameters=delayed) == ""
    kept = [{"name": "maxmemory-policy", "value": "noeviction"}]
    assert cloud.failures(elasticache.PARAMETER_GROUP, family="valkey8", parameters=kept) == ""


@STORES
def test_a_password_that_is_refused_is_not_shown(cloud, token, given):
    secret = "p@ss / word"
    name = "passwordWo" if token == INSTANCE else "authTokenWo"
    assert secret not in refused_for(cloud, token, given, **{name: Secret(secret)})


@STORES
def test_what_is_not_known_yet_is_not_judged(cloud, token, given):
    assert cloud.failures(token, **dict.fromkeys(given, UNKNOWN)) == ""


@STORES
def test_what_the_models_of_aws_say_of_a_store_is_understood(token, given):
    assert [*model_faults(find(token), given)] == []
    wrong = {"databaseInsightsMode": "some"} if token == INSTANCE else {"networkType": "ipv5"}
    assert [*model_faults(find(token), {**given, **wrong})]


@pytest.mark.parametrize(
    ("token", "arguments", "unknown"),
    [
        (
            INSTANCE,
            aws.rds.InstanceArgs,
            {"replicaMode", "replicateSourceDb", "restoreToPointInTime", "s3Import", "snapshotIdentifier"}
            | {"upgradeStorageConfig"},
        ),
        (CACHE, aws.elasticache.ReplicationGroupArgs, {"securityGroupNames"}),
    ],
)
def test_all_that_can_be_said_of_a_new_store_is_known(token, arguments, unknown):
    names = [name for name in inspect.signature(arguments.__init__).parameters if name not in ("__self__", "region")]
    given = {re.sub("_(.)", lambda found: found[1].upper(), name): None for name in names}
    assert {*unmapped(find(token).api, given)} == unknown


@STORES
def test_a_password_is_neither_told_nor_kept(cloud, token, given):
    made = cloud.make(token, **given)
    assert made["passwordWo" if token == INSTANCE else "authTokenWo"] is None
    assert PASSWORD.value not in cloud.file.read_text(encoding="utf-8")


def test_an_instance_is_reached_by_its_name(cloud):
    made = cloud.make(INSTANCE, **DATABASE)
    assert made["id"] == made["resourceId"]
    assert made["id"].startswith("db-")
    assert made["arn"] == "arn:aws:rds:us-west-2:111122223333:db:langfuse"
    assert made["address"].startswith("langfuse.")
    assert made["address"].endswith(".us-west-2.rds.amazonaws.com")
    assert made["endpoint"] == f"{made['address']}:5432"
    assert made["engineVersionActual"] == "17.5"


def test_an_instance_without_a_name_gets_one_and_one_without_a_minor_version_too(cloud):
    made = cloud.make(INSTANCE, **changed(DATABASE, identifier=None, engineVersion="17"))
    assert made["identifier"].startswith("terraform-")
    assert made["engineVersionActual"].startswith("17.")
    again = update(cloud, INSTANCE, made, changed(DATABASE, identifier=None, engineVersion="17", multiAz=True))
    assert again["address"] == made["address"]
    assert again["engineVersionActual"] == made["engineVersionActual"]


@pytest.mark.parametrize(
    ("changes", "primary", "reader"),
    [
        ({}, r"master.langfuse.", r"replica.langfuse."),
        ({"transitEncryptionEnabled": None, "authTokenWo": None}, "langfuse.", "langfuse-ro."),
    ],
)
def test_a_cache_is_reached_by_what_its_nodes_do(cloud, changes, primary, reader):
    made = cloud.make(CACHE, **changed(VALKEY, **changes))
    assert made["primaryEndpointAddress"].startswith(primary)
    assert made["readerEndpointAddress"].startswith(reader)
    assert made["primaryEndpointAddress"].endswith(".usw2.cache.amazonaws.com")
    assert made["memberClusters"] == ["langfuse-001"]
    assert made["arn"] == "arn:aws:elasticache:us-west-2:111122223333:replicationgroup:langfuse"


@pytest.mark.parametrize(
    ("region", "short"),
    [("us-east-1", "use1"), ("ap-southeast-2", "apse2"), ("eu-central-1", "euc1"), ("ap-northeast-1", "apne1")],
)
def test_a_region_is_short_in_the_names_of_caches(region, short):
    assert elasticache.short_region(region) == short


def test_valkey_is_encrypted_unless_one_says_otherwise_and_redis_is_not(cloud):
    assert cloud.make(CACHE, **VALKEY)["atRestEncryptionEnabled"] is True
    redis = {"engine": "redis", "engineVersion": "7.1", "replicationGroupId": "other"}
    assert cloud.make(CACHE, **{**VALKEY, **redis})["atRestEncryptionEnabled"] is False


@STORES
def test_where_a_store_is_reached_is_not_known_in_a_preview(token, given):
    _, outputs = find(token).computed(given, Identity("111122223333", "us-west-2"), None)
    assert outputs["endpoint" if token == INSTANCE else "primaryEndpointAddress"] is UNKNOWN
    assert outputs["port"] in (5432, 6379)


def test_a_name_is_one_instances_only(cloud):
    cloud.make(INSTANCE, **DATABASE)
    with cloud.refused("DBInstanceAlreadyExists"):
        cloud.make(INSTANCE, **DATABASE)


def test_a_name_is_one_caches_only(cloud):
    cloud.make(CACHE, **VALKEY)
    with cloud.refused("ReplicationGroupAlreadyExists"):
        cloud.make(CACHE, **VALKEY)


def test_the_subnets_of_an_instance_cover_two_zones(cloud, network):
    with cloud.refused("DBSubnetGroupDoesNotCoverEnoughAZs"):
        cloud.make(rds.SUBNET_GROUP, name="one", subnetIds=[network["public"]["id"], network["ids"][0]])
    cloud.make(rds.SUBNET_GROUP, name="two", subnetIds=network["ids"])
    with cloud.refused("DBSubnetGroupAlreadyExists"):
        cloud.make(rds.SUBNET_GROUP, name="two", subnetIds=network["ids"])


def test_a_cache_in_one_zone_needs_no_more_and_one_in_several_does(cloud, network):
    cloud.make(elasticache.SUBNET_GROUP, name="one", subnetIds=network["ids"][:1])
    cloud.make(CACHE, **VALKEY, subnetGroupName="one")
    several = {"automaticFailoverEnabled": True, "multiAzEnabled": True, "numCacheClusters": 2}
    with cloud.refused("InvalidParameterCombination"):
        cloud.make(CACHE, **{**VALKEY, "replicationGroupId": "other"}, **several, subnetGroupName="one")
    cloud.make(elasticache.SUBNET_GROUP, name="two", subnetIds=network["ids"])
    cloud.make(CACHE, **{**VALKEY, "replicationGroupId": "other"}, **several, subnetGroupName="two")


@STORES
def test_subnets_of_two_networks_make_no_group(cloud, network, token, given):
    elsewhere = cloud.make(VPC, cidrBlock="10.0.0.0/16")
    other = cloud.subnet(elsewhere, "b", "10.0.0.0/20")
    with cloud.refused("InvalidSubnet"):
        cloud.make(TOKENS[token][0], name="both", subnetIds=[network["ids"][0], other["id"]])


@STORES
def test_a_store_and_its_security_group_are_of_one_network(cloud, network, token, given):
    where = placed(cloud, token, network)
    elsewhere = cloud.make(VPC, cidrBlock="10.0.0.0/16")
    group = cloud.make(SECURITY_GROUP, name="other", vpcId=elsewhere["id"])
    with cloud.refused("InvalidParameterCombination"):
        cloud.make(token, **given, **{**where, TOKENS[token][3]: [group["id"]]})


def test_an_instance_lies_in_a_zone_that_its_subnets_cover(cloud, network):
    where = placed(cloud, INSTANCE, network)
    with cloud.refused("InvalidVPCNetworkStateFault"):
        cloud.make(INSTANCE, **DATABASE, **where, availabilityZone="us-west-2c")
    cloud.make(INSTANCE, **DATABASE, **where, availabilityZone="us-west-2b")


@STORES
def test_what_a_store_lies_in_stays_as_long_as_it_does(cloud, network, token, given):
    subnets, parameters, _, groups_of, family = TOKENS[token]
    where = placed(cloud, token, network)
    cloud.make(parameters, name="store", family=family)
    made = cloud.make(token, **given, **where, parameterGroupName="store")
    in_use = ("InvalidDBSubnetGroupStateFault", "InvalidDBParameterGroupState")
    if token == CACHE:
        in_use = ("CacheSubnetGroupInUse", "InvalidCacheParameterGroupState")
    for code, kind, held in (
        (in_use[0], subnets, "store"),
        (in_use[1], parameters, "store"),
        ("DependencyViolation", SECURITY_GROUP, where[groups_of][0]),
        ("DependencyViolation", SUBNET, network["ids"][0]),
        ("DependencyViolation", VPC, network["vpc"]["id"]),
    ):
        with cloud.refused(code):
            cloud.delete(kind, {"id": held})
    cloud.delete(token, made)
    for kind, held in ((subnets, "store"), (parameters, "store"), (SECURITY_GROUP, where[groups_of][0])):
        cloud.delete(kind, {"id": held})


@STORES
def test_a_store_needs_groups_that_exist(cloud, network, token, given):
    _, _, subnets_of, groups_of, _ = TOKENS[token]
    parameters = "DBParameterGroupNotFound" if token == INSTANCE else "CacheParameterGroupNotFound"
    subnets = "DBSubnetGroupNotFoundFault" if token == INSTANCE else "CacheSubnetGroupNotFoundFault"
    for code, argument in (
        (parameters, {"parameterGroupName": "gone"}),
        (subnets, {subnets_of: "gone"}),
        ("InvalidParameterValue", {groups_of: ["sg-gone"]}),
    ):
        with cloud.refused(code):
            cloud.make(token, **given, **argument)


@pytest.mark.parametrize(
    ("token", "given", "right", "wrong"),
    [
        (INSTANCE, DATABASE, "postgres17", "postgres16"),
        (CACHE, VALKEY, "valkey8", "redis7"),
        (CACHE, {**VALKEY, "engine": "redis", "engineVersion": "6.x"}, "redis6.x", "redis7"),
    ],
)
def test_parameters_are_those_of_the_version(cloud, token, given, right, wrong):
    parameters = TOKENS[token][1]
    cloud.make(parameters, name="wrong", family=wrong)
    cloud.make(parameters, name="right", family=right)
    for name in ("wrong", f"default.{wrong}"):
        with cloud.refused("InvalidParameterCombination"):
            cloud.make(token, **given, parameterGroupName=name)
    made = cloud.make(token, **given, parameterGroupName="right")
    cloud.delete(token, made)
    cloud.make(token, **given, parameterGroupName=f"default.{right}")


@pytest.mark.parametrize(
    ("token", "given", "code"),
    [
        (INSTANCE, {**DATABASE, "storageEncrypted": True}, "KMSKeyNotAccessibleFault"),
        (CACHE, VALKEY, "InvalidKMSKeyFault"),
    ],
)
def test_a_store_needs_a_key_that_may_be_used_and_holds_it(cloud, token, given, code):
    for closed in (cloud.key(isEnabled=False)["arn"], "arn:aws:kms:us-west-2:111122223333:key/gone"):
        with cloud.refused(code):
            cloud.make(token, **given, kmsKeyId=closed)
    key = cloud.key()
    made = cloud.make(token, **given, kmsKeyId=key["arn"])
    with cloud.refused("KeyInUse"):
        cloud.delete(KEY, key)
    cloud.delete(token, made)
    cloud.delete(KEY, key)


def test_a_key_that_its_policy_keeps_from_rds_is_not_used(cloud):
    via_ec2 = {"StringEquals": {"kms:ViaService": "ec2.us-west-2.amazonaws.com"}}
    statement = {"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "kms:*", "Resource": "*", "Condition": via_ec2}
    key = cloud.make(KEY, policy=policy(statement))
    with cloud.refused("KMSKeyNotAccessibleFault"):
        cloud.make(INSTANCE, **DATABASE, storageEncrypted=True, kmsKeyId=key["arn"])


def test_a_protected_instance_stays_until_the_protection_is_turned_off(cloud):
    made = cloud.make(INSTANCE, **DATABASE, deletionProtection=True)
    with cloud.refused("InvalidParameterCombination"):
        cloud.delete(INSTANCE, made)
    update(cloud, INSTANCE, made, {**DATABASE, "deletionProtection": False})
    cloud.delete(INSTANCE, made)


def test_the_last_snapshot_of_an_instance_needs_a_name_that_no_earlier_one_has(cloud):
    nameless = cloud.make(INSTANCE, **changed(DATABASE, skipFinalSnapshot=None))
    with cloud.refused("InvalidParameterCombination"):
        cloud.delete(INSTANCE, nameless)
    named = changed(DATABASE, skipFinalSnapshot=None, finalSnapshotIdentifier="last")
    update(cloud, INSTANCE, nameless, named)
    cloud.delete(INSTANCE, nameless)
    again = cloud.make(INSTANCE, **named)
    with cloud.refused("DBSnapshotAlreadyExists"):
        cloud.delete(INSTANCE, again)
    update(cloud, INSTANCE, again, {**named, "finalSnapshotIdentifier": "very-last"})
    cloud.delete(INSTANCE, again)


def test_the_last_snapshot_of_a_cache_needs_a_name_that_no_earlier_one_has(cloud):
    cloud.delete(CACHE, cloud.make(CACHE, **VALKEY, finalSnapshotIdentifier="last"))
    again = cloud.make(CACHE, **VALKEY, finalSnapshotIdentifier="last")
    with cloud.refused("SnapshotAlreadyExistsFault"):
        cloud.delete(CACHE, again)
    update(cloud, CACHE, again, VALKEY)
    cloud.delete(CACHE, again)


def test_storage_grows_and_does_not_shrink(cloud):
    made = cloud.make(INSTANCE, **DATABASE)
    assert update(cloud, INSTANCE, made, {**DATABASE, "allocatedStorage": 40})["allocatedStorage"] == 40
    with cloud.refused("InvalidParameterCombination"):
        update(cloud, INSTANCE, made, {**DATABASE, "allocatedStorage": 30})
    # What autoscaling has added is no difference to the provider.
    update(cloud, INSTANCE, made, {**DATABASE, "allocatedStorage": 30, "maxAllocatedStorage": 100})


def test_a_newer_major_version_of_postgres_is_asked_for_and_an_older_one_is_not_to_be_had(cloud):
    made = cloud.make(INSTANCE, **DATABASE)
    newer = {**DATABASE, "engineVersion": "18.1"}
    with cloud.refused("InvalidParameterCombination"):
        update(cloud, INSTANCE, made, newer)
    update(cloud, INSTANCE, made, {**DATABASE, "engineVersion": "17"})
    update(cloud, INSTANCE, made, {**newer, "allowMajorVersionUpgrade": True})
    with cloud.refused("InvalidParameterCombination"):
        update(cloud, INSTANCE, made, {**newer, "engineVersion": "18.0", "allowMajorVersionUpgrade": True})


@pytest.mark.parametrize("back", [{"engineVersion": "7.2"}, {"engine": "redis", "engineVersion": "7.1"}])
def test_a_cache_does_not_go_back_to_what_was_before(cloud, back):
    made = cloud.make(CACHE, **VALKEY)
    update(cloud, CACHE, made, {**VALKEY, "engineVersion": "8.2"})
    with cloud.refused("InvalidParameterValue"):
        update(cloud, CACHE, made, {**VALKEY, **back})


@pytest.mark.parametrize(
    ("token", "old", "new", "replaces"),
    [
        (INSTANCE, {"storageEncrypted": False}, {"storageEncrypted": True}, True),
        (INSTANCE, {"username": "a"}, {"username": "b"}, True),
        (INSTANCE, {"dbName": "a"}, {"dbName": "b"}, True),
        (INSTANCE, {"identifier": "a"}, {"identifier": "b"}, False),
        (INSTANCE, {"dbSubnetGroupName": "a"}, {"dbSubnetGroupName": "b"}, False),
        (INSTANCE, {"passwordWoVersion": 1}, {"passwordWoVersion": 2}, False),
        (INSTANCE, {"allocatedStorage": 20}, {"allocatedStorage": 40}, False),
        (CACHE, {"subnetGroupName": "a"}, {"subnetGroupName": "b"}, True),
        (CACHE, {"port": 6379}, {"port": 6380}, True),
        (CACHE, {"atRestEncryptionEnabled": True}, {"atRestEncryptionEnabled": False}, True),
        (CACHE, {"numCacheClusters": 1}, {"numCacheClusters": 2}, False),
        (CACHE, {"transitEncryptionEnabled": False}, {"transitEncryptionEnabled": True}, False),
        (rds.PARAMETER_GROUP, {"family": "postgres16"}, {"family": "postgres17"}, True),
        (rds.SUBNET_GROUP, {"subnetIds": ["a", "b"]}, {"subnetIds": ["a", "c"]}, False),
    ],
)
def test_a_change_makes_another_store_where_the_provider_says_so(token, old, new, replaces):
    assert [difference.replaces for difference in find(token).differences(old, new)] == [replaces]


def test_the_order_of_subnets_and_parameters_means_nothing():
    assert find(rds.SUBNET_GROUP).differences({"subnetIds": ["a", "b"]}, {"subnetIds": ["b", "a"]}) == []
