"""What a program asked of the engine, as plain data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from localcloud.values import Unknown


class UnsupportedRequestError(Exception):
    """The program asked for something that only a real engine or provider can answer."""


class InvalidResourceError(Exception):
    """Arguments that the resource's provider would refuse before anything is made."""


@dataclass(frozen=True)
class Registration:
    """One resource as the program registered it. Values may hold `Secret` and `UNKNOWN`.

    Attributes:
        urn: its URN, with the types of all parents.
        type: its type token.
        name: its logical name.
        parent: URN of its parent, empty for the stack.
        custom: False for a component.
        id: the simulated id; `UNKNOWN` in a preview, None for a component.
        inputs: its inputs as its provider checked them, in camelCase; a reference to a resource is that one's id.
        outputs: its outputs; for a component those that it registered at its end.
        dependencies: URNs of all resources that must exist before it, sorted.
        property_dependencies: for each input, the URNs that its value comes from, sorted.
        provider: URN of its explicit provider, empty for the default one.
        protect: whether it must not be deleted.
        aliases: URNs that it may have in an older state.
    """

    urn: str
    type: str
    name: str
    parent: str = ""
    custom: bool = True
    id: str | Unknown | None = None
    inputs: Mapping[str, Any] = field(default_factory=dict)
    outputs: Mapping[str, Any] = field(default_factory=dict)
    dependencies: list[str] = field(default_factory=list)
    property_dependencies: Mapping[str, list[str]] = field(default_factory=dict)
    provider: str = ""
    protect: bool = False
    aliases: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Invocation:
    """One call of a provider's function: its token, arguments, and the URN of its explicit provider or ''."""

    token: str
    args: Mapping[str, Any]
    provider: str = ""
