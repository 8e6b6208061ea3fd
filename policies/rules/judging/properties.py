"""Reading a resource's properties, of which a preview may not know all.

The policy SDK hands over proxies that raise as soon as an unknown value is touched, which would end a rule before it
has judged the values that are known. `read` turns the proxies into plain Python once; each unknown becomes an `Unknown`
that a check passes on only where its verdict depends on it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from pulumi_policy.proxy import UnknownValueError

# A JSON value, or `Unknown`, at any depth.
Value = Any


@dataclass(frozen=True)
class Unknown:
    """A value that only the deployment decides.

    Attributes:
        error: what the policy SDK raised when the value was read; raising it again makes the SDK report that the rule
            cannot be run during preview.
    """

    error: UnknownValueError


def read(value: Any) -> Value:
    """Returns proxies, mappings and sequences as plain dicts and lists, with `Unknown` where nothing is known yet."""
    if isinstance(value, Mapping):
        mapping = cast(Mapping[str, Any], value)
        return {key: _read_item(mapping, key) for key in mapping}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        sequence = cast(Sequence[Any], value)
        return [_read_item(sequence, index) for index in range(len(sequence))]
    return value


def _read_item(container: Any, key: str | int) -> Value:
    try:
        return read(container[key])
    except UnknownValueError as error:
        return Unknown(error)


def at(value: Value, *path: str) -> Value:
    """Returns the value below `path`: None where it is absent, `Unknown` where any step to it is unknown."""
    for step in path:
        if isinstance(value, Unknown):
            return value
        value = cast(Mapping[str, Value], value).get(step) if isinstance(value, Mapping) else None
    return value


def elements(value: Value) -> list[Value]:
    """Returns the elements of a list: none where it is absent, one `Unknown` where the whole list is unknown."""
    if isinstance(value, Unknown):
        return [value]
    return cast(list[Value], value) if isinstance(value, list) else []


def entries(value: Value) -> Mapping[str, Value]:
    """Returns the entries of a mapping: none where it is absent or unknown."""
    return cast(Mapping[str, Value], value) if isinstance(value, Mapping) else {}


def is_true(value: Value) -> bool:
    """Tells whether a switch is on; AWS has some that are the texts "true" and "false"."""
    return value is True or value == "true"


def first_unknown(*values: Value) -> Unknown | None:
    """Returns the first of the values that is unknown."""
    return next((value for value in values if isinstance(value, Unknown)), None)
