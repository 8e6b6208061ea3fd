"""`eksai plan`: what a stack would make, without engine, account or network."""

import json
from pathlib import Path
from typing import Annotated

import typer

from automation.commands.context import Folder, StackName, console, find_project


def plan(
    stack: StackName,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Write resources, manifests and chart values to DIR.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a summary as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print policy findings only.")] = False,
    folder: Folder = None,
) -> None:
    """Show what a stack would make; exit 1 when its config is wrong or a policy forbids it.

    Example: eksai plan dev --out plan/dev
    """
    from automation.plan import make_plan
    from automation.plan_files import write_plan
    from automation.plan_view import print_findings, print_plan, summary

    planned = make_plan(find_project(folder), stack)
    if out:
        write_plan(planned, out)
    if as_json:
        typer.echo(json.dumps(summary(planned, out), indent=2))
    elif not quiet:
        print_plan(planned, console(), out)
    elif planned.findings:
        print_findings(planned, console())
    if planned.is_refused:
        raise typer.Exit(1)
