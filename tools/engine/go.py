"""The Go toolchain on this machine: whether there is one, and whether it can compile what we ask of it."""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass

from tools.engine.errors import BuildError
from tools.engine.programs import Program

FLOOR = (1, 25)
"""The oldest Go that is asked at all. A newer one that go.mod demands is fetched by Go itself, unless it may not."""

INSTALL = (
    "Either install Go {floor} or newer (https://go.dev/dl, or your package manager),\n"
    "or install Pulumi itself (https://www.pulumi.com/docs/install): a `pulumi` on PATH is used as it is."
)


@dataclass(frozen=True)
class Go:
    """A usable Go: its `command`, its `version`, and the folders of its compile cache and downloads."""

    command: str
    version: tuple[int, ...]
    fetches_newer: bool
    build_cache: str
    module_cache: str


def parse_version(text: str) -> tuple[int, ...]:
    """`go1.26.6`, `go1.27rc1` or `go1.26.6 X:nocoverageredesign` as numbers; () when it is none of them."""
    match = re.match(r"go(\d+(?:\.\d+)*)", text)
    return tuple(int(part) for part in match.group(1).split(".")) if match else ()


def spell(version: tuple[int, ...]) -> str:
    """A version as people write it."""
    return ".".join(str(part) for part in version)


def find_go(program: Program) -> Go:
    """The Go on PATH, if it can build `program`.

    Raises `BuildError` when there is none, when it is older than `FLOOR`, or when it is older than the program's
    go.mod demands and has been told (GOTOOLCHAIN) not to fetch a newer one.
    """
    command = shutil.which("go")
    needed = program.go_version()
    if command is None:
        raise BuildError(
            f"No `go` command was found, and {program.name} {program.version} is built with Go.\n"
            + INSTALL.format(floor=spell(needed))
        )
    # GOTOOLCHAIN=local: ask the Go that is installed, not one that it would download to answer.
    version, build_cache, module_cache = _settings(command, "GOVERSION", "GOCACHE", "GOMODCACHE", local=True)
    (policy,) = _settings(command, "GOTOOLCHAIN", local=False)
    go = Go(command, parse_version(version), policy != "local", build_cache, module_cache)
    _refuse_too_old(go, program, needed)
    return go


def _refuse_too_old(go: Go, program: Program, needed: tuple[int, ...]) -> None:
    if go.version < FLOOR or (go.version < needed and not go.fetches_newer):
        reason = (
            f"{program.name} {program.version} needs Go {spell(needed)}"
            if go.version < FLOOR
            else f"{program.name} {program.version} needs Go {spell(needed)}, and GOTOOLCHAIN=local forbids "
            "this Go to fetch it (`go env -w GOTOOLCHAIN=auto` allows it)"
        )
        raise BuildError(
            f"Go {spell(go.version) or 'of an unknown version'} ({go.command}) is too old: {reason}.\n"
            + INSTALL.format(floor=spell(needed))
        )


def _settings(command: str, *names: str, local: bool) -> list[str]:
    environment = {**os.environ, "GOTOOLCHAIN": "local"} if local else dict(os.environ)
    answer = subprocess.run(
        [command, "env", *names], env=environment, cwd="/", capture_output=True, text=True, check=False
    )
    if answer.returncode != 0:
        raise BuildError(f"`{command} env` failed, so this Go cannot be used:\n{answer.stderr.strip()}")
    return answer.stdout.splitlines()
