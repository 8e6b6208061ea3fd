"""IAM: roles, their policies, and instance profiles."""

from typing import TYPE_CHECKING, Any

from localcloud.checks import between, matches
from localcloud.errors import AwsError
from localcloud.policy_document import listed, statements
from localcloud.resource_type import (
    Api,
    AutoName,
    PolicyKind,
    Refers,
    ResourceType,
    Scope,
    Unique,
)

if TYPE_CHECKING:
    from localcloud.account import Account
    from localcloud.record import Record

ROLE = "aws:iam/role:Role"
POLICY = "aws:iam/policy:Policy"
ROLE_POLICY = "aws:iam/rolePolicy:RolePolicy"
ATTACHMENT = "aws:iam/rolePolicyAttachment:RolePolicyAttachment"
INSTANCE_PROFILE = "aws:iam/instanceProfile:InstanceProfile"

AWS_MANAGED = r"arn:aws[a-z-]*:iam::aws:policy/.+"
_NAME = r"[\w+=,.@-]{1,%d}"
# Managed policies on a role: AWS's default quota.
_MOST_ATTACHED = 10


def trusts(role: "Record", service: str) -> set[str]:
    """Returns the actions that a role's trust policy allows a service principal."""
    return {
        action
        for statement in statements(role["assumeRolePolicy"])
        if statement["Effect"] == "Allow" and service in listed(_principal(statement).get("Service"))
        for action in listed(statement.get("Action"))
    }


def attached(account: "Account", role: "Record") -> set[str]:
    """Returns the names of the managed policies attached to a role."""
    return {
        attachment["policyArn"].rpartition("/")[2]
        for attachment in account.find(ATTACHMENT)
        if attachment["role"] in (role["name"], role["arn"])
    }


def policies_of(account: "Account", role: "Record") -> list[Any]:
    """Returns the documents of a role's inline policies and of the account's own policies attached to it."""
    named = (role["name"], role["arn"])
    inline = [policy["policy"] for policy in account.find(ROLE_POLICY) if policy["role"] in named]
    arns = {attachment["policyArn"] for attachment in account.find(ATTACHMENT) if attachment["role"] in named}
    return inline + [policy["policy"] for policy in account.find(POLICY) if policy["arn"] in arns]


def _principal(statement: dict[str, Any]) -> dict[str, Any]:
    principal = statement.get("Principal", {})
    return principal if isinstance(principal, dict) else {"AWS": principal}


def _role_has_room_inline(account: "Account", policy: "Record") -> None:
    others = [other for other in account.find(ROLE_POLICY, role=policy["role"]) if other.id != policy.id]
    length = sum(len("".join(str(item["policy"]).split())) for item in (policy, *others))
    if length > PolicyKind.INLINE.limit:
        raise AwsError(
            "LimitExceeded",
            f"maximum policy size of {PolicyKind.INLINE.limit} bytes exceeded for role {policy['role']}: its inline "
            f"policies have {length} characters together; use managed ones",
        )


def _role_has_room(account: "Account", attachment: "Record") -> None:
    there = {other["policyArn"] for other in account.find(ATTACHMENT, role=attachment["role"])}
    if len(there | {attachment["policyArn"]}) > _MOST_ATTACHED:
        raise AwsError("LimitExceeded", f"cannot exceed quota for PoliciesPerRole: {_MOST_ATTACHED}")


_OF_ROLE = Refers("role", ROLE, "NoSuchEntity", by=("name", "arn"), in_use="DeleteConflict")

TYPES = (
    ResourceType(
        ROLE,
        id="{name}",
        outputs={
            "arn": "arn:{partition}:iam::{account}:role{path}{name}",
            "uniqueId": "AROA{upper17}",
            "createDate": "2026-01-01T00:00:00Z",
        },
        defaults={"path": "/", "maxSessionDuration": 3600, "forceDetachPolicies": False},
        required=("assumeRolePolicy",),
        auto_name=AutoName(),
        replaces=("name", "path"),
        unordered=("managedPolicyArns",),
        checks=(
            matches("name", _NAME % 64, "a role name: 1 to 64 letters, digits and +=,.@_-"),
            matches("path", "/|/.+/", "a path that begins and ends with /"),
            between("maxSessionDuration", 3600, 43200),
        ),
        api=Api(
            "iam",
            "CreateRole",
            {
                "name": "RoleName",
                "assumeRolePolicy": "AssumeRolePolicyDocument",
                **dict.fromkeys(("forceDetachPolicies", "inlinePolicies", "managedPolicyArns"), ""),
            },
        ),
        policies={"assumeRolePolicy": PolicyKind.TRUST},
        refers=(
            Refers(
                "permissionsBoundary",
                POLICY,
                "NoSuchEntity",
                by=("arn",),
                in_use="DeleteConflict",
                external=AWS_MANAGED,
            ),
        ),
        unique=(Unique(("name",), "EntityAlreadyExists", "role with name {name} already exists"),),
        scope=Scope.ACCOUNT,
        tagged=True,
    ),
    ResourceType(
        POLICY,
        id="arn:{partition}:iam::{account}:policy{path}{name}",
        outputs={"arn": "{id}", "policyId": "ANPA{upper17}", "attachmentCount": 0},
        defaults={"path": "/"},
        required=("policy",),
        auto_name=AutoName(longest=128),
        replaces=("name", "path", "description"),
        checks=(matches("name", _NAME % 128, "a policy name: 1 to 128 letters, digits and +=,.@_-"),),
        api=Api("iam", "CreatePolicy", {"name": "PolicyName", "policy": "PolicyDocument"}),
        policies={"policy": PolicyKind.MANAGED},
        unique=(Unique(("name",), "EntityAlreadyExists", "a policy called {name} already exists"),),
        scope=Scope.ACCOUNT,
        tagged=True,
    ),
    ResourceType(
        ROLE_POLICY,
        id="{role}:{name}",
        required=("role", "policy"),
        auto_name=AutoName(longest=128),
        replaces=("name", "role"),
        checks=(matches("name", _NAME % 128, "a policy name: 1 to 128 letters, digits and +=,.@_-"),),
        api=Api("iam", "PutRolePolicy", {"name": "PolicyName", "policy": "PolicyDocument", "role": "RoleName"}),
        policies={"policy": PolicyKind.INLINE},
        refers=(_OF_ROLE,),
        admits=(_role_has_room_inline,),
        scope=Scope.ACCOUNT,
    ),
    ResourceType(
        ATTACHMENT,
        id="{role}/{policyArn}",
        required=("role", "policyArn"),
        replaces=("role", "policyArn"),
        api=Api("iam", "AttachRolePolicy", {"role": "RoleName"}),
        checks=(matches("policyArn", r"arn:{partition}:iam::(aws|\d{12}):policy/.+", "the ARN of an IAM policy"),),
        refers=(
            _OF_ROLE,
            Refers("policyArn", POLICY, "NoSuchEntity", by=("arn",), in_use="DeleteConflict", external=AWS_MANAGED),
        ),
        admits=(_role_has_room,),
        scope=Scope.ACCOUNT,
    ),
    ResourceType(
        INSTANCE_PROFILE,
        id="{name}",
        outputs={
            "arn": "arn:{partition}:iam::{account}:instance-profile{path}{name}",
            "uniqueId": "AIPA{upper17}",
            "createDate": "2026-01-01T00:00:00Z",
        },
        defaults={"path": "/"},
        auto_name=AutoName(longest=128),
        replaces=("name", "path"),
        api=Api("iam", "CreateInstanceProfile", {"name": "InstanceProfileName", "role": ""}),
        refers=(_OF_ROLE,),
        unique=(Unique(("name",), "EntityAlreadyExists", "instance profile {name} already exists"),),
        scope=Scope.ACCOUNT,
        tagged=True,
    ),
)
