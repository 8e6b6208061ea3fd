import json
import os
import signal
import socket
import time

import pytest

from localcloud.process import CloudNotStarted, CloudProcess, debug_providers
from localcloud.server import is_served


@pytest.fixture
def cloud_process(tmp_path):
    process = CloudProcess(tmp_path / "cloud")
    yield process
    process.stop()


def test_it_starts_once_and_stops(cloud_process):
    assert not cloud_process.status().running
    assert cloud_process.stop() is False
    port = cloud_process.start()
    status = cloud_process.status()
    assert (status.running, status.port, status.resources) == (True, port, 0)
    assert CloudProcess(cloud_process.directory).start() == port, "a second start finds the first"
    socket.create_connection(("127.0.0.1", port)).close()
    assert cloud_process.stop() is True
    assert not cloud_process.status().running


def test_a_killed_server_counts_as_stopped_and_can_be_started_again(cloud_process):
    cloud_process.start()
    os.kill(cloud_process.status().pid, signal.SIGKILL)
    deadline = time.monotonic() + 10
    while is_served(cloud_process.directory) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not cloud_process.status().running
    assert cloud_process.start() == cloud_process.status().port


def test_a_port_in_use_is_named(cloud_process):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(CloudNotStarted, match=f"{port} is in use"):
            cloud_process.start(port)


def test_the_resources_are_counted_while_nothing_runs(cloud_process):
    cloud_process.directory.mkdir(parents=True)
    content = {"account": "111122223333", "resources": [{}, {}]}
    (cloud_process.directory / "account.json").write_text(json.dumps(content))
    assert cloud_process.status().resources == 2


def test_an_engine_finds_every_package_at_the_port():
    assert debug_providers(5000) == "aws:5000,eks:5000,kubernetes:5000,random:5000"
