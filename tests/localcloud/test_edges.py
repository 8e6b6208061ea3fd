"""Every `depends_on` of the program: what AWS would refuse without it, and that with all of them it refuses nothing."""

import dataclasses
import functools

import pytest

from localcloud.order import Finding, Order, Verdict
from localcloud.registration import Registration
from tests.plans import planned
from tools.edges import NOT_PROVABLE, STACKS, findings, reason_kept

pytestmark = pytest.mark.slow

VPC, SUBNET = "aws:ec2/vpc:Vpc", "aws:ec2/subnet:Subnet"


@functools.cache
def found(stack: str) -> list[Finding]:
    return findings(stack)


@functools.cache
def resources(stack: str) -> tuple[Registration, ...]:
    return planned(stack).resources


@pytest.mark.parametrize("stack", STACKS)
def test_in_the_worst_order_that_the_program_allows_nothing_is_refused_or_left_behind(stack):
    faults = list(Order(resources(stack)).faults())
    assert not faults, "a dependency is missing:\n" + "\n".join(faults)


@pytest.mark.parametrize("stack", STACKS)
def test_without_an_edge_aws_refuses_something_or_it_is_listed_why_not(stack):
    unexplained = [
        " -> ".join(finding.edge.names)
        for finding in found(stack)
        if finding.verdict is Verdict.UNPROVED and reason_kept(finding) is None
    ]
    assert not unexplained, "no rule of the account needs these edges: add the rule, drop the edge, or list the reason"


def test_what_is_listed_as_not_provable_is_there_and_not_proved():
    used = {reason_kept(finding) for stack in STACKS for finding in found(stack) if finding.verdict is Verdict.UNPROVED}
    assert set(NOT_PROVABLE.values()) <= used, "a listed reason belongs to no edge any more"


@pytest.mark.parametrize("stack", STACKS)
def test_a_program_without_a_proved_edge_fails_in_some_order(stack):
    """The counterpart of the first test: that one does fail when an edge goes."""
    order = Order(resources(stack))
    proved = next(edge for edge in order.edges if order.judge(edge).verdict in (Verdict.NEEDED_UP, Verdict.NEEDED_DOWN))
    mutated = [
        dataclasses.replace(resource, dependencies=sorted(set(resource.dependencies) - edge_members(proved)))
        if resource.urn == proved.dependent
        else resource
        for resource in resources(stack)
    ]
    assert next(Order(mutated).faults(), None) is not None


def edge_members(edge):
    return {*edge.members, edge.awaited}


def registered(token, name, /, *, after=(), **inputs):
    urn = f"urn:pulumi:dev::eksai::{token}::{name}"
    return Registration(urn, token, name, inputs=inputs, outputs=inputs, id=None, dependencies=list(after))


def test_an_edge_that_nothing_needs_is_told_as_such():
    one = registered("aws:sqs/queue:Queue", "one", name="one")
    two = registered("aws:sqs/queue:Queue", "two", after=[one.urn], name="two")
    resources = [dataclasses.replace(item, id=queue_url(item.name)) for item in (one, two)]
    order = Order(resources)
    assert list(order.faults()) == []
    assert [order.judge(edge).verdict for edge in order.edges] == [Verdict.UNPROVED]


def queue_url(name):
    return f"https://sqs.us-west-2.amazonaws.com/111122223333/{name}"
