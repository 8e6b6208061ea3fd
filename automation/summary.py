"""The end of a run in words: what changed, by service and operation, what policies said, what the stack exports."""

import dataclasses
import json
from collections import Counter
from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from automation.events import Resource, short_type
from automation.progress import COLORS, DONE, SIGNS, clock
from automation.results import ResourceChange, Result

LISTED = 40
"""So many new resources are listed one by one; more are counted by service."""

OPERATIONS = ("create", "update", "replace", "delete", "read", "import", "same")


def print_result(result: Result, console: Console, *, place: str) -> None:
    """Shows a result. `place` says where the stack runs: `the local cloud` or `AWS`."""
    console.print(_headline(result, place))
    changed = [change for change in result.resources if change.op != "same"]
    # What changes or vanishes is named; what is merely new, or goes in a destroy, is counted when there is much of it.
    plain = "delete" if result.kind == "destroy" else "create"
    named = changed if len(changed) <= LISTED else [change for change in changed if change.op != plain]
    if named:
        console.print(_listing([change for change in named if not Resource(change.urn).is_grouping]))
    if len(named) < len(changed):
        console.print(_by_service(result.resources))
    if result.kept:
        console.print(Text(f"Kept for the next up: {', '.join(result.kept)}", style="dim"))
    if result.outputs:
        console.print()
        console.print(output_table(result.outputs))


def as_json(result: Result) -> str:
    """A result for another program: the fields of `Result`, secrets masked."""
    return json.dumps(dataclasses.asdict(result), indent=2, default=str)


def output_table(outputs: Mapping[str, object], *, whole: bool = False) -> Table:
    """Stack outputs, one a line; values too long for the screen are cut, or go on in the next line if `whole`."""
    table = Table.grid(padding=(0, 2), expand=True)
    # The names must stay whole, so the values give way on a narrow screen.
    table.add_column(style="cyan", width=2 + max(map(len, outputs), default=0))
    table.add_column(no_wrap=not whole, overflow="fold" if whole else "ellipsis", ratio=1)
    for name, value in sorted(outputs.items()):
        table.add_row(f"  {name}", Text(value if isinstance(value, str) else json.dumps(value)))
    return table


def _headline(result: Result, place: str) -> Text:
    if result.is_unchanged:
        what = f"no change, {result.changes.get('same', 0)} resources"
    else:
        counts = [(result.changes[op], op) for op in OPERATIONS if result.changes.get(op)]
        what = ", ".join(f"{n} {_previewed(op) if result.kind == 'preview' else DONE[op]}" for n, op in counts)
    count = len(result.findings)
    findings = f"; {count} policy finding{'s' if count > 1 else ''}" if count else ""
    return Text.assemble(
        ("✓ ", "bold green"),
        (f"{result.kind} of {result.stack} on {place}: ", "bold"),
        f"{what}{findings}",
        (f"  {clock(result.seconds)}", "dim"),
    )


def _previewed(op: str) -> str:
    return "unchanged" if op == "same" else f"to {op}"


def _listing(changed: Sequence[ResourceChange]) -> Table:
    table = Table.grid(padding=(0, 1))
    table.add_column(width=3, justify="right")
    table.add_column(ratio=1, overflow="fold")
    for change in changed:
        label = Text.assemble((f"{short_type(change.type)} ", "cyan"), change.name)
        if change.changed and change.op in ("update", "replace"):
            label.append(f"  {', '.join(change.changed)}", style="dim")
        table.add_row(Text(SIGNS.get(change.op, change.op), COLORS.get(change.op, "")), label)
    return table


def _by_service(changes: Sequence[ResourceChange]) -> Table:
    """Services down, operations across."""
    counts = Counter((_service(change), change.op) for change in changes)
    operations = [op for op in OPERATIONS if any(found == op for _, found in counts)]
    services = sorted({service for service, _ in counts})
    table = Table(box=None, padding=(0, 2), show_edge=False, header_style="dim", show_footer=True, footer_style="bold")
    table.add_column("", "  total", style="cyan")
    for op in operations:
        total = sum(count for (_, found), count in counts.items() if found == op)
        table.add_column(DONE[op], str(total), justify="right", style=COLORS.get(op, ""))
    for service in services:
        table.add_row(f"  {service}", *(str(counts[service, op] or "") for op in operations))
    return table


def _service(change: ResourceChange) -> str:
    """`ec2` for aws:ec2/vpc:Vpc, the package for what is not AWS, `(components)` for what only groups others."""
    if Resource(change.urn).is_grouping:
        return "(components)"
    package, _, rest = change.type.partition(":")
    return rest.split("/")[0].split(":")[0] if package == "aws" else package
