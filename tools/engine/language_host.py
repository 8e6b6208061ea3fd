"""A Python language host for the Pulumi engine: what `pulumi-language-python` is in a Pulumi installation.

The engine starts it with its own address as last argument, reads the port from its first line of output and calls it
over gRPC: to run the program, to run policy packs, to be told about the Python in use. It runs under the Python that
`EKSAI_PYTHON` names and needs nothing but the `pulumi` package, so a copy of this file beside the engine is enough.
"""

import importlib.metadata
import os
import re
import runpy
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent import futures
from pathlib import Path
from types import FrameType
from typing import Any

import grpc
from google.protobuf import empty_pb2
from pulumi import RunError
from pulumi.automation._server import LanguageServer
from pulumi.runtime.proto import language_pb2, language_pb2_grpc, plugin_pb2

PARENT_CHECK_SECONDS = 1.0
MAX_MESSAGE_BYTES = 400 * 1024 * 1024
"""The limit that the Pulumi SDKs use for their gRPC channels."""


class PythonHost(LanguageServer):
    """Answers the engine; method names are the protocol's."""

    def __init__(self, engine_address: str) -> None:
        super().__init__(lambda: None)
        self._engine_address = engine_address
        self._packs: list[subprocess.Popen[bytes]] = []

    def GetPluginInfo(self, request: Any, context: Any) -> Any:
        return plugin_pb2.PluginInfo(version=importlib.metadata.version("pulumi"))

    def Run(self, request: Any, context: Any) -> Any:
        folder = request.info.program_directory
        entry = os.path.normpath(os.path.join(folder, request.info.entry_point or "."))
        os.chdir(request.pwd or folder)
        sys.path.insert(0, folder)
        self.program = lambda: _run_program(entry, folder)
        # The base class reads the engine's address from the arguments; without it every log line is lost.
        sys.argv = [entry, *request.args]
        request.args.insert(0, self._engine_address)
        result = super().Run(request, context)
        # The message has been logged; `bail` keeps the engine from printing it a second time.
        result.bail = bool(result.error)
        return result

    def RunPlugin(self, request: Any, context: Any) -> Iterator[Any]:
        """Runs a policy pack (the only kind of plug-in a Python project here has) until the engine hangs up."""
        folder = request.info.program_directory
        pack = subprocess.Popen(
            [sys.executable, "-u", "-m", "pulumi.policy", *request.args, folder],
            cwd=request.pwd or folder,
            env=dict(pair.split("=", 1) for pair in request.env if "=" in pair),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._packs.append(pack)
        context.add_callback(pack.kill)
        assert pack.stdout is not None
        assert pack.stderr is not None
        errors: list[bytes] = []
        # Both pipes must be drained at once, else a talkative pack fills one and stops.
        reader = threading.Thread(target=lambda pipe: errors.extend(pipe), args=(pack.stderr,), daemon=True)
        reader.start()
        for line in pack.stdout:
            yield language_pb2.RunPluginResponse(stdout=line)
        reader.join()
        if errors:
            yield language_pb2.RunPluginResponse(stderr=b"".join(errors))
        yield language_pb2.RunPluginResponse(exitcode=pack.wait())

    def InstallDependencies(self, request: Any, context: Any) -> Iterator[Any]:
        """Installs nothing: one environment serves program and policies, and it is made before the engine runs."""
        note = f"Dependencies are those of {sys.executable}; nothing is installed here.\n"
        yield language_pb2.InstallDependenciesResponse(stdout=note.encode())

    def GetProgramDependencies(self, request: Any, context: Any) -> Any:
        return language_pb2.GetProgramDependenciesResponse(
            dependencies=[
                language_pb2.DependencyInfo(name=name, version=version)
                for name, version in _distributions(transitive=request.transitiveDependencies)
            ]
        )

    def Cancel(self, request: Any, context: Any) -> Any:
        return empty_pb2.Empty()

    def stop_packs(self) -> None:
        """Ends every policy pack that still runs."""
        for pack in self._packs:
            if pack.poll() is None:
                pack.kill()


def _run_program(entry: str, folder: str) -> None:
    """Runs the program; whatever it raises comes out as a `RunError`, whose text alone is shown."""
    try:
        runpy.run_path(entry, run_name="__main__")
    except RunError:
        raise
    except Exception as error:
        raise RunError(describe(error, folder)) from error


def describe(error: Exception, folder: str) -> str:
    """An error of the program, for the person who has to mend it.

    An exception that the program itself defines was written for that person: its text is the whole message. Any other
    one comes with the lines of the program that it went through, without the frames of Python and of packages.
    """
    root = Path(folder).resolve()
    module = sys.modules.get(type(error).__module__)
    if _is_own(getattr(module, "__file__", None), root):
        return str(error)
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if _is_own(frame.filename, root)]
    lines = [f"{type(error).__name__}: {error}"]
    lines += [
        f"  at {Path(frame.filename).resolve().relative_to(root)}:{frame.lineno}  {frame.line}" for frame in frames
    ]
    return "\n".join(lines)


def _is_own(file: str | None, root: Path) -> bool:
    """Whether a source file belongs to the program, rather than to Python, a package or this host."""
    if file is None or file.startswith("<"):
        return False
    path = Path(file).resolve()
    return path.is_relative_to(root) and "site-packages" not in path.parts and path != Path(__file__).resolve()


def _distributions(*, transitive: bool) -> list[tuple[str, str]]:
    """Installed distributions by name and version; without `transitive`, only those that no other one requires."""
    found = {_canonical(d.name): (d.name, d.version) for d in importlib.metadata.distributions() if d.name}
    if not transitive:
        for distribution in importlib.metadata.distributions():
            for requirement in distribution.requires or []:
                found.pop(_canonical(re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0]), None)
    return sorted(found.values())


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def watch_parent(on_death: Callable[[], None], parent: int) -> None:
    """Calls `on_death` once the process `parent` is no longer ours: an engine ended by SIGKILL cannot say good-bye."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(PARENT_CHECK_SECONDS)
        on_death()

    threading.Thread(target=watch, daemon=True).start()


def serve(arguments: list[str]) -> None:
    """Serves until the engine ends. `arguments` are the engine's; the last one without a dash is its address."""
    parent = os.getppid()
    plain = [argument for argument in arguments if not argument.startswith("-")]
    host = PythonHost(plain[-1] if plain else "")

    def leave() -> None:
        host.stop_packs()
        # Not sys.exit: the program may hold threads that wait for an engine that is gone.
        os._exit(0)

    def on_signal(number: int, frame: FrameType | None) -> None:
        leave()

    signal.signal(signal.SIGINT, on_signal)
    signal.signal(signal.SIGTERM, on_signal)
    limits = [("grpc.max_receive_message_length", MAX_MESSAGE_BYTES), ("grpc.max_send_message_length", -1)]
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=16), options=limits)
    language_pb2_grpc.add_LanguageRuntimeServicer_to_server(host, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(port, flush=True)
    watch_parent(leave, parent)
    server.wait_for_termination()


if __name__ == "__main__":
    # Started as a script: its folder is on the search path, where the program's own modules belong.
    sys.path.pop(0)
    serve(sys.argv[1:])
