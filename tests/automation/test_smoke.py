"""Smoke tests: which ones a stack gets, what is said of those that do not pass, and that nothing of them stays."""

import io
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from rich.console import Console

from automation.cluster_client import Cluster, reach, stand_in_for_aws
from automation.engine import find_engine, find_kubernetes
from automation.errors import EksaiError, EngineError
from automation.project import Project
from automation.smoke import NAMESPACE, UNTIL, Outcome, Result, last_warnings, run, why_unplaced
from automation.smoke_jobs import Kind, SmokeJob, smoke_jobs
from automation.smoke_view import as_json, print_outcomes
from automation.stacks import open_local
from components.compute import instance_types
from localcloud.cluster import kinds
from policies.rules.judging.pod_placement import fits
from settings import Settings, validate
from tests.plans import planned
from tools.scratch import scratch_project

ROOT = Path(__file__).parents[2]


def settings(stack: str, **changes: Any) -> Settings:
    """A stack's settings, with sections changed: `nodePools={...}` is merged into its file's, None removes them."""
    config = yaml.safe_load((ROOT / f"Pulumi.{stack}.yaml").read_text(encoding="utf-8"))["config"]
    for section, change in changes.items():
        key = f"eksai:{section}"
        config[key] = {**config.get(key, {}), **(change or {})}
        if change is None:
            del config[key]
    return validate({key: json.dumps(value) for key, value in config.items()}, stack=stack, local=True)


def named(jobs: list[SmokeJob]) -> dict[str, SmokeJob]:
    return {job.name: job for job in jobs}


def pod_of(job: SmokeJob) -> Any:
    return job.job["spec"]["template"]["spec"]


def limits_of(job: SmokeJob) -> Any:
    return pod_of(job)["containers"][0]["resources"]["limits"]


POOL = {"instanceTypes": ["g5.xlarge"], "limits": {"cpu": "8", "memory": "32Gi", "accelerators": 2}}


def test_a_stack_gets_a_test_for_each_way_to_ask_for_its_devices_and_one_for_its_volumes():
    assert list(named(smoke_jobs(settings("dev")))) == ["nvidia-gpu", "storage"]
    assert list(named(smoke_jobs(settings("prod")))) == ["nvidia-gpu", "nvidia-gpu-shared", "neuron", "efa", "storage"]


@pytest.mark.parametrize("stack", ["dev", "prod"])
def test_every_test_fits_a_pool_of_its_stack(stack: str):
    made = planned(stack).made
    pools = {one.name: one.inputs for one in made if one.type.endswith(":NodePool")}
    overlays = [one.inputs for one in made if one.type.endswith(":NodeOverlay")]
    types = {name: asdict(row) for name, row in instance_types.table().items()}

    for job in smoke_jobs(settings(stack)):
        if job.kind is not Kind.STORAGE:
            placement = fits(job.job["spec"]["template"], pools, types, overlays)
            assert placement.fitting, f"{job.name}: {placement.refused}"


def test_a_test_of_shared_gpus_asks_for_a_share_and_tolerates_the_taint_of_whole_ones():
    job = named(smoke_jobs(settings("prod")))["nvidia-gpu-shared"]

    assert limits_of(job)["nvidia.com/gpu.shared"] == "1"
    assert "nvidia.com/gpu" in [one["key"] for one in pod_of(job)["tolerations"]], "Kubernetes adds it for whole GPUs"


def test_a_test_tolerates_its_pools_taints_but_not_those_of_nodes_that_are_not_ready_yet():
    pool = {**POOL, "taints": {"team": {"value": "a"}}, "startupTaints": {"not-ready": {}}}
    job = named(smoke_jobs(settings("dev", nodePools={"tainted": pool})))["nvidia-gpu"]

    keys = [one["key"] for one in pod_of(job)["tolerations"]]
    assert "team" in keys
    assert "not-ready" not in keys


def test_the_two_pods_of_efa_run_on_two_nodes_of_the_efa_group():
    job = named(smoke_jobs(settings("prod"), [Kind.EFA]))["efa"]
    (apart,) = pod_of(job)["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]

    assert job.job["spec"]["parallelism"] == job.job["spec"]["completions"] == 2
    assert apart["topologyKey"] == "kubernetes.io/hostname"
    assert apart["labelSelector"]["matchLabels"].items() <= job.job["spec"]["template"]["metadata"]["labels"].items()
    assert pod_of(job)["nodeSelector"]["vpc.amazonaws.com/efa.present"] == "true"


def test_images_are_pinned_to_a_version():
    for job in smoke_jobs(settings("prod")):
        for container in [*pod_of(job)["containers"], *pod_of(job).get("initContainers", [])]:
            _, _, tag = container["image"].rpartition(":")
            assert any(letter.isdigit() for letter in tag), container["image"]


def test_what_a_stack_does_not_have_is_not_tried_and_refused_when_it_is_named():
    with pytest.raises(EksaiError, match=r"nothing to try for neuron.*It has: nvidia, storage"):
        smoke_jobs(settings("dev"), [Kind.NVIDIA, Kind.NEURON])

    no_data = {chart: {"enabled": False} for chart in ("milvus", "langfuse")}
    driverless = {"aws-ebs-csi-driver": {"enabled": False}}
    without = settings("dev", addons=driverless, platform=no_data, milvus=None, langfuse=None)
    assert list(named(smoke_jobs(without))) == ["nvidia-gpu"]


def event(source: str, message: str, minute: int, **about: str) -> dict[str, Any]:
    return {
        "type": "Warning",
        "reason": "FailedScheduling",
        "message": message,
        "source": {"component": source},
        "involvedObject": {"kind": "Pod", "name": "a", **about},
        "lastTimestamp": f"2026-11-30T10:{minute:02}:00Z",
    }


def test_of_the_warnings_about_a_pod_the_last_of_each_source_counts():
    events = [
        event("default-scheduler", "now", 2),
        event("default-scheduler", "before", 1),
        event("karpenter", "no pool", 1),
        event("karpenter", "of another", 3, name="b"),
    ]

    told = last_warnings([{"kind": "Pod", "metadata": {"name": "a"}}], events)

    assert sorted(told) == ["default-scheduler: now", "karpenter: no pool"]


def test_an_event_of_the_newer_form_tells_its_source_as_well():
    newer = event("", "no room", 1) | {
        "source": {},
        "reportingComponent": "default-scheduler",
        "lastTimestamp": None,
        "eventTime": "2026-11-30T10:00:00.123456Z",
    }

    assert last_warnings([{"kind": "Pod", "metadata": {"name": "a"}}], [newer]) == ["default-scheduler: no room"]


def node_pool(instance_type: str) -> dict[str, Any]:
    requirement = {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": [instance_type]}
    return {"spec": {"template": {"spec": {"requirements": [requirement]}}, "limits": {"cpu": "100"}}}


def test_pools_that_refuse_a_pod_for_one_reason_share_a_line():
    pod = {
        "kind": "Pod",
        "metadata": {"name": "a"},
        "spec": {"containers": [{"resources": {"requests": {"nvidia.com/gpu": "1"}}}]},
    }
    pools = {"a": node_pool("m7i.xlarge"), "b": node_pool("m7i.2xlarge")}
    events = [event("default-scheduler", "0/2 nodes", 1), event("karpenter", "all of it once more", 1)]

    scheduler, line = why_unplaced([pod], [pod], events, pools, [])
    assert scheduler == "default-scheduler: 0/2 nodes"
    assert line.startswith("a, b: The pod asks for 1 nvidia.com/gpu")

    *_, karpenter, last = why_unplaced([pod], [pod], events, {**pools, "c": node_pool("g5.xlarge")}, [])
    assert karpenter == "karpenter: all of it once more", "it alone knows why there is no node of a pool that fits"
    assert last == "By their declaration nodes of c would do; none came in time."


OUTCOMES = [
    Outcome(Kind.NVIDIA, "nvidia-gpu", Result.NOT_SCHEDULED, (), 900.4, ("gpu: " + "no room for it " * 8,)),
    Outcome(Kind.STORAGE, "storage", Result.PASSED, ("ip-10-0-1-2.us-west-2.compute.internal",), 12.0),
]


def test_each_test_has_a_line_with_result_node_and_time_and_its_reasons_below():
    screen = Console(width=80, record=True, file=io.StringIO())
    print_outcomes(OUTCOMES, screen, stack="dev", place="AWS")
    head, failed, *reasons, passed = screen.export_text().splitlines()

    assert "1 of 2 passed" in head
    assert failed.split() == ["nvidia-gpu", "not", "scheduled", "no", "node", "15:00"]
    assert all(line.startswith("    ") for line in reasons)
    assert passed.split() == ["storage", "passed", "ip-10-0-1-2", "0:12"]
    assert all(len(line) <= 80 for line in (head, failed, *reasons, passed))


def test_as_json_says_whether_all_have_passed():
    assert json.loads(as_json("dev", OUTCOMES))["passed"] is False
    assert json.loads(as_json("dev", OUTCOMES[1:])) == {
        "kind": "smoke",
        "stack": "dev",
        "passed": True,
        "tests": [
            {
                "kind": "storage",
                "name": "storage",
                "result": "passed",
                "nodes": ["ip-10-0-1-2.us-west-2.compute.internal"],
                "seconds": 12.0,
                "reasons": [],
            }
        ],
    }


def eksai(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from automation.cli import main; main()", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)


def test_a_simulated_kubernetes_is_refused_before_anything_starts(tmp_path: Path):
    project = scratch_project(tmp_path)

    answer = eksai("smoke", "dev", "--local", "--json", "-C", str(project.root))

    assert answer.returncode == 1
    assert "add --kubernetes" in answer.stderr
    assert json.loads(answer.stdout)["error"] == "EksaiError"
    assert not (project.root / ".local").exists()


def test_wrong_kinds_are_wrong_usage():
    assert eksai("smoke", "dev", "teapot").returncode == 2
    assert eksai("smoke", "dev", "--kubernetes").returncode == 2


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return scratch_project(tmp_path)


@pytest.fixture
def cluster(project: Project) -> Iterator[Cluster]:
    """The cluster of `dev` on a local cloud with a real Kubernetes; all of it is destroyed afterwards."""
    try:
        engine = find_engine()
        find_kubernetes()
    except EngineError as error:
        pytest.skip(str(error).splitlines()[0])
    with open_local(project, "dev", engine, kubernetes=True) as stack:
        stack.up()
        with reach(stack, aws=stand_in_for_aws(project, "dev")) as cluster:
            yield cluster
        assert set(stack.destroy().changes) == {"delete"}


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_on_a_real_kubernetes_tests_get_nodes_and_pass_or_say_why_not(project: Project, cluster: Cluster):
    answer = eksai("smoke", "dev", "--local", "--kubernetes", "--json", "--timeout", "50", "-C", str(project.root))
    assert answer.returncode == 0, answer.stdout + answer.stderr
    gpu, storage = json.loads(answer.stdout)["tests"]
    assert gpu["result"] == storage["result"] == "passed"
    assert gpu["nodes"] != storage["nodes"], "the pool made a node for the GPU, volumes are tried on the others"
    _nothing_is_left(cluster)

    said: list[str] = []
    (fits_none,) = smoke_jobs(settings("dev"), [Kind.NVIDIA])
    limits_of(fits_none)["nvidia.com/gpu"] = "64"
    pod_of(fits_none)["containers"][0]["resources"]["requests"]["nvidia.com/gpu"] = "64"
    (outcome,) = run(cluster, [fits_none], timeout_s=8, report=said.append)
    assert outcome.result is Result.NOT_SCHEDULED
    assert any(reason.startswith("default-scheduler: 0/") for reason in outcome.reasons)
    assert any("gpu-a10g-inference-g5: The pod asks for 64 nvidia.com/gpu" in reason for reason in outcome.reasons)
    assert said == ["nvidia-gpu waits for a node", "cleaning up"]
    _nothing_is_left(cluster)

    def interrupt(line: str) -> None:
        if "waits" in line:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(cluster, [fits_none], timeout_s=30, report=interrupt)
    _nothing_is_left(cluster)

    _take_namespace(cluster, until=datetime.now(UTC) + timedelta(minutes=5))
    with pytest.raises(EksaiError, match="Another smoke test is at work"):
        run(cluster, [fits_none], timeout_s=1, report=said.append)
    cluster.delete(kinds.NAMESPACE, NAMESPACE)
    _take_namespace(cluster, until=datetime.now(UTC) - timedelta(minutes=5))
    (passed,) = run(cluster, smoke_jobs(settings("dev"), [Kind.STORAGE]), timeout_s=50, report=said.append)
    assert passed.result is Result.PASSED, "what a killed run has left is in nobody's way"


def _nothing_is_left(cluster: Cluster) -> None:
    assert cluster.find(kinds.NAMESPACE, NAMESPACE) is None
    claimed = [volume["spec"].get("claimRef", {}).get("namespace") for volume in cluster.all(kinds.VOLUME)]
    assert NAMESPACE not in claimed, "volumes of the stack's own stay, those of the tests go"


def _take_namespace(cluster: Cluster, *, until: datetime) -> None:
    """Leaves a namespace as a run does that was killed."""
    _await_end(cluster)
    item = {"metadata": {"name": NAMESPACE, "annotations": {UNTIL: until.isoformat(timespec="seconds")}}}
    cluster.create(kinds.NAMESPACE, item)


def _await_end(cluster: Cluster) -> None:
    deadline = time.monotonic() + 30
    while cluster.find(kinds.NAMESPACE, NAMESPACE) is not None:
        assert time.monotonic() < deadline
        time.sleep(0.2)
