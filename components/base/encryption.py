"""The customer-managed key that every store of the platform is encrypted with."""

from pathlib import Path

import pulumi
import pulumi_aws as aws
from typing_extensions import TypedDict

from components.partition import dns_suffix_of, partition_of
from components.policy_document import from_file

KEY_POLICY = Path(__file__).with_name("key_policy.json")


class EncryptionSettings(TypedDict):
    """The plain part of `EncryptionArgs`."""

    deletion_window_days: int
    """Days between the key's removal and its end, 7 to 30."""
    key_arn: str | None
    """A key to use instead of making one."""


class EncryptionArgs(EncryptionSettings):
    """What the key needs."""

    region: str
    """AWS region."""
    account_id: str
    """The account whose services may use the key."""
    cluster_name: str
    """Names the key's alias."""
    keep: bool
    """Whether it is protected from deletion, after which nobody could read what it encrypts."""


class Encryption(pulumi.ComponentResource):
    """A KMS key with yearly rotation and a policy that lets AWS use it where the platform stores data.

    The policy names no role: EC2 volumes, logs and events use the key by conditions on account and service, and
    whoever reads or writes a store gets the right in its own policy.
    """

    key_arn: pulumi.Output[str]

    def __init__(self, name: str, args: EncryptionArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("eksai:index:Encryption", name, {}, opts)
        child = pulumi.ResourceOptions(parent=self, protect=args["keep"] or None)
        places = {
            "partition": partition_of(args["region"]),
            "account_id": args["account_id"],
            "region": args["region"],
            "dns_suffix": dns_suffix_of(args["region"]),
        }
        key = aws.kms.Key(
            name,
            description=f"Everything that {args['cluster_name']} stores",
            enable_key_rotation=True,
            deletion_window_in_days=args["deletion_window_days"],
            policy=from_file(KEY_POLICY, places),
            opts=child,
        )
        aws.kms.Alias(name, name=f"alias/{args['cluster_name']}", target_key_id=key.key_id, opts=child)
        self.key_arn = key.arn
        self.register_outputs({"key_arn": self.key_arn})
