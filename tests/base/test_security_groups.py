"""The security groups beside the one that EKS makes."""

from components.base.security_groups import SecurityGroups
from tests.world import Built, run

INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
EGRESS = "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule"


def groups(**ranges: str) -> Built[SecurityGroups]:
    return run(
        lambda: SecurityGroups(
            "security-groups",
            {"vpc_id": "vpc-1", "cluster_name": "eksai-dev", "ranges": ranges or {"nodes": "192.168.0.0/16"}},
        )
    )


def test_efa_nodes_reach_each_other_in_both_directions_and_nobody_else():
    built = groups()
    group = built.named("efa", "aws:ec2/securityGroup:SecurityGroup").id
    rules = [r.inputs for r in (*built.all(INGRESS), *built.all(EGRESS)) if r.inputs["securityGroupId"] == group]
    assert len(rules) == 2
    assert all(r["referencedSecurityGroupId"] == group and r["ipProtocol"] == "-1" for r in rules)


def test_lustre_opens_both_its_port_ranges():
    built = groups()
    group = built.named("lustre", "aws:ec2/securityGroup:SecurityGroup").id
    opened = [
        (r.inputs["fromPort"], r.inputs["toPort"]) for r in built.all(INGRESS) if r.inputs["securityGroupId"] == group
    ]
    assert opened == [(988, 988), (1018, 1023)]


def test_nfs_opens_its_one_port():
    built = groups()
    group = built.named("nfs", "aws:ec2/securityGroup:SecurityGroup").id
    opened = [
        (r.inputs["fromPort"], r.inputs["toPort"]) for r in built.all(INGRESS) if r.inputs["securityGroupId"] == group
    ]
    assert opened == [(2049, 2049)]


def test_endpoints_and_file_systems_open_to_pods_with_a_range_of_their_own():
    built = groups(nodes="192.168.0.0/16", pods="100.64.0.0/16")
    for what in ("lustre", "nfs", "endpoints"):
        group = built.named(what, "aws:ec2/securityGroup:SecurityGroup").id
        sources = {r.inputs["cidrIpv4"] for r in built.all(INGRESS) if r.inputs["securityGroupId"] == group}
        assert sources == {"192.168.0.0/16", "100.64.0.0/16"}


def test_no_group_carries_the_clusters_tag_or_is_open_to_the_world():
    built = groups()
    for group in built.all("aws:ec2/securityGroup:SecurityGroup"):
        assert not [tag for tag in group.inputs["tags"] if tag.startswith("kubernetes.io/cluster/")]
    assert "0.0.0.0/0" not in {r.inputs.get("cidrIpv4") for r in built.all(INGRESS)}
