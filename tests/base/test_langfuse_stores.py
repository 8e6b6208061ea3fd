"""What Langfuse stores outside the cluster."""

import json
import re
from typing import Literal

import pulumi
import pytest

from components import langfuse
from components.base.langfuse_stores import LangfuseStoresArgs, make_langfuse_stores
from components.generation import generation
from components.langfuse import LangfuseSettings, LangfuseStores
from tests.world import Built, run

BUCKET, SECRET, VERSION, DATABASE, CACHE = (
    "aws:s3/bucket:Bucket",
    "aws:secretsmanager/secret:Secret",
    "aws:secretsmanager/secretVersion:SecretVersion",
    "aws:rds/instance:Instance",
    "aws:elasticache/replicationGroup:ReplicationGroup",
)
ARGS = LangfuseStoresArgs(
    cluster_name="eksai-dev",
    vpc_id="vpc-1",
    ranges={"nodes": "192.168.0.0/16"},
    subnet_ids=["subnet-1", "subnet-2"],
    key_arn="arn:aws:kms:us-west-2:444455556666:key/1",
    keep=True,
)


def built(stores: Literal["bundled", "aws"], *, keep: bool = True) -> Built[LangfuseStores]:
    settings: LangfuseSettings = {
        "stores": stores,
        "pools": [],
        "replicas": 1,
        "admin_email": None,
        "database": {
            "instance_class": "db.t4g.medium",
            "storage_gib": 20,
            "max_storage_gib": 100,
            "backup_days": 7,
            "multi_az": False,
        },
        "cache": {"node_type": "cache.t4g.small", "replicas": 1},
        "clickhouse": {"replicas": 1, "storage_gib": 50},
    }
    args: LangfuseStoresArgs = {**ARGS, "keep": keep}
    return run(lambda: make_langfuse_stores(settings, args, pulumi.ResourceOptions()))


def written(found: Built[LangfuseStores]) -> dict[str, str]:
    return json.loads(found.only(VERSION).inputs["secretStringWo"].value)


def test_the_secret_has_every_key_whatever_the_stores_are():
    keys = {
        *(langfuse.SALT, langfuse.ENCRYPTION_KEY, langfuse.NEXTAUTH_SECRET, langfuse.ADMIN_PASSWORD),
        *(langfuse.POSTGRES_PASSWORD, langfuse.REDIS_PASSWORD, langfuse.CLICKHOUSE_PASSWORD),
        *(langfuse.PUBLIC_KEY, langfuse.SECRET_KEY, langfuse.INTERSERVER_PASSWORD, langfuse.CLUSTER_SECRET),
        *(langfuse.MANAGEMENT_PASSWORD, langfuse.KEEPER_IDENTITY, langfuse.NAMED_COLLECTIONS_KEY),
    }
    assert written(built("bundled")).keys() == keys


def test_values_look_as_langfuse_takes_them():
    values = written(built("bundled"))
    assert re.fullmatch("[0-9a-f]{64}", values[langfuse.ENCRYPTION_KEY])
    assert values[langfuse.PUBLIC_KEY].startswith("pk-lf-")
    assert values[langfuse.SECRET_KEY].startswith("sk-lf-")
    assert len(values[langfuse.REDIS_PASSWORD]) >= 16, "ElastiCache takes no shorter one"


def test_bundled_stores_leave_a_bucket_and_a_secret_to_aws():
    found = built("bundled")
    assert (found.result.database, found.result.cache) == (None, None)
    assert not [resource for resource in found.resources if resource.type.startswith(("aws:rds", "aws:elasticache"))]
    assert found.value(found.result.bucket) == found.only(BUCKET).outputs["bucket"]
    assert found.value(found.result.bucket_arn) == found.only(BUCKET).outputs["arn"]
    assert found.value(found.result.secret_name) == found.only(SECRET).inputs["name"] == "eksai-dev/langfuse"


def test_stores_of_aws_have_the_passwords_of_the_secret():
    found = built("aws")
    values, database, cache = written(found), found.only(DATABASE).inputs, found.only(CACHE).inputs
    assert database["passwordWo"].value == values[langfuse.POSTGRES_PASSWORD]
    assert database["passwordWoVersion"] == generation(values[langfuse.POSTGRES_PASSWORD])
    assert cache["authTokenWo"].value == values[langfuse.REDIS_PASSWORD]
    assert cache["authTokenWoVersion"] == generation(values[langfuse.REDIS_PASSWORD])


def test_stores_of_aws_are_told_where_they_are_reached():
    found = built("aws")
    database, cache = found.result.database, found.result.cache
    assert database is not None
    assert cache is not None
    assert found.value(database.host) == found.only(DATABASE).outputs["address"]
    assert found.value(cache.host) == found.only(CACHE).outputs["primaryEndpointAddress"]
    assert (found.only(DATABASE).inputs["dbName"], found.only(DATABASE).inputs["username"]) == ("langfuse", "langfuse")


def test_what_holds_data_is_protected_and_the_queue_is_not():
    found = built("aws", keep=True)
    for resource in found.resources:
        if resource.custom:
            assert resource.protect is ("eksai:index:Cache" not in resource.urn), resource.urn


@pytest.mark.parametrize("stores", ["bundled", "aws"])
def test_what_is_not_kept_goes_with_the_stack(stores: Literal["bundled", "aws"]):
    found = built(stores, keep=False)
    assert not any(resource.protect for resource in found.resources)
    assert found.only(BUCKET).inputs["forceDestroy"] is True
    assert found.only(SECRET).inputs["recoveryWindowInDays"] == 0
