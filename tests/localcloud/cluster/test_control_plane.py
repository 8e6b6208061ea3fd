"""The control plane as processes: what it keeps, whom it lets in, and what it leaves behind."""

import os
import signal
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
import yaml
from lightkube import ApiError, Client, KubeConfig

from localcloud.cluster.control_plane import ControlPlane
from localcloud.cluster.credentials import DEPLOYER
from localcloud.cluster.kinds import CONFIG_MAP
from localcloud.errors import ControlPlaneFailed

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
GONE_S = 5.0


def config_map(name):
    return CONFIG_MAP({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}})


def processes_of(folder) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            # A part works in its control plane's folder.
            if process.status() != psutil.STATUS_ZOMBIE and Path(process.cwd()) == folder:
                found.append(process)
        except psutil.Error:
            continue
    return found


@pytest.fixture
def plane(kube, tmp_path):
    plane = ControlPlane(tmp_path / "plane", kube)
    yield plane
    plane.stop()


def test_address_credentials_and_objects_outlive_a_restart_and_only_a_wipe_forgets_objects(plane, tmp_path, kube):
    plane.start()
    endpoint, authority = plane.endpoint, plane.certificate_authority
    with plane.client() as client:
        client.create(config_map("kept"))
    plane.stop()
    assert not processes_of(tmp_path / "plane")

    anew = ControlPlane(tmp_path / "plane", kube)
    try:
        anew.start()
        assert (anew.endpoint, anew.certificate_authority) == (endpoint, authority)
        with anew.client() as client:
            assert client.get(CONFIG_MAP, "kept", namespace="default")
        anew.wipe()
        anew.start()
        assert anew.endpoint == endpoint
        with anew.client() as client, pytest.raises(ApiError, match="not found"):
            client.get(CONFIG_MAP, "kept", namespace="default")
    finally:
        anew.stop()


def test_no_part_outlives_a_starter_that_is_killed(kube, tmp_path):
    folder = tmp_path / "plane"
    code = (
        "import sys, time; from pathlib import Path; from localcloud.cluster.control_plane import ControlPlane;"
        "ControlPlane(Path(sys.argv[1]), Path(sys.argv[2])).start(); print('up', flush=True); time.sleep(600)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, folder, kube], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as starter:
        assert starter.stdout is not None
        assert starter.stdout.readline() == "up\n"
        parts = processes_of(folder)
        assert len(parts) == 5
        starter.send_signal(signal.SIGKILL)

    deadline = time.monotonic() + GONE_S
    while processes_of(folder) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not processes_of(folder)


def test_every_part_listens_on_loopback_only(control_plane):
    parts = processes_of(control_plane._folder)
    addresses = {
        connection.laddr.ip
        for part in parts
        for connection in part.net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    }
    assert len(parts) == 5
    assert addresses <= {"127.0.0.1", "::1"}, addresses


def test_credentials_are_for_their_owner_only(control_plane):
    folder = control_plane._folder
    files = [*(folder / "credentials").iterdir(), *(folder / "data").iterdir()]
    assert len(files) > 8
    assert [file.name for file in files if stat.S_IMODE(file.stat().st_mode) & 0o077] == []


@pytest.mark.parametrize("user", [{}, {"token": "guessed"}], ids=["no token", "a wrong token"])
def test_without_a_token_nobody_gets_in(control_plane, user):
    config = yaml.safe_load(control_plane._credentials.kubeconfig(DEPLOYER, control_plane.endpoint).read_text())
    config["users"][0]["user"] = user
    with (
        Client(KubeConfig.from_dict(config), trust_env=False) as client,
        pytest.raises(ApiError, match="Unauthorized"),
    ):
        list(client.list(CONFIG_MAP, namespace="default"))


def test_the_deployer_may_do_nothing_before_an_access_entry_says_so(control_plane):
    path = control_plane._credentials.kubeconfig(DEPLOYER, control_plane.endpoint)
    with Client(KubeConfig.from_file(path), trust_env=False) as client, pytest.raises(ApiError, match="forbidden"):
        list(client.list(CONFIG_MAP, namespace="default"))


def test_the_aws_of_the_local_cloud_hands_out_tokens_and_says_that_it_can_do_nothing_else(control_plane, tmp_path):
    aws = control_plane.write_aws(tmp_path / "bin")
    token = subprocess.run(
        [aws, "--region", "us-west-2", "eks", "get-token", "--cluster-name", "x"], capture_output=True
    )
    other = subprocess.run([aws, "s3", "ls"], capture_output=True, text=True)
    assert control_plane._credentials.token(DEPLOYER).encode() in token.stdout
    assert other.returncode != 0
    assert "local cloud" in other.stderr


def test_a_taken_address_is_named_with_the_way_out(kube, tmp_path, monkeypatch):
    plane = ControlPlane(tmp_path / "plane", kube)
    port = int(plane.endpoint.rpartition(":")[2])
    monkeypatch.setattr("localcloud.cluster.control_plane._PORT_S", 0.3)
    with socket.socket() as squatter:
        squatter.bind(("127.0.0.1", port))
        squatter.listen()
        with pytest.raises(ControlPlaneFailed, match=rf"127\.0\.0\.1:{port}.*in use.*eksai local reset"):
            plane.start()
    assert not processes_of(tmp_path / "plane")


def test_a_part_that_ends_at_once_is_named_with_the_end_of_its_log_and_nothing_is_left(kube, tmp_path):
    plane = ControlPlane(tmp_path / "plane", kube)
    plane.endpoint  # noqa: B018 - chooses the ports
    data = tmp_path / "plane" / "data"
    data.write_text("a file where the store wants a folder")
    with pytest.raises((ControlPlaneFailed, OSError)):
        plane.start()
    assert not processes_of(tmp_path / "plane")


def test_a_part_that_is_killed_is_noticed_and_all_start_anew(plane, tmp_path):
    plane.start()
    for part in processes_of(tmp_path / "plane"):
        if "scheduler" in part.cmdline():
            os.kill(part.pid, signal.SIGKILL)
            part.wait(GONE_S)
    assert not plane.is_running()
    plane.start()
    assert plane.is_running()
    assert len(processes_of(tmp_path / "plane")) == 5
