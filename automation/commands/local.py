"""`eksai local`: the simulated cloud of a stack, kept running for plain `pulumi` commands."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from automation.commands.context import Folder, find_project
from automation.commands.stack import Yes

if TYPE_CHECKING:
    from automation.local import LocalCloud

app = typer.Typer(help="The simulated cloud on this machine, one per stack.", no_args_is_help=True)

Stack = Annotated[str, typer.Argument(metavar="[STACK]", help="The stack, as in Pulumi.STACK.yaml.")]
DEFAULT_STACK = "dev"
Kubernetes = Annotated[bool, typer.Option("--kubernetes", help="The cloud with a real Kubernetes.")]


@app.command()
def start(stack: Stack = DEFAULT_STACK, kubernetes: Kubernetes = False, folder: Folder = None) -> None:
    """Keep the cloud running in the background, so that plain `pulumi` can work on it.

    Example: eksai local start dev && eval "$(eksai local env dev)" && pulumi up
    """
    from automation.engine import find_engine
    from automation.stacks import open_local

    cloud = _cloud(stack, kubernetes, folder)
    engine = find_engine()
    port = cloud.keep()
    with open_local(cloud.project, stack, engine, kubernetes=kubernetes) as opened:
        opened.create()
    typer.echo(f"The local cloud of {stack} listens on port {port}. Use it from this shell:", err=True)
    typer.echo(f'  eval "$(eksai local env {_named(stack, kubernetes)})"', err=True)


@app.command()
def stop(stack: Stack = DEFAULT_STACK, kubernetes: Kubernetes = False, folder: Folder = None) -> None:
    """End the cloud's process; what it holds stays on disk."""
    stopped = _cloud(stack, kubernetes, folder).stop()
    typer.echo(f"The local cloud of {stack} {'has stopped' if stopped else 'was not running'}.", err=True)


@app.command()
def status(folder: Folder = None) -> None:
    """Tell for each stack whether its cloud runs and what it holds."""
    from automation.local import LocalCloud

    project = find_project(folder)
    for stack in project.stacks():
        for cloud in (LocalCloud(project, stack), LocalCloud(project, stack, kubernetes=True)):
            if cloud.kubernetes and not cloud.folder.exists():
                continue
            found = cloud.status()
            name = _named(stack, cloud.kubernetes)
            state = f"running, process {found.pid}, port {found.port}" if found.running else "not running"
            typer.echo(f"{name}: {state}, {found.resources} resources")


@app.command()
def env(stack: Stack = DEFAULT_STACK, kubernetes: Kubernetes = False, folder: Folder = None) -> None:
    """Print the shell commands that lead plain `pulumi` to the running cloud.

    Example: eval "$(eksai local env dev)"
    """
    from automation.engine import find_engine
    from automation.errors import EksaiError
    from automation.local import foreign_variables
    from automation.work_folder import write_work_folder

    cloud = _cloud(stack, kubernetes, folder)
    found = cloud.status()
    if not found.running or found.port is None:
        name = _named(stack, kubernetes)
        raise EksaiError(f"The local cloud of {stack} is not running. Start it: eksai local start {name}")
    write_work_folder(cloud.project, stack, cloud.work, foreign_secrets=True, config=cloud.config())
    variables = {**cloud.variables(find_engine(), found.port), **cloud.defaults()}
    for name in foreign_variables():
        if name not in variables:
            typer.echo(f"unset {name}")
    for name, value in variables.items():
        typer.echo(f"export {name}={shlex.quote(value)}")


@app.command()
def reset(
    stack: Stack = DEFAULT_STACK, kubernetes: Kubernetes = False, yes: Yes = False, folder: Folder = None
) -> None:
    """Forget everything in a stack's local cloud: the account, the engine's state, the history."""
    cloud = _cloud(stack, kubernetes, folder)
    if not yes:
        typer.confirm(f"Forget the local cloud of {stack}?", abort=True, err=True)
    cloud.reset()
    typer.echo(f"The local cloud of {stack} is empty.", err=True)


def _cloud(stack: str, kubernetes: bool, folder: Path | None) -> "LocalCloud":
    from automation.local import LocalCloud

    return LocalCloud(find_project(folder), stack, kubernetes=kubernetes)


def _named(stack: str, kubernetes: bool) -> str:
    """A cloud as the commands of this group are told about it."""
    return f"{stack} --kubernetes" if kubernetes else stack
