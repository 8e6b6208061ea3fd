"""One thing that exists in the simulated account, and what of it is kept: everything but secrets."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from localcloud.properties import value_at
from localcloud.values import Secret

SECRET_MARK = {"localcloud": "secret, not kept"}
"""What stands in the file for a secret value."""


@dataclass
class Record:
    """One thing that exists.

    Attributes:
        token: its type.
        scope: the room in which its id is its own: a region, `account`, or a cluster's endpoint.
        id: its id.
        name: its logical name in the program; empty for what AWS made along with something else.
        inputs: the arguments, secrets as marks.
        outputs: all properties, secrets as marks.
        seed: what its made-up values were drawn from.
        owners: keys of the records that it was made along with.
    """

    token: str
    scope: str
    id: str
    name: str
    inputs: dict[str, Any]
    outputs: dict[str, Any]
    seed: str
    owners: list[str] = field(default_factory=list)

    @property
    def key(self) -> str:
        return f"{self.token}|{self.scope}|{self.id}"

    def __getitem__(self, path: str) -> Any:
        """Returns a property by dotted path; None when it is not there."""
        return self.id if path == "id" else value_at(self.outputs, path)


def restored(kept: Any, given: Any) -> Any:
    """Puts the engine's own secrets back where the account keeps only marks.

    Args:
        kept: a value from the account.
        given: the value that the engine holds in its place; may be None.
    """
    if kept == SECRET_MARK:
        return given if isinstance(given, Secret) else Secret(given)
    inside = given.value if isinstance(given, Secret) else given
    if isinstance(kept, Mapping):
        inside = inside if isinstance(inside, Mapping) else {}
        return {key: restored(value, inside.get(key)) for key, value in kept.items()}
    if isinstance(kept, list):
        others = inside if isinstance(inside, list) and len(inside) == len(kept) else [None] * len(kept)
        return [restored(value, other) for value, other in zip(kept, others, strict=True)]
    return kept


def marked(value: Any) -> Any:
    """Puts a mark in the place of every secret."""
    if isinstance(value, Secret):
        return SECRET_MARK
    if isinstance(value, Mapping):
        return {key: marked(item) for key, item in value.items()}
    if isinstance(value, list):
        return [marked(item) for item in value]
    return value
