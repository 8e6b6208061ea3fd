"""An EBS volume as the claim that a StatefulSet looks for."""

import pulumi

from components.claimed_volume import ClaimedVolume
from components.volume_claims import BlockVolume, VolumeClaim
from tests.options import ignored
from tests.world import Built, run

VOLUME, CLAIM = "kubernetes:core/v1:PersistentVolume", "kubernetes:core/v1:PersistentVolumeClaim"


def make(gib: int = 20, opts: pulumi.ResourceOptions | None = None) -> ClaimedVolume:
    claim = VolumeClaim("milvus", "data-milvus-etcd-0", "etcd", gib)
    volume = BlockVolume(claim, pulumi.Output.from_input("vol-1"), pulumi.Output.from_input("us-west-2b"))
    return ClaimedVolume(claim.volume, {"volume": volume, "storage_class": "gp3"}, opts)


def claimed(gib: int = 20) -> Built[ClaimedVolume]:
    return run(lambda: make(gib))


def test_the_claim_has_the_name_that_the_statefulset_looks_for():
    metadata = claimed().only(CLAIM).inputs["metadata"]
    assert (metadata["namespace"], metadata["name"]) == ("milvus", "data-milvus-etcd-0")


def test_volume_and_claim_name_each_other_so_that_they_are_bound_at_once():
    built = claimed()
    volume, claim = built.only(VOLUME).inputs, built.only(CLAIM).inputs
    assert claim["spec"]["volumeName"] == volume["metadata"]["name"] == "milvus-data-milvus-etcd-0"
    assert volume["spec"]["claimRef"] == {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": "milvus",
        "name": "data-milvus-etcd-0",
    }


def test_both_name_the_class_by_which_a_claim_may_grow():
    built = claimed()
    assert built.only(VOLUME).inputs["spec"]["storageClassName"] == "gp3"
    assert built.only(CLAIM).inputs["spec"]["storageClassName"] == "gp3"


def test_pulumi_does_not_wait_for_the_claim_to_be_pending():
    annotations = claimed().only(CLAIM).inputs["metadata"]["annotations"]
    assert annotations == {"pulumi.com/skipAwait": "true"}


def test_the_volume_is_the_one_that_the_stack_made():
    csi = claimed().only(VOLUME).inputs["spec"]["csi"]
    assert csi == {"driver": "ebs.csi.aws.com", "volumeHandle": "vol-1", "fsType": "ext4"}


def test_the_pod_goes_where_the_volume_lies():
    affinity = claimed().only(VOLUME).inputs["spec"]["nodeAffinity"]
    (term,) = affinity["required"]["nodeSelectorTerms"]
    assert term["matchExpressions"] == [
        {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["us-west-2b"]}
    ]


def test_one_node_has_it_at_a_time():
    built = claimed()
    for kind in (VOLUME, CLAIM):
        assert built.only(kind).inputs["spec"]["accessModes"] == ["ReadWriteOnce"]


def test_what_is_in_a_volume_outlives_its_objects():
    assert claimed().only(VOLUME).inputs["spec"]["persistentVolumeReclaimPolicy"] == "Retain"


def test_a_claim_asks_for_the_whole_volume():
    built = claimed(30)
    assert built.only(CLAIM).inputs["spec"]["resources"] == {"requests": {"storage": "30Gi"}}
    assert built.only(VOLUME).inputs["spec"]["capacity"] == {"storage": "30Gi"}


def test_a_larger_size_reaches_the_claim_and_is_left_to_the_driver_in_the_volume():
    assert ignored(lambda opts: make(opts=opts)) == {"milvus-data-milvus-etcd-0-volume": {"spec.capacity"}}
