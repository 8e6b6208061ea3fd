"""A simulated account with the makings of a cluster, for tests that break one thing in it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from localcloud.account import Account
from localcloud.catalog import Identity, find
from localcloud.errors import AwsError
from localcloud.model_checks import hold_models

REGION, ACCOUNT_ID = "us-west-2", "111122223333"


def trust(service: str, *actions: str) -> str:
    statement = {"Effect": "Allow", "Principal": {"Service": service}, "Action": list(actions or ["sts:AssumeRole"])}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def policy(*statements: dict[str, Any]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements)})


class Cloud:
    """The account of a test, with short ways to fill it."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.account = Account(file)
        self.identity = Identity(ACCOUNT_ID, REGION)

    def make(self, token: str, name: str = "thing", /, **inputs: Any) -> dict[str, Any]:
        """Checks and creates something; returns its properties and id."""
        declared = find(token)
        assert declared is not None, f"{token} is not declared"
        checked, failures = declared.check(inputs, name, None, self.identity)
        assert not failures, f"{name} should pass its checks"
        hold_models(declared, checked)
        made_id, outputs = self.account.create(token, name, checked, self.identity)
        return {**outputs, "id": made_id}

    def delete(self, token: str, made: dict[str, Any]) -> None:
        self.account.delete(token, made["id"], self.identity)

    def failures(self, token: str, **inputs: Any) -> str:
        """What the arguments are refused for, before anything is made."""
        declared = find(token)
        assert declared is not None
        return "; ".join(f"{where}: {reason}" for where, reason in declared.check(inputs, "x", None, self.identity)[1])

    @contextmanager
    def refused(self, code: str) -> Iterator[None]:
        before = self.file.read_text() if self.file.exists() else ""
        with pytest.raises(AwsError) as refusal:
            yield
        assert refusal.value.code == code, str(refusal.value)
        after = self.file.read_text() if self.file.exists() else ""
        assert after == before, "a refusal changes nothing"

    def role(self, name: str, service: str, *policies: str, actions: tuple[str, ...] = ()) -> dict[str, Any]:
        role = self.make("aws:iam/role:Role", name, assumeRolePolicy=trust(service, *actions))
        for policy in policies:
            arn = f"arn:aws:iam::aws:policy/{policy}"
            self.make("aws:iam/rolePolicyAttachment:RolePolicyAttachment", policy, role=role["name"], policyArn=arn)
        return role

    def subnet(self, vpc: dict[str, Any], zone: str, cidr: str) -> dict[str, Any]:
        return self.make(
            "aws:ec2/subnet:Subnet", zone, vpcId=vpc["id"], cidrBlock=cidr, availabilityZone=f"{REGION}{zone}"
        )

    def route(self, vpc: dict[str, Any], subnets: list[dict[str, Any]], **target: str) -> dict[str, Any]:
        """A route table of its own for subnets, with a default route."""
        table = self.make("aws:ec2/routeTable:RouteTable", vpcId=vpc["id"])
        self.make("aws:ec2/route:Route", routeTableId=table["id"], destinationCidrBlock="0.0.0.0/0", **target)
        for subnet in subnets:
            self.make(
                "aws:ec2/routeTableAssociation:RouteTableAssociation", routeTableId=table["id"], subnetId=subnet["id"]
            )
        return table

    def network(self) -> dict[str, Any]:
        """Two private subnets that reach the internet through a NAT gateway in a public one."""
        vpc = self.make("aws:ec2/vpc:Vpc", cidrBlock="192.168.0.0/16")
        gateway = self.make("aws:ec2/internetGateway:InternetGateway", vpcId=vpc["id"])
        public = self.subnet(vpc, "a", "192.168.0.0/20")
        self.route(vpc, [public], gatewayId=gateway["id"])
        eip = self.make("aws:ec2/eip:Eip")
        nat = self.make("aws:ec2/natGateway:NatGateway", subnetId=public["id"], allocationId=eip["id"])
        private = [self.subnet(vpc, "a", "192.168.64.0/18"), self.subnet(vpc, "b", "192.168.128.0/18")]
        table = self.route(vpc, private, natGatewayId=nat["id"])
        return {
            "vpc": vpc, "gateway": gateway, "public": public, "eip": eip, "nat": nat, "private": private,
            "table": table, "ids": [subnet["id"] for subnet in private],
        }  # fmt: skip

    def cluster(self, subnet_ids: list[str], **inputs: Any) -> dict[str, Any]:
        role = self.role("control-plane", "eks.amazonaws.com", "AmazonEKSClusterPolicy")
        access = {"authenticationMode": "API", "bootstrapClusterCreatorAdminPermissions": False}
        defaults = {"name": "eksai-dev", "version": "1.35", "accessConfig": access, "bootstrapSelfManagedAddons": False}
        config = {"subnetIds": subnet_ids}
        return self.make(
            "aws:eks/cluster:Cluster", "cluster", **{**defaults, "roleArn": role["arn"], "vpcConfig": config, **inputs}
        )

    def addon(self, name: str, **inputs: Any) -> dict[str, Any]:
        return self.make("aws:eks/addon:Addon", name, clusterName="eksai-dev", addonName=name, **inputs)

    def nodes(self, subnet_ids: list[str], role: dict[str, Any] | None = None, **inputs: Any) -> dict[str, Any]:
        role = role or self.role(
            "nodes", "ec2.amazonaws.com", "AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly"
        )
        scaling = {"minSize": 2, "desiredSize": 2, "maxSize": 3}
        return self.make(
            "aws:eks/nodeGroup:NodeGroup",
            "system",
            **{
                "clusterName": "eksai-dev",
                "nodeRoleArn": role["arn"],
                "subnetIds": subnet_ids,
                "scalingConfig": scaling,
                **inputs,
            },
        )

    def admin(self) -> dict[str, Any]:
        """An administrator of the cluster; returns the association that makes them one."""
        principal = f"arn:aws:iam::{ACCOUNT_ID}:role/PlatformAdmin"
        self.make("aws:eks/accessEntry:AccessEntry", clusterName="eksai-dev", principalArn=principal)
        return self.make(
            "aws:eks/accessPolicyAssociation:AccessPolicyAssociation",
            clusterName="eksai-dev",
            principalArn=principal,
            policyArn="arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy",
            accessScope={"type": "cluster"},
        )

    def karpenter_identity(self) -> dict[str, Any]:
        """The role of Karpenter's controller, handed to its pods; returns the association."""
        actions = ["ec2:CreateFleet", "ec2:RunInstances", "ec2:TerminateInstances", "ec2:Describe*", "iam:PassRole"]
        role = self.role("karpenter", "pods.eks.amazonaws.com", actions=("sts:AssumeRole", "sts:TagSession"))
        self.make(
            "aws:iam/rolePolicy:RolePolicy",
            "karpenter",
            role=role["name"],
            policy=policy({"Effect": "Allow", "Action": actions, "Resource": "*"}),
        )
        return self.make(
            "aws:eks/podIdentityAssociation:PodIdentityAssociation",
            "karpenter",
            clusterName="eksai-dev",
            namespace="kube-system",
            serviceAccount="karpenter",
            roleArn=role["arn"],
        )

    def key(self, *statements: dict[str, Any], **inputs: Any) -> dict[str, Any]:
        """A key that the account administers, with further statements in its policy."""
        root = {
            "Effect": "Allow",
            "Principal": {"AWS": f"arn:aws:iam::{ACCOUNT_ID}:root"},
            "Action": "kms:*",
            "Resource": "*",
        }
        return self.make("aws:kms/key:Key", policy=policy(root, *statements), **inputs)

    def enter(self, cluster: dict[str, Any]) -> None:
        """From here on Kubernetes objects go to this cluster."""
        self.identity = Identity(ACCOUNT_ID, REGION, cluster=cluster["endpoint"])


@pytest.fixture
def cloud(tmp_path: Path) -> Cloud:
    return Cloud(tmp_path / "account.json")
