"""Arguments against AWS's own description of them: botocore's service models, as far as a type declares its `Api`.

The models are read raw and without documentation, each once and only when asked for (EC2's takes 0.4 s), so this is
for depth 2; see `tests/localcloud/test_api_model.py` for what it costs.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from botocore.loaders import create_loader

from localcloud.declaration import Api, Failure
from localcloud.values import contains_unknown, reveal

Shape = Mapping[str, Any]


def faults(api: Api, inputs: Mapping[str, Any]) -> Iterator[Failure]:
    """Yields what AWS's model of the arguments forbids: enums, patterns, lengths, ranges, required members.

    Args:
        api: where the model is.
        inputs: arguments in the provider's spelling; secrets count by their values, unknown ones pass.
    """
    yield from _Checker(api).check(reveal(dict(inputs)))


def unmapped(api: Api, inputs: Mapping[str, Any]) -> list[str]:
    """Returns the paths of arguments for which neither the model nor the declaration has a name."""
    checker = _Checker(api)
    for _ in checker.check(reveal(dict(inputs))):
        pass
    return checker.unmapped


@cache
def _model(service: str) -> Mapping[str, Any]:
    model = create_loader().load_service_model(service, "service-2")
    operations = {name: operation.get("input", {}).get("shape") for name, operation in model["operations"].items()}
    for shape in model["shapes"].values():
        shape.pop("documentation", None)
        for member in shape.get("members", {}).values():
            member.pop("documentation", None)
    return {"operations": operations, "shapes": model["shapes"]}


@cache
def _members(service: str, shape: str) -> Mapping[str, str]:
    """Maps lower-case names of a structure's members, plural and singular, to their names."""
    found: dict[str, str] = {}
    for name in _model(service)["shapes"][shape].get("members", {}):
        found.setdefault(name.lower(), name)
    for name in list(found.values()):
        found.setdefault(f"{name.lower()}s", name)
    return found


@cache
def _pattern(text: str) -> re.Pattern[str] | None:
    try:
        return re.compile(text, re.DOTALL)
    except re.error:
        # The models' patterns are Java's; Python lacks a few of their forms.
        return None


class _Checker:
    def __init__(self, api: Api) -> None:
        self._api = api
        self._model = _model(api.service)
        self.unmapped: list[str] = []

    def check(self, inputs: Mapping[str, Any]) -> Iterator[Failure]:
        name = self._model["operations"].get(self._api.shape, self._api.shape)
        yield from self._structure(name, inputs, "")

    def _value(self, name: str, value: Any, path: str) -> Iterator[Failure]:
        if contains_unknown(value) and not isinstance(value, Mapping | list):
            return
        shape = self._model["shapes"][name]
        kind = shape["type"]
        if kind == "structure":
            # The provider has a block where the API has a structure, and sometimes a list of one block.
            for item in value if isinstance(value, list) else [value]:
                if isinstance(item, Mapping):
                    yield from self._structure(name, item, path)
        elif kind == "list":
            yield from self._list(shape, value, path)
        elif kind == "map" and isinstance(value, Mapping):
            yield from _size(shape, len(value), path, "entries")
            for key, item in value.items():
                yield from self._value(shape["key"]["shape"], key, path)
                yield from self._value(shape["value"]["shape"], item, f"{path}.{key}")
        elif kind == "string":
            yield from _text(shape, value, path)
        elif kind in ("integer", "long", "float", "double"):
            yield from _number(shape, value, path)
        elif kind == "boolean" and str(value).lower() not in ("true", "false"):
            yield Failure(path, f"expected true or false, got {value!r}")

    def _list(self, shape: Shape, value: Any, path: str) -> Iterator[Failure]:
        member = shape["member"]["shape"]
        if isinstance(value, Mapping) and {"key", "value"} <= _members(self._api.service, member).keys():
            value = [{"key": key, "value": item} for key, item in value.items()]
        items = value if isinstance(value, list) else [value]
        if not contains_unknown(items):
            yield from _size(shape, len(items), path, "items")
        for item in items:
            yield from self._value(member, item, path)

    def _structure(self, name: str, inputs: Mapping[str, Any], path: str) -> Iterator[Failure]:
        shape = self._model["shapes"][name]
        given: set[str] = set()
        for key, value in inputs.items():
            where = f"{path}.{key}".lstrip(".")
            member = self._member(name, key, where)
            if member is not None and value is not None:
                given.add(member)
                yield from self._value(shape["members"][member]["shape"], value, where)
        for required in shape.get("required", ()):
            if required not in (*given, *self._api.supplied) and not shape["members"][required].get("idempotencyToken"):
                yield Failure(path or required, f"{name} needs {required}")

    def _member(self, structure: str, key: str, path: str) -> str | None:
        name = self._api.names.get(path, key)
        member = _members(self._api.service, structure).get(name.lower()) if name else None
        if member is None and name:
            self.unmapped.append(path)
        return member


def _text(shape: Shape, value: Any, path: str) -> Iterator[Failure]:
    if not isinstance(value, str):
        return
    if shape.get("enum") and value not in shape["enum"]:
        listed = ", ".join(shape["enum"][:12]) + (", ..." if len(shape["enum"]) > 12 else "")
        yield Failure(path, f"{value!r} is none of {listed}")
    yield from _size(shape, len(value), path, "characters")
    pattern = _pattern(shape["pattern"]) if "pattern" in shape else None
    if pattern and not pattern.fullmatch(value):
        yield Failure(path, f"{value!r} does not satisfy AWS's pattern {shape['pattern']}")


def _number(shape: Shape, value: Any, path: str) -> Iterator[Failure]:
    try:
        number = float(value)
    except (TypeError, ValueError):
        yield Failure(path, f"expected a number, got {value!r}")
        return
    yield from _size(shape, number, path, "")


def _size(shape: Shape, size: float, path: str, unit: str) -> Iterator[Failure]:
    low, high = shape.get("min"), shape.get("max")
    if (low is not None and size < low) or (high is not None and size > high):
        bounds = f"{'' if low is None else low} to {'' if high is None else high}".strip()
        yield Failure(path, f"expected {bounds} {unit}, got {size:g}".replace("  ", " "))
