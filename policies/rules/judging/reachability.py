"""`reachable`: whether security groups let traffic from one place to another, and which rules do.

A pure function over plain data as a program registers it. It stands in this package because the policy pack cannot
import a sibling of `rules` when the engine runs it as a folder of its own.

As in EC2: traffic passes if a rule of the source's groups lets it out and a rule of the destination's groups lets it
in; answers need no rule. A pod has the groups of its node. Not judged: network ACLs and routes, and NetworkPolicies
within the cluster. Traffic within one node passes no group and is always let through.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import Any

from .properties import elements

Object = Mapping[str, Any]

GROUP = "aws:ec2/securityGroup:SecurityGroup"
INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
EGRESS = "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule"
RULE = "aws:ec2/securityGroupRule:SecurityGroupRule"
CLUSTER = "aws:eks/cluster:Cluster"

_EVERY_PORT = range(65536)
_ANYWHERE = "0.0.0.0/0"


@dataclass(frozen=True)
class Opening:
    """One rule of a security group.

    Attributes:
        group: the group that has it.
        inward: whether it lets traffic in; else out.
        protocol: `tcp`, `udp`, or `-1` for everything.
        ports: the ports at the destination.
        peer: the other side: a group's id or an IPv4 range.
    """

    group: str
    inward: bool
    protocol: str
    ports: range
    peer: str


@dataclass(frozen=True)
class Place:
    """Where traffic starts or ends.

    Attributes:
        groups: ids of its security groups; a place without any, such as an office, is open on its own side.
        addresses: an IPv4 range that holds its address; a rule on addresses counts if it covers all of it.
    """

    groups: frozenset[str]
    addresses: str = ""


@dataclass(frozen=True)
class Reach:
    """Whether traffic passes; true in a condition if it does.

    Attributes:
        passes: whether it does.
        reason: the rules that let it through, or what is missing, in one sentence.
    """

    passes: bool
    reason: str

    def __bool__(self) -> bool:
        return self.passes


def openings(resources: Iterable[tuple[str, Object]]) -> list[Opening]:
    """Returns the rules of the security groups that a program registers.

    Args:
        resources: type token and properties (with `id`) of each resource. A cluster stands for the group that EKS makes
            with it (`vpcConfig.clusterSecurityGroupId`): open to itself, and outward to everything. Other types are
            passed over.
    """
    return [opening for token, properties in resources for opening in _of_resource(token, properties)]


def _of_resource(token: str, properties: Object) -> Iterator[Opening]:
    if token == CLUSTER:
        group = properties["vpcConfig"]["clusterSecurityGroupId"]
        yield Opening(group, True, "-1", _EVERY_PORT, group)
        yield Opening(group, False, "-1", _EVERY_PORT, _ANYWHERE)
    elif token == GROUP:
        for direction in ("ingress", "egress"):
            for rule in elements(properties.get(direction)):
                yield from _inline(properties["id"], direction == "ingress", rule)
    elif token == RULE:
        peer = properties.get("sourceSecurityGroupId")
        given = {**properties, "securityGroups": [peer] if peer else []}
        yield from _inline(properties["securityGroupId"], properties["type"] == "ingress", given)
    elif token in (INGRESS, EGRESS):
        peer = properties.get("referencedSecurityGroupId") or properties.get("cidrIpv4")
        # A rule for IPv6 or a prefix list opens nothing that is judged here.
        if peer:
            ports = _ports(properties["ipProtocol"], properties.get("fromPort"), properties.get("toPort"))
            yield Opening(
                properties["securityGroupId"], token == INGRESS, _protocol(properties["ipProtocol"]), ports, peer
            )


def _inline(group: str, inward: bool, rule: Object) -> Iterator[Opening]:
    protocol = str(rule["protocol"])
    ports = _ports(protocol, rule.get("fromPort"), rule.get("toPort"))
    peers = [*elements(rule.get("cidrBlocks")), *elements(rule.get("securityGroups"))]
    if rule.get("self"):
        peers.append(group)
    for peer in peers:
        yield Opening(group, inward, _protocol(protocol), ports, peer)


def _protocol(name: str) -> str:
    return {"6": "tcp", "17": "udp", "all": "-1"}.get(name, name)


def _ports(protocol: str, first: int | None, last: int | None) -> range:
    if _protocol(protocol) == "-1" or first is None or last is None:
        return _EVERY_PORT
    return range(int(first), int(last) + 1)


def reachable(
    source: Place, destination: Place, port: int, rules: Iterable[Opening], *, protocol: str = "tcp"
) -> Reach:
    """Returns whether traffic passes from one place to another.

    Args:
        source: where it starts.
        destination: where it ends.
        port: the destination's port.
        rules: the rules that there are; see `openings`.
        protocol: `tcp` or `udp`.
    """
    matching = [rule for rule in rules if rule.protocol in ("-1", protocol) and port in rule.ports]
    out = [rule for rule in matching if not rule.inward and rule.group in source.groups and _meets(rule, destination)]
    if source.groups and not out:
        return Reach(False, f"No rule of {_named(source)} lets {protocol} {port} out to {_named(destination)}.")
    inward = [rule for rule in matching if rule.inward and rule.group in destination.groups and _meets(rule, source)]
    if destination.groups and not inward:
        return Reach(False, f"No rule of {_named(destination)} lets {protocol} {port} in from {_named(source)}.")
    passed = [
        f"{rule.group} lets it {'in from' if rule.inward else 'out to'} {rule.peer}" for rule in (*out[:1], *inward[:1])
    ]
    return Reach(True, f"{', '.join(passed) or 'No group stands between'}.")


def _meets(rule: Opening, place: Place) -> bool:
    """Tells whether a rule's other side takes in all of a place."""
    if rule.peer in place.groups:
        return True
    if "/" not in rule.peer:
        return False
    if rule.peer == _ANYWHERE:
        return True
    return bool(place.addresses) and IPv4Network(place.addresses).subnet_of(IPv4Network(rule.peer))


def _named(place: Place) -> str:
    return " and ".join(sorted(place.groups)) or place.addresses or "a place without group"
