"""`eksai engine`: the Pulumi engine that the other commands use."""

from typing import Annotated

import typer

from automation.commands.context import console

app = typer.Typer(help="The Pulumi engine that the other commands use.", no_args_is_help=True)


@app.command()
def build(
    kubernetes: Annotated[
        bool, typer.Option("--kubernetes", help="Also what `--local --kubernetes` needs: some 20 minutes, once.")
    ] = False,
) -> None:
    """Build the engine from Go modules, unless a usable one is there already."""
    from automation.engine import find_engine
    from automation.errors import EngineMissing
    from tools.engine.programs import OF_KUBERNETES

    try:
        found = find_engine()
        if found.built_here:
            _build("pulumi")
        else:
            typer.echo(f"pulumi {found.version} on PATH is used: {found.path}", err=True)
    except EngineMissing:
        _build("pulumi")
    for name in OF_KUBERNETES if kubernetes else ():
        _build(name)


def _build(name: str) -> None:
    from automation.errors import EngineError
    from tools.engine.build import build as build_program
    from tools.engine.display import building
    from tools.engine.errors import BuildError
    from tools.engine.programs import PROGRAMS

    program = PROGRAMS[name]
    try:
        with building(program, console(stderr=True)) as report:
            path = build_program(program, report)
    except BuildError as error:
        raise EngineError(str(error)) from error
    typer.echo(f"{name} {program.version}: {path}", err=True)


@app.command()
def status() -> None:
    """Tell which programs are used."""
    from automation.engine import find_engine
    from tools.engine.programs import OF_KUBERNETES, PROGRAMS, cache_folder, installed

    found = find_engine()
    origin = "built here, for the local cloud only" if found.built_here else "found on PATH"
    typer.echo(f"pulumi {found.version}, {origin}: {found.path}")
    for name in OF_KUBERNETES:
        program = PROGRAMS[name]
        built = installed(program, cache_folder()) or "not built; only needed for --kubernetes"
        typer.echo(f"{name} {program.version}: {built}")
