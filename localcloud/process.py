"""The server as a background process of a folder: start, stop, status."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import localcloud
from localcloud.provider import PACKAGES
from localcloud.server import ACCOUNT, SERVER, is_served

_LOG = "server.log"
_START_S, _STOP_S, _POLL_S = 30.0, 60.0, 0.05
_START_REAL_S = 150.0
"""With a real cluster, whose parts start one after the other."""


class CloudNotStarted(Exception):
    """The server ended, or did not listen in time."""


@dataclass(frozen=True)
class Status:
    """The state of a folder's server.

    Attributes:
        running: whether it runs.
        pid: its process id, None when it does not run.
        port: where it listens on 127.0.0.1, None when it does not run.
        resources: how many resources the account holds, also while no server runs.
    """

    running: bool
    pid: int | None
    port: int | None
    resources: int


class CloudProcess:
    """The server of one folder.

    Args:
        directory: the folder; holds the account, the log, and where the server listens.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def start(self, port: int | None = None, kube: Path | None = None) -> int:
        """Starts the server unless it runs, and returns its port.

        Args:
            port: where to listen; None takes any free port. Without effect on a running server.
            kube: the program that makes the account's cluster a real one; None simulates it. Likewise.

        Raises:
            CloudNotStarted: with the end of its log.
        """
        status = self.status()
        if status.port is not None:
            return status.port
        self.directory.mkdir(parents=True, exist_ok=True)
        # Left behind by one that was killed; it would be taken for the new one's.
        (self.directory / SERVER).unlink(missing_ok=True)
        log = self.directory / _LOG
        command = [sys.executable, "-m", "localcloud", "serve", "--directory", str(self.directory)]
        with log.open("a") as output:
            process = subprocess.Popen(
                [*command, "--port", str(port or 0), *(["--kube", str(kube)] if kube else [])],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                # Found from any folder, installed or not.
                env={**os.environ, "PYTHONPATH": _search_path()},
                # An interrupt of the terminal is for whoever started it, not for the cloud.
                start_new_session=True,
            )
        # A process that nobody waits for stays as a zombie when it ends, however it ends.
        threading.Thread(target=process.wait, daemon=True).start()
        deadline = time.monotonic() + (_START_REAL_S if kube else _START_S)
        while time.monotonic() < deadline:
            status = self.status()
            if status.port is not None:
                return status.port
            if process.poll() is not None:
                break
            time.sleep(_POLL_S)
        process.kill()
        process.wait()
        raise CloudNotStarted(f"the local cloud did not start; the end of {log}:\n{_tail(log)}")

    def stop(self) -> bool:
        """Ends the server; returns whether one ran. What exists stays in the folder."""
        pid = self.status().pid
        if pid is None:
            return False
        for number in (signal.SIGTERM, signal.SIGKILL):
            os.kill(pid, number)
            deadline = time.monotonic() + _STOP_S
            while time.monotonic() < deadline:
                if not is_served(self.directory):
                    return True
                time.sleep(_POLL_S)
        return True

    def status(self) -> Status:
        """Looks at the folder; asks no process."""
        where = _read(self.directory / SERVER) if is_served(self.directory) else {}
        account = _read(self.directory / ACCOUNT)
        return Status(bool(where), where.get("pid"), where.get("port"), len(account.get("resources", [])))


def debug_providers(port: int, *, real_kubernetes: bool = False) -> str:
    """Returns the value of PULUMI_DEBUG_PROVIDERS that leads an engine to the server."""
    served = (package for package in PACKAGES if not (real_kubernetes and package == "kubernetes"))
    return ",".join(f"{package}:{port}" for package in served)


def _read(file: Path) -> dict[str, Any]:
    try:
        return json.loads(file.read_text())
    except FileNotFoundError:
        return {}


def _search_path() -> str:
    root = str(Path(localcloud.__file__).parent.parent)
    return os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])


def _tail(file: Path, lines: int = 20) -> str:
    return "\n".join(file.read_text().splitlines()[-lines:])
