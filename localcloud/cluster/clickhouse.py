"""Stands in for ClickHouse's operator: says of keepers and servers whether they would run, as it does.

There are no servers here. What keeps them from running on AWS keeps them from being ready: no keepers, a password that
is not there, a volume that is not bound. The operator tells only which servers are not ready; why is in an Event.
"""

from collections.abc import Collection, Iterator, Mapping
from itertools import product
from typing import Any

from lightkube.generic_resource import create_namespaced_resource

from localcloud.cluster.conditions import Condition, lacking, tell
from localcloud.cluster.events import warn
from localcloud.cluster.kinds import CONFIG_MAP, SECRET, VOLUME_CLAIM
from localcloud.cluster.pods import can_run
from localcloud.cluster.releases import values_of
from localcloud.cluster.view import Object, View, is_going
from localcloud.properties import value_at

CHART = "clickhouse-operator-helm"

KEEPER = create_namespaced_resource("clickhouse.com", "v1alpha1", "KeeperCluster", "keeperclusters")
SERVER = create_namespaced_resource("clickhouse.com", "v1alpha1", "ClickHouseCluster", "clickhouseclusters")

Place = tuple[str, str]
"""Namespace and name."""

_REPLICAS, _SHARDS = 3, 1
"""What the operator takes where an object does not say."""
_TEMPLATE = "clickhouse-storage-volume"
"""The operator's name for the claims of its StatefulSets."""
_CREDENTIALS = (
    *("cluster-secret", "interserver-password", "keeper-identity", "management-password"),
    "named-collections-key",
)
"""What servers, keepers and operator know each other by: keys of a Secret that is not the operator's own."""


def clickhouse(view: View) -> None:
    """Judges keepers, then the servers that need them, while the release is installed and has a node to run on."""
    release = view.release(CHART)
    if release is None or not can_run(view):
        return
    watched = values_of(release).get("watchNamespaces") or ()
    claims = {_place(claim): claim for claim in view.all(VOLUME_CLAIM)}
    ready: dict[Place, bool] = {}
    for keeper in _watched(view, KEEPER, watched):
        unbound = unbound_claims(keeper, keeper_claims(keeper), claims)
        told = keeper_conditions(keeper, unbound.keys())
        ready[_place(keeper)] = any(one.type == "Ready" and one.status == "True" for one in told)
        _tell(view, KEEPER, keeper, told, len(keeper_claims(keeper)) - len(unbound), [*unbound.values()])
    for server in _watched(view, SERVER, watched):
        _judge(view, server, claims, ready)


def _judge(view: View, server: Object, claims: Mapping[Place, Object], keepers: Mapping[Place, bool]) -> None:
    namespace, keeper = server["metadata"]["namespace"], server["spec"]["keeperClusterRef"]["name"]
    sources = _sources(view, namespace)
    credentials = credentials_condition(server, sources)
    also = [credentials] if credentials else []
    reasons = [one.message for one in also if one.status != "True"]
    if (namespace, keeper) not in keepers:
        reasons.append(f'keeper cluster "{keeper}" not found')
    if reasons:
        _tell(view, SERVER, server, [*stopped_conditions(server), *also], 0, reasons)
        return
    replicas = server_claims(server)
    waiting = unbound_claims(server, replicas, claims)
    reasons = [*waiting.values()]
    if not keepers[namespace, keeper]:
        reasons.append(f'keeper cluster "{keeper}" is not ready')
    if fault := password_fault(server, sources):
        reasons.append(fault)
    # Without keepers or a password, none of them starts.
    idle = waiting.keys() if len(reasons) == len(waiting) else replicas.keys()
    _tell(view, SERVER, server, [*server_conditions(server, idle), *also], len(replicas) - len(idle), reasons)


def keeper_claims(keeper: Object) -> dict[str, str]:
    """Returns the claims that the operator's StatefulSets look for, by replica."""
    stem = f"{_TEMPLATE}-{_dns_name(keeper)}-keeper"
    return {f"{one}": f"{stem}-{one}-0" for one in range(_count(keeper, "replicas", _REPLICAS))}


def server_claims(server: Object) -> dict[str, str]:
    """Returns the claims that the operator's StatefulSets look for, by `(shard:replica)`."""
    stem = f"{_TEMPLATE}-{_dns_name(server)}-clickhouse"
    shards, replicas = _count(server, "shards", _SHARDS), _count(server, "replicas", _REPLICAS)
    return {f"({one}:{two})": f"{stem}-{one}-{two}-0" for one, two in product(range(shards), range(replicas))}


def unbound_claims(item: Object, names: Mapping[str, str], claims: Mapping[Place, Object]) -> dict[str, str]:
    """Returns the replicas that wait for a claim of theirs, and what they would say.

    Args:
        item: a KeeperCluster or ClickHouseCluster.
        names: the claim of each replica; one that is not there yet is made by the StatefulSet, and keeps nobody.
        claims: all claims of the cluster.
    """
    if not value_at(item, "spec.dataVolumeClaimSpec"):
        return {}
    namespace = item["metadata"]["namespace"]
    found = {replica: claims.get((namespace, name)) for replica, name in names.items()}
    return {
        replica: f'pod has unbound immediate PersistentVolumeClaim "{names[replica]}"'
        for replica, claim in found.items()
        if claim is not None and value_at(claim, "status.phase") != "Bound"
    }


def keeper_conditions(keeper: Object, waiting: Collection[str]) -> list[Condition]:
    """Returns the conditions of keepers, as the operator writes them.

    Args:
        keeper: the KeeperCluster.
        waiting: its replicas that are not ready.
    """
    count = _count(keeper, "replicas", _REPLICAS)
    running = count - len(waiting)
    if count == 0:
        ready = lacking("Ready", "NoLeader", "No replicas")
    elif count == 1:
        ready = (
            Condition("Ready", "True", "StandaloneReady", "Standalone Keeper is ready")
            if running
            else lacking("Ready", "NoLeader", "No replicas in standalone mode")
        )
    else:
        # Keepers elect a leader with more than half of them.
        ready = (
            Condition("Ready", "True", "ClusterReady", "Cluster is ready")
            if running > count // 2
            else lacking("Ready", "NoLeader", "No leader in the cluster")
        )
    scalable = (
        lacking("ScaleAllowed", "ReplicaNotReady", f"Waiting for {running}/{count} to be Ready")
        if waiting
        else Condition("ScaleAllowed", reason="ReadyToScale")
    )
    return [*_common_conditions(waiting), ready, scalable]


def server_conditions(server: Object, waiting: Collection[str]) -> list[Condition]:
    """Returns the conditions of servers, as the operator writes them.

    Args:
        server: the ClickHouseCluster.
        waiting: its replicas that are not ready, `(shard:replica)`.
    """
    if value_at(server, "spec.settings.enableDatabaseSync") is False:
        schema = Condition("SchemaInSync", "True", "SchemaSyncDisabled", "Database schema sync is disabled")
    elif waiting:
        schema = lacking("SchemaInSync", "DatabasesNotCreated", "Some databases are not created on all replicas")
    else:
        schema = Condition("SchemaInSync", "True", "ReplicasInSync", "All replicas are in sync")
    return [*_common_conditions(waiting), _shards_ready(server, waiting), schema]


def stopped_conditions(server: Object) -> list[Condition]:
    """Returns the conditions of servers that the operator makes no StatefulSets for.

    Args:
        server: the ClickHouseCluster.
    """
    unknown = ("Unknown", "ReconcileStepFailed", "Reconcile stopped before condition evaluation")
    changed = {
        "ClusterSizeAligned": ("False", "ScalingUp", "Cluster has less replicas than requested"),
        "ConfigurationInSync": unknown,
        "VersionInSync": unknown,
    }
    waiting = server_claims(server).keys()
    common = [
        Condition(one.type, *changed[one.type]) if one.type in changed else one for one in _common_conditions(waiting)
    ]
    return [*common, _shards_ready(server, waiting), Condition("SchemaInSync", *unknown)]


def credentials_condition(server: Object, sources: Mapping[tuple[str, str], Object]) -> Condition | None:
    """Returns what the operator says of a Secret that it shall use in place of one of its own; None where it has one.

    Args:
        server: the ClickHouseCluster.
        sources: the Secrets (`secret`) of its namespace, by kind and name.
    """
    wanted = value_at(server, "spec.externalSecret")
    if not wanted:
        return None
    kind, name = "ExternalSecretValid", wanted["name"]
    source = sources.get(("secret", name))
    if source is None:
        return lacking(kind, "ExternalSecretNotFound", f'external secret "{name}" not found')
    missing = [key for key in _CREDENTIALS if not (source.get("data") or {}).get(key)]
    if missing and wanted.get("policy", "Observe") == "Observe":
        return lacking(
            kind, "ExternalSecretInvalid", f'external secret "{name}" is missing required keys: {", ".join(missing)}'
        )
    return Condition(kind)


def password_fault(server: Object, sources: Mapping[tuple[str, str], Object]) -> str | None:
    """Returns why servers do not get the password of the user `default`, None when they do, or have none.

    Args:
        server: the ClickHouseCluster.
        sources: the Secrets (`secret`) and ConfigMaps (`configMap`) of its namespace, by kind and name.
    """
    selector = value_at(server, "spec.settings.defaultUserPassword") or {}
    for kind in ("secret", "configMap"):
        if (wanted := selector.get(kind)) is None:
            continue
        source = sources.get((kind, wanted["name"]))
        if source is None:
            return f'{kind.lower()} "{wanted["name"]}" not found'
        if wanted["key"] not in (source.get("data") or {}):
            return f"couldn't find key {wanted['key']} in {kind} {'/'.join(_place(source))}"
    return None


def _sources(view: View, namespace: str) -> dict[tuple[str, str], Object]:
    """Secrets and ConfigMaps of a namespace, by kind and name."""
    return {
        (kind, item["metadata"]["name"]): item
        for kind, read in (("secret", SECRET), ("configMap", CONFIG_MAP))
        for item in view.all(read)
        if item["metadata"]["namespace"] == namespace
    }


def _shards_ready(server: Object, waiting: Collection[str]) -> Condition:
    idle = [
        shard
        for shard in range(_count(server, "shards", _SHARDS))
        if all(replica in waiting for replica in server_claims(server) if replica.startswith(f"({shard}:"))
    ]
    if idle:
        return lacking("Ready", "SomeShardsNotReady", f"Not Ready shards: [{_listed(idle)}]")
    return Condition("Ready", "True", "AllShardsReady", "All shards are ready")


def _common_conditions(waiting: Collection[str]) -> list[Condition]:
    healthy = (
        lacking("Healthy", "ReplicasNotReady", f"Not ready replicas: [{_listed(waiting)}]")
        if waiting
        else Condition("Healthy", reason="ReplicasReady")
    )
    return [
        Condition("SpecValid"),
        Condition("ReconcileSucceeded", "True", "ReconcileFinished", "Reconcile succeeded"),
        Condition("ReplicaStartupSucceeded", reason="ReplicasRunning"),
        healthy,
        Condition("ClusterSizeAligned", reason="UpToDate"),
        Condition("ConfigurationInSync", reason="UpToDate"),
        Condition("VersionInSync", reason="VersionMatch"),
    ]


def _tell(view: View, kind: Any, item: Object, told: list[Condition], running: int, reasons: list[str]) -> None:
    for reason in reasons:
        warn(view, kind, item, "ClusterNotReady", reason, CHART)
    status = {"readyReplicas": running, "observedGeneration": item["metadata"].get("generation", 1)}
    tell(view, kind, item, status, told)


def _watched(view: View, kind: Any, namespaces: Collection[str]) -> Iterator[Object]:
    """Objects of the namespaces that the operator looks at; with none named, it looks at all."""
    for item in view.all(kind):
        if not is_going(item) and (not namespaces or item["metadata"]["namespace"] in namespaces):
            yield item


def _place(item: Object) -> Place:
    return item["metadata"]["namespace"], item["metadata"]["name"]


def _count(item: Object, field: str, default: int) -> int:
    given = value_at(item, f"spec.{field}")
    return default if given is None else given


def _dns_name(item: Object) -> str:
    return item["metadata"]["name"].replace(".", "-")


def _listed(values: Collection[Any]) -> str:
    """Several values as Go prints them."""
    return " ".join(str(value) for value in values)
