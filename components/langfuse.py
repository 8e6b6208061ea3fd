"""Langfuse as the layers hand it on: what a stack says of it, the volumes of its pods, and the stores that it has."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import pulumi
from typing_extensions import TypedDict

from components.volume_claims import VolumeClaim

NAMESPACE = "langfuse"
ACCOUNT = "langfuse"
"""The service account of its pods."""

SALT, ENCRYPTION_KEY, NEXTAUTH_SECRET = "salt", "encryption-key", "nextauth-secret"
POSTGRES_PASSWORD, REDIS_PASSWORD, CLICKHOUSE_PASSWORD = "postgres-password", "redis-password", "clickhouse-password"
ADMIN_PASSWORD, PUBLIC_KEY, SECRET_KEY = "admin-password", "public-key", "secret-key"
"""Keys of its secret, in Secrets Manager (JSON) and in Kubernetes. The last two are the first project's API keys."""

INTERSERVER_PASSWORD, CLUSTER_SECRET = "interserver-password", "cluster-secret"
MANAGEMENT_PASSWORD, KEEPER_IDENTITY = "management-password", "keeper-identity"
NAMED_COLLECTIONS_KEY = "named-collections-key"
"""Further keys of it, by which ClickHouse's servers, keepers and operator know each other, as the operator names them.
The identity is `clickhouse:` and a password: keepers show what they keep to nobody else. The last is of 16 octets."""

DATABASE, DATABASE_USER = "langfuse", "langfuse"

CLICKHOUSE = "langfuse"
"""Name of the ClickHouse servers, and of their keepers."""
POSTGRES_CLAIM, REDIS_CLAIM = "postgresql", "redis"
_POSTGRES_GIB, _REDIS_GIB, _KEEPER_GIB = 20, 8, 10


class DatabaseSettings(TypedDict):
    """RDS for PostgreSQL, where stores are AWS's."""

    instance_class: str
    """Such as `db.t4g.medium`."""
    storage_gib: int
    """Size at first, GiB."""
    max_storage_gib: int
    """Size that it grows to by itself, GiB."""
    backup_days: int
    """Days that automatic backups are kept."""
    multi_az: bool
    """Whether a second zone has a copy that takes over."""


class CacheSettings(TypedDict):
    """ElastiCache for Valkey, where stores are AWS's."""

    node_type: str
    """Such as `cache.t4g.small`."""
    replicas: int
    """Copies beside the primary node."""


class ClickhouseSettings(TypedDict):
    """ClickHouse, which runs in the cluster in any case."""

    replicas: int
    """Servers with the same data; more than one takes three keepers, one takes one."""
    storage_gib: int
    """Size of each server's volume, GiB."""


class LangfuseSettings(TypedDict):
    """What a stack says of Langfuse."""

    stores: Literal["bundled", "aws"]
    """PostgreSQL and Valkey in the cluster, or RDS and ElastiCache."""
    pools: Sequence[str]
    """Names of the pools that its pods run on; none: any node without taints."""
    replicas: int
    """Pods of the web application, and of the worker."""
    admin_email: str | None
    """The address of the first user, who owns the first organisation."""
    database: DatabaseSettings
    cache: CacheSettings
    clickhouse: ClickhouseSettings


@dataclass(frozen=True)
class Endpoint:
    """Where a store is reached, over TLS."""

    host: pulumi.Output[str]
    port: int


@dataclass(frozen=True)
class LangfuseStores:
    """The stores of Langfuse outside the cluster."""

    bucket: pulumi.Output[str]
    bucket_arn: pulumi.Output[str]
    secret_name: pulumi.Output[str]
    """Name of its secret in Secrets Manager, JSON with all keys above, once it has a value."""
    database: Endpoint | None
    """RDS, None where PostgreSQL is in the cluster."""
    cache: Endpoint | None
    """ElastiCache, None where Valkey is in the cluster."""


def keepers(settings: LangfuseSettings) -> int:
    """How many keepers there are: one is enough for one server, and more than half of three decide for several.

    Args:
        settings: what the stack says.
    """
    return 1 if settings["clickhouse"]["replicas"] == 1 else 3


def claims(settings: LangfuseSettings) -> list[VolumeClaim]:
    """The claims of Langfuse's stores in the cluster, by the names that the charts and the operator give them.

    Args:
        settings: what the stack says.
    """
    # The operator makes a StatefulSet of one pod for each server and each keeper.
    stem, clickhouse = f"clickhouse-storage-volume-{CLICKHOUSE}", settings["clickhouse"]
    servers = [
        VolumeClaim(NAMESPACE, f"{stem}-clickhouse-0-{i}-0", "clickhouse", clickhouse["storage_gib"], i)
        for i in range(clickhouse["replicas"])
    ]
    coordination = [
        VolumeClaim(NAMESPACE, f"{stem}-keeper-{i}-0", "keeper", _KEEPER_GIB, i) for i in range(keepers(settings))
    ]
    if settings["stores"] == "aws":
        return [*servers, *coordination]
    bundled = [
        VolumeClaim(NAMESPACE, POSTGRES_CLAIM, "postgresql", _POSTGRES_GIB),
        VolumeClaim(NAMESPACE, REDIS_CLAIM, "redis", _REDIS_GIB),
    ]
    return [*servers, *coordination, *bundled]
