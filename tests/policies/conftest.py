"""Runs one rule of the pack as the policy SDK runs it, over properties given as plain data."""

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from pulumi_policy import (
    Policy,
    PolicyCustomTimeouts,
    PolicyResource,
    PolicyResourceOptions,
    ResourceValidationArgs,
    StackValidationArgs,
)
from pulumi_policy.proxy import UnknownValueError, unknown_checking_proxy

from policies.rules import ALL

RULES: dict[str, Policy] = {rule.name: rule for rule in ALL}


@dataclass
class Outcome:
    """What a rule reported: messages with the URN that it gave, and the path of the unknown that it stopped at."""

    violations: list[str] = field(default_factory=list)
    urns: list[str] = field(default_factory=list)
    unknown: str = ""

    def report(self, message: str, urn: str | None) -> None:
        self.violations.append(message)
        self.urns.append(urn or "")


def _run(rule: str, args: Any) -> Outcome:
    outcome = Outcome()
    try:
        RULES[rule].validate(args, outcome.report)
    except UnknownValueError as error:
        outcome.unknown = ".".join(error.props)
    return outcome


def _options() -> PolicyResourceOptions:
    return PolicyResourceOptions(False, [], None, [], PolicyCustomTimeouts(0, 0, 0), [])


@pytest.fixture
def judge() -> Callable[..., Outcome]:
    """`judge(rule, type, properties, **config)` runs a rule on one resource."""

    def run(rule: str, token: str, properties: Mapping[str, Any], **config: Any) -> Outcome:
        props = unknown_checking_proxy(dict(properties))
        return _run(rule, ResourceValidationArgs(token, props, "urn", "it", _options(), None, config))

    return run


@pytest.fixture
def judge_stack() -> Callable[..., Outcome]:
    """`judge_stack(rule, {(type, name): (outputs, {property: [names]})})` runs a rule on a stack; a name is a URN."""

    def run(rule: str, stack: Mapping[tuple[str, str], tuple[Mapping[str, Any], Mapping[str, list[str]]]]) -> Outcome:
        resources = {
            name: PolicyResource(
                token, unknown_checking_proxy(dict(outputs)), name, name, _options(), None, None, [], {}
            )
            for (token, name), (outputs, _) in stack.items()
        }
        for (_, name), (_, sources) in stack.items():
            resources[name].property_dependencies = {
                key: [resources[source] for source in names] for key, names in sources.items()
            }
        return _run(rule, StackValidationArgs(list(resources.values())))

    return run


@pytest.fixture
def changed() -> Callable[..., Any]:
    """`changed(good, path, value)` is a copy that differs in one place; the value None removes it."""

    def change(good: Any, path: str, value: Any) -> Any:
        result = copy.deepcopy(good)
        *parents, last = (int(step) if step.isdecimal() else step for step in path.split("/"))
        place = result
        for step in parents:
            place = place[step]
        if value is None:
            del place[last]
        else:
            place[last] = value
        return result

    return change
