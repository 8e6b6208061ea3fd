"""The network policy of a namespace in which people run code of their own.

It is one object, and not one for each rule, so that there is never a moment in which only some of them hold. The VPC
CNI puts it into force on each node, at the pod's own interface: there a connection to a Service still has the Service's
address. For pods that a rule selects, Amazon's controller adds the addresses of the Services in front of them; the API
server's Service selects no pods, and so a rule has to name its address.

Node traffic passes no policy: kubelet's probes come from the pod's own node, and NFS, Lustre and S3 mounts are made by
the node and its drivers, not by the pod. The other way round Amazon's agent lets every pod reach the address of its own
node, on every port, whatever a policy says.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NotRequired, cast

import pulumi
import pulumi_kubernetes as kubernetes
from typing_extensions import TypedDict

API_SERVICES = ("10.100.0.1/32", "172.20.0.1/32")
"""The API server's Service: the first address of the range of Services, for which EKS takes one of these two."""
POD_IDENTITY = "169.254.170.23/32"
"""Where the Pod Identity agent of every node hands out credentials."""
NOT_INTERNET = ("10.0.0.0/8", "100.64.0.0/10", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16")
"""Private and shared addresses, among them every VPC's and every Service's, and those of the link, where a node's own
metadata and credentials are."""

_NAMESPACE_LABEL = "kubernetes.io/metadata.name"
_DNS, _HTTPS = 53, 443


@dataclass(frozen=True)
class Pods:
    """Pods of another namespace, at the ports that they listen on themselves, whatever the port of their Service."""

    namespace: str
    ports: Sequence[int]
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    """Which of them; none: all."""

    def __post_init__(self) -> None:
        _some("ports", self.ports)

    def peers(self) -> list[dict[str, Any]]:
        namespace = {"namespaceSelector": {"matchLabels": {_NAMESPACE_LABEL: self.namespace}}}
        return [{**namespace, "podSelector": {"matchLabels": dict(self.labels)}}]


@dataclass(frozen=True)
class Addresses:
    """IPv4 ranges, at some ports."""

    ranges: Sequence[str]
    ports: Sequence[int]

    def __post_init__(self) -> None:
        _some("ports", self.ports)
        _some("ranges", self.ranges)

    def peers(self) -> list[dict[str, Any]]:
        return [{"ipBlock": {"cidr": cidr}} for cidr in self.ranges]


def _some(what: str, given: Sequence[object]) -> None:
    if not given:
        raise ValueError(f"name {what}: to Kubernetes an empty list means all of them")


class NetworkIsolationArgs(TypedDict):
    """What the policy of a namespace needs."""

    namespace: str
    """The namespace."""
    vpc_ranges: Sequence[str]
    """Where the API server and interface endpoints are: the ranges of the VPC, but for one that only pods have."""
    ingress: NotRequired[Sequence[Pods | Addresses]]
    """Who else reaches the namespace's pods; the ports are those of these."""
    egress: NotRequired[Sequence[Pods | Addresses]]
    """Whom else the namespace's pods reach."""


class NetworkIsolation(pulumi.ComponentResource):
    """A NetworkPolicy for all pods of a namespace: nothing passes but what it names.

    In: the namespace's own pods. Out: these, DNS, the API server, the Pod Identity agent, HTTPS in the VPC and to the
    Internet. The node's metadata service is out of reach, and so is everything private but for HTTPS in the VPC.
    """

    def __init__(self, name: str, args: NetworkIsolationArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("eksai:index:NetworkIsolation", name, {}, opts)
        kubernetes.networking.v1.NetworkPolicy(
            name,
            metadata={"name": "isolation", "namespace": args["namespace"]},
            spec=cast(
                kubernetes.networking.v1.NetworkPolicySpecArgsDict,
                policy_spec(args["vpc_ranges"], args.get("ingress", ()), args.get("egress", ())),
            ),
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.register_outputs({})


def policy_spec(
    vpc_ranges: Sequence[str], ingress: Sequence[Pods | Addresses], egress: Sequence[Pods | Addresses]
) -> dict[str, Any]:
    """The policy's spec as Kubernetes takes it.

    Args:
        vpc_ranges: the VPC's ranges.
        ingress: who else reaches the pods.
        egress: whom else the pods reach.
    """
    within: dict[str, Any] = {"podSelector": {}}
    internet = {"ipBlock": {"cidr": "0.0.0.0/0", "except": list(NOT_INTERNET)}}
    dns = Pods("kube-system", (_DNS,), {"k8s-app": "kube-dns"})
    # By its Service, and by its interfaces in the VPC, which is where other enforcers than the VPC CNI see it.
    api_server_and_endpoints = Addresses((*API_SERVICES, *vpc_ranges), (_HTTPS,))
    return {
        "podSelector": {},
        "policyTypes": ["Ingress", "Egress"],
        "ingress": [{"from": [within]}, *(rule("from", others) for others in ingress)],
        "egress": [
            {"to": [within]},
            {"to": dns.peers(), "ports": [{"protocol": protocol, "port": _DNS} for protocol in ("UDP", "TCP")]},
            {"to": [internet], "ports": [{"protocol": "TCP", "port": _HTTPS}]},
            *(rule("to", others) for others in (api_server_and_endpoints, Addresses((POD_IDENTITY,), (80,)), *egress)),
        ],
    }


def rule(direction: Literal["from", "to"], others: Pods | Addresses) -> dict[str, Any]:
    """What lets others in, or lets out to them, as Kubernetes takes it.

    Args:
        direction: which of the two.
        others: the other side.
    """
    return {direction: others.peers(), "ports": [{"protocol": "TCP", "port": port} for port in others.ports]}
