"""ClickHouse as the operator is told to make it."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.langfuse import (
    CLICKHOUSE,
    CLICKHOUSE_PASSWORD,
    KEEPER_IDENTITY,
    NAMED_COLLECTIONS_KEY,
    NAMESPACE,
    LangfuseSettings,
    claims,
    keepers,
)
from components.platform.catalog import CHARTS
from components.platform.clickhouse import (
    HOST,
    OPERATOR_NAMESPACE,
    RESOURCES,
    SECRET,
    Clickhouse,
    ClickhouseArgs,
    keeper_spec,
    server_spec,
)
from components.pools import POOL_LABEL, Pool
from components.release import read_chart
from localcloud.cluster.clickhouse import keeper_claims, server_claims
from tests.world import Built, run

SCHEMAS = Path(__file__).parents[2].parent / "shared" / "schemas" / "crds-gz"
LATER = {"externalSecret"}
"""Fields that the operator's CRD has got since the one at hand, of February 2026."""
TAINT = {"key": "team", "value": "traces", "effect": "NoSchedule"}
DATA = Pool("data", None, "al2023", [TAINT], None, "device-plugin", False, ("amd64",))


def settings(replicas: int = 1, gib: int = 50) -> LangfuseSettings:
    return LangfuseSettings(
        stores="aws",
        pools=(),
        replicas=1,
        admin_email="ana@example.com",
        database={
            "instance_class": "db.t4g.medium",
            "storage_gib": 20,
            "max_storage_gib": 100,
            "backup_days": 14,
            "multi_az": False,
        },
        cache={"node_type": "cache.t4g.small", "replicas": 0},
        clickhouse={"replicas": replicas, "storage_gib": gib},
    )


def args(replicas: int = 1, pools: tuple[Pool, ...] = (), registry: str | None = None, gib: int = 50) -> ClickhouseArgs:
    return ClickhouseArgs(
        settings=settings(replicas, gib), secret_name="eksai-dev/langfuse", pools=pools, image_registry=registry
    )


def clickhouse(**said: Any) -> Built[Clickhouse]:
    return run(lambda: Clickhouse("langfuse-clickhouse", args(**said)))


def specs(**said: Any) -> dict[str, dict[str, Any]]:
    return {"keeper": keeper_spec(args(**said)), "clickhouse": server_spec(args(**said))}


def test_servers_come_after_keepers_that_work_and_the_password_that_is_there():
    depends = clickhouse().named("langfuse-clickhouse", "kubernetes:clickhouse.com/v1alpha1:ClickHouseCluster")
    names = {urn.rpartition("::")[2] for urn in depends.dependencies}
    assert {"langfuse-clickhouse-keepers", "langfuse-clickhouse"} <= names


@pytest.mark.parametrize("kind", ["KeeperCluster", "ClickHouseCluster"])
def test_whoever_comes_after_finds_them_ready(kind: str):
    made = clickhouse().only(f"kubernetes:clickhouse.com/v1alpha1:{kind}").inputs["metadata"]
    awaited = json.loads(made["annotations"]["pulumi.com/waitFor"])
    assert {"condition=Ready", "condition=Healthy"} <= set(awaited), "Ready alone is true once any server answers"
    assert ("condition=SchemaInSync" in awaited) is (kind == "ClickHouseCluster"), "before, a database may be dropped"
    assert (made["name"], made["namespace"]) == (CLICKHOUSE, NAMESPACE)


@pytest.mark.parametrize(("replicas", "count"), [(1, 1), (2, 3), (3, 3)])
def test_several_servers_have_keepers_of_whom_one_may_be_missing(replicas: int, count: int):
    assert keeper_spec(args(replicas))["replicas"] == count == keepers(settings(replicas))
    assert server_spec(args(replicas))["replicas"] == replicas
    assert server_spec(args(replicas))["shards"] == 1


@pytest.mark.parametrize("replicas", [1, 2, 3])
def test_claims_have_the_names_that_the_operators_statefulsets_look_for(replicas: int):
    meta = {"metadata": {"name": CLICKHOUSE, "namespace": NAMESPACE}}
    wanted = [
        *server_claims({**meta, "spec": server_spec(args(replicas))}).values(),
        *keeper_claims({**meta, "spec": keeper_spec(args(replicas))}).values(),
    ]
    assert [claim.name for claim in claims(settings(replicas))] == wanted
    assert wanted[0] == "clickhouse-storage-volume-langfuse-clickhouse-0-0-0"
    assert wanted[-1] == f"clickhouse-storage-volume-langfuse-keeper-{keepers(settings(replicas)) - 1}-0"


def test_servers_lie_in_different_zones_and_so_do_keepers():
    places = [claim.place for claim in claims(settings(3))]
    assert places == [0, 1, 2, 0, 1, 2]


def test_a_pod_asks_for_what_its_volume_has():
    sizes = {claim.name: claim.gib for claim in claims(settings(gib=70))}
    for kind, spec in specs(gib=70).items():
        (size,) = {gib for name, gib in sizes.items() if f"langfuse-{kind}-" in name}
        claim = spec["dataVolumeClaimSpec"]
        assert claim["resources"] == {"requests": {"storage": f"{size}Gi"}}
        assert claim["storageClassName"] == "gp3"


def test_the_identity_that_keepers_know_outlives_the_cluster_as_their_volumes_do():
    assert server_spec(args())["externalSecret"] == {"name": SECRET, "policy": "Observe"}
    secret = clickhouse().only("kubernetes:external-secrets.io/v1:ExternalSecret").inputs
    assert secret["spec"]["target"]["name"] == SECRET
    delivered = {item["secretKey"] for item in secret["spec"]["data"]}
    needed = {"interserver-password", "management-password", "keeper-identity", "cluster-secret"}
    assert needed | {"named-collections-key"} <= delivered, "the operator does nothing while one is missing"
    assert {KEEPER_IDENTITY, NAMED_COLLECTIONS_KEY} <= delivered


def test_the_user_default_has_a_password_and_no_spec_tells_it():
    password = server_spec(args())["settings"]["defaultUserPassword"]
    assert password["secret"] == {"name": SECRET, "key": CLICKHOUSE_PASSWORD}
    assert "configMap" not in password


@pytest.mark.parametrize("kind", ["keeper", "clickhouse"])
def test_pods_pass_pod_security_restricted(kind: str):
    spec = specs()[kind]
    pod, container = spec["podTemplate"]["securityContext"], spec["containerTemplate"]["securityContext"]
    assert pod["runAsNonRoot"] is True
    assert pod["runAsUser"] > 0
    assert pod["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["allowPrivilegeEscalation"] is False
    assert container["capabilities"]["drop"] == ["ALL"]
    assert container["capabilities"]["add"] == ["NET_BIND_SERVICE"], "none at all, and the operator adds its own"


@pytest.mark.parametrize("kind", ["keeper", "clickhouse"])
def test_no_two_of_a_kind_share_a_node(kind: str):
    for pools in ((), (DATA,)):
        affinity = specs(replicas=3, pools=pools)[kind]["podTemplate"]["affinity"]["podAntiAffinity"]
        (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]
        assert term["topologyKey"] == "kubernetes.io/hostname"
        assert term["labelSelector"] == {"matchLabels": {"app": f"{CLICKHOUSE}-{kind}"}}, "the operator's label"


def test_pods_run_on_the_pools_of_the_stack():
    for spec in specs(pools=(DATA,)).values():
        template = spec["podTemplate"]
        (term,) = template["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][
            "nodeSelectorTerms"
        ]
        assert term["matchExpressions"] == [{"key": POOL_LABEL, "operator": "In", "values": ["data"]}]
        assert template["tolerations"][0]["key"] == "team"
    assert "nodeAffinity" not in specs()["keeper"]["podTemplate"]["affinity"]


def test_images_come_from_the_mirror_where_there_is_one():
    for kind, image in (("keeper", "clickhouse-keeper"), ("clickhouse", "clickhouse-server")):
        told = specs(registry="registry.example.com/mirror")[kind]["containerTemplate"]["image"]
        assert told["repository"] == f"registry.example.com/mirror/clickhouse/{image}"
        assert specs()[kind]["containerTemplate"]["image"]["repository"] == f"docker.io/clickhouse/{image}"
        assert told["tag"] >= "25.12", "Langfuse 4 needs that"


def test_logs_do_not_fill_the_volume():
    for spec in specs().values():
        assert spec["settings"]["logger"]["logToFile"] is False
        assert spec["settings"]["logger"]["level"] != "trace"
    own = server_spec(args())["settings"]["extraConfig"]
    assert set(own) == {"query_log", "part_log", "text_log"}, "those that the operator turns on"
    assert all("INTERVAL 7 DAY DELETE" in table["ttl"] for table in own.values())


def test_every_pod_says_what_it_needs():
    for kind, spec in specs().items():
        assert spec["containerTemplate"]["resources"] == RESOURCES[kind]
        assert set(RESOURCES[kind]["requests"]) == {"cpu", "memory"}
        assert "memory" in RESOURCES[kind]["limits"], "a server takes nine tenths of that"


def test_clients_find_the_servers_by_the_service_that_the_operator_makes():
    assert f"{CLICKHOUSE}-clickhouse-headless" == HOST


def test_the_operator_works_in_one_namespace_alone():
    chart = read_chart(CHARTS["clickhouse-operator-helm"])
    assert chart.values["watchNamespaces"] == [NAMESPACE]
    assert chart.namespace == OPERATOR_NAMESPACE
    assert chart.values["manager"]["image"]["tag"] == f"v{chart.version}"


def undeclared(value: Any, schema: dict[str, Any], path: str = "spec") -> list[str]:
    """Fields of a value that a schema does not have; a server-side apply refuses them."""
    if schema.get("x-kubernetes-preserve-unknown-fields") or schema.get("x-kubernetes-int-or-string"):
        return []
    if isinstance(value, dict):
        known, others = schema.get("properties", {}), schema.get("additionalProperties")
        wrong = []
        for key, item in value.items():
            under = known.get(key) or (others if isinstance(others, dict) else None)
            wrong += [f"{path}.{key}"] if under is None else undeclared(item, under, f"{path}.{key}")
        return wrong
    if isinstance(value, list):
        return [name for item in value for name in undeclared(item, schema["items"], path)]
    types = {"string": str, "integer": int, "boolean": bool}
    fits = type(value) is types[schema["type"]] and value in schema.get("enum", [value])
    return [] if fits else [f"{path} is no {schema['type']}"]


@pytest.mark.parametrize(("kind", "file"), [("keeper", "keepercluster"), ("clickhouse", "clickhousecluster")])
def test_the_operators_crd_knows_every_field(kind: str, file: str):
    path = SCHEMAS / f"clickhouse.com_{file}.yaml.gz"
    if not path.is_file():
        pytest.skip("the operator's CRDs are not at hand: they are published with its chart")
    crd = yaml.safe_load(gzip.decompress(path.read_bytes()))
    (version,) = crd["spec"]["versions"]
    schema = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    spec = specs(replicas=3, pools=(DATA,))[kind]
    assert {name.split(".")[1] for name in undeclared(spec, schema)} <= LATER
    assert undeclared({"replicaz": 1}, schema) == ["spec.replicaz"]
    assert not set(schema.get("required", ())) - set(spec)
