"""Who reaches GPUNet's pods, and whom they reach."""

from ipaddress import IPv4Address, IPv4Network
from typing import Any

import pytest

from components.platform import namespaces
from components.workloads.gpunet_network import REACHED_BY, network_policy_spec
from components.workloads.gpunet_pods import NAME, PORT

VPC = ("10.1.0.0/16", "198.18.0.0/16")
"""One of its ranges is private to everybody, and one is not."""
AGENT, METADATA = "169.254.170.23", "169.254.169.254"


def spec(*, is_published: bool = True, downloads: bool = True) -> dict[str, Any]:
    return network_policy_spec(VPC, is_published=is_published, downloads=downloads)


def lets_out(to: str, port: int, **changes: bool) -> bool:
    """Whether a pod reaches an address over TCP."""
    return any(
        _is_within(to, peer["ipBlock"])
        for opening in spec(**changes)["egress"]
        for peer in opening["to"]
        if "ipBlock" in peer and {"protocol": "TCP", "port": port} in opening["ports"]
    )


def _is_within(address: str, block: dict[str, Any]) -> bool:
    def holds(cidr: str) -> bool:
        return IPv4Address(address) in IPv4Network(cidr)

    return holds(block["cidr"]) and not any(holds(cidr) for cidr in block.get("except", []))


def let_in(**changes: bool) -> tuple[set[str], set[str]]:
    """Namespaces and address ranges that reach pods; all of them at the pods' port alone."""
    found_namespaces, ranges = set[str](), set[str]()
    for opening in spec(**changes)["ingress"]:
        assert opening["ports"] == [{"protocol": "TCP", "port": PORT}]
        for peer in opening["from"]:
            if "ipBlock" in peer:
                ranges.add(peer["ipBlock"]["cidr"])
            else:
                found_namespaces |= set(peer["namespaceSelector"]["matchLabels"].values())
                assert peer["podSelector"] == {"matchLabels": {}}
    return found_namespaces, ranges


def test_it_holds_for_every_pod_and_for_both_ways():
    assert spec()["podSelector"] == {}
    assert set(spec()["policyTypes"]) == {"Ingress", "Egress"}


def test_load_balancers_get_in_where_it_is_published():
    assert let_in() == (set(REACHED_BY), set(VPC))
    assert let_in(is_published=False) == (set(REACHED_BY), set())


def test_it_lets_in_just_those_namespaces_that_let_their_pods_out_to_it():
    """Of those that say whom they reach; JupyterHub's chart has policies of its own, and Prometheus reaches all."""
    reaching = {
        name
        for name, openings in namespaces.ISOLATED.items()
        if any(pods.namespace == NAME and tuple(pods.ports) == (PORT,) for pods in openings.reaches)
    }
    assert reaching
    assert set(REACHED_BY) == {*reaching, "jupyterhub", "monitoring"}


@pytest.mark.parametrize("port", [80, 443])
def test_images_are_fetched_from_the_internet(port: int):
    assert lets_out("93.184.216.34", port)
    assert not lets_out("93.184.216.34", 22)


@pytest.mark.parametrize("port", [80, 443, 8080, 10250])
@pytest.mark.parametrize(
    "private",
    ["10.1.0.7", "10.9.9.9", "172.20.0.1", "10.100.0.1", "192.168.1.1", "100.64.3.4", "198.18.5.5", METADATA],
)
def test_nothing_private_is_fetched_from_and_nothing_of_the_vpc(private: str, port: int):
    assert not lets_out(private, port)


def test_credentials_are_within_reach_only_of_pods_that_have_an_identity():
    assert lets_out(AGENT, 80)
    assert not lets_out(AGENT, 80, downloads=False)
    assert not lets_out(METADATA, 80)


def test_names_are_looked_up_at_the_clusters_dns_alone():
    (dns,) = (opening for opening in spec()["egress"] if {"protocol": "UDP", "port": 53} in opening["ports"])
    (peer,) = dns["to"]
    assert peer["namespaceSelector"]["matchLabels"] == {"kubernetes.io/metadata.name": "kube-system"}
    assert peer["podSelector"]["matchLabels"] == {"k8s-app": "kube-dns"}
    assert {"protocol": "TCP", "port": 53} in dns["ports"]


def test_no_opening_is_for_all_others_or_for_all_ports():
    """To Kubernetes an empty list means everything."""
    for opening in (*spec()["ingress"], *spec()["egress"]):
        assert opening["ports"]
        assert opening.get("from") or opening.get("to")


def test_a_range_is_left_out_of_the_internet_once():
    (internet,) = (
        peer["ipBlock"]
        for opening in spec()["egress"]
        for peer in opening["to"]
        if peer.get("ipBlock", {}).get("cidr") == "0.0.0.0/0"
    )
    assert "198.18.0.0/16" in internet["except"]
    assert "10.1.0.0/16" not in internet["except"], "10.0.0.0/8 is there"
