"""The folders and the environment of a local run."""

import stat
import sys
from pathlib import Path

import pytest
from semver import VersionInfo

from automation.engine import Engine, KubernetesPrograms
from automation.errors import UnknownStack
from automation.local import LocalCloud

ENGINE = Engine(Path("/opt/engine/bin/pulumi"), VersionInfo(3, 274, 1), built_here=True)


def test_nothing_of_the_users_accounts_reaches_a_local_run(project, monkeypatch):
    theirs = {
        "AWS_PROFILE": "prod",
        "AWS_ACCESS_KEY_ID": "AKIA",
        "AWS_SESSION_TOKEN": "token",
        "KUBECONFIG": "/home/me/.kube/config",
        "PULUMI_ACCESS_TOKEN": "pul-1",
        "PULUMI_STACK": "prod",
    }
    for name, value in theirs.items():
        monkeypatch.setenv(name, value)

    environment = LocalCloud(project, "dev").environment(ENGINE, 4711)

    assert not theirs.keys() & environment.keys(), "a local run could touch a real account with these"


def test_the_engine_is_led_to_the_local_cloud_and_keeps_everything_in_the_stacks_folder(project):
    cloud = LocalCloud(project, "dev")
    environment = cloud.environment(ENGINE, 4711)

    assert cloud.folder == project.root / ".local" / "dev" / "simulated"
    assert environment["EKSAI_LOCAL"] == "1", "settings accept documentation addresses only then"
    assert environment["EKSAI_PYTHON"] == sys.executable
    assert environment["PATH"].startswith("/opt/engine/bin:")
    assert {"aws:4711", "eks:4711", "kubernetes:4711", "random:4711"} <= set(
        environment["PULUMI_DEBUG_PROVIDERS"].split(",")
    )
    assert environment["PULUMI_BACKEND_URL"] == f"file://{cloud.folder}/backend?metadata=skip", (
        "no file beside the state"
    )
    for name in ("PULUMI_HOME", "TMPDIR", "PULUMI_CONFIG_PASSPHRASE_FILE"):
        assert Path(environment[name]).is_relative_to(cloud.folder), f"{name} must not leave the stack's folder"


def test_the_passphrase_stays_the_same_and_only_its_owner_can_read_it(project):
    first = LocalCloud(project, "dev").variables(ENGINE, 1)["PULUMI_CONFIG_PASSPHRASE_FILE"]
    text = Path(first).read_text()
    LocalCloud(project, "dev").variables(ENGINE, 1)

    assert Path(first).read_text() == text, "with another one the state's secrets could not be read"
    assert len(text) >= 32
    assert stat.S_IMODE(Path(first).stat().st_mode) == 0o600


def test_stacks_share_nothing(project):
    folders = {name: LocalCloud(project, name).folder for name in project.stacks()}

    assert len(set(folders.values())) == 2


def test_a_cloud_is_for_a_stack_that_exists(project):
    with pytest.raises(UnknownStack):
        LocalCloud(project, "stage")


def test_reset_forgets_everything(project):
    cloud = LocalCloud(project, "dev")
    cloud.variables(ENGINE, 1)

    cloud.reset()

    assert not cloud.folder.exists()


def test_whoever_leaves_last_stops_the_cloud(project):
    first, second = LocalCloud(project, "dev"), LocalCloud(project, "dev")
    with first.running() as port:
        with second.running() as same:
            assert same == port
        assert first.status().running, "somebody still works on it"
    assert not first.status().running


def test_a_cloud_that_is_kept_outlives_its_users_until_it_is_stopped(project):
    cloud = LocalCloud(project, "dev")
    try:
        cloud.keep()
        with cloud.running():
            pass
        assert cloud.status().running
    finally:
        cloud.stop()
    with cloud.running():
        pass
    assert not cloud.status().running, "stopped once, it is kept no longer"


@pytest.fixture
def real(project, monkeypatch):
    """A cloud with a real Kubernetes, whose programs are said to be there."""
    programs = KubernetesPrograms(Path("/opt/kube/bin/kube"), Path("/opt/provider/bin/pulumi-resource-kubernetes"))
    monkeypatch.setattr("automation.local.find_kubernetes", lambda: programs)
    return LocalCloud(project, "dev", kubernetes=True)


def test_a_real_kubernetes_has_its_own_folder_provider_and_aws(project, real):
    environment = real.environment(ENGINE, 4711)

    assert real.folder == project.root / ".local" / "dev" / "kubernetes", "the two clouds share no state"
    assert "kubernetes:" not in environment["PULUMI_DEBUG_PROVIDERS"], "the real provider answers"
    path = environment["PATH"].split(":")
    assert path[:2] == ["/opt/provider/bin", str(real.folder / "cloud" / "bin")], "before any aws of the user's"
    for kind in ("CACHE", "CONFIG", "DATA"):
        assert Path(environment[f"HELM_{kind}_HOME"]).is_relative_to(real.folder), "not the user's repositories"


CRD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: nodepools.karpenter.sh
spec:
  group: karpenter.sh
"""


def test_with_a_real_kubernetes_the_program_takes_its_charts_from_stand_ins(real, tmp_path, monkeypatch):
    (tmp_path / "crds").mkdir()
    (tmp_path / "crds" / "nodepools.yaml").write_text(CRD)
    monkeypatch.setenv("EKSAI_SCHEMAS", str(tmp_path))

    mirror = Path(real.config()["eksai:charts"]["mirror"])
    assert mirror.is_absolute()
    assert {"karpenter-crd-1.14.1.tgz", "karpenter-1.14.1.tgz"} <= {file.name for file in mirror.iterdir()}
    assert "external-secrets" in "".join(real.notices), "whose CRDs are not at hand is told, not left out in silence"


def test_with_a_simulated_one_the_program_is_told_what_the_stack_file_says(project):
    assert LocalCloud(project, "dev").config() == {}
