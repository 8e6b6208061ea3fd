"""The Pulumi engine on this machine: the one on PATH, else the one that was built into the cache."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from semver import VersionInfo

from automation.errors import EngineError, EngineMissing, EngineTooOld
from tools.engine.host import install_language_host
from tools.engine.programs import OF_KUBERNETES, PROGRAMS, cache_folder, installed

FLOOR = VersionInfo(3, 272, 0)
"""The oldest engine that is used: the version of the Pulumi SDK that the program is written against."""

INSTALL = (
    "Install Pulumi (https://www.pulumi.com/docs/install), or build the engine here from Go modules:\n"
    "  eksai engine build"
)


@dataclass(frozen=True)
class Engine:
    """A usable `pulumi`; `built_here` tells the one from the cache, which has no provider plug-ins, from a real one."""

    path: Path
    version: VersionInfo
    built_here: bool


def find_engine(environment: Mapping[str, str] | None = None) -> Engine:
    """The engine to use: a `pulumi` on PATH as it is, else the one that was built into the cache.

    `environment` stands in for the process's own.

    Raises `EngineTooOld` when the one on PATH is older than `FLOOR`, and `EngineMissing` when there is none at all:
    building takes minutes, so it is not done unasked.
    """
    given = os.environ if environment is None else environment
    program = PROGRAMS["pulumi"]
    cached = installed(program, cache_folder(given))
    on_path = shutil.which("pulumi", path=given.get("PATH", ""))
    if on_path and (cached is None or not Path(on_path).samefile(cached)):
        engine = Engine(Path(on_path), _version(on_path), built_here=False)
        if engine.version < FLOOR:
            raise EngineTooOld(
                f"{on_path} is Pulumi {engine.version}; the program needs {FLOOR} or newer.\n"
                "Update it (https://www.pulumi.com/docs/install), or take it off PATH and run: eksai engine build"
            )
        return engine
    if cached is None:
        raise EngineMissing(f"No `pulumi` on PATH, and none was built on this machine.\n{INSTALL}")
    # The host is ours and changes with the checkout; the engine that was built once does not.
    install_language_host(cached.parent)
    return Engine(cached, VersionInfo.parse(program.version), built_here=True)


@dataclass(frozen=True)
class KubernetesPrograms:
    """What a real Kubernetes on this machine needs: `kube`, all its parts in one program, and Pulumi's `provider`."""

    kube: Path
    provider: Path


def find_kubernetes(environment: Mapping[str, str] | None = None) -> KubernetesPrograms:
    """The programs of a real Kubernetes, which must have been built into the cache.

    `environment` stands in for the process's own.

    Raises `EngineMissing` when one was not built: it takes minutes, so it is not done unasked.
    """
    cache = cache_folder(os.environ if environment is None else environment)
    found = {name: installed(PROGRAMS[name], cache) for name in OF_KUBERNETES}
    kube, provider = found["kube"], found["pulumi-resource-kubernetes"]
    if kube is None or provider is None:
        missing = ", ".join(f"{name} {PROGRAMS[name].version}" for name, path in found.items() if path is None)
        minutes = sum(PROGRAMS[name].minutes for name, path in found.items() if path is None)
        raise EngineMissing(
            f"A real Kubernetes needs programs that were not built on this machine: {missing}.\n"
            f"Build them from Go modules, once, in about {minutes} minutes:\n"
            "  eksai engine build --kubernetes"
        )
    return KubernetesPrograms(kube, provider)


def _version(command: str) -> VersionInfo:
    quiet = {**os.environ, "PULUMI_SKIP_UPDATE_CHECK": "true"}
    try:
        answer = subprocess.run([command, "version"], env=quiet, capture_output=True, text=True, timeout=60, check=True)
        return VersionInfo.parse(answer.stdout.strip().removeprefix("v"))
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise EngineError(f"`{command} version` gives no version, so this engine cannot be used: {error}") from error
