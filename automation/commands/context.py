"""What several commands share: their common options, the project they work on, and the console they write to."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from automation.project import Project

StackName = Annotated[
    str, typer.Argument(metavar="STACK", help="The stack, as in Pulumi.STACK.yaml.", show_default=False)
]
Folder = Annotated[
    Path | None,
    typer.Option("-C", metavar="DIR", help="Work on the project in or above DIR, not the current folder's."),
]
Local = Annotated[bool, typer.Option("--local", help="Work on the simulated cloud on this machine, not on AWS.")]
Kubernetes = Annotated[
    bool,
    typer.Option("--kubernetes", help="With --local: let a real API server, scheduler and Helm judge (slower)."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON; progress goes to standard error.")]


def find_project(folder: Path | None) -> "Project":
    """The project that a command works on."""
    from automation.project import Project

    return Project.find(folder or Path.cwd())


def console(*, stderr: bool = False) -> "Console":
    """A console for people: colours and movement on a terminal, plain text elsewhere."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False)
