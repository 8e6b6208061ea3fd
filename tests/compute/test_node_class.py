"""How Karpenter makes a pool's nodes."""

from typing import Any

import pytest

from components.compute.node_class import node_class_spec
from tests.compute.crds import schema, violations
from tests.compute.pools import EFA, GPU, KEY, RESERVATION, karpenter


def node_class(declaration: dict[str, Any] = GPU, *, placement: str | None = None, **changes: Any) -> dict[str, Any]:
    return node_class_spec("pool", karpenter(declaration, **changes), "karpenter-nodes", placement)


@pytest.mark.parametrize(
    ("ami", "devices"), [("bottlerocket@v1.66.0", ["/dev/xvda", "/dev/xvdb"]), ("al2023@v20260714", ["/dev/xvda"])]
)
def test_every_volume_of_the_image_is_declared_and_encrypted_with_the_key(ami: str, devices: list[str]):
    spec = node_class(ami=ami)
    assert spec["amiSelectorTerms"] == [{"alias": ami}]
    assert [m["deviceName"] for m in spec["blockDeviceMappings"]] == devices
    assert spec["blockDeviceMappings"][-1]["ebs"]["volumeSize"] == "100Gi"
    assert all(m["ebs"]["encrypted"] is True and m["ebs"]["kmsKeyID"] == KEY for m in spec["blockDeviceMappings"])


@pytest.mark.parametrize(
    ("ami", "family"),
    [
        ("/aws/service/bottlerocket/aws-k8s-1.35-nvidia/x86_64/1.66.0/image_id", "Bottlerocket"),
        (
            "/aws/service/eks/optimized-ami/1.35/amazon-linux-2023/x86_64/nvidia/recommended/image_id",
            "AL2023",
        ),
    ],
)
def test_an_image_by_parameter_says_its_family_too(ami: str, family: str):
    spec = node_class(ami=ami)
    assert spec["amiSelectorTerms"] == [{"ssmParameter": ami}]
    assert spec["amiFamily"] == family, "Karpenter cannot tell it from the path"


def test_only_the_data_volume_is_made_faster():
    first, second = (m["ebs"] for m in node_class(diskIops=10000, diskThroughputMib=500)["blockDeviceMappings"])
    assert (second["iops"], second["throughput"]) == (10000, 500)
    assert "iops" not in first


def test_pods_cannot_reach_the_instance_metadata():
    options = node_class()["metadataOptions"]
    assert (options["httpTokens"], options["httpPutResponseHopLimit"]) == ("required", 1)


def test_subnets_and_groups_are_named_by_id():
    spec = node_class()
    assert spec["subnetSelectorTerms"] == [{"id": "subnet-a"}, {"id": "subnet-b"}]
    assert spec["securityGroupSelectorTerms"] == [{"id": "sg-cluster"}]
    assert spec["instanceProfile"] == "karpenter-nodes"


def test_instances_and_volumes_carry_the_stacks_tags():
    assert node_class()["tags"] == {"team": "ml", "Name": "eksai-dev-pool"}


def test_efa_nodes_stand_in_one_zone_and_in_the_efa_group_beside_the_clusters():
    spec = node_class(EFA, placement="pg-0123")
    assert spec["subnetSelectorTerms"] == [{"id": "subnet-b"}]
    assert spec["securityGroupSelectorTerms"] == [{"id": "sg-cluster"}, {"id": "sg-efa"}]
    assert spec["placementGroupSelector"] == {"id": "pg-0123"}


def test_no_node_asks_for_a_public_address():
    assert "associatePublicIPAddress" not in node_class(EFA), "beside a second interface AWS refuses it"


@pytest.mark.parametrize(
    ("reservations", "terms"),
    [
        ({"ids": [RESERVATION, "cr-0000000000000000a"]}, [{"id": RESERVATION}, {"id": "cr-0000000000000000a"}]),
        ({"tags": {"fleet": "training"}}, [{"tags": {"fleet": "training"}}]),
    ],
)
def test_reservations_are_named_by_ids_or_by_tags(reservations: dict[str, Any], terms: list[Any]):
    spec = node_class(capacityTypes=["reserved", "on-demand"], capacityReservations=reservations)
    assert spec["capacityReservationSelectorTerms"] == terms


def test_nothing_is_said_that_was_not_declared():
    assert not {"instanceStorePolicy", "kubelet", "capacityReservationSelectorTerms", "amiFamily"} & node_class().keys()


def test_nvme_disks_and_pods_are_karpenters_to_set_up():
    spec = node_class(instanceStorePolicy="RAID0", maxPods=110)
    assert (spec["instanceStorePolicy"], spec["kubelet"]) == ("RAID0", {"maxPods": 110})


def test_a_class_with_everything_fits_the_definition():
    spec = node_class(
        EFA,
        placement="pg-0123",
        ami="/aws/service/bottlerocket/aws-k8s-1.35-nvidia/x86_64/1.66.0/image_id",
        capacityTypes=["reserved"],
        capacityReservations={"kind": "capacity-block", "ids": [RESERVATION]},
        diskIops=16000,
        diskThroughputMib=1000,
        instanceStorePolicy="RAID0",
        maxPods=110,
    )
    assert violations(schema("EC2NodeClass"), spec) == []
