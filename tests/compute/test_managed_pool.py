"""The same declaration as a managed node group."""

import base64
from typing import Any

import pytest

from components.compute.managed_pool import ManagedPool
from tests.compute.pools import CPU, EFA, KEY, MANAGED, RESERVATION, managed
from tests.world import Built, run

GROUP = "aws:eks/nodeGroup:NodeGroup"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
BLOCK: dict[str, Any] = {
    "instanceTypes": ["p5.48xlarge"],
    "zones": ["us-west-2b"],
    "capacityTypes": ["reserved"],
    "capacityReservations": {"kind": "capacity-block", "ids": [RESERVATION]},
}
FABRIC: dict[str, Any] = {"instanceTypes": ["p4d.24xlarge"], "zones": ["us-west-2b"], "efa": True}


def pool(**changes: Any) -> Built[ManagedPool]:
    return run(lambda: ManagedPool("pool", managed(MANAGED, **changes)))


def group(**changes: Any) -> dict[str, Any]:
    return pool(**changes).only(GROUP).inputs


def template(**changes: Any) -> dict[str, Any]:
    return pool(**changes).only(TEMPLATE).inputs


@pytest.mark.parametrize(
    ("instance_type", "family", "ami_type"),
    [
        ("m7g.xlarge", "bottlerocket", "BOTTLEROCKET_ARM_64"),
        ("m7i.xlarge", "bottlerocket", "BOTTLEROCKET_x86_64"),
        ("g5.xlarge", "bottlerocket", "BOTTLEROCKET_x86_64_NVIDIA"),
        ("inf2.xlarge", "bottlerocket", "BOTTLEROCKET_x86_64"),
        ("m7g.xlarge", "al2023", "AL2023_ARM_64_STANDARD"),
        ("m7i.xlarge", "al2023", "AL2023_x86_64_STANDARD"),
        ("g5.xlarge", "al2023", "AL2023_x86_64_NVIDIA"),
        ("inf2.xlarge", "al2023", "AL2023_x86_64_NEURON"),
    ],
)
def test_the_image_has_the_architecture_and_the_drivers(instance_type: str, family: str, ami_type: str):
    assert group(instanceTypes=[instance_type], ami=f"{family}@latest")["amiType"] == ami_type


def test_its_version_follows_the_cluster_and_its_release_is_pinned_where_one_is_given():
    assert (group()["version"], "releaseVersion" in group()) == ("1.35", False)
    assert group(ami="al2023@latest", releaseVersion="1.35.6-20260714")["releaseVersion"] == "1.35.6-20260714"


def test_its_size_is_as_declared_and_failed_nodes_are_repaired():
    inputs = group(size={"min": 1, "desired": 2, "max": 4})
    assert inputs["scalingConfig"] == {"minSize": 1, "desiredSize": 2, "maxSize": 4}
    assert inputs["nodeRepairConfig"] == {"enabled": True}


def test_labels_and_taints_are_those_that_karpenter_would_set():
    inputs = group(labels={"role": "gpu-worker"}, taints=CPU["taints"] | {"slow": {"effect": "PreferNoSchedule"}})
    assert inputs["labels"] == {
        "eksai.dev/pool": "pool",
        "nvidia.com/gpu.present": "true",
        "nvidia.com/gpu.deploy.operands": "false",
        "role": "gpu-worker",
    }
    assert inputs["taints"] == [
        {"key": "nvidia.com/gpu", "value": "true", "effect": "NO_SCHEDULE"},
        {"key": "role", "value": "cpu-intensive", "effect": "NO_SCHEDULE"},
        {"key": "slow", "effect": "PREFER_NO_SCHEDULE"},
    ]


@pytest.mark.parametrize(
    ("changes", "capacity_type"),
    [
        ({}, "ON_DEMAND"),
        ({"capacityTypes": ["spot"]}, "SPOT"),
        (BLOCK, "CAPACITY_BLOCK"),
        (BLOCK | {"capacityReservations": {"ids": [RESERVATION]}}, "ON_DEMAND"),
    ],
    ids=["on-demand", "spot", "capacity block", "reservation"],
)
def test_capacity_is_spelt_as_eks_does(changes: dict[str, Any], capacity_type: str):
    assert group(**changes)["capacityType"] == capacity_type


def test_a_capacity_block_stands_whole_in_the_launch_template():
    built = pool(**BLOCK)
    inputs = built.only(TEMPLATE).inputs
    assert inputs["instanceType"] == "p5.48xlarge"
    assert inputs["instanceMarketOptions"] == {"marketType": "capacity-block"}
    assert inputs["capacityReservationSpecification"] == {
        "capacityReservationTarget": {"capacityReservationId": RESERVATION}
    }
    assert "instanceTypes" not in built.only(GROUP).inputs, "EKS refuses a type in both places"


def test_a_reservation_without_an_end_is_targeted_and_bought_on_demand():
    inputs = template(**BLOCK | {"capacityReservations": {"ids": [RESERVATION]}})
    assert "capacityReservationSpecification" in inputs
    assert not {"instanceType", "instanceMarketOptions"} & inputs.keys()


def test_nodes_are_in_the_clusters_group_and_stand_in_every_zone():
    built = pool()
    assert built.only(TEMPLATE).inputs["vpcSecurityGroupIds"] == ["sg-cluster"]
    assert built.only(GROUP).inputs["subnetIds"] == ["subnet-a", "subnet-b"]


def test_efa_takes_one_interface_on_each_network_card():
    inputs = template(**FABRIC)
    interfaces = inputs["networkInterfaces"]
    assert [(i["networkCardIndex"], i["deviceIndex"], i["interfaceType"]) for i in interfaces] == [
        (0, 0, "efa"),
        (1, 1, "efa-only"),
        (2, 1, "efa-only"),
        (3, 1, "efa-only"),
    ]
    assert all(i["securityGroups"] == ["sg-cluster", "sg-efa"] for i in interfaces)
    assert all("associatePublicIpAddress" not in i for i in interfaces), "beside a second interface AWS refuses it"
    assert "vpcSecurityGroupIds" not in inputs, "with interfaces of its own a template takes groups only there"


def test_efa_nodes_stand_close_together_in_one_zone():
    built = pool(**FABRIC)
    placement = built.only("aws:ec2/placementGroup:PlacementGroup")
    assert placement.urn in built.only(TEMPLATE).dependencies
    assert built.only(TEMPLATE).inputs["placement"]["groupId"] == placement.outputs["placementGroupId"]
    assert built.only(GROUP).inputs["subnetIds"] == ["subnet-b"]


def test_pods_cannot_reach_the_instance_metadata():
    options = template()["metadataOptions"]
    assert (options["httpTokens"], options["httpPutResponseHopLimit"]) == ("required", 1)


def test_every_volume_is_encrypted_with_the_key_and_only_the_data_volume_is_made_faster():
    mappings = template(diskIops=10000, diskThroughputMib=500)["blockDeviceMappings"]
    assert [m["deviceName"] for m in mappings] == ["/dev/xvda", "/dev/xvdb"]
    assert all(m["ebs"]["encrypted"] == "true" and m["ebs"]["kmsKeyId"] == KEY for m in mappings)
    assert [m["ebs"].get("iops") for m in mappings] == [None, 10000]


def test_instances_volumes_and_interfaces_carry_the_stacks_tags():
    tagged = {spec["resourceType"]: spec["tags"] for spec in template()["tagSpecifications"]}
    assert set(tagged) == {"instance", "volume", "network-interface"}
    assert all(tags == {"team": "ml", "Name": "eksai-dev-pool"} for tags in tagged.values())


def test_nvme_disks_and_pods_are_told_to_the_node_itself():
    told = base64.b64decode(template(instanceStorePolicy="RAID0", maxPods=110)["userData"]).decode()
    assert "ephemeral-storage" in told
    assert "max-pods = 110" in told
    assert "userData" not in template()


def test_nodes_start_when_their_role_is_complete():
    built = pool()
    attachments = {a.urn for a in built.all("aws:iam/rolePolicyAttachment:RolePolicyAttachment")}
    assert len(attachments) == 3
    assert attachments <= set(built.only(GROUP).dependencies)


def test_a_declaration_changes_hands_by_its_provisioner_alone():
    inputs = group(**EFA | {"ami": "al2023@latest", "limits": None})
    assert inputs["instanceTypes"] == ["p5.48xlarge"]
