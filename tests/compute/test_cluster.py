"""The control plane as a component."""

import json
from typing import Any

import pulumi
import pulumi_aws as aws

from components.compute.cluster import Cluster, ClusterArgs
from tests.world import Built, run

KEY = "arn:aws:kms:us-west-2:111122223333:key/11111111-2222-3333-4444-555555555555"
ADMIN = "arn:aws:iam::111122223333:role/team/PlatformAdmin"
GOOD = ClusterArgs(
    name="eksai-dev",
    version="1.35",
    admins=[ADMIN],
    public_access_cidrs=["203.0.113.0/24"],
    log_types=["api", "audit"],
    log_retention_days=30,
    deletion_protection=True,
    region="us-west-2",
    deployer_role_arn=None,
    vpc_id="vpc-1",
    support_type="STANDARD",
    private_subnet_ids=["subnet-private-a", "subnet-private-b", "subnet-private-c"],
    routed_private_subnet_ids=[],
    key_arn=KEY,
)
CLUSTER = "aws:eks/cluster:Cluster"


def cluster(**changes: Any) -> Built[Cluster]:
    args = ClusterArgs(**{**GOOD, **changes})  # type: ignore[typeddict-item]

    def build() -> Cluster:
        provider = aws.Provider("aws", region="us-west-2", allowed_account_ids=["111122223333"])
        return Cluster("cluster", args, pulumi.ResourceOptions(providers=[provider]))

    return run(build)


def test_the_endpoint_is_private_and_open_to_the_given_ranges_only():
    endpoint = cluster().only(CLUSTER).inputs["vpcConfig"]
    assert endpoint["endpointPrivateAccess"] is True
    assert endpoint["publicAccessCidrs"] == ["203.0.113.0/24"]
    assert "endpointPublicAccess" not in endpoint, "set explicitly, every `up` would poll the endpoint"


def test_without_ranges_the_endpoint_is_private_only():
    endpoint = cluster(public_access_cidrs=[]).only(CLUSTER).inputs["vpcConfig"]
    assert endpoint["endpointPublicAccess"] is False
    assert not endpoint.get("publicAccessCidrs")


def test_the_control_plane_lies_in_the_first_two_zones_for_ever():
    subnets = cluster().only(CLUSTER).inputs["vpcConfig"]["subnetIds"]
    assert subnets == ["subnet-private-a", "subnet-private-b"], "EKS refuses a zone that comes later"


def test_a_protected_cluster_is_refused_by_the_engine_before_anything_is_deleted():
    assert cluster(deletion_protection=True).only(CLUSTER).protect
    assert not cluster(deletion_protection=False).only(CLUSTER).protect


def test_two_admins_of_one_name_in_different_paths_are_two():
    admins = [f"arn:aws:iam::111122223333:role/{path}/Admin" for path in ("a", "b")]
    entries = cluster(admins=admins).all("aws:eks/accessEntry:AccessEntry")
    assert [entry.inputs["principalArn"] for entry in entries] == admins


def test_secrets_and_logs_are_encrypted_with_the_key():
    built = cluster()
    assert built.only(CLUSTER).inputs["encryptionConfig"] == {"provider": {"keyArn": KEY}, "resources": ["secrets"]}
    assert built.only("aws:cloudwatch/logGroup:LogGroup").inputs["kmsKeyId"] == KEY


def test_the_log_group_is_there_before_eks_would_make_one_without_key_and_end():
    built = cluster()
    group = built.only("aws:cloudwatch/logGroup:LogGroup")
    assert group.inputs["name"] == "/aws/eks/eksai-dev/cluster"
    assert group.inputs["retentionInDays"] == 30
    component = built.only("eks:index:Cluster")
    assert group.urn in component.dependencies


def test_whoever_creates_the_cluster_is_no_admin_by_accident():
    access = cluster().only(CLUSTER).inputs["accessConfig"]
    assert access == {"authenticationMode": "API", "bootstrapClusterCreatorAdminPermissions": False}


def test_admins_get_cluster_admin_rights_by_access_entry():
    built = cluster()
    entry = built.only("aws:eks/accessEntry:AccessEntry")
    association = built.only("aws:eks/accessPolicyAssociation:AccessPolicyAssociation")
    assert entry.inputs["principalArn"] == association.inputs["principalArn"] == ADMIN
    assert association.inputs["policyArn"].endswith(":cluster-access-policy/AmazonEKSClusterAdminPolicy")
    assert built.only("eks:index:Cluster").urn in entry.dependencies


def test_deletion_protection_and_version_are_as_declared():
    inputs = cluster().only(CLUSTER).inputs
    assert (inputs["deletionProtection"], inputs["version"], inputs["name"]) == (True, "1.35", "eksai-dev")


def test_nothing_is_left_to_the_component_but_the_control_plane():
    built = cluster()
    assert built.only(CLUSTER).inputs["bootstrapSelfManagedAddons"] is False
    made = {r.type for r in built.resources if r.parent == built.only("eks:index:Cluster").urn}
    assert made == {"eks:index:ServiceRole", CLUSTER, "pulumi:providers:kubernetes"}


def test_kubernetes_objects_keep_their_provider_when_the_kubeconfig_changes():
    provider = cluster().named("cluster-kubernetes")
    assert provider.inputs["clusterIdentifier"] == "us-west-2/eksai-dev", "plain and known from the first up on"


def test_the_kubernetes_provider_waits_for_rights_and_is_secret():
    built = cluster()
    association = built.only("aws:eks/accessPolicyAssociation:AccessPolicyAssociation")
    assert association.urn in built.named("cluster-kubernetes").dependencies
    assert "Secret" in type(built.named("cluster-kubernetes").inputs["kubeconfig"]).__name__


def test_the_kubeconfig_is_that_of_the_cluster():
    built = cluster(deployer_role_arn="arn:aws:iam::111122223333:role/Deployer")
    config = json.loads(built.value(built.result.kubeconfig))
    assert config["clusters"][0]["cluster"]["server"] == built.only(CLUSTER).outputs["endpoint"]
    assert "arn:aws:iam::111122223333:role/Deployer" in config["users"][0]["user"]["exec"]["args"]
