"""Node groups whose launch template names an accelerator are tainted.

A managed node group may leave its instance type to a launch template, where the rule on single resources cannot see it;
this one reads both. A template from outside the program is beyond its reach.
"""

from collections.abc import Iterator, Sequence

from pulumi_policy import Severity

from .judging.accelerators import VENDORS, vendor_of
from .judging.node_taints import tainted
from .judging.properties import Unknown
from .judging.rule import Config, StackResource, Verdict, stack_rule


def _check(resources: Sequence[StackResource], _config: Config) -> Iterator[tuple[StackResource, Verdict]]:
    templates = [item for item in resources if item.type == "aws:ec2/launchTemplate:LaunchTemplate"]
    for group in resources:
        if group.type != "aws:eks/nodeGroup:NodeGroup":
            continue
        for template in templates:
            if _uses(group, template):
                yield from ((group, verdict) for verdict in _judge(group, template))


def _uses(group: StackResource, template: StackResource) -> bool:
    return any(group.refers_to(template, "launchTemplate", key, identities=[key]) for key in ("id", "name"))


def _judge(group: StackResource, template: StackResource) -> Iterator[Verdict]:
    instance_type = template.get("instanceType")
    for vendor in VENDORS:
        # An unknown instance type may be either vendor's.
        if not isinstance(instance_type, Unknown) and vendor_of(instance_type or "") is not vendor:
            continue
        guarded = tainted(group.get("taints"), vendor.resource)
        if guarded is True:
            continue
        if isinstance(instance_type, Unknown):
            yield instance_type
        else:
            yield guarded or (
                f"The node group brings {vendor.label} ({instance_type}, from launch template {template.name}) but has "
                f"no NO_SCHEDULE taint {vendor.resource}, so pods that need none would occupy them. Add it to taints."
            )


RULE = stack_rule(
    _check,
    name="accelerator-launch-templates-tainted",
    description="Node groups whose launch template names an accelerator instance carry the accelerator's taint.",
    severity=Severity.HIGH,
    remediation=(
        "Add a NO_SCHEDULE taint for the accelerator's resource (nvidia.com/gpu, aws.amazon.com/neuron) to the node "
        "group; a launch template cannot carry it."
    ),
    tags=["cost", "scheduling"],
)
