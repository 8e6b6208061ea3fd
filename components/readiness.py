"""Values that are of use only once something else exists, and so carry that dependency with them."""

from collections.abc import Awaitable
from typing import TypeVar, cast

import pulumi

T = TypeVar("T")


def once(value: pulumi.Input[T], *ready: pulumi.Output[str]) -> pulumi.Output[T]:
    """A value as an Output that depends on more than where it comes from: whoever uses it waits without knowing why.

    The value itself stays known where it is known. `Output.all(...).apply(...)` would make it unknown in every preview
    in which one of the others is new, and a preview that does not know a node group's subnets plans to replace it.

    Args:
        value: the value.
        ready: Outputs of what has to exist first.
    """
    own = pulumi.Output.from_input(value)

    async def resources() -> set[pulumi.Resource]:
        found = await own.resources()
        for output in ready:
            found = found | await output.resources()
        return found

    # The SDK types the future as optional, for values that are unknown.
    future = cast(Awaitable[T], own.future(with_unknowns=True))
    return pulumi.Output(resources(), future, own.is_known(), own.is_secret())
