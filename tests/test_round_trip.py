"""The whole program through the real engine on the local cloud: up, unchanged, down; and state of earlier commits."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from automation.engine import Engine, find_engine, find_kubernetes
from automation.errors import EngineError, Irreplaceable, PolicyRefusal, PoolNotRetired, Protected, ResourceFailed
from automation.events import Finished
from automation.local import LocalCloud
from automation.stacks import open_local
from tests.rogue import RULES, rogue_project
from tests.secrecy import readable_places, secrets_of, told
from tests.serving import serve
from tools.golden import STACKS, golden_project, state_file
from tools.scratch import ROOT, scratch_project

pytestmark = [pytest.mark.engine, pytest.mark.slow, pytest.mark.timeout(1500)]


@pytest.fixture(scope="module")
def engine() -> Engine:
    try:
        return find_engine()
    except EngineError as error:
        pytest.skip(str(error).splitlines()[0])


@pytest.fixture
def kubernetes() -> bool:
    """Whether a real API server, scheduler and Helm take part: they do where they are built."""
    try:
        find_kubernetes()
    except EngineError:
        return False
    return True


def test_up_again_refresh_destroy_and_up_anew(tmp_path: Path, engine: Engine, kubernetes: bool):
    """With the larger stack; the smaller one goes the same way through the command (.ci/run)."""
    name = "prod"
    project = scratch_project(tmp_path)
    serve(project, name)
    file = project.stack_file(name)
    text = file.read_text(encoding="utf-8").replace("deletionProtection: true", "deletionProtection: false")
    file.write_text(f"{text}  eksai:dataProtection: {{mode: delete}}\n", encoding="utf-8")
    cloud = LocalCloud(project, name, kubernetes=kubernetes)
    events: list[str] = []
    with cloud.running() as port, open_local(project, name, engine, kubernetes=kubernetes) as stack:
        made = stack.up(lambda event: events.append(repr(event)))
        assert set(made.changes) == {"create"}
        secrets = secrets_of(cloud, engine, port)
        clients = [urn for urn in secrets.values() if "UserPoolClient" in urn]
        assert len(clients) == 3, "of JupyterHub, Argo Workflows and Langfuse"
        drawn = [urn for urn in secrets.values() if "random:index" in urn]
        assert len(drawn) > 10, "passwords and keys of stores"
        if kubernetes:
            rows = (cloud.folder / "cloud/kubernetes/credentials/tokens.csv").read_text().splitlines()
            secrets |= {row.split(",")[0]: f"control plane ({row.split(',')[1]})" for row in rows}
        places = {**readable_places(cloud), "state": json.dumps(stack.export()), "events": "\n".join(events)}
        assert told(secrets, places) == []
        assert stack.up().is_unchanged, "a second up changes nothing"
        assert stack.refresh().is_unchanged, "the recorded state is what the cloud holds"
        assert stack.preview().is_unchanged, "nor does a refresh make the next preview want anything"
        gone = stack.destroy()
        assert set(gone.changes) == {"delete"}
        assert cloud.status().resources == 0, "the account is empty"
        assert set(stack.up().changes) == {"create"}, "the same names can be used again"


def test_the_state_holds_no_secret_in_the_clear(tmp_path: Path, engine: Engine):
    project = golden_project(tmp_path, "dev")
    with open_local(project, "dev", engine) as stack:
        stack.restore(json.loads(state_file("dev").read_text(encoding="utf-8")))
        kubeconfig = str(stack.outputs(reveal=True)["kubeconfig"])
        text = json.dumps(stack.export())
    assert kubeconfig not in text
    assert json.dumps(kubeconfig)[1:-1] not in text


@pytest.mark.parametrize("operation", ["preview", "up"])
def test_an_untainted_pool_and_an_unencrypted_volume_are_refused(tmp_path: Path, engine: Engine, operation: str):
    project = rogue_project(tmp_path)
    with open_local(project, "dev", engine) as stack:
        with pytest.raises(PolicyRefusal) as refusal:
            getattr(stack, operation)()
        refused = {finding.name for finding in refusal.value.findings}
        assert refused == RULES
        assert not stack.export()["deployment"].get("resources"), "nothing at all was made"


def test_an_upgrade_goes_control_plane_add_ons_nodes_and_replaces_nothing(tmp_path: Path, engine: Engine):
    project = scratch_project(tmp_path)
    file = project.stack_file("dev")
    text = file.read_text(encoding="utf-8")
    addons = "  eksai:addons:\n"
    assert addons in text

    def pinned(version: str, build: str) -> str:
        pin = f"{addons}    kube-proxy: {{version: {build}}}\n"
        return text.replace('version: "1.35"', f'version: "{version}"').replace(addons, pin)

    file.write_text(pinned("1.34", "v1.34.6-eksbuild.29"), encoding="utf-8")
    order: list[str] = []
    with open_local(project, "dev", engine) as stack:
        stack.up()
    file.write_text(pinned("1.35", "v1.35.3-eksbuild.29"), encoding="utf-8")
    with open_local(project, "dev", engine) as stack:
        upgraded = stack.up(lambda event: order.append(event.resource.urn) if isinstance(event, Finished) else None)
        assert set(upgraded.changes) == {"update", "same"}
        changed = {change.name for change in upgraded.resources if change.op == "update"}
        assert changed == {"cluster-eksCluster", "kube-proxy", "system-nodes"}
        steps = ("eks/cluster:Cluster::cluster-eksCluster", "Addon::kube-proxy", "NodeGroup::system-nodes")
        places = [next(i for i, urn in enumerate(order) if urn.endswith(step)) for step in steps]
        assert places == sorted(places), "control plane, add-ons, nodes"
        assert stack.preview().is_unchanged
    file.write_text(text.replace('version: "1.35"', 'version: "1.33"'), encoding="utf-8")
    with open_local(project, "dev", engine) as stack, pytest.raises(ResourceFailed, match="never down"):
        stack.up()


def test_a_protected_stack_is_not_taken_apart(tmp_path: Path, engine: Engine):
    project = scratch_project(tmp_path)
    file = project.stack_file("dev")
    text = file.read_text(encoding="utf-8")
    file.write_text(
        text.replace("    logRetention", "    deletionProtection: true\n    logRetention"), encoding="utf-8"
    )
    with open_local(project, "dev", engine) as stack:
        made = stack.up()
        with pytest.raises(Protected, match="deletionProtection to false"):
            stack.destroy()
        assert stack.preview().changes == {"same": made.changes["create"]}, "nothing was deleted"
    file.write_text(text, encoding="utf-8")
    with open_local(project, "dev", engine) as stack:
        assert stack.up().changes.get("update") == 1
        assert set(stack.destroy().changes) == {"delete"}


def test_a_change_that_would_replace_the_cluster_or_drain_a_pool_is_refused(tmp_path: Path, engine: Engine):
    project = scratch_project(tmp_path)
    file = project.stack_file("dev")
    config = yaml.safe_load(file.read_text(encoding="utf-8"))["config"]
    pools = config["eksai:nodePools"]
    retired = {**pools, "cpu-inference-m7gxlarge": {**pools["cpu-inference-m7gxlarge"], "retire": True}}

    def write(**sections: Any) -> None:
        changed = {f"eksai:{name}": section for name, section in sections.items()}
        file.write_text(yaml.safe_dump({"config": {**config, **changed}}), encoding="utf-8")

    with open_local(project, "dev", engine) as stack:
        stack.up()
    write(cluster={**config["eksai:cluster"], "name": "other"})
    with open_local(project, "dev", engine) as stack, pytest.raises(Irreplaceable, match="changed: name"):
        stack.up()
    write(nodePools={name: pool for name, pool in pools.items() if name != "cpu-inference-m7gxlarge"})
    with open_local(project, "dev", engine) as stack, pytest.raises(PoolNotRetired, match="cpu-inference-m7gxlarge"):
        stack.up()
    write(nodePools=retired)
    with open_local(project, "dev", engine) as stack:
        assert stack.up().changes.get("delete") == 3, "the component, its class and its pool"


def earlier_states(stack: str) -> list[tuple[str, dict[str, Any]]]:
    """The golden state as it stands, and the one before it in history if there is one."""
    path = state_file(stack)
    present = path.read_text(encoding="utf-8")
    found = [("the present", json.loads(present))]
    name = path.relative_to(ROOT).as_posix()
    shallow = subprocess.run(["git", "rev-parse", "--is-shallow-repository"], cwd=ROOT, capture_output=True, text=True)
    assert shallow.stdout.strip() != "true", "the check needs the history: git fetch --unshallow"
    log = subprocess.run(["git", "log", "--format=%H", "--", name], cwd=ROOT, capture_output=True, text=True)
    for commit in log.stdout.split():
        shown = subprocess.run(["git", "show", f"{commit}:{name}"], cwd=ROOT, capture_output=True, text=True)
        if shown.returncode == 0 and shown.stdout != present:
            return [*found, (commit, json.loads(shown.stdout))]
    return found


@pytest.mark.parametrize("stack", STACKS)
def test_state_of_an_earlier_commit_loses_and_replaces_nothing(tmp_path: Path, engine: Engine, stack: str):
    for origin, state in earlier_states(stack):
        folder = tmp_path / origin.replace(" ", "-")
        folder.mkdir()
        with open_local(golden_project(folder, stack), stack, engine) as opened:
            opened.restore(state)
            result = opened.preview()
        lost = [f"{change.op} {change.urn}" for change in result.resources if change.op in ("delete", "replace")]
        assert not lost, f"state made by {origin} would lose what somebody uses; an alias keeps it"
        if origin == "the present":
            assert result.is_unchanged, "the golden state is not that of this program: run `make golden`"
