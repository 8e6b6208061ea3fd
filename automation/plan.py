"""Depth 1: what a stack would make, found in this process without engine, account or network.

The real program runs in a `World`, and the rules of the policy pack judge what it registered.
"""

import os
import runpy
import sys
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from typing import Any

import pulumi

import settings
from automation.configuration import checked_settings
from automation.errors import ProgramFailed
from automation.findings import Finding, judge
from automation.project import Project
from localcloud.world import InvalidResourceError, Registration, UnsupportedRequestError, World

STACK_TYPE = "pulumi:pulumi:Stack"
PROVIDER_TYPE = "pulumi:providers:"


@dataclass(frozen=True)
class Plan:
    """What a stack would make.

    Attributes:
        stack: the stack's name.
        resources: everything that the program registers, in that order, without the stack itself.
        findings: what the policy pack says of it.
        exports: the stack's outputs; values may hold `Secret`.
        notices: what the platform engineer should know before `up`, though nothing is wrong.
    """

    stack: str
    resources: tuple[Registration, ...]
    findings: tuple[Finding, ...]
    exports: Mapping[str, Any]
    notices: tuple[str, ...]

    @property
    def is_refused(self) -> bool:
        """Whether a mandatory policy forbids the plan."""
        return any(finding.level == "mandatory" for finding in self.findings)

    @property
    def made(self) -> tuple[Registration, ...]:
        """The resources that exist in a cloud: no components, no providers."""
        return tuple(r for r in self.resources if r.custom and not r.type.startswith(PROVIDER_TYPE))

    @property
    def components(self) -> tuple[Registration, ...]:
        """The components, outermost first."""
        return tuple(r for r in self.resources if not r.custom)


def make_plan(project: Project, stack: str) -> Plan:
    """Plans a stack.

    Args:
        project: the project whose program runs.
        stack: one of its stacks.

    Raises:
        ProjectError: the project or the stack file cannot be read.
        ConfigError: the stack's config has mistakes.
        ProgramFailed: the program asks for what no provider would accept, or for what only an account can answer.
    """
    config = project.config(stack)
    checked = checked_settings(project, stack, local=True)
    world = World(project.name, stack, config, secret_keys=project.secret_keys(stack))
    main = str(project.program / "__main__.py")
    with _on_the_local_cloud(), _importing_from(str(project.program)):
        try:
            world.run(lambda: runpy.run_path(main, run_name="__main__"))
        except (InvalidResourceError, UnsupportedRequestError, pulumi.RunError) as error:
            raise ProgramFailed(str(error)) from error
    resources = tuple(r for r in world.resources if r.type != STACK_TYPE)
    return Plan(
        stack=stack,
        resources=resources,
        findings=tuple(judge(resources)),
        exports=world.exports,
        notices=(*checked.notices(date.today()), *_before_aws(config, stack)),
    )


def _before_aws(config: Mapping[str, str], stack: str) -> Iterator[str]:
    """What is fine here and would be refused on AWS."""
    try:
        settings.validate(config, stack=stack, local=False)
    except settings.SettingsError as error:
        for problem in error.problems:
            yield f"{problem.key} is {problem.given}: {problem.rule}; before `up` on AWS, {problem.fix}."


@contextmanager
def _on_the_local_cloud() -> Generator[None]:
    """Tells the program that no account is at stake."""
    before = os.environ.get("EKSAI_LOCAL")
    os.environ["EKSAI_LOCAL"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["EKSAI_LOCAL"]
        else:
            os.environ["EKSAI_LOCAL"] = before


@contextmanager
def _importing_from(folder: str) -> Generator[None]:
    """Lets the program import its own modules, as it does when Python runs its folder."""
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)
