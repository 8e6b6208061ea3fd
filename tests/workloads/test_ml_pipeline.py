"""The training pipeline: a run of its DAG, its manifests, its pods and its rights."""

import gzip
import itertools
import json
import re
import tomllib
from dataclasses import asdict
from functools import cache
from typing import Any

import pytest
import yaml

from components.compute import instance_types
from components.compute.node_pools import node_pool_spec
from components.platform.argo_workflows import ArgoWorkflows, ArgoWorkflowsArgs
from components.platform.catalog import CHARTS
from components.release import read_chart
from components.workloads.ml_pipeline import MlPipeline, MlPipelineArgs
from components.workloads.ml_pipeline_template import RAY_VERSION
from localcloud.authorization import Request, grants
from policies.rules.judging.pod_placement import fits
from schema import ml_pipeline
from schema.pool_charts import described
from tests.compute.crds import FOLDER, violations
from tests.platform.pools import ROOT, not_tolerated, stack
from tests.workloads.argo_dag import Unresolved, Walk, filled_in, walk
from tests.world import Built, run

STEPS = ["validate", "preprocess", "tune", "train", "evaluate", "register"]
PROD = stack("prod")
SERVICE = ROOT / "services" / "ml-pipeline"
IMAGE = "444455556666.dkr.ecr.us-west-2.amazonaws.com/ml-pipeline:0.1.0"
KEY = "arn:aws:kms:us-west-2:444455556666:key/11111111-2222-3333-4444-555555555555"
TYPES = {name: asdict(row) for name, row in instance_types.table().items()}


def built(**changes: Any) -> Built[MlPipeline]:
    """The pipeline on pools of prod.

    Args:
        changes: settings that differ, in a stack file's spelling.
    """
    declared = {"enabled": True, "pools": ["general"], "rayPools": ["general"], **changes}
    args = MlPipelineArgs(
        **ml_pipeline.MlPipeline.model_validate(declared).model_dump(),
        cluster_name="eksai-prod",
        region="us-west-2",
        all_pools={pool.name: pool for pool in described(PROD.node_pools)},
        image=IMAGE,
        key_arn=KEY,
        model_bucket="models-1",
        runs_bucket="artifacts-1",
    )
    return run(lambda: MlPipeline("ml-pipeline", args))


@cache
def template(gpus: int = 0) -> dict[str, Any]:
    """What was registered as the WorkflowTemplate's spec."""
    pools = {"gpus": gpus, "rayPools": ["gpu-a10g"]} if gpus else {}
    return built(**pools).only("kubernetes:argoproj.io/v1alpha1:WorkflowTemplate").inputs["spec"]


def going(accuracy: str = "0.974", failing: str | None = None):
    """Work that succeeds with an accuracy, but for one template."""
    outputs = {"validate": {"data-version": "abc"}, "evaluate": {"accuracy": accuracy}}

    def work(step: Any) -> dict[str, str] | None:
        return None if step["name"] == failing else outputs.get(step["name"], {})

    return work


def walked(accuracy: str = "0.974", **parameters: str) -> Walk:
    return walk(template(), going(accuracy), **parameters)


def jobs(gpus: int = 0) -> dict[str, dict[str, Any]]:
    """The RayJobs of a run, as they reach Kubernetes, by step."""
    done = walk(template(gpus), going()).templates
    return {name: yaml.safe_load(done[name]["resource"]["manifest"]) for name in ("tune", "train")}


# The DAG.


def test_the_steps_run_one_after_the_other():
    done = walked()
    assert done.ran == STEPS
    assert set(done.status.values()) == {"Succeeded"}


@pytest.mark.parametrize(
    ("accuracy", "least", "fate"),
    [
        ("0.950001", "0.95", "Succeeded"),
        ("0.950000", "0.95", "Skipped"),
        ("0.949999", "0.95", "Skipped"),
        ("0.974074", "0.98", "Skipped"),
        ("1.000000", "0.95", "Succeeded"),
    ],
)
def test_a_model_is_registered_only_above_the_least_accuracy(accuracy: str, least: str, fate: str):
    done = walked(accuracy, minimum_accuracy=least)
    assert done.status["register"] == fate
    assert done.ran[:5] == STEPS[:5]


@pytest.mark.parametrize("failing", STEPS)
def test_nothing_runs_after_a_step_that_failed(failing: str):
    done = walk(template(), going(failing=failing))
    place = STEPS.index(failing)
    assert done.ran == STEPS[: place + 1]
    assert [done.status[step] for step in STEPS[place + 1 :]] == ["Omitted"] * (5 - place)


def test_a_run_without_parameters_takes_those_of_the_settings():
    arguments = {one["name"]: one["value"] for one in template()["arguments"]["parameters"]}
    assert arguments == {
        "dataset": "s3://models-1/datasets/digits.csv",
        "model-name": "digits",
        "minimum-accuracy": "0.95",
        "workers": "2",
        "samples": "20",
        "epochs": "30",
        "batch-size": "32",
        "seed": "1",
    }


def test_what_a_run_is_told_reaches_every_step_that_needs_it():
    done = walked(dataset="s3://other/x.npz", workers="5", epochs="7", model_name="cancer", seed="9").templates
    for step in ("validate", "preprocess"):
        assert option(done[step], "dataset") == "s3://other/x.npz"
    assert option(done["preprocess"], "data-version") == "abc", "what was validated is what is split"
    assert option(done["register"], "model-name") == "cancer"
    assert option(done["register"], "models") == "s3://models-1/models"
    assert option(done["register"], "minimum-accuracy") == "0.95"
    for step in ("tune", "train"):
        job = yaml.safe_load(done[step]["resource"]["manifest"])["spec"]
        assert "--epochs 7" in job["entrypoint"]
        assert "--seed 9" in job["entrypoint"]
        (group,) = job["rayClusterSpec"]["workerGroupSpecs"]
        assert {group[key] for key in ("replicas", "minReplicas", "maxReplicas")} == {5}
    assert "--workers 5" in job["entrypoint"]


def test_all_steps_of_a_run_share_one_folder_that_is_no_other_runs():
    done = walked().templates
    folders = {option(done[step], "run") for step in ("preprocess", "evaluate", "register")}
    folders |= {re.search(r"--run (\S+)", job["spec"]["entrypoint"])[1] for job in jobs().values()}  # type: ignore[index]
    assert folders == {"s3://artifacts-1/ml-pipeline/runs/0f8fad5b-d9cb-469f-a165-70867728950e"}


def checked_as(option: str) -> set[str]:
    """The parameters that `validate` is told to check as one kind."""
    given = walked().templates["validate"]["container"]["args"]
    return {pair.partition("=")[0] for word, pair in itertools.pairwise(given) if word == option}


def test_every_number_that_reaches_a_manifest_is_checked_first():
    used = {name for text in manifests() for name in re.findall(r"{{workflow\.parameters\.([\w-]+)}}", text)}
    assert used <= checked_as("--number"), "a text there could break out of the command, and a fraction counts nothing"
    assert checked_as("--rate") == {"minimum-accuracy"}


def manifests() -> list[str]:
    return [one["resource"]["manifest"] for one in template()["templates"] if "resource" in one]


def option(step: Any, name: str) -> str:
    arguments = step["container"]["args"]
    return arguments[arguments.index(f"--{name}") + 1]


def test_every_template_is_defined_once_and_used():
    names = [one["name"] for one in template()["templates"]]
    assert len(names) == len(set(names))
    used = {task["template"] for task in template()["templates"][0]["dag"]["tasks"]}
    assert used | {template()["entrypoint"]} == set(names)


def test_every_volume_that_is_mounted_is_there():
    for one in walked().templates.values():
        pods = [one] if "container" in one else []
        if "resource" in one:
            cluster = yaml.safe_load(one["resource"]["manifest"])["spec"]["rayClusterSpec"]
            pods = [group["template"]["spec"] for group in (cluster["headGroupSpec"], *cluster["workerGroupSpecs"])]
        assert pods
        for pod in pods:
            mounts = [
                m["name"] for c in (pod.get("container"), *pod.get("containers", [])) if c for m in c["volumeMounts"]
            ]
            assert mounts
            assert set(mounts) <= {volume["name"] for volume in pod["volumes"]}


def test_the_evaluator_refuses_what_no_task_has_put_out():
    with pytest.raises(Unresolved, match=r"tasks\.evaluate\.outputs\.parameters\.accuracy"):
        filled_in({"when": "{{tasks.evaluate.outputs.parameters.accuracy}} > 0"}, {"workflow.name": "x"})


# The command that the steps call is the one of the package.


def test_the_package_knows_every_option_that_a_step_is_given():
    text = (SERVICE / "ml_pipeline" / "cli.py").read_text(encoding="utf-8")
    done = walked().templates
    commands = [done[step]["container"]["args"] for step in STEPS if "container" in done[step]]
    commands += [job["spec"]["entrypoint"].split()[1:] for job in jobs().values()]
    for command in commands:
        assert f'step("{command[0]}"' in text
        for word in command:
            if word.startswith("--"):
                assert f'"{word}"' in text, f"{command[0]} has no option {word}"


def test_ray_and_version_are_those_of_the_package():
    pins = (SERVICE / "constraints.txt").read_text(encoding="utf-8")
    assert re.search(r"^ray==(.+)$", pins, re.M)[1] == RAY_VERSION  # type: ignore[index]
    project = tomllib.loads((SERVICE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert ml_pipeline.MlPipeline().version == project["version"]


# Manifests.


@cache
def published(kind: str) -> dict[str, Any]:
    """The schema of a kind's spec; skips the test where it is not at hand."""
    packed = FOLDER.parent / "crds-gz" / f"{kind}.yaml.gz"
    plain = FOLDER / f"{kind}.yaml"
    if not (packed.exists() or plain.exists()):
        pytest.skip(f"the CRD {kind} is not at hand: {packed}")
    text = gzip.decompress(packed.read_bytes()).decode() if packed.exists() else plain.read_text(encoding="utf-8")
    return yaml.load(text, yaml.CSafeLoader)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]


def test_the_template_fits_its_definition():
    assert violations(published("argoproj.io_workflowtemplate"), template()) == []


@pytest.mark.parametrize("gpus", [0, 1])
def test_the_ray_jobs_fit_their_definition(gpus: int):
    for name, job in jobs(gpus).items():
        assert violations(published("ray.io_rayjob"), job["spec"]) == [], name


def test_a_ray_jobs_name_is_one_that_kuberay_takes():
    for step, job in jobs().items():
        assert re.fullmatch(rf"{step}-[a-z0-9-]{{1,41}}", job["metadata"]["name"])
        assert len(job["metadata"]["name"]) <= 47


def test_a_ray_job_ends_with_its_workflow_and_its_cluster_with_its_work():
    for one in template()["templates"]:
        if "resource" in one:
            assert one["resource"]["setOwnerReference"] is True
            assert one["resource"]["action"] == "apply", "a step whose pod was lost finds its job again"
    for job in jobs().values():
        assert job["spec"]["shutdownAfterJobFinishes"] is True
        assert job["spec"]["activeDeadlineSeconds"] > job["spec"]["ttlSecondsAfterFinished"]


def test_a_ray_cluster_is_one_ray_and_runs_nothing_for_strangers():
    for job in jobs().values():
        cluster = job["spec"]["rayClusterSpec"]
        assert cluster["rayVersion"] == RAY_VERSION
        assert cluster["authOptions"] == {"mode": "token"}
        assert cluster["headGroupSpec"]["rayStartParams"]["num-cpus"] == "0"
        images = {container["image"] for pod in ray_pods(job) for container in pod["spec"]["containers"]}
        assert images == {IMAGE}


# Pods.


def ray_pods(job: Any) -> list[dict[str, Any]]:
    cluster = job["spec"]["rayClusterSpec"]
    return [cluster["headGroupSpec"]["template"], *(group["template"] for group in cluster["workerGroupSpecs"])]


def step_pods() -> list[dict[str, Any]]:
    """The pods of steps, with the container that Argo puts beside each."""
    beside = {"name": "wait", "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}}}
    steps = list(walked().templates.values())
    return [{"spec": {**one, "containers": [one.get("container", {}), beside]}} for one in steps]


def judged(pod: Any) -> tuple[str, ...]:
    pools = {
        name: {"spec": node_pool_spec(name, pool.model_dump())}  # type: ignore[arg-type]
        for name, pool in PROD.node_pools.items()
        if pool.provisioner == "karpenter"
    }
    return fits(pod, pools, TYPES).fitting


def test_every_pod_runs_on_the_pools_that_it_is_meant_for_and_on_no_others():
    for pod in (*step_pods(), *(pod for job in jobs().values() for pod in ray_pods(job))):
        assert judged(pod) == ("general",)


def test_workers_with_gpus_run_where_there_are_some():
    for job in jobs(gpus=1).values():
        head, worker = ray_pods(job)
        assert judged(head) == ("general",)
        assert judged(worker) == ("gpu-a10g",)
        assert worker["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == "1"
        taints = [taint for pool in described(PROD.node_pools) if pool.name == "gpu-a10g" for taint in pool.taints]
        assert not_tolerated(taints, worker["spec"]["tolerations"]) == []


def test_every_container_is_one_that_pod_security_calls_restricted():
    specs: list[Any] = [pod["spec"] for job in jobs().values() for pod in ray_pods(job)]
    specs += [{**one, "securityContext": template()["securityContext"]} for one in walked().templates.values()]
    for spec in specs:
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in filter(None, (spec.get("container"), *spec.get("containers", []))):
            security = container["securityContext"]
            assert security["allowPrivilegeEscalation"] is False
            assert security["capabilities"] == {"drop": ["ALL"]}
            assert container["resources"]["requests"].keys() >= {"cpu", "memory"}
            assert "memory" in container["resources"]["limits"]
            assert all("hostPath" not in volume for volume in spec["volumes"])


def test_karpenter_moves_no_pod_of_a_run():
    undisturbed = {"karpenter.sh/do-not-disrupt": "true"}
    assert template()["podMetadata"]["annotations"] == undisturbed
    assert all(pod["metadata"]["annotations"] == undisturbed for job in jobs().values() for pod in ray_pods(job))


def test_the_pods_of_a_run_are_found_by_its_name():
    for job in jobs().values():
        for one in (job, *ray_pods(job)):
            labels = one["metadata"]["labels"]
            assert labels["eksai.dev/workflow"] == "ml-training-pipeline-abcde"
            assert not [label for label in labels if label.startswith("workflows.argoproj.io/")], "Argo's are of steps"


def test_a_step_that_says_what_is_wrong_is_not_asked_again():
    retried = {one["name"]: one["retryStrategy"] for one in template()["templates"] if "retryStrategy" in one}
    assert set(retried) == set(STEPS)
    assert {strategy["retryPolicy"] for strategy in retried.values()} == {"OnError"}


# Rights.


def accounts() -> dict[str, str]:
    return {
        one["name"]: one.get("serviceAccountName", template()["serviceAccountName"]) for one in template()["templates"]
    }


def test_only_the_last_step_may_write_among_the_models():
    given = accounts()
    assert {step for step, account in given.items() if account == "ml-pipeline-register"} == {"register"}
    assert given["tune"] == given["train"] == "argo-workflow", "the one that may start Ray jobs"
    pods = [pod["spec"] for job in jobs().values() for pod in ray_pods(job)]
    assert {pod["serviceAccountName"] for pod in pods} == {"ml-pipeline"}
    assert {pod["automountServiceAccountToken"] for pod in pods} == {False}
    writers = {
        account
        for account, statements in policies(built()).items()
        for statement in statements
        if "s3:PutObject" in statement["Action"] and any("/models/" in place for place in statement["Resource"])
    }
    assert writers == {"ml-pipeline-register"}


def policies(pipeline: Built[MlPipeline]) -> dict[str, list[Any]]:
    """The statements of each service account's role."""
    return {
        association.inputs["serviceAccount"]: json.loads(
            pipeline.named(f"{association.name}-storage", "aws:iam/rolePolicy:RolePolicy").inputs["policy"]
        )["Statement"]
        for association in pipeline.all("aws:eks/podIdentityAssociation:PodIdentityAssociation")
    }


def may(statements: list[Any], action: str, resource: str) -> bool:
    """Whether a role with these statements may do something with S3; its requests name no prefix."""
    return grants([{"Statement": statements}], Request(action, f"arn:aws:s3:::{resource}"))


def workflow_account() -> list[Any]:
    """The statements of the account that Argo's chart makes, for a bucket of the same name as the pipeline's."""
    args = ArgoWorkflowsArgs(
        keep_days=30,
        cluster_name="eksai-prod",
        region="us-west-2",
        key_arn=KEY,
        domain=None,
        sign_in=None,
        keep=True,
        after=[],
    )
    argo = run(lambda: ArgoWorkflows("argo-workflows", args))
    made = argo.named("argo-workflows-workflows-artifacts", "aws:iam/rolePolicy:RolePolicy").inputs["policy"]
    arn = argo.only("aws:s3/bucket:Bucket").outputs["arn"]
    return json.loads(made.replace(arn, "arn:aws:s3:::artifacts-1"))["Statement"]


def test_every_account_of_a_step_may_save_its_logs_where_argo_wants_them():
    repository = read_chart(CHARTS["argo-workflows"]).values["artifactRepository"]
    assert repository["archiveLogs"] is True
    key = re.sub(r"{{.*?}}", "x", repository["s3"]["keyFormat"])
    assert "{" not in key
    rights = {**policies(built()), "argo-workflow": workflow_account()}
    used = {template()["serviceAccountName"], *accounts().values()}
    assert used == rights.keys()
    for account in used:
        assert may(rights[account], "s3:PutObject", f"artifacts-1/{key}/main.log"), f"no step of {account} succeeds"
        assert not may(rights[account], "s3:PutObject", "models-1/ml-pipelines/x"), account
        assert not may(rights[account], "s3:DeleteObject", f"artifacts-1/{key}/main.log"), account


def test_a_key_that_is_not_there_is_told_from_one_that_may_not_be_read():
    rights = policies(built(datasetBuckets=["lake"]))
    for account, buckets in {
        "ml-pipeline": ("artifacts-1", "models-1", "lake"),
        "ml-pipeline-register": ("artifacts-1", "models-1"),
    }.items():
        for bucket in buckets:
            assert may(rights[account], "s3:ListBucket", bucket), "else S3 answers AccessDenied, not NoSuchKey"
    assert not may(rights["ml-pipeline-register"], "s3:ListBucket", "lake")


def test_steps_read_data_sets_and_write_what_runs_leave_and_nothing_else():
    statements = policies(built(datasetBuckets=["lake"]))["ml-pipeline"]
    rights = {action: set[str]() for statement in statements for action in statement["Action"]}
    for statement in statements:
        for action in statement["Action"]:
            rights[action] |= set(statement["Resource"])
    runs = "arn:aws:s3:::artifacts-1/ml-pipeline/runs/*"
    assert rights["s3:PutObject"] == {runs, "arn:aws:s3:::artifacts-1/ml-pipelines/*"}
    assert rights["s3:GetObject"] == {runs, "arn:aws:s3:::models-1/datasets/*", "arn:aws:s3:::lake/*"}
    assert rights["kms:Decrypt"] == rights["kms:GenerateDataKey"] == {KEY}
    assert rights.keys() == {"s3:GetObject", "s3:PutObject", "s3:ListBucket", "kms:Decrypt", "kms:GenerateDataKey"}
    assert rights["s3:ListBucket"] == {f"arn:aws:s3:::{bucket}" for bucket in ("artifacts-1", "models-1", "lake")}


def test_each_role_binding_gives_its_accounts_only_what_argo_does_with_them():
    pipeline = built()
    rules = {
        role.inputs["metadata"]["name"]: role.inputs["rules"]
        for role in pipeline.all("kubernetes:rbac.authorization.k8s.io/v1:Role")
    }
    given = {
        subject["name"]: rules[binding.inputs["roleRef"]["name"]]
        for binding in pipeline.all("kubernetes:rbac.authorization.k8s.io/v1:RoleBinding")
        for subject in binding.inputs["subjects"]
    }
    results = [{"apiGroups": ["argoproj.io"], "resources": ["workflowtaskresults"], "verbs": ["create", "patch"]}]
    assert given == {
        "ml-pipeline": results,
        "ml-pipeline-register": results,
        "argo-workflow": [{"apiGroups": ["ray.io"], "resources": ["rayjobs"], "verbs": ["create", "get", "patch"]}],
    }
    assert {one.inputs["metadata"]["namespace"] for one in pipeline.resources if "metadata" in one.inputs} == {
        "ml-pipelines"
    }


def test_the_template_comes_after_whom_its_steps_run_as():
    pipeline = built()
    made = pipeline.only("kubernetes:argoproj.io/v1alpha1:WorkflowTemplate")
    accounts = [one.urn for one in pipeline.all("kubernetes:core/v1:ServiceAccount")]
    assert len(accounts) == 2
    assert set(accounts) <= set(made.dependencies)
