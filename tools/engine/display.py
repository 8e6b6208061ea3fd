"""Shows how far a build is: one line that moves on a terminal, a plain line now and then elsewhere."""

import time
from collections.abc import Generator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar
from rich.table import Column

from tools.engine.build import Progress, Report
from tools.engine.programs import Program

PLAIN_SECONDS = 15.0
"""At most one plain line in this time: a CI log wants signs of life, not 1500 package names."""


@contextmanager
def building(program: Program, console: Console) -> Generator[Report]:
    """A reporter for `build`; says when the program is ready, and nothing more than was shown when it fails."""
    title = f"{program.name} {program.version}"
    started = time.monotonic()
    reported = False
    with _moving(title, console) if console.is_terminal else _plain(title, console) as show:

        def report(progress: Progress) -> None:
            nonlocal reported
            if not reported:
                reported = True
                console.print(
                    f"Building [bold]{title}[/bold] from Go modules, once on this machine; "
                    f"takes about {program.minutes} minutes."
                )
            show(progress)

        yield report
    if reported:
        console.print(f"[green]Built[/green] {title} in {_clock(time.monotonic() - started)}.")


@contextmanager
def _moving(title: str, console: Console) -> Generator[Report]:
    columns = (
        TimeElapsedColumn(),
        BarColumn(bar_width=16),
        TextColumn("{task.fields[count]}"),
        TextColumn("{task.fields[doing]}", style="dim", table_column=Column(ratio=1, no_wrap=True)),
    )
    with Bar(*columns, console=console, transient=True, expand=True) as bar:
        task = bar.add_task(title, total=None, count="", doing="")

        def show(progress: Progress) -> None:
            bar.update(
                task,
                completed=progress.done,
                total=progress.total or None,
                count=_count(progress),
                doing=progress.doing,
            )

        yield show


@contextmanager
def _plain(title: str, console: Console) -> Generator[Report]:
    started = time.monotonic()
    last = started - PLAIN_SECONDS

    def show(progress: Progress) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= PLAIN_SECONDS or progress.doing == "linking":
            last = now
            parts = (f"{title}:", _clock(now - started), _count(progress), progress.doing)
            console.print(" ".join(part for part in parts if part), markup=False, highlight=False, soft_wrap=True)

    yield show


def _count(progress: Progress) -> str:
    return f"{progress.done}/{progress.total}" if progress.done else ""


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
