"""ClickHouse, as servers and keepers that its operator makes of two custom resources.

A Helm release does not make them: it would take them away together with the operator that has to end them, and waits
for none of them to work. What is said of the operator was read 2026-12-01 in its source and issues, 0.0.2 to 0.0.5.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes
from typing_extensions import TypedDict

from components.delivered_secret import DeliveredSecret
from components.langfuse import (
    CLICKHOUSE,
    CLICKHOUSE_PASSWORD,
    CLUSTER_SECRET,
    INTERSERVER_PASSWORD,
    KEEPER_IDENTITY,
    MANAGEMENT_PASSWORD,
    NAMED_COLLECTIONS_KEY,
    NAMESPACE,
    LangfuseSettings,
    claims,
    keepers,
)
from components.pools import Pool, apart

OPERATOR_NAMESPACE = "clickhouse-operator"
"""Where the operator runs, which asks servers and keepers how they are."""
SECRET = "clickhouse"
"""The Secret with the password of `default`, and with what servers, keepers and operator know each other by."""
USER = "default"
HOST = f"{CLICKHOUSE}-clickhouse-headless"
"""The Service that the operator makes for the servers: its name has the addresses of them all."""
HTTP, NATIVE = 8123, 9000
"""Ports for those who have a password."""
MANAGEMENT, KEEPER = 9001, 2181
"""Ports that the operator asks: of servers, and of keepers."""
SERVER_METRICS, KEEPER_METRICS = 9363, 9090

VERSION = "26.4"
"""The version of servers and keepers that Langfuse's chart takes; Langfuse 4 needs 25.12 or later."""
RESOURCES: Mapping[str, Mapping[str, Mapping[str, str]]] = {
    "clickhouse": {"requests": {"cpu": "1", "memory": "4Gi"}, "limits": {"memory": "8Gi"}},
    "keeper": {"requests": {"cpu": "250m", "memory": "512Mi"}, "limits": {"memory": "1Gi"}},
}
"""What a server and a keeper ask for. What a server may use it reads from its limit."""

_HUB = "docker.io"
_LOGGER = {"logToFile": False, "level": "information"}
"""The console has the log anyway; on the volume the operator's default are fifty files of a gigabyte."""
_OWN_TABLES, _OWN_DAYS = ("query_log", "part_log", "text_log"), 7
"""The tables that a server keeps about itself, as the operator turns them on."""
_CREDENTIALS = (INTERSERVER_PASSWORD, MANAGEMENT_PASSWORD, CLUSTER_SECRET, KEEPER_IDENTITY, NAMED_COLLECTIONS_KEY)
_USER_ID = 101
"""User and group `clickhouse` of both images."""


class ClickhouseArgs(TypedDict):
    """What ClickHouse needs."""

    settings: LangfuseSettings
    """What the stack says of Langfuse, whose ClickHouse this is."""
    secret_name: pulumi.Input[str]
    """Name of Langfuse's secret in Secrets Manager."""
    pools: Sequence[Pool]
    """The pools that its pods run on; none: any node without taints."""
    image_registry: str | None
    """The registry that mirrors every image; None: each comes from where it is published."""


class Clickhouse(pulumi.ComponentResource):
    """Keepers, and then servers. Each is ready once a client can use it."""

    def __init__(self, name: str, args: ClickhouseArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("eksai:index:Clickhouse", name, {}, opts)
        child = pulumi.ResourceOptions(parent=self)
        secret = DeliveredSecret(
            name,
            {
                "source": args["secret_name"],
                "namespace": NAMESPACE,
                "secret": SECRET,
                "keys": {key: key for key in (CLICKHOUSE_PASSWORD, *_CREDENTIALS)},
            },
            child,
        )
        made = _make(f"{name}-keepers", "KeeperCluster", keeper_spec(args), ("Ready", "Healthy"), child)
        after = pulumi.ResourceOptions.merge(child, pulumi.ResourceOptions(depends_on=[made, secret]))
        # The first is true once any server answers. Until the last one is, the operator may still drop a server's
        # database to make it anew as a replicated one.
        _make(name, "ClickHouseCluster", server_spec(args), ("Ready", "Healthy", "SchemaInSync"), after)
        self.register_outputs({})


def keeper_spec(args: ClickhouseArgs) -> dict[str, Any]:
    """What the operator is told of the keepers.

    Args:
        args: what ClickHouse needs.
    """
    return {"replicas": keepers(args["settings"]), **_pods("keeper", args), "settings": {"logger": _LOGGER}}


def server_spec(args: ClickhouseArgs) -> dict[str, Any]:
    """What the operator is told of the servers.

    Args:
        args: what ClickHouse needs.
    """
    return {
        "replicas": args["settings"]["clickhouse"]["replicas"],
        # Langfuse asks any server, and wants all data of it.
        "shards": 1,
        "keeperClusterRef": {"name": CLICKHOUSE},
        **_pods("clickhouse", args),
        # Else the operator draws an identity of its own with every new cluster, and the keepers' volumes, which outlive
        # it, let in only the one that filled them (ClickHouse/clickhouse-operator#181).
        "externalSecret": {"name": SECRET, "policy": "Observe"},
        "settings": {
            "defaultUserPassword": {
                "passwordType": "password",
                "secret": {"name": SECRET, "key": CLICKHOUSE_PASSWORD},
            },
            "logger": _LOGGER,
            # Nobody else ends them, and they would fill the volume.
            "extraConfig": {table: {"ttl": f"event_date + INTERVAL {_OWN_DAYS} DAY DELETE"} for table in _OWN_TABLES},
        },
    }


def _pods(kind: str, args: ClickhouseArgs) -> dict[str, Any]:
    """What is said of the pods of servers (`clickhouse`) and keepers (`keeper`) alike."""
    image = f"clickhouse/clickhouse-{'server' if kind == 'clickhouse' else kind}"
    app = f"{CLICKHOUSE}-{kind}"
    gib = next(claim.gib for claim in claims(args["settings"]) if f"-{app}-" in claim.name)
    return {
        "dataVolumeClaimSpec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "gp3",
            "resources": {"requests": {"storage": f"{gib}Gi"}},
        },
        "podTemplate": {
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": _USER_ID,
                "runAsGroup": _USER_ID,
                "fsGroup": _USER_ID,
                # Else Kubernetes looks at every file of a volume before each start.
                "fsGroupChangePolicy": "OnRootMismatch",
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            # The operator's own keys for it want a zone for each, or are added anew for every replica.
            **apart({"app": app}, args["pools"]),
        },
        "containerTemplate": {
            "image": {"repository": f"{args['image_registry'] or _HUB}/{image}", "tag": VERSION},
            "resources": RESOURCES[kind],
            "securityContext": {
                "allowPrivilegeEscalation": False,
                # The operator adds three capabilities for debugging wherever none is added, whatever is dropped
                # (ClickHouse/clickhouse-operator#174). This one is of no use, and Pod Security lets it pass.
                "capabilities": {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]},
            },
        },
    }


def _make(
    logical: str, kind: str, spec: Mapping[str, Any], conditions: Sequence[str], opts: pulumi.ResourceOptions
) -> pulumi.Resource:
    return kubernetes.apiextensions.CustomResource(
        logical,
        api_version="clickhouse.com/v1alpha1",
        kind=kind,
        metadata={
            "name": CLICKHOUSE,
            "namespace": NAMESPACE,
            "annotations": {"pulumi.com/waitFor": json.dumps([f"condition={condition}" for condition in conditions])},
        },
        spec=spec,
        opts=opts,
    )
