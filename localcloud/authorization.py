"""Whether policies let a request pass: the part of IAM's evaluation that key and queue policies need.

A request is denied when a statement denies it, else allowed when one allows it. In the policy of a key, the account
as principal (`...:root`) hands the decision on to the caller's own policies.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from localcloud.policy_document import listed, statements, wildcard


@dataclass(frozen=True)
class Request:
    """Something that somebody wants to do.

    Attributes:
        action: such as `kms:CreateGrant`.
        resource: ARN of what it is done to.
        service: principal of the AWS service that asks by itself; empty when an identity asks.
        caller: ARN of the role or user that asks.
        context: values of condition keys.
    """

    action: str
    resource: str
    service: str = ""
    caller: str = ""
    context: Mapping[str, str] = field(default_factory=dict)

    @property
    def account_root(self) -> str:
        """ARN of the caller's account as a principal."""
        _, partition, _, _, account, *_ = self.caller.split(":") if self.caller else [""] * 6
        return f"arn:{partition}:iam::{account}:root"


def allows(document: Any, request: Request, identity_policies: Iterable[Any] = ()) -> bool:
    """Tells whether a resource's policy lets a request pass, where need be with the caller's own policies.

    Args:
        document: the policy of the resource.
        request: what is asked.
        identity_policies: documents of the caller's own policies.
    """
    own = [statement for policy in identity_policies for statement in statements(policy)]
    theirs = statements(document)
    applying = [statement for statement in theirs if _matches(statement, request) and _is_principal(statement, request)]
    granted = [statement for statement in own if _matches(statement, request)]
    if any(statement["Effect"] == "Deny" for statement in (*applying, *granted)):
        return False
    if any(statement["Effect"] == "Allow" for statement in applying):
        return True
    delegated = any(
        statement["Effect"] == "Allow" and _names_account(statement, request) and _matches(statement, request)
        for statement in theirs
    )
    return delegated and any(statement["Effect"] == "Allow" for statement in granted)


def grants(identity_policies: Iterable[Any], request: Request) -> bool:
    """Tells whether an identity's own policies allow a request.

    Args:
        identity_policies: documents of its policies.
        request: what is asked.
    """
    matching = [
        statement for policy in identity_policies for statement in statements(policy) if _matches(statement, request)
    ]
    effects = {statement["Effect"] for statement in matching}
    return effects == {"Allow"}


def mentions(identity_policies: Iterable[Any], action: str) -> bool:
    """Tells whether an identity's policies allow an action on something, on whatever condition.

    Args:
        identity_policies: documents of its policies.
        action: such as `ec2:CreateFleet`.
    """
    return any(
        statement["Effect"] == "Allow" and _any_of(statement, "Action", action.lower(), lower=True)
        for policy in identity_policies
        for statement in statements(policy)
    )


def _matches(statement: Mapping[str, Any], request: Request) -> bool:
    """Whether action, resource and conditions of a statement fit the request."""
    return (
        _any_of(statement, "Action", request.action.lower(), lower=True)
        and _any_of(statement, "Resource", request.resource)
        and all(_holds(operator, tests, request.context) for operator, tests in statement.get("Condition", {}).items())
    )


def _any_of(statement: Mapping[str, Any], element: str, value: str, *, lower: bool = False) -> bool:
    negated = f"Not{element}" in statement
    patterns = listed(statement.get(f"Not{element}" if negated else element))
    found = any(wildcard(pattern.lower() if lower else pattern).fullmatch(value) for pattern in patterns)
    # A role's trust policy names no resource: the role itself is meant.
    return found != negated or (not patterns and element == "Resource")


def _is_principal(statement: Mapping[str, Any], request: Request) -> bool:
    negated = "NotPrincipal" in statement
    principal = statement.get("NotPrincipal" if negated else "Principal", {})
    named = {"AWS": "*", "Service": "*"} if principal == "*" else principal
    wanted = ("Service", request.service) if request.service else ("AWS", request.caller)
    found = any(name in ("*", wanted[1]) for name in listed(named.get(wanted[0])))
    return found != negated


def _names_account(statement: Mapping[str, Any], request: Request) -> bool:
    principal = statement.get("Principal", {})
    named = listed(principal.get("AWS")) if isinstance(principal, Mapping) else []
    root = request.account_root
    return bool(request.caller) and any(name in (root, root.split(":")[4]) for name in named)


def _holds(operator: str, tests: Mapping[str, Any], context: Mapping[str, str]) -> bool:
    known = {key.lower(): value for key, value in context.items()}
    comparison = operator.removesuffix("IfExists").rpartition(":")[2]
    # A key that the request does not have differs from everything.
    absent_holds = operator.endswith("IfExists") or "Not" in comparison
    return all(
        absent_holds if key.lower() not in known else _compare(comparison, known[key.lower()], listed(values))
        for key, values in tests.items()
    )


def _compare(comparison: str, value: str, expected: list[Any]) -> bool:
    negated = "Not" in comparison
    match comparison.replace("Not", ""):
        case "StringEquals":
            found = value in expected
        case "StringEqualsIgnoreCase":
            found = value.lower() in [item.lower() for item in expected]
        case "StringLike" | "ArnLike" | "ArnEquals":
            found = any(wildcard(item).fullmatch(value) for item in expected)
        case "Bool":
            found = value.lower() in [str(item).lower() for item in expected]
        case _:
            # What is not modelled does not hold: a statement that allows by it counts for nothing.
            return False
    return found != negated
