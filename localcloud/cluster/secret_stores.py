"""What External Secrets may read of AWS Secrets Manager: through which stores, from where, with which role."""

import re
from collections.abc import Mapping
from typing import Any

from localcloud.account import Account
from localcloud.authorization import Request, grants
from localcloud.aws.iam import policies_of
from localcloud.aws.kms import caller_refusal
from localcloud.aws.secretsmanager import SECRET
from localcloud.cluster.conditions import Condition, lacking
from localcloud.cluster.view import Object
from localcloud.record import Record

NO_CREDENTIALS = "no credentials. Make a Pod Identity association for the service account of External Secrets"

_READ = "secretsmanager:GetSecretValue"
_VERSION = "aws:secretsmanager/secretVersion:SecretVersion"


class SyncFailed(Exception):
    """An ExternalSecret cannot be delivered; the text says why."""


def store_condition(spec: Mapping[str, Any], role: Record | None) -> Condition:
    """Returns the condition Ready of a store.

    Args:
        spec: the store's.
        role: of External Secrets' controller; None when it has none.
    """
    aws = (spec.get("provider") or {}).get("aws")
    if aws is None or aws.get("service") != "SecretsManager":
        return lacking(
            "Ready",
            "InvalidProviderConfig",
            "the local cloud has no other store than provider aws, service SecretsManager",
        )
    if aws.get("auth"):
        return lacking(
            "Ready", "InvalidProviderConfig", "auth does not go with Pod Identity: leave it out of the store"
        )
    if role is None:
        return lacking("Ready", "ValidationFailed", f"unable to validate store: {NO_CREDENTIALS}")
    return Condition("Ready", "True", "Valid", "store validated")


def is_open_to(spec: Mapping[str, Any], namespace: Object | None) -> bool:
    """Whether a ClusterSecretStore may be used from a namespace: if any of its conditions fits, or there is none.

    Args:
        spec: the store's.
        namespace: the Namespace; None for one that is gone.
    """
    conditions = spec.get("conditions") or ()
    return not conditions or (namespace is not None and any(_fits(one, namespace) for one in conditions))


def _fits(condition: Mapping[str, Any], namespace: Object) -> bool:
    name, labels = namespace["metadata"]["name"], namespace["metadata"].get("labels") or {}
    wanted = (condition.get("namespaceSelector") or {}).get("matchLabels")
    return (
        name in (condition.get("namespaces") or ())
        or any(re.search(pattern, name) for pattern in condition.get("namespaceRegexes") or ())
        or (wanted is not None and wanted.items() <= labels.items())
    )


def readable_secret(account: Account, role: Record, region: str, name: str) -> Record:
    """Returns a secret that a role can read the value of.

    Args:
        account: where it is.
        role: whose rights count.
        region: the store's.
        name: name or ARN of the secret.

    Raises:
        SyncFailed: there is no such secret, it has no value, or the role may not read it.
    """
    found = (secret for secret in account.find(SECRET) if secret.scope == region and _is_called(secret, name))
    secret = next(found, None)
    if secret is None:
        if any(_is_called(gone, name) for gone in account.lingering(SECRET)):
            raise SyncFailed(f"InvalidRequestException: secret {name} is marked for deletion")
        raise SyncFailed(f"Secret does not exist: Secrets Manager has no {name} in {region}")
    policies = policies_of(account, role)
    context = {
        f"{service}:ResourceTag/{key}": value for service in ("aws", "secretsmanager") for key, value in tags(secret)
    }
    if not grants(policies, Request(_READ, secret["arn"], caller=role["arn"], context=context)):
        raise SyncFailed(
            f"AccessDeniedException: role {role.id} is not authorized to perform {_READ} on {secret['arn']}"
        )
    reason = caller_refusal(
        account, secret["kmsKeyId"], "secretsmanager", role["arn"], policies, actions=("kms:Decrypt",)
    )
    if reason is not None:
        raise SyncFailed(f"AccessDeniedException: access to KMS is not allowed: {reason}")
    if not any(_is_called(secret, version["secretId"]) for version in account.find(_VERSION)):
        raise SyncFailed(
            f"ResourceNotFoundException: Secrets Manager can't find the specified secret value for staging label: "
            f"AWSCURRENT ({name} has no version)"
        )
    return secret


def tags(secret: Record) -> list[tuple[str, str]]:
    """Returns the tags of a secret, the provider's default ones among them."""
    return [*(secret["tagsAll"] or {}).items()]


def _is_called(secret: Record, name: str) -> bool:
    return name in (secret.id, secret["arn"], secret["name"])
