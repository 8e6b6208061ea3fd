"""The system node group as a component."""

import pytest

from components.compute.system_nodes import SystemNodes, SystemNodesArgs
from tests.world import Built, run

KEY = "arn:aws:kms:us-west-2:111122223333:key/11111111-2222-3333-4444-555555555555"
GROUP = "aws:eks/nodeGroup:NodeGroup"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"


def system_nodes(instance_type: str = "m7g.xlarge") -> Built[SystemNodes]:
    args = SystemNodesArgs(
        instance_types=[instance_type],
        desired_size=2,
        min_size=1,
        max_size=10,
        disk_gib=50,
        cluster_name="eksai-dev",
        cluster_version="1.35",
        nodes_after=[],
        tags={"eksai:cluster": "eksai-dev", "team": "ml"},
        region="us-west-2",
        subnet_ids=["subnet-private-a", "subnet-private-b"],
        security_group_id="sg-cluster",
        key_arn=KEY,
    )
    return run(lambda: SystemNodes("system-nodes", args))


@pytest.mark.parametrize(
    ("instance_type", "ami"), [("m7g.xlarge", "BOTTLEROCKET_ARM_64"), ("m7i.xlarge", "BOTTLEROCKET_x86_64")]
)
def test_the_image_fits_the_architecture(instance_type: str, ami: str):
    assert system_nodes(instance_type).only(GROUP).inputs["amiType"] == ami


def test_its_size_and_label_are_as_declared():
    inputs = system_nodes().only(GROUP).inputs
    assert inputs["scalingConfig"] == {"desiredSize": 2, "minSize": 1, "maxSize": 10}
    assert inputs["labels"] == {"role": "cpu-worker"}
    assert inputs["nodeRepairConfig"] == {"enabled": True}


def test_instances_and_volumes_carry_the_stacks_tags():
    specifications = system_nodes().only(TEMPLATE).inputs["tagSpecifications"]
    assert {s["resourceType"] for s in specifications} == {"instance", "volume"}
    assert all({"eksai:cluster", "team", "Name"} <= s["tags"].keys() for s in specifications)


def test_nodes_follow_the_version_of_the_control_plane():
    assert system_nodes().only(GROUP).inputs["version"] == "1.35"


def test_pods_cannot_reach_the_instance_metadata():
    options = system_nodes().only(TEMPLATE).inputs["metadataOptions"]
    assert (options["httpTokens"], options["httpPutResponseHopLimit"]) == ("required", 1)


def test_every_volume_is_encrypted_with_the_key():
    mappings = system_nodes().only(TEMPLATE).inputs["blockDeviceMappings"]
    assert [m["deviceName"] for m in mappings] == ["/dev/xvda", "/dev/xvdb"]
    assert all(m["ebs"]["encrypted"] == "true" and m["ebs"]["kmsKeyId"] == KEY for m in mappings)


def test_nodes_are_in_the_clusters_group_and_no_other():
    assert system_nodes().only(TEMPLATE).inputs["vpcSecurityGroupIds"] == ["sg-cluster"]


def test_a_changed_template_reaches_the_group_by_its_version():
    built = system_nodes()
    launch = built.only(GROUP).inputs["launchTemplate"]
    assert launch == {"id": built.only(TEMPLATE).id, "version": str(built.only(TEMPLATE).outputs["latestVersion"])}


def test_nodes_start_when_their_role_is_complete():
    built = system_nodes()
    attachments = {a.urn for a in built.all("aws:iam/rolePolicyAttachment:RolePolicyAttachment")}
    assert len(attachments) == 3
    assert attachments <= set(built.only(GROUP).dependencies)


def test_nodes_have_no_rights_that_pods_would_inherit():
    policies = {
        a.inputs["policyArn"].rpartition("/")[2]
        for a in system_nodes().all("aws:iam/rolePolicyAttachment:RolePolicyAttachment")
    }
    assert policies == {
        "AmazonEKSWorkerNodePolicy",
        "AmazonEC2ContainerRegistryPullOnly",
        "AmazonSSMManagedInstanceCore",
    }, "the network add-on has an identity of its own"
