"""Charts that stand in for the published ones: what is in them, and what Helm makes of them."""

import tarfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from localcloud.api_groups import CRDS
from localcloud.cluster.crd_documents import CrdDocument, read_folder
from localcloud.cluster.stand_in_charts import StandIn, write_stand_ins
from localcloud.cluster.view import STAND_IN_LABEL

ROOT = Path(__file__).parents[3]
SCHEMAS = ROOT.parent / "shared" / "schemas"

WIDGETS = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  annotations:
    controller-gen.kubebuilder.io/version: v0.20.1
  name: rayclusters.ray.io
spec:
  group: ray.io
  # Not a template of ours: {{ .Values.none }} {{- fail "rendered" }}
  scope: Namespaced
"""
RAY = CrdDocument("rayclusters.ray.io", "ray.io", WIDGETS)
ARGO = CrdDocument("workflows.argoproj.io", "argoproj.io", WIDGETS.replace("ray.io", "argoproj.io"))


def written(folder: Path, crds: Any = "templated", chart: str = "kuberay-operator", version: str = "1.7.0") -> Path:
    (path,) = write_stand_ins(folder, [StandIn(chart, version, crds)], [ARGO, RAY]).files
    return path


def content(path: Path) -> dict[str, str]:
    with tarfile.open(path) as archive:
        files = ((member.name, archive.extractfile(member)) for member in archive)
        return {name: file.read().decode() for name, file in files if file}


def crds_in(path: Path) -> dict[str, str]:
    """The CRDs in an archive, by where they lie in the chart that holds them."""
    inner = f"{path.name.rpartition('-')[0]}/charts/stand-in-crds/"
    folders = (f"{inner}crds/", f"{inner}files/")
    return {name.removeprefix(inner): text for name, text in content(path).items() if name.startswith(folders)}


def test_an_archive_is_a_chart_with_the_published_ones_name_and_version(tmp_path: Path):
    path = written(tmp_path / "new" / "folder", version="v1.7.0")
    assert path == tmp_path / "new" / "folder" / "kuberay-operator-v1.7.0.tgz", "as `helm package` names it"
    about = yaml.safe_load(content(path)["kuberay-operator/Chart.yaml"])
    assert (about["name"], about["version"], about["apiVersion"]) == ("kuberay-operator", "v1.7.0", "v2")


@pytest.mark.parametrize(
    ("crds", "where"),
    [
        ("templated", "files/rayclusters.ray.io.yaml"),
        ("hook", "files/rayclusters.ray.io.yaml"),
        ("first-install", "crds/rayclusters.ray.io.yaml"),
    ],
)
def test_a_chart_has_the_crds_of_its_api_groups_and_no_others(tmp_path: Path, crds: str, where: str):
    assert crds_in(written(tmp_path, crds)) == {where: WIDGETS}


@pytest.mark.parametrize("crds", ["none", "own-chart"])
def test_a_chart_whose_crds_another_one_brings_has_none(tmp_path: Path, crds: str):
    assert crds_in(written(tmp_path, crds)) == {}


def test_charts_that_should_bring_crds_and_got_none_are_told(tmp_path: Path):
    releases = [
        StandIn("kuberay-operator", "1.7.0", "first-install"),
        StandIn("external-secrets", "2.9.0", "templated"),
        StandIn("karpenter", "1.14.1", "own-chart"),
        StandIn("milvus", "5.0.22", "none"),
    ]
    assert write_stand_ins(tmp_path, releases, [RAY]).without_crds == ("external-secrets",)


def test_the_same_chart_is_the_same_file(tmp_path: Path):
    first, second = written(tmp_path / "a"), written(tmp_path / "b")
    assert first.read_bytes() == second.read_bytes()


def test_only_what_changed_is_written_again(tmp_path: Path):
    path = written(tmp_path)
    before = path.stat()
    written(tmp_path)
    assert path.stat().st_ino == before.st_ino, "a file that is right stays the one it is"
    written(tmp_path, "none")
    assert path.stat().st_ino != before.st_ino
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name], "nothing unfinished is left"


def test_a_file_that_was_cut_short_is_written_again(tmp_path: Path):
    path = written(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole[:100])
    written(tmp_path)
    assert path.read_bytes() == whole


def test_a_file_is_there_as_a_whole_or_not_at_all(tmp_path: Path):
    (tmp_path / "kuberay-operator-1.7.0.tgz").mkdir()
    with pytest.raises(OSError, match="kuberay-operator"):
        written(tmp_path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["kuberay-operator-1.7.0.tgz"]


@pytest.fixture
def helm():
    """Helm itself."""
    return pytest.importorskip("helm_python", reason="Helm is not at hand: pip install helm-python-sdk")


@pytest.fixture
def rendered(tmp_path: Path, helm):
    """Renders a stand-in with Helm: its objects by kind and name."""

    def render(values: dict[str, Any], **stand_in: Any) -> dict[tuple[str, str], dict[str, Any]]:
        with helm.Chart.load(written(tmp_path, **stand_in)) as chart:
            texts = chart.render(values, name="mine", namespace="apps").values()
        objects = [item for text in texts for item in yaml.safe_load_all(text) if item]
        return {(item["kind"], item["metadata"]["name"]): item for item in objects}

    return render


def test_helm_takes_crds_as_they_are_braces_and_all(rendered):
    definition = rendered({})["CustomResourceDefinition", "rayclusters.ray.io"]
    assert definition == yaml.safe_load(WIDGETS)


def test_helm_finds_crds_that_it_installs_once(tmp_path: Path, helm, rendered):
    assert ("CustomResourceDefinition", "rayclusters.ray.io") not in rendered({}, crds="first-install")
    with helm.Chart.load(written(tmp_path, "first-install")) as chart:
        assert len(chart.crds) == 1


VALUES = {
    "text": 'lines\n  "indented" <&>: #\n\nand: more\n',
    "list": [{"deep": {"0": "1.40", "on": "off"}}, None, 3],
    "crds": {"full": False},
}


@pytest.mark.parametrize("values", [VALUES, {}], ids=["some", "none"])
def test_the_releases_values_lie_in_a_config_map_with_the_charts_name(rendered, values: dict[str, Any]):
    found = rendered(values)["ConfigMap", "mine-stand-in"]
    assert found["metadata"]["labels"] == {STAND_IN_LABEL: "kuberay-operator"}
    assert found["metadata"]["namespace"] == "apps"
    assert yaml.safe_load(found["data"]["values.yaml"]) == values


def test_service_accounts_are_made_wherever_values_name_them(rendered):
    values = {
        "serviceAccount": {"name": "operator"},
        "controller": {"serviceAccount": {"create": True, "name": "controller"}},
        "servers": [{"serviceAccount": {"name": "operator"}}],
        "worker": {"serviceAccount": {"create": False, "name": "made-elsewhere"}},
        "hub": {"serviceAccount": {"create": True}},
    }
    accounts = {name: item for (kind, name), item in rendered(values).items() if kind == "ServiceAccount"}
    assert set(accounts) == {"operator", "controller"}
    assert {item["metadata"]["namespace"] for item in accounts.values()} == {"apps"}


@pytest.mark.parametrize(("values", "name"), [({}, "alb"), ({"ingressClass": "inner"}, "inner")])
def test_ingresses_have_their_class_of_the_chart_that_serves_it_and_of_no_other(rendered, values, name: str):
    made = rendered(values, chart="aws-load-balancer-controller", version="3.5.0")
    assert made["IngressClass", name]["spec"] == {"controller": "ingress.k8s.aws/alb"}
    assert not [key for key in rendered(values) if key[0] == "IngressClass"]


@pytest.mark.parametrize(
    ("values", "path"),
    [
        ({"password": "x"}, "values.password"),
        ({"auth": {"adminPassword": "x"}}, "values.auth.adminPassword"),
        ({"proxy": [{"secretToken": "x"}]}, r"values.proxy\[0\].secretToken"),
        ({"clientSecret": "x"}, "values.clientSecret"),
        ({"s3": {"secretKey": "x"}}, "values.s3.secretKey"),
        ({"s3": {"secretAccessKey": "x"}}, "values.s3.secretAccessKey"),
    ],
)
def test_a_secret_in_plain_text_is_refused(rendered, values: dict[str, Any], path: str):
    with pytest.raises(Exception, match=rf"chart kuberay-operator: {path} looks like a secret in plain text"):
        rendered(values)


def test_names_of_secrets_of_keys_in_them_and_addresses_are_no_secrets(rendered):
    values = {
        "secretName": "db",
        "existingSecret": "db",
        "passwordKey": "password",
        "tokenSecretRef": "db",
        "password": "",
        "automountServiceAccountToken": True,
        "secret": {"name": "db"},
        "token_url": "https://login.example.com/oauth2/token",
    }
    assert ("ConfigMap", "mine-stand-in") in rendered(values)


def test_the_real_values_of_karpenter_make_the_account_that_its_identity_is_for(rendered):
    chart = yaml.safe_load((ROOT / "components/compute/charts/karpenter.yaml").read_text(encoding="utf-8"))
    objects = rendered(chart["values"], chart="karpenter", version=chart["version"], crds=chart["crds"])
    assert set(objects) == {("ConfigMap", "mine-stand-in"), ("ServiceAccount", "karpenter")}


@pytest.mark.skipif(not SCHEMAS.exists(), reason="the CRDs that projects publish are not at hand")
def test_published_crds_come_out_of_helm_as_they_went_in(tmp_path: Path, helm):
    published = [*read_folder(SCHEMAS / "crds")]
    releases = [StandIn("karpenter-crd", "1.14.1", "templated"), StandIn("external-secrets", "2.9.0", "templated")]
    result = write_stand_ins(tmp_path, releases, published)
    assert result.without_crds == ()
    out = ""
    for path in result.files:
        with helm.Chart.load(path) as chart:
            out += "".join(chart.render({}, name="mine", namespace="apps").values())
    theirs = [one for one in published if CRDS.get(one.group) in ("karpenter-crd", "external-secrets")]
    assert len(theirs) >= 7
    for document in theirs:
        assert document.text.strip() in out, document.name
