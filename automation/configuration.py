"""A stack's settings, checked before anything runs."""

from dataclasses import dataclass
from datetime import date

import settings
from automation.errors import ConfigError
from automation.project import Project


@dataclass(frozen=True)
class Known:
    """What working on a stack needs to know of its settings."""

    notices: tuple[str, ...] = ()
    """What the platform engineer should know though nothing is wrong."""
    pools: frozenset[str] | None = None
    """Names of the declared node pools, retired ones too; None where nothing is known of pools."""


def what_is_known(project: Project, stack: str, local: bool) -> Known:
    """Checks a stack's settings and tells what working on it needs of them; raises as `checked_settings` does."""
    checked = checked_settings(project, stack, local=local)
    return Known(tuple(checked.notices(date.today())), frozenset(checked.node_pools))


def checked_settings(project: Project, stack: str, *, local: bool) -> settings.Settings:
    """The settings that a stack file gives.

    Args:
        project: the project that has the stack.
        stack: the stack's name.
        local: whether the stack runs on the local cloud.

    Raises:
        ProjectError: the stack file cannot be read.
        ConfigError: the config has mistakes; the text tells all of them.
    """
    try:
        return settings.validate(project.config(stack), stack=stack, local=local)
    except settings.SettingsError as error:
        raise ConfigError(str(error)) from error
