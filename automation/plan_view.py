"""A plan on the screen: the tree of components with counts, what policies say, what to know before `up`."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from automation.findings import Finding
from automation.plan import Plan

COLORS = {"mandatory": "red", "advisory": "yellow"}


def print_plan(plan: Plan, console: Console, folder: Path | None) -> None:
    """Shows a plan.

    Args:
        plan: the plan.
        console: where to.
        folder: where its files were written, None for nowhere.
    """
    console.print(_tree(plan))
    print_findings(plan, console)
    for notice in plan.notices:
        console.print(Text.assemble(("! ", "yellow"), notice))
    if folder:
        console.print(f"Files: {folder}/ (resources.json, manifests/, charts.json, values/, policies.json)")


def print_findings(plan: Plan, console: Console) -> None:
    """Shows what policies say, or that they say nothing."""
    for finding in plan.findings:
        console.print(_finding(finding))
    if not plan.findings:
        console.print(Text("✓ no policy findings", style="green"))


def summary(plan: Plan, folder: Path | None) -> dict[str, Any]:
    """A plan's summary for another program."""
    inside = _counts_by_urn(plan)
    return {
        "stack": plan.stack,
        "resources": len(plan.made),
        "components": [
            {"name": c.name, "type": c.type, "urn": c.urn, "resources": inside[c.urn]} for c in plan.components
        ],
        "types": dict(sorted(Counter(r.type for r in plan.made).items())),
        "findings": [
            {"rule": f.rule, "level": f.level, "severity": f.severity, "urn": f.urn, "message": f.message}
            for f in plan.findings
        ],
        "notices": list(plan.notices),
        "refused": plan.is_refused,
        "files": str(folder) if folder else None,
    }


def _finding(finding: Finding) -> Table:
    table = Table.grid(padding=(0, 1))
    table.add_column(width=1)
    table.add_column(overflow="fold")
    mandatory = finding.level == "mandatory"
    color = COLORS.get(finding.level, "")
    head = Text.assemble((finding.rule, f"bold {color}"), f" ({finding.level})  ", finding.urn.rpartition("::")[2])
    table.add_row(Text("✗" if mandatory else "!", style=color), head)
    table.add_row("", finding.message)
    if finding.remediation:
        table.add_row("", Text(finding.remediation, style="dim"))
    return table


def _tree(plan: Plan) -> Tree:
    inside = _counts_by_urn(plan)
    head = Text.assemble((f"plan of {plan.stack}: ", "bold"), f"{len(plan.made)} resources")
    tree = Tree(head, guide_style="dim")
    branches: dict[str, Tree] = {}
    parents = {component.urn: component.parent for component in plan.components}
    indents = {c.urn: _INDENT * len(_ancestors(c.parent, parents)) for c in plan.components}
    width = min(max((indents[c.urn] + len(c.name) for c in plan.components), default=0), _WIDEST)
    for component in plan.components:
        label = Text.assemble(
            f"{_shortened(component.name, room := width - indents[component.urn]):<{room}}  ",
            (f"{component.type.rpartition(':')[2]:<18}", "cyan"),
            f"{inside[component.urn]:>4}",
        )
        branches[component.urn] = branches.get(component.parent, tree).add(label)
    return tree


_INDENT = 4
"""Columns by which rich indents each level of a tree."""
_WIDEST = 52
"""Columns for a name with its indents, of a screen of 80: the rest is for the first level's branch, type and count."""


def _shortened(name: str, room: int) -> str:
    """A name that fits. Of one that is too long the middle is left out: what tells it from others is at its end."""
    if len(name) <= room:
        return name
    head = room // 2
    return f"{name[:head]}…{name[head + 1 - room :]}"


def _counts_by_urn(plan: Plan) -> Mapping[str, int]:
    """How many resources each component holds, its inner components' included."""
    parents = {r.urn: r.parent for r in plan.resources}
    counts: defaultdict[str, int] = defaultdict(int)
    for resource in plan.made:
        for ancestor in _ancestors(resource.parent, parents):
            counts[ancestor] += 1
    return counts


def _ancestors(urn: str, parents: Mapping[str, str]) -> list[str]:
    """A resource and everything above it, inside out."""
    found: list[str] = []
    while urn in parents:
        found.append(urn)
        urn = parents[urn]
    return found
