"""A remote component as data: the children that its provider would register, and its outputs.

A description may hold placeholders for what only a registered child knows; `resolve` fills them in. A caller
registers the component itself, with no inputs and with all dependencies of the program's own registration, then
every child in turn::

    registered: dict[str, Registered] = {}
    for child in expansion.children:
        # parent: registered[child.parent_name].urn, or the component's URN when parent_name is None
        inputs = resolve(child.inputs, registered)
        dependencies = urns(child.dependencies, registered)  # likewise each of property_dependencies
        ...
        registered[child.name] = Registered(urn, id, outputs)
    # then the children that are components (custom=False) register resolve(child.outputs, registered)
    outputs = expansion.outputs(registered)
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from localcloud.values import UNKNOWN, Reference, Unknown, contains_unknown


@dataclass(frozen=True)
class FromChild:
    """A placeholder for an output of a child.

    Attributes:
        child: the child's name.
        path: dotted path into its outputs, with list indexes; empty for a reference to the child as a whole.
    """

    child: str
    path: str = ""


@dataclass(frozen=True)
class ArnRegion:
    """A placeholder for the region (fourth part) of the ARN that another placeholder stands for."""

    arn: FromChild


@dataclass(frozen=True)
class WithoutScheme:
    """A placeholder for the URL that another placeholder stands for, without its `https://`."""

    url: FromChild


@dataclass(frozen=True)
class Whole:
    """A placeholder for a value that is unknown as a whole while any part of it is.

    Attributes:
        value: the value, which may hold placeholders.
        as_json: whether the result is the value's compact JSON text.
    """

    value: Any
    as_json: bool = False


@dataclass(frozen=True)
class Registered:
    """What the engine answered for a child.

    Attributes:
        urn: the child's URN.
        id: its id; `UNKNOWN` in a preview that creates it, None for a component.
        outputs: its properties, with `UNKNOWN` where they are not known yet.
    """

    urn: str
    id: str | Unknown | None = None
    outputs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Child:
    """One resource that the component registers.

    Attributes:
        type: its type token.
        name: its logical name.
        parent_name: name of the child that is its parent; None for the component itself.
        custom: False for a component.
        inputs: its inputs, which may hold placeholders; `resolve` fills them in.
        dependencies: names of children and URNs of the program's resources; `urns` turns all into URNs.
        property_dependencies: the same for each input that has any.
        ignore_changes: property paths that are kept as they are after creation.
        version: of the plug-in that the component asks for; empty leaves it to the engine.
        outputs: what a component registers as its outputs, may hold placeholders; empty for a custom one.
    """

    type: str
    name: str
    parent_name: str | None
    custom: bool = True
    inputs: Mapping[str, Any] = field(default_factory=dict)
    dependencies: tuple[str, ...] = ()
    property_dependencies: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    ignore_changes: tuple[str, ...] = ()
    version: str = ""
    outputs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Expansion:
    """Everything that one `eks:index:Cluster` stands for.

    Attributes:
        children: in an order in which they can be registered.
        output_values: the component's outputs, which may hold placeholders.
        output_dependencies: for each output, names of children and URNs; `urns` turns all into URNs.
    """

    children: tuple[Child, ...]
    output_values: Mapping[str, Any]
    output_dependencies: Mapping[str, tuple[str, ...]]

    def outputs(self, registered: Mapping[str, Registered]) -> dict[str, Any]:
        """Returns the component's outputs; unknown only while those of the children are."""
        return resolve(self.output_values, registered)


def resolve(value: Any, registered: Mapping[str, Registered]) -> Any:
    """Returns a value with its placeholders filled in from the children registered so far.

    An output that a child does not have (yet) counts as unknown.
    """
    match value:
        case FromChild(child, ""):
            return Reference(registered[child].urn, registered[child].id)
        case FromChild(child, path):
            return _at(registered[child].outputs, path)
        case ArnRegion(arn):
            return _when_known(resolve(arn, registered), lambda text: text.split(":")[3])
        case WithoutScheme(url):
            return _when_known(resolve(url, registered), lambda text: text.removeprefix("https://"))
        case Whole(inner, as_json):
            resolved = resolve(inner, registered)
            if contains_unknown(resolved):
                return UNKNOWN
            return compact_json(resolved) if as_json else resolved
        case Mapping():
            return {key: resolve(item, registered) for key, item in value.items()}
        case list():
            return [resolve(item, registered) for item in value]
    return value


def urns(names: Iterable[str], registered: Mapping[str, Registered]) -> list[str]:
    """Returns the URNs behind names of children; what is a URN already stays."""
    return [registered[name].urn if name in registered else name for name in names]


def compact_json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _at(outputs: Any, path: str) -> Any:
    for step in path.split("."):
        if isinstance(outputs, Mapping):
            outputs = outputs.get(step, UNKNOWN)
        elif isinstance(outputs, list):
            outputs = outputs[int(step)] if int(step) < len(outputs) else UNKNOWN
        else:
            return UNKNOWN
    return outputs


def _when_known(text: Any, change: Callable[[str], str]) -> Any:
    return UNKNOWN if text is UNKNOWN else change(text)
