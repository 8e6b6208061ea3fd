"""Builds one program into the cache: one build at a time, all or nothing, telling how far it is."""

import fcntl
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tools.engine.errors import BuildError
from tools.engine.go import Go, find_go, spell
from tools.engine.host import install_language_host
from tools.engine.programs import Program, cache_folder, installed, installed_folder

GIGABYTE = 10**9
LAST_LINES = 15
"""How much of the compiler's output an error shows."""
INTERRUPT_SECONDS = 10
"""How long Go may take to clean up after an interrupt before it is ended the hard way."""


@dataclass(frozen=True)
class Progress:
    """How far a build is: `done` of `total` packages (0 while unknown), and what is being worked on."""

    done: int
    total: int
    doing: str


Report = Callable[[Progress], None]


def build(program: Program, report: Report, cache: Path | None = None) -> Path:
    """The program's binary, built first unless it is there already.

    Nothing appears in the cache before the build is complete: an interrupt (which is raised again after Go has been
    ended) or a failure leaves it as it was. Raises `BuildError`, whose text says what to do.
    """
    cache = cache or cache_folder()
    ready = _ready(program, cache)
    if ready is not None:
        return ready
    go = find_go(program)
    cache.mkdir(parents=True, exist_ok=True)
    with _only_one(program, cache, report):
        # Another process may have built it while this one waited.
        ready = _ready(program, cache)
        if ready is None:
            _check_disk(program, cache, go)
            _build_into(cache, program, go, report)
    return ready or installed_folder(program, cache) / "bin" / program.name


def _ready(program: Program, cache: Path) -> Path | None:
    binary = installed(program, cache)
    if binary is not None and program.hosts_python:
        # The host is ours and changes with the checkout, the engine beside it does not.
        install_language_host(binary.parent)
    return binary


def _build_into(cache: Path, program: Program, go: Go, report: Report) -> None:
    unfinished = cache / f".{program.name}-{program.version}.unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)
    (unfinished / "bin").mkdir(parents=True)
    scratch = unfinished / "scratch"
    scratch.mkdir()
    environment = {**os.environ, "GOWORK": "off", "GOTMPDIR": str(scratch)}
    if go.version < program.go_version():
        report(Progress(0, 0, f"fetching Go {spell(program.go_version())} (this one is {spell(go.version)})"))
    try:
        total = _count_packages(program, go, environment, report)
        _compile(program, go, environment, unfinished / "bin" / program.name, total, report)
        if program.hosts_python:
            install_language_host(unfinished / "bin")
        shutil.rmtree(scratch)
        final = installed_folder(program, cache)
        shutil.rmtree(final, ignore_errors=True)
        unfinished.rename(final)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _count_packages(program: Program, go: Go, environment: dict[str, str], report: Report) -> int:
    """How many packages the program consists of; downloads the modules on the way."""

    def on_line(line: str) -> None:
        if line.startswith("go: downloading "):
            report(Progress(0, 0, line.removeprefix("go: ")))

    report(Progress(0, 0, "resolving modules"))
    arguments = [go.command, "list", "-deps", program.package]
    return len(_run(arguments, program, environment, on_line).splitlines())


def _compile(program: Program, go: Go, environment: dict[str, str], binary: Path, total: int, report: Report) -> None:
    done = 0

    def on_line(line: str) -> None:
        nonlocal done
        # With -v Go prints the path of each package that it compiles, and nothing for those in its cache.
        if " " not in line and not line.startswith("#"):
            done += 1
            report(Progress(done, total, "linking" if line == program.package else line))

    report(Progress(0, total, "compiling"))
    # -trimpath and -buildvcs=false: the same binary whatever folder or repository it is built in.
    flags = ["-v", "-trimpath", "-buildvcs=false", "-ldflags", program.linker_flags, "-o", str(binary)]
    _run([go.command, "build", *flags, program.package], program, environment, on_line)


def _run(arguments: list[str], program: Program, environment: dict[str, str], on_line: Callable[[str], None]) -> str:
    """Runs Go in the program's module and returns its standard output; `on_line` gets each line it writes beside it."""
    tail: list[str] = []
    output: list[str] = []
    with subprocess.Popen(
        arguments,
        cwd=program.module,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        reader = threading.Thread(target=lambda pipe: output.append(pipe.read()), args=(process.stdout,), daemon=True)
        reader.start()
        try:
            for line in process.stderr:
                tail = [*tail, line.rstrip()][-LAST_LINES:]
                on_line(line.rstrip())
            code = process.wait()
        except BaseException:
            _end(process)
            raise
        finally:
            reader.join()
    if code != 0:
        raise BuildError(_explain(program, tail))
    return "".join(output)


def _end(process: subprocess.Popen[str]) -> None:
    """Ends Go and its compilers, which share a process group of their own."""
    for number in (signal.SIGINT, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(INTERRUPT_SECONDS)
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue
        return


def _explain(program: Program, tail: list[str]) -> str:
    text = "\n".join(tail)
    if "no space left on device" in text:
        advice = f"The disk is full. {_disk_advice(program)}"
    elif any(sign in text for sign in ("dial tcp", "no such host", "Forbidden", "proxyconnect", "i/o timeout")):
        advice = "Go could not download a module. Check the network, or point GOPROXY at a module proxy it can reach."
    else:
        advice = "What was downloaded and compiled so far is kept; running the same command again continues there."
    return f"{program.name} {program.version} could not be built:\n{text}\n{advice}"


def _check_disk(program: Program, cache: Path, go: Go) -> None:
    for folder in (Path(go.build_cache), Path(go.module_cache), cache):
        existing = next(parent for parent in (folder, *folder.parents) if parent.exists())
        free = shutil.disk_usage(existing).free
        if free < program.disk_gb * GIGABYTE:
            raise BuildError(
                f"{free / GIGABYTE:.1f} GB are free at {existing}, and building {program.name} {program.version} "
                f"takes up to {program.disk_gb} GB.\n{_disk_advice(program)}"
            )


def _disk_advice(program: Program) -> str:
    return (
        f"Free {program.disk_gb} GB, or point GOCACHE, GOMODCACHE and EKSAI_CACHE at a larger disk "
        "(`go clean -cache -modcache` empties Go's own caches)."
    )


@contextmanager
def _only_one(program: Program, cache: Path, report: Report) -> Generator[None]:
    """Holds the program's build lock, which the system releases when its holder ends, however it ends."""
    with (cache / f".{program.name}-{program.version}.lock").open("a") as lock:
        _wait_for(lock, report)
        yield


def _wait_for(lock: IO[str], report: Report) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        report(Progress(0, 0, "waiting for another build of it to finish"))
        fcntl.flock(lock, fcntl.LOCK_EX)
