"""The random provider: values that stay as they were first drawn. They are no part of the account."""

import base64
import string
from typing import Any

from localcloud.checks import between
from localcloud.resource_type import Properties, ResourceType
from localcloud.templates import Draws
from localcloud.values import UNKNOWN

_SPECIAL = "!@#$%&*()-_=+[]{}<>:?"
_CLASSES = (
    ("lower", "minLower", string.ascii_lowercase),
    ("upper", "minUpper", string.ascii_uppercase),
    ("numeric", "minNumeric", string.digits),
    ("special", "minSpecial", _SPECIAL),
)
_ADJECTIVES = ("apt", "bold", "calm", "deft", "eager", "fair", "glad", "keen", "lucid", "neat", "proud", "wise")
_ANIMALS = ("bee", "cod", "doe", "elk", "fox", "gnu", "hen", "ibex", "jay", "koi", "lynx", "newt", "owl", "yak")


def _characters(properties: Properties, draws: Draws) -> Any:
    """Draws as many of each class as asked for and the rest from all allowed ones, and shuffles them."""
    if draws.withheld:
        return UNKNOWN
    allowed, characters = "", ""
    for name, least, alphabet in _CLASSES:
        if properties.get(name, True):
            alphabet = properties.get("overrideSpecial", alphabet) if name == "special" else alphabet
            allowed += alphabet
            characters += draws.text(alphabet, properties.get(least, 0), name)
    characters += draws.text(allowed, properties["length"] - len(characters), "rest")
    weights = draws.octets(4 * len(characters), "order")
    order = sorted(range(len(characters)), key=lambda at: weights[4 * at : 4 * at + 4])
    return "".join(characters[at] for at in order)


def _base64(properties: Properties, draws: Draws) -> Any:
    return UNKNOWN if draws.withheld else base64.b64encode(draws.octets(properties["length"], "bytes")).decode()


def _hex(properties: Properties, draws: Draws) -> Any:
    return UNKNOWN if draws.withheld else draws.octets(properties["length"], "bytes").hex()


def _pet(properties: Properties, draws: Draws) -> Any:
    if draws.withheld:
        return UNKNOWN
    *first, last = draws.octets(properties.get("length", 2), "pet")
    words = [_ADJECTIVES[octet % len(_ADJECTIVES)] for octet in first] + [_ANIMALS[last % len(_ANIMALS)]]
    prefix = [properties["prefix"]] if properties.get("prefix") else []
    return properties.get("separator", "-").join(prefix + words)


_CHARACTER_ARGUMENTS = (
    *("length", "keepers", "overrideSpecial"),
    *(argument for name, least, _ in _CLASSES for argument in (name, least)),
)

TYPES = (
    ResourceType(
        "random:index/randomPassword:RandomPassword",
        id="none",
        outputs={"result": _characters},
        required=("length",),
        replaces=_CHARACTER_ARGUMENTS,
        checks=(between("length", 1, 4096),),
        stored=False,
        secret_outputs=("result",),
    ),
    ResourceType(
        "random:index/randomString:RandomString",
        id=_characters,
        outputs={"result": "{id}"},
        required=("length",),
        replaces=_CHARACTER_ARGUMENTS,
        checks=(between("length", 1, 4096),),
        stored=False,
    ),
    ResourceType(
        "random:index/randomBytes:RandomBytes",
        id="none",
        outputs={"base64": _base64, "hex": _hex},
        required=("length",),
        replaces=("length", "keepers"),
        checks=(between("length", 1, 4096),),
        stored=False,
        secret_outputs=("base64", "hex"),
    ),
    ResourceType(
        "random:index/randomUuid:RandomUuid",
        id="{uuid}",
        outputs={"result": "{id}"},
        replaces=("keepers",),
        stored=False,
    ),
    ResourceType(
        "random:index/randomPet:RandomPet",
        id=_pet,
        replaces=("length", "keepers", "prefix", "separator"),
        stored=False,
    ),
)
