"""Settings of Argo Workflows."""

import pytest
from pydantic import ValidationError

from schema.argo_workflows import ArgoWorkflows, artifacts_belong_to_workflows, values_leave_the_entrance_alone
from schema.platform import PlatformChart

ON, OFF = PlatformChart(), PlatformChart(enabled=False)


@pytest.mark.parametrize("days", [0, -1, 3651])
def test_artifacts_are_kept_between_a_day_and_ten_years(days: int):
    with pytest.raises(ValidationError):
        ArgoWorkflows.model_validate({"keepDays": days})


@pytest.mark.parametrize("platform", [{}, {"argo-workflows": OFF}])
def test_a_section_without_its_chart_is_a_mistake(platform: dict[str, PlatformChart]):
    (problem,) = artifacts_belong_to_workflows(ArgoWorkflows.model_validate({"keepDays": 7}), platform)
    assert "argo-workflows: {}" in problem.fix


def test_a_section_with_its_chart_is_fine():
    assert not list(
        artifacts_belong_to_workflows(ArgoWorkflows.model_validate({"keepDays": 7}), {"argo-workflows": ON})
    )


def test_a_stack_that_says_nothing_of_workflows_needs_no_chart():
    assert not list(artifacts_belong_to_workflows(ArgoWorkflows(), {}))


@pytest.mark.parametrize(
    ("server", "key"),
    [
        ({"authModes": ["server"]}, "server.authModes"),
        ({"extraArgs": ["--auth-mode=server"]}, "server.extraArgs"),
        ({"sso": {"enabled": False}}, "server.sso"),
        ({"serviceType": "LoadBalancer"}, "server.serviceType"),
        ("none", "server"),
    ],
)
def test_no_value_of_the_chart_opens_another_entrance(server: object, key: str):
    chart = PlatformChart.model_validate({"values": {"server": server}})
    (problem,) = values_leave_the_entrance_alone({"argo-workflows": chart})
    assert problem.key == f"eksai:platform.argo-workflows.values.{key}"


def test_other_values_of_the_server_are_the_stacks_own():
    chart = PlatformChart.model_validate({"values": {"server": {"replicas": 2}}})
    assert not list(values_leave_the_entrance_alone({"argo-workflows": chart}))
