"""Property maps: reading them by dotted path, laying one over another, telling two apart.

A path such as `vpcConfig.subnetIds` passes through lists, so that it names the property of each item.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from localcloud.values import Secret, reveal

_PLAIN = re.compile(r"\w*")


def values_at(values: Any, path: str) -> list[Any]:
    """Returns every value at a path, lists flattened; empty when nothing is there. Secrets are revealed."""
    if isinstance(values, Secret):
        return values_at(values.value, path)
    if isinstance(values, list):
        return [found for item in values for found in values_at(item, path)]
    if not path:
        return [] if values is None else [reveal(values)]
    if not isinstance(values, Mapping):
        # Below something unknown everything is unknown; below a scalar there is nothing.
        return [] if values is None or isinstance(values, str | int | float) else [values]
    head, _, rest = path.partition(".")
    return values_at(values.get(head), rest)


def value_at(values: Any, path: str) -> Any:
    """Returns the only value at a path, as it is; None when nothing is there."""
    for step in path.split("."):
        if isinstance(values, Secret):
            values = values.value
        if isinstance(values, list) and step.isdigit():
            values = values[int(step)] if int(step) < len(values) else None
        elif isinstance(values, Mapping):
            values = values.get(step)
        else:
            # What lies below an unknown is unknown too; below anything else there is nothing.
            return None if values is None or isinstance(values, str | int | float | list) else values
    return values


def merged(lower: Mapping[str, Any], upper: Mapping[str, Any]) -> dict[str, Any]:
    """Lays one map over another: maps merge, everything else (lists too) is replaced."""
    result = dict(lower)
    for key, value in upper.items():
        below = result.get(key)
        result[key] = merged(below, value) if isinstance(below, Mapping) and isinstance(value, Mapping) else value
    return result


def without_none(value: Any) -> Any:
    """Drops what is None from maps: a property set to null is a property left out."""
    if isinstance(value, Secret):
        return Secret(without_none(value.value))
    if isinstance(value, Mapping):
        return {key: without_none(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [without_none(item) for item in value]
    return value


def changes(
    old: Mapping[str, Any], new: Mapping[str, Any], unordered: Collection[str] = (), prefix: str = ""
) -> Iterator[tuple[str, str]]:
    """Yields what differs between two property maps.

    Args:
        old: the map before.
        new: the map after.
        unordered: paths of lists whose order means nothing.
        prefix: path of the two maps within the resource.

    Yields:
        The path, with `["..."]` around keys that are no words, and `add`, `delete` or `update`. Maps are compared
        key by key, lists as a whole, and two JSON documents by what they say.
    """
    for key in sorted({*old, *new}):
        path = f"{prefix}.{key}".lstrip(".") if _PLAIN.fullmatch(key) else f'{prefix}["{key}"]'
        if key not in old:
            yield path, "add"
        elif key not in new:
            yield path, "delete"
        elif isinstance(old[key], Mapping) and isinstance(new[key], Mapping):
            yield from changes(old[key], new[key], unordered, path)
        elif not _same(reveal(old[key]), reveal(new[key]), path in unordered):
            yield path, "update"


def _same(old: Any, new: Any, unordered: bool) -> bool:
    if old == new:
        return True
    if unordered and isinstance(old, list) and isinstance(new, list):
        return sorted(map(repr, old)) == sorted(map(repr, new))
    if isinstance(old, str) and isinstance(new, str) and old[:1] == new[:1] == "{":
        try:
            return json.loads(old) == json.loads(new)
        except json.JSONDecodeError:
            return False
    return False
