"""What the stand-in for ClickHouse's operator says of keepers and servers; the slow ones in a real cluster."""

import pytest

from localcloud.cluster.clickhouse import (
    CHART,
    KEEPER,
    SERVER,
    clickhouse,
    credentials_condition,
    keeper_claims,
    keeper_conditions,
    password_fault,
    server_claims,
    server_conditions,
    stopped_conditions,
    unbound_claims,
)
from localcloud.cluster.conditions import find, holds
from localcloud.cluster.kinds import SECRET, VOLUME_CLAIM
from tests.localcloud.cluster.stage import Stage

PASSWORD = {"secret": {"name": "langfuse", "key": "clickhouse-password"}}
STORAGE = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "10Gi"}}}


def keepers(**spec):
    return {"metadata": {"name": "langfuse", "namespace": "lab"}, "spec": spec}


def servers(**spec):
    return {
        "metadata": {"name": "langfuse", "namespace": "lab"},
        "spec": {"keeperClusterRef": {"name": "langfuse"}, **spec},
    }


def said(conditions, kind="Ready"):
    (one,) = [condition for condition in conditions if condition.type == kind]
    return one.status, one.reason, one.message


def claim(name, phase, namespace="lab"):
    return {(namespace, name): {"metadata": {"name": name, "namespace": namespace}, "status": {"phase": phase}}}


def test_a_claim_is_named_as_the_operator_names_it():
    assert keeper_claims(keepers(replicas=1)) == {"0": "clickhouse-storage-volume-langfuse-keeper-0-0"}
    assert server_claims(servers(replicas=2)) == {
        "(0:0)": "clickhouse-storage-volume-langfuse-clickhouse-0-0-0",
        "(0:1)": "clickhouse-storage-volume-langfuse-clickhouse-0-1-0",
    }


def test_without_a_number_there_are_three_keepers_and_three_servers_of_one_shard():
    assert [*keeper_claims(keepers())] == ["0", "1", "2"]
    assert [*server_claims(servers())] == ["(0:0)", "(0:1)", "(0:2)"]


def test_a_dot_in_a_name_is_none_in_the_name_of_a_claim():
    dotted = {"metadata": {"name": "lang.fuse", "namespace": "lab"}, "spec": {"replicas": 1}}
    assert keeper_claims(dotted) == {"0": "clickhouse-storage-volume-lang-fuse-keeper-0-0"}


@pytest.mark.parametrize("phase", ["Pending", "Lost"])
def test_a_replica_waits_for_a_claim_of_its_own_that_is_not_bound(phase):
    item = keepers(replicas=2, dataVolumeClaimSpec=STORAGE)
    first, second = keeper_claims(item).values()
    waiting = unbound_claims(item, keeper_claims(item), claim(first, phase) | claim(second, "Bound"))
    assert [*waiting] == ["0"]
    assert first in waiting["0"]


@pytest.mark.parametrize("storage", [STORAGE, None])
def test_a_claim_of_others_or_none_keeps_nobody(storage):
    item = keepers(replicas=1, dataVolumeClaimSpec=storage)
    (name,) = keeper_claims(item).values()
    assert unbound_claims(item, keeper_claims(item), {}) == {}
    assert unbound_claims(item, keeper_claims(item), claim(name, "Pending", "elsewhere")) == {}
    held = unbound_claims(item, keeper_claims(item), claim(name, "Pending"))
    assert bool(held) == bool(storage), "without storage no claim is looked for"


@pytest.mark.parametrize(
    ("replicas", "waiting", "expected"),
    [
        (1, [], ("True", "StandaloneReady", "Standalone Keeper is ready")),
        (1, ["0"], ("False", "NoLeader", "No replicas in standalone mode")),
        (3, [], ("True", "ClusterReady", "Cluster is ready")),
        (3, ["1"], ("True", "ClusterReady", "Cluster is ready")),
        (3, ["0", "1"], ("False", "NoLeader", "No leader in the cluster")),
        (0, [], ("False", "NoLeader", "No replicas")),
    ],
)
def test_keepers_are_ready_when_more_than_half_of_them_are(replicas, waiting, expected):
    assert said(keeper_conditions(keepers(replicas=replicas), waiting)) == expected


def test_keepers_tell_of_those_that_are_not_ready():
    told = keeper_conditions(keepers(replicas=3), ["0", "2"])
    assert said(told, "Healthy") == ("False", "ReplicasNotReady", "Not ready replicas: [0 2]")
    assert said(told, "ScaleAllowed") == ("False", "ReplicaNotReady", "Waiting for 1/3 to be Ready")


@pytest.mark.parametrize(
    ("waiting", "expected"),
    [
        ([], ("True", "AllShardsReady", "All shards are ready")),
        (["(0:1)"], ("True", "AllShardsReady", "All shards are ready")),
        (["(1:0)", "(1:1)"], ("False", "SomeShardsNotReady", "Not Ready shards: [1]")),
    ],
)
def test_servers_are_ready_when_each_shard_has_one_that_is(waiting, expected):
    told = server_conditions(servers(shards=2, replicas=2), waiting)
    assert said(told) == expected
    assert said(told, "Healthy")[0] == ("False" if waiting else "True")
    assert said(told, "SchemaInSync")[1] == ("DatabasesNotCreated" if waiting else "ReplicasInSync")


def test_servers_that_do_not_share_databases_are_in_sync():
    told = server_conditions(servers(replicas=1, settings={"enableDatabaseSync": False}), ["(0:0)"])
    assert said(told, "SchemaInSync") == ("True", "SchemaSyncDisabled", "Database schema sync is disabled")


def test_each_kind_has_the_conditions_that_the_operator_writes():
    common = {
        *("SpecValid", "ReconcileSucceeded", "ReplicaStartupSucceeded", "Healthy", "ClusterSizeAligned"),
        *("ConfigurationInSync", "VersionInSync", "Ready"),
    }
    assert {one.type for one in keeper_conditions(keepers(), [])} == common | {"ScaleAllowed"}
    assert {one.type for one in server_conditions(servers(), [])} == common | {"SchemaInSync"}
    assert {one.type for one in stopped_conditions(servers())} == common | {"SchemaInSync"}


def test_servers_that_the_operator_does_not_come_to_are_not_ready():
    told = stopped_conditions(servers(replicas=2))
    assert said(told) == ("False", "SomeShardsNotReady", "Not Ready shards: [0]")
    assert said(told, "Healthy")[2] == "Not ready replicas: [(0:0) (0:1)]"
    assert said(told, "ClusterSizeAligned")[1] == "ScalingUp"
    assert said(told, "SchemaInSync")[0] == "Unknown"


def test_a_secret_in_place_of_the_operators_own_has_every_key():
    wanting = servers(externalSecret={"name": "clickhouse", "policy": "Observe"})
    assert credentials_condition(servers(), {}) is None
    missing = credentials_condition(wanting, {})
    assert (missing.status, missing.reason) == ("False", "ExternalSecretNotFound")
    keys = ["cluster-secret", "interserver-password", "keeper-identity", "management-password", "named-collections-key"]
    partial = {("secret", "clickhouse"): {"data": dict.fromkeys(keys[1:], "eA==")}}
    invalid = credentials_condition(wanting, partial)
    assert (invalid.status, invalid.reason) == ("False", "ExternalSecretInvalid")
    assert invalid.message.endswith("missing required keys: cluster-secret")
    managed = servers(externalSecret={"name": "clickhouse", "policy": "Manage"})
    assert credentials_condition(managed, partial).status == "True", "the operator fills in what is missing"
    whole = {("secret", "clickhouse"): {"data": dict.fromkeys(keys, "eA==")}}
    assert credentials_condition(wanting, whole).status == "True"


def test_a_password_is_in_the_secret_that_the_servers_name():
    wanting = servers(settings={"defaultUserPassword": PASSWORD})
    assert password_fault(wanting, {}) == 'secret "langfuse" not found'
    metadata = {"metadata": {"name": "langfuse", "namespace": "lab"}}
    other = {("secret", "langfuse"): {**metadata, "data": {"salt": "eA=="}}}
    assert "couldn't find key clickhouse-password" in password_fault(wanting, other)
    right = {("secret", "langfuse"): {**metadata, "data": {"clickhouse-password": "eA=="}}}
    assert password_fault(wanting, right) is None
    assert password_fault(servers(), {}) is None


@pytest.fixture
def stage(cloud, client, published_crds):
    published_crds("crds-gz/clickhouse*.yaml.gz")
    stage = Stage(cloud, client, clickhouse)
    stage.node("a")
    yield stage
    stage.clear()


def made(stage, kind, item):
    metadata = {"name": item["metadata"]["name"], "namespace": stage.namespace}
    stage.make(kind, {"metadata": metadata, "spec": item["spec"]})


def ready(stage, kind):
    return find(stage.own(kind, "langfuse"), "Ready") or {}


@pytest.mark.slow
def test_servers_are_ready_after_their_keepers_and_say_of_which_generation(stage):
    stage.release(CHART, f"watchNamespaces: [{stage.namespace}]")
    made(stage, SERVER, servers(replicas=1))
    stage.until(lambda: ready(stage, SERVER).get("status") == "False")
    assert "not found" in " ".join(stage.events("ClusterNotReady"))
    made(stage, KEEPER, keepers(replicas=1))
    stage.until(lambda: ready(stage, SERVER).get("status") == "True")
    status = stage.own(SERVER, "langfuse")["status"]
    assert (status["readyReplicas"], status["observedGeneration"]) == (1, 1)
    assert ready(stage, SERVER)["observedGeneration"] == 1


@pytest.mark.slow
def test_servers_wait_for_keepers_that_wait_for_a_claim(stage):
    stage.release(CHART)
    keeper = keepers(replicas=1, dataVolumeClaimSpec=STORAGE)
    (name,) = keeper_claims(keeper).values()
    stage.make(VOLUME_CLAIM, {"metadata": {"name": name, "namespace": stage.namespace}, "spec": STORAGE})
    made(stage, KEEPER, keeper)
    made(stage, SERVER, servers(replicas=1))
    stage.until(lambda: ready(stage, SERVER).get("status") == "False")
    assert ready(stage, KEEPER)["reason"] == "NoLeader"
    assert 'keeper cluster "langfuse" is not ready' in stage.events("ClusterNotReady")
    stage.delete(VOLUME_CLAIM, name)
    stage.until(lambda: holds(stage.own(SERVER, "langfuse"), "Ready"))


@pytest.mark.slow
def test_servers_wait_for_their_password_and_for_a_claim_that_is_there(stage):
    stage.release(CHART)
    made(stage, KEEPER, keepers(replicas=1))
    server = servers(replicas=1, settings={"defaultUserPassword": PASSWORD}, dataVolumeClaimSpec=STORAGE)
    (name,) = server_claims(server).values()
    stage.make(VOLUME_CLAIM, {"metadata": {"name": name, "namespace": stage.namespace}, "spec": STORAGE})
    made(stage, SERVER, server)
    stage.until(lambda: ready(stage, SERVER).get("message") == "Not Ready shards: [0]")
    events = " ".join(stage.events("ClusterNotReady"))
    assert 'secret "langfuse" not found' in events
    assert name in events
    stage.make(
        SECRET,
        {
            "metadata": {"name": "langfuse", "namespace": stage.namespace},
            "stringData": {"clickhouse-password": "x"},
        },
    )
    stage.delete(VOLUME_CLAIM, name)
    stage.until(lambda: holds(stage.own(SERVER, "langfuse"), "Ready"))


@pytest.mark.slow
@pytest.mark.parametrize("watched", [None, "elsewhere"])
def test_without_an_operator_that_watches_its_namespace_nothing_becomes_ready(stage, watched):
    if watched:
        stage.release(CHART, f"watchNamespaces: [{watched}]")
    made(stage, KEEPER, keepers(replicas=1))
    stage.turns()
    assert ready(stage, KEEPER) == {}
