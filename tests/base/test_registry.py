"""Repositories for images."""

import json

from components.base.registry import Registry, lifecycle_policy
from tests.world import Built, run

KEY = "arn:aws:kms:us-west-2:111122223333:key/11111111-2222-3333-4444-555555555555"


def registry() -> Built[Registry]:
    repositories = {"gpunet-inference-app": {"keep_images": 30, "untagged_days": 7}}
    return run(lambda: Registry("registry", {"repositories": repositories, "key_arn": KEY, "keep": True}))  # type: ignore[typeddict-item]


def test_tags_never_move_images_are_scanned_and_encrypted_with_the_key():
    inputs = registry().only("aws:ecr/repository:Repository").inputs
    assert inputs["name"] == "gpunet-inference-app"
    assert inputs["imageTagMutability"] == "IMMUTABLE"
    assert inputs["imageScanningConfiguration"] == {"scanOnPush": True}
    assert inputs["encryptionConfigurations"] == [{"encryptionType": "KMS", "kmsKey": KEY}]


def test_old_and_untagged_images_go():
    first, second = json.loads(lifecycle_policy({"keep_images": 30, "untagged_days": 7}))["rules"]
    assert first["selection"] == {
        "tagStatus": "untagged",
        "countType": "sinceImagePushed",
        "countUnit": "days",
        "countNumber": 7,
    }
    assert second["selection"]["countNumber"] == 30
    assert first["rulePriority"] < second["rulePriority"], "ECR wants a rule for any image last"


def test_the_urls_are_handed_over_by_name():
    assert set(registry().result.repository_urls) == {"gpunet-inference-app"}
