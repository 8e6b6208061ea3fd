"""What a stack is told whose pods would wait for ever for their volumes."""

import json
from typing import Any

import pytest
import yaml
from pydantic import TypeAdapter

from components import langfuse as of_langfuse
from components import milvus as of_milvus
from schema.base import Network
from schema.compute import Addon
from schema.langfuse import Langfuse
from schema.milvus import Milvus
from schema.node_pools import NodePool
from schema.platform import PlatformChart
from schema.problems import Problem
from schema.volume_zones import (
    members_have_nodes_of_their_own,
    volumes_have_nodes_in_their_zones,
    volumes_have_their_driver,
)
from settings import SettingsError, validate
from tests.platform.pools import ROOT

A, B, C = "us-west-2a", "us-west-2b", "us-west-2c"
CPU = {"instanceTypes": ["m7i.2xlarge"], "limits": {"cpu": "400", "memory": "4000Gi"}}
MANAGED = {"provisioner": "managed", "instanceTypes": ["m7i.2xlarge"], "size": {"max": 3}}
POOLS = {
    "everywhere": CPU,
    "a": CPU | {"zones": [A]},
    "bc": CPU | {"zones": [B, C]},
    "c": CPU | {"zones": [C]},
    "managed-b": MANAGED | {"zones": [B], "size": {"desired": 1, "max": 2}},
    "managed-none": MANAGED | {"size": {"max": 2}},
    "managed-one": MANAGED | {"size": {"desired": 1, "max": 3}},
    "managed-three": MANAGED | {"size": {"desired": 3, "max": 3}},
    "small-a": CPU | {"instanceTypes": ["c7i.large"], "zones": [A]},
    "gone": CPU | {"zones": [C], "retire": True},
}
BOTH = ("milvus", "langfuse")


def of(kind: Any, said: Any) -> Any:
    return TypeAdapter(kind).validate_python(said)


def problems(
    milvus: dict[str, Any],
    langfuse: dict[str, Any],
    zones: tuple[str, ...] = (A, B, C),
    installed: tuple[str, ...] = BOTH,
) -> list[Problem]:
    return list(
        volumes_have_nodes_in_their_zones(
            Network.model_validate({"availabilityZones": zones}),
            of(dict[str, NodePool], POOLS),
            of(dict[str, PlatformChart], {name: {} for name in installed}),
            Milvus.model_validate(milvus),
            Langfuse.model_validate(langfuse),
        )
    )


def plain(said: Milvus | Langfuse) -> Any:
    return said.model_dump()


def test_pools_that_have_nodes_in_all_zones_do():
    for pools in (["everywhere"], ["a", "bc"], ["c", "everywhere"], ["a", "managed-b", "c"]):
        assert problems({"mode": "cluster", "pools": pools}, {"clickhouse": {"replicas": 3}, "pools": pools}) == []
    assert problems({"mode": "cluster", "messageQueue": "pulsar", "pools": ["everywhere"]}, {}) == []


def test_pods_that_may_run_anywhere_do():
    assert problems({"mode": "cluster"}, {}) == []


def test_a_volume_in_a_zone_without_nodes_is_refused_with_its_zone():
    (problem,) = problems({"mode": "cluster", "pools": ["bc"]}, {})
    assert (problem.key, problem.given) == ("eksai:milvus.pools", "bc")
    assert problem.rule.endswith(f"none of these pools has nodes for it there: {A}: data-milvus-etcd-0")
    assert f"make nodes in {A}" in problem.fix
    (problem,) = problems({"mode": "cluster", "pools": ["a", "c"]}, {})
    assert problem.rule.endswith(f": {B}: data-milvus-etcd-1")


def test_each_store_is_told_once_whatever_the_number_of_its_volumes():
    found = problems({"mode": "cluster", "pools": ["c"]}, {"clickhouse": {"replicas": 3}, "pools": ["c"]})
    assert [problem.key for problem in found] == ["eksai:milvus.pools", "eksai:langfuse.pools"]
    for problem in found:
        assert f"{A}: " in problem.rule
        assert f"{B}: " in problem.rule
        assert f"{C}: " not in problem.rule


def test_a_managed_group_counts_as_a_pool_does():
    assert problems({"pools": ["managed-b"]}, {}, zones=(B, C)) == []
    assert len(problems({"pools": ["managed-b"]}, {}, zones=(A, B))) == 1


@pytest.mark.parametrize("pool", ["managed-none", "managed-one"])
def test_a_managed_group_with_fewer_nodes_than_zones_may_have_none_where_a_volume_lies(pool: str):
    (problem,) = problems({"pools": [pool]}, {}, zones=(A, B))
    assert "size.desired" in problem.fix
    assert problems({"pools": ["managed-three"]}, {}, zones=(A, B)) == []


def test_a_pool_without_room_for_a_pod_does_not_serve_its_zone():
    (problem,) = problems({}, {"pools": ["bc", "small-a"]})
    assert problem.key == "eksai:langfuse.pools"
    assert f"{A}: clickhouse-storage-volume-langfuse-clickhouse-0-0-0" in problem.rule
    assert "keeper" not in problem.rule, "a keeper is small enough"


def test_what_has_room_nowhere_is_another_rules():
    assert problems({}, {"pools": ["small-a"]}) == []


@pytest.mark.parametrize(
    ("said", "pools", "members"),
    [
        ({"clickhouse": {"replicas": 2}}, ["managed-one"], 3),
        ({"clickhouse": {"replicas": 3}}, ["managed-b"], 3),
        ({"clickhouse": {"replicas": 3}}, ["managed-three"], None),
        ({"clickhouse": {"replicas": 3}}, ["managed-one", "everywhere"], None),
        ({}, ["managed-one"], None),
    ],
)
def test_no_two_members_share_a_node_so_managed_groups_have_enough(said: Any, pools: list[str], members: int | None):
    langfuse = Langfuse.model_validate(said | {"pools": pools})
    platform = of(dict[str, PlatformChart], {"langfuse": {}})
    found = list(members_have_nodes_of_their_own(of(dict[str, NodePool], POOLS), platform, Milvus(), langfuse))
    assert [problem.key for problem in found] == ["eksai:langfuse.pools"] * (members is not None)
    assert all(f"there are {members} pods of" in problem.rule for problem in found)


def test_only_zones_that_volumes_lie_in_count():
    """One etcd, one server, one keeper and the bundled stores lie in the first zone."""
    assert problems({"pools": ["a"]}, {"pools": ["a"]}) == []
    assert len(problems({"pools": ["a"]}, {"pools": ["a"]}, zones=(B, A))) == 2
    assert problems({"mode": "cluster", "pools": ["a", "managed-b"]}, {}, zones=(A, B)) == []


def test_what_is_not_installed_has_no_volumes():
    said: dict[str, Any] = {"pools": ["c"]}
    assert problems(said, said, installed=()) == []
    (problem,) = problems(said, said, installed=("langfuse",))
    assert problem.key == "eksai:langfuse.pools"


@pytest.mark.parametrize("name", ["nowhere", "gone"])
def test_a_pool_that_is_not_there_is_another_rules(name: str):
    assert problems({"pools": ["c", name]}, {}) == []


@pytest.mark.parametrize("enabled", [None, True, False])
@pytest.mark.parametrize("installed", [(), ("milvus",), ("langfuse",), BOTH])
def test_volumes_need_their_driver(enabled: bool | None, installed: tuple[str, ...]):
    """It is installed unless a stack says otherwise."""
    for addons in ({"aws-ebs-csi-driver": Addon(enabled=enabled)}, *([{}] if enabled is None else [])):
        platform = of(dict[str, PlatformChart], {name: {} for name in installed})
        found = list(volumes_have_their_driver(addons, platform, Milvus(), Langfuse()))
        if enabled is False and installed:
            (problem,) = found
            assert problem.key == "eksai:addons.aws-ebs-csi-driver.enabled"
            assert problem.rule.startswith(" and ".join(installed))
        else:
            assert found == []


def refused(**changes: dict[str, Any]) -> list[str]:
    """Keys of what is wrong with `prod` once something is changed in a part of one of its sections."""
    config = yaml.safe_load((ROOT / "Pulumi.prod.yaml").read_text(encoding="utf-8"))["config"]
    for section, parts in changes.items():
        for name, part in parts.items():
            config[f"eksai:{section}"][name] |= part
    try:
        validate({key: json.dumps(value) for key, value in config.items()}, stack="prod", local=True)
    except SettingsError as error:
        return [problem.key for problem in error.problems]
    return []


def test_a_stack_file_is_checked_so():
    assert refused() == []
    assert refused(nodePools={"data": {"zones": [C]}}) == ["eksai:milvus.pools", "eksai:langfuse.pools"]
    assert refused(addons={"aws-ebs-csi-driver": {"enabled": False}}) == ["eksai:addons.aws-ebs-csi-driver.enabled"]


@pytest.mark.parametrize("zones", [(A, B), (A, B, C)])
def test_volumes_that_share_the_work_lie_in_all_zones(zones: tuple[str, ...]):
    cluster, traces = Milvus(mode="cluster"), Langfuse.model_validate({"clickhouse": {"replicas": 3}})
    for made in (of_milvus.claims(plain(cluster)), of_langfuse.claims(plain(traces))):
        assert {claim.zone(zones) for claim in made} == set(zones)
