"""The `eksai` command: which commands there are, and how a failure leaves the process.

Exit codes: 0 done, 1 refused or failed, 2 wrong usage, 130 interrupted.
"""

import signal
import sys
from importlib import metadata
from types import FrameType
from typing import Annotated

import typer

from automation.commands import config, engine, local, open_app, plan, smoke, stack
from automation.errors import EksaiError

app = typer.Typer(
    name="eksai",
    help="An AI/ML platform on Amazon EKS: plan it, bring it up, take it down.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(plan.plan)
app.command()(stack.up)
app.command()(stack.preview)
app.command()(stack.refresh)
app.command()(stack.destroy)
app.command()(stack.outputs)
app.command("open")(open_app.open_app)
app.command()(smoke.smoke)
app.add_typer(config.app, name="config")
app.add_typer(local.app, name="local")
app.add_typer(engine.app, name="engine")


@app.callback(invoke_without_command=True)
def options(
    version: Annotated[bool, typer.Option("--version", help="Print the version and end.", is_eager=True)] = False,
) -> None:
    """An AI/ML platform on Amazon EKS: plan it, bring it up, take it down."""
    if version:
        typer.echo(f"eksai {metadata.version('eksai')}")
        raise typer.Exit


def main() -> None:
    """Runs the command line and ends the process."""
    # A supervisor's SIGTERM gets the care of a Ctrl-C: the engine is interrupted and waited for.
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        app()
    except EksaiError as error:
        _tell(str(error))
        sys.exit(1)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _tell(text: str) -> None:
    typer.secho(text, fg="red", err=True)


if __name__ == "__main__":
    main()
