"""An API server that is stopped while it makes a CRD, and what becomes of the CRD at its next start."""

import base64
import json
import ssl
import time
import urllib.request

import pytest

from localcloud.cluster.control_plane import ControlPlane
from localcloud.cluster.kinds import CRD

pytestmark = pytest.mark.slow

NAME = "wheels.example.com"
WHEELS = {
    "metadata": {"name": NAME},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "wheels", "singular": "wheel", "kind": "Wheel", "listKind": "WheelList"},
        "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
        ],
    },
}
PATIENCE_S = 30.0
"""Far less than the five minutes after which an API server looks at its CRDs again."""


class Store:
    """The store beneath an API server, at its HTTP gateway."""

    def __init__(self, folder):
        self._port = json.loads((folder / "ports.json").read_text())["etcd"]
        files = folder / "credentials"
        self._trusted = ssl.create_default_context(cafile=str(files / "authority.pem"))
        self._trusted.load_cert_chain(files / "server.pem", files / "server.key")

    def ask(self, what, **content):
        encoded = {key: base64.b64encode(value.encode()).decode() for key, value in content.items()}
        request = urllib.request.Request(f"https://127.0.0.1:{self._port}/v3/kv/{what}", json.dumps(encoded).encode())
        direct = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=self._trusted)
        )
        with direct.open(request, timeout=10) as answer:
            return json.load(answer)


@pytest.fixture
def plane(kube, tmp_path):
    plane = ControlPlane(tmp_path / "plane", kube)
    yield plane
    plane.stop()


def conditions(client):
    found = client.get(CRD, NAME)
    return {one["type"]: one["status"] for one in found.get("status", {}).get("conditions") or ()}


def is_established_in_time(client):
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if conditions(client).get("Established") == "True":
            return True
        time.sleep(0.2)
    return False


def test_a_crd_that_was_half_made_is_served_after_the_next_start(plane, tmp_path):
    plane.start()
    with plane.client() as client:
        client.create(CRD(WHEELS))
        assert is_established_in_time(client)
    end_api_server(plane)
    store, key = Store(tmp_path / "plane"), f"/registry/apiextensions.k8s.io/customresourcedefinitions/{NAME}"
    (kept,) = store.ask("range", key=key)["kvs"]
    crd = json.loads(base64.b64decode(kept["value"]))
    status = crd["status"]
    status["conditions"] = [one for one in status["conditions"] if one["type"] == "NamesAccepted"]
    assert status["conditions"], "the first of the two steps stays done"
    store.ask("put", key=key, value=json.dumps(crd))
    plane.stop()

    plane.start()

    with plane.client() as client:
        assert is_established_in_time(client), "whoever waits for it would wait for minutes"


def end_api_server(plane):
    """As when a machine stops: the store still has what was written last."""
    server = plane._running["apiserver"]
    server.kill()
    server.wait()
