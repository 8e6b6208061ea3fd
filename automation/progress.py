"""Shows a run while it goes on: a few moving lines on a terminal, one plain line per resource elsewhere."""

import os
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from automation.events import (
    Announced,
    Event,
    Failed,
    Finished,
    Message,
    Resource,
    Stage,
    Started,
    Violation,
    short_type,
)
from automation.stacks import OnEvent

SHOWN_AT_ONCE = 6
"""How many running resources are named; the rest are counted, so that the display stays small."""

DOING = {
    "create": "creating",
    "update": "updating",
    "delete": "deleting",
    "replace": "replacing",
    "create-replacement": "replacing",
    "delete-replaced": "deleting old",
    "refresh": "refreshing",
    "read": "reading",
    "import": "importing",
    "same": "checking",
}
DONE = {
    "create": "created",
    "update": "updated",
    "delete": "deleted",
    "replace": "replaced",
    "create-replacement": "replaced",
    "delete-replaced": "old one deleted",
    "refresh": "refreshed",
    "read": "read",
    "import": "imported",
    "same": "unchanged",
}
SIGNS = {"create": "+", "update": "~", "delete": "-", "replace": "±", "read": ">", "import": "=", "same": " "}
COLORS = {"create": "green", "update": "yellow", "delete": "red", "replace": "magenta"}


def clock(seconds: float) -> str:
    """A duration as `1:05`."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


@dataclass
class Board:
    """What is known of a run so far: how many resources, which ones are being worked on and since when."""

    announced: int = 0
    stage: str = "starting the engine"
    seen: set[str] = field(default_factory=set[str])
    done: set[str] = field(default_factory=set[str])
    running: dict[str, tuple[Resource, str, float]] = field(default_factory=dict[str, "tuple[Resource, str, float]"])

    @property
    def total(self) -> int:
        """How many resources take part, as far as is known; it may still grow."""
        return max(self.announced, len(self.seen))

    def add(self, event: Event, now: float) -> None:
        """Takes the next event."""
        match event:
            case Announced(count):
                self.announced += count
            case Stage(text):
                self.stage = text
            case Started(resource, op):
                self.seen.add(resource.urn)
                self.running[resource.urn] = (resource, op, now)
            case Finished(resource, _):
                self.seen.add(resource.urn)
                self.done.add(resource.urn)
                self.running.pop(resource.urn, None)
            case Failed(resource, _):
                self.running.pop(resource.urn, None)
            case _:
                pass


@contextmanager
def watching(console: Console, *, is_preview: bool = False) -> Generator[OnEvent]:
    """A listener for one run of a stack that shows it on `console`.

    On a terminal the display moves in place and is gone at the end, findings and failures stay. Elsewhere, and in CI,
    each finished resource is a line.
    """
    if console.is_terminal and not console.is_dumb_terminal and not os.environ.get("CI"):
        moving = MovingProgress(console)
        with Live(moving, console=console, transient=True, refresh_per_second=8):
            yield moving.listen
    else:
        yield PlainProgress(console, is_preview=is_preview).listen


class MovingProgress:
    """The display on a terminal."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._board = Board()
        self._started = time.monotonic()
        self._spinner = Spinner("dots")
        # Events come from the engine's thread, the display is drawn by another one.
        self._lock = threading.Lock()

    def listen(self, event: Event) -> None:
        """Takes the next event."""
        with self._lock:
            self._board.add(event, time.monotonic())
        note = render_note(event)
        if note is not None:
            self._console.print(note)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        with self._lock:
            running = [entry for entry in self._board.running.values() if not entry[0].is_grouping]
            done, total = len(self._board.done), self._board.total
            stage = self._board.stage
        now = time.monotonic()
        yield self._head(done, total, stage, now)
        if running:
            yield _running_table(running[:SHOWN_AT_ONCE], now)
        if len(running) > SHOWN_AT_ONCE:
            yield Text(f"     and {len(running) - SHOWN_AT_ONCE} more", style="dim")

    def _head(self, done: int, total: int, stage: str, now: float) -> Table:
        head = Table.grid(padding=(0, 1))
        bar = ProgressBar(total=total or None, completed=done, width=32, pulse=not total)
        count = f"{done}/{total} resources" if total else stage
        head.add_row(
            " ", self._spinner.render(self._console.get_time()), bar, count, Text(clock(now - self._started), "dim")
        )
        return head


def _running_table(running: list[tuple[Resource, str, float]], now: float) -> Table:
    table = Table.grid(padding=(0, 1), expand=True)
    table.add_column(width=3)
    table.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
    table.add_column(width=12, style="dim")
    table.add_column(width=5, justify="right", style="dim")
    for resource, op, since in running:
        table.add_row("", _label(resource), DOING.get(op, op), f"{int(now - since)}s" if now - since >= 1 else "")
    return table


class PlainProgress:
    """The display where nothing can move: a file, a pipe, a CI log."""

    def __init__(self, console: Console, *, is_preview: bool) -> None:
        self._console = console
        self._board = Board()
        self._started = time.monotonic()
        self._is_preview = is_preview

    def listen(self, event: Event) -> None:
        """Takes the next event."""
        now = time.monotonic()
        self._board.add(event, now)
        note = render_note(event)
        if note is not None:
            self._console.print(note, soft_wrap=True)
        # A preview's resources are listed at its end; here they would read as if they had been made.
        elif isinstance(event, Finished) and not self._is_preview and _is_news(event):
            count = f"{len(self._board.done)}/{self._board.total}"
            line = f"{clock(now - self._started)} {count:>7} {DONE.get(event.op, event.op)} {event.resource}"
            self._console.print(line, markup=False, highlight=False, soft_wrap=True)


def _is_news(event: Finished) -> bool:
    return event.op != "same" and not event.resource.is_grouping


def render_note(event: Event) -> Text | None:
    """What stays on the screen.

    Advisory findings, warnings and what the program prints are told whole. Of what makes the run fail only the
    beginning is: all of it is said once more when the run has ended, where it does not scroll away.
    """
    match event:
        case Failed(resource, _):
            return _note("✗", "bold red", str(resource), "")
        case Stage(text):
            return Text(f"  {text}", style="dim")
        case Violation(name, "mandatory", _, urn):
            return _note("✗", "bold red", f"{name}: {_where(urn)}", "")
        case Violation(name, _, message, urn):
            return _note("!", "yellow", f"{name}: {_where(urn)}", message)
        case Message("warning", text):
            return _note("!", "yellow", text, "")
        case Message("info", text):
            return Text(f"  {text}", style="dim")
        case _:
            return None


def _where(urn: str) -> str:
    return str(Resource(urn)) if urn else "the stack"


def _note(sign: str, color: str, head: str, body: str) -> Text:
    text = Text.assemble((f"{sign} ", color), head)
    for line in body.splitlines():
        text.append(f"\n    {line}", style="dim")
    return text


def _label(resource: Resource) -> Text:
    return Text.assemble((f"{short_type(resource.type)} ", "cyan"), resource.name)
