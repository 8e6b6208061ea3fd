"""Settings of Argo Workflows."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from schema.fields import Section
from schema.platform import PlatformChart
from schema.problems import NAMESPACE, Problem


class ArgoWorkflows(Section):
    """Argo Workflows, beside its chart under platform."""

    keep_days: Annotated[int, Field(ge=1, le=3650)] = 30
    """Days that artifacts and logs of steps are kept, and all else that workflows leave in their bucket."""


def artifacts_belong_to_workflows(
    argo_workflows: ArgoWorkflows, platform: dict[str, PlatformChart]
) -> Iterator[Problem]:
    """What is said about workflows is said of something that is there."""
    if argo_workflows.model_fields_set and not ("argo-workflows" in platform and platform["argo-workflows"].enabled):
        yield Problem(
            f"{NAMESPACE}:argoWorkflows",
            "",
            "there are no workflows without the chart argo-workflows",
            f"add argo-workflows: {{}} to {NAMESPACE}:platform, or remove the section",
        )


RULES = (artifacts_belong_to_workflows,)
"""Rules between workflows and other sections; each names the sections that it needs as its parameters."""
