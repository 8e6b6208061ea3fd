"""KMS: keys, who may use them, and aliases."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from localcloud.authorization import Request, allows
from localcloud.checks import between, matches, one_of
from localcloud.errors import AwsError
from localcloud.resource_type import Api, AutoName, OnDelete, PolicyKind, Refers, ResourceType, Unique

if TYPE_CHECKING:
    from localcloud.account import Account
    from localcloud.record import Record

KEY = "aws:kms/key:Key"

DATA_KEYS = ("kms:Decrypt", "kms:GenerateDataKey")
"""What it takes to write and read something under a data key."""
GRANTS = ("kms:CreateGrant", "kms:DescribeKey")
"""What a service does with a key in the name of whoever makes a store; the rest it does by the grant."""
VOLUMES = ("kms:CreateGrant", "kms:Decrypt", "kms:DescribeKey", "kms:GenerateDataKeyWithoutPlaintext")
"""What EC2 does with a volume's key in the name of whoever launches the instance."""


def encrypts_with(path: str, error: str = "NotFoundException") -> Refers:
    """A reference to a key by id or ARN.

    AWS would schedule the deletion of a key in use, and what it encrypts would be lost. Here that is refused.
    """
    return Refers(path, KEY, error, by=("id", "arn"), in_use="KeyInUse", external=r"alias/.*|.*:alias/.*")


def service_refusal(
    account: "Account", name: str | None, service: str, actions: Iterable[str], context: Mapping[str, str]
) -> str | None:
    """Returns why a key does not let an AWS service use it, None when it does.

    Args:
        account: where the key is.
        name: id or ARN of the key; one of another account is not judged, nor is none at all.
        service: the service's principal, such as `logs.us-west-2.amazonaws.com`.
        actions: what the service does with it.
        context: values of condition keys.
    """
    key = _key(account, name)
    if key is None:
        return None
    asked = [Request(action, key["arn"], service=service, context=context) for action in actions]
    return _refusal(key, asked, service)


def caller_refusal(
    account: "Account",
    name: str | None,
    via: str,
    caller: str = "",
    identity_policies: Iterable[Any] = (),
    actions: Iterable[str] = VOLUMES,
) -> str | None:
    """Returns why a key may not be used by a service in the name of a caller, None when it may.

    Args:
        account: where the key is.
        name: id or ARN of the key; one of another account is not judged, nor is none at all.
        via: the service, such as `ec2`.
        caller: ARN of the role in whose name it asks; empty for whoever deploys, who administers the account.
        identity_policies: documents of the caller's own policies.
        actions: what is done with the key.
    """
    key = _key(account, name)
    if key is None:
        return None
    _, partition, _, region, account_id, _ = key["arn"].split(":")
    deployer = f"arn:{partition}:iam::{account_id}:role/deployer"
    own = list(identity_policies) if caller else [_ADMINISTRATOR]
    context = {
        "kms:ViaService": f"{via}.{region}.amazonaws.com",
        "kms:CallerAccount": account_id,
        "kms:GrantIsForAWSResource": "true",
        "aws:PrincipalAccount": account_id,
        "aws:PrincipalArn": caller or deployer,
    }
    asked = [Request(action, key["arn"], caller=caller or deployer, context=context) for action in actions]
    return _refusal(key, asked, f"{caller or 'the caller'} through {via}", own)


_ADMINISTRATOR = {"Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}


def _key(account: "Account", name: str | None) -> "Record | None":
    # A deleted key is one that the reference to it refuses.
    return next((key for key in account.find(KEY) if name in (key.id, key["arn"])), None) if name else None


def _refusal(key: "Record", asked: Iterable[Request], who: str, own: Iterable[Any] = ()) -> str | None:
    if not key["isEnabled"]:
        return f"{key['arn']} is disabled"
    # Without a policy, a key has AWS's: the account decides by its own policies.
    default = {"Effect": "Allow", "Principal": {"AWS": key["arn"].split(":")[4]}, "Action": "*", "Resource": "*"}
    policy = key["policy"] or {"Statement": [default]}
    refused = [request.action for request in asked if not allows(policy, request, own)]
    return f"the policy of {key['arn']} does not allow {who} {', '.join(refused)}" if refused else None


def _lingers(_: "Account", __: "Record") -> bool:
    return True


def _is_not_awss_own(_: "Account", alias: "Record") -> None:
    if alias["name"].startswith("alias/aws/"):
        raise AwsError("NotAuthorizedException", f"{alias['name']} is reserved: only AWS makes aliases in alias/aws/")


TYPES = (
    ResourceType(
        KEY,
        id="{uuid}",
        outputs={"keyId": "{id}", "arn": "arn:{partition}:kms:{region}:{account}:key/{id}"},
        defaults={
            "isEnabled": True,
            "keyUsage": "ENCRYPT_DECRYPT",
            "customerMasterKeySpec": "SYMMETRIC_DEFAULT",
            "enableKeyRotation": False,
            "multiRegion": False,
        },
        replaces=("keyUsage", "customerMasterKeySpec", "customKeyStoreId", "multiRegion"),
        checks=(
            between("deletionWindowInDays", 7, 30),
            between("rotationPeriodInDays", 90, 2560),
            one_of("keyUsage", ("ENCRYPT_DECRYPT", "SIGN_VERIFY", "GENERATE_VERIFY_MAC", "KEY_AGREEMENT")),
        ),
        api=Api(
            "kms",
            "CreateKey",
            {
                "customerMasterKeySpec": "KeySpec",
                **dict.fromkeys(("deletionWindowInDays", "enableKeyRotation", "isEnabled", "rotationPeriodInDays"), ""),
            },
        ),
        policies={"policy": PolicyKind.KEY},
        # It waits for its end, its id taken; its aliases are free at once.
        lingers=_lingers,
        tagged=True,
    ),
    ResourceType(
        "aws:kms/alias:Alias",
        id="{name}",
        outputs={
            "arn": "arn:{partition}:kms:{region}:{account}:{name}",
            "targetKeyArn": "arn:{partition}:kms:{region}:{account}:key/{targetKeyId}",
        },
        required=("targetKeyId",),
        auto_name=AutoName(prefix="alias/", longest=256),
        replaces=("name",),
        api=Api("kms", "CreateAlias", {"name": "AliasName"}),
        checks=(matches("name", r"alias/[a-zA-Z0-9/_-]{1,250}", "alias/ and letters, digits, /, _ and -"),),
        refers=(Refers("targetKeyId", KEY, "NotFoundException", by=("id", "arn"), on_delete=OnDelete.CASCADE),),
        unique=(Unique(("name",), "AlreadyExistsException", "an alias with the name {name} already exists"),),
        admits=(_is_not_awss_own,),
    ),
)
