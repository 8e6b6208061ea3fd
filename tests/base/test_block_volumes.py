"""Volumes for pods that store data."""

from collections.abc import Sequence

import pulumi

from components.base.block_volumes import BlockVolumes
from components.volume_claims import VolumeClaim
from tests.options import ignored
from tests.world import Built, run

VOLUME = "aws:ebs/volume:Volume"
ZONES = ("us-west-2a", "us-west-2b")
CLAIMS = [VolumeClaim("milvus", f"data-milvus-etcd-{place}", "etcd", 10, place) for place in range(3)]


def make(zones: Sequence[str] = ZONES, keep: bool = True, opts: pulumi.ResourceOptions | None = None) -> BlockVolumes:
    return BlockVolumes(
        "block-volumes",
        {
            "claims": CLAIMS,
            "zones": zones,
            "cluster_name": "eksai-dev",
            "key_arn": "arn:aws:kms:us-west-2:444455556666:key/1",
            "keep": keep,
        },
        opts,
    )


def built(zones: Sequence[str] = ZONES, *, keep: bool = True) -> Built[BlockVolumes]:
    return run(lambda: make(zones, keep))


def test_every_claim_has_a_volume_of_its_size():
    found = built()
    assert [volume.inputs["size"] for volume in found.all(VOLUME)] == [claim.gib for claim in CLAIMS]
    assert list(found.result.volumes) == [claim.volume for claim in CLAIMS]
    for claim in CLAIMS:
        volume = found.result.volumes[claim.volume]
        assert volume.claim == claim
        assert found.value(volume.volume_id) == found.named(claim.volume).id


def test_volumes_are_encrypted_with_the_stacks_key():
    for volume in built().all(VOLUME):
        assert volume.inputs["encrypted"] is True
        assert volume.inputs["kmsKeyId"] == "arn:aws:kms:us-west-2:444455556666:key/1"
        assert volume.inputs["type"] == "gp3"


def test_those_that_share_the_work_lie_in_different_zones_as_far_as_there_are_enough():
    found = built()
    assert [volume.inputs["availabilityZone"] for volume in found.all(VOLUME)] == [*ZONES, ZONES[0]]
    three = built((*ZONES, "us-west-2c")).all(VOLUME)
    assert len({volume.inputs["availabilityZone"] for volume in three}) == 3


def test_a_volume_stays_where_it_is_when_there_is_another_zone():
    assert ignored(lambda opts: make(opts=opts)) == {claim.volume: {"availability_zone"} for claim in CLAIMS}


def test_the_zone_is_the_one_that_the_volume_lies_in():
    found = built()
    for claim in CLAIMS:
        zone = found.result.volumes[claim.volume].zone
        assert found.value(zone) == found.named(claim.volume).outputs["availabilityZone"]


def test_a_volume_tells_whose_it_is():
    tags = built().named("milvus-data-milvus-etcd-0").inputs["tags"]
    assert tags == {"Name": "eksai-dev-milvus-data-milvus-etcd-0", "eksai:claim": "milvus/data-milvus-etcd-0"}


def test_volumes_that_are_kept_are_protected_and_others_are_not():
    assert all(volume.protect for volume in built(keep=True).all(VOLUME))
    assert not any(volume.protect for volume in built(keep=False).resources)


def test_volumes_wait_for_nothing():
    assert all(set(volume.dependencies) <= {volume.parent} for volume in built().all(VOLUME)), "not for a cluster"
