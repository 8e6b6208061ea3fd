"""`eksai plan`: the real program in this process, and its files."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from rich.console import Console

from automation.errors import ConfigError, ProgramFailed, UnknownStack
from automation.findings import Finding
from automation.plan import Plan, make_plan
from automation.plan_files import MARKER, OccupiedFolder, masked, write_plan
from automation.plan_view import print_plan, summary
from automation.project import Project
from automation.results import MASK
from localcloud.kubernetes import RELEASE
from localcloud.values import UNKNOWN, Secret
from tests.plans import planned
from tests.rogue import RULES, rogue_project
from tools.scratch import ROOT, scratch_project

REFUSAL = Finding("gpu-tainted", "mandatory", "high", "urn:pulumi:dev::eksai::t::gpu", "no taint", "Add the taint.")


@pytest.fixture(scope="module")
def plan() -> Plan:
    return planned("dev")


def shown(plan: Plan, folder: Path | None = None) -> str:
    console = Console(width=80, record=True, file=open("/dev/null", "w", encoding="utf-8"))  # noqa: SIM115
    with console.file:
        print_plan(plan, console, folder)
    return console.export_text()


def test_the_tree_counts_what_each_component_holds(plan: Plan):
    lines = shown(plan).splitlines()
    assert lines[0] == f"plan of dev: {len(plan.made)} resources"
    (network,) = (line for line in lines if " network " in line)
    assert network.split()[-1] == str(sum("Network$" in r.urn for r in plan.made))
    top = [line for line in lines if line.startswith(("├", "└"))]
    assert sum(int(line.split()[-1]) for line in top) == len(plan.made), "every resource is in one of the components"


def test_numbers_stand_in_one_column_and_no_line_is_longer_than_the_screen(plan: Plan):
    lines = [line for line in shown(plan).splitlines() if line.startswith(("├", "└", "│"))]
    assert len({len(line) for line in lines}) == 1
    assert all(len(line) <= 80 for line in shown(plan).splitlines())


def test_documentation_values_are_announced(plan: Plan):
    assert any("eksai:aws.accountId" in notice for notice in plan.notices)


def test_a_mandatory_finding_refuses_the_plan_and_says_what_to_do(plan: Plan):
    refused = replace(plan, findings=(REFUSAL,))
    assert refused.is_refused
    assert all(text in shown(refused) for text in ("gpu-tainted", "mandatory", "no taint", "Add the taint."))
    assert not replace(plan, findings=(replace(REFUSAL, level="advisory"),)).is_refused


def test_an_untainted_pool_and_an_unencrypted_volume_are_refused(tmp_path: Path):
    planned = make_plan(rogue_project(tmp_path), "dev")
    assert planned.is_refused
    assert {finding.rule for finding in planned.findings} == RULES
    assert all(finding.urn.endswith("::rogue") for finding in planned.findings)


def test_the_summary_is_json_with_everything_that_a_program_asks_for(plan: Plan):
    found = json.loads(json.dumps(summary(plan, None)))
    assert found["resources"] == len(plan.made) == sum(found["types"].values())
    (pool,) = [c for c in found["components"] if c["name"] == "gpu-a10g-inference-g5"]
    assert pool["resources"] == 2
    assert len(found["components"]) == len(plan.components), "also those that share a name"
    assert found["refused"] is False


def test_every_kubernetes_object_is_a_manifest_of_its_own(plan: Plan, tmp_path: Path):
    write_plan(plan, tmp_path / "out")
    manifests = sorted((tmp_path / "out" / "manifests").iterdir())
    objects = [made for made in plan.made if made.type.startswith("kubernetes:") and made.type != RELEASE]
    assert len(manifests) == len(objects) > 10
    assert {
        "cluster-clustersecretstore-aws.yaml",
        "cluster-ec2nodeclass-gpu-a10g-inference-g5.yaml",
        "cluster-namespace-external-secrets.yaml",
        "cluster-storageclass-gp3.yaml",
        "ml-pipelines-workflowtemplate-ml-training-pipeline.yaml",
        "ray-system-raycluster-ml-cluster.yaml",
    } <= {manifest.name for manifest in manifests}
    for manifest in manifests:
        content = yaml.safe_load(manifest.read_text(encoding="utf-8"))
        assert content.keys() >= {"apiVersion", "kind", "metadata"}


def test_every_resource_is_in_the_files(plan: Plan, tmp_path: Path):
    write_plan(plan, tmp_path / "out")
    entries = json.loads((tmp_path / "out" / "resources.json").read_text(encoding="utf-8"))
    assert len(entries) == len(plan.resources)
    assert all(e.keys() == {"urn", "type", "name", "parent", "inputs", "dependencies"} for e in entries)
    assert json.loads((tmp_path / "out" / "policies.json").read_text(encoding="utf-8")) == []


def test_every_release_has_its_chart_and_its_values(plan: Plan, tmp_path: Path):
    write_plan(plan, tmp_path / "out")
    charts = json.loads((tmp_path / "out" / "charts.json").read_text(encoding="utf-8"))
    by_release = {chart["release"]: chart for chart in charts}
    karpenter = by_release["karpenter"]
    assert karpenter["repository"] == "oci://public.ecr.aws/karpenter"
    assert (karpenter["chart"], karpenter["namespace"]) == ("karpenter", "kube-system")
    values = yaml.safe_load((tmp_path / "out" / karpenter["values"]).read_text(encoding="utf-8"))
    assert values["settings"]["clusterName"] == "eksai-dev"


def test_two_plans_write_the_same_files(tmp_path: Path):
    for name in ("one", "two"):
        write_plan(make_plan(Project(ROOT), "prod"), tmp_path / name)
    files = sorted(p.relative_to(tmp_path / "one") for p in (tmp_path / "one").rglob("*") if p.is_file())
    assert files
    assert all((tmp_path / "one" / f).read_bytes() == (tmp_path / "two" / f).read_bytes() for f in files)


def test_secrets_and_unknowns_are_told_apart_from_values():
    given = {"a": Secret("s"), "b": [UNKNOWN, {"c": Secret({"d": 1})}], "e": 1}
    assert masked(given) == {"a": MASK, "b": ["[known after up]", {"c": MASK}], "e": 1}


def test_no_file_holds_the_kubeconfig_in_the_clear(plan: Plan, tmp_path: Path):
    write_plan(plan, tmp_path / "out")
    ours = [
        e for e in json.loads((tmp_path / "out" / "resources.json").read_text()) if e["name"] == "cluster-kubernetes"
    ]
    assert ours[0]["inputs"]["kubeconfig"] == MASK


def test_a_folder_with_other_files_is_refused_and_untouched(plan: Plan, tmp_path: Path):
    (tmp_path / "thesis.txt").write_text("years of work", encoding="utf-8")
    with pytest.raises(OccupiedFolder, match="no plan wrote it"):
        write_plan(plan, tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_file_in_place_of_the_folder_is_refused(plan: Plan, tmp_path: Path):
    (tmp_path / "out").write_text("", encoding="utf-8")
    with pytest.raises(OccupiedFolder):
        write_plan(plan, tmp_path / "out")


def test_the_next_plan_replaces_what_the_last_one_wrote_and_nothing_else(plan: Plan, tmp_path: Path):
    out = tmp_path / "out"
    write_plan(plan, out)
    (out / "notes.txt").write_text("mine", encoding="utf-8")
    fewer = replace(plan, resources=tuple(r for r in plan.resources if "gpu-a10g" not in r.name))
    write_plan(fewer, out)
    assert not list(out.rglob("*gpu-a10g*"))
    assert (out / "notes.txt").read_text(encoding="utf-8") == "mine"
    assert "notes.txt" not in (out / MARKER).read_text(encoding="utf-8")


def test_a_config_with_mistakes_is_refused_before_the_program_runs(tmp_path: Path):
    project = scratch_project(tmp_path)
    file = project.stack_file("dev")
    file.write_text(file.read_text(encoding="utf-8").replace("g5.xlarge", "g5.xlrage"), encoding="utf-8")
    with pytest.raises(ConfigError, match=r"did you mean g5\.xlarge"):
        make_plan(project, "dev")


def test_an_unknown_stack_is_told_which_there_are():
    with pytest.raises(UnknownStack, match="dev, prod"):
        make_plan(Project(ROOT), "no-such-stack")


def test_what_no_provider_would_accept_fails_with_its_reason(tmp_path: Path):
    project = scratch_project(tmp_path)
    (tmp_path / "__main__.py").write_text('import pulumi_aws as aws\naws.ec2.Vpc("v", cidr_block="10.0.0.0/8")\n')
    file = tmp_path / "Pulumi.yaml"
    file.write_text(file.read_text(encoding="utf-8").replace(f"main: {ROOT}", "main: ."), encoding="utf-8")
    with pytest.raises(ProgramFailed, match=r"10\.0\.0\.0/8"):
        make_plan(project, "dev")


def test_the_command_exits_with_1_for_a_wrong_config_and_prints_no_traceback(tmp_path: Path):
    project = scratch_project(tmp_path)
    project.stack_file("dev").write_text("config:\n  eksai:netwrok: {}\n", encoding="utf-8")
    command = [sys.executable, "-c", "from automation.cli import main; main()", "plan", "dev", "-C", str(tmp_path)]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env={"PATH": "", "COLUMNS": "80"})
    assert ran.returncode == 1
    assert "did you mean eksai:network?" in ran.stderr
    assert "Traceback" not in ran.stderr
