"""The training pipeline as Argo takes it: six steps, each after the one before, the last only for a good model.

What a run is started with are the workflow's parameters; how large pods are and where they run stands in the template.
`{{...}}` is filled in by Argo. The first step checks every parameter that later ones put into a manifest or a command.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pulumi
from typing_extensions import TypedDict

from components.pools import Pool
from components.workflows import WORKFLOW_ACCOUNT
from components.workloads.ml_pipeline_pods import (
    OF_WORKFLOW,
    PODS,
    SCRATCH,
    UNDISTURBED,
    RayPods,
    StepSize,
    head_template,
    placed,
    step_container,
    worker_template,
)
from components.workloads.ray_pods import POD_SECURITY

NAME = "ml-training-pipeline"
"""The WorkflowTemplate's name."""
STEP_ACCOUNT = "ml-pipeline"
"""The service account of steps and of Ray's pods."""
REGISTER_ACCOUNT = "ml-pipeline-register"
"""The service account of the one step that writes among the models."""
RAY_VERSION = "2.53.0"
"""Ray in the pipeline's image, as services/ml-pipeline/constraints.txt pins it."""
RUNS = "ml-pipeline/runs"
"""Prefix of what the steps of runs leave for each other."""
MODELS = "models"
"""Prefix of registered models."""

_OUTPUTS = "/tmp/outputs"

_Options = Mapping[str, pulumi.Input[str] | tuple[str, ...]]
"""Options of `ml-pipeline` by name; one with several values has a tuple of them."""


class MlPipelineSettings(TypedDict):
    """What a stack says of the training pipeline."""

    enabled: bool
    """Whether there is one."""
    repository: str
    """The repository of its image."""
    version: str
    """Tag of its image."""
    pools: Sequence[str]
    """Pools that steps and heads of Ray clusters may run on."""
    ray_pools: Sequence[str]
    """Pools that workers of Ray clusters may run on."""
    step: StepSize
    """A step's pod."""
    head: StepSize
    """The head of a Ray cluster, with the step's driver."""
    worker: StepSize
    """A worker of a Ray cluster."""
    gpus: int
    """NVIDIA GPUs of a worker."""
    trial_cpus: int
    """Cores of a worker that a trial of parameters takes."""
    dataset: str
    """Key of the data set in the model bucket that a run takes if it is not told of another."""
    dataset_buckets: Sequence[str]
    """Further buckets that data sets are read from."""
    model_name: str
    """What a run calls its model if it is not told otherwise."""
    minimum_accuracy: float
    """The accuracy that a model must exceed to be registered."""
    workers: int
    """Workers of each Ray cluster."""
    samples: int
    """Parameters that are tried."""
    epochs: int
    """How often training goes over all rows; trials of parameters at most as often."""
    batch_size: int
    """Rows of a training step."""
    seed: int
    """Decides the split, the trials and the first weights."""
    grace_epochs: int
    """Epochs that every trial gets."""
    checkpoint_epochs: int
    """Epochs between two checkpoints."""
    hidden_units: Sequence[int]
    """Sizes of the hidden layer to try."""
    learning_rates: Sequence[float]
    """Least and most to try."""
    penalties: Sequence[float]
    """Least and most to try."""
    minimum_rows: int
    """Fewest rows of a data set."""
    minimum_class_share: float
    """Smallest part of the rows that a class has, of what an even share would be."""
    maximum_repeated_share: float
    """Largest part of the rows that may repeat another one."""
    validation_share: float
    """Part of the rows by which parameters are chosen."""
    test_share: float
    """Part of the rows by which the model is judged."""
    retries: int
    """Further tries of a step that lost its pod, and of a Ray job that failed."""
    deadline_seconds: int
    """How long a try of a step on Ray may take."""


class TemplateSurroundings(TypedDict):
    """What the template refers to."""

    pools: Mapping[str, Pool]
    """All pools of the stack, by name."""
    image: pulumi.Input[str]
    """The pipeline's image."""
    model_bucket: pulumi.Input[str]
    """The bucket of data sets and models."""
    runs_bucket: pulumi.Input[str]
    """The bucket that steps leave things for each other in."""


def workflow_spec(settings: MlPipelineSettings, around: TemplateSurroundings) -> dict[str, Any]:
    """The WorkflowTemplate's spec.

    Args:
        settings: what a stack says of the pipeline.
        around: what it refers to.
    """
    parameters = _parameters(settings, around)
    return {
        "entrypoint": "pipeline",
        # Of the steps that name no other: it starts Ray jobs.
        "serviceAccountName": WORKFLOW_ACCOUNT,
        "securityContext": dict(POD_SECURITY),
        "podMetadata": {"labels": dict(PODS), "annotations": dict(UNDISTURBED)},
        "arguments": {"parameters": [{"name": name, "value": value} for name, value in parameters.items()]},
        "templates": [
            {"name": "pipeline", "dag": {"tasks": _tasks()}},
            _validate(settings, around),
            _preprocess(settings, around),
            _on_ray("tune", _tune_command(settings, around), settings, around),
            _on_ray("train", _train_command(settings, around), settings, around),
            _evaluate(settings, around),
            _register(settings, around),
        ],
    }


def ray_pods(settings: MlPipelineSettings, pools: Mapping[str, Pool], image: pulumi.Input[str]) -> RayPods:
    """What the pods of the pipeline's Ray clusters are made of."""
    return RayPods(
        image=image,
        service_account=STEP_ACCOUNT,
        head=settings["head"],
        worker=settings["worker"],
        gpus=settings["gpus"],
        head_pools=[pools[name] for name in settings["pools"]],
        worker_pools=[pools[name] for name in settings["ray_pools"]],
    )


def _parameters(settings: MlPipelineSettings, around: TemplateSurroundings) -> dict[str, pulumi.Input[str]]:
    """What a run is started with, by name, and what it is if nobody says."""
    return {
        "dataset": pulumi.Output.concat("s3://", around["model_bucket"], "/", settings["dataset"]),
        "model-name": settings["model_name"],
        "minimum-accuracy": str(settings["minimum_accuracy"]),
        **{name: str(value) for name, value in _numbers(settings).items()},
    }


def _numbers(settings: MlPipelineSettings) -> dict[str, int]:
    """The parameters that are whole numbers."""
    return {
        "workers": settings["workers"],
        "samples": settings["samples"],
        "epochs": settings["epochs"],
        "batch-size": settings["batch_size"],
        "seed": settings["seed"],
    }


def _given(name: str) -> str:
    return f"{{{{workflow.parameters.{name}}}}}"


def _tasks() -> list[dict[str, Any]]:
    """The steps in their order."""
    accuracy = "{{tasks.evaluate.outputs.parameters.accuracy}}"
    version = {"name": "data-version", "value": "{{tasks.validate.outputs.parameters.data-version}}"}
    return [
        {"name": "validate", "template": "validate"},
        _task("preprocess", "validate") | {"arguments": {"parameters": [version]}},
        _task("tune", "preprocess"),
        _task("train", "tune"),
        _task("evaluate", "train"),
        _task("register", "evaluate") | {"when": f"{accuracy} > {_given('minimum-accuracy')}"},
    ]


def _task(name: str, after: str) -> dict[str, Any]:
    return {"name": name, "template": name, "dependencies": [after]}


def _run(around: TemplateSurroundings) -> pulumi.Output[str]:
    """The address of a run's folder. A workflow's uid is its alone, as its name is not."""
    return pulumi.Output.concat("s3://", around["runs_bucket"], f"/{RUNS}/{{{{workflow.uid}}}}")


def _step(
    name: str,
    arguments: _Options,
    settings: MlPipelineSettings,
    around: TemplateSurroundings,
    *,
    account: str = STEP_ACCOUNT,
) -> dict[str, Any]:
    """A step that needs no Ray."""
    return {
        "name": name,
        "serviceAccountName": account,
        "container": step_container(around["image"], _flat(name, arguments), settings["step"]),
        "volumes": [{"name": SCRATCH, "emptyDir": {}}],
        **_retried(settings),
        **placed(around["pools"][pool] for pool in settings["pools"]),
    }


def _flat(step: str, arguments: _Options) -> list[pulumi.Input[str]]:
    """A step and its options as arguments of `ml-pipeline`."""
    flat: list[pulumi.Input[str]] = [step]
    for name, value in arguments.items():
        flat += [f"--{name}", *(value if isinstance(value, tuple) else (value,))]
    return flat


def _retried(settings: MlPipelineSettings) -> dict[str, Any]:
    # Of a pod that was lost with its node. A step that said what is wrong says it again.
    return {"retryStrategy": {"limit": str(settings["retries"]), "retryPolicy": "OnError"}}


def _output(name: str) -> dict[str, Any]:
    """A file that a step writes as one of its output parameters."""
    return {"outputs": {"parameters": [{"name": name, "valueFrom": {"path": f"{_OUTPUTS}/{name}"}}]}}


def _validate(settings: MlPipelineSettings, around: TemplateSurroundings) -> dict[str, Any]:
    arguments = {
        "dataset": _given("dataset"),
        "model-name": _given("model-name"),
        "minimum-rows": str(settings["minimum_rows"]),
        "minimum-class-share": str(settings["minimum_class_share"]),
        "maximum-repeated-share": str(settings["maximum_repeated_share"]),
        "output": f"{_OUTPUTS}/data-version",
    }
    step = _step("validate", arguments, settings, around) | _output("data-version")
    checked = {**dict.fromkeys(_numbers(settings), "--number"), "minimum-accuracy": "--rate"}
    for name, option in checked.items():
        step["container"]["args"] += [option, f"{name}={_given(name)}"]
    return step


def _preprocess(settings: MlPipelineSettings, around: TemplateSurroundings) -> dict[str, Any]:
    arguments = {
        "dataset": _given("dataset"),
        "run": _run(around),
        "data-version": "{{inputs.parameters.data-version}}",
        "validation-share": str(settings["validation_share"]),
        "test-share": str(settings["test_share"]),
        "seed": _given("seed"),
    }
    return _step("preprocess", arguments, settings, around) | {"inputs": {"parameters": [{"name": "data-version"}]}}


def _training(around: TemplateSurroundings) -> _Options:
    """What trials of parameters and training have in common."""
    return {"run": _run(around), **{name: _given(name) for name in ("epochs", "batch-size", "seed")}}


def _tune_command(settings: MlPipelineSettings, around: TemplateSurroundings) -> pulumi.Output[str]:
    return _command(
        "tune",
        {
            **_training(around),
            "samples": _given("samples"),
            "grace-epochs": str(settings["grace_epochs"]),
            "hidden-units": tuple(str(units) for units in settings["hidden_units"]),
            "learning-rates": tuple(str(rate) for rate in settings["learning_rates"]),
            "penalties": tuple(str(penalty) for penalty in settings["penalties"]),
            "cpus-per-trial": str(settings["trial_cpus"]),
            "results": "/tmp/ray/results",
        },
    )


def _train_command(settings: MlPipelineSettings, around: TemplateSurroundings) -> pulumi.Output[str]:
    return _command(
        "train",
        {
            **_training(around),
            "workers": _given("workers"),
            "cpus-per-worker": str(settings["worker"]["cpu"]),
            "checkpoint-epochs": str(settings["checkpoint_epochs"]),
        },
    )


def _command(step: str, arguments: _Options) -> pulumi.Output[str]:
    words = [word for argument in _flat(step, arguments) for word in (" ", argument)]
    return pulumi.Output.concat("ml-pipeline", *words)


def _on_ray(
    name: str, command: pulumi.Output[str], settings: MlPipelineSettings, around: TemplateSurroundings
) -> dict[str, Any]:
    """A step that starts a Ray job with a cluster of its own, and waits for its end.

    The job is named by the workflow: a step whose pod was lost finds the job that it has started, and starts no second
    one beside it. Tries of the work itself are the job's.
    """
    return {
        "name": name,
        "resource": {
            "action": "apply",
            # A workflow that is deleted takes its job along.
            "setOwnerReference": True,
            "successCondition": "status.jobStatus == SUCCEEDED",
            # Of a job that has no more tries, or no more time.
            "failureCondition": "status.jobDeploymentStatus in (Failed, ValidationFailed)",
            "manifest": manifest_text(ray_job(name, command, settings, around)),
        },
        **_retried(settings),
        **placed(around["pools"][pool] for pool in settings["pools"]),
    }


def ray_job(
    name: str, command: pulumi.Input[str], settings: MlPipelineSettings, around: TemplateSurroundings
) -> dict[str, Any]:
    """A RayJob.

    Args:
        name: the step's name.
        command: what runs on the head.
        settings: what a stack says of the pipeline.
        around: what it refers to.
    """
    pods = ray_pods(settings, around["pools"], around["image"])
    workers = f"{_WHOLE}{_given('workers')}"
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": {
            # With a letter first and 47 characters at most, as KubeRay wants it; a uid has 36.
            "name": f"{name}-{{{{workflow.uid}}}}",
            "labels": {**PODS, **OF_WORKFLOW},
        },
        "spec": {
            "entrypoint": command,
            # KubeRay itself asks the head to run it, and no further pod does.
            "submissionMode": "HTTPMode",
            "backoffLimit": settings["retries"],
            "activeDeadlineSeconds": settings["deadline_seconds"],
            "shutdownAfterJobFinishes": True,
            # Time for logs to be read where they are.
            "ttlSecondsAfterFinished": 300,
            "rayClusterSpec": {
                "rayVersion": RAY_VERSION,
                # Else whoever reaches the head runs what they like, as the pipeline.
                "authOptions": {"mode": "token"},
                "headGroupSpec": {
                    "serviceType": "ClusterIP",
                    # No CPUs: the work is done by workers.
                    "rayStartParams": {"num-cpus": "0", "dashboard-host": "0.0.0.0"},
                    "template": head_template(pods),
                },
                "workerGroupSpecs": [
                    {
                        "groupName": "workers",
                        "replicas": workers,
                        "minReplicas": workers,
                        "maxReplicas": workers,
                        "rayStartParams": {"num-cpus": str(settings["worker"]["cpu"])},
                        "template": worker_template(pods),
                    }
                ],
            },
        },
    }


_WHOLE = "whole number "
"""What stands before a value of a manifest that is a whole number once Argo has filled it in."""
_QUOTED = re.compile(rf'"{_WHOLE}({{{{[\w.-]+}}}})"')


def manifest_text(manifest: Mapping[str, Any]) -> pulumi.Output[str]:
    """A manifest as the text in which Argo fills in parameters; numbers among them stand without quotes.

    Args:
        manifest: the manifest, whose values may be Outputs.
    """

    def unquote(text: str) -> str:
        return _QUOTED.sub(r"\1", text)

    return pulumi.Output.from_input(dict(manifest)).apply(json.dumps).apply(unquote)


def _evaluate(settings: MlPipelineSettings, around: TemplateSurroundings) -> dict[str, Any]:
    arguments = {"run": _run(around), "output": f"{_OUTPUTS}/accuracy"}
    return _step("evaluate", arguments, settings, around) | _output("accuracy")


def _register(settings: MlPipelineSettings, around: TemplateSurroundings) -> dict[str, Any]:
    arguments = {
        "run": _run(around),
        "models": pulumi.Output.concat("s3://", around["model_bucket"], f"/{MODELS}"),
        "model-name": _given("model-name"),
        "version": "{{workflow.name}}",
        "minimum-accuracy": _given("minimum-accuracy"),
    }
    return _step("register", arguments, settings, around, account=REGISTER_ACCOUNT)
