"""A bucket of the platform, whichever component has it."""

from typing import Any

import pulumi

from components.bucket import make_private_bucket
from tests.world import Built, run

LIFECYCLE = "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration"


class Owner(pulumi.ComponentResource):
    def __init__(self, keep_days: int | None, keep: bool) -> None:
        super().__init__("eksai:index:Owner", "owner")
        make_private_bucket(
            "artifacts",
            bucket_name=None,
            key_arn="arn:aws:kms:us-west-2:111122223333:key/1",
            noncurrent_days=7,
            abort_upload_days=3,
            keep_days=keep_days,
            keep=keep,
            parent=self,
        )


def built(keep_days: int | None, *, keep: bool = True) -> Built[Owner]:
    return run(lambda: Owner(keep_days, keep))


def rules(keep_days: int | None) -> dict[str, Any]:
    return {rule["id"]: rule for rule in built(keep_days).only(LIFECYCLE).inputs["rules"]}


def test_objects_end_where_they_are_meant_to():
    rule = rules(30)["objects"]
    assert rule["expiration"] == {"days": 30}
    assert (rule["status"], rule["filter"]) == ("Enabled", {"prefix": ""}), "all of them"


def test_what_has_ended_does_not_stay_as_an_old_version():
    found = rules(30)
    assert found["old-versions"]["noncurrentVersionExpiration"] == {"noncurrentDays": 7}
    assert found["delete-markers"]["expiration"] == {"expiredObjectDeleteMarker": True}
    assert found["unfinished-uploads"]["abortIncompleteMultipartUpload"] == {"daysAfterInitiation": 3}


def test_objects_stay_where_they_are_meant_to():
    assert not [rule for rule in rules(None).values() if "days" in rule.get("expiration", {})]


def test_every_part_of_it_belongs_to_its_component():
    parts = [resource for resource in built(30).resources if resource.type.startswith("aws:")]
    assert len(parts) == 7
    assert all("eksai:index:Owner$aws:s3/" in part.urn for part in parts)


def test_one_that_is_kept_stays_with_all_that_makes_it_private():
    parts = [resource for resource in built(30).resources if resource.type.startswith("aws:")]
    assert all(part.protect for part in parts), "a bucket that lost its policy or its encryption would lie open"
    assert built(30).only("aws:s3/bucket:Bucket").inputs["forceDestroy"] is False


def test_one_that_is_not_kept_goes_with_all_that_is_in_it():
    made = built(30, keep=False)
    assert not any(resource.protect for resource in made.resources)
    assert made.only("aws:s3/bucket:Bucket").inputs["forceDestroy"] is True
