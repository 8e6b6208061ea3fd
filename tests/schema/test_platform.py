"""Charts of the platform: data is migrated by an explicit word only."""

from typing import Any

import pytest

from components.platform.catalog import CHARTS
from components.release import read_chart
from schema.platform import PlatformChart, data_is_migrated_by_an_explicit_word_only, is_installed
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
