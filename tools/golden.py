"""Renews the golden files of both stacks: what they register, and the state that they leave behind.

    tests/golden/<stack>.txt          one resource a line: URN without its fixed beginning
    tests/golden/state/<stack>.json   the engine's state after an `up` on the local cloud

The state's secrets are simulated ones, encrypted with a passphrase that everybody knows.
"""

import json
import tempfile
from pathlib import Path
from typing import Any

from automation.engine import find_engine
from automation.local import LocalCloud
from automation.plan import make_plan
from automation.project import Project
from automation.stacks import open_local
from tools.scratch import ROOT, scratch_project

GOLDEN = ROOT / "tests" / "golden"
STACKS = ("dev", "prod")
PASSPHRASE = "golden"
INCIDENTAL = ("created", "modified", "sourcePosition", "stackTrace")
"""What the engine notes of a resource that says nothing about what it is: when, and by which line of which folder."""


def urn_list(stack: str) -> str:
    """What a stack registers, sorted, one resource a line."""
    plan = make_plan(Project(ROOT), stack)
    return "".join(sorted(f"{resource.urn.split('::', 2)[2]}\n" for resource in plan.resources))


def state_file(stack: str) -> Path:
    """Where a stack's golden state lies."""
    return GOLDEN / "state" / f"{stack}.json"


def golden_project(folder: Path, stack: str) -> Project:
    """A scratch project whose stack can read golden state."""
    project = scratch_project(folder)
    passphrase = LocalCloud(project, stack).passphrase_file
    passphrase.parent.mkdir(parents=True)
    passphrase.write_text(PASSPHRASE, encoding="utf-8")
    return project


def make_state(stack: str) -> dict[str, Any]:
    """The state that an `up` of a stack leaves behind."""
    with tempfile.TemporaryDirectory() as folder:
        project = golden_project(Path(folder), stack)
        with open_local(project, stack, find_engine()) as opened:
            opened.up()
            state = opened.export()
    for resource in state["deployment"]["resources"]:
        for key in INCIDENTAL:
            resource.pop(key, None)
    state["deployment"].pop("manifest", None)
    return state


def main() -> None:
    """Writes all golden files."""
    for stack in STACKS:
        (GOLDEN / f"{stack}.txt").write_text(urn_list(stack), encoding="utf-8")
        state_file(stack).parent.mkdir(exist_ok=True)
        state_file(stack).write_text(json.dumps(make_state(stack), indent=1, sort_keys=True) + "\n", encoding="utf-8")
        print(f"wrote the golden files of {stack}")


if __name__ == "__main__":
    main()
