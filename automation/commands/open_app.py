"""`eksai open`: a web application of a stack in the browser."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from automation.commands.context import Folder, StackName, console, find_project
from components.web_apps import WEB_APPS

if TYPE_CHECKING:
    from components.web_apps import WebApp
    from settings import Settings


def _check_app(name: str) -> str:
    if name not in WEB_APPS:
        raise typer.BadParameter(f"an application is one of {', '.join(WEB_APPS)}.")
    return name


def open_app(
    app: Annotated[
        str,
        typer.Argument(metavar="APP", help=f"One of {', '.join(WEB_APPS)}.", show_default=False, callback=_check_app),
    ],
    stack: StackName,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Start a browser, or only print the address.")
    ] = True,
    folder: Folder = None,
) -> None:
    """Open a web application of a stack on AWS.

    Where it is published, that is its address. Else its port is forwarded to this machine until Ctrl-C.

    Example: eksai open jupyterhub dev
    """
    from automation.configuration import checked_settings

    project = find_project(folder)
    settings = checked_settings(project, stack, local=False)
    chosen = WEB_APPS[app]
    _must_be_there(chosen, settings, stack)
    url = settings.facts().application_urls()[app]
    if url.startswith("https://"):
        _show(url, browser)
        return
    _forward(chosen, stack, folder, url, browser)


def _must_be_there(app: "WebApp", settings: "Settings", stack: str) -> None:
    from automation.errors import EksaiError

    there = settings.applications()
    if app.name not in there:
        raise EksaiError(f"{stack} has no {app.name}. It has: {', '.join(there) or 'no application'}.")


def _forward(app: "WebApp", stack: str, folder: Path | None, url: str, browser: bool) -> None:
    from automation.engine import find_engine
    from automation.errors import EksaiError, OutputMissing
    from automation.port_forward import forwarded
    from automation.stacks import open_aws

    with open_aws(find_project(folder), stack, find_engine()) as opened:
        kubeconfig = opened.outputs(reveal=True).get("kubeconfig")
    if kubeconfig is None:
        raise OutputMissing(f"{stack} exports no kubeconfig, so it is not up. Bring it up first: eksai up {stack}.")
    screen = console(stderr=True)
    screen.print(f"Reaching {app.service} in {app.namespace} ...", style="dim")
    try:
        with forwarded(
            str(kubeconfig), namespace=app.namespace, service=app.service, port=app.port, local_port=app.local_port
        ) as run:
            _show(url, browser)
            screen.print("Forwarded until Ctrl-C.", style="dim")
            code = run.wait()
    except KeyboardInterrupt:
        return
    raise EksaiError(f"The connection to {app.service} ended (kubectl, exit code {code}). Open it again.")


def _show(url: str, browser: bool) -> None:
    import webbrowser

    from automation.port_forward import no_browser_here

    typer.echo(url)
    if browser and not no_browser_here():
        webbrowser.open(url)
