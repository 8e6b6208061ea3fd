"""Accelerator pools keep other pods away by a taint, and have a limit.

Judged are Karpenter NodePools by what their requirements let through, and EKS managed node groups by instance types or,
where those are left to a launch template, by a kind of AMI that only serves one vendor.

A NodePool that restricts nothing can bring plain and accelerator nodes. It counts as an accelerator pool: any pod that
asks for a GPU makes Karpenter start one there, without taint and without limit. It passes when its requirements exclude
the accelerators (`instance-category In [c, m, r]`) or its limit for them is 0.

Of a managed node group only the taint is judged: its `maxSize`, which EKS demands, is its limit. A static NodePool
(`spec.replicas`) is limited by its size.
"""

from collections.abc import Iterator
from typing import cast

from pulumi_policy import Severity

from .judging.accelerators import VENDORS, Vendor, admitted, vendor_of
from .judging.node_taints import tainted
from .judging.properties import Unknown, Value, at, elements
from .judging.rule import Config, Resource, Verdict, resource_rule

_NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"
_NODE_POOLS = ("kubernetes:karpenter.sh/v1:NodePool", "kubernetes:karpenter.sh/v1beta1:NodePool")


def _check(resource: Resource, _config: Config) -> Iterator[Verdict]:
    return _node_group(resource) if resource.type == _NODE_GROUP else _node_pool(resource)


def _node_pool(resource: Resource) -> Iterator[Verdict]:
    template = resource.get("spec", "template")
    requirements = [
        *elements(at(template, "spec", "requirements")),
        *_as_requirements(at(template, "metadata", "labels")),
    ]
    for vendor in VENDORS:
        limit = resource.get("spec", "limits", vendor.resource)
        if _is_zero(limit):
            continue
        guarded = tainted(at(template, "spec", "taints"), vendor.resource)
        limited = _is_limited(resource, vendor)
        # What can launch is the costly question and often the unknown one: asked only if something is missing.
        if guarded is True and limited is True:
            continue
        families = admitted(requirements, vendor)
        if isinstance(families, Unknown):
            yield families
            continue
        if not families:
            continue
        subject = f"The pool can bring {vendor.label} ({_examples(families)})"
        if guarded is not True:
            yield guarded or (
                f"{subject} but has no NoSchedule taint {vendor.resource}, so pods that need none would occupy them. "
                f"Add it to spec.template.spec.taints, or exclude these instances by a requirement."
            )
        if limited is not True:
            yield limited or (
                f"{subject} but has no limit for {vendor.resource}, so one mistake can start any number of them. "
                f'Set spec.limits["{vendor.resource}"]; 0 keeps them out of a pool for other work.'
            )


def _as_requirements(labels: Value) -> list[Value]:
    """Returns a template's labels as Karpenter reads them: each is a requirement with one value."""
    if isinstance(labels, Unknown):
        return [labels]
    items = cast(dict[str, Value], labels or {}).items()
    return [{"key": key, "operator": "In", "values": [value]} for key, value in items]


def _is_limited(resource: Resource, vendor: Vendor) -> bool | Unknown:
    """Tells whether a NodePool's size is bounded for a vendor's devices; a limit that is set but unknown bounds it."""
    if resource.get("spec", "replicas") is not None:
        return True
    limits = resource.get("spec", "limits")
    return limits if isinstance(limits, Unknown) else at(limits, vendor.resource) is not None


def _is_zero(quantity: Value) -> bool:
    """Tells whether a Kubernetes quantity is known to be nothing at all."""
    return quantity is not None and str(quantity).strip() in {"0", "0.0"}


def _examples(names: list[str]) -> str:
    return ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")


def _node_group(resource: Resource) -> Iterator[Verdict]:
    instance_types = elements(resource.get("instanceTypes"))
    ami_type = resource.get("amiType")
    evidence = instance_types or [ami_type]
    for vendor in VENDORS:
        names = [name for name in evidence if isinstance(name, str) and _serves(name, vendor)]
        guarded = tainted(resource.get("taints"), vendor.resource)
        if names and guarded is not True:
            yield guarded or (
                f"The node group brings {vendor.label} ({_examples(names)}) but has no NO_SCHEDULE taint "
                f"{vendor.resource}, so pods that need none would occupy them. Add it to taints."
            )
    yield from (name for name in evidence if isinstance(name, Unknown))


def _serves(name: str, vendor: Vendor) -> bool:
    """Tells whether an instance type, or a kind of AMI such as `AL2023_x86_64_NVIDIA`, is for a vendor's devices."""
    return vendor_of(name) is vendor or vendor.ami_word in name.split("_")


RULE = resource_rule(
    _check,
    name="accelerator-pools-tainted-and-limited",
    description="Pools that can bring accelerators carry the accelerator's taint and a limit for it.",
    judges=(*_NODE_POOLS, _NODE_GROUP),
    severity=Severity.HIGH,
    remediation=(
        "Give each vendor a pool of its own with a NoSchedule taint and a limit for its resource (nvidia.com/gpu, "
        "aws.amazon.com/neuron). In pools for other work, restrict karpenter.k8s.aws/instance-category to families "
        "without accelerators, or set the limit to 0."
    ),
    tags=["cost", "scheduling"],
)
