"""A Kubernetes control plane on loopback: store, API server, controller manager, scheduler, and KWOK for kubelets."""

import json
import shutil
import signal
import socket
import ssl
import subprocess
import time
import urllib.request
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from lightkube import Client, KubeConfig

from localcloud.cluster.credentials import CONTROLLERS, Credentials
from localcloud.cluster.half_made_crds import finish
from localcloud.errors import ControlPlaneFailed

SERVICE_RANGE = "10.100.0.0/16"
"""Addresses of Services: what EKS takes when a cluster names none."""

_READY_S, _STOP_S, _PORT_S, _POLL_S = 90.0, 20.0, 5.0, 0.1
_PORTS = ("apiserver", "etcd", "peer", "manager", "scheduler", "kwok")


@dataclass(frozen=True)
class _Part:
    """A part of the control plane: its name in the `kube` program, its flags, and whether it is ready."""

    name: str
    flags: dict[str, str]
    is_ready: Callable[[], bool]


class ControlPlane:
    """The control plane of one cluster.

    Its address, certificates and tokens stay the same for as long as the folder exists: the engine's state refers to
    them.

    Args:
        folder: holds data, credentials and logs.
        kube: the program that all parts are in.
    """

    def __init__(self, folder: Path, kube: Path) -> None:
        self._folder = folder
        self._kube = kube
        self._credentials = Credentials(folder / "credentials")
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    @cached_property
    def _ports(self) -> dict[str, int]:
        kept = self._folder / "ports.json"
        if kept.exists():
            return json.loads(kept.read_text())
        self._folder.mkdir(parents=True, exist_ok=True)
        ports: dict[str, int] = dict(zip(_PORTS, _free_ports(len(_PORTS)), strict=True))
        kept.write_text(json.dumps(ports))
        return ports

    @property
    def endpoint(self) -> str:
        """Address of the API server."""
        return f"https://127.0.0.1:{self._ports['apiserver']}"

    @property
    def certificate_authority(self) -> str:
        """The certificate that the API server's one is signed with, as a kubeconfig holds it: base64 of PEM."""
        self._credentials.ensure()
        return b64encode(self._credentials.authority.read_bytes()).decode()

    def client(self) -> Client:
        """A client with all rights, for what belongs to the cloud itself."""
        path = self._credentials.kubeconfig(CONTROLLERS, self.endpoint)
        # No proxy of the environment stands between two processes of this machine.
        return Client(KubeConfig.from_file(path), field_manager="eksai-local-cloud", trust_env=False)

    def write_aws(self, folder: Path) -> Path:
        """Writes an `aws` into a folder that answers what a kubeconfig and the engine ask of it, and nothing else."""
        self._credentials.ensure()
        folder.mkdir(parents=True, exist_ok=True)
        command = folder / "aws"
        command.write_text(_AWS.format(credential=self._credentials.exec_credential()))
        command.chmod(0o755)
        return command

    def start(self) -> None:
        """Starts all parts and waits until they serve; does nothing while they run.

        Raises:
            ControlPlaneFailed: a part does not start; none is left running.
        """
        if self.is_running():
            return
        self.stop()
        self._credentials.ensure()
        self._await_port()
        try:
            for part in self._parts():
                self._launch(part)
            with self.client() as client:
                finish(client)
        except BaseException:
            self.stop()
            raise

    def is_running(self) -> bool:
        """Whether every part lives."""
        return bool(self._running) and all(process.poll() is None for process in self._running.values())

    def stop(self) -> None:
        """Ends all parts, the last started first: without its store the API server would not end for minutes."""
        while self._running:
            _, process = self._running.popitem()
            _end(process)

    def wipe(self) -> None:
        """Ends all parts and forgets every object; address and credentials stay."""
        self.stop()
        shutil.rmtree(self._folder / "data", ignore_errors=True)

    def _await_port(self) -> None:
        """Waits for the API server's port: parts whose starter was killed take a moment to notice."""
        port = self._ports["apiserver"]
        deadline = time.monotonic() + _PORT_S
        while _is_listening(port):
            if time.monotonic() > deadline:
                raise ControlPlaneFailed(
                    f"127.0.0.1:{port}, the kept address of the local API server, is in use by another process. "
                    "End that process; or forget the local cloud and its address: eksai local reset --kubernetes"
                )
            time.sleep(_POLL_S)

    def _launch(self, part: _Part) -> None:
        logs = self._folder / "logs"
        logs.mkdir(parents=True, exist_ok=True)
        log = logs / f"{part.name}.log"
        flags = [f"--{name}={value}" for name, value in part.flags.items()]
        with log.open("wb") as output:
            process = subprocess.Popen(
                [self._kube, part.name, *flags],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=self._folder,
                start_new_session=True,
            )
        self._running[part.name] = process
        deadline = time.monotonic() + _READY_S
        while not part.is_ready():
            if process.poll() is not None or time.monotonic() > deadline:
                ended = process.poll() is not None
                how = f"ended with {process.returncode}" if ended else f"was not ready after {_READY_S:.0f} s"
                raise ControlPlaneFailed(f"the local Kubernetes did not start: {part.name} {how}:\n{_tail(log)}")
            time.sleep(_POLL_S)

    def _parts(self) -> list[_Part]:
        files, ports = self._credentials, self._ports
        data = self._folder / "data"
        data.mkdir(parents=True, exist_ok=True, mode=0o700)
        store, peer = f"https://127.0.0.1:{ports['etcd']}", f"https://127.0.0.1:{ports['peer']}"
        return [
            _Part(
                "etcd",
                {
                    "data-dir": str(data),
                    "listen-client-urls": store,
                    "advertise-client-urls": store,
                    "listen-peer-urls": peer,
                    "initial-advertise-peer-urls": peer,
                    "initial-cluster": f"default={peer}",
                    "client-cert-auth": "true",
                    "trusted-ca-file": str(files.authority),
                    "cert-file": str(files.certificate),
                    "key-file": str(files.key),
                    "peer-client-cert-auth": "true",
                    "peer-trusted-ca-file": str(files.authority),
                    "peer-cert-file": str(files.certificate),
                    "peer-key-file": str(files.key),
                    # What is lost with the machine is simulated anyway.
                    "unsafe-no-fsync": "true",
                    "logger": "zap",
                    "log-level": "warn",
                },
                lambda: _is_listening(ports["etcd"]),
            ),
            _Part(
                "apiserver",
                {
                    "etcd-servers": store,
                    "etcd-cafile": str(files.authority),
                    "etcd-certfile": str(files.certificate),
                    "etcd-keyfile": str(files.key),
                    "bind-address": "127.0.0.1",
                    "secure-port": str(ports["apiserver"]),
                    "tls-cert-file": str(files.certificate),
                    "tls-private-key-file": str(files.key),
                    "token-auth-file": str(files.tokens),
                    "anonymous-auth": "false",
                    "authorization-mode": "RBAC",
                    "service-account-key-file": str(files.signing_key),
                    "service-account-signing-key-file": str(files.signing_key),
                    "service-account-issuer": "https://kubernetes.default.svc",
                    "service-cluster-ip-range": SERVICE_RANGE,
                    # As on EKS.
                    "enable-admission-plugins": "ExtendedResourceToleration,PodSecurity",
                    "allow-privileged": "true",
                    # Nobody reaches the API server by its Service, and a loopback address may not stand for one.
                    "endpoint-reconciler-type": "none",
                },
                lambda: self._answers(ports["apiserver"], "/readyz"),
            ),
            _Part(
                "controller-manager",
                {
                    **self._as_user("system:kube-controller-manager", ports["manager"]),
                    "service-account-private-key-file": str(files.signing_key),
                    "root-ca-file": str(files.authority),
                    # Each controller with its own rights: the manager's user alone may not even change a node.
                    "use-service-account-credentials": "true",
                },
                lambda: self._answers(ports["manager"], "/healthz"),
            ),
            _Part(
                "scheduler",
                self._as_user("system:kube-scheduler", ports["scheduler"]),
                lambda: self._answers(ports["scheduler"], "/readyz"),
            ),
            _Part(
                "kwok",
                {
                    "kubeconfig": str(files.kubeconfig("kwok", self.endpoint)),
                    "config": str(self._written_stages()),
                    "manage-all-nodes": "true",
                    "node-lease-duration-seconds": "40",
                    "server-address": f"127.0.0.1:{ports['kwok']}",
                },
                lambda: _is_listening(ports["kwok"]),
            ),
        ]

    def _as_user(self, user: str, port: int) -> dict[str, str]:
        """Flags of a part that is a client of the API server and tells its health on a port."""
        kubeconfig = str(self._credentials.kubeconfig(user, self.endpoint))
        return {
            "kubeconfig": kubeconfig,
            "authentication-kubeconfig": kubeconfig,
            "authorization-kubeconfig": kubeconfig,
            "leader-elect": "false",
            "bind-address": "127.0.0.1",
            "secure-port": str(port),
            "tls-cert-file": str(self._credentials.certificate),
            "tls-private-key-file": str(self._credentials.key),
        }

    def _written_stages(self) -> Path:
        path = self._folder / "stages.yaml"
        path.write_bytes(subprocess.run([self._kube, "stages"], check=True, stdout=subprocess.PIPE).stdout)
        return path

    def _answers(self, port: int, path: str) -> bool:
        request = urllib.request.Request(f"https://127.0.0.1:{port}{path}")
        request.add_header("Authorization", f"Bearer {self._credentials.token(CONTROLLERS)}")
        trusted = ssl.create_default_context(cafile=str(self._credentials.authority))
        direct = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=trusted)
        )
        try:
            with direct.open(request, timeout=2) as answer:
                return answer.status == 200
        except OSError:
            return False


# The AWS CLI's part in a kubeconfig, and its version, which the engine's eks provider asks for.
_AWS = """\
#!/bin/sh
# Stands in for the AWS CLI where a kubeconfig of the local cloud asks it for a token.
case " $* " in
*" --version "*) echo "aws-cli/2.0.0 (the local cloud of eksai)" ;;
*" eks get-token "*) cat "{credential}" ;;
*) echo "This aws belongs to the local cloud; it only knows: aws eks get-token" >&2; exit 252 ;;
esac
"""


def _free_ports(count: int) -> list[int]:
    taken = [socket.socket() for _ in range(count)]
    try:
        for one in taken:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in taken]
    finally:
        for one in taken:
            one.close()


def _is_listening(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _end(process: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is None:
            process.send_signal(number)
        try:
            process.wait(_STOP_S)
            return
        except subprocess.TimeoutExpired:
            continue


def _tail(file: Path, lines: int = 15) -> str:
    return "\n".join(file.read_text(errors="replace").splitlines()[-lines:])
