"""Rules on single arguments, as building blocks of declarations. Unknown values pass: they are judged when known."""

import ipaddress
import itertools
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from localcloud.properties import values_at
from localcloud.resource_type import Check, Failure, Identity, Properties
from localcloud.values import UNKNOWN, contains_unknown


def _known(inputs: Properties, path: str) -> list[Any]:
    return [value for value in values_at(inputs, path) if not contains_unknown(value)]


def _each(path: str, complaint: Callable[[Any, Identity], str | None]) -> Check:
    def check(inputs: Properties, identity: Identity) -> Iterator[Failure]:
        for value in _known(inputs, path):
            if reason := complaint(value, identity):
                yield Failure(path, reason)

    return check


def one_of(path: str, allowed: Iterable[Any]) -> Check:
    """The value is one of a list."""
    allowed = tuple(allowed)
    listed = ", ".join(map(str, allowed))
    return _each(path, lambda value, _: None if value in allowed else f"expected one of {listed}, got {value!r}")


def between(path: str, low: int, high: int) -> Check:
    """The number lies within bounds, both included."""
    return _each(
        path,
        lambda value, _: None if low <= value <= high else f"expected {low} to {high}, got {value}",
    )


def matches(path: str, pattern: str, meaning: str) -> Check:
    """The text matches a pattern as a whole; `{region}` and `{partition}` in it are filled in.

    Args:
        path: the argument.
        pattern: regular expression.
        meaning: what the pattern stands for, for the message.
    """

    def complaint(value: Any, identity: Identity) -> str | None:
        filled = pattern.replace("{region}", identity.region).replace("{partition}", identity.partition)
        if isinstance(value, str) and re.fullmatch(filled, value):
            return None
        return f"{value!r} is not {meaning.replace('{region}', identity.region)}"

    return _each(path, complaint)


def cidr(path: str, shortest: int, longest: int) -> Check:
    """The text is an IPv4 network in canonical form with a prefix length within bounds."""

    def complaint(value: Any, _: Identity) -> str | None:
        try:
            network = ipaddress.IPv4Network(value)
        except ValueError as error:
            return f"{value!r} is not an IPv4 CIDR block: {error}"
        if shortest <= network.prefixlen <= longest:
            return None
        return f"InvalidRange: {value} is a /{network.prefixlen}; AWS allows /{shortest} to /{longest}"

    return _each(path, complaint)


def at_most_one(*paths: str) -> Check:
    """Arguments that exclude each other."""

    def check(inputs: Properties, _: Identity) -> Iterator[Failure]:
        given = [path for path in paths if values_at(inputs, path)]
        if len(given) > 1:
            yield Failure(given[1], f"conflicts with {given[0]}")

    return check


def ascending(*paths: str) -> Check:
    """Numbers none of which exceeds the next."""

    def check(inputs: Properties, _: Identity) -> Iterator[Failure]:
        numbers = [(path, value) for path in paths for value in values_at(inputs, path) if value is not UNKNOWN]
        for (lower_path, lower), (upper_path, upper) in itertools.pairwise(numbers):
            if lower > upper:
                yield Failure(lower_path, f"{lower} exceeds {upper_path} = {upper}")

    return check
