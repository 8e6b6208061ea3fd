"""Conditions of an object's status: what its controller says of it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from localcloud.cluster.events import now_text
from localcloud.cluster.view import Object, View, as_read


@dataclass(frozen=True)
class Condition:
    """One statement about an object.

    Attributes:
        type: what it is about.
        status: `True`, `False` or `Unknown`.
        reason: one word in capitals and small letters; that of a condition which holds is its type.
        message: what is wrong.
    """

    type: str
    status: str = "True"
    reason: str = ""
    message: str = ""


def lacking(type: str, reason: str, message: str) -> Condition:
    """Returns a condition that does not hold."""
    return Condition(type, "False", reason, message)


def find(item: Object, type: str) -> Object | None:
    """Returns an object's condition of a type, None when it has none."""
    conditions = (item.get("status") or {}).get("conditions") or ()
    return next((one for one in conditions if one["type"] == type), None)


def holds(item: Object, type: str) -> bool:
    """Tells whether a condition of an object is known to hold."""
    return (find(item, type) or {}).get("status") == "True"


def since(item: Object, type: str) -> datetime | None:
    """Returns when an object's condition took its present status."""
    condition = find(item, type)
    return datetime.fromisoformat(condition["lastTransitionTime"]) if condition else None


def ready(conditions: Iterable[Condition]) -> Condition:
    """Returns the condition that sums up others: it holds when all of them do, else it says why the first does not."""
    for one in conditions:
        if one.status != "True":
            return Condition("Ready", one.status, one.reason, f"{one.type}={one.status}: {one.message}")
    return Condition("Ready")


def laid_over(item: Object, conditions: Iterable[Condition], now: str) -> list[dict[str, Any]]:
    """Returns all conditions of an object with new ones in place of their elders.

    Args:
        item: the object.
        conditions: the new ones.
        now: the time, which stands in those whose status changes.
    """
    kept = {one["type"]: dict(one) for one in (item.get("status") or {}).get("conditions") or ()}
    for one in conditions:
        before = kept.get(one.type, {})
        kept[one.type] = {
            "type": one.type,
            "status": one.status,
            "reason": one.reason or one.type,
            "message": one.message,
            "lastTransitionTime": before["lastTransitionTime"] if before.get("status") == one.status else now,
            "observedGeneration": item["metadata"].get("generation", 1),
        }
    return list(kept.values())


def tell(view: View, kind: Any, item: Object, status: Mapping[str, Any], told: Sequence[Condition]) -> None:
    """Writes an object's status, if it says something new.

    Args:
        view: where the object is.
        kind: its kind.
        item: the object.
        status: fields of its status beside conditions; others stay.
        told: its new conditions.
    """
    said = {**status, "conditions": laid_over(item, told, now_text())}
    before = item.get("status") or {}
    if any(before.get(key) != value for key, value in said.items()):
        view.patch(kind, item, as_read(item, {"status": said}), status=True)
