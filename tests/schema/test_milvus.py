"""What a stack is told whose Milvus would lose data, let in everybody, or get no nodes."""

from inspect import signature
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import TypeAdapter, ValidationError

from schema.milvus import RULES, Milvus
from schema.node_pools import NodePool
from schema.platform import PlatformChart

LIMITS = {"cpu": "400", "memory": "4000Gi"}
CPU = {"instanceTypes": ["m7i.2xlarge"], "limits": LIMITS}
ARM = {"instanceTypes": ["m7g.2xlarge"], "limits": LIMITS}
SMALL = {"instanceTypes": ["m7i.large"], "limits": LIMITS}
GPU = {"instanceTypes": ["g5.2xlarge", "g5.4xlarge"], "limits": LIMITS | {"accelerators": 16}}
SLICED = GPU | {"sharing": {"strategy": "time-slicing", "replicas": 4}}
CLAIMS = {
    "provisioner": "managed",
    "instanceTypes": ["g5.4xlarge"],
    "size": {"max": 2},
    "ami": "al2023@latest",
    "allocation": "dra",
}
POOLS = {"cpu": CPU, "arm": ARM, "small": SMALL, "gpu": GPU, "sliced": SLICED, "claims": CLAIMS}
POOLS["gone"] = CPU | {"retire": True}
DOCUMENT = Path(__file__).parents[2] / "docs" / "milvus.md"


def problems(
    milvus: dict[str, Any], values: dict[str, Any] | None = None, *, installed: bool = True
) -> list[tuple[str, str]]:
    """Keys and rules of what is wrong."""
    platform = {"milvus": {"values": values or {}, "dataVersion": "2.6"}} if installed else {}
    given = {
        "milvus": Milvus.model_validate(milvus),
        "platform": TypeAdapter(dict[str, PlatformChart]).validate_python(platform),
        "node_pools": TypeAdapter(dict[str, NodePool]).validate_python(POOLS),
    }
    found = [
        problem for rule in RULES for problem in rule(**{name: given[name] for name in signature(rule).parameters})
    ]
    return [(problem.key.removeprefix("eksai:"), problem.rule) for problem in found]


def keys(*args: Any, **given: Any) -> list[str]:
    return [key for key, _ in problems(*args, **given)]


def test_it_needs_nothing_said():
    assert problems({}) == []
    assert Milvus().mode == "standalone"


def test_what_is_said_of_a_milvus_that_is_not_there_is_a_mistake():
    assert keys({"mode": "cluster"}, installed=False) == ["milvus"]
    assert keys({}, installed=False) == []


@pytest.mark.parametrize("said", [{"etcdGib": 9}, {"gpu": {"pools": []}}, {"gpu": {"pools": ["gpu"], "count": 0}}])
def test_sizes_have_bounds(said: dict[str, Any]):
    with pytest.raises(ValidationError):
        Milvus.model_validate(said)


def test_pulsar_is_for_a_cluster():
    assert keys({"messageQueue": "pulsar"}) == ["milvus.messageQueue"]
    assert keys({"messageQueue": "pulsar", "mode": "cluster"}) == []


def test_pulsar_is_told_one_pool():
    said = {"messageQueue": "pulsar", "mode": "cluster"}
    assert keys(said | {"pools": ["cpu", "arm"]}) == ["milvus.pools"]
    assert keys(said | {"pools": ["cpu"]}) == []


@pytest.mark.parametrize(("name", "rule"), [("nowhere", "no such pool"), ("gone", "that pool retires")])
def test_pools_are_there(name: str, rule: str):
    assert problems({"pools": ["cpu", name]}) == [("milvus.pools[1]", rule)]
    assert problems({"gpu": {"pools": [name]}}) == [("milvus.gpu.pools[0]", rule)]


@pytest.mark.parametrize("mode", ["standalone", "cluster"])
def test_some_node_has_room_for_every_pod(mode: str):
    assert set(keys({"mode": mode, "pools": ["small"]})) == {"milvus.pools"}
    assert keys({"mode": mode, "pools": ["small", "cpu"]}) == []
    assert keys({"mode": mode, "pools": ["arm"]}) == []


def test_what_a_stack_changes_of_a_pod_counts():
    larger = {"standalone": {"resources": {"requests": {"memory": "200Gi"}}}}
    ((key, rule),) = problems({"pools": ["cpu"]}, larger)
    assert key == "milvus.pools"
    assert rule.startswith("standalone gets no node of cpu")


@pytest.mark.parametrize("mode", ["standalone", "cluster"])
def test_gpus_come_from_pools_that_announce_them(mode: str):
    assert keys({"mode": mode, "gpu": {"pools": ["gpu"]}}) == []
    assert keys({"mode": mode, "gpu": {"pools": ["gpu", "cpu"]}}) == ["milvus.gpu.pools[1]"]
    assert keys({"mode": mode, "gpu": {"pools": ["claims"]}}) == ["milvus.gpu.pools[0]"]


def test_gpus_are_of_one_kind_and_a_share_is_one():
    assert keys({"gpu": {"pools": ["gpu", "sliced"]}}) == ["milvus.gpu.pools"]
    assert keys({"gpu": {"pools": ["sliced"], "count": 2}}) == ["milvus.gpu.count"]
    assert keys({"gpu": {"pools": ["sliced"]}}) == []


def test_no_pod_asks_for_more_gpus_than_a_node_has():
    assert keys({"gpu": {"pools": ["gpu"], "count": 2}}) == ["milvus.gpu.pools"]


def test_the_image_with_cuda_is_for_amd64():
    said = {"mode": "cluster", "gpu": {"pools": ["gpu"]}}
    assert set(keys(said | {"pools": ["arm"]})) == {"milvus.pools"}
    assert keys(said | {"pools": ["cpu"]}) == []


@pytest.mark.parametrize(
    ("values", "path"),
    [
        ({"externalS3": {"bucketName": "mine"}}, "externalS3"),
        ({"minio": {"enabled": True}}, "minio"),
        ({"etcd": {"persistence": {"enabled": False}}}, "etcd.persistence"),
        ({"etcd": {"replicaCount": 5}}, "etcd.replicaCount"),
        ({"standalone": {"messageQueue": "rocksmq"}}, "standalone.messageQueue"),
        ({"pulsarv3": {"bookkeeper": {"replicaCount": 5}}}, "pulsarv3.bookkeeper.replicaCount"),
        ({"cluster": {"enabled": True}}, "cluster"),
        ({"serviceAccount": {"create": False}}, "serviceAccount"),
        ({"service": {"type": "LoadBalancer"}}, "service.type"),
        ({"ingress": {"enabled": True}}, "ingress"),
        ({"proxy": {"extraEnv": []}}, "proxy.extraEnv"),
        ({"customConfigMap": "mine"}, "customConfigMap"),
        ({"fullnameOverride": "vectors"}, "fullnameOverride"),
        ({"etcd": {"image": {"tag": "3.6.1-r1"}}}, "etcd.image.tag"),
        ({"etcd": {"image": {"digest": "sha256:1"}}}, "etcd.image.digest"),
        ({"etcd": {"extraEnvVars": [{"name": "ETCD_DATA_DIR", "value": "/tmp"}]}}, "etcd.extraEnvVars"),
        ({"etcd": {"extraEnvVarsCM": "mine"}}, "etcd.extraEnvVarsCM"),
        ({"etcd": {"initialClusterState": "new"}}, "etcd.initialClusterState"),
        ({"etcd": {"image": {"repository": "mine/etcd"}}}, "etcd.image.repository"),
        ({"etcd": {"startFromSnapshot": {"enabled": True}}}, "etcd.startFromSnapshot"),
        ({"etcd": {"disasterRecovery": {"enabled": True}}}, "etcd.disasterRecovery"),
        ({"etcd": {"configuration": "data-dir: /tmp"}}, "etcd.configuration"),
        ({"etcd": {"extraDeploy": [{"kind": "Service"}]}}, "etcd.extraDeploy"),
    ],
)
def test_no_value_of_the_chart_moves_data_or_opens_a_door(values: dict[str, Any], path: str):
    assert keys({}, values) == [f"platform.milvus.values.{path}"]


@pytest.mark.parametrize(
    "values",
    [
        {"extraConfigFiles": {"user.yaml": "proxy:\n  maxNameLength: 128\n"}},
        {"extraConfigFiles": {"user.yaml": "queryNode: {mmap: {mmapEnabled: true}}\ncommon: {retentionDuration: 60}"}},
        {"queryNode": {"replicas": 6, "resources": {"limits": {"memory": "16Gi"}}}},
        {"service": {"annotations": {"a": "b"}}},
        {"etcd": {"resources": {"requests": {"cpu": "1"}}}},
    ],
)
def test_other_values_are_the_stacks_own(values: dict[str, Any]):
    assert keys({"mode": "cluster"}, values) == []


def test_an_amount_that_kubernetes_does_not_know_is_named():
    values = {"standalone": {"resources": {"requests": {"memory": "8GB"}}}}
    ((key, rule),) = problems({"pools": ["cpu"]}, values)
    assert key == "platform.milvus.values"
    assert "8GB" in rule


def told_of_file(text: Any) -> list[tuple[str, str]]:
    return problems({}, {"extraConfigFiles": {"user.yaml": text}})


@pytest.mark.parametrize(
    ("text", "setting"),
    [
        ("etcd: {rootPath: elsewhere}", "etcd"),
        ("minio: {bucketName: mine, rootPath: elsewhere}", "minio"),
        ("mq: {type: rocksmq}", "mq"),
        ("woodpecker: {storage: {type: local}}", "woodpecker"),
        ("pulsar: {address: elsewhere}", "pulsar"),
        ("kafka: {brokerList: elsewhere}", "kafka"),
        ("metastore: {type: tikv}", "metastore"),
        ("tikv: {endpoints: elsewhere}", "tikv"),
        ("common: {storageType: local, retentionDuration: 60}", "common.storageType"),
        ("common: {security: {superUsers: ana}}", "common.security"),
        # To Milvus these are the same as those above.
        ("minio.bucketName: mine", "minio"),
        ("MinIO: {bucketName: mine}", "minio"),
        ("common.Security: {superUsers: ana}", "common.security"),
        ("common: {security_authorizationEnabled: false}", "common.security"),
        ("mq:", "mq"),
    ],
)
def test_no_setting_of_milvus_moves_data_or_opens_a_door(text: str, setting: str):
    ((key, rule),) = told_of_file(f"{text}\nproxy: {{maxNameLength: 128}}\n")
    assert key == "platform.milvus.values.extraConfigFiles.user.yaml"
    assert rule.startswith(f"{setting}: where Milvus keeps data")


ITSELF, DEEP, NO_DATE = "a: &a {b: *a}", "{a: " * 900 + "1" + "}" * 900, "a: 2024-13-45"


@pytest.mark.parametrize(
    "text", ["proxy", "[proxy]", "", "proxy: {", {"proxy": {"maxNameLength": 128}}, ITSELF, DEEP, NO_DATE]
)
def test_a_file_of_settings_is_the_text_of_a_mapping(text: Any):
    ((key, rule),) = told_of_file(text)
    assert key == "platform.milvus.values.extraConfigFiles.user.yaml"
    assert "YAML mapping" in rule


def test_no_file_takes_the_place_of_the_charts_own():
    values = {"extraConfigFiles": {"default.yaml": "minio: {bucketName: mine}"}}
    assert keys({}, values) == ["platform.milvus.values.extraConfigFiles.default.yaml"]
    assert keys({}, {"extraConfigFiles": "proxy: {}"}) == ["platform.milvus.values.extraConfigFiles"]


@pytest.mark.parametrize("tag", ["v2.5.27", "v3.0.1", "2.6.16", "v2.60.1", "v2.6.16-gpu"])
def test_an_image_of_another_version_would_migrate_data(tag: str):
    assert keys({}, {"image": {"all": {"tag": tag}}}) == ["platform.milvus.values.image.all.tag"]


def test_an_image_of_the_same_version_is_fine_and_has_cuda_where_there_are_gpus():
    assert keys({}, {"image": {"all": {"tag": "v2.6.16"}}}) == []
    gpu = {"gpu": {"pools": ["gpu"]}}
    assert keys(gpu, {"image": {"all": {"tag": "v2.6.16-gpu"}}}) == []
    assert keys(gpu, {"image": {"all": {"tag": "v2.6.16"}}}) == ["platform.milvus.values.image.all.tag"]


def test_what_the_document_shows_is_valid():
    shown = [part.partition("```")[0] for part in DOCUMENT.read_text(encoding="utf-8").split("```yaml\n")[1:]]
    configs = [config for text in shown if (config := yaml.safe_load(text).get("config"))]
    assert configs
    for config in configs:
        for name, chart in config.get("eksai:platform", {}).items():
            PlatformChart.model_validate(chart)
            assert name != "milvus" or chart["dataVersion"] == "2.6"
        Milvus.model_validate(config.get("eksai:milvus", {}))
