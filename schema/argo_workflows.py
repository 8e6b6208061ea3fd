"""Settings of Argo Workflows."""

from collections.abc import Iterator
from typing import Annotated, cast

from pydantic import Field

from schema.fields import Section
from schema.platform import PlatformChart, is_installed
from schema.problems import NAMESPACE, Problem


class ArgoWorkflows(Section):
    """Argo Workflows, beside its chart under platform."""

    keep_days: Annotated[int, Field(ge=1, le=3650)] = 30
    """Days that artifacts and logs of steps are kept, and all else that workflows leave in their bucket."""


def artifacts_belong_to_workflows(
    argo_workflows: ArgoWorkflows, platform: dict[str, PlatformChart]
) -> Iterator[Problem]:
    """What is said about workflows is said of something that is there."""
    if argo_workflows.model_fields_set and not is_installed("argo-workflows", platform):
        yield Problem(
            f"{NAMESPACE}:argoWorkflows",
            "",
            "there are no workflows without the chart argo-workflows",
            f"add argo-workflows: {{}} to {NAMESPACE}:platform, or remove the section",
        )


def values_leave_the_entrance_alone(platform: dict[str, PlatformChart]) -> Iterator[Problem]:
    """Who gets in, and from where, follows from sign-in and domain, and no value of the chart says otherwise."""
    chart = platform.get("argo-workflows")
    server: object = chart.values.get("server", {}) if chart is not None and chart.enabled else {}
    said = list(cast(dict[str, object], server)) if isinstance(server, dict) else [""]
    for key in said:
        if key in _ENTRANCE:
            yield Problem(
                f"{NAMESPACE}:platform.argo-workflows.values.server{f'.{key}' if key else ''}",
                "",
                "who gets in follows from eksai:signIn and eksai:domain",
                "remove the line",
            )


_ENTRANCE = frozenset({"", "authMode", "authModes", "extraArgs", "ingress", "secure", "serviceType", "sso"})
"""Values of the server by which somebody would get in; the empty key stands for all of them."""

RULES = (artifacts_belong_to_workflows, values_leave_the_entrance_alone)
"""Rules between workflows and other sections; each names the sections that it needs as its parameters."""
