"""What organisations ask for: a network, a key, bounds, a partition of their own, long names."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from automation.plan import Plan, make_plan
from tools.scratch import scratch_project

ACCOUNT = "111122223333"


def plan(folder: Path, change: dict[str, Any], *, stack: str = "dev", region: str = "us-west-2") -> Plan:
    """Plans the dev stack with some keys of its sections set anew, under another name or in another region."""
    project = scratch_project(folder)
    text = project.stack_file("dev").read_text(encoding="utf-8").replace("us-west-2", region)
    if region.startswith("cn-"):
        text = text.replace("arn:aws:", "arn:aws-cn:")
    config = yaml.safe_load(text)["config"]
    for section, values in change.items():
        config[f"eksai:{section}"] = {**config.get(f"eksai:{section}", {}), **values}
    (folder / f"Pulumi.{stack}.yaml").write_text(yaml.safe_dump({"config": config}), encoding="utf-8")
    return make_plan(project, stack)


def made(found: Plan, type_: str) -> list[Any]:
    return [r for r in found.made if r.type == type_]


EXISTING = {
    "vpcId": "vpc-0a1b2c3d",
    "publicSubnetIds": {"us-west-2a": "subnet-0aaaaaaa", "us-west-2b": "subnet-0bbbbbbb"},
    "privateSubnetIds": {"us-west-2a": "subnet-0ccccccc", "us-west-2b": "subnet-0ddddddd"},
}


def test_an_existing_network_is_used_and_none_is_made(tmp_path: Path):
    found = plan(tmp_path, {"network": {"existing": EXISTING}, "cluster": {"publicAccessCidrs": []}})
    assert not made(found, "aws:ec2/vpc:Vpc")
    assert not made(found, "aws:ec2/natGateway:NatGateway")
    private = list(EXISTING["privateSubnetIds"].values())
    (cluster,) = made(found, "aws:eks/cluster:Cluster")
    assert cluster.inputs["vpcConfig"]["subnetIds"] == private
    assert cluster.inputs["vpcConfig"]["endpointPublicAccess"] is False
    (nodes,) = made(found, "aws:eks/nodeGroup:NodeGroup")
    assert nodes.inputs["subnetIds"] == private
    assert {g.inputs["vpcId"] for g in made(found, "aws:ec2/securityGroup:SecurityGroup")} == {"vpc-0a1b2c3d"}
    for node_class in made(found, "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass"):
        assert [term["id"] for term in node_class.inputs["spec"]["subnetSelectorTerms"]] == private
    assert not found.findings


def test_a_key_of_ones_own_encrypts_everything_and_none_is_made(tmp_path: Path):
    key = f"arn:aws:kms:us-west-2:{ACCOUNT}:key/0a1b2c3d-1111-2222-3333-444455556666"
    found = plan(tmp_path, {"encryption": {"keyArn": key}})
    assert not made(found, "aws:kms/key:Key")
    assert not made(found, "aws:kms/alias:Alias")
    text = json.dumps([r.inputs for r in found.made], default=repr)
    assert text.count(key) >= 8
    assert ":key/" not in text.replace(key, ""), "no other key is named anywhere"
    assert not found.findings


def test_every_role_is_bound_also_those_inside_other_packages(tmp_path: Path):
    boundary = f"arn:aws:iam::{ACCOUNT}:policy/Boundary"
    roles = made(plan(tmp_path, {"aws": {"permissionsBoundaryArn": boundary}}), "aws:iam/role:Role")
    assert "cluster-eksRole-role" in {role.name for role in roles}
    assert all(role.inputs["permissionsBoundary"] == boundary for role in roles)


def test_another_partition_has_its_own_arns_and_service_names(tmp_path: Path):
    found = plan(tmp_path, {"cluster": {"admins": [f"arn:aws-cn:iam::{ACCOUNT}:role/Admin"]}}, region="cn-north-1")
    text = json.dumps([r.inputs for r in found.made], default=repr)
    assert "arn:aws:" not in text
    assert "logs.cn-north-1.amazonaws.com.cn" in text
    assert not found.findings


def test_a_stacks_name_of_forty_characters_works(tmp_path: Path):
    stack = "a-stack-name-that-is-forty-characters-xx"
    assert len(stack) == 40
    found = plan(tmp_path, {}, stack=stack)
    names = [
        r.outputs["name"] for r in found.made if r.type in ("aws:iam/role:Role", "aws:cloudwatch/eventRule:EventRule")
    ]
    assert all(len(name) <= 64 for name in names), "IAM's limit"
    assert {r.type for r in found.made} == {r.type for r in plan(_fresh(tmp_path), {}).made}


def _fresh(folder: Path) -> Path:
    other = folder / "other"
    other.mkdir()
    return other


@pytest.mark.parametrize("tags", [{"team": "ml", "cost-centre": "42"}])
def test_an_organisations_tags_reach_nodes_volumes_and_everything_else(tmp_path: Path, tags: dict[str, str]):
    found = plan(tmp_path, {"aws": {"tags": tags}})
    (vpc,) = made(found, "aws:ec2/vpc:Vpc")
    assert tags.items() <= vpc.outputs["tagsAll"].items()
    for template in made(found, "aws:ec2/launchTemplate:LaunchTemplate"):
        assert all(tags.items() <= s["tags"].items() for s in template.inputs["tagSpecifications"])
    for node_class in made(found, "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass"):
        assert tags.items() <= node_class.inputs["spec"]["tags"].items()
