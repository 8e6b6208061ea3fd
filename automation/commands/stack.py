"""`eksai up`, `preview`, `refresh`, `destroy`, `outputs`: one stack, on the local cloud or on AWS."""

import enum
import json
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from automation.commands.context import AsJson, Folder, Kubernetes, Local, StackName, console, find_project

if TYPE_CHECKING:
    from automation.results import Kind
    from automation.stacks import Stack


class Where(enum.Enum):
    """What a command works on, by the name that people are shown."""

    AWS = "AWS"
    SIMULATED = "the local cloud"
    KUBERNETES = "the local cloud with a real Kubernetes"

    @property
    def local(self) -> bool:
        """Whether it is on this machine."""
        return self is not Where.AWS


Replacing = Annotated[
    bool, typer.Option("--allow-replacement", help="Let cluster, network, key or bucket be replaced.")
]
Keeping = Annotated[
    bool, typer.Option("--keep-data", help="Leave what eksai:dataProtection protects; the next up goes on with it.")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def up(
    stack: StackName,
    local: Local = False,
    kubernetes: Kubernetes = False,
    yes: Yes = False,
    replacing: Replacing = False,
    as_json: AsJson = False,
    folder: Folder = None,
) -> None:
    """Bring a stack up: create, change and delete what the program says.

    Policies judge a preview first. On AWS you are shown it and asked, unless --yes is given.

    Example: eksai up dev --local
    """
    where = where_asked(local, kubernetes)
    asks = not (where.local or yes)
    if asks:
        _operate("preview", stack, where, as_json=as_json, folder=folder, replacing=replacing)
        typer.confirm(f"Make these changes to {stack} on AWS?", abort=True, err=True)
    _operate("up", stack, where, as_json=as_json, folder=folder, replacing=replacing, previewed=asks)


def preview(
    stack: StackName,
    local: Local = False,
    kubernetes: Kubernetes = False,
    replacing: Replacing = False,
    as_json: AsJson = False,
    folder: Folder = None,
) -> None:
    """Show what `up` would do, and change nothing.

    Example: eksai preview dev --json --local
    """
    where = where_asked(local, kubernetes)
    _operate("preview", stack, where, as_json=as_json, folder=folder, replacing=replacing)


def refresh(
    stack: StackName,
    local: Local = False,
    kubernetes: Kubernetes = False,
    as_json: AsJson = False,
    folder: Folder = None,
) -> None:
    """Bring the recorded state to what the cloud really holds.

    Example: eksai refresh dev --local
    """
    _operate("refresh", stack, where_asked(local, kubernetes), as_json=as_json, folder=folder)


def destroy(
    stack: StackName,
    local: Local = False,
    kubernetes: Kubernetes = False,
    yes: Yes = False,
    keep_data: Keeping = False,
    as_json: AsJson = False,
    folder: Folder = None,
) -> None:
    """Delete everything that a stack has made, or all but its data.

    What is protected (eksai:dataProtection, deletionProtection) stops it before anything is deleted.

    Example: eksai destroy prod --keep-data
    """
    from automation.configuration import what_is_known

    where = where_asked(local, kubernetes)
    what_is_known(find_project(folder), stack, where.local)
    if not yes:
        what = f"everything but the data of {stack}" if keep_data else f"every resource of {stack}"
        typer.confirm(f"Delete {what} on {where.value}?", abort=True, err=True)
    _operate("destroy", stack, where, as_json=as_json, folder=folder, keep_data=keep_data)


def outputs(
    stack: StackName,
    name: Annotated[str | None, typer.Argument(help="Print this one only, as it is.", show_default=False)] = None,
    local: Local = False,
    kubernetes: Kubernetes = False,
    reveal: Annotated[bool, typer.Option("--show-secrets", help="Print secret values too.")] = False,
    as_json: AsJson = False,
    folder: Folder = None,
) -> None:
    """Print what a stack exports.

    Example: eksai outputs dev --json --local
    """
    from automation.errors import OutputMissing

    where = where_asked(local, kubernetes)
    with _open(stack, where, folder) as opened:
        found = opened.outputs(reveal=reveal)
    if name is not None:
        if name not in found:
            raise OutputMissing(
                f"{stack} exports no '{name}'; there are: {', '.join(sorted(found)) or 'none, it is not up'}."
            )
        value = found[name]
        typer.echo(value if isinstance(value, str) else json.dumps(value))
    elif as_json:
        typer.echo(json.dumps(found, indent=2))
    elif found:
        from automation.summary import output_table

        console().print(output_table(found, whole=True))
    else:
        typer.echo(f"{stack} on {where.value} exports nothing: it is not up.", err=True)


def where_asked(local: bool, kubernetes: bool) -> Where:
    if kubernetes and not local:
        raise typer.BadParameter("--kubernetes goes with --local: on AWS Kubernetes is always a real one.")
    return Where.KUBERNETES if kubernetes else Where.SIMULATED if local else Where.AWS


def _operate(
    kind: "Kind",
    stack: str,
    where: Where,
    *,
    as_json: bool,
    folder: Path | None,
    replacing: bool = False,
    previewed: bool = False,
    keep_data: bool = False,
) -> None:
    from automation.errors import EksaiError
    from automation.events import Message
    from automation.progress import watching
    from automation.summary import as_json as to_json
    from automation.summary import print_result

    screen = console(stderr=as_json)
    try:
        with _open(stack, where, folder) as opened, watching(screen, is_preview=kind == "preview") as hear:
            for notice in opened.notices:
                hear(Message("warning", notice))
            up = partial(opened.up, previewed=previewed, allow_replacement=replacing)
            preview = partial(opened.preview, allow_replacement=replacing)
            destroy = partial(opened.destroy, keep_data=keep_data)
            operations = {"up": up, "preview": preview, "refresh": opened.refresh, "destroy": destroy}
            result = operations[kind](hear)
    except EksaiError as error:
        if as_json:
            typer.echo(json.dumps({"kind": kind, "stack": stack, "error": type(error).__name__, "message": str(error)}))
        raise
    if as_json:
        typer.echo(to_json(result))
    else:
        print_result(result, screen, place=where.value)


def _open(stack: str, where: Where, folder: Path | None) -> "AbstractContextManager[Stack]":
    from automation.engine import find_engine
    from automation.stacks import open_aws, open_local

    project = find_project(folder)
    project.stack_file(stack)
    if where is Where.AWS:
        return open_aws(project, stack, find_engine())
    return open_local(project, stack, find_engine(), kubernetes=where is Where.KUBERNETES)
