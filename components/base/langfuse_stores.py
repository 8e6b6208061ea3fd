"""What Langfuse stores outside the cluster: its bucket, its secret and, where a stack says so, its databases."""

from collections.abc import Mapping, Sequence

import pulumi
from typing_extensions import TypedDict

from components.base.cache import Cache, CacheArgs
from components.base.database import Database, DatabaseArgs
from components.bucket import make_private_bucket
from components.generated_secret import Drawn, GeneratedSecret, HexKey, Password
from components.langfuse import (
    ADMIN_PASSWORD,
    CLICKHOUSE_PASSWORD,
    CLUSTER_SECRET,
    DATABASE,
    DATABASE_USER,
    ENCRYPTION_KEY,
    INTERSERVER_PASSWORD,
    KEEPER_IDENTITY,
    MANAGEMENT_PASSWORD,
    NAMED_COLLECTIONS_KEY,
    NEXTAUTH_SECRET,
    POSTGRES_PASSWORD,
    PUBLIC_KEY,
    REDIS_PASSWORD,
    SALT,
    SECRET_KEY,
    Endpoint,
    LangfuseSettings,
    LangfuseStores,
)

_NONCURRENT_DAYS = 7
"""Days that an overwritten or deleted object is kept."""
_ABORT_UPLOAD_DAYS = 7

_VALUES: Mapping[str, Drawn] = {
    SALT: Password(),
    # Langfuse takes 256 bits in hexadecimal and nothing else.
    ENCRYPTION_KEY: HexKey(32),
    NEXTAUTH_SECRET: Password(),
    POSTGRES_PASSWORD: Password(),
    REDIS_PASSWORD: Password(),
    CLICKHOUSE_PASSWORD: Password(),
    ADMIN_PASSWORD: Password(),
    # What ClickHouse's servers, keepers and operator know each other by.
    INTERSERVER_PASSWORD: Password(),
    CLUSTER_SECRET: Password(),
    MANAGEMENT_PASSWORD: Password(),
    KEEPER_IDENTITY: Password(prefix="clickhouse:"),
    NAMED_COLLECTIONS_KEY: HexKey(16),
    # So begin the keys that Langfuse makes itself, and parts of its API take no others.
    PUBLIC_KEY: Password(prefix="pk-lf-"),
    SECRET_KEY: Password(prefix="sk-lf-"),
}
"""All of its secret, whatever stores a stack has: one that changes them later finds the passwords there."""


class LangfuseStoresArgs(TypedDict):
    """What the stores of Langfuse need."""

    cluster_name: str
    """Names follow from it."""
    vpc_id: pulumi.Input[str]
    """The VPC."""
    ranges: Mapping[str, str]
    """The VPC's IPv4 ranges that may reach them, by what they are for: `nodes`, `pods`."""
    subnet_ids: Sequence[pulumi.Input[str]]
    """Subnets that databases lie in, of two zones at least."""
    key_arn: pulumi.Input[str]
    """Key that all of them are encrypted with."""
    keep: bool
    """Whether those that hold data are protected from deletion; else they go with the stack, with all data."""


class LangfuseStorage(pulumi.ComponentResource):
    """The bucket with all events and media, the secret, and RDS and ElastiCache where stores are AWS's.

    The bucket is S3 in either case: empty it costs nothing, and in the cluster it would be one more store to run, whose
    volumes fill up.
    """

    stores: LangfuseStores

    def __init__(
        self,
        name: str,
        settings: LangfuseSettings,
        args: LangfuseStoresArgs,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("eksai:index:LangfuseStorage", name, {}, opts)
        bucket = make_private_bucket(
            name,
            bucket_name=None,
            key_arn=args["key_arn"],
            noncurrent_days=_NONCURRENT_DAYS,
            abort_upload_days=_ABORT_UPLOAD_DAYS,
            keep_days=None,
            keep=args["keep"],
            parent=self,
        )
        secret = GeneratedSecret(
            name,
            {
                "secret_name": f"{args['cluster_name']}/langfuse",
                "description": f"Langfuse of {args['cluster_name']}",
                "key_arn": args["key_arn"],
                "values": _VALUES,
                "keep": args["keep"],
            },
            pulumi.ResourceOptions(parent=self),
        )
        is_aws = settings["stores"] == "aws"
        self.stores = LangfuseStores(
            bucket=bucket.bucket,
            bucket_arn=bucket.arn,
            secret_name=secret.secret_name,
            database=self._database(name, settings, args, secret) if is_aws else None,
            cache=self._cache(name, settings, args, secret) if is_aws else None,
        )
        self.register_outputs({})

    def _database(
        self, name: str, settings: LangfuseSettings, args: LangfuseStoresArgs, secret: GeneratedSecret
    ) -> Endpoint:
        database_args = DatabaseArgs(
            **settings["database"],
            **args,
            database=DATABASE,
            username=DATABASE_USER,
            password=secret.values[POSTGRES_PASSWORD],
            password_version=secret.generations[POSTGRES_PASSWORD],
        )
        return Database(name, database_args, pulumi.ResourceOptions(parent=self)).endpoint

    def _cache(
        self, name: str, settings: LangfuseSettings, args: LangfuseStoresArgs, secret: GeneratedSecret
    ) -> Endpoint:
        cache_args = CacheArgs(
            **settings["cache"],
            cluster_name=args["cluster_name"],
            vpc_id=args["vpc_id"],
            ranges=args["ranges"],
            subnet_ids=args["subnet_ids"],
            key_arn=args["key_arn"],
            password=secret.values[REDIS_PASSWORD],
            password_version=secret.generations[REDIS_PASSWORD],
        )
        return Cache(name, cache_args, pulumi.ResourceOptions(parent=self)).endpoint


def make_langfuse_stores(
    settings: LangfuseSettings, args: LangfuseStoresArgs, opts: pulumi.ResourceOptions
) -> LangfuseStores:
    """Makes the stores of Langfuse.

    Args:
        settings: which ones, and how large.
        args: what they need.
        opts: carries the AWS provider.
    """
    return LangfuseStorage("langfuse", settings, args, opts).stores
