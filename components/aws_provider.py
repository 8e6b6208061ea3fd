"""The one provider of AWS: where everything is made, as whom, with which tags."""

from collections.abc import Mapping

import pulumi_aws as aws
from typing_extensions import TypedDict


class AwsSettings(TypedDict):
    """Where the stack lives, and what an organisation asks of everything in it."""

    region: str
    """AWS region."""
    account_id: str
    """The account; credentials of another one are refused."""
    role_arn: str | None
    """Role to assume; None for the caller's own."""
    tags: Mapping[str, str]
    """Tags of every resource, beside those that eksai sets."""
    permissions_boundary_arn: str | None
    """Policy that bounds every role; see `components.permissions_boundary`."""


def make_aws_provider(settings: AwsSettings, tags: Mapping[str, str]) -> aws.Provider:
    """Makes the provider.

    Args:
        settings: the section of the settings.
        tags: tags of every resource.
    """
    role_arn = settings["role_arn"]
    return aws.Provider(
        "aws",
        region=settings["region"],
        allowed_account_ids=[settings["account_id"]],
        assume_roles=[{"role_arn": role_arn}] if role_arn else None,
        default_tags={"tags": tags},
    )
