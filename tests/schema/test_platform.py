"""Charts of the platform: data is migrated by an explicit word only."""

from typing import Any

import pytest
from pydantic import ValidationError

from components.platform.catalog import CHARTS
from components.release import read_chart
from schema.platform import (
    PlatformChart,
    data_is_migrated_by_an_explicit_word_only,
    is_installed,
    values_keep_their_shape,
)
from schema.problems import Problem

KEEPING = {name: read_chart(path).data_version for name, path in CHARTS.items() if read_chart(path).data_version}


def problems(chart: str, **said: Any) -> list[Problem]:
    return list(data_is_migrated_by_an_explicit_word_only({chart: PlatformChart.model_validate(said)}))


def test_what_keeps_data_that_its_upgrades_migrate_says_so():
    assert KEEPING == {"milvus": "2.6", "langfuse": "2"}


@pytest.mark.parametrize("chart", KEEPING)
def test_a_stack_that_says_nothing_is_told_which_version_it_would_get(chart: str):
    (problem,) = problems(chart)
    assert problem.key == f"eksai:platform.{chart}.dataVersion"
    assert f'dataVersion: "{KEEPING[chart]}"' in problem.fix


@pytest.mark.parametrize(("chart", "older"), [("milvus", "2.5"), ("langfuse", "1")])
def test_data_of_an_older_version_is_not_migrated_unannounced(chart: str, older: str):
    (problem,) = problems(chart, dataVersion=older)
    assert "migrates the data; there is no way back" in problem.rule
    assert "back it up" in problem.fix


@pytest.mark.parametrize(("chart", "later"), [("milvus", "2.10"), ("langfuse", "3")])
def test_data_of_a_later_version_is_not_given_to_an_older_program(chart: str, later: str):
    """2.10 is later than 2.6, though not as a text."""
    (problem,) = problems(chart, dataVersion=later)
    assert "cannot read data of a later version" in problem.rule


@pytest.mark.parametrize(("chart", "spelled"), [("milvus", "2.6.15"), ("milvus", "02.6"), ("langfuse", "2.0")])
def test_the_same_version_spelled_otherwise_frightens_nobody(chart: str, spelled: str):
    (problem,) = problems(chart, dataVersion=spelled)
    assert "way back" not in problem.rule
    assert "later version" not in problem.rule
    assert problem.fix == f'write dataVersion: "{KEEPING[chart]}"'


@pytest.mark.parametrize("chart", KEEPING)
def test_the_word_lets_it_through(chart: str):
    assert problems(chart, dataVersion=KEEPING[chart]) == []


def test_what_is_not_installed_touches_no_data():
    assert problems("milvus", dataVersion="2.5", enabled=False) == []


def test_a_chart_without_data_has_no_version_of_it():
    (problem,) = problems("kuberay-operator", dataVersion="1")
    assert problem.fix == "remove the line"


def test_a_chart_runs_if_it_is_listed_and_not_switched_off():
    platform = {"milvus": PlatformChart(enabled=False), "langfuse": PlatformChart()}
    assert [is_installed(name, platform) for name in ("langfuse", "milvus", "jupyterhub")] == [True, False, False]


@pytest.mark.parametrize(
    "values",
    [
        {"langfuse": {"additionalEnv": [{"name": "OPENAI_API_KEY", "value": "sk-12345"}]}},
        {"langfuse": {"smtp": {"connectionUrl": "smtp://ana:hunter2@mail.example.com"}}},
        {"deep": [{"list": ["https://user:pass@example.com/x"]}]},
        {"rootPassword": "hunter2"},
    ],
)
def test_values_hold_no_secrets_in_whatever_form(values: dict[str, Any]):
    with pytest.raises(ValidationError, match="values hold no secrets"):
        PlatformChart.model_validate({"values": values})


@pytest.mark.parametrize(
    "values",
    [
        {"env": [{"name": "OPENAI_API_KEY", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "openai"}}}]},
        {"env": [{"name": "LOG_LEVEL", "value": "debug"}]},
        {"url": "https://example.com:8443/path@2"},
    ],
)
def test_what_only_names_a_secret_is_none(values: dict[str, Any]):
    PlatformChart.model_validate({"values": values})


@pytest.mark.parametrize(
    ("chart", "values", "path"),
    [
        ("milvus", {"standalone": 5}, "standalone"),
        ("milvus", {"standalone": {"resources": []}}, "standalone.resources"),
        ("langfuse", {"langfuse": {"web": "x"}}, "langfuse.web"),
        ("cert-manager", {"webhook": 1}, "webhook"),
    ],
)
def test_a_mapping_is_not_swept_away_by_something_else(chart: str, values: dict[str, Any], path: str):
    (problem,) = values_keep_their_shape({chart: PlatformChart.model_validate({"values": values})})
    assert problem.key == f"eksai:platform.{chart}.values.{path}"


def test_what_the_chart_file_does_not_say_has_any_shape():
    chart = PlatformChart.model_validate({"values": {"standalone": {"replicas": 1}, "more": 5}})
    assert list(values_keep_their_shape({"milvus": chart})) == []
