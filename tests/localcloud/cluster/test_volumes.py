"""Claims become volumes, in a real cluster and the simulated account."""

import pytest

from localcloud.aws.file_systems import ACCESS_POINT, EFS, LUSTRE
from localcloud.aws.volumes import VOLUME as EBS
from localcloud.cluster.kinds import POD, SERVICE_ACCOUNT, STORAGE_CLASS, VOLUME, VOLUME_CLAIM
from localcloud.cluster.volumes import FINALIZER, volumes
from tests.localcloud.cluster.stage import Stage

pytestmark = pytest.mark.slow


@pytest.fixture
def stage(cloud, client):
    stage = Stage(cloud, client, volumes)
    stage.node("a")
    yield stage
    stage.clear()


def driver(stage, name="aws-ebs-csi-driver", account="ebs-csi-controller-sa", actions=("ec2:CreateVolume", "kms:*")):
    role = stage.role(name, *actions)
    return stage.cloud.addon(name, podIdentityAssociations=[{"serviceAccount": account, "roleArn": role["arn"]}])


def storage_class(stage, provisioner="ebs.csi.aws.com", mode="WaitForFirstConsumer", policy="Delete", **parameters):
    name = f"{stage.namespace}-{policy.lower()}"
    stage.make(
        STORAGE_CLASS,
        {
            "metadata": {"name": name},
            "provisioner": provisioner,
            "volumeBindingMode": mode,
            "reclaimPolicy": policy,
            "allowVolumeExpansion": True,
            "parameters": parameters,
        },
    )
    return name


def claim(stage, class_name, mode="ReadWriteOnce", size="10Gi"):
    stage.make(
        VOLUME_CLAIM,
        {
            "metadata": {"name": "data", "namespace": stage.namespace},
            "spec": {
                "accessModes": [mode],
                "storageClassName": class_name,
                "resources": {"requests": {"storage": size}},
            },
        },
    )


def pod(stage):
    """A pod that uses the claim; it needs no service account's token, so it need not wait for one."""
    stage.make(
        POD,
        {
            "metadata": {"name": "user", "namespace": stage.namespace},
            "spec": {
                "containers": [{"name": "main", "image": "busybox"}],
                "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
            },
        },
    )


def bound(stage):
    """The volume that the claim is bound to."""

    def look():
        found = stage.own(VOLUME_CLAIM, "data")
        return found if found["status"].get("phase") == "Bound" else None

    return stage.get(VOLUME, stage.until(look)["spec"]["volumeName"])


def made(stage, token=EBS):
    return [*stage.cloud.account.find(token)]


def test_a_claim_gets_an_encrypted_volume_in_the_zone_of_its_pod_s_node(stage):
    key = stage.cloud.key()
    driver(stage)
    claim(stage, storage_class(stage, type="gp3", encrypted="true", kmsKeyId=key["arn"]))
    stage.turns()
    assert made(stage) == [], "it waits for a pod"

    stage.until(lambda: stage.own(SERVICE_ACCOUNT, "default"))
    pod(stage)
    volume = bound(stage)
    (backing,) = made(stage)
    assert volume["spec"]["csi"]["volumeHandle"] == backing.id
    assert (backing["availabilityZone"], backing["size"], backing["kmsKeyId"]) == ("us-west-2a", 10, key["arn"])
    assert FINALIZER in volume["metadata"]["finalizers"]
    stage.until(lambda: stage.own(POD, "user")["spec"].get("nodeName"))


def test_a_deleted_claim_takes_its_volume_along(stage):
    driver(stage)
    claim(stage, storage_class(stage, mode="Immediate"))
    name = bound(stage)["metadata"]["name"]
    stage.delete(VOLUME_CLAIM, "data")
    stage.until(lambda: stage.get(VOLUME, name) is None)
    assert made(stage) == []


def test_without_its_driver_a_released_volume_is_stuck_and_costs_on(stage):
    addon = driver(stage)
    claim(stage, storage_class(stage, mode="Immediate"))
    name = bound(stage)["metadata"]["name"]
    stage.cloud.delete("aws:eks/addon:Addon", addon)
    stage.delete(VOLUME_CLAIM, "data")
    stage.until(lambda: stage.get(VOLUME, name)["status"]["phase"] == "Released")
    stage.turns()
    assert FINALIZER in stage.get(VOLUME, name)["metadata"]["finalizers"]
    assert len(made(stage)) == 1


def test_a_volume_that_shall_be_kept_stays_behind_in_the_account(stage):
    driver(stage)
    claim(stage, storage_class(stage, mode="Immediate", policy="Retain"))
    name = bound(stage)["metadata"]["name"]
    stage.delete(VOLUME_CLAIM, "data")
    stage.until(lambda: stage.get(VOLUME, name)["status"]["phase"] == "Released")
    stage.turns()
    assert len(made(stage)) == 1
    stage.client.delete(VOLUME, name)
    stage.until(lambda: stage.get(VOLUME, name) is None)
    assert len(made(stage)) == 1, "only a person deletes it"


@pytest.mark.parametrize(
    ("parameters", "actions", "reason"),
    [
        ({"kmsKeyId": "arn:aws:kms:us-west-2:111122223333:key/gone"}, ("ec2:*", "kms:*"), "there is no such Key"),
        ({"type": "io1"}, ("ec2:*",), "iops must be specified"),
        ({}, ("ec2:Describe*",), "not authorized to perform ec2:CreateVolume"),
    ],
)
def test_what_aws_refuses_leaves_the_claim_pending_with_the_reason(stage, parameters, actions, reason):
    driver(stage, actions=actions)
    claim(stage, storage_class(stage, mode="Immediate", **parameters))
    (message,) = stage.until(lambda: stage.events("ProvisioningFailed"))
    assert reason in message
    stage.turns()
    assert stage.own(VOLUME_CLAIM, "data")["status"]["phase"] == "Pending"
    assert len(stage.events("ProvisioningFailed")) == 1, "it is said once"


def test_a_role_that_may_not_use_the_key_gets_no_volume(stage):
    key = stage.cloud.key()
    driver(stage, actions=("ec2:*",))
    claim(stage, storage_class(stage, mode="Immediate", kmsKeyId=key["arn"]))
    assert "does not allow" in stage.until(lambda: stage.events("ProvisioningFailed"))[0]


def test_a_claim_grows_with_its_volume(stage):
    driver(stage)
    claim(stage, storage_class(stage, mode="Immediate"))
    name = bound(stage)["metadata"]["name"]
    larger = {"spec": {"resources": {"requests": {"storage": "20Gi"}}}}
    stage.client.patch(VOLUME_CLAIM, "data", larger, namespace=stage.namespace)
    stage.until(lambda: stage.own(VOLUME_CLAIM, "data")["status"]["capacity"]["storage"] == "20Gi")
    assert made(stage)[0]["size"] == 20
    assert stage.get(VOLUME, name)["spec"]["capacity"]["storage"] == "20Gi"


def test_a_claim_cannot_grow_beyond_what_the_type_of_its_volume_has(stage):
    driver(stage)
    claim(stage, storage_class(stage, mode="Immediate", type="gp2"))
    bound(stage)
    larger = {"spec": {"resources": {"requests": {"storage": "20Ti"}}}}
    stage.client.patch(VOLUME_CLAIM, "data", larger, namespace=stage.namespace)
    (message,) = stage.until(lambda: stage.events("VolumeResizeFailed"))
    assert "outside of 1-16384GiB" in message
    assert made(stage)[0]["size"] == 10


def test_a_file_system_for_lustre_comes_and_grows_in_the_steps_that_there_are(stage):
    driver(stage, "aws-fsx-csi-driver", "fsx-csi-controller-sa", ("fsx:*",))
    subnet = stage.network["ids"][0]
    name = storage_class(stage, "fsx.csi.aws.com", "Immediate", subnetId=subnet, deploymentType="SCRATCH_2")
    claim(stage, name, "ReadWriteMany")
    (system,) = stage.until(lambda: made(stage, LUSTRE))
    assert bound(stage)["spec"]["csi"]["volumeAttributes"]["dnsname"] == system["dnsName"]
    larger = {"spec": {"resources": {"requests": {"storage": "3000Gi"}}}}
    stage.client.patch(VOLUME_CLAIM, "data", larger, namespace=stage.namespace)
    stage.until(lambda: made(stage, LUSTRE)[0]["storageCapacity"] == 4800)
    with stage.cloud.refused("DependencyViolation"):
        stage.cloud.delete("aws:ec2/subnet:Subnet", stage.network["private"][0])


def test_many_nodes_share_an_access_point_of_a_file_system(stage):
    system = stage.cloud.make(EFS, encrypted=True)
    driver(stage, "aws-efs-csi-driver", "efs-csi-controller-sa", ("elasticfilesystem:*",))
    name = storage_class(
        stage,
        "efs.csi.aws.com",
        "Immediate",
        provisioningMode="efs-ap",
        fileSystemId=system["id"],
        directoryPerms="700",
    )
    claim(stage, name, "ReadWriteMany")
    volume = bound(stage)
    (point,) = made(stage, ACCESS_POINT)
    assert volume["spec"]["csi"]["volumeHandle"] == f"{system['id']}::{point.id}"
    with stage.cloud.refused("FileSystemInUse"):
        stage.cloud.delete(EFS, system)
    stage.delete(VOLUME_CLAIM, "data")
    stage.until(lambda: not made(stage, ACCESS_POINT))
    stage.cloud.delete(EFS, system)
