"""Settings of Langfuse, and the rules between them and the rest of a stack."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, cast

from pydantic import Field, model_validator

from components.langfuse import LangfuseSettings
from components.platform.catalog import CHARTS
from components.platform.langfuse import pod_specs
from components.platform.pool_values import value_at
from components.release import read_chart
from schema.fields import PoolName, Section, matches, refuse
from schema.node_pools import NodePool
from schema.platform import PlatformChart, is_installed, misshapen
from schema.pod_room import missing_pools, without_room
from schema.pool_charts import described
from schema.problems import NAMESPACE, Problem

CHART = "langfuse"
"""The chart that reads this section."""
_KEY = f"{NAMESPACE}:langfuse"

_PLACE = ("affinity", "nodeSelector", "tolerations")
_DEPLOYED = ("web", "worker")
_SAID_HERE = (
    "langfuse.replicas",
    *(f"langfuse.{what}" for what in _PLACE),
    *(f"langfuse.{part}.replicas" for part in _DEPLOYED),
    *(f"langfuse.{part}.pod.{what}" for part in _DEPLOYED for what in _PLACE),
    *(f"{part}.{what}" for part in ("postgresql", "redis") for what in _PLACE),
)
"""Values that follow from this section."""
_VERSION = ("langfuse.image.tag", "langfuse.allowV1Upgrade", *(f"langfuse.{part}.image" for part in _DEPLOYED))
"""Values by which another version than the chart's would run, and migrate what this one has stored."""
_STORES = (
    "langfuse.serviceAccount",
    "clickhouse",
    "s3",
    *(f"postgresql.{what}" for what in ("deploy", "host", "port", "args", "directUrl", "shadowDatabaseUrl")),
    *(f"postgresql.{what}" for what in ("auth", "settings", "userDatabase", "env", "storage", "image")),
    *(f"redis.{what}" for what in ("deploy", "host", "port", "tls", "auth", "cluster", "sentinel", "dataStorage")),
    *("redis.replica", "redis.image", "redis.valkeyConfig"),
    *(f"{part}{what}" for part in ("", "postgresql.", "redis.") for what in ("nameOverride", "fullnameOverride")),
)
"""Values by which data would be kept elsewhere, and not be there again when the stack is."""
_SECRETS = ("langfuse.salt", "langfuse.encryptionKey", "langfuse.nextauth", "langfuse.licenseKey.value")
_WAYS_IN = (
    *("langfuse.auth", "langfuse.features.signUpDisabled", "langfuse.ingress", "langfuse.web.service"),
    *("postgresql.service", "redis.service"),
    *(f"langfuse.{part}.pod.{what}" for part in _DEPLOYED for what in ("additionalEnv", "additionalEnvFrom")),
    *("langfuse.additionalEnvFrom", "extraManifests"),
)
"""Values by which somebody would get in. The environment of one part is what sign-in and the first user are made of."""
_VARIABLES = (
    *("AUTH_", "CLICKHOUSE_", "DATABASE_", "DIRECT_URL", "ENCRYPTION_KEY", "LANGFUSE_DEFAULT_", "LANGFUSE_INIT_"),
    *("LANGFUSE_S3_", "LANGFUSE_USE_", "NEXTAUTH_", "NODE_TLS_", "REDIS_", "SALT", "SHADOW_DATABASE_URL"),
)
"""What names of environment variables begin with that say the same."""

Gib = Annotated[int, Field(ge=20, le=16384)]
EmailAddress = Annotated[
    str,
    matches(
        r"(?=.{6,254}$)[a-z0-9_%'+-]+(\.[a-z0-9_%'+-]+)*@[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+",
        "an e-mail address in lower-case letters, as Langfuse keeps it",
        "for example ana@example.com",
    ),
]


class LangfuseDatabase(Section):
    """RDS for PostgreSQL, with users, projects, prompts and settings, where stores are AWS's."""

    instance_class: Annotated[
        str,
        matches(
            r"db\.[a-z][a-z0-9]*(-[a-z0-9]+)*\.(micro|small|medium|[0-9]*x?large)",
            "a class of RDS instances looks like db.t4g.medium",
            "aws rds describe-orderable-db-instance-options --engine postgres prints them",
        ),
    ] = "db.t4g.medium"
    """The class of its instances."""
    storage_gib: Annotated[int, Field(ge=20, le=14894)] = 20
    """Size at first, GiB; a tenth more is the least that it grows to."""
    max_storage_gib: Gib = 100
    """Size that it grows to by itself, GiB."""
    backup_days: Annotated[int, Field(ge=1, le=35)] = 14
    """Days that automatic backups are kept."""
    multi_az: bool = False
    """Whether a second zone has a copy that takes over."""

    @model_validator(mode="after")
    def _it_has_room_to_grow(self) -> "LangfuseDatabase":
        # AWS refuses a threshold that is nearer.
        if self.max_storage_gib * 10 < self.storage_gib * 11:
            raise refuse(
                f"a database of {self.storage_gib} GiB grows by a tenth at least, here to {self.max_storage_gib}",
                f"set maxStorageGib to {-(-self.storage_gib * 11 // 10)} or more",
            )
        return self


class LangfuseCache(Section):
    """ElastiCache for Valkey, with what came in and is not in ClickHouse yet, where stores are AWS's."""

    node_type: Annotated[
        str,
        matches(
            r"cache\.[a-z][a-z0-9]*(-[a-z0-9]+)*\.(micro|small|medium|[0-9]*x?large)",
            "a type of ElastiCache nodes looks like cache.t4g.small",
            "the ElastiCache documentation lists those of each region",
        ),
    ] = "cache.t4g.small"
    """The type of its nodes."""
    replicas: Annotated[int, Field(ge=0, le=5)] = 0
    """Copies beside the primary node; with one or more, one of them takes over."""


class LangfuseClickhouse(Section):
    """ClickHouse, with all traces, which runs in the cluster in any case."""

    replicas: Annotated[int, Field(ge=1, le=3)] = 1
    """Servers with the same data; more than one takes three keepers, one takes one."""
    storage_gib: Annotated[int, Field(ge=10, le=16384)] = 50
    """Size of each server's volume, GiB; it can grow later, and not shrink."""


class Langfuse(Section):
    """Traces, prompts and evaluations of LLM applications."""

    stores: Literal["bundled", "aws"] = "bundled"
    """PostgreSQL and Valkey in the cluster, or RDS and ElastiCache."""
    pools: tuple[PoolName, ...] = ()
    """Names of the pools that its pods and those of ClickHouse run on; left out: any node without taints."""
    replicas: Annotated[int, Field(ge=1, le=20)] = 1
    """Pods of the web application, and of the worker."""
    admin_email: EmailAddress | None = None
    """The address of the first user, who owns the first organisation."""
    database: LangfuseDatabase = LangfuseDatabase()
    """RDS for PostgreSQL, where stores are AWS's."""
    cache: LangfuseCache = LangfuseCache()
    """ElastiCache for Valkey, where stores are AWS's."""
    clickhouse: LangfuseClickhouse = LangfuseClickhouse()
    """ClickHouse, which runs in the cluster in any case."""


def settings_have_their_chart(langfuse: Langfuse, platform: dict[str, PlatformChart]) -> Iterator[Problem]:
    """What is said of Langfuse is said of something that is there."""
    if langfuse.model_fields_set and not is_installed(CHART, platform):
        version = read_chart(CHARTS[CHART]).data_version
        yield Problem(
            _KEY,
            "",
            "these settings are for a Langfuse that is not installed",
            "remove enabled: false, or this section"
            if CHART in platform
            else f'add the line {CHART}: {{dataVersion: "{version}"}} to {NAMESPACE}:platform, or remove this section',
        )


def somebody_owns_what_is_there(langfuse: Langfuse, platform: dict[str, PlatformChart]) -> Iterator[Problem]:
    """Nobody else could invite others or make a project: who signs in by the user pool is a member only."""
    if is_installed(CHART, platform) and langfuse.admin_email is None:
        yield Problem(
            f"{_KEY}.adminEmail",
            "",
            "the first organisation belongs to the first user, and nobody is named",
            "name the address of one who administers it; with sign-in, that of an account of the user pool",
        )


def databases_of_aws_are_there(langfuse: Langfuse) -> Iterator[Problem]:
    """What is said of RDS and ElastiCache is said of something that is there."""
    for store in ("database", "cache"):
        if langfuse.stores == "bundled" and store in langfuse.model_fields_set:
            yield Problem(
                f"{_KEY}.{store}",
                "",
                "PostgreSQL and Valkey run in the cluster, and neither RDS nor ElastiCache is made",
                "set stores: aws, or remove this section",
            )


def pods_have_nodes(
    langfuse: Langfuse, platform: dict[str, PlatformChart], node_pools: dict[str, NodePool]
) -> Iterator[Problem]:
    """Each pod of Langfuse and of its stores can run on some node that one of its pools makes."""
    missing = list(missing_pools(f"{_KEY}.pools", langfuse.pools, node_pools))
    yield from missing
    if missing or not langfuse.pools or not is_installed(CHART, platform) or misshapen(CHART, platform[CHART]):
        return
    settings = cast(LangfuseSettings, cast(Any, langfuse.model_dump()))
    for part, spec in pod_specs(settings, described(node_pools), platform[CHART].values).items():
        try:
            refused = without_room({"spec": spec}, langfuse.pools, node_pools)
        except ValueError as error:
            fix = "write CPUs such as 2 or 500m, and memory such as 8Gi"
            yield Problem(f"{NAMESPACE}:platform.{CHART}.values", part, str(error), fix)
            continue
        if refused:
            yield Problem(
                f"{_KEY}.pools",
                ", ".join(langfuse.pools),
                f"{part} gets no node of {refused}",
                "name a pool whose nodes have it",
            )


def values_leave_data_and_doors_alone(platform: dict[str, PlatformChart]) -> Iterator[Problem]:
    """Where data is, who gets in and what runs is said in one place, and no value of the chart says otherwise."""
    if not is_installed(CHART, platform):
        return
    values = platform[CHART].values
    for paths, rule, fix in (
        (_SAID_HERE, f"this follows from {_KEY}", "remove it, and say it there"),
        (_VERSION, "a later version migrates data; the chart has the one that runs", "remove it"),
        (_STORES, "where Langfuse keeps data follows from the stack, which finds it there again", "remove it"),
        (_SECRETS, "what is encrypted and hashed with these is lost with others; they are drawn once", "remove it"),
        (_WAYS_IN, f"who gets in follows from {NAMESPACE}:signIn and {NAMESPACE}:domain", "remove it"),
    ):
        for path in paths:
            if value_at(values, path) is not None:
                yield Problem(f"{NAMESPACE}:platform.{CHART}.values.{path}", "", rule, fix)
    variables = value_at(values, "langfuse.additionalEnv")
    for index, variable in enumerate(cast(list[Any], variables) if isinstance(variables, list) else []):
        name = str(cast(Mapping[str, Any], variable).get("name", "")) if isinstance(variable, Mapping) else ""
        if name.startswith(_VARIABLES):
            yield Problem(
                f"{NAMESPACE}:platform.{CHART}.values.langfuse.additionalEnv[{index}]",
                name,
                "what this variable says follows from the stack",
                "remove it",
            )


RULES = (
    settings_have_their_chart,
    somebody_owns_what_is_there,
    databases_of_aws_are_there,
    pods_have_nodes,
    values_leave_data_and_doors_alone,
)
"""Rules between Langfuse and other sections; each names the sections that it needs as its parameters."""
