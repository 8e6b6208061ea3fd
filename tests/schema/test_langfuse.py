"""What a stack is told whose Langfuse would lose data, let in everybody, belong to nobody, or get no nodes."""

from inspect import signature
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import TypeAdapter, ValidationError

from schema.langfuse import RULES, Langfuse
from schema.node_pools import NodePool
from schema.platform import PlatformChart

LIMITS = {"cpu": "400", "memory": "4000Gi"}
CPU = {"instanceTypes": ["m7i.2xlarge"], "limits": LIMITS}
POOLS = {
    "cpu": CPU,
    "arm": {"instanceTypes": ["m7g.2xlarge"], "limits": LIMITS},
    "small": {"instanceTypes": ["c7i.large"], "limits": LIMITS},
    "gone": CPU | {"retire": True},
}
OWNED = {"adminEmail": "ana@example.com"}
DOCUMENT = Path(__file__).parents[2] / "docs" / "langfuse.md"


def problems(
    langfuse: dict[str, Any], values: dict[str, Any] | None = None, *, installed: bool = True
) -> list[tuple[str, str]]:
    """Keys and rules of what is wrong."""
    platform = {"langfuse": {"values": values or {}, "dataVersion": "2"}} if installed else {}
    given = {
        "langfuse": Langfuse.model_validate(langfuse),
        "platform": TypeAdapter(dict[str, PlatformChart]).validate_python(platform),
        "node_pools": TypeAdapter(dict[str, NodePool]).validate_python(POOLS),
    }
    found = [
        problem for rule in RULES for problem in rule(**{name: given[name] for name in signature(rule).parameters})
    ]
    return [(problem.key.removeprefix("eksai:"), problem.rule) for problem in found]


def keys(langfuse: dict[str, Any], values: dict[str, Any] | None = None, **given: Any) -> list[str]:
    return [key for key, _ in problems(OWNED | langfuse, values, **given)]


def test_it_needs_an_owner_and_nothing_else_said():
    assert problems(OWNED) == []
    ((key, rule),) = problems({})
    assert key == "langfuse.adminEmail"
    assert "nobody is named" in rule


def test_a_stack_that_says_nothing_of_it_needs_no_chart():
    assert problems({}, installed=False) == []
    assert keys({}, installed=False) == ["langfuse"]


def test_stores_are_in_the_cluster_unless_a_stack_says_otherwise():
    assert Langfuse().stores == "bundled"
    assert keys({"stores": "aws", "database": {"multiAz": True}, "cache": {"replicas": 1}}) == []


@pytest.mark.parametrize("store", ["database", "cache"])
def test_what_is_said_of_a_store_of_aws_that_is_not_there_is_a_mistake(store: str):
    assert keys({store: {}}) == [f"langfuse.{store}"]


@pytest.mark.parametrize(
    "said",
    [
        {"replicas": 0},
        {"clickhouse": {"replicas": 4}},
        {"clickhouse": {"replicas": 0}},
        {"clickhouse": {"storageGib": 9}},
        {"database": {"storageGib": 19}},
        {"database": {"backupDays": 0}},
        {"database": {"backupDays": 36}},
        {"database": {"instanceClass": "t4g.medium"}},
        {"cache": {"nodeType": "db.t4g.small"}},
        {"cache": {"replicas": 6}},
        {"adminEmail": "ana"},
        {"adminEmail": "Ana@example.com"},
        {"adminEmail": "..@-.-"},
        {"adminEmail": "a..b@example.com"},
        {"adminEmail": f"{'a' * 250}@example.com"},
        {"database": {"instanceClass": "db.---.0"}},
        {"database": {"instanceClass": "db.m7g.99"}},
        {"database": {"storageGib": 14895, "maxStorageGib": 16384}},
        {"cache": {"nodeType": "cache.-.0"}},
        {"stores": "minio"},
    ],
)
def test_what_cannot_be_is_refused(said: dict[str, Any]):
    with pytest.raises(ValidationError):
        Langfuse.model_validate(said)


@pytest.mark.parametrize(("most", "accepted"), [(100, False), (109, False), (110, True)])
def test_a_database_has_room_to_grow(most: int, accepted: bool):
    said = {"database": {"storageGib": 100, "maxStorageGib": most}}
    if accepted:
        assert Langfuse.model_validate(said).database.max_storage_gib == most
    else:
        with pytest.raises(ValidationError, match="grows by a tenth"):
            Langfuse.model_validate(said)


@pytest.mark.parametrize(("name", "rule"), [("nowhere", "no such pool"), ("gone", "that pool retires")])
def test_pools_are_there(name: str, rule: str):
    assert problems(OWNED | {"pools": ["cpu", name]}) == [("langfuse.pools[1]", rule)]


@pytest.mark.parametrize("stores", ["bundled", "aws"])
def test_some_node_has_room_for_every_pod(stores: str):
    found = problems(OWNED | {"stores": stores, "pools": ["small"]})
    assert {key for key, _ in found} == {"langfuse.pools"}
    assert any(rule.startswith("clickhouse gets no node of small") for _, rule in found)
    assert keys({"stores": stores, "pools": ["small", "cpu"]}) == []
    assert keys({"stores": stores, "pools": ["arm"]}) == []


def test_what_a_stack_changes_of_a_pod_counts():
    larger = {"langfuse": {"worker": {"resources": {"requests": {"memory": "200Gi"}}}}}
    ((key, rule),) = problems(OWNED | {"pools": ["cpu"]}, larger)
    assert key == "langfuse.pools"
    assert rule.startswith("worker gets no node of cpu")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("langfuse.replicas", 3),
        ("langfuse.affinity", {}),
        ("langfuse.web.pod.tolerations", []),
        ("redis.nodeSelector", {}),
        ("langfuse.image.tag", "5.0.0"),
        ("langfuse.web.image", {"tag": "3.0.0"}),
        ("langfuse.allowV1Upgrade", True),
        ("clickhouse", {"deploy": True}),
        ("s3", {"bucket": "mine"}),
        ("postgresql.storage", {"requestedSize": "20Gi"}),
        ("postgresql.auth", {"database": "other"}),
        ("redis.dataStorage", {"enabled": False}),
        ("fullnameOverride", "traces"),
        ("langfuse.salt", {"value": "pepper"}),
        ("langfuse.nextauth", {"url": "http://example.com"}),
        ("langfuse.auth", {"disableUsernamePassword": False}),
        ("langfuse.features.signUpDisabled", False),
        ("langfuse.ingress", {"enabled": True}),
        ("langfuse.web.service", {"type": "LoadBalancer"}),
        ("langfuse.web.pod.additionalEnv", []),
        ("langfuse.serviceAccount", {"name": "other"}),
        ("redis.valkeyConfig", "appendonly no"),
        ("extraManifests", [{"kind": "Ingress"}]),
    ],
)
def test_no_value_moves_data_opens_a_door_or_runs_another_version(path: str, value: Any):
    values: Any = value
    for key in reversed(path.split(".")):
        values = {key: values}
    assert keys({}, values) == [f"platform.langfuse.values.{path}"]


@pytest.mark.parametrize(
    "name",
    ["DATABASE_URL", "AUTH_DISABLE_SIGNUP", "SALT", "LANGFUSE_S3_EVENT_UPLOAD_BUCKET", "NODE_TLS_REJECT_UNAUTHORIZED"],
)
def test_no_variable_says_what_follows_from_the_stack(name: str):
    values = {"langfuse": {"additionalEnv": [{"name": "LANGFUSE_LOG_LEVEL", "value": "debug"}, {"name": name}]}}
    assert keys({}, values) == ["platform.langfuse.values.langfuse.additionalEnv[1]"]


def test_an_amount_that_kubernetes_does_not_know_is_named():
    ((key, rule),) = problems(
        OWNED | {"pools": ["cpu"]}, {"langfuse": {"web": {"resources": {"requests": {"cpu": "many"}}}}}
    )
    assert key == "platform.langfuse.values"
    assert "many" in rule


def test_other_values_are_the_stacks_own():
    values = {
        "langfuse": {
            "logging": {"level": "debug"},
            "web": {"resources": {"requests": {"cpu": "1"}}},
            "additionalEnv": [{"name": "LANGFUSE_CSP_ENFORCE_HTTPS", "value": "true"}],
        },
        "redis": {"resources": {"limits": {"memory": "4Gi"}}},
    }
    assert keys({}, values) == []


def test_what_the_document_shows_is_valid():
    shown = [part.partition("```")[0] for part in DOCUMENT.read_text(encoding="utf-8").split("```yaml\n")[1:]]
    configs = [config for text in shown if (config := yaml.safe_load(text).get("config"))]
    assert configs
    for config in configs:
        platform = TypeAdapter(dict[str, PlatformChart]).validate_python(config.get("eksai:platform", {}))
        assert {chart.data_version for name, chart in platform.items() if name == "langfuse"} <= {"2"}
        assert Langfuse.model_validate(config["eksai:langfuse"]).admin_email
