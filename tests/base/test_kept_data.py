"""What stays of the base layer where data is kept, and that nothing does where it is not."""

from typing import Any

import pulumi
import pytest

from components.base.encryption import Encryption
from components.base.registry import Registry
from components.base.storage import StorageSettings, make_storage
from tests.base.test_storage import ARGS
from tests.world import Built, run

KEY = "arn:aws:kms:us-west-2:111122223333:key/0a1b"
FILES: StorageSettings = {
    "efs": {"enabled": True, "backups": True},
    "lustre": {"zone": "us-west-2b", "capacity_gib": 1200, "throughput_mb_per_tib": 125},
}


def key(keep: bool) -> Built[Any]:
    args: Any = {"deletion_window_days": 7, "region": "us-west-2", "account_id": "1", "cluster_name": "c", "keep": keep}
    return run(lambda: Encryption("encryption", args))


def images(keep: bool) -> Built[Any]:
    repositories: Any = {"app": {"keep_images": 30, "untagged_days": 7}}
    return run(lambda: Registry("registry", {"repositories": repositories, "key_arn": KEY, "keep": keep}))


def files(keep: bool) -> Built[Any]:
    args: Any = {**ARGS, "keep": keep}
    return run(lambda: make_storage(FILES, args, pulumi.ResourceOptions()))


STORES = pytest.mark.parametrize("made", [key, images, files], ids=["key", "images", "files"])


@STORES
def test_what_holds_data_is_protected_with_all_that_is_set_on_it(made: Any):
    for resource in made(True).resources:
        if resource.custom and resource.type != "aws:efs/mountTarget:MountTarget":
            assert resource.protect, resource.urn


@STORES
def test_what_is_not_kept_is_protected_nowhere(made: Any):
    assert not any(resource.protect for resource in made(False).resources)


def test_ways_into_a_file_system_hold_no_data_and_no_subnet():
    targets = files(True).all("aws:efs/mountTarget:MountTarget")
    assert targets
    assert not any(target.protect for target in targets)


def test_images_go_with_a_repository_that_is_not_kept():
    kind = "aws:ecr/repository:Repository"
    assert images(False).only(kind).inputs["forceDelete"] is True
    assert images(True).only(kind).inputs["forceDelete"] is False
