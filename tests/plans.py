"""Plans of this repository's stacks, made once for all tests of a process: each takes seconds."""

from functools import cache

from automation.plan import Plan, make_plan
from automation.project import Project
from tools.scratch import ROOT


@cache
def planned(stack: str) -> Plan:
    """What a stack would make; nobody changes it.

    Args:
        stack: `dev` or `prod`.
    """
    return make_plan(Project(ROOT), stack)
