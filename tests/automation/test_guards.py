"""What is refused between a preview and an up, and before a destroy."""

import pytest

from automation.errors import Irreplaceable, PoolNotRetired, Protected
from automation.guards import hold_protected, irreplaceable, vanishing_pools
from automation.results import ResourceChange, Result


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
    assert "deletionProtection to false" in str(Protected("prod", ["eks.Cluster it"]))


def test_a_stack_with_something_protected_is_not_destroyed():
    urn = "urn:pulumi:prod::eksai::aws:eks/cluster:Cluster::it"
    with pytest.raises(Protected, match="it"):
        hold_protected("prod", [{"urn": "urn:pulumi:prod::eksai::a:b:C::free"}, {"urn": urn, "protect": True}])
    hold_protected("prod", [{"urn": urn, "protect": False}])
