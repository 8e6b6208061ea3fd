"""What is refused between a preview and an up, and before a destroy."""

from typing import Any

import pytest

from automation.errors import DataAtRisk, Irreplaceable, NotAllKept, PoolNotRetired, Protected
from automation.events import Resource
from automation.guards import DATA, grown_sets, hold, hold_protected, irreplaceable, protected, vanishing_pools
from automation.results import ResourceChange, Result

FREE = {"urn": "urn:pulumi:prod::eksai::a:b:C::free"}
BUCKETS = [
    {"urn": f"urn:pulumi:prod::eksai::aws:s3/bucket:Bucket::bucket-{number}", "protect": True} for number in range(9)
]


def preview(*changes: tuple[str, str, str]) -> Result:
    """A preview of changes given as type, name and operation."""
    resources = tuple(
        ResourceChange(f"urn:pulumi:dev::eksai::{type_}::{name}", type_, name, op, ("name",))
        for type_, name, op in changes
    )
    return Result("preview", "dev", {}, resources, (), (), {}, 1.0)


def test_an_undeclared_pool_that_goes_is_found():
    planned = preview(("eksai:index:NodePool", "gpu", "delete"), ("eksai:index:ManagedPool", "dra", "delete"))
    assert vanishing_pools(planned, frozenset({"cpu"})) == ["dra", "gpu"]


def test_a_retired_pool_is_declared_and_may_go():
    assert vanishing_pools(preview(("eksai:index:NodePool", "gpu", "delete")), frozenset({"gpu"})) == []


@pytest.mark.parametrize("change", [("eksai:index:NodePool", "gpu", "same"), ("eksai:index:Network", "gpu", "delete")])
def test_nothing_else_is_held_up(change: tuple[str, str, str]):
    assert vanishing_pools(preview(change), frozenset()) == []


def test_the_message_names_the_pools_and_the_way():
    assert "gpu" in str(PoolNotRetired(["gpu"]))
    assert "retire: true" in str(PoolNotRetired(["gpu"]))


def test_a_replaced_cluster_is_found_with_what_changed():
    (found,) = irreplaceable(preview(("aws:eks/cluster:Cluster", "it", "replace")))
    assert "it" in found
    assert "changed: name" in found


def test_other_changes_and_other_resources_are_let_through():
    assert irreplaceable(preview(("aws:eks/cluster:Cluster", "it", "update"))) == []
    assert irreplaceable(preview(("aws:eks/nodeGroup:NodeGroup", "it", "replace"))) == []


def test_the_messages_say_what_to_do():
    assert "--allow-replacement" in str(Irreplaceable(["eks.Cluster it"]))
    assert "deletionProtection to false" in str(Protected("prod", ["eks.Cluster it"], []))


def test_a_stack_with_something_protected_is_not_destroyed():
    urn = "urn:pulumi:prod::eksai::aws:eks/cluster:Cluster::it"
    with pytest.raises(Protected, match="it"):
        hold_protected("prod", [FREE, {"urn": urn, "protect": True}], keep_data=False)
    hold_protected("prod", [{"urn": urn, "protect": False}], keep_data=False)


def test_data_is_named_with_both_ways_out():
    with pytest.raises(Protected) as refusal:
        hold_protected("prod", [FREE, *BUCKETS], keep_data=False)
    text = str(refusal.value)
    assert "s3.Bucket bucket-0, s3.Bucket bucket-1" in text
    assert "and 3 more" in text, "nobody reads a list of forty"
    assert "--keep-data" in text
    assert "{mode: delete}" in text
    assert "deletionProtection" not in text, "nothing here is protected by that"


def test_what_only_groups_others_is_not_named():
    group = {"urn": "urn:pulumi:prod::eksai::eksai:index:ModelBucket::model-bucket", "protect": True}
    assert protected([group, *BUCKETS[:1]]) == [Resource(str(BUCKETS[0]["urn"]))]


def test_data_is_kept_where_it_is_protected():
    hold_protected("prod", [FREE, *BUCKETS], keep_data=True)
    hold_protected("prod", [], keep_data=True)


POOL = {"urn": "urn:pulumi:prod::eksai::aws:cognito/userPool:UserPool::user-pool", "protect": True}


@pytest.mark.parametrize("protected_too", [[], [POOL], BUCKETS], ids=["nothing", "accounts", "other buckets"])
@pytest.mark.parametrize("type_", sorted(DATA))
def test_nothing_is_deleted_where_data_was_to_be_kept_and_some_would_not_be(type_: str, protected_too: list[Any]):
    """As in a stack that was last brought up before there was any protection, but for that of accounts."""
    urn = f"urn:pulumi:prod::eksai::{type_}::precious"
    with pytest.raises(NotAllKept, match="mode: keep") as refusal:
        hold_protected("prod", [FREE, *protected_too, {"urn": urn}], keep_data=True)
    assert "precious" in str(refusal.value)


def test_members_without_data_do_not_join_one_that_has_it():
    volume = "aws:ebs/volume:Volume"
    names = [f"milvus-data-milvus-etcd-{member}" for member in range(3)]
    grown = preview((volume, names[0], "same"), *((volume, name, "create") for name in names[1:]))
    assert grown_sets(grown) == ["milvus-data-milvus-etcd"]
    with pytest.raises(DataAtRisk, match=r"docs/milvus\.md"):
        hold(grown, None, allow_replacement=True)


def test_a_set_that_is_all_new_or_all_old_is_let_through():
    volume = "aws:ebs/volume:Volume"
    names = [f"milvus-data-milvus-etcd-{member}" for member in range(3)]
    for op in ("create", "same", "update", "delete"):
        assert grown_sets(preview(*((volume, name, op) for name in names))) == []
    server = "langfuse-clickhouse-storage-volume-langfuse-clickhouse-0"
    assert grown_sets(preview((volume, f"{server}-0-0", "same"), (volume, f"{server}-1-0", "create"))) == []


def test_a_protected_cluster_is_no_data_and_stops_a_destroy_that_keeps_data():
    cluster = {"urn": "urn:pulumi:prod::eksai::aws:eks/cluster:Cluster::it", "protect": True}
    with pytest.raises(Protected, match=r"deletionProtection: eks\.Cluster it") as refusal:
        hold_protected("prod", [*BUCKETS, cluster], keep_data=True)
    assert "s3.Bucket" not in str(refusal.value)


@pytest.mark.parametrize(
    "type_", ["aws:rds/instance:Instance", "aws:ebs/volume:Volume", "aws:efs/fileSystem:FileSystem"]
)
def test_no_store_is_replaced_by_accident(type_: str):
    assert irreplaceable(preview((type_, "it", "replace")))
