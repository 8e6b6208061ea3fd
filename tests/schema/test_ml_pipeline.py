"""What a declaration of the training pipeline is told when it is wrong."""

from typing import Any

import pytest
from pydantic import ValidationError

from schema.base import Repository
from schema.ml_pipeline import RULES, MlPipeline
from schema.node_pools import NodePool
from schema.platform import PlatformChart
from schema.problems import Problem, explain_all
from tests.platform.pools import stack

POOLS: dict[str, NodePool] = {
    **stack("prod").node_pools,
    "leaving": stack("prod").node_pools["general"].model_copy(update={"retire": True}),
}
PLATFORM = {"argo-workflows": PlatformChart(), "kuberay-operator": PlatformChart()}
REPOSITORIES = {"ml-pipeline": Repository()}
GOOD: dict[str, Any] = {"enabled": True, "pools": ["general"], "rayPools": ["general"]}


def told(declaration: dict[str, Any], **changes: Any) -> list[Problem]:
    """The mistakes in a stack with a pipeline."""
    try:
        pipeline = MlPipeline.model_validate(declaration)
    except ValidationError as error:
        return explain_all("eksai:mlPipeline", MlPipeline, error.errors())
    given: dict[str, Any] = {
        "ml_pipeline": pipeline,
        "node_pools": POOLS,
        "platform": PLATFORM,
        "repositories": REPOSITORIES,
        **changes,
    }
    wanted = [(rule, rule.__code__.co_varnames[: rule.__code__.co_argcount]) for rule in RULES]
    return [problem for rule, names in wanted for problem in rule(**{one: given[one] for one in names})]


@pytest.mark.parametrize(
    "more", [{}, {"rayPools": ["gpu-a10g"], "gpus": 1}, {"worker": {"cpu": 8, "memory": "24Gi"}, "workers": 8}]
)
def test_a_sound_declaration_is_taken(more: dict[str, Any]):
    assert told(GOOD | more) == []


def test_a_pipeline_that_is_off_needs_nothing():
    assert told({}, platform={}, node_pools={}, repositories={}) == []
    assert MlPipeline().enabled is False


BAD = [
    # (what differs, key below the section, what its rule says, what the way out says)
    ({"pools": []}, "", "pools that are named", "set pools and rayPools"),
    ({"rayPools": []}, "", "pools that are named", "set pools and rayPools"),
    ({"pools": ["generall"]}, ".pools[0]", "no such pool", "name one of"),
    ({"rayPools": ["general", "leaving"]}, ".rayPools[1]", "that pool retires", "name one of"),
    ({"rayPools": ["general"], "gpus": 1}, ".rayPools", "nvidia.com/gpu", "name a pool whose nodes have it"),
    ({"pools": ["cpu-inference-m7gxlarge"]}, ".pools", "amd64", "are amd64"),
    ({"worker": {"cpu": 400, "memory": "6Gi"}}, ".rayPools", "400", "change worker"),
    ({"head": {"cpu": 1, "memory": "4000Gi"}}, ".pools", "4000", "change head"),
    ({"step": {"cpu": 200, "memory": "1Gi"}}, ".pools", "200", "change step"),
    ({"worker": {"cpu": 0, "memory": "6Gi"}}, ".worker.cpu", "at least 1", "whole number"),
    ({"worker": {"cpu": 1, "memory": "6GB"}}, ".worker.memory", "a Kubernetes quantity", "unit"),
    ({"version": "latest"}, ".version", "not latest", "was pushed"),
    ({"dataset": "other/x.csv"}, ".dataset", "below datasets/", "datasets/digits.csv"),
    ({"dataset": "datasets/x.parquet"}, ".dataset", "ends with .csv or .npz", "datasets/digits.csv"),
    ({"dataset": 'datasets/"; ls.csv'}, ".dataset", "below datasets/", "datasets/digits.csv"),
    ({"modelName": "Digits"}, ".modelName", "lower-case", "choose"),
    ({"minimumAccuracy": 95}, ".minimumAccuracy", "at most 1", "accuracy"),
    ({"learningRates": [0.1, 0.01]}, "", "least and most", "the smaller one first"),
    ({"penalties": [0.1, 0.1]}, "", "least and most", "the smaller one first"),
    ({"validationShare": 0.6, "testShare": 0.4}, "", "leave rows to train on", "smaller"),
    ({"epochs": 3}, "", "graceEpochs is 4", "raise epochs"),
    ({"trialCpus": 3}, "", "has 2 cores", "raise worker.cpu"),
]


@pytest.mark.parametrize(("change", "key", "rule", "fix"), BAD, ids=[str(bad[0]) for bad in BAD])
def test_a_mistake_is_told_with_its_key_rule_and_way_out(change: dict[str, Any], key: str, rule: str, fix: str):
    (problem,) = told(GOOD | change)
    assert problem.key == f"eksai:mlPipeline{key}"
    assert rule in problem.rule
    assert fix in problem.fix


@pytest.mark.parametrize("chart", sorted(PLATFORM))
def test_nothing_runs_without_argo_and_kuberay(chart: str):
    (problem,) = told(GOOD, platform={name: there for name, there in PLATFORM.items() if name != chart})
    assert problem.key == "eksai:platform"
    assert problem.fix == f"add the line {chart}: {{}}"
    (problem,) = told(GOOD, platform=PLATFORM | {chart: PlatformChart(enabled=False)})
    assert problem.fix == "remove enabled: false"


def test_the_image_has_a_repository():
    (problem,) = told(GOOD, repositories={})
    assert problem.key == "eksai:mlPipeline.repository"
    assert problem.fix == "add the line ml-pipeline: {} there"
