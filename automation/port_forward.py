"""A Service of a stack's cluster on a port of this machine, by `kubectl port-forward`."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from automation.errors import EksaiError

PATIENCE_S = 60
"""Seconds that the port may take to answer: a token is fetched, and the API server asked."""
_PAUSE_S = 0.1


@contextmanager
def forwarded(
    kubeconfig: str, *, namespace: str, service: str, port: int, local_port: int, patience_s: float = PATIENCE_S
) -> Generator["subprocess.Popen[str]"]:
    """Forwards a port of this machine, on loopback only, to a Service within the block.

    Args:
        kubeconfig: its text, as the stack exports it.
        namespace: the Service's namespace.
        service: the Service's name.
        port: the Service's port.
        local_port: the port of this machine.
        patience_s: seconds that it may take until the port answers.

    Raises:
        EksaiError: there is no `kubectl`, the port is taken, or nothing answers; the text ends with what kubectl said.
    """
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        raise EksaiError(
            "There is no `kubectl` on PATH, which forwards the port.\n"
            "Install it (https://kubernetes.io/docs/tasks/tools), of the cluster's minor version or one beside it."
        )
    if _answers(local_port):
        raise EksaiError(
            f"Port {local_port} of this machine is in use, and sign-in knows the application by this port only.\n"
            f"End what listens there: `ss -ltnp 'sport = :{local_port}'` names it."
        )
    with tempfile.TemporaryDirectory(prefix="eksai-") as folder:
        path = Path(folder) / "kubeconfig"
        path.touch(mode=0o600)
        path.write_text(kubeconfig, encoding="utf-8")
        command = [kubectl, "--kubeconfig", str(path), "--namespace", namespace, "port-forward"]
        log = Path(folder) / "log"
        with log.open("w") as said:
            run = subprocess.Popen(
                [*command, "--address", "127.0.0.1", f"service/{service}", f"{local_port}:{port}"],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                text=True,
            )
        try:
            _wait(run, log, local_port, patience_s)
            yield run
        finally:
            run.terminate()
            run.wait()


def _wait(run: "subprocess.Popen[str]", log: Path, port: int, patience_s: float) -> None:
    deadline = time.monotonic() + patience_s
    while not _answers(port):
        if run.poll() is not None or time.monotonic() > deadline:
            what = "kubectl gave up" if run.poll() is not None else f"Nothing answers on port {port}"
            raise EksaiError(f"{what}:\n{log.read_text().strip() or '(it said nothing)'}")
        time.sleep(_PAUSE_S)


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def no_browser_here() -> bool:
    """Whether a browser that is started here would be seen by nobody: no display, or a remote shell."""
    if os.name != "posix" or os.uname().sysname == "Darwin":
        return "SSH_CONNECTION" in os.environ
    return not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
