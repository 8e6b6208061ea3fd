"""The programs that can be built, and where each one lives once it is built."""

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

MODULES = Path(__file__).parent
"""One folder per program, holding the go.mod and go.sum that fix every version it is built from, and its main package
where the published one does not do."""


@dataclass(frozen=True)
class Program:
    """One Go program and how to build it.

    `package` is the import path of its main package, `linker_flags` go to `go build -ldflags`, `disk_gb` is the
    free space that a first build takes (module downloads and compile cache) and `minutes` how long it lasts, both
    measured on a 2-core Linux machine. A program that `hosts_python` gets the Python language host beside it.
    """

    name: str
    version: str
    package: str
    linker_flags: str
    disk_gb: int
    minutes: int
    hosts_python: bool = False

    @property
    def module(self) -> Path:
        """The folder of the Go module to build from."""
        return MODULES / self.name

    def digest(self) -> str:
        """Eight hex digits that change with whatever the program is built from."""
        sources = [*sorted(self.module.glob("*.go")), self.module / "go.mod", self.module / "go.sum"]
        parts = [self.package.encode(), self.linker_flags.encode(), *(source.read_bytes() for source in sources)]
        return hashlib.sha256(b"\0".join(parts)).hexdigest()[:8]

    def go_version(self) -> tuple[int, ...]:
        """The oldest Go that can compile this program, as its go.mod states it."""
        text = (self.module / "go.mod").read_text()
        match = re.search(r"^go (\d+(?:\.\d+)*)$", text, re.MULTILINE)
        if match is None:
            raise ValueError(f"{self.module / 'go.mod'} has no 'go' line")
        return tuple(int(part) for part in match.group(1).split("."))


PROGRAMS: Mapping[str, Program] = {
    "pulumi": Program(
        name="pulumi",
        version="3.274.1",
        package="github.com/pulumi/pulumi/pkg/v3/cmd/pulumi",
        # Without the -X the program reports no version, and the Automation API refuses it.
        linker_flags="-s -w -X github.com/pulumi/pulumi/sdk/v3/go/common/version.Version=v3.274.1",
        disk_gb=4,
        minutes=6,
        hosts_python=True,
    ),
    "pulumi-resource-kubernetes": Program(
        name="pulumi-resource-kubernetes",
        # Of the SDK that the program is written against: an engine looks for a plug-in of this version or newer.
        version="4.34.2",
        package="eksai.dev/tools/engine/pulumi-resource-kubernetes",
        linker_flags="-s -w -X main.version=4.34.2",
        disk_gb=6,
        minutes=10,
    ),
    "kube": Program(
        name="kube",
        version="1.35.4",
        package="eksai.dev/tools/engine/kube",
        # Helm and the provider read the server's version, which the linker alone knows.
        linker_flags="-s -w "
        "-X k8s.io/component-base/version.gitVersion=v1.35.4 "
        "-X k8s.io/component-base/version.gitMajor=1 "
        "-X k8s.io/component-base/version.gitMinor=35",
        disk_gb=6,
        minutes=9,
    ),
}

OF_KUBERNETES = ("pulumi-resource-kubernetes", "kube")
"""The programs that a local cloud with a real Kubernetes needs beside the engine."""


def cache_folder(environment: Mapping[str, str] | None = None) -> Path:
    """Where built programs are kept: `$EKSAI_CACHE/engine`, by default `~/.cache/eksai/engine`."""
    given = (os.environ if environment is None else environment).get("EKSAI_CACHE")
    return (Path(given).expanduser() if given else Path.home() / ".cache" / "eksai") / "engine"


def installed_folder(program: Program, cache: Path) -> Path:
    """The folder that holds `bin/<name>` after a build; it exists only when a build has succeeded."""
    return cache / f"{program.name}-{program.version}-{program.digest()}"


def installed(program: Program, cache: Path) -> Path | None:
    """The built program, or None when it was never built on this machine."""
    binary = installed_folder(program, cache) / "bin" / program.name
    return binary if binary.is_file() and os.access(binary, os.X_OK) else None
