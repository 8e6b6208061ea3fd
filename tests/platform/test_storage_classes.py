"""The kinds of volume that a claim can ask for."""

from collections.abc import Mapping
from typing import Any

import pytest

from components.platform.storage_classes import StorageClasses
from components.storage import LustrePlace
from localcloud.aws.file_systems import LUSTRE
from localcloud.aws.volumes import VOLUME
from localcloud.catalog import Identity, find
from localcloud.cluster.storage_drivers import DRIVERS, Request
from tests.world import run

CLASS = "kubernetes:storage.k8s.io/v1:StorageClass"
KEY = "arn:aws:kms:us-west-2:111122223333:key/0a1b"
EBS, EFS, FSX = "aws-ebs-csi-driver", "aws-efs-csi-driver", "aws-fsx-csi-driver"


PLACE = LustrePlace("subnet-a", "sg-lustre", 500)


def classes(
    *addons: str, efs_id: str | None = "fs-1", lustre: LustrePlace | None = PLACE
) -> dict[str, Mapping[str, Any]]:
    built = run(
        lambda: StorageClasses(
            "storage-classes", {"addons": addons, "key_arn": KEY, "efs_id": efs_id, "lustre": lustre}
        )
    )
    return {made.inputs["metadata"]["name"]: made.inputs for made in built.all(CLASS)}


ALL = classes(EBS, EFS, FSX)


def asked(name: str, gib: int) -> dict[str, Any]:
    """What the class's driver asks AWS for when somebody claims so much."""
    driver = DRIVERS[ALL[name]["provisioner"]]
    request = Request("pvc-1", gib, ("ReadWriteOnce",), False, ALL[name]["parameters"], "us-west-2a", "eksai-dev")
    return driver.inputs(request)


@pytest.mark.parametrize(
    ("addon", "names"), [(EBS, {"gp3", "io2", "st1"}), (EFS, {"efs"}), (FSX, {"lustre"}), ("coredns", set())]
)
def test_a_class_is_there_where_its_driver_is(addon: str, names: set[str]):
    assert set(classes(addon)) == names


def test_a_driver_without_a_file_system_of_ours_brings_no_class():
    assert classes(EFS, FSX, efs_id=None, lustre=None) == {}


def test_gp3_alone_is_the_default():
    key = "storageclass.kubernetes.io/is-default-class"
    assert [n for n, c in ALL.items() if c["metadata"].get("annotations", {}).get(key) == "true"] == ["gp3"]


@pytest.mark.parametrize("name", ["gp3", "io2", "st1"])
def test_a_volume_is_made_where_its_pod_runs_and_can_grow(name: str):
    assert ALL[name]["volumeBindingMode"] == "WaitForFirstConsumer"
    assert ALL[name]["allowVolumeExpansion"] is True


@pytest.mark.parametrize("name", ["gp3", "io2", "st1"])
def test_an_ebs_volume_is_of_its_type_and_encrypted_with_the_key(name: str):
    volume = asked(name, 200)
    assert (volume["type"], volume["encrypted"], volume["kmsKeyId"]) == (name, True, KEY)


@pytest.mark.parametrize(("name", "gib"), [("gp3", 1), ("gp3", 65536), ("io2", 4), ("io2", 16384), ("st1", 125)])
def test_ec2_takes_what_a_class_asks_for(name: str, gib: int):
    declared = find(VOLUME)
    assert declared is not None
    _, failures = declared.check(asked(name, gib), "x", None, Identity("111122223333", "us-west-2"))
    assert failures == []


def test_a_small_io2_volume_gets_the_least_that_there_is():
    assert asked("io2", 1)["iops"] == 100
    assert asked("io2", 100)["iops"] == 5000


def test_a_folder_on_efs_belongs_to_the_user_of_the_shared_ones():
    point = asked("efs", 50)
    assert point["fileSystemId"] == "fs-1"
    assert point["posixUser"] == {"uid": 1000, "gid": 1000}
    assert point["rootDirectory"]["path"].startswith("/volumes/"), "not beside the shared folders"
    assert point["rootDirectory"]["creationInfo"]["permissions"] == "700"


@pytest.mark.parametrize("gib", [1, 1200, 10240])
def test_fsx_takes_what_the_lustre_class_asks_for(gib: int):
    declared = find(LUSTRE)
    assert declared is not None
    system = asked("lustre", gib)
    _, failures = declared.check(system, "x", None, Identity("111122223333", "us-west-2"))
    assert failures == []
    assert (system["kmsKeyId"], system["dataCompressionType"]) == (KEY, "LZ4")
    assert (system["deploymentType"], system["perUnitStorageThroughput"]) == ("PERSISTENT_2", 500)


def test_the_lustre_class_names_no_bucket_which_persistent_2_would_refuse():
    assert not [name for name in ALL["lustre"]["parameters"] if name.startswith("s3")]


def test_the_efs_driver_finds_every_parameter_that_it_requires():
    assert {"provisioningMode", "fileSystemId", "directoryPerms"} <= ALL["efs"]["parameters"].keys()


def test_every_parameter_is_a_text_as_kubernetes_wants_it():
    values = [value for made in ALL.values() for value in made["parameters"].values()]
    assert all(isinstance(value, str) for value in values)
