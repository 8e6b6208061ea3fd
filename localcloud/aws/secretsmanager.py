"""Secrets Manager: secrets and their versions."""

from typing import TYPE_CHECKING

from localcloud.aws.kms import DATA_KEYS, caller_refusal, encrypts_with
from localcloud.checks import matches, one_of
from localcloud.errors import AwsError
from localcloud.resource_type import Api, AutoName, OnDelete, PolicyKind, Refers, ResourceType, Unique

if TYPE_CHECKING:
    from localcloud.account import Account
    from localcloud.record import Record

SECRET = "aws:secretsmanager/secret:Secret"

_VALUES = ("secretString", "secretBinary", "secretStringWo")


def _name_is_free_again(account: "Account", secret: "Record") -> None:
    if any(other.scope == secret.scope for other in account.lingering(SECRET, name=secret["name"])):
        raise AwsError(
            "InvalidRequestException",
            "you can't create this secret because a secret with this name is already scheduled for deletion "
            f"({secret['name']}): restore it, wait for the end of its recovery window, or delete with a window of 0",
        )


def _is_kept_for_recovery(_: "Account", secret: "Record") -> bool:
    return secret["recoveryWindowInDays"] != 0


def _key_may_be_used(account: "Account", version: "Record") -> None:
    for secret in account.find(SECRET):
        if version["secretId"] in (secret.id, secret["arn"], secret["name"]) and (
            reason := caller_refusal(account, secret["kmsKeyId"], "secretsmanager", actions=DATA_KEYS)
        ):
            raise AwsError("AccessDeniedException", f"access to KMS is not allowed: {reason}")


TYPES = (
    ResourceType(
        SECRET,
        id="arn:{partition}:secretsmanager:{region}:{account}:secret:{name}-{upper6}",
        outputs={"arn": "{id}"},
        defaults={"recoveryWindowInDays": 30, "forceOverwriteReplicaSecret": False},
        auto_name=AutoName(longest=512),
        replaces=("name", "type"),
        checks=(
            matches("name", r"[\w/+=.@-]{1,512}", "a secret's name: 1 to 512 letters, digits and /_+=.@-"),
            one_of("recoveryWindowInDays", (0, *range(7, 31))),
        ),
        api=Api(
            "secretsmanager",
            "CreateSecret",
            {**dict.fromkeys(("policy", "recoveryWindowInDays"), ""), "replicas": "AddReplicaRegions"},
        ),
        policies={"policy": PolicyKind.SECRET},
        refers=(encrypts_with("kmsKeyId", "InvalidParameterException"),),
        unique=(
            Unique(
                ("name",), "ResourceExistsException", "the operation failed because the secret {name} already exists"
            ),
        ),
        admits=(_name_is_free_again,),
        lingers=_is_kept_for_recovery,
        tagged=True,
    ),
    ResourceType(
        "aws:secretsmanager/secretVersion:SecretVersion",
        id="{secretId}|{uuid}",
        outputs={"versionId": "{uuid}", "arn": "{secretId}", "secretStringWo": None},
        defaults={"versionStages": ["AWSCURRENT"]},
        required=("secretId", "|".join(_VALUES)),
        replaces=("secretId", "secretString", "secretBinary", "secretStringWoVersion"),
        api=Api("secretsmanager", "PutSecretValue", {"secretStringWo": "SecretString", "secretStringWoVersion": ""}),
        refers=(
            Refers(
                "secretId",
                SECRET,
                "ResourceNotFoundException",
                by=("id", "arn", "name"),
                on_delete=OnDelete.CASCADE,
            ),
        ),
        admits=(_key_may_be_used,),
        secret_outputs=_VALUES,
    ),
)
