"""The policy rules over what a program registered, in this process: no engine, no policy server.

The rules see each resource as the engine would show it to them: secrets revealed, unknown values raising when touched;
inputs for the rules on one resource, outputs for the rules on the whole stack.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, cast

from pulumi_policy import (
    EnforcementLevel,
    Policy,
    PolicyCustomTimeouts,
    PolicyResource,
    PolicyResourceOptions,
    ReportViolation,
    ResourceValidationArgs,
    StackValidationArgs,
    StackValidationPolicy,
)
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE, UnknownValueError, unknown_checking_proxy

from automation.errors import ConfigError
from localcloud.registration import Registration
from localcloud.values import UNKNOWN, Reference, Secret
from policies.rules import ALL

Level = Literal["mandatory", "advisory"]

Overrides = Mapping[str, str | Mapping[str, Any]]
"""What a file for `pulumi --policy-pack-config` holds: for a rule's name, or for `all`, a level, or an object with
`enforcementLevel` and the rule's own settings."""


@dataclass(frozen=True)
class Finding:
    """What a rule has to say.

    Attributes:
        rule: the rule's name.
        level: whether it forbids to go on. A rule that an unknown value keeps from a verdict is only ever advisory.
        severity: low, medium, high or critical; empty if the rule does not say.
        urn: the resource's URN, empty for the stack as a whole.
        message: what is wrong with it.
        remediation: what to do, in general.
    """

    rule: str
    level: Level
    severity: str
    urn: str
    message: str
    remediation: str


def judge(resources: Sequence[Registration], overrides: Overrides | None = None) -> list[Finding]:
    """Runs every rule of the policy pack over the resources of one program.

    Args:
        resources: what the program registered, in order.
        overrides: levels and settings that differ from the rules' own.

    Returns:
        The findings, in the order of the rules and, within a rule, of the resources.

    Raises:
        ConfigError: an override names no rule or no level.
    """
    overrides = overrides or {}
    _check(overrides)
    properties = [_proxy(resource.inputs) for resource in resources]
    stack = _stack(resources)
    findings: list[Finding] = []
    for rule in ALL:
        level, config = _settings(rule, overrides)
        if level is EnforcementLevel.DISABLED:
            continue
        if isinstance(rule, StackValidationPolicy):
            findings += _judge(rule, level, "", StackValidationArgs(stack, config))
            continue
        for resource, shown in zip(resources, properties, strict=True):
            args = ResourceValidationArgs(
                resource.type, shown, resource.urn, resource.name, _options(resource), None, config
            )
            findings += _judge(rule, level, resource.urn, args)
    return findings


def _check(overrides: Overrides) -> None:
    names = ["all", *(rule.name for rule in ALL)]
    levels = [level.value for level in EnforcementLevel]
    for name, value in overrides.items():
        if name not in names:
            raise ConfigError(f"The policy configuration names rule {name!r}; there are: {', '.join(names)}.")
        level = _level_in(value)
        if level is not None and level not in levels:
            raise ConfigError(f"The policy configuration gives {name} level {level!r}; allowed: {', '.join(levels)}.")


def _level_in(value: str | Mapping[str, Any] | None) -> str | None:
    return value.get("enforcementLevel") if isinstance(value, Mapping) else value


def _settings(rule: Policy, overrides: Overrides) -> tuple[EnforcementLevel, dict[str, Any]]:
    """Returns a rule's level and settings; a rule's own entry goes before the one for `all`."""
    own = overrides.get(rule.name)
    named = _level_in(own) or _level_in(overrides.get("all"))
    level = EnforcementLevel(named) if named else rule.enforcement_level or EnforcementLevel.MANDATORY
    config = {key: value for key, value in own.items() if key != "enforcementLevel"} if isinstance(own, Mapping) else {}
    return level, config


class _Judging(Protocol):
    """A rule's own function, which the SDK declares with an unfinished type."""

    def validate(self, args: Any, report_violation: ReportViolation) -> object: ...


def _judge(
    rule: Policy, level: EnforcementLevel, urn: str, args: ResourceValidationArgs | StackValidationArgs
) -> list[Finding]:
    """Runs one rule over one resource, or with an empty `urn` over the whole stack."""
    found: list[Finding] = []

    def report(message: str, reported: str | None) -> None:
        # A rule on one resource always speaks of that one.
        found.append(_finding(rule, level, urn or reported or "", message))

    try:
        cast(_Judging, rule).validate(args, report)
    except UnknownValueError as error:
        text = f"The rule could not be run: {error.message}."
        found.append(_finding(rule, EnforcementLevel.ADVISORY, urn, text))
    return found


def _finding(rule: Policy, level: EnforcementLevel, urn: str, message: str) -> Finding:
    # Nothing is remediated here, and a violation that remediation should have mended is mandatory to the engine too.
    shown = "advisory" if level is EnforcementLevel.ADVISORY else "mandatory"
    severity = rule.severity.value if rule.severity else ""
    return Finding(rule.name, shown, severity, urn, message, rule.remediation_steps or "")


def _stack(resources: Sequence[Registration]) -> list[PolicyResource]:
    """Returns the resources as rules on a whole stack see them: by their outputs, linked with each other."""
    stack = {resource.urn: _stack_resource(resource) for resource in resources}

    def known(urns: Sequence[str]) -> Iterator[PolicyResource]:
        return (stack[urn] for urn in urns if urn in stack)

    for resource in resources:
        view = stack[resource.urn]
        view.parent = stack.get(resource.parent)
        view.dependencies = list(known(resource.dependencies))
        view.property_dependencies = {name: list(known(urns)) for name, urns in resource.property_dependencies.items()}
    return list(stack.values())


def _stack_resource(resource: Registration) -> PolicyResource:
    properties = _proxy({**resource.inputs, "id": resource.id, **resource.outputs})
    return PolicyResource(
        resource.type, properties, resource.urn, resource.name, _options(resource), None, None, [], {}
    )


def _options(resource: Registration) -> PolicyResourceOptions:
    no_timeouts = PolicyCustomTimeouts(0, 0, 0)
    return PolicyResourceOptions(resource.protect, [], None, resource.aliases, no_timeouts, [], resource.parent or None)


def _proxy(properties: Mapping[str, Any]) -> Mapping[str, Any]:
    return unknown_checking_proxy(cast(dict[str, Any], _shown(properties)))


def _shown(value: Any) -> Any:
    """Returns a value as the engine shows it to policies: no secrets, markers for unknowns, ids for references."""
    if value is UNKNOWN:
        return UNKNOWN_STRING_VALUE
    if isinstance(value, Secret):
        return _shown(value.value)
    if isinstance(value, Reference):
        return _shown(value.urn if value.id is None else value.id)
    if isinstance(value, Mapping):
        return {key: _shown(item) for key, item in cast(Mapping[str, Any], value).items()}
    if isinstance(value, list | tuple):
        return [_shown(item) for item in cast(Sequence[Any], value)]
    return value
