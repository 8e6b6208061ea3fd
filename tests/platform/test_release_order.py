"""Releases come up side by side: each waits for what it cannot work without, and for no other."""

from collections.abc import Mapping
from functools import cache

import pytest

from localcloud.kubernetes import RELEASE
from tests.plans import planned
from tools.edges import STACKS

WITH_DOMAIN = {"external-dns"}
AFTER: Mapping[str, set[str]] = {
    "karpenter": {"karpenter-crd"},
    # Their client's secret comes through External Secrets; their Ingress becomes a load balancer with records, and
    # these go while their controllers are there.
    "argo-workflows": {"aws-load-balancer-controller", "external-secrets", "prometheus-operator-crds"},
    "jupyterhub": {"aws-load-balancer-controller", "external-secrets"},
    "milvus": {"external-secrets", "prometheus-operator-crds"},
    # Certificates of webhooks and of APIs.
    "clickhouse-operator-helm": {"cert-manager"},
    "keda": {"cert-manager"},
    "kube-prometheus-stack": {"prometheus-operator-crds"},
    # Its database is there first, which the operator makes.
    "langfuse": {"aws-load-balancer-controller", "cert-manager", "clickhouse-operator-helm", "external-secrets"},
}
"""For each release that waits for others: all of them. Those that are not named here wait for none."""


@cache
def graph(stack: str) -> dict[str, frozenset[str]]:
    """What each resource of a stack waits for itself, parents among it, by URN."""
    resources = planned(stack).resources
    return {one.urn: frozenset({*one.dependencies, *([one.parent] if one.parent else [])}) for one in resources}


def awaited(urn: str, waits: Mapping[str, frozenset[str]]) -> set[str]:
    """All that a resource waits for, near and far."""
    found: set[str] = set()
    left = [urn]
    while left:
        for other in waits.get(left.pop(), ()):
            if other not in found:
                found.add(other)
                left.append(other)
    return found


def releases(stack: str) -> dict[str, set[str]]:
    """The releases of a stack, and the others that each waits for."""
    waits = graph(stack)
    names = {urn: urn.rpartition("::")[2] for urn in waits if f"${RELEASE}::" in urn}
    return {name: {names[other] for other in awaited(urn, waits) if other in names} for urn, name in names.items()}


def longest(after: Mapping[str, set[str]]) -> list[str]:
    """The longest chain of releases, the first one first."""

    def chain(name: str) -> list[str]:
        return [*max((chain(other) for other in after[name]), key=len, default=[]), name]

    return max(map(chain, after), key=len)


@pytest.mark.parametrize("stack", STACKS)
def test_each_release_waits_for_what_it_needs_and_for_no_other(stack: str):
    found = releases(stack)
    published = WITH_DOMAIN & found.keys()
    expected = {name: AFTER.get(name, set()) for name in found}
    for name in ("argo-workflows", "jupyterhub", "langfuse"):
        expected[name] = expected[name] | published
    assert found == expected


@pytest.mark.parametrize("stack", STACKS)
def test_no_chain_of_releases_is_longer_than_three(stack: str):
    found = releases(stack)
    longest_chain = longest(found)
    print(f"{stack}: {len(found)} releases, the longest chain: {' -> '.join(longest_chain)}")
    assert longest_chain == ["cert-manager", "clickhouse-operator-helm", "langfuse"]
    # All others are two: a controller, and what it serves.
    others = {name: after & found.keys() for name, after in found.items() if name != "langfuse"}
    assert len(longest(others)) == 2
    assert len(found) > 8
