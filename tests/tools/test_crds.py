"""Where CRDs come from: a folder, or Go modules."""

import gzip
import os
import shutil
import sys
from pathlib import Path

import pytest

from localcloud.api_groups import CRDS, CRDS_ONLY
from tools.engine.crds import MODULES, crd_files
from tools.engine.errors import BuildError

SCHEMAS = Path(__file__).parents[2].parent / "shared" / "schemas"
KARPENTER = MODULES[0]

FAKE_GO = """\
#!{python}
import json, os, pathlib, sys
with open("{folder}/asked", "a") as log:
    log.write(" ".join(sys.argv[1:]) + "\\n")
module = sys.argv[-1]
answer = {{"Path": module, "Dir": "{folder}/module", "Sum": "{digest}"}}
{then}
print(json.dumps(answer))
"""


def crd(name: str, note: str = "") -> str:
    group = name.partition(".")[2]
    return f"# {note}\nkind: CustomResourceDefinition\nmetadata:\n  name: {name}\nspec:\n  group: {group}\n"


@pytest.fixture
def fake_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Puts a stand-in for Go on PATH that answers as the real one does; call it to say how it behaves."""

    def install(digest: str = KARPENTER.digest, then: str = "pass") -> Path:
        folder = tmp_path / "go"
        crds = folder / "module" / KARPENTER.folder
        crds.mkdir(parents=True, exist_ok=True)
        (crds / "nodepools.yaml").write_text(crd("nodepools.karpenter.sh"), encoding="utf-8")
        (crds / "nodepools.yaml").chmod(0o444)
        command = folder / "go"
        text = FAKE_GO.format(python=sys.executable, folder=folder, digest=digest, then=then)
        command.write_text(text, encoding="utf-8")
        command.chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
        return folder

    return install


def test_a_folder_gives_the_crds_of_charts_that_are_known(tmp_path: Path):
    (tmp_path / "crds").mkdir()
    (tmp_path / "crds-gz").mkdir()
    for name in ("nodepools.karpenter.sh", "gadgets.acme.dev", "workflows.argoproj.io"):
        (tmp_path / "crds" / f"{name}.yaml").write_text(crd(name, "plain"), encoding="utf-8")
    for name in ("workflows.argoproj.io", "jobsets.jobset.x-k8s.io"):
        (tmp_path / "crds-gz" / f"{name}.yaml.gz").write_bytes(gzip.compress(crd(name, "packed").encode()))
    found = crd_files(tmp_path)
    assert {one.name: one.text.splitlines()[0] for one in found.documents} == {
        "nodepools.karpenter.sh": "# plain",
        "workflows.argoproj.io": "# plain",
        "jobsets.jobset.x-k8s.io": "# packed",
    }
    assert set(found.charts_without) == {*CRDS.values()} - {"karpenter-crd", "argo-workflows", "jobset"}


def test_only_the_charts_asked_for_count(tmp_path: Path):
    (tmp_path / "crds").mkdir()
    for name in ("nodepools.karpenter.sh", "workflows.argoproj.io"):
        (tmp_path / "crds" / f"{name}.yaml").write_text(crd(name), encoding="utf-8")
    found = crd_files(tmp_path, {"karpenter", "karpenter-crd", "external-secrets", "milvus"})
    assert [one.name for one in found.documents] == ["nodepools.karpenter.sh"]
    assert found.charts_without == ("external-secrets",), "the others bring no CRDs when they are published either"


def test_a_folder_without_crds_is_refused(tmp_path: Path):
    with pytest.raises(BuildError, match=r"has no CRDs: neither crds/"):
        crd_files(tmp_path)


def test_a_file_that_is_no_text_of_a_crd_is_told_by_name(tmp_path: Path):
    (tmp_path / "crds-gz").mkdir()
    (tmp_path / "crds-gz" / "broken.yaml.gz").write_bytes(b"not gzip")
    with pytest.raises(BuildError, match="cannot be read"):
        crd_files(tmp_path)


def test_a_module_is_downloaded_once(tmp_path: Path, fake_go):
    folder = fake_go()
    for _ in range(2):
        found = crd_files(None, {"karpenter-crd", "argo-workflows"}, tmp_path / "cache")
        assert [one.name for one in found.documents] == ["nodepools.karpenter.sh"]
        assert found.charts_without == ("argo-workflows",)
    assert (folder / "asked").read_text().splitlines() == [f"mod download -json {KARPENTER}"]
    shutil.rmtree(tmp_path / "cache")


def test_a_module_with_another_content_is_refused_and_not_kept(tmp_path: Path, fake_go):
    fake_go(digest="h1:other=")
    with pytest.raises(BuildError, match=r"adds up to h1:other= and not to h1:WGt"):
        crd_files(None, {"karpenter-crd"}, tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


def test_a_module_that_cannot_be_reached_is_told_with_the_way_out(tmp_path: Path, fake_go):
    fake_go(then='answer = {"Error": "dial tcp: i/o timeout"}; print(json.dumps(answer)); sys.exit(1)')
    with pytest.raises(BuildError, match=r"(?s)karpenter-provider-aws@v1.14.1.*i/o timeout.*GOPROXY.*folder"):
        crd_files(None, {"karpenter-crd"}, tmp_path / "cache")


def test_without_go_the_way_out_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BuildError, match=r"No `go` command .* karpenter-crd .*\n.*folder that holds CRDs"):
        crd_files(None, {"karpenter-crd"}, tmp_path / "cache")


def test_a_module_without_crds_is_refused(tmp_path: Path, fake_go):
    folder = fake_go()
    shutil.rmtree(folder / "module" / KARPENTER.folder)
    with pytest.raises(BuildError, match=r"has no CRDs in pkg/apis/crds"):
        crd_files(None, {"karpenter-crd"}, tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


def test_every_module_is_for_a_chart_that_brings_crds():
    charts = [module.chart for module in MODULES]
    assert len(set(charts)) == len(charts)
    assert {*charts} <= {*CRDS.values()}
    assert {*CRDS.values()} >= CRDS_ONLY


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("go") is None, reason="there is no Go to download modules with")
def test_the_modules_hold_what_the_projects_publish(tmp_path: Path):
    try:
        found = crd_files(None, cache=tmp_path)
    except BuildError as error:
        if "could not be downloaded" not in str(error):
            raise
        pytest.skip(f"a module proxy is not at hand: {error}")
    given = {CRDS[one.group] for one in found.documents}
    assert given == {module.chart for module in MODULES}, "each module has CRDs of the chart that the table names"
    if SCHEMAS.exists():
        published = {one.name: one.text for one in crd_files(SCHEMAS).documents}
        of_the_release = [one for one in found.documents if CRDS[one.group] not in ("external-secrets", "keda")]
        assert not [one.name for one in of_the_release if published.get(one.name, one.text) != one.text]
    names = {one.name for one in found.documents}
    assert {f"{kind}.external-secrets.io" for kind in ("externalsecrets", "clustersecretstores")} <= names
