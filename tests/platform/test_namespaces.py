"""What passes between the namespaces in which people run code of their own, and others."""

from typing import Any

import pulumi
import pytest

from components.platform.namespaces import ISOLATED, LEVELS, Namespaces, isolate
from tests.workloads.ray import RAY, cluster, pods_of
from tests.world import run

MONITOR = "kubernetes:monitoring.coreos.com/v1:PodMonitor"
NODES = "192.168.0.0/16"


def policies(*made: str) -> list[dict[str, Any]]:
    """The policies of some namespaces; of all where none is named."""
    names = {"names": made or list(LEVELS)}
    there = run(lambda: isolate(Namespaces("namespaces", names).made, [NODES], pulumi.ResourceOptions()))
    return [one.inputs for one in there.all("kubernetes:networking.k8s.io/v1:NetworkPolicy")]


def openings(rules: list[dict[str, Any]], side: str) -> set[tuple[str, int]]:
    """By namespace and port, which pods of other namespaces some rules are about; DNS is everybody's."""
    return {
        (peer["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"], opened["port"])
        for rule in rules
        for peer in rule[side]
        if "namespaceSelector" in peer
        for opened in rule["ports"]
    } - {("kube-system", 53)}


def ways() -> tuple[set[tuple[str, str, int]], set[tuple[str, str, int]]]:
    """From where, to where and by which port: what isolated namespaces let out, and what they let in."""
    out = {
        (policy["metadata"]["namespace"], *opening)
        for policy in policies()
        for opening in openings(policy["spec"]["egress"], "to")
    }
    let_in = {
        (other, policy["metadata"]["namespace"], port)
        for policy in policies()
        for other, port in openings(policy["spec"]["ingress"], "from")
    }
    return out, let_in


def test_each_side_of_a_connection_lets_it_pass():
    out, let_in = ways()
    between = {way for way in out | let_in if {way[0], way[1]} <= set(ISOLATED)}
    assert between, "pipelines use Ray clusters"
    assert between <= let_in, "let out, and stopped at the door"
    assert between <= out, "let in, and never gets there"


def test_only_namespaces_that_there_are_get_a_policy():
    assert [policy["metadata"]["namespace"] for policy in policies("ray-system", "kuberay")] == ["ray-system"]
    assert policies("kuberay") == []


def test_prometheus_reads_every_port_that_a_monitor_names():
    built = cluster()
    named = {
        endpoint["port"] for monitor in built.all(MONITOR) for endpoint in monitor.inputs["spec"]["podMetricsEndpoints"]
    }
    ports = {
        port["containerPort"]
        for pod in pods_of(built.only(RAY).inputs["spec"]).values()
        for port in pod["spec"]["containers"][0]["ports"]
        if port["name"] in named
    }
    assert len(ports) == 3, "Ray's own, the autoscaler's, the dashboard's"
    _, let_in = ways()
    assert {port for other, here, port in let_in if (other, here) == ("monitoring", "ray-system")} == ports
    assert ("monitoring", "ml-pipelines", 8080) in let_in, "the clusters that steps start have metrics too"


@pytest.mark.parametrize("port", [9090, 3000], ids=["Prometheus", "Grafana"])
def test_rays_dashboard_asks_for_its_graphs(port: int):
    out, _ = ways()
    assert ("ray-system", "monitoring", port) in out


def test_who_joins_a_cluster_is_one_of_its_own_pods():
    out, let_in = ways()
    assert 6379 not in {port for _, _, port in out | let_in}, "clients and jobs have ports of their own"


def test_the_operator_asks_heads_how_jobs_are():
    _, let_in = ways()
    assert {("kuberay", "ray-system", 8265), ("kuberay", "ml-pipelines", 8265)} <= let_in
