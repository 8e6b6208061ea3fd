"""What drivers make of claims, without a cluster."""

import pytest

from localcloud.cluster.storage_drivers import (
    DRIVERS,
    ProvisioningFailed,
    Request,
    ebs_volume,
    efs_access_point,
    lustre_capacity,
    lustre_file_system,
)
from localcloud.cluster.volumes import gibibytes, persistent_volume, zone_for
from localcloud.record import Record


def request(size=10, modes=("ReadWriteOnce",), **parameters):
    return Request("pvc-1", size, modes, False, parameters, "us-west-2a", "eksai-dev")


def node(zone):
    return {"metadata": {"name": zone, "labels": {"topology.kubernetes.io/zone": zone}}}


def test_a_volume_is_gp3_unless_the_class_says_otherwise():
    inputs = ebs_volume(request())
    assert (inputs["type"], inputs["size"], inputs["availabilityZone"]) == ("gp3", 10, "us-west-2a")
    assert "iops" not in inputs


def test_a_key_encrypts_even_where_the_class_does_not_say_so():
    inputs = ebs_volume(request(kmsKeyId="arn:aws:kms:us-west-2:111122223333:key/1"))
    assert inputs["encrypted"] is True


@pytest.mark.parametrize(
    ("parameters", "iops"),
    [
        ({"type": "gp3", "iops": "4000"}, 4000),
        ({"type": "gp3", "iopsPerGB": "400"}, 4000),
        ({"type": "io1", "iopsPerGB": "60"}, 500),
        ({"type": "gp3", "iopsPerGB": "10"}, 100),
        ({"type": "gp3", "iopsPerGB": "10", "allowAutoIOPSPerGBIncrease": "true"}, 3000),
    ],
)
def test_speed_is_capped_at_what_the_type_has_and_raised_only_on_demand(parameters, iops):
    assert ebs_volume(request(**parameters))["iops"] == iops


@pytest.mark.parametrize(
    ("parameters", "what"),
    [
        ({"typ": "gp3"}, "invalid parameter key typ"),
        ({"iops": "3000", "iopsPerGB": "5"}, "exclude each other"),
        ({"iops": "many"}, "whole number"),
    ],
)
def test_a_class_that_the_driver_does_not_understand_is_refused(parameters, what):
    with pytest.raises(ProvisioningFailed, match=what):
        ebs_volume(request(**parameters))


def test_an_ebs_volume_is_not_for_several_nodes():
    with pytest.raises(ProvisioningFailed, match="ReadWriteMany"):
        ebs_volume(request(modes=("ReadWriteMany",)))


def test_an_access_point_has_a_folder_of_its_own():
    inputs = efs_access_point(
        request(provisioningMode="efs-ap", fileSystemId="fs-1", directoryPerms="700", basePath="/home/", uid="7")
    )
    assert inputs["rootDirectory"]["path"] == "/home/pvc-1"
    assert inputs["posixUser"] == {"uid": 7, "gid": 50000}


def test_an_access_point_needs_a_file_system():
    with pytest.raises(ProvisioningFailed, match="fileSystemId"):
        efs_access_point(request(provisioningMode="efs-ap"))


@pytest.mark.parametrize(
    ("kind", "size", "capacity"),
    [("SCRATCH_2", 1, 1200), ("PERSISTENT_2", 1201, 2400), ("PERSISTENT_2", 2401, 4800), ("SCRATCH_1", 2401, 3600)],
)
def test_a_lustre_file_system_is_as_large_as_the_next_size_that_there_is(kind, size, capacity):
    assert lustre_capacity(kind, size) == capacity


def test_a_lustre_file_system_is_where_the_class_says():
    inputs = lustre_file_system(request(subnetId="subnet-1", securityGroupIds="sg-1, sg-2", deploymentType="SCRATCH_2"))
    assert (inputs["subnetIds"], inputs["securityGroupIds"]) == ("subnet-1", ["sg-1", "sg-2"])


@pytest.mark.parametrize(("quantity", "size"), [("1Gi", 1), ("1.5Gi", 2), ("10G", 10), ("1Ti", 1024), ("1", 1)])
def test_amounts_are_rounded_up_to_gib(quantity, size):
    assert gibibytes(quantity) == size


def test_a_volume_is_made_where_its_pod_will_run():
    nodes = [node("us-west-2a"), node("us-west-2b")]
    assert zone_for({}, nodes[1], nodes) == "us-west-2b"
    assert zone_for({}, None, nodes) == "us-west-2a"


def test_a_class_may_keep_its_volumes_to_zones():
    term = {"key": "topology.kubernetes.io/zone", "values": ["us-west-2b"]}
    limited = {"allowedTopologies": [{"matchLabelExpressions": [term]}]}
    assert zone_for(limited, None, [node("us-west-2a"), node("us-west-2b")]) == "us-west-2b"
    with pytest.raises(ProvisioningFailed, match="us-west-2b"):
        zone_for(limited, None, [node("us-west-2a")])


def made(driver, **outputs):
    claim = {
        "metadata": {"name": "data", "namespace": "lab", "uid": "1"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
            "storageClassName": "x",
        },
    }
    record = Record("t", "us-west-2", "vol-1", "", {}, outputs, "")
    return persistent_volume(DRIVERS[driver], claim, {"reclaimPolicy": "Retain"}, record)


def test_an_ebs_volume_keeps_its_pods_in_its_zone():
    volume = made("ebs.csi.aws.com", size=1, availabilityZone="us-west-2b")
    (term,) = volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    assert term["matchExpressions"][0]["values"] == ["us-west-2b"]
    assert volume["spec"]["csi"]["volumeHandle"] == "vol-1"


def test_an_access_point_is_named_with_its_file_system_and_reached_from_everywhere():
    volume = made("efs.csi.aws.com", fileSystemId="fs-1")
    assert volume["spec"]["csi"]["volumeHandle"] == "fs-1::vol-1"
    assert "nodeAffinity" not in volume["spec"]


def test_a_lustre_volume_has_the_size_of_its_file_system_and_says_how_to_mount_it():
    volume = made("fsx.csi.aws.com", storageCapacity=1200, dnsName="d", mountName="m")
    assert volume["spec"]["capacity"] == {"storage": "1200Gi"}
    assert volume["spec"]["csi"]["volumeAttributes"] == {"dnsname": "d", "mountname": "m"}


def test_what_shall_be_kept_is_not_held_for_deletion():
    assert made("ebs.csi.aws.com", size=1, availabilityZone="us-west-2b")["metadata"]["finalizers"] == []
