"""The end of a smoke test in words: a line for each Job, and below it why it has not passed."""

import dataclasses
import json
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from automation.progress import clock
from automation.smoke import Outcome, Result


def print_outcomes(outcomes: Sequence[Outcome], console: Console, *, stack: str, place: str) -> None:
    """Shows what became of the tests. `place` says where the stack runs: `the local cloud` or `AWS`."""
    failed = [outcome for outcome in outcomes if outcome.result is not Result.PASSED]
    sign = ("✗ ", "bold red") if failed else ("✓ ", "bold green")
    text = f"{len(outcomes) - len(failed)} of {len(outcomes)} passed"
    console.print(Text.assemble(sign, (f"smoke of {stack} on {place}: ", "bold"), text), soft_wrap=True)
    for outcome in outcomes:
        console.print(_line(outcome, width=max(len(each.name) for each in outcomes)))
        for reason in outcome.reasons:
            grid = Table.grid(padding=(0, 0))
            grid.add_column(width=4)
            grid.add_column(overflow="fold")
            grid.add_row("", Text(reason))
            console.print(grid)


def as_json(stack: str, outcomes: Sequence[Outcome]) -> str:
    """The tests for another program: the fields of `Outcome`, and whether all have passed."""
    passed = all(outcome.result is Result.PASSED for outcome in outcomes)
    tests = [dataclasses.asdict(outcome) for outcome in outcomes]
    return json.dumps({"kind": "smoke", "stack": stack, "passed": passed, "tests": tests}, indent=2)


def _line(outcome: Outcome, *, width: int) -> Table:
    color = "green" if outcome.result is Result.PASSED else "red"
    grid = Table.grid(padding=(0, 2, 0, 0), expand=True)
    grid.add_column(width=width + 2, style="cyan", no_wrap=True)
    grid.add_column(width=max(map(len, Result)), style=color, no_wrap=True)
    grid.add_column(ratio=1, overflow="fold")
    grid.add_column(justify="right", style="dim", no_wrap=True)
    # The rest of a node's name is the same for all.
    nodes = Text("\n".join(node.partition(".")[0] for node in outcome.nodes) or "no node")
    grid.add_row(f"  {outcome.name}", outcome.result.value, nodes, clock(outcome.seconds))
    return grid
