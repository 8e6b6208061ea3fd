"""`eksai smoke`: small Jobs on a stack's cluster that try its accelerators and its volumes."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from automation.commands.context import AsJson, Folder, Kubernetes, Local, StackName, console, find_project
from automation.commands.stack import Where, where_asked
from automation.smoke_jobs import Kind

if TYPE_CHECKING:
    from automation.cluster_client import Cluster
    from automation.project import Project


def smoke(
    stack: StackName,
    kinds: Annotated[
        list[Kind] | None,
        typer.Argument(metavar="[KIND]...", help="nvidia, neuron, efa, storage; none means all that the stack has."),
    ] = None,
    local: Local = False,
    kubernetes: Kubernetes = False,
    timeout: Annotated[int, typer.Option("--timeout", metavar="SECONDS", min=1, help="Time for all of them.")] = 900,
    as_json: AsJson = False,
    folder: Folder = None,
) -> None:
    """Run small Jobs on a stack's cluster that try its accelerators and volumes.

    On AWS they start nodes of the pools that they try, and those cost money; exit 1 when one does not pass.

    Example: eksai smoke dev nvidia storage --local --kubernetes
    """
    from automation.errors import EksaiError

    where = where_asked(local, kubernetes)
    try:
        _smoke(stack, kinds or [], where, timeout, as_json=as_json, folder=folder)
    except EksaiError as error:
        if as_json:
            told = {"kind": "smoke", "stack": stack, "error": type(error).__name__, "message": str(error)}
            typer.echo(json.dumps(told))
        raise


def _smoke(stack: str, kinds: list[Kind], where: Where, timeout: int, *, as_json: bool, folder: Path | None) -> None:
    from automation.configuration import checked_settings
    from automation.errors import EksaiError
    from automation.smoke import Result, run
    from automation.smoke_jobs import smoke_jobs
    from automation.smoke_view import as_json as to_json
    from automation.smoke_view import print_outcomes

    if where is Where.SIMULATED:
        raise EksaiError("A smoke test needs a real Kubernetes, one that runs pods: add --kubernetes.")
    project = find_project(folder)
    jobs = smoke_jobs(checked_settings(project, stack, local=where.local), kinds)
    if not jobs:
        raise EksaiError(f"{stack} has nothing to try: no pool with accelerators or EFA, and no class gp3.")
    screen = console(stderr=True)
    with _cluster(project, stack, where) as cluster, screen.status("smoke tests"):
        outcomes = run(cluster, jobs, timeout_s=timeout, report=lambda line: screen.print(line, style="dim"))
    if as_json:
        typer.echo(to_json(stack, outcomes))
    else:
        print_outcomes(outcomes, console(), stack=stack, place=where.value)
    if any(outcome.result is not Result.PASSED for outcome in outcomes):
        raise typer.Exit(1)


@contextmanager
def _cluster(project: "Project", stack: str, where: Where) -> "Generator[Cluster]":
    """The stack's cluster, which a local cloud runs within the block."""
    from automation.cluster_client import reach, stand_in_for_aws
    from automation.engine import find_engine
    from automation.stacks import open_aws, open_local

    if where is Where.AWS:
        with open_aws(project, stack, find_engine()) as opened, reach(opened) as cluster:
            yield cluster
    else:
        aws = stand_in_for_aws(project, stack)
        with open_local(project, stack, find_engine(), kubernetes=True) as opened, reach(opened, aws=aws) as cluster:
            yield cluster
