"""Add-ons as components."""

import json
from typing import Any

import pytest

from components.compute.addon_facts import ADDONS, is_installed
from components.compute.addons import Addons, AddonsArgs
from tests.world import Built, run

ADDON = "aws:eks/addon:Addon"
KEY = "arn:aws:kms:us-west-2:111122223333:key/11111111-2222-3333-4444-555555555555"


def addons(
    names: tuple[str, ...] = tuple(ADDONS), pods: dict[str, str] | None = None, **versions: str
) -> Built[Addons]:
    args = AddonsArgs(
        cluster_name="eksai-dev",
        region="us-west-2",
        account_id="111122223333",
        key_arn=KEY,
        model_bucket_arn="arn:aws:s3:::models",
        security_group_id="sg-cluster",
        pod_subnet_ids=pods or {},
        addons={name: {"enabled": None, "version": versions.get(name.replace("-", "_"))} for name in names},
    )
    return run(lambda: Addons("addons", args))


def policy(built: Built[Addons], addon: str) -> dict[str, dict[str, Any]]:
    text = built.named(f"{addon}-own", "aws:iam/rolePolicy:RolePolicy").inputs["policy"]
    return {statement["Sid"]: statement for statement in json.loads(text)["Statement"]}


def test_a_version_is_pinned_where_one_is_given_and_left_to_eks_otherwise():
    built = addons(vpc_cni="v1.22.4-eksbuild.3")
    assert built.named("vpc-cni", ADDON).inputs["addonVersion"] == "v1.22.4-eksbuild.3"
    assert "addonVersion" not in built.named("coredns", ADDON).inputs


def test_the_network_add_on_has_an_identity_of_its_own():
    built = addons()
    role = built.named("vpc-cni", "aws:iam/role:Role")
    assert built.named("vpc-cni", ADDON).inputs["podIdentityAssociations"] == [
        {"serviceAccount": "aws-node", "roleArn": role.outputs["arn"]}
    ]
    trust = json.loads(role.inputs["assumeRolePolicy"])["Statement"][0]
    assert trust["Principal"] == {"Service": "pods.eks.amazonaws.com"}
    assert trust["Action"] == ["sts:AssumeRole", "sts:TagSession"]


def test_an_add_on_starts_when_its_permissions_are_complete():
    built = addons(("aws-ebs-csi-driver",))
    granted = {
        built.only("aws:iam/rolePolicyAttachment:RolePolicyAttachment").urn,
        built.only("aws:iam/rolePolicy:RolePolicy").urn,
    }
    assert granted <= set(built.only(ADDON).dependencies)


def test_add_ons_do_not_wait_for_each_other():
    built = addons()
    urns = {addon.urn for addon in built.all(ADDON)}
    assert not any(urns & set(addon.dependencies) for addon in built.all(ADDON))


def test_switches_of_the_network_add_on_are_texts_as_its_schema_wants():
    values = json.loads(addons().named("vpc-cni", ADDON).inputs["configurationValues"])
    assert values["env"]["ENABLE_PREFIX_DELEGATION"] == "true"
    assert all(isinstance(value, str) for value in values["env"].values())


def test_changes_by_hand_are_overwritten():
    assert all(a.inputs["resolveConflictsOnUpdate"] == "OVERWRITE" for a in addons().all(ADDON))


def test_pods_with_subnets_of_their_own_find_them_by_zone_in_the_clusters_group():
    values = json.loads(addons(pods={"us-west-2a": "subnet-a"}).named("vpc-cni", ADDON).inputs["configurationValues"])
    assert values["env"]["AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG"] == "true"
    assert values["env"]["ENABLE_PREFIX_DELEGATION"] == "true", "one does not undo the other"
    assert values["eniConfig"]["subnets"] == {"us-west-2a": {"id": "subnet-a", "securityGroups": ["sg-cluster"]}}
    assert "eniConfig" not in json.loads(addons().named("vpc-cni", ADDON).inputs["configurationValues"])


@pytest.mark.parametrize("addon", ["aws-ebs-csi-driver", "aws-fsx-csi-driver", "aws-mountpoint-s3-csi-driver"])
def test_drivers_mount_on_accelerator_nodes_too(addon: str):
    values = json.loads(addons().named(addon, ADDON).inputs["configurationValues"])
    assert values["node"]["tolerateAllTaints"] is True


def test_the_volume_driver_lends_the_key_to_aws_resources_only():
    found = policy(addons(), "aws-ebs-csi-driver")
    assert found["LendTheKeyToVolumes"]["Condition"] == {"Bool": {"kms:GrantIsForAWSResource": "true"}}
    assert {statement["Resource"] for statement in found.values()} == {KEY}


def test_the_bucket_driver_reads_the_model_bucket_and_writes_nothing():
    found = policy(addons(), "aws-mountpoint-s3-csi-driver")
    assert {statement["Action"] for statement in found.values()} == {"s3:ListBucket", "s3:GetObject", "kms:Decrypt"}
    assert found["ReadModels"]["Resource"] == "arn:aws:s3:::models/*"


@pytest.mark.parametrize(
    ("addon", "said", "installed"),
    [
        ("coredns", None, True),
        ("coredns", False, True),
        ("metrics-server", None, True),
        ("metrics-server", False, False),
        ("aws-efs-csi-driver", None, False),
        ("aws-efs-csi-driver", True, True),
    ],
)
def test_what_a_cluster_needs_is_always_there_and_the_rest_by_choice(addon: str, said: bool | None, installed: bool):
    assert is_installed(addon, said) is installed


def test_an_add_on_that_runs_as_deployment_waits_for_nodes():
    deployments = {name for name, facts in ADDONS.items() if facts.needs_nodes}
    assert deployments == {
        "coredns",
        "metrics-server",
        "aws-ebs-csi-driver",
        "aws-efs-csi-driver",
        "aws-fsx-csi-driver",
        "aws-mountpoint-s3-csi-driver",
    }
