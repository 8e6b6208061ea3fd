"""The server process: one provider for all packages on a local port, until it is told to end."""

import fcntl
import json
import logging
import os
import signal
import threading
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import grpc
from pulumi.runtime.proto import provider_pb2_grpc

from localcloud.account import Account
from localcloud.provider import Provider

if TYPE_CHECKING:
    from localcloud.cluster.local_cluster import LocalCluster

ACCOUNT, SERVER, LOCK = "account.json", "server.json", "server.lock"
"""Files in the server's folder: what exists, where it listens, and the lock that it holds as long as it lives."""

BIN = "bin"
"""Folder in the server's folder with the programs that an engine needs to reach a real cluster."""

# A component's construction keeps a thread while its children need others.
_THREADS = 64
_GRACE_S = 5
_PATIENCE_S = 1.0

log = logging.getLogger(__name__)


class AlreadyRunning(Exception):
    """Another server uses the folder."""


class PortTaken(Exception):
    """The port that was asked for is in use."""


def serve(directory: Path, port: int = 0, kube: Path | None = None) -> None:
    """Serves until SIGTERM or SIGINT.

    Args:
        directory: folder of the account; made when missing.
        port: where to listen on 127.0.0.1; 0 takes any free port.
        kube: the program that makes the account's cluster a real one; None simulates it.

    Raises:
        AlreadyRunning: another server uses the folder.
        PortTaken: the port is in use.
        ControlPlaneFailed: the account's cluster does not start.
    """
    directory.mkdir(parents=True, exist_ok=True)
    where = directory / SERVER
    # Whoever asks `is_served` holds the lock for an instant.
    with _locked(directory / LOCK, patience_s=_PATIENCE_S):
        # Left behind by one that was killed.
        where.unlink(missing_ok=True)
        # Without so_reuseport=0 two servers could share a port, each getting half of the calls.
        options = [("grpc.so_reuseport", 0), ("grpc.max_receive_message_length", -1)]
        server = grpc.server(ThreadPoolExecutor(_THREADS), options=options)
        account, cluster = _opened(directory, kube)
        provider_pb2_grpc.add_ResourceProviderServicer_to_server(Provider(account, cluster), server)
        try:
            bound = server.add_insecure_port(f"127.0.0.1:{port}")
        except RuntimeError as error:
            raise PortTaken(f"127.0.0.1:{port} is in use: leave the port out, or free it") from error
        ended = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: ended.set())
        try:
            if cluster is not None:
                cluster.open()
            _serve(server, bound, where, ended)
        finally:
            if cluster is not None:
                cluster.close()


def _serve(server: grpc.Server, bound: int, where: Path, ended: threading.Event) -> None:
    server.start()
    draft = where.with_suffix(".tmp")
    draft.write_text(json.dumps({"pid": os.getpid(), "port": bound}))
    os.replace(draft, where)
    log.info("listening on 127.0.0.1:%d", bound)
    ended.wait()
    server.stop(_GRACE_S).wait()
    where.unlink(missing_ok=True)
    log.info("ended")


def _opened(directory: Path, kube: Path | None) -> "tuple[Account, LocalCluster | None]":
    if kube is None:
        return Account(directory / ACCOUNT), None
    # A simulated cluster needs none of this.
    from localcloud.cluster.control_plane import ControlPlane
    from localcloud.cluster.local_cluster import LocalCluster, real_properties

    control_plane = ControlPlane(directory / "kubernetes", kube)
    control_plane.write_aws(directory / BIN)
    account = Account(directory / ACCOUNT, real_properties(control_plane))
    return account, LocalCluster(control_plane, account)


def is_served(directory: Path) -> bool:
    """Tells whether a server uses the folder. The kernel keeps the answer right, even after a kill."""
    lock = directory / LOCK
    if not lock.exists():
        return False
    try:
        with _locked(lock):
            return False
    except AlreadyRunning:
        return True


@contextmanager
def _locked(path: Path, patience_s: float = 0) -> Generator[None]:
    deadline = time.monotonic() + patience_s
    with path.open("a") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError as error:
                if time.monotonic() >= deadline:
                    raise AlreadyRunning(f"another local cloud runs in {path.parent}: stop it first") from error
                time.sleep(0.02)
        yield
