"""What Langfuse needs beside its chart: its secrets, its ClickHouse, an identity for its bucket, and a network policy.

Names of settings were read 2026-12-01: chart 2.0.0 with its charts of PostgreSQL (1.6.3) and Valkey (0.9.4), and
Langfuse 4.4.0 (web/src/env.mjs, auth.ts and initialize.ts, packages/shared). It refuses everybody's first sign-in where
signing up is off, whoever vouches for the person. So with a user pool, whose accounts only administrators make, signing
up is on and passwords are off.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pulumi

from components.bucket import owner_statements
from components.delivered_secret import DeliveredSecret
from components.domain import Domain
from components.langfuse import (
    ACCOUNT,
    ADMIN_PASSWORD,
    CLICKHOUSE_PASSWORD,
    DATABASE,
    DATABASE_USER,
    ENCRYPTION_KEY,
    NEXTAUTH_SECRET,
    POSTGRES_CLAIM,
    POSTGRES_PASSWORD,
    PUBLIC_KEY,
    REDIS_CLAIM,
    REDIS_PASSWORD,
    SALT,
    SECRET_KEY,
    LangfuseSettings,
    LangfuseStores,
)
from components.load_balancer import INGRESS_CLASS, platform_balancer
from components.network_isolation import Addresses, NetworkIsolation, Pods
from components.platform import clickhouse
from components.platform.catalog import CHARTS
from components.platform.clickhouse import Clickhouse
from components.pod_identity import PodIdentity
from components.policy_document import document
from components.pools import Pool, named, placement
from components.release import overlaid, read_chart
from components.sign_in import CLIENT_ID, CLIENT_SECRET, SignIn
from components.web_apps import WEB_APPS

APP = WEB_APPS["langfuse"]
SECRET, SIGN_IN_SECRET = "langfuse", "langfuse-sign-in"
"""The Secrets of its own pods: with all that it knows, and with the client that the user pool knows it by."""
POSTGRES_SECRET, REDIS_SECRET = "postgresql-auth", "redis-auth"
"""The Secrets of the databases in the cluster, each with one password."""
ORGANISATION, PROJECT = "platform", "default"
"""Ids of the first organisation and of its first project, whose API keys are in the secret."""
PREFIXES: Mapping[str, str] = {"eventUpload": "events/", "batchExport": "exports/", "mediaUpload": "media/"}
"""Where in the bucket things are, by the chart's name for them."""

_OWN_KEYS = (
    *(SALT, ENCRYPTION_KEY, NEXTAUTH_SECRET, POSTGRES_PASSWORD, REDIS_PASSWORD, CLICKHOUSE_PASSWORD),
    *(ADMIN_PASSWORD, PUBLIC_KEY, SECRET_KEY),
)
_WEB = 3000
"""The port of its web pods."""
_POSTGRES_KEY, _REDIS_KEY = "POSTGRES_PASSWORD", "default"
"""What PostgreSQL's and Valkey's charts look for in their Secrets; the second is the name of a user."""
_TRACED = ("jupyterhub", "ml-pipelines", "ray-system")
"""Namespaces whose pods send traces."""


class LangfuseArgs(LangfuseSettings):
    """What Langfuse needs."""

    cluster_name: pulumi.Input[str]
    """The cluster's name."""
    region: str
    """AWS region."""
    key_arn: pulumi.Input[str]
    """Key that the bucket is encrypted with."""
    storage: LangfuseStores
    """Its stores outside the cluster."""
    stack_pools: Sequence[Pool]
    """All pools of the stack."""
    sign_in: SignIn | None
    """Where people sign in; None: with an address and a password that Langfuse knows."""
    domain: Domain | None
    """The domain that it is published below; None: it is forwarded to."""
    node_ranges: Sequence[str]
    """Where load balancers, endpoints and databases are: the ranges of the VPC, but for one that only pods have."""
    image_registry: str | None
    """The registry that mirrors every image; None: each comes from where it is published."""


class Langfuse(pulumi.ComponentResource):
    """What Langfuse's release needs beforehand, and what it is told.

    Attributes:
        values: Helm values laid over those of the chart file.
    """

    def __init__(self, name: str, args: LangfuseArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("eksai:index:Langfuse", name, {}, opts)
        self._child = child = pulumi.ResourceOptions(parent=self)
        storage, domain, sign_in = args["storage"], args["domain"], args["sign_in"]
        PodIdentity(
            name,
            {
                "cluster_name": args["cluster_name"],
                "namespace": APP.namespace,
                "service_account": ACCOUNT,
                "policies": {
                    "bucket": document(*owner_statements(storage.bucket_arn, args["key_arn"], args["region"]))
                },
            },
            child,
        )
        self._deliver(name, SECRET, storage.secret_name, {key: key for key in _OWN_KEYS})
        if storage.database is None:
            self._deliver(
                f"{name}-postgresql", POSTGRES_SECRET, storage.secret_name, {_POSTGRES_KEY: POSTGRES_PASSWORD}
            )
        if storage.cache is None:
            self._deliver(f"{name}-redis", REDIS_SECRET, storage.secret_name, {_REDIS_KEY: REDIS_PASSWORD})
        if sign_in is not None:
            client = sign_in.clients[APP.name].secret_name
            self._deliver(f"{name}-sign-in", SIGN_IN_SECRET, client, {key: key for key in (CLIENT_ID, CLIENT_SECRET)})
        Clickhouse(
            f"{name}-clickhouse",
            {
                "settings": args,
                "secret_name": storage.secret_name,
                "pools": named(args["pools"], args["stack_pools"]),
                "image_registry": args["image_registry"],
            },
            child,
        )
        NetworkIsolation(
            f"isolation-of-{name}",
            {
                "namespace": APP.namespace,
                "vpc_ranges": args["node_ranges"],
                "ingress": list(_reached_by(args)),
                "egress": [
                    Addresses(args["node_ranges"], (store.port,))
                    for store in (storage.database, storage.cache)
                    if store is not None
                ],
            },
            child,
        )
        bucket = {
            "bucket": storage.bucket,
            "region": args["region"],
            **{use: {"prefix": prefix} for use, prefix in PREFIXES.items()},
        }
        app = {
            "nextauth": {"url": APP.url(None if domain is None else domain.name), "secret": _of(NEXTAUTH_SECRET)},
            **_entry(sign_in),
            "web": {"pod": {"additionalEnv": list(_beginning(args))}},
            "ingress": _ingress(domain),
        }
        outside = {"langfuse": app, "s3": bucket, **_outside(storage)}
        self.values: dict[str, Any] = overlaid(plain_values(args, args["stack_pools"]), outside)
        self.register_outputs({})

    def _deliver(self, name: str, secret: str, source: pulumi.Input[str], keys: Mapping[str, str]) -> None:
        DeliveredSecret(
            name, {"source": source, "namespace": APP.namespace, "secret": secret, "keys": keys}, self._child
        )


def plain_values(settings: LangfuseSettings, stack_pools: Sequence[Pool]) -> dict[str, Any]:
    """The Helm values that follow from the stack alone.

    Args:
        settings: what the stack says of Langfuse.
        stack_pools: all pools of the stack, those that the settings name among them.
    """
    pools, bundled = named(settings["pools"], stack_pools), settings["stores"] == "bundled"
    where = placement(pools) if pools else {}
    postgres: dict[str, Any] = {
        "deploy": bundled,
        "auth": {
            "username": DATABASE_USER,
            "database": DATABASE,
            "existingSecret": SECRET,
            "secretKeys": {"userPasswordKey": POSTGRES_PASSWORD},
        },
    }
    redis: dict[str, Any] = {
        "deploy": bundled,
        "auth": {"existingSecret": SECRET, "existingSecretPasswordKey": REDIS_PASSWORD},
    }
    if bundled:
        postgres |= {
            "settings": {"existingSecret": POSTGRES_SECRET},
            # Helm leaves a chart's own map out only for something that is no map. The chart would want a user beside
            # the first, and names in a Secret that are no secrets.
            "userDatabase": "",
            "env": [
                {"name": "POSTGRES_USER", "value": DATABASE_USER},
                {"name": "POSTGRES_DB", "value": DATABASE},
            ],
            "storage": {"persistentVolumeClaimName": POSTGRES_CLAIM},
            **where,
        }
        redis |= {"dataStorage": {"persistentVolumeClaimName": REDIS_CLAIM}, **where}
        redis["auth"]["usersExistingSecret"] = REDIS_SECRET
    return {
        "langfuse": {
            "salt": _of(SALT),
            "encryptionKey": _of(ENCRYPTION_KEY),
            "replicas": settings["replicas"],
            **where,
        },
        "postgresql": postgres,
        "redis": redis,
        "clickhouse": {
            "host": clickhouse.HOST,
            "httpPort": clickhouse.HTTP,
            "nativePort": clickhouse.NATIVE,
            "auth": {
                "username": clickhouse.USER,
                "existingSecret": SECRET,
                "existingSecretKey": CLICKHOUSE_PASSWORD,
            },
            # With one server too: tables that were made for one have no copies when there are more.
            "cluster": {"enabled": True},
        },
    }


def pod_specs(
    settings: LangfuseSettings, stack_pools: Sequence[Pool], own_values: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """What decides where each kind of pod runs, by what it is: Langfuse's own, and those of its stores in the cluster.

    Args:
        settings: what the stack says of Langfuse.
        stack_pools: all pools of the stack, those that the settings name among them.
        own_values: the stack's own Helm values.
    """
    values = overlaid(
        overlaid(read_chart(CHARTS["langfuse"]).values, plain_values(settings, stack_pools)),
        own_values,
    )
    common, pools = values["langfuse"], named(settings["pools"], stack_pools)
    specs = {part: _spec(part, common[part]["resources"], common) for part in ("web", "worker")}
    if settings["stores"] == "bundled":
        specs |= {part: _spec(part, values[part]["resources"], values[part]) for part in ("postgresql", "redis")}
    where = placement(pools) if pools else {}
    return specs | {part: _spec(part, resources, where) for part, resources in clickhouse.RESOURCES.items()}


def _spec(part: str, resources: Mapping[str, Any], where: Mapping[str, Any]) -> dict[str, Any]:
    places = {key: where[key] for key in ("affinity", "nodeSelector", "tolerations") if where.get(key)}
    return {**places, "containers": [{"name": part, "resources": resources}]}


def _outside(storage: LangfuseStores) -> dict[str, Any]:
    """How databases of AWS are reached, each over TLS."""
    values: dict[str, Any] = {}
    if storage.database is not None:
        # Langfuse's start script puts the host into an address as it is, and forgets the port. The database takes no
        # other connections than those with TLS; whether it is itself Langfuse does not check, for want of RDS's CA.
        host = pulumi.Output.concat(storage.database.host, ":", str(storage.database.port))
        values["postgresql"] = {"host": host, "args": "sslmode=require"}
    if storage.cache is not None:
        values["redis"] = {
            "host": storage.cache.host,
            "port": storage.cache.port,
            "tls": {"enabled": True},
            # AUTH of ElastiCache is a password without a user.
            "auth": {"username": ""},
        }
    return values


def _entry(sign_in: SignIn | None) -> dict[str, Any]:
    """Langfuse's values for who gets in."""
    if sign_in is None:
        return {"features": {"signUpDisabled": True}}
    client = {key: {"secretKeyRef": {"name": SIGN_IN_SECRET, "key": key}} for key in (CLIENT_ID, CLIENT_SECRET)}
    return {
        "features": {"signUpDisabled": False},
        "auth": {
            "disableUsernamePassword": True,
            "providers": {
                "cognito": {
                    "clientId": client[CLIENT_ID],
                    "clientSecret": client[CLIENT_SECRET],
                    "issuer": sign_in.issuer,
                    "checks": "pkce,state",
                    # Whom Langfuse knows by an address, such as the first user, is who has it in the user pool.
                    "allowAccountLinking": True,
                }
            },
        },
    }


def _beginning(args: LangfuseArgs) -> Iterator[dict[str, Any]]:
    """The environment by which Langfuse makes at a start what is not there yet: organisation, project, keys, owner."""
    known = {
        "LANGFUSE_INIT_ORG_ID": ORGANISATION,
        "LANGFUSE_INIT_ORG_NAME": ORGANISATION,
        "LANGFUSE_INIT_PROJECT_ID": PROJECT,
        "LANGFUSE_INIT_PROJECT_NAME": PROJECT,
    }
    secret = {"LANGFUSE_INIT_PROJECT_PUBLIC_KEY": PUBLIC_KEY, "LANGFUSE_INIT_PROJECT_SECRET_KEY": SECRET_KEY}
    if args["admin_email"] is not None:
        known |= {"LANGFUSE_INIT_USER_EMAIL": args["admin_email"], "LANGFUSE_INIT_USER_NAME": "Administrator"}
        secret |= {"LANGFUSE_INIT_USER_PASSWORD": ADMIN_PASSWORD}
    if args["sign_in"] is not None:
        known |= {"LANGFUSE_DEFAULT_ORG_ID": ORGANISATION, "LANGFUSE_DEFAULT_ORG_ROLE": "MEMBER"}
    yield from ({"name": name, "value": value} for name, value in known.items())
    yield from ({"name": name, "valueFrom": _of(key)} for name, key in secret.items())


def _ingress(domain: Domain | None) -> dict[str, Any]:
    if domain is None:
        return {"enabled": False}
    return {
        "enabled": True,
        "className": INGRESS_CLASS,
        "annotations": platform_balancer(domain).annotations("/api/public/health"),
        "hosts": [{"host": APP.host(domain.name), "paths": [{"path": "/", "pathType": "Prefix"}]}],
    }


def _reached_by(args: LangfuseArgs) -> Iterator[Pods | Addresses]:
    """Who reaches which of the namespace's pods from outside it."""
    yield from (Pods(namespace, (_WEB,)) for namespace in _TRACED)
    yield Pods(clickhouse.OPERATOR_NAMESPACE, (clickhouse.MANAGEMENT, clickhouse.KEEPER))
    yield Pods("monitoring", (clickhouse.SERVER_METRICS, clickhouse.KEEPER_METRICS))
    if args["domain"] is not None:
        yield Addresses(args["node_ranges"], (_WEB,))


def _of(key: str) -> dict[str, Any]:
    """A value of Langfuse's own Secret, as the chart and Kubernetes refer to it."""
    return {"secretKeyRef": {"name": SECRET, "key": key}}
