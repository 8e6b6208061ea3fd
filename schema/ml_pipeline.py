"""Settings of the training pipeline, and the rules between it, the pools, the charts and the repositories."""

from collections.abc import Iterator
from typing import Annotated, Any, cast

from pydantic import Field, model_validator

from components.workloads.ml_pipeline_pods import head_template, placed, resources, worker_template
from components.workloads.ml_pipeline_template import MlPipelineSettings, ray_pods
from schema.base import Repository, missing_repository
from schema.fields import Amount, BucketName, PoolName, RepositoryName, Section, matches, refuse
from schema.node_pools import NodePool
from schema.platform import PlatformChart, missing_chart
from schema.pod_room import missing_pools, without_room
from schema.pool_charts import described
from schema.problems import NAMESPACE, Problem

_SECTION = f"{NAMESPACE}:mlPipeline"
_CHARTS = ("argo-workflows", "kuberay-operator")

Tag = Annotated[
    str,
    matches(
        r"(?!latest$)\w[\w.-]{0,127}",
        "an image has a tag, and not latest: it could be another one on each node",
        "take the version of services/ml-pipeline that was pushed",
    ),
]
DatasetKey = Annotated[
    str,
    matches(
        r"datasets(/[A-Za-z0-9][A-Za-z0-9_.=-]*)+\.(csv|npz)",
        "a data set of the model bucket lies below datasets/ and ends with .csv or .npz",
        "for example datasets/digits.csv",
    ),
]
ModelName = Annotated[
    str,
    matches(
        r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?",
        "a model's name has lower-case letters, digits and hyphens, 63 at most",
        "choose such a name",
    ),
]
Count = Annotated[int, Field(ge=1, lt=10**9)]
Share = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[float, Field(gt=0)]
Range = tuple[Positive, Positive]


class PodSize(Section):
    """What a pod asks for; it may use that much memory and no more."""

    cpu: Count
    """vCPUs, a whole number."""
    memory: Amount
    """Memory."""


class MlPipeline(Section):
    """The training pipeline in Argo Workflows and Ray: validate, preprocess, tune, train, evaluate, register."""

    enabled: bool = False
    """Whether there is one."""
    repository: RepositoryName = "ml-pipeline"
    """The repository of its image, one of eksai:repositories."""
    version: Tag = "0.1.0"
    """Tag of its image, the version of services/ml-pipeline."""
    pools: tuple[PoolName, ...] = ()
    """Pools that steps and heads of Ray clusters may run on; their nodes are amd64."""
    ray_pools: tuple[PoolName, ...] = ()
    """Pools that workers of Ray clusters may run on; their nodes are amd64."""
    step: PodSize = PodSize(cpu=1, memory="4Gi")
    """A step's pod."""
    head: PodSize = PodSize(cpu=1, memory="4Gi")
    """The head of a Ray cluster, with the step's driver."""
    worker: PodSize = PodSize(cpu=2, memory="6Gi")
    """A worker of a Ray cluster."""
    gpus: Annotated[int, Field(ge=0)] = 0
    """NVIDIA GPUs of a worker. The steps as they are do not use any: for your own that do."""
    trial_cpus: Count = 1
    """Cores of a worker that a trial of parameters takes."""
    dataset: DatasetKey = "datasets/digits.csv"
    """Key of the data set in the model bucket that a run takes if it is not told of another."""
    dataset_buckets: tuple[BucketName, ...] = ()
    """Further buckets that data sets are read from."""
    model_name: ModelName = "digits"
    """What a run calls its model if it is not told otherwise."""
    minimum_accuracy: Share = 0.95
    """The accuracy that a model must exceed to be registered, if a run is not told of another."""
    workers: Count = 2
    """Workers of each Ray cluster, if a run is not told of another number."""
    samples: Count = 20
    """Parameters that are tried, if a run is not told of another number."""
    epochs: Count = 30
    """How often training goes over all rows, if a run is not told otherwise; trials at most as often."""
    batch_size: Count = 32
    """Rows of a training step, if a run is not told of another number."""
    seed: Annotated[int, Field(ge=0, lt=10**9)] = 1
    """Decides the split, the trials and the first weights, if a run is not told of another one."""
    grace_epochs: Count = 4
    """Epochs that every trial gets before ASHA may end it."""
    checkpoint_epochs: Count = 5
    """Epochs between two checkpoints: what a lost node costs at most."""
    hidden_units: Annotated[tuple[Count, ...], Field(min_length=1)] = (32, 64, 128)
    """Sizes of the hidden layer to try."""
    learning_rates: Range = (0.0005, 0.01)
    """Least and most learning rate to try."""
    penalties: Range = (1e-06, 0.01)
    """Least and most weight of the L2 penalty to try."""
    minimum_rows: Count = 500
    """Fewest rows of a data set."""
    minimum_class_share: Share = 0.5
    """Smallest part of the rows that a class has, of what an even share would be."""
    maximum_repeated_share: Share = 0.05
    """Largest part of the rows that may repeat another one."""
    validation_share: Annotated[float, Field(gt=0, lt=1)] = 0.15
    """Part of the rows by which parameters are chosen."""
    test_share: Annotated[float, Field(gt=0, lt=1)] = 0.15
    """Part of the rows by which the model is judged."""
    retries: Annotated[int, Field(ge=0, le=10)] = 2
    """Further tries of a step that lost its pod, and of a Ray job that failed."""
    deadline_seconds: Annotated[int, Field(ge=60)] = 14400
    """How long a try of a step on Ray may take, waiting for nodes included."""

    @model_validator(mode="after")
    def _numbers_agree(self) -> "MlPipeline":
        if self.enabled and not (self.pools and self.ray_pools):
            raise refuse("its pods are meant for pools that are named", "set pools and rayPools")
        for key, (least, most) in {"learningRates": self.learning_rates, "penalties": self.penalties}.items():
            if not least < most:
                raise refuse(f"{key} are least and most, here {least} and {most}", "write the smaller one first")
        if self.validation_share + self.test_share >= 1:
            raise refuse("validationShare and testShare leave rows to train on", "make one of them smaller")
        if self.grace_epochs > self.epochs:
            raise refuse(
                f"a trial has {self.epochs} epochs at most, and graceEpochs is {self.grace_epochs}",
                "lower graceEpochs, or raise epochs",
            )
        if self.trial_cpus > self.worker.cpu:
            raise refuse(
                f"a trial runs on one worker, which has {self.worker.cpu} cores, and trialCpus is {self.trial_cpus}",
                "lower trialCpus, or raise worker.cpu",
            )
        return self


def pipeline_has_its_charts(ml_pipeline: MlPipeline, platform: dict[str, PlatformChart]) -> Iterator[Problem]:
    """Somebody runs the steps, and makes the Ray clusters."""
    for chart in _CHARTS:
        if ml_pipeline.enabled:
            yield from missing_chart(chart, platform, "no step of eksai:mlPipeline runs")


def pipeline_has_its_repository(ml_pipeline: MlPipeline, repositories: dict[str, Repository]) -> Iterator[Problem]:
    """There is a place for the image."""
    if ml_pipeline.enabled:
        yield from missing_repository(f"{_SECTION}.repository", ml_pipeline.repository, repositories)


def pipeline_pods_have_nodes(ml_pipeline: MlPipeline, node_pools: dict[str, NodePool]) -> Iterator[Problem]:
    """Each pod can run on some node that one of its pools makes."""
    if not ml_pipeline.enabled:
        return
    missing = list(_missing_pools(ml_pipeline, node_pools))
    yield from missing
    if missing:
        return
    settings = cast(MlPipelineSettings, cast(Any, ml_pipeline.model_dump()))
    pools = {pool.name: pool for pool in described(node_pools)}
    pods = ray_pods(settings, pools, "")
    step = {"containers": [{"name": "main", "resources": resources(settings["step"])}]}
    templates = {
        ("step", "pools"): {"spec": {**step, **placed(pools[name] for name in ml_pipeline.pools)}},
        ("head", "pools"): head_template(pods),
        ("worker", "rayPools"): worker_template(pods),
    }
    told: set[tuple[str, str]] = set()
    for (what, key), template in templates.items():
        names = ml_pipeline.pools if key == "pools" else ml_pipeline.ray_pools
        refused = without_room(template, names, node_pools)
        if refused is not None and (key, refused) not in told:
            told.add((key, refused))
            fix = f"name a pool whose nodes have it and are amd64, or change {what}"
            yield Problem(f"{_SECTION}.{key}", ", ".join(names), refused, fix)


def _missing_pools(ml_pipeline: MlPipeline, node_pools: dict[str, NodePool]) -> Iterator[Problem]:
    for key, names in {"pools": ml_pipeline.pools, "rayPools": ml_pipeline.ray_pools}.items():
        yield from missing_pools(f"{_SECTION}.{key}", names, node_pools)


RULES = (pipeline_has_its_charts, pipeline_has_its_repository, pipeline_pods_have_nodes)
"""Rules between the pipeline and other sections; each names the sections that it needs as its parameters."""
