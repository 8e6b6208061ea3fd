"""The least that any plan costs: the program's imports, and bare resources under Pulumi's own mocks.

Run by `bench.plan` as a process of its own: `python bench/floor.py COUNT MODULE...`.
"""

import importlib
import sys
from typing import Any

import pulumi
from pulumi.runtime import mocks
from pulumi.runtime.stack import run_pulumi_func
from pulumi.runtime.sync_await import _sync_await  # pyright: ignore[reportPrivateUsage]


class Bare(mocks.Mocks):
    """Answers every resource with its inputs."""

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str | None, dict[str, Any]]:
        return f"{args.name}-id", args.inputs

    def call(self, args: mocks.MockCallArgs) -> tuple[dict[str, Any], list[tuple[str, str]] | None]:
        return {}, None


def main(count: int, modules: list[str]) -> None:
    """Imports the modules and registers so many resources of one argument."""
    for module in modules:
        importlib.import_module(module)
    mocks.set_mocks(Bare(), project="bench", stack="floor")

    def register() -> None:
        for number in range(count):
            pulumi.CustomResource("bench:index:Thing", f"thing-{number}", {"number": number})

    _sync_await(run_pulumi_func(register))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
