"""Whose account, and where: what a provider's configuration says, and AWS's answers to that question.

Both depths use it: depth 1 has no account to ask, depth 2 simulates one.
"""

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from localcloud.properties import value_at
from localcloud.resource_type import Identity
from localcloud.values import reveal

# Where a program without an explicit provider is; the account is one of AWS's documentation numbers.
_ACCOUNT, _REGION = "111122223333", "us-west-2"
_USER = "user/eksai"


def identity_of(configuration: Mapping[str, Any]) -> Identity:
    """Returns where the resources of an explicit provider are made.

    Args:
        configuration: inputs of the provider's resource; its nested values are JSON texts. An `aws` provider gives
            region, account (the first of `allowedAccountIds`), tags and role; a `kubernetes` one its API server.
    """
    configuration = {key: _decoded(value) for key, value in configuration.items()}
    account = value_at(configuration, "allowedAccountIds.0") or _ACCOUNT
    region = configuration.get("region") or _REGION
    here = Identity(
        account_id=account,
        region=region,
        default_tags=value_at(configuration, "defaultTags.tags") or {},
        cluster=value_at(configuration, "kubeconfig.clusters.0.cluster.server") or "",
    )
    role = value_at(configuration, "assumeRoles.0.roleArn")
    return dataclasses.replace(here, caller=_session(role)) if isinstance(role, str) else here


def answer(function: str, identity: Identity) -> dict[str, Any] | None:
    """Returns what AWS answers a caller who asks where it is; None for any other function.

    Args:
        function: token of the provider's function.
        identity: whose question it is.
    """
    partition, suffix = identity.facts["partition"], identity.facts["dns_suffix"]
    match function:
        case "aws:index/getPartition:getPartition":
            reverse = ".".join(reversed(suffix.split(".")))
            return {"id": partition, "partition": partition, "dnsSuffix": suffix, "reverseDnsPrefix": reverse}
        case "aws:index/getRegion:getRegion":
            region = identity.region
            return {"id": region, "region": region, "name": region, "endpoint": f"ec2.{region}.{suffix}"}
        case "aws:index/getCallerIdentity:getCallerIdentity":
            account = identity.account_id
            arn = identity.caller or f"arn:{partition}:iam::{account}:{_USER}"
            return {"id": account, "accountId": account, "arn": arn, "userId": "AIDACKCEVSQ6C2EXAMPLE"}
    return None


def _session(role_arn: str) -> str:
    """The ARN that a caller has who has assumed a role."""
    account, name = role_arn.split(":")[4], role_arn.rpartition("/")[2]
    return f"arn:{role_arn.split(':')[1]}:sts::{account}:assumed-role/{name}/eksai"


def _decoded(value: Any) -> Any:
    value = reveal(value)
    if not isinstance(value, str) or value[:1] not in ("{", "["):
        return value
    try:
        return json.loads(value)
    except json.JSONDecodeError:
        return value
