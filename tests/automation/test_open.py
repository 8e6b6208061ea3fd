"""`eksai open`: the port is forwarded to the right Service, and nothing of it stays."""

import http.server
import json
import os
import socket
import sys
import threading
import urllib.request
from pathlib import Path

import psutil
import pytest

from automation.errors import EksaiError
from automation.port_forward import forwarded, no_browser_here
from components.web_apps import WEB_APPS
from tests.automation.test_cli import eksai
from tests.serving import serve
from tools.scratch import scratch_project

KUBECTL = """#!{python}
# Forwards as kubectl does: one port on loopback; what it was told is kept for the test.
import json, os, pathlib, socket, sys, threading
here = pathlib.Path(__file__).parent
kubeconfig = pathlib.Path(sys.argv[sys.argv.index("--kubeconfig") + 1])
mode = oct(kubeconfig.stat().st_mode & 0o777)
told = {{"arguments": sys.argv[1:], "kubeconfig": kubeconfig.read_text(), "mode": mode}}
(here / "told.json").write_text(json.dumps(told))
if (here / "refuses").exists():
    sys.exit("error: services \\"hub\\" not found")
listener = socket.create_server(("127.0.0.1", int(sys.argv[-1].split(":")[0])))
def pump(one, other):
    while data := one.recv(65536):
        other.sendall(data)
    other.shutdown(socket.SHUT_WR)
while True:
    near, _ = listener.accept()
    far = socket.create_connection(("127.0.0.1", {target}))
    for pair in ((near, far), (far, near)):
        threading.Thread(target=pump, args=pair, daemon=True).start()
"""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


@pytest.fixture
def kubectl(tmp_path, monkeypatch):
    """A folder first on PATH with a kubectl that forwards to a web server here."""

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"the hub")

        def log_message(self, format, *args):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        program = tmp_path / "kubectl"
        program.write_text(KUBECTL.format(python=sys.executable, target=server.server_port))
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
        yield tmp_path
        server.shutdown()


def to_the_hub(local_port: int, **changes):
    given = {"namespace": "jupyterhub", "service": "proxy-public", "port": 80, "local_port": local_port, **changes}
    return forwarded("the kubeconfig", **given)


def test_the_port_leads_to_the_service_and_nothing_stays(kubectl):
    port = free_port()
    with to_the_hub(port) as run:
        assert urllib.request.urlopen(f"http://127.0.0.1:{port}", timeout=10).read() == b"the hub"
    told = json.loads((kubectl / "told.json").read_text())
    assert told["arguments"][2:] == [
        *("--namespace", "jupyterhub", "port-forward"),
        *("--address", "127.0.0.1", "service/proxy-public", f"{port}:80"),
    ]
    assert told["kubeconfig"] == "the kubeconfig"
    assert told["mode"] == "0o600", "others on this machine do not read it"
    assert not Path(told["arguments"][1]).exists()
    assert not psutil.pid_exists(run.pid)


def test_a_kubectl_that_gives_up_is_quoted(kubectl):
    (kubectl / "refuses").touch()
    with pytest.raises(EksaiError, match='kubectl gave up:\nerror: services "hub" not found'), to_the_hub(free_port()):
        pass


def test_a_port_that_is_taken_is_named(kubectl):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(EksaiError, match=f"Port {port} of this machine is in use"), to_the_hub(port):
            pass
    assert not (kubectl / "told.json").exists(), "kubectl is not even started"


def test_without_kubectl_it_says_where_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EksaiError, match="There is no `kubectl` on PATH"), to_the_hub(free_port()):
        pass


@pytest.mark.parametrize(
    ("variables", "nobody"),
    [({"DISPLAY": ":0"}, False), ({"WAYLAND_DISPLAY": "wayland-0"}, False), ({}, True)],
    ids=["X11", "Wayland", "neither"],
)
def test_a_browser_is_started_where_somebody_sees_it(monkeypatch, variables, nobody):
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert no_browser_here() is nobody


def test_an_application_that_there_is_none_of_is_wrong_usage():
    run = eksai("open", "gitlab", "dev")
    assert run.returncode == 2
    for name in WEB_APPS:
        assert name in run.stderr


@pytest.fixture
def project(tmp_path):
    """A project whose prod stack could be on AWS: its account, domain and addresses are nobody's in documentation."""
    made = scratch_project(tmp_path)
    file = made.stack_file("prod")
    text = file.read_text(encoding="utf-8")
    for documented, own in {
        "444455556666": "210987654321",
        "ml.example.com": "ml.eksai.dev",
        "198.51.100.0/24": "8.8.8.0/24",
    }.items():
        text = text.replace(documented, own)
    file.write_text(text, encoding="utf-8")
    return made


def test_with_a_domain_the_address_is_all_there_is_to_it(project):
    run = eksai("open", "jupyterhub", "prod", "--no-browser", "-C", str(project.root))
    assert (run.returncode, run.stdout) == (0, "https://jupyter.ml.eksai.dev\n"), run.stderr


def test_what_has_a_host_of_its_own_is_opened_there(project):
    serve(project, "prod")
    run = eksai("open", "gpunet", "prod", "--no-browser", "-C", str(project.root))
    assert (run.returncode, run.stdout) == (0, "https://gpunet.ml.eksai.dev\n"), run.stderr


def test_an_application_that_the_stack_lacks_is_named_with_those_that_it_has(project):
    file = project.stack_file("prod")
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    file.write_text("".join(line for line in lines if line != "    jupyterhub: {}\n"), encoding="utf-8")
    text = file.read_text(encoding="utf-8")
    start, end = text.index("  eksai:jupyterhub:\n"), text.index("  eksai:argoWorkflows:")
    file.write_text(text[:start] + text[end:], encoding="utf-8")
    run = eksai("open", "jupyterhub", "prod", "-C", str(project.root))
    assert run.returncode == 1
    assert run.stderr == "prod has no jupyterhub. It has: argo-workflows, langfuse, ml-cluster.\n"


def test_a_stack_file_of_documentation_is_told_so_before_anything_is_tried():
    run = eksai("open", "jupyterhub", "dev")
    assert run.returncode == 1
    assert "works on the local cloud only" in run.stderr
