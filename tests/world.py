"""The world of the unit tests: one function builds resources, one line looks at what came of them."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import pulumi

from localcloud.world import Registration, World

PROJECT, STACK = "eksai", "dev"

T = TypeVar("T")


class Built(Generic[T]):
    """What came of a function that builds resources.

    Attributes:
        result: what the function returned.
        world: the world in which it ran.
    """

    def __init__(self, world: World, result: T) -> None:
        self.world = world
        self.result = result

    @property
    def resources(self) -> list[Registration]:
        """Everything registered but the stack."""
        return self.world.resources[1:]

    def all(self, type_: str) -> list[Registration]:
        """Every resource of a type, in the order of registration; possibly none."""
        return [resource for resource in self.resources if resource.type == type_]

    def only(self, type_: str) -> Registration:
        """The one resource of a type."""
        return self._one(self.all(type_), f"the only {type_}")

    def named(self, name: str, type_: str = "") -> Registration:
        """The one resource with a logical name, and of a type where several share the name."""
        found = [resource for resource in self.resources if resource.name == name and type_ in ("", resource.type)]
        return self._one(found, f"{type_ or 'a resource'} named {name!r}")

    def value(self, output: pulumi.Input[Any]) -> Any:
        """What an `Output` came to."""
        return World.value(output)

    def _one(self, found: list[Registration], wanted: str) -> Registration:
        if len(found) == 1:
            return found[0]
        there = "\n".join(f"  {resource.type} {resource.name}" for resource in self.resources)
        raise AssertionError(f"Looked for {wanted}, found {len(found)}. There is:\n{there or '  nothing'}")


def run(build: Callable[[], T], *, preview: bool = False, **config: str) -> Built[T]:
    """Runs a function that builds resources.

    Args:
        build: makes the resources; what it returns is kept.
        preview: whether computed values are unknown, as in a first preview.
        config: values of the project's own configuration.
    """
    world = World(PROJECT, STACK, {f"{PROJECT}:{key}": value for key, value in config.items()}, preview=preview)
    return Built(world, world.run(build))
