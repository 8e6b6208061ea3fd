"""The network policy of a namespace in which people run code of their own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network
from typing import Any

import pytest

from components.network_isolation import Addresses, NetworkIsolation, NetworkIsolationArgs, Pods
from tests.world import Built, run

VPC = "192.168.0.0/16"
HERE = "ml-pipelines"


@dataclass(frozen=True)
class Place:
    """The other side of a connection: an address, and the pod that has it if there is one."""

    address: str
    namespace: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)


NEIGHBOUR = Place("192.168.96.9", HERE, {"app": "trainer"})
STRANGER = Place("192.168.96.10", "jupyterhub", {"app": "notebook"})
DNS = Place("192.168.96.11", "kube-system", {"k8s-app": "kube-dns"})
OTHER_SYSTEM_POD = Place("192.168.96.12", "kube-system", {"k8s-app": "metrics-server"})
RAY = Place("192.168.96.13", "ray-system", {"ray.io/node-type": "head"})
RAY_WORKER = Place("192.168.96.14", "ray-system", {"ray.io/node-type": "worker"})
PROMETHEUS = Place("192.168.96.15", "monitoring", {"app": "prometheus"})


def isolated(
    ingress: Sequence[Pods | Addresses] = (), egress: Sequence[Pods | Addresses] = ()
) -> Built[NetworkIsolation]:
    args = NetworkIsolationArgs(namespace=HERE, vpc_ranges=[VPC], ingress=ingress, egress=egress)
    return run(lambda: NetworkIsolation("isolation-of-ml-pipelines", args))


def spec(ingress: Sequence[Pods | Addresses] = (), egress: Sequence[Pods | Addresses] = ()) -> dict[str, Any]:
    policy = isolated(ingress, egress).only("kubernetes:networking.k8s.io/v1:NetworkPolicy")
    return policy.inputs["spec"]


def passes(spec: Mapping[str, Any], direction: str, other: Place, port: int, protocol: str = "TCP") -> bool:
    """Whether a policy lets a connection through, as Kubernetes defines it; an empty list there means everything.

    An address counts whoever has it: with the VPC CNI pods have addresses of the VPC, and it looks at nothing else.
    """
    if direction not in spec["policyTypes"]:
        return True
    side = {"Ingress": "from", "Egress": "to"}[direction]
    return any(
        (not rule.get(side) or any(_is(peer, other) for peer in rule[side]))
        and (not rule.get("ports") or {"protocol": protocol, "port": port} in rule["ports"])
        for rule in spec[direction.lower()]
    )


def _is(peer: Mapping[str, Any], other: Place) -> bool:
    if "ipBlock" in peer:
        address, block = IPv4Address(other.address), peer["ipBlock"]
        left_out = any(address in IPv4Network(cidr) for cidr in block.get("except", []))
        return address in IPv4Network(block["cidr"]) and not left_out
    if not other.namespace:
        return False
    if "namespaceSelector" in peer:
        in_namespace = peer["namespaceSelector"]["matchLabels"] == {"kubernetes.io/metadata.name": other.namespace}
    else:
        in_namespace = other.namespace == HERE
    wanted = peer.get("podSelector", {}).get("matchLabels", {})
    return in_namespace and wanted.items() <= other.labels.items()


@pytest.mark.parametrize(
    ("direction", "other", "port", "protocol", "let_through", "why"),
    [
        ("Ingress", NEIGHBOUR, 29500, "TCP", True, "the ranks of a training job find each other"),
        ("Egress", NEIGHBOUR, 29500, "TCP", True, "the same from the other side"),
        ("Egress", NEIGHBOUR, 4791, "UDP", True, "whatever the protocol"),
        ("Ingress", STRANGER, 8080, "TCP", False, "a notebook has no business with a pipeline"),
        ("Ingress", Place("8.8.8.8"), 443, "TCP", False, "nothing is published by accident"),
        ("Ingress", Place("192.168.1.5"), 8080, "TCP", False, "the load balancer and other nodes are no exception"),
        ("Egress", STRANGER, 8888, "TCP", False, "and the other way round"),
        ("Egress", DNS, 53, "UDP", True, "without names nothing works"),
        ("Egress", DNS, 53, "TCP", True, "long answers come over TCP"),
        ("Egress", DNS, 9153, "TCP", False, "only names, not CoreDNS's other ports"),
        ("Egress", OTHER_SYSTEM_POD, 53, "UDP", False, "only CoreDNS answers names"),
        ("Egress", Place("10.100.0.1"), 443, "TCP", True, "the API server's Service, as the VPC CNI sees it"),
        ("Egress", Place("172.20.0.1"), 443, "TCP", True, "the same where EKS took the other range"),
        ("Egress", Place("10.100.0.2"), 443, "TCP", False, "no other Service comes with it"),
        ("Egress", Place("192.168.100.7"), 443, "TCP", True, "the API server's interfaces and those of endpoints"),
        ("Egress", Place("192.168.100.7"), 10250, "TCP", False, "kubelets are in the VPC too"),
        ("Egress", Place("192.168.100.7"), 22, "TCP", False, "and so are their nodes"),
        ("Egress", Place("192.168.100.7"), 2049, "TCP", False, "file systems are mounted by nodes"),
        ("Egress", Place("169.254.170.23"), 80, "TCP", True, "credentials come from the Pod Identity agent"),
        ("Egress", Place("169.254.170.23"), 2703, "TCP", False, "not from its other ports"),
        ("Egress", Place("169.254.169.254"), 80, "TCP", False, "the node's own role is none of theirs"),
        ("Egress", Place("169.254.169.254"), 443, "TCP", False, "on no port"),
        ("Egress", Place("52.218.1.1"), 443, "TCP", True, "S3, registries of models and packages"),
        ("Egress", Place("52.218.1.1"), 80, "TCP", False, "nothing leaves unencrypted"),
        ("Egress", Place("52.218.1.1"), 3333, "TCP", False, "no mining pool"),
        ("Egress", Place("10.0.0.5"), 443, "TCP", False, "nobody else's private network"),
        ("Egress", Place("172.16.3.4"), 443, "TCP", False, "nor this one"),
        ("Egress", Place("100.64.0.9"), 443, "TCP", False, "nor pods of another range"),
    ],
)
def test_what_passes(direction: str, other: Place, port: int, protocol: str, let_through: bool, why: str):
    assert passes(spec(), direction, other, port, protocol) == let_through, why


def test_what_a_namespace_needs_beside_it_is_let_through_and_nothing_else_with_it():
    opened = spec(
        ingress=[Pods("monitoring", (8080,)), Addresses([VPC], (8000,))],
        egress=[Pods("ray-system", (8265, 10001), {"ray.io/node-type": "head"}), Addresses(["10.9.0.0/24"], (5432,))],
    )
    assert passes(opened, "Ingress", PROMETHEUS, 8080)
    assert not passes(opened, "Ingress", PROMETHEUS, 29500), "it reads metrics and no more"
    assert passes(opened, "Ingress", Place("192.168.1.5"), 8000), "a load balancer's address"
    assert passes(opened, "Egress", RAY, 8265)
    assert passes(opened, "Egress", RAY, 10001)
    assert not passes(opened, "Egress", RAY, 6379), "the head's store is not for clients"
    assert not passes(opened, "Egress", RAY_WORKER, 8265), "only pods with the labels"
    assert passes(opened, "Egress", Place("10.9.0.8"), 5432)
    assert not passes(opened, "Egress", Place("10.9.1.8"), 5432)


def test_it_holds_for_every_pod_of_the_namespace_and_both_ways():
    policy = isolated().only("kubernetes:networking.k8s.io/v1:NetworkPolicy").inputs
    assert policy["metadata"]["namespace"] == HERE
    assert policy["spec"]["podSelector"] == {}, "no pod escapes by its labels"
    assert set(policy["spec"]["policyTypes"]) == {"Ingress", "Egress"}


@pytest.mark.parametrize(
    "opened",
    [
        lambda: Pods("ray-system", ()),
        lambda: Addresses(["10.9.0.0/24"], ()),
        lambda: Addresses([], (5432,)),
    ],
)
def test_an_opening_that_names_nothing_is_refused(opened: Any):
    with pytest.raises(ValueError, match="all of them"):
        opened()
