"""A small project of its own for the tests of what drives the engine: no AWS, no settings of the real program."""

from pathlib import Path

import pytest

from automation.project import Project

PROGRAM = """\
import pulumi
config = pulumi.Config()
print("nice to meet you")
class Box(pulumi.ComponentResource):
    def __init__(self, name, opts=None):
        super().__init__("eksai:index:Box", name, None, opts)
        self.register_outputs({})
for index in range(int(config.get("boxes") or "2")):
    Box(f"box-{index}")
pulumi.export("greeting", "hello")
pulumi.export("token", pulumi.Output.secret("very secret"))
"""

POLICIES = """\
from pulumi_policy import EnforcementLevel, PolicyPack, ResourceValidationPolicy
def check(args, report):
    if args.name == "box-13":
        report("Thirteen is one box too many.")
    if args.name == "box-1":
        report("One would do.")
def policy(name, level):
    return ResourceValidationPolicy(name, f"Boxes: {name}", check, level)
PolicyPack("boxes", policies=[policy("box-advice", EnforcementLevel.ADVISORY)])
"""


@pytest.fixture
def project(tmp_path) -> Project:
    """A project `toy` with the stacks `dev` and `prod`."""
    root = tmp_path / "toy"
    (root / "policies").mkdir(parents=True)
    (root / "Pulumi.yaml").write_text("name: toy\nruntime: python\n")
    (root / "Pulumi.dev.yaml").write_text("# kept as it is\nconfig:\n    toy:boxes: '2'\n")
    (root / "Pulumi.prod.yaml").write_text("config: {}\n")
    (root / "__main__.py").write_text(PROGRAM)
    (root / "policies" / "PulumiPolicy.yaml").write_text("runtime: python\n")
    (root / "policies" / "__main__.py").write_text(POLICIES)
    return Project(root)


@pytest.fixture
def stack_file(project) -> Path:
    return project.root / "Pulumi.dev.yaml"
