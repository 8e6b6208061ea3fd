"""`eksai config`: what may stand in a stack file, and whether it does."""

import json

import typer

from automation.commands.context import Folder, Local, StackName, find_project

app = typer.Typer(help="What may stand in a stack file.", no_args_is_help=True)


@app.command()
def schema() -> None:
    """Print the JSON Schema of stack files, which editors complete and check them by.

    Example: eksai config schema > docs/stack.schema.json
    """
    import settings

    typer.echo(json.dumps(settings.stack_file_schema(), indent=2))


@app.command()
def check(stack: StackName, local: Local = False, folder: Folder = None) -> None:
    """Check a stack's config: every mistake at once, nothing created.

    Example: eksai config check dev --local
    """
    from automation.configuration import checked_settings

    found = checked_settings(find_project(folder), stack, local=local)
    typer.echo(f"The config of stack {stack} is sound (cluster {found.cluster.name}).", err=True)
