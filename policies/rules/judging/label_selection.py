"""Whether labels satisfy node selectors and node affinity, for nodes that do not exist yet.

A node that is yet to be made has one value of some labels (its architecture), one of several of others (its zone), and
for a few any value at all. Each requirement narrows what is left, so that two of them cannot both be met by different
values.
"""

from collections.abc import Iterable, Mapping
from typing import Any

ANY: None = None
"""The values of a label that a node has for certain, with a value that cannot be known here."""

Labels = Mapping[str, frozenset[str] | None]
"""The values that each label may have; a label that is missing is not there."""

Requirement = Mapping[str, Any]
"""A match expression: `key`, `operator`, `values`."""

_OPERATORS = frozenset({"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Gte", "Lt", "Lte"})


def narrowed(labels: Labels, requirement: Requirement) -> Labels | None:
    """Returns the labels with what a requirement leaves of them; None if it cannot hold.

    Args:
        labels: what a node may have.
        requirement: a match expression of Kubernetes' or of Karpenter's (`Gte`, `Lte` too).

    Raises:
        ValueError: there is no such operator.
    """
    key, operator = requirement["key"], requirement["operator"]
    if operator not in _OPERATORS:
        raise ValueError(f"{operator} is not an operator of a match expression")
    wanted = frozenset(map(str, requirement.get("values") or ()))
    if operator == "DoesNotExist":
        return None if key in labels else labels
    if key not in labels:
        return labels if operator == "NotIn" else None
    if operator == "Exists":
        return labels
    values = labels[key]
    if operator == "In":
        left = wanted if values is None else values & wanted
    elif values is None:
        return labels
    elif operator == "NotIn":
        left = values - wanted
    else:
        left = frozenset(value for value in values if _compares(value, operator, min(wanted)))
    return {**labels, key: left} if left else None


def _compares(value: str, operator: str, bound: str) -> bool:
    try:
        number, limit = int(value), int(bound)
    except ValueError:
        return False
    return {"Gt": number > limit, "Gte": number >= limit, "Lt": number < limit, "Lte": number <= limit}[operator]


def narrowed_by_all(labels: Labels, requirements: Iterable[Requirement]) -> Labels | None:
    """Returns the labels with what requirements leave of them together; None if they cannot all hold."""
    left: Labels | None = labels
    for requirement in requirements:
        left = narrowed(left, requirement)
        if left is None:
            return None
    return left


def in_words(requirement: Requirement) -> str:
    """Returns a requirement as one reads it: `karpenter.sh/capacity-type In [spot]`."""
    values = requirement.get("values")
    listed = f" [{', '.join(map(str, values))}]" if values else ""
    return f"{requirement['key']} {requirement['operator']}{listed}"
