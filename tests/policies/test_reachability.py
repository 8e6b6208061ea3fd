"""What security groups let through."""

import pytest

from policies.rules.judging.reachability import Place, openings, reachable

CLUSTER_GROUP, EFA_GROUP, LUSTRE, DATABASE, LEGACY = "sg-cluster", "sg-efa", "sg-lustre", "sg-database", "sg-legacy"
INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
EGRESS = "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule"
RULE = "aws:ec2/securityGroupRule:SecurityGroupRule"


def inward(group: str, first: int, last: int, **peer: str) -> tuple[str, dict[str, object]]:
    return INGRESS, {"securityGroupId": group, "ipProtocol": "tcp", "fromPort": first, "toPort": last, **peer}


RESOURCES = [
    ("aws:eks/cluster:Cluster", {"vpcConfig": {"clusterSecurityGroupId": CLUSTER_GROUP}}),
    (INGRESS, {"securityGroupId": EFA_GROUP, "ipProtocol": "-1", "referencedSecurityGroupId": EFA_GROUP}),
    (EGRESS, {"securityGroupId": EFA_GROUP, "ipProtocol": "-1", "referencedSecurityGroupId": EFA_GROUP}),
    inward(LUSTRE, 988, 988, cidrIpv4="192.168.0.0/16"),
    inward(LUSTRE, 1018, 1023, cidrIpv4="192.168.0.0/16"),
    inward(DATABASE, 5432, 5432, referencedSecurityGroupId=CLUSTER_GROUP),
    inward(DATABASE, 5432, 5432, cidrIpv6="::/0"),
    (
        "aws:ec2/securityGroup:SecurityGroup",
        {
            "id": LEGACY,
            "ingress": [
                {"protocol": "tcp", "fromPort": 2049, "toPort": 2049, "securityGroups": [CLUSTER_GROUP]},
                {"protocol": "-1", "fromPort": 0, "toPort": 0, "self": True},
            ],
        },
    ),
    (
        RULE,
        {
            "securityGroupId": LEGACY,
            "type": "ingress",
            "protocol": "6",
            "fromPort": 6379,
            "toPort": 6379,
            "sourceSecurityGroupId": CLUSTER_GROUP,
        },
    ),
    (RULE, {"securityGroupId": LEGACY, "type": "egress", "protocol": "all", "cidrBlocks": ["10.0.0.0/8"]}),
    ("aws:ec2/vpc:Vpc", {"cidrBlock": "192.168.0.0/16"}),
]
RULES = openings(RESOURCES)
NODE = Place(frozenset({CLUSTER_GROUP}), "192.168.32.0/19")
EFA_NODE = Place(frozenset({CLUSTER_GROUP, EFA_GROUP}), "192.168.64.0/19")
CONTROL_PLANE = Place(frozenset({CLUSTER_GROUP}))
FILES = Place(frozenset({LUSTRE}), "192.168.96.0/24")
STORE = Place(frozenset({DATABASE}), "192.168.97.0/24")
OLD = Place(frozenset({LEGACY}), "192.168.98.0/24")
FABRIC = Place(frozenset({EFA_GROUP}))
OFFICE = Place(frozenset(), "203.0.113.0/24")

PASSES = [
    *(("DNS, node to node", NODE, EFA_NODE, 53, protocol) for protocol in ("tcp", "udp")),
    *((f"webhook {port}", CONTROL_PLANE, NODE, port, "tcp") for port in (443, 8443, 9443)),
    ("the API server, node to control plane", NODE, CONTROL_PLANE, 443, "tcp"),
    *((f"Lustre {port}", NODE, FILES, port, "tcp") for port in (988, 1018, 1023)),
    ("Lustre from a node with EFA", EFA_NODE, FILES, 988, "tcp"),
    ("PostgreSQL", NODE, STORE, 5432, "tcp"),
    ("PostgreSQL from a node with EFA", EFA_NODE, STORE, 5432, "tcp"),
    ("NFS, by a rule within the group", NODE, OLD, 2049, "tcp"),
    ("Redis, by a rule of the older kind", NODE, OLD, 6379, "tcp"),
    ("members of a group open to itself", OLD, Place(frozenset({LEGACY}), "10.1.0.0/16"), 9, "udp"),
    ("EFA among its nodes", FABRIC, FABRIC, 1, "udp"),
    ("a node to the internet", NODE, OFFICE, 443, "tcp"),
]

BLOCKED = [
    ("Lustre's other ports", NODE, FILES, 1017, "tcp", "sg-lustre lets tcp 1017 in"),
    ("Lustre over UDP", NODE, FILES, 988, "udp", "sg-lustre lets udp 988 in"),
    ("Lustre from outside the range", Place(NODE.groups, "10.0.0.0/16"), FILES, 988, "tcp", "sg-lustre lets"),
    ("Lustre from an unknown address", Place(NODE.groups), FILES, 988, "tcp", "sg-lustre lets"),
    ("PostgreSQL from the office", OFFICE, STORE, 5432, "tcp", "lets tcp 5432 in from 203.0.113.0/24"),
    ("another port of the database", NODE, STORE, 22, "tcp", "sg-database lets tcp 22 in"),
    ("a database that calls out", STORE, NODE, 443, "tcp", "sg-database lets tcp 443 out"),
    ("the office to a node", OFFICE, NODE, 443, "tcp", "sg-cluster lets tcp 443 in"),
    ("a group of its own to DNS", FABRIC, NODE, 53, "udp", "sg-efa lets udp 53 out"),
    ("two worlds of groups", NODE, FABRIC, 53, "udp", "sg-efa lets udp 53 in"),
]


@pytest.mark.parametrize(
    ("source", "destination", "port", "protocol"), [c[1:] for c in PASSES], ids=[c[0] for c in PASSES]
)
def test_traffic_passes_that_both_sides_allow(source: Place, destination: Place, port: int, protocol: str):
    reach = reachable(source, destination, port, RULES, protocol=protocol)
    assert reach, reach.reason


@pytest.mark.parametrize(
    ("source", "destination", "port", "protocol", "reason"), [c[1:] for c in BLOCKED], ids=[c[0] for c in BLOCKED]
)
def test_traffic_is_blocked_by_the_side_that_says_nothing(
    source: Place, destination: Place, port: int, protocol: str, reason: str
):
    reach = reachable(source, destination, port, RULES, protocol=protocol)
    assert not reach
    assert reason in reach.reason


def test_the_reason_names_the_rules_that_let_it_through():
    assert reachable(NODE, STORE, 5432, RULES).reason == (
        "sg-cluster lets it out to 0.0.0.0/0, sg-database lets it in from sg-cluster."
    )
    assert reachable(OFFICE, OFFICE, 80, RULES).reason == "No group stands between."


def test_without_its_rule_no_traffic_passes():
    for index, (token, properties) in enumerate(RESOURCES):
        if token == INGRESS and properties.get("fromPort") == 5432 and "referencedSecurityGroupId" in properties:
            fewer = openings(RESOURCES[:index] + RESOURCES[index + 1 :])
            assert not reachable(NODE, STORE, 5432, fewer)
