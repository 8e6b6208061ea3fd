"""Property values as the Pulumi protocol sends them, and the same values as plain Python.

On the wire an unknown is a marker string, and a secret, an output and a resource reference are objects that carry
a signature. In this package they are `UNKNOWN`, `Secret` and `Reference`; everything else is plain JSON.
"""

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from google.protobuf import json_format
from google.protobuf.message import Message
from google.protobuf.struct_pb2 import Struct

# The markers and signatures are fixed by the protocol (pulumi.runtime.rpc holds the same ones).
_SIGNATURE_KEY = "4dabf18193072939515e22adb298388d"
_SECRET = "1b47061264138c4ac30d75fd1eb44270"
_OUTPUT = "d0e6a833031e9bbcd3f4e8bde6ca49a4"
_RESOURCE = "5cf8f73096256a8f31e491e813e4eb8e"
_UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
_UNKNOWNS = frozenset(
    {
        _UNKNOWN,
        "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",  # boolean
        "3eeb2bf0-c639-47a8-9e75-3b44932eb421",  # number
        "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",  # array
        "030794c1-ac77-496b-92df-f27374a8bd58",  # asset
        "e48ece36-62e2-4504-bad9-02848725956a",  # archive
        "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",  # object
    }
)


class Unknown(enum.Enum):
    """The type of `UNKNOWN`; an enumeration, so that it stays one object through copies."""

    UNKNOWN = "unknown"

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN = Unknown.UNKNOWN
"""A value that is not known yet: the preview's stand-in for what only creation decides."""


@dataclass(frozen=True)
class Secret:
    """A value that must be stored encrypted and never be printed.

    Attributes:
        value: the plain value; `UNKNOWN` for a secret that is not known yet.
    """

    value: Any

    def __repr__(self) -> str:
        return "Secret([hidden])"


@dataclass(frozen=True)
class Reference:
    """Another resource, given as a whole.

    Attributes:
        urn: the resource's URN.
        id: its id; `UNKNOWN` before it is created, None for a component, which has none.
        package_version: version of the package that knows the type, empty for any.
    """

    urn: str
    id: str | Unknown | None = None
    package_version: str = ""


def from_wire(value: Any) -> Any:
    """Turns a protobuf `Struct`, `ListValue` or `Value`, or the JSON of one, into plain Python.

    Whole numbers become `int`, since the wire knows only doubles. An output is reduced to its value (`UNKNOWN` when
    it has none) and its secretness; the dependencies that it may carry are dropped.
    """
    if isinstance(value, Message):
        return from_wire(json_format.MessageToDict(value))
    if isinstance(value, Mapping):
        signature = value.get(_SIGNATURE_KEY)
        if signature == _SECRET:
            return Secret(from_wire(value.get("value")))
        if signature == _OUTPUT:
            inner = from_wire(value["value"]) if "value" in value else UNKNOWN
            return Secret(inner) if value.get("secret") else inner
        if signature == _RESOURCE:
            return Reference(value["urn"], from_wire(value.get("id")), value.get("packageVersion", ""))
        return {key: from_wire(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [from_wire(item) for item in value]
    if isinstance(value, str) and value in _UNKNOWNS:
        return UNKNOWN
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def to_wire(value: Any) -> Any:
    """Turns plain Python with `UNKNOWN`, `Secret` and `Reference` into JSON with the protocol's signatures."""
    if value is UNKNOWN:
        return _UNKNOWN
    if isinstance(value, Secret):
        return {_SIGNATURE_KEY: _SECRET, "value": to_wire(value.value)}
    if isinstance(value, Reference):
        reference = {_SIGNATURE_KEY: _RESOURCE, "urn": value.urn, "packageVersion": value.package_version}
        # A component's reference has no id at all; a custom resource's has one, perhaps unknown.
        return reference if value.id is None else {**reference, "id": to_wire(value.id)}
    if isinstance(value, Mapping):
        return {key: to_wire(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_wire(item) for item in value]
    return value


def to_struct(values: Mapping[str, Any]) -> Struct:
    """Returns a resource's properties as the protobuf message that the protocol carries."""
    struct = Struct()
    struct.update(to_wire(values))
    return struct


def contains_unknown(value: Any) -> bool:
    """Tells whether the value, or anything inside it, is unknown. A reference counts by its id."""
    if isinstance(value, Secret):
        return contains_unknown(value.value)
    if isinstance(value, Reference):
        return value.id is UNKNOWN
    if isinstance(value, Mapping):
        return any(contains_unknown(item) for item in value.values())
    if isinstance(value, list | tuple):
        return any(contains_unknown(item) for item in value)
    return value is UNKNOWN


def contains_secret(value: Any) -> bool:
    """Tells whether the value, or anything inside it, is secret."""
    if isinstance(value, Mapping):
        return any(contains_secret(item) for item in value.values())
    if isinstance(value, list | tuple):
        return any(contains_secret(item) for item in value)
    return isinstance(value, Secret)


def reveal(value: Any) -> Any:
    """Returns the value with every `Secret` replaced by what it holds."""
    if isinstance(value, Secret):
        return reveal(value.value)
    if isinstance(value, Mapping):
        return {key: reveal(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [reveal(item) for item in value]
    return value
