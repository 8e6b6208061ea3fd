"""The platform's classes and shared volumes in a real cluster, with the drivers' own rights and the platform's key."""

from pathlib import Path
from string import Template

import pytest

from components.base.encryption import Encryption
from components.compute import addons
from components.compute.addon_facts import ADDONS
from components.platform.storage_classes import StorageClasses
from components.shared_volume import SharedVolume
from components.storage import LustrePlace, VolumeSource
from localcloud.aws.file_systems import ACCESS_POINT, EFS, LUSTRE
from localcloud.aws.volumes import VOLUME as EBS
from localcloud.cluster.kinds import POD, SERVICE_ACCOUNT, STORAGE_CLASS, VOLUME, VOLUME_CLAIM
from localcloud.cluster.volumes import volumes
from tests.localcloud.cluster.stage import Stage
from tests.localcloud.conftest import ACCOUNT_ID, REGION
from tests.world import run

pytestmark = pytest.mark.slow


@pytest.fixture
def stage(cloud, client):
    stage = Stage(cloud, client, volumes)
    stage.node("a")
    yield stage
    stage.clear()


@pytest.fixture
def key(cloud):
    args = {
        "region": REGION,
        "account_id": ACCOUNT_ID,
        "cluster_name": "eksai-dev",
        "deletion_window_days": 7,
        "key_arn": None,
        "keep": False,
    }
    made = run(lambda: Encryption("encryption", args)).only("aws:kms/key:Key")
    return cloud.make("aws:kms/key:Key", policy=made.inputs["policy"])


def driver(stage, name, key):
    """A driver as the platform installs it."""
    identity = ADDONS[name].identity
    role = stage.cloud.role(
        name,
        "pods.eks.amazonaws.com",
        *identity.managed_policies,
        actions=("sts:AssumeRole", "sts:TagSession"),
    )
    if identity.policy_file:
        text = (Path(addons.__file__).parent / "policies" / identity.policy_file).read_text()
        places = {
            "partition": "aws",
            "region": REGION,
            "account_id": ACCOUNT_ID,
            "dns_suffix": "amazonaws.com",
            "key_arn": key["arn"],
            "model_bucket_arn": "arn:aws:s3:::models",
        }
        text = Template(text).substitute(places)
        stage.cloud.make("aws:iam/rolePolicy:RolePolicy", name, role=role["name"], policy=text)
    stage.cloud.addon(
        name, podIdentityAssociations=[{"serviceAccount": identity.service_account, "roleArn": role["arn"]}]
    )


def classes(stage, key, addon, efs_id=None, lustre=None):
    """The classes of one driver."""
    args = {"addons": [addon], "key_arn": key["arn"], "efs_id": efs_id, "lustre": lustre}
    built = run(lambda: StorageClasses("storage-classes", args))
    for made in built.all("kubernetes:storage.k8s.io/v1:StorageClass"):
        stage.make(STORAGE_CLASS, made.inputs)


def claim(stage, mode, size, **spec):
    metadata = {"name": "data", "namespace": stage.namespace}
    stage.make(
        VOLUME_CLAIM,
        {
            "metadata": metadata,
            "spec": {"accessModes": [mode], "resources": {"requests": {"storage": size}}, **spec},
        },
    )


def bound(stage, name="data"):
    def look():
        found = stage.own(VOLUME_CLAIM, name)
        return found if (found.get("status") or {}).get("phase") == "Bound" else None

    return stage.get(VOLUME, stage.until(look)["spec"]["volumeName"])


def test_a_claim_that_names_no_class_gets_a_gp3_volume_encrypted_with_the_key(stage, key):
    driver(stage, "aws-ebs-csi-driver", key)
    classes(stage, key, "aws-ebs-csi-driver")
    claim(stage, "ReadWriteOnce", "10Gi")
    stage.until(lambda: stage.own(SERVICE_ACCOUNT, "default"))
    use = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    metadata = {"name": "user", "namespace": stage.namespace}
    stage.make(
        POD, {"metadata": metadata, "spec": {"containers": [{"name": "main", "image": "busybox"}], "volumes": use}}
    )
    assert bound(stage)["spec"]["storageClassName"] == "gp3"
    (volume,) = stage.cloud.account.find(EBS)
    assert (volume["type"], volume["kmsKeyId"]) == ("gp3", key["arn"])


def test_a_claim_of_class_efs_gets_a_folder(stage, key):
    system = stage.cloud.make(EFS, encrypted=True, kmsKeyId=key["arn"])
    driver(stage, "aws-efs-csi-driver", key)
    classes(stage, key, "aws-efs-csi-driver", efs_id=system["id"])
    claim(stage, "ReadWriteMany", "50Gi", storageClassName="efs")
    assert bound(stage)["spec"]["csi"]["volumeHandle"].startswith(f"{system['id']}::fsap-")
    assert len([*stage.cloud.account.find(ACCESS_POINT, fileSystemId=system["id"])]) == 1


def test_a_claim_of_class_lustre_gets_a_file_system_encrypted_with_the_key(stage, key):
    driver(stage, "aws-fsx-csi-driver", key)
    group = stage.cloud.make("aws:ec2/securityGroup:SecurityGroup", vpcId=stage.network["vpc"]["id"])
    place = LustrePlace(stage.network["ids"][0], group["id"], 500)
    classes(stage, key, "aws-fsx-csi-driver", lustre=place)
    claim(stage, "ReadWriteMany", "10Ti", storageClassName="lustre")
    assert bound(stage)["spec"]["capacity"]["storage"] == "12000Gi"
    (system,) = stage.cloud.account.find(LUSTRE)
    assert (system["kmsKeyId"], system["subnetIds"]) == (key["arn"], stage.network["ids"][0])


@pytest.mark.parametrize("read_only", [True, False])
def test_a_shared_volume_is_bound_to_its_claim_at_once(stage, read_only):
    source = VolumeSource(driver="efs.csi.aws.com", capacity="500Gi", handle="fs-1::fsap-1", mount_options=("tls",))
    args = {
        "source": source,
        "namespace": stage.namespace,
        "volume": f"{stage.namespace}-models",
        "claim": "shared-models",
        "read_only": read_only,
    }
    built = run(lambda: SharedVolume("models", args))
    stage.make(VOLUME, built.only("kubernetes:core/v1:PersistentVolume").inputs)
    stage.make(VOLUME_CLAIM, built.only("kubernetes:core/v1:PersistentVolumeClaim").inputs)
    volume = bound(stage, "shared-models")
    assert volume["metadata"]["name"] == f"{stage.namespace}-models"
    assert volume["spec"]["accessModes"] == (["ReadOnlyMany"] if read_only else ["ReadWriteMany"])
