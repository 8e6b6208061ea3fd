"""One chart of the platform: its release, and before it the AWS identity of its pods."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pulumi
from typing_extensions import TypedDict

from components.pod_identity import PodIdentity
from components.policy_document import from_file
from components.release import ChartSource, Release, read_chart

POLICIES = Path(__file__).parent / "policies"


class InstallationArgs(TypedDict):
    """What the installation of a chart needs."""

    chart_file: str
    """Path of the chart file."""
    charts: ChartSource
    """Where charts come from."""
    cluster_name: str
    """The cluster's name."""
    facts: Mapping[str, pulumi.Input[str]]
    """The facts that its values refer to."""
    places: Mapping[str, pulumi.Input[str]]
    """What its policy documents name by `${name}`."""
    values: Mapping[str, Any]
    """Values laid over those of the chart file."""


class Installation(pulumi.ComponentResource):
    """A chart in the cluster. The release comes after the identity: pods get theirs when they start."""

    def __init__(self, name: str, args: InstallationArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("eksai:index:Installation", name, {}, opts)
        chart = read_chart(Path(args["chart_file"]))
        before: list[pulumi.Resource] = []
        if chart.identity is not None:
            policies = {
                policy: from_file(POLICIES / f"{policy}.json", args["places"]) for policy in chart.identity.policies
            }
            before.append(
                PodIdentity(
                    name,
                    {
                        "cluster_name": args["cluster_name"],
                        "namespace": chart.namespace,
                        "service_account": chart.identity.service_account,
                        "policies": policies,
                    },
                    pulumi.ResourceOptions(parent=self),
                )
            )
        Release(
            name,
            {
                "chart_file": args["chart_file"],
                "charts": args["charts"],
                "facts": args["facts"],
                "values": args["values"],
            },
            pulumi.ResourceOptions(parent=self, depends_on=before),
        )
        self.register_outputs({})
