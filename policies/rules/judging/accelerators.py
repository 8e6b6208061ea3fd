"""Which accelerators a node pool can bring: instance types by vendor, and Karpenter's requirements over them.

Only NVIDIA GPUs and AWS Neuron devices are known here. The AMD GPUs of g4ad, Gaudi (dl1) and the Qualcomm cards of
dl2q have other device plug-ins, and AWS's own AMIs for Kubernetes carry none of them.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from .properties import Unknown, Value, at, elements, first_unknown


@dataclass(frozen=True)
class Vendor:
    """The maker of an accelerator.

    Attributes:
        label: what to call its devices in a message.
        resource: the extended resource that pods ask for; the key of its taint too, so that the admission plug-in
            ExtendedResourceToleration lets those pods on.
        categories: the letters with which its instance families begin.
        device: whether Karpenter describes its devices by `instance-gpu-*` or by `instance-accelerator-*` labels.
        manufacturer: the value of that label for the manufacturer.
        foreign_names: how the device names of other makers under that label begin.
        ami_word: the word in EKS's AMI types for it, such as `AL2023_x86_64_NVIDIA`.
    """

    label: str
    resource: str
    categories: frozenset[str]
    device: str
    manufacturer: str
    foreign_names: tuple[str, ...]
    ami_word: str


NVIDIA = Vendor(
    label="NVIDIA GPUs",
    resource="nvidia.com/gpu",
    categories=frozenset({"g", "gr", "p"}),
    device="gpu",
    manufacturer="nvidia",
    foreign_names=("radeon", "gaudi"),
    ami_word="NVIDIA",
)
NEURON = Vendor(
    label="Neuron devices",
    resource="aws.amazon.com/neuron",
    categories=frozenset({"inf", "trn"}),
    device="accelerator",
    manufacturer="aws",
    foreign_names=("qualcomm",),
    ami_word="NEURON",
)
VENDORS = (NVIDIA, NEURON)

# The families that a pool without a restriction by name can bring: Karpenter 1.14.1's list of instance types, and
# those that AWS has beside it (p3, g7, p6e-gb200, trn2u). A family that a requirement names counts without being here.
_FAMILIES = (
    *("g4dn", "g5", "g5g", "g6", "g6e", "g6f", "gr6", "gr6f", "g7", "g7e"),
    *("p3", "p3dn", "p4d", "p4de", "p5", "p5e", "p5en", "p6-b200", "p6-b300", "p6e-gb200"),
    *("inf1", "inf2", "trn1", "trn1n", "trn2", "trn2u"),
)
_ARM_FAMILIES = frozenset({"g5g", "p6e-gb200"})
_AMD_FAMILIES = frozenset({"g4ad"})
_FAMILY = re.compile(r"(?P<category>[a-z]+)(?P<generation>\d+)")

_INSTANCE_TYPE_LABELS = frozenset({"node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type"})
_ARCHITECTURE_LABELS = frozenset({"kubernetes.io/arch", "beta.kubernetes.io/arch"})
# Karpenter's own labels, and those of EKS Auto Mode with the same names.
_INSTANCE_LABEL = re.compile(r"(?:karpenter\.k8s\.aws|eks\.amazonaws\.com)/instance-(?P<attribute>[a-z-]+)")


def vendor_of(instance_type: str) -> Vendor | None:
    """Returns whose accelerators an instance type or family has; None for one without (or with another maker's).

    The name decides, so that a family that is announced tomorrow (g8.xlarge) is recognised today.
    """
    family = instance_type.split(".", maxsplit=1)[0]
    match = _FAMILY.match(family)
    if match is None or family in _AMD_FAMILIES:
        return None
    return next((vendor for vendor in VENDORS if match["category"] in vendor.categories), None)


def admitted(requirements: Value, vendor: Vendor) -> Value:
    """Tells whether a NodePool's requirements let Karpenter launch nodes with a vendor's accelerators.

    All requirements must hold at once; one that concerns something else (zone, size, capacity type) restricts nothing.

    Args:
        requirements: `spec.template.spec.requirements`, as a list.
        vendor: whose accelerators are meant.

    Returns:
        The families that are let through, sorted; empty if there is none for certain; the `Unknown` that it depends on.
    """
    listed = elements(requirements)
    families = {family for family in (*_FAMILIES, *_named(listed)) if vendor_of(family) is vendor}
    certain: list[str] = []
    undecided: Unknown | None = None
    for family in sorted(families):
        verdicts = [_admits(requirement, family, vendor) for requirement in listed]
        if any(verdict is False for verdict in verdicts):
            continue
        unknown = first_unknown(*verdicts)
        if unknown is None:
            certain.append(family)
        undecided = undecided or unknown
    return certain or undecided or []


def _named(requirements: Iterable[Value]) -> set[str]:
    """Returns the families that requirements name as instance families or by instance types."""
    return {
        value.split(".", maxsplit=1)[0]
        for requirement in requirements
        for value in elements(at(requirement, "values"))
        if isinstance(value, str) and _attribute(at(requirement, "key")) in {"type", "family"}
    }


def _attribute(key: Value) -> str | None:
    """Returns what a requirement's label says about an instance, None where this module does not model it."""
    if not isinstance(key, str):
        return None
    if key in _INSTANCE_TYPE_LABELS:
        return "type"
    if key in _ARCHITECTURE_LABELS:
        return "architecture"
    match = _INSTANCE_LABEL.fullmatch(key)
    return match["attribute"] if match else None


def _admits(requirement: Value, family: str, vendor: Vendor) -> bool | Unknown:
    """Tells whether one requirement lets some instance type of a family through."""
    unknown = first_unknown(requirement, at(requirement, "key"))
    if unknown is not None:
        return unknown
    attribute = _attribute(at(requirement, "key"))
    device, _, detail = (attribute or "").partition("-")
    if device in {"gpu", "accelerator"}:
        return _admits_device(requirement, detail if device == vendor.device else None, vendor)
    match = _FAMILY.match(family)
    assert match is not None, "families without an accelerator's name have no vendor"
    values = {
        "category": match["category"],
        "generation": match["generation"],
        "family": family,
        "type": family,
        "architecture": "arm64" if family in _ARM_FAMILIES else "amd64",
    }
    if attribute not in values:
        return True
    return _holds(requirement, values[attribute], is_type=attribute == "type")


def _holds(requirement: Value, value: str, *, is_type: bool) -> bool | Unknown:
    """Tells whether a requirement holds for a label that every instance has.

    Args:
        requirement: its key is known; operator and values may not be.
        value: the label's value; the family, if the label is the instance type.
        is_type: whether the label is the instance type, of which `value` is only the family.
    """
    operator = at(requirement, "operator")
    given = elements(at(requirement, "values"))
    if isinstance(operator, Unknown):
        return operator
    listed = [item.split(".", maxsplit=1)[0] if is_type else item for item in given if isinstance(item, str)]
    if operator == "In":
        return value in listed or first_unknown(*given) or False
    if operator == "NotIn":
        # Of a family whose types are listed, others remain.
        return is_type or (value not in listed and (first_unknown(*given) or True))
    if operator == "DoesNotExist":
        return False
    if operator in {"Lt", "Lte"}:
        bounds = [int(item) + (operator == "Lte") for item in listed if item.isdecimal()]
        return first_unknown(*given) or not value.isdecimal() or all(int(value) < bound for bound in bounds)
    # Exists; and Gt and Gte on a generation, which excludes old families but none that AWS is yet to announce.
    return True


def _admits_device(requirement: Value, detail: str | None, vendor: Vendor) -> bool | Unknown:
    """Tells whether a requirement on devices lets a vendor's through.

    Args:
        requirement: its key is known; operator and values may not be.
        detail: what it is about (name, manufacturer, count, memory); None if it is a label of another kind of device,
            which the vendor's instances do not have.
        vendor: whose devices are meant.
    """
    operator = at(requirement, "operator")
    if isinstance(operator, Unknown):
        return operator
    if detail is None:
        return operator in {"NotIn", "DoesNotExist"}
    if operator == "DoesNotExist":
        return False
    given = elements(at(requirement, "values"))
    if detail == "manufacturer" and operator in {"In", "NotIn"}:
        return _holds(requirement, vendor.manufacturer, is_type=False)
    if detail == "name" and operator == "In":
        ours = any(isinstance(name, str) and not name.startswith(vendor.foreign_names) for name in given)
        return ours or first_unknown(*given) or False
    # Counts and memory sizes choose among a vendor's devices.
    return True
