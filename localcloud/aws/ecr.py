"""ECR: repositories of images and what is set on them."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from localcloud.aws.kms import caller_refusal, encrypts_with
from localcloud.checks import matches
from localcloud.errors import AwsError
from localcloud.properties import values_at
from localcloud.resource_type import (
    Api,
    AutoName,
    Failure,
    Identity,
    OnDelete,
    PolicyKind,
    Properties,
    Refers,
    ResourceType,
    Unique,
)
from localcloud.values import contains_unknown

if TYPE_CHECKING:
    from localcloud.account import Account
    from localcloud.record import Record

REPOSITORY = "aws:ecr/repository:Repository"

_NAME = r"(?:[a-z0-9]+(?:[._-][a-z0-9]+)*/)*[a-z0-9]+(?:[._-][a-z0-9]+)*"
_IN_REPOSITORY = Refers(
    "repository", REPOSITORY, "RepositoryNotFoundException", by=("name",), on_delete=OnDelete.CASCADE
)
_COUNTS = ("imageCountMoreThan", "sinceImagePushed", "sinceImagePulled", "sinceImageTransitioned")


def _key_may_be_used(account: "Account", repository: "Record") -> None:
    for encryption in repository["encryptionConfigurations"] or ():
        actions = ("kms:CreateGrant", "kms:DescribeKey")
        if reason := caller_refusal(account, encryption.get("kmsKey"), "ecr", actions=actions):
            raise AwsError("KmsException", reason)


def _rules_are_wellformed(inputs: Properties, _: Identity) -> Iterator[Failure]:
    """ECR's grammar of lifecycle rules, as far as a wrong rule would keep or delete other images than meant."""
    for text in values_at(inputs, "policy"):
        if contains_unknown(text):
            continue
        try:
            rules = json.loads(text)["rules"] if isinstance(text, str) else text["rules"]
            priorities = [rule["rulePriority"] for rule in rules]
            faults = [fault for rule in rules if (fault := _rule_fault(rule))]
        except (ValueError, KeyError, TypeError) as error:
            yield Failure("policy", f"InvalidParameterException: lifecycle policy is not well-formed: {error!r}")
            return
        if len(priorities) != len(set(priorities)):
            faults.append("two rules have one rulePriority")
        untagged_or_any = [rule for rule in rules if rule["selection"]["tagStatus"] == "any"]
        if untagged_or_any and untagged_or_any[-1]["rulePriority"] != max(priorities):
            faults.append("a rule for tagStatus any must have the highest rulePriority")
        yield from (Failure("policy", f"InvalidParameterException: {fault}") for fault in faults)


def _rule_fault(rule: dict[str, Any]) -> str | None:
    selection, where = rule["selection"], f"rule {rule['rulePriority']}"
    tagged = selection["tagStatus"] == "tagged"
    if selection["tagStatus"] not in ("tagged", "untagged", "any"):
        return f"{where}: tagStatus is one of tagged, untagged, any"
    if tagged != bool(selection.keys() & {"tagPrefixList", "tagPatternList"}):
        return f"{where}: tagPrefixList or tagPatternList goes with tagStatus tagged, and only with it"
    if selection["countType"] not in _COUNTS:
        return f"{where}: countType is one of {', '.join(_COUNTS)}"
    if (selection["countType"] != "imageCountMoreThan") != (selection.get("countUnit") == "days"):
        return f"{where}: countUnit days goes with a countType since..., and only with it"
    if rule["action"].get("type") not in ("expire", "transition") or selection["countNumber"] < 1:
        return f"{where}: action is expire or transition, countNumber at least 1"
    return None


TYPES = (
    ResourceType(
        REPOSITORY,
        id="{name}",
        outputs={
            "arn": "arn:{partition}:ecr:{region}:{account}:repository/{name}",
            "registryId": "{account}",
            "repositoryUrl": "{account}.dkr.ecr.{region}.{dns_suffix}/{name}",
        },
        defaults={"imageTagMutability": "MUTABLE", "forceDelete": False},
        auto_name=AutoName(longest=256, lower=True),
        replaces=("name", "encryptionConfigurations"),
        checks=(matches("name", f"(?=.{{2,256}}$){_NAME}", "a repository name: lower case, 2 to 256 characters"),),
        api=Api(
            "ecr",
            "CreateRepository",
            {"name": "repositoryName", "encryptionConfigurations": "encryptionConfiguration", "forceDelete": ""},
        ),
        refers=(encrypts_with("encryptionConfigurations.kmsKey", "KmsException"),),
        unique=(
            Unique(
                ("name",),
                "RepositoryAlreadyExistsException",
                "the repository with name '{name}' already exists in the registry",
            ),
        ),
        admits=(_key_may_be_used,),
        tagged=True,
    ),
    ResourceType(
        "aws:ecr/lifecyclePolicy:LifecyclePolicy",
        id="{repository}",
        outputs={"registryId": "{account}"},
        required=("repository", "policy"),
        replaces=("repository",),
        checks=(_rules_are_wellformed,),
        api=Api("ecr", "PutLifecyclePolicy", {"repository": "repositoryName", "policy": "lifecyclePolicyText"}),
        refers=(_IN_REPOSITORY,),
    ),
    ResourceType(
        "aws:ecr/repositoryPolicy:RepositoryPolicy",
        id="{repository}",
        outputs={"registryId": "{account}"},
        required=("repository", "policy"),
        replaces=("repository",),
        api=Api("ecr", "SetRepositoryPolicy", {"repository": "repositoryName", "policy": "policyText"}),
        policies={"policy": PolicyKind.REPOSITORY},
        refers=(_IN_REPOSITORY,),
    ),
)
