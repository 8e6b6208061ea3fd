"""A store outside the cluster as a volume of one namespace."""

from components.shared_volume import SharedVolume, SharedVolumeArgs
from components.storage import VolumeSource
from tests.world import Built, run

VOLUME, CLAIM = "kubernetes:core/v1:PersistentVolume", "kubernetes:core/v1:PersistentVolumeClaim"
FILES = VolumeSource(driver="efs.csi.aws.com", capacity="500Gi", handle="fs-1::fsap-1", mount_options=("tls",))
BUCKET = VolumeSource(
    driver="s3.csi.aws.com",
    capacity="5Gi",
    attributes={"bucketName": "models"},
    mount_options=("allow-other", "read-only"),
    is_read_only=True,
)


def shared(source: VolumeSource, *, read_only: bool = False) -> Built[SharedVolume]:
    args = SharedVolumeArgs(
        source=source, namespace="default", volume="s3-model-pv", claim="s3-model-pvc", read_only=read_only
    )
    return run(lambda: SharedVolume("models", args))


def test_volume_and_claim_name_each_other_and_no_class():
    built = shared(BUCKET)
    volume, claim = built.only(VOLUME).inputs, built.only(CLAIM).inputs
    assert volume["spec"]["claimRef"]["name"] == claim["metadata"]["name"] == "s3-model-pvc"
    assert volume["spec"]["claimRef"]["namespace"] == claim["metadata"]["namespace"] == "default"
    assert claim["spec"]["volumeName"] == volume["metadata"]["name"] == "s3-model-pv"
    assert volume["spec"]["storageClassName"] == claim["spec"]["storageClassName"] == ""


def test_a_claim_asks_for_what_the_volume_has():
    built = shared(FILES)
    volume, claim = built.only(VOLUME).inputs["spec"], built.only(CLAIM).inputs["spec"]
    assert claim["resources"]["requests"] == volume["capacity"] == {"storage": "500Gi"}
    assert claim["accessModes"] == volume["accessModes"]


def test_a_bucket_is_told_by_its_name_and_its_volume_has_a_handle_of_its_own():
    csi = shared(BUCKET).only(VOLUME).inputs["spec"]["csi"]
    assert csi == {
        "driver": "s3.csi.aws.com",
        "volumeHandle": "s3-model-pv",
        "volumeAttributes": {"bucketName": "models"},
    }


def test_who_only_reads_cannot_write_whatever_its_pods_say():
    spec = shared(FILES, read_only=True).only(VOLUME).inputs["spec"]
    assert spec["accessModes"] == ["ReadOnlyMany"]
    assert spec["mountOptions"] == ["tls", "ro"]


def test_who_writes_may():
    spec = shared(FILES).only(VOLUME).inputs["spec"]
    assert (spec["accessModes"], spec["mountOptions"]) == (["ReadWriteMany"], ["tls"])


def test_a_store_that_nobody_can_write_is_read_only_for_all():
    spec = shared(BUCKET, read_only=False).only(VOLUME).inputs["spec"]
    assert spec["accessModes"] == ["ReadOnlyMany"]
    assert spec["mountOptions"] == ["allow-other", "read-only"], "Mountpoint has a word of its own for it"


def test_what_is_in_a_store_outlives_the_volume():
    assert shared(FILES).only(VOLUME).inputs["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
