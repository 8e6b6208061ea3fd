"""Processes that a killed run leaves behind: an engine that nobody waits for, and plug-ins that no engine uses.

A process belongs to a stack's local cloud when it carries that cloud's `PULUMI_HOME` in its environment. A person's
shell may carry it too, and what was started from there, so only the engine's own programs are ever ended.
"""

import os
import signal
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import psutil

RUN = "EKSAI_RUN"
"""The variable that tells an engine, and all that it starts, the id of the process that waits for it."""

_HOME = "PULUMI_HOME"
_PLUGINS = ("pulumi-language-", "pulumi-resource-", "pulumi-analyzer-", "language_host.py")
_POLICY_PACK = ("-m", "pulumi.policy")

_PATIENCE_S = 60.0
"""How long an engine may take for the operations in flight once it is interrupted."""
_KILLED_S = 10.0


@dataclass(frozen=True)
class Process:
    """A process that carries the home of a stack's local cloud.

    Attributes:
        pid: its id.
        ancestors: the ids of its parent, of that one's parent, and so on.
        command: its program and arguments.
        run: the id of the process that waits for its engine; None when that is not `eksai`.
    """

    pid: int
    ancestors: tuple[int, ...]
    command: tuple[str, ...]
    run: int | None

    @property
    def is_engine(self) -> bool:
        """Whether it is a Pulumi engine."""
        return bool(self.command) and Path(self.command[0]).name == "pulumi"

    @property
    def is_plugin(self) -> bool:
        """Whether it is a language host, a provider, or a policy pack."""
        # Of a script, the interpreter comes first, perhaps with an option.
        names = (Path(word).name for word in self.command[:3])
        pairs = zip(self.command, self.command[1:], strict=False)
        return any(name.startswith(_PLUGINS) for name in names) or _POLICY_PACK in pairs


def abandoned_engines(processes: Iterable[Process]) -> list[Process]:
    """The engines that `eksai` started and nobody waits for any more; one that a person started is nobody's orphan."""
    return [one for one in processes if one.is_engine and one.run is not None and one.ancestors[:1] != (one.run,)]


def abandoned_plugins(processes: Iterable[Process]) -> list[Process]:
    """The plug-ins that no living engine has started."""
    processes = list(processes)
    engines = {one.pid for one in processes if one.is_engine}
    return [one for one in processes if one.is_plugin and not one.is_engine and engines.isdisjoint(one.ancestors)]


def processes_of(home: Path) -> list[Process]:
    """What runs with that `PULUMI_HOME`, as far as this user may see it."""
    seen = (_seen(process, str(home)) for process in psutil.process_iter())
    return [process for process in seen if process is not None]


def end_orphans(home: Path) -> int:
    """Ends what killed runs have left with that `PULUMI_HOME`; returns how many processes.

    An engine is interrupted, so that it records the operations in flight, and killed when it does not end.
    """
    engines = _handles(abandoned_engines(processes_of(home)))
    for engine in engines:
        _tell(engine, signal.SIGINT)
    _, stubborn = psutil.wait_procs(engines, timeout=_PATIENCE_S)
    plugins = _handles(abandoned_plugins(processes_of(home)))
    for process in (*stubborn, *plugins):
        _tell(process, signal.SIGKILL)
    psutil.wait_procs([*stubborn, *plugins], timeout=_KILLED_S)
    return len(engines) + len(plugins)


def works_on(pid: int, home: Path) -> bool:
    """Whether a process lives that may hold a lock on the stack of that `PULUMI_HOME`.

    Ids are used again, so one that is neither an engine nor carries the home is somebody else.
    """
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return False
        return process.name().startswith("pulumi") or process.environ().get(_HOME) == str(home)
    except psutil.NoSuchProcess:
        return False
    except psutil.AccessDenied:
        return True


def _seen(process: psutil.Process, home: str) -> Process | None:
    try:
        environment = process.environ()
        if environment.get(_HOME) != home:
            return None
        ancestors = tuple(parent.pid for parent in process.parents())
        run = environment.get(RUN, "")
        return Process(process.pid, ancestors, tuple(process.cmdline()), int(run) if run.isdigit() else None)
    except (psutil.NoSuchProcess, psutil.AccessDenied, OSError):
        # It has just ended, or is another user's.
        return None


def _handles(processes: Iterable[Process]) -> list[psutil.Process]:
    found: list[psutil.Process] = []
    for process in processes:
        # Never ourselves, whatever the environment says.
        if process.pid == os.getpid():
            continue
        try:
            found.append(psutil.Process(process.pid))
        except psutil.NoSuchProcess:
            continue
    return found


def _tell(process: psutil.Process, number: signal.Signals) -> None:
    try:
        process.send_signal(number)
    except psutil.NoSuchProcess:
        return
