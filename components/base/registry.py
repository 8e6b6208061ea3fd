"""Repositories for the platform's own images."""

import json
from collections.abc import Mapping

import pulumi
import pulumi_aws as aws
from typing_extensions import TypedDict


class RepositorySettings(TypedDict):
    """One repository."""

    keep_images: int
    """Images to keep; older ones go."""
    untagged_days: int
    """Days that an image without a tag is kept."""


class RegistryArgs(TypedDict):
    """What the registry needs."""

    repositories: Mapping[str, RepositorySettings]
    """Repositories by name."""
    key_arn: pulumi.Input[str]
    """Key that images are encrypted with."""
    keep: bool
    """Whether they are protected from deletion; else they go with the stack, with all images."""


class Registry(pulumi.ComponentResource):
    """ECR repositories whose tags never move, scanned at every push, encrypted, and tidied."""

    repository_urls: dict[str, pulumi.Output[str]]

    def __init__(self, name: str, args: RegistryArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("eksai:index:Registry", name, {}, opts)
        child = pulumi.ResourceOptions(parent=self, protect=args["keep"] or None)
        self.repository_urls = {}
        for repository_name, settings in args["repositories"].items():
            repository = aws.ecr.Repository(
                repository_name,
                name=repository_name,
                image_tag_mutability="IMMUTABLE",
                force_delete=not args["keep"],
                image_scanning_configuration={"scan_on_push": True},
                encryption_configurations=[{"encryption_type": "KMS", "kms_key": args["key_arn"]}],
                opts=child,
            )
            aws.ecr.LifecyclePolicy(
                repository_name, repository=repository.name, policy=lifecycle_policy(settings), opts=child
            )
            self.repository_urls[repository_name] = repository.repository_url
        self.register_outputs({})


def lifecycle_policy(settings: RepositorySettings) -> str:
    """The lifecycle policy of a repository, as ECR takes it."""
    untagged = {
        "rulePriority": 1,
        "description": "Images that no tag points to",
        "selection": {
            "tagStatus": "untagged",
            "countType": "sinceImagePushed",
            "countUnit": "days",
            "countNumber": settings["untagged_days"],
        },
        "action": {"type": "expire"},
    }
    surplus = {
        "rulePriority": 2,
        "description": "All but the newest images",
        "selection": {"tagStatus": "any", "countType": "imageCountMoreThan", "countNumber": settings["keep_images"]},
        "action": {"type": "expire"},
    }
    return json.dumps({"rules": [untagged, surplus]})
