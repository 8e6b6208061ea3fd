"""Options of resources that a registration does not show."""

from collections.abc import Callable

import pulumi

from tests.world import run


def ignored(build: Callable[[pulumi.ResourceOptions], object]) -> dict[str, set[str]]:
    """What changes each resource ignores, by its logical name; those that ignore none are left out.

    Args:
        build: makes resources with the options that it is given.
    """
    found: dict[str, set[str]] = {}

    def record(args: pulumi.ResourceTransformationArgs) -> None:
        if args.opts.ignore_changes:
            found[args.name] = set(args.opts.ignore_changes)

    run(lambda: build(pulumi.ResourceOptions(transformations=[record])))
    return found
