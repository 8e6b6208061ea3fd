"""Computed properties written as templates, such as `arn:{partition}:iam::{account}:role{path}{name}`.

A field names a property of the resource (dotted path), a fact about the account, or a drawn value:
`{hex17}` is 17 hexadecimal digits, `{uuid}`, `{upper16}`; a label after a colon (`{hex17:group}`) draws another one.
What depends on an unknown is unknown, what depends on a secret is secret, and a lone field keeps its type.
"""

import hashlib
import re
import string
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from localcloud.properties import value_at
from localcloud.values import UNKNOWN, Secret, contains_secret, contains_unknown, reveal

_DRAWN = re.compile(r"(hex|upper|digits)(\d+)|uuid")
_ALPHABETS = {"hex": string.hexdigits[:16], "upper": string.ascii_uppercase + "234567", "digits": string.digits}


class Draws:
    """Values that a cloud makes up, the same ones for the same seed.

    Args:
        seed: any text; with a random one the values cannot be guessed. None draws nothing but `UNKNOWN`: a preview.
    """

    def __init__(self, seed: str | None) -> None:
        self._seed = seed

    @property
    def withheld(self) -> bool:
        """Whether this is a preview, in which everything drawn is `UNKNOWN`."""
        return self._seed is None

    def octets(self, count: int, label: str) -> Any:
        """Draws bytes."""
        if self.withheld:
            return UNKNOWN
        return hashlib.shake_256(f"{self._seed}\0{label}".encode()).digest(count)

    def text(self, alphabet: str, length: int, label: str) -> Any:
        """Draws characters; four bytes for each keep the bias below one in ten million."""
        if self.withheld:
            return UNKNOWN
        octets = self.octets(4 * length, label)
        numbers = (int.from_bytes(octets[at : at + 4], "big") for at in range(0, 4 * length, 4))
        return "".join(alphabet[number % len(alphabet)] for number in numbers)

    def field(self, name: str, label: str) -> Any:
        """Draws what a template's field asks for; None when the field is not a drawn one."""
        if not (asked := _DRAWN.fullmatch(name)):
            return None
        if name == "uuid":
            octets = self.octets(16, f"uuid:{label}")
            return UNKNOWN if self.withheld else str(uuid.UUID(bytes=octets, version=4))
        return self.text(_ALPHABETS[asked[1]], int(asked[2]), f"{name}:{label}")


def render(template: Any, properties: Mapping[str, Any], facts: Mapping[str, str], draws: Draws) -> Any:
    """Fills in a template, or the templates within a map or list.

    Args:
        template: text with fields, a map or list of such, a function of properties and draws, or a plain value.
        properties: the resource's properties, found by dotted path; `id` among them once it is known.
        facts: account, region and the like; a property of the same name comes first.
        draws: where made-up values come from.

    Raises:
        KeyError: a field that is none of these.
    """
    if isinstance(template, Mapping):
        return {key: render(item, properties, facts, draws) for key, item in template.items()}
    if isinstance(template, list):
        return [render(item, properties, facts, draws) for item in template]
    if isinstance(template, Callable):
        return template(properties, draws)
    if not isinstance(template, str):
        return template

    def look_up(name: str, label: str) -> Any:
        for value in (value_at(properties, name), facts.get(name), draws.field(name, label)):
            if value is not None:
                return value
        raise KeyError(f"{name!r} in the template {template!r} is no property, no fact and nothing to draw")

    pieces = [
        (literal, None if name is None else look_up(name, label or ""))
        for literal, name, label, _ in string.Formatter().parse(template)
    ]
    if len(pieces) == 1 and pieces[0][0] == "":
        return pieces[0][1]
    if contains_unknown([value for _, value in pieces]):
        return UNKNOWN
    text = "".join(literal + ("" if value is None else str(reveal(value))) for literal, value in pieces)
    return Secret(text) if contains_secret([value for _, value in pieces]) else text
